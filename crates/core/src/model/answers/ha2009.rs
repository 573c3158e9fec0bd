//! ha2009's answer to a scenario whose AP has a dual queue: Eqs. 1-7 and 13, with R from the capacity of the mix.

use crate::model::assumptions::{Check, no_errors, steady};
use crate::model::capacity::{self, Stream, Transmitter};
use crate::model::dcf::Backoff;
use crate::model::error::ModelError;
use crate::model::ha2009::{Cell, modified_p, optimal_p};
use crate::model::kinds::{Kinds, wire_delay};
use crate::model::prediction::{Model, Prediction};
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::qdisc::{DualQueueParams, QdiscSpec, Share, ShareRule};
use crate::scenario::Scenario;
use crate::units::Bytes;

pub(super) const MODEL: Model = Model {
    name: "ha2009",
    what: "goodput, ratio and queues of an AP with a dual queue",
    source: "ha2009",
    default_for: "a dual queue whose p is known",
    is_default: |scenario| matches!(scenario.ap.queue, QdiscSpec::DualQueue(_)),
    assumptions: checks,
    answer,
};

/// Rounds of the search for R; it contracts by half or better each round.
const ROUNDS: u32 = 40;

/// Goodputs under the dual queue of `scenario`.
///
/// # Errors
/// Another queue, something beside it that changes the shares, or windows that differ.
fn answer(scenario: &Scenario) -> Result<Prediction, ModelError> {
    let unsupported = |what: &str| Err(ModelError::Unsupported { what: what.to_owned() });
    let QdiscSpec::DualQueue(dual) = scenario.ap.queue else {
        return unsupported("a single queue: ha2009 is about an AP with a dual queue");
    };
    if scenario.enforce.is_some() || scenario.ap.uplink_limiter.is_some() {
        return unsupported("a box or an uplink limiter beside the dual queue");
    }
    let kinds = Kinds::with_buffer(scenario, (dual.data + dual.ack) as f64)?;
    let windows: Vec<u32> = scenario.flows().map(|(_, flow)| kinds.window(flow)).collect();
    let Some(window) = windows.first().copied() else { return Err(ModelError::NoFlows) };
    if windows.iter().any(|other| *other != window) {
        return unsupported("flows of different windows: w_r is one");
    }
    let tau = |way: Direction| -> Vec<f64> {
        let flows = scenario.flows().filter(|(_, flow)| flow.direction == way);
        flows.map(|(_, flow)| 2.0 * wire_delay(scenario, flow)).collect()
    };
    let (tau_d, tau_u) = (tau(Direction::Down), tau(Direction::Up));
    let p = share(&dual, tau_d.len() as u32, tau_u.len() as u32)?;
    let mut cell =
        Cell { window: f64::from(window), q_d: dual.data as f64, q_a: dual.ack as f64, p, rate: 300.0, tau_d, tau_u };
    for _ in 0..ROUNDS {
        let rate = services(scenario, &kinds, &cell)?;
        let moved = (rate / cell.rate - 1.0).abs();
        cell.rate = f64::midpoint(cell.rate, rate);
        if moved < 1e-9 {
            break;
        }
    }
    let values = [
        ("flows[].goodput_bps", "ha2009 Eqs. 1-4 (downloads), 6-7 (uploads)"),
        ("totals", "ha2009, with R from the capacity of the mix"),
        ("ap_queue.mean_packets", "ha2009 section 3.3: 3/4 of Q_D, and Q_A; all windows where they fit"),
    ];
    Ok(Prediction {
        flows: by_flow(scenario, &cell)?,
        ap_loss: None,
        ap_queue: Some(waiting(&cell)?),
        ap_services: Some(cell.rate),
        station_queues: None,
        packets: None,
        section: MODEL.section(scenario, &values, false),
    })
}

fn checks(scenario: &Scenario, _starvation: bool) -> Vec<Check> {
    let (mut feedback, mut known) = (false, true);
    if let QdiscSpec::DualQueue(dual) = scenario.ap.queue {
        feedback = dual.p == Share::Rule(ShareRule::Auto);
        known = matches!(dual.p, Share::Fixed(_)) || scenario.flows().all(|(_, flow)| flow.tcp.window == dual.window);
    }
    vec![
        ("synchronised", true, "downloads lose packets at the same time"),
        ("timeouts", true, "windows never wait for a timeout; many uploads with few ACKs do"),
        ("ACKs", !scenario.flows().any(|(_, flow)| flow.tcp.delayed_ack), "an ACK a segment"),
        ("errors", no_errors(scenario), "no channel errors"),
        ("p", !feedback, "p is known; with `auto` it is Eq. 13's, from which feedback departs"),
        ("w_r", known, "the rule for p knows the flows' window"),
        ("steady", steady(scenario), "all flows last from the warm-up to the end, and no event happens"),
    ]
}

