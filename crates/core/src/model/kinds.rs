//! A scenario as the models see it: long-lived TCP flows of like stations.

use super::error::ModelError;
use super::unified::{Cell, Flows, Stations};
use crate::ap::WindowRule;
use crate::mac::MacParams;
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::qdisc::QdiscSpec;
use crate::scenario::{Flow, Preset, Scenario, Station, Traffic};
use crate::units::Bytes;

/// A scenario's cell with like stations and flows put together, and where each of the scenario's went.
#[derive(Clone, Debug, PartialEq)]
pub struct Kinds {
    /// The cell.
    pub cell: Cell,
    /// Position in `cell.stations` of each station of the scenario.
    pub station: Vec<usize>,
    /// Position in the flows of its station's kind of each flow of the scenario.
    pub flow: Vec<usize>,
    /// Window that the AP leaves to every connection, in segments.
    cap: Option<u32>,
}

impl Kinds {
    /// Sorts the stations and flows of `scenario`, whose AP has a single queue and nothing beside it but a window cap.
    ///
    /// # Errors
    /// A flow that is not TCP without end, another queue, an uplink limiter, a box.
    pub fn of(scenario: &Scenario) -> Result<Kinds, ModelError> {
        Kinds::with_buffer(scenario, buffer(scenario)?)
    }

    /// The same with an AP that has any queue.
    pub(super) fn with_buffer(scenario: &Scenario, buffer: f64) -> Result<Kinds, ModelError> {
        let cap = window_cap(scenario)?;
        let params = MacParams::new(&scenario.radio, scenario.run.preset);
        let mut kinds: Vec<Stations> = Vec::new();
        let (mut station_kind, mut flow_kind) = (Vec::new(), Vec::new());
        for station in &scenario.stations {
            let (like, positions) = kind(scenario, station, &params, cap)?;
            flow_kind.extend(positions);
            let same = |other: &Stations| Stations { count: 1.0, ..other.clone() } == like;
            let position = kinds.iter().position(same).unwrap_or_else(|| {
                kinds.push(Stations { count: 0.0, ..like });
                kinds.len() - 1
            });
            kinds[position].count += 1.0;
            station_kind.push(position);
        }
        let measured = scenario.run.duration.saturating_sub(scenario.run.warmup).as_secs_f64();
        let observed = (measured * f64::from(scenario.run.replicas)).max(1e-3);
        let cell = Cell { params, buffer, stations: kinds, observed };
        Ok(Kinds { cell, station: station_kind, flow: flow_kind, cap })
    }

    /// Receive window of `flow` as the AP leaves it, in segments.
    pub(super) fn window(&self, flow: &Flow) -> u32 {
        capped(flow, self.cap)
    }
}

fn capped(flow: &Flow, cap: Option<u32>) -> u32 {
    cap.map_or(flow.tcp.window, |cap| flow.tcp.window.min(cap))
}

/// What the AP caps windows at.
fn window_cap(scenario: &Scenario) -> Result<Option<u32>, ModelError> {
    let Some(params) = scenario.ap.window_cap else { return Ok(None) };
    let of = |way| scenario.flows().filter(|(_, flow)| flow.direction == way).count();
    let (up, down) = (of(Direction::Up), of(Direction::Down));
    let shared = match params.rule {
        WindowRule::Lossless => 2 * up.max(down),
        WindowRule::BOverN => up + down,
        WindowRule::Tfbr | WindowRule::TfbrExact => {
            return Err(ModelError::Unsupported { what: "a window cap by tfbr".to_owned() });
        }
    };
    Ok(Some((params.buffer / shared.max(1)).clamp(1, u32::MAX as usize) as u32))
}

/// One-way delay between AP and host in seconds: a flow's own wire continues the common one.
pub(super) fn wire_delay(scenario: &Scenario, flow: &Flow) -> f64 {
    scenario.wire.delay.as_secs_f64() + flow.wire.map_or(0.0, |wire| wire.delay.as_secs_f64())
}

/// Packets that may wait at the AP (ns-2 also counts the one in service).
pub(super) fn buffer(scenario: &Scenario) -> Result<f64, ModelError> {
    let beside = |what: &str| Err(ModelError::Unsupported { what: what.to_owned() });
    if scenario.enforce.is_some() {
        return beside("a box between gateway and AP: `shares` does");
    }
    if scenario.ap.uplink_limiter.is_some() {
        return beside("an uplink limiter: `shares` does");
    }
    let queue = match scenario.run.preset {
        Preset::Standard | Preset::Ns3 => scenario.ap.queue,
        Preset::Ns2 => scenario.ap.queue.with_ns2_limit(),
    };
    match queue {
        QdiscSpec::Droptail { limit } => Ok(limit as f64),
        other => Err(ModelError::Unsupported {
            what: format!("an AP queue that is `{}`: it is about drop-tail", other.kind()),
        }),
    }
}

fn kind(
    scenario: &Scenario,
    station: &Station,
    params: &MacParams,
    cap: Option<u32>,
) -> Result<(Stations, Vec<usize>), ModelError> {
    let mut flows: Vec<Flows> = Vec::new();
    let mut positions = Vec::new();
    let mut longest = 1;
    for flow in &station.flows {
        if flow.traffic != Traffic::Bulk {
            return Err(ModelError::Unsupported { what: "traffic other than TCP without end".to_owned() });
        }
        longest = longest.max(flow.tcp.mss);
        let like = flows_of(scenario, flow, cap);
        let position = flows.iter().position(|other| Flows { count: 1.0, ..*other } == like).unwrap_or_else(|| {
            flows.push(Flows { count: 0.0, ..like });
            flows.len() - 1
        });
        flows[position].count += 1.0;
        positions.push(position);
    }
    let spoilt = |ip_len: u64| {
        let bits = params.frame_len(Bytes(ip_len)).as_bits() as f64;
        1.0 - (1.0 - station.bit_error_rate).powf(bits)
    };
    let data = spoilt(u64::from(longest) + TCP_IP_HEADER);
    let like = Stations {
        count: 1.0,
        rate: station.rate,
        beta: station.beta,
        data_error: 1.0 - (1.0 - station.frame_error.get()) * (1.0 - data),
        ack_error: spoilt(TCP_IP_HEADER),
        flows,
    };
    Ok((like, positions))
}

fn flows_of(scenario: &Scenario, flow: &Flow, cap: Option<u32>) -> Flows {
    let window = capped(flow, cap);
    // The second segment that a delayed ACK waits for never comes in a window of one: its timeout is part of the round
    // trip.
    let (b, wait) = match (flow.tcp.delayed_ack, window) {
        (false, _) => (1.0, 0.0),
        (true, 0..=1) => (1.0, flow.tcp.delayed_ack_timeout.as_secs_f64()),
        (true, _) => (2.0, 0.0),
    };
    Flows {
        direction: flow.direction,
        count: 1.0,
        window: f64::from(window),
        b,
        mss: Bytes(flow.tcp.mss.into()),
        rto: (flow.tcp.min_rto.as_secs_f64(), flow.tcp.max_rto.as_secs_f64()),
        limited_transmit: flow.tcp.limited_transmit,
        wire: 2.0 * wire_delay(scenario, flow) + wait,
    }
}