/// p in force. Feedback (`auto`) begins with Eq. 13; a queue that stays empty leaves all services to the other.
fn share(dual: &DualQueueParams, m: u32, n: u32) -> Result<f64, ModelError> {
    const NEARLY: f64 = 1e-6;
    let (window, q_a) = (f64::from(dual.window), dual.ack as f64);
    let p = match (dual.p, m, n) {
        (_, 0, _) => 0.0,
        (_, _, 0) => 1.0,
        (Share::Fixed(p), ..) => p,
        (Share::Rule(ShareRule::Modified), ..) => modified_p(m, n, window, q_a)?,
        (Share::Rule(ShareRule::Optimal | ShareRule::Auto), ..) => optimal_p(m, n, window, q_a)?,
    };
    Ok(p.clamp(NEARLY, 1.0 - NEARLY))
}

/// Segments per second of each flow, in the scenario's order.
fn segments(scenario: &Scenario, cell: &Cell) -> Result<Vec<f64>, ModelError> {
    let (mut down, mut up) = (cell.downloads()?.into_iter(), cell.uploads()?.into_iter());
    let rates = scenario.flows().map(|(_, flow)| match flow.direction {
        Direction::Down => down.next(),
        Direction::Up => up.next(),
    });
    Ok(rates.map(Option::unwrap_or_default).collect())
}

fn by_flow(scenario: &Scenario, cell: &Cell) -> Result<Vec<f64>, ModelError> {
    let rates = segments(scenario, cell)?;
    Ok(scenario.flows().zip(rates).map(|((_, flow), rate)| rate * f64::from(flow.tcp.mss) * 8.0).collect())
}

/// R: what the AP sends per second when p of it are segments, and the stations what these answer and release.
fn services(scenario: &Scenario, kinds: &Kinds, cell: &Cell) -> Result<f64, ModelError> {
    let params = &kinds.cell.params;
    let mut mix = vec![Transmitter { backoff: Backoff::new(params, 1.0)?, count: 1.0, streams: Vec::new() }];
    for station in &scenario.stations {
        mix.push(Transmitter { backoff: Backoff::new(params, station.beta)?, count: 1.0, streams: Vec::new() });
    }
    let rates = segments(scenario, cell)?;
    let (m, n) = (cell.tau_d.len() as f64, cell.tau_u.len() as f64);
    for ((station, flow), rate) in scenario.flows().zip(rates) {
        let kind = &kinds.cell.stations[kinds.station[station]];
        let data = Bytes(u64::from(flow.tcp.mss) + TCP_IP_HEADER);
        let ack = Bytes(TCP_IP_HEADER);
        let b = if flow.tcp.delayed_ack { 2.0 } else { 1.0 };
        let stream = |packets, ip_len, error| Stream { packets, ip_len, rate: kind.rate, error };
        let segments = rate / cell.rate;
        if flow.direction == Direction::Down {
            mix[0].streams.push(stream(cell.p / m, data, kind.data_error));
            mix[station + 1].streams.push(stream(cell.p / m / b, ack, kind.ack_error));
        } else {
            // ACKs of which none is lost are fewer than the share of the queue that holds them.
            mix[0].streams.push(stream(((1.0 - cell.p) / n).min(segments / b), ack, kind.ack_error));
            mix[station + 1].streams.push(stream(segments, data, kind.data_error));
        }
    }
    let sent: f64 = mix[0].streams.iter().map(|stream| stream.packets).sum();
    Ok(capacity::carry(params, &mix)?.mixes_per_s * sent)
}

/// Packets in both queues.
fn waiting(cell: &Cell) -> Result<f64, ModelError> {
    let in_wire = |rates: &[f64], tau: &[f64]| rates.iter().zip(tau).map(|(rate, tau)| rate * tau).sum::<f64>();
    let (m, n) = (cell.tau_d.len() as f64, cell.tau_u.len() as f64);
    let fit = |flows: f64, rates: &[f64], tau: &[f64]| (flows * cell.window - in_wire(rates, tau)).max(0.0);
    let (down, up) = (cell.downloads()?, cell.uploads()?);
    let data = if cell.q_d < m * cell.window { 0.75 * cell.q_d } else { fit(m, &down, &cell.tau_d) };
    let acks = if cell.q_a < n * cell.window { cell.q_a } else { fit(n, &up, &cell.tau_u) };
    Ok(data + acks)
}
