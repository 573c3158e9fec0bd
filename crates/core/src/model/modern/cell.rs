//! A scenario of 802.11n, ac or ax as the models see it: like stations, each with long-lived TCP flows one way.

use super::aggregate::{Exchanges, mean_mpdus};
use crate::mac::{MacParams, QosParams, TxVector};
use crate::model::error::ModelError;
use crate::model::kinds::wire_delay;
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::qdisc::{Mac80211Params, QdiscSpec, SharedFifoParams};
use crate::scenario::{Scenario, Station, Traffic};
use crate::units::Bytes;

/// Bytes of memory that the kernel counts a packet (`skb->truesize`: a buffer of 2048 and its head of 256).
const TRUESIZE: f64 = 2304.0;
/// Aggregates that a station's MAC holds beside its queue.
const AGGREGATES_AHEAD: f64 = 2.0;

/// What decides at the AP whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turns {
    /// The oldest packet's station, out of one queue of so many packets.
    Fifo {
        /// B.
        limit: f64,
    },
    /// Stations one after the other.
    Robin,
    /// Air of both directions.
    Air,
    /// Air of what the AP sends.
    AirDown,
}

/// Stations that are alike.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    pub(super) count: f64,
    /// Way of the payload.
    pub(super) direction: Direction,
    /// Flows of each.
    pub(super) flows: f64,
    /// How data and ACKs go.
    pub(super) data: Exchanges,
    pub(super) acks: Exchanges,
    /// MPDUs of a full PPDU of data, those that are lost and sent again included.
    pub(super) full: f64,
    /// The same of ACKs.
    pub(super) full_acks: f64,
    /// Probability that an MPDU is lost.
    pub(super) error: f64,
    /// ACKs a segment.
    pub(super) ack_ratio: f64,
    /// Payload of a segment in bits.
    pub(super) bits: f64,
    /// Receive window of a flow in segments.
    pub(super) window: f64,
    /// Segments that a station holds of its uploads before it loses one.
    pub(super) holds: f64,
    /// Round trip of the wire in seconds.
    pub(super) wire: f64,
    pub(super) rto: (f64, f64),
    pub(super) limited_transmit: bool,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub(super) params: MacParams,
    pub(super) qos: QosParams,
    pub(super) turns: Turns,
    /// Packets that all flow queues of mac80211 hold at most.
    pub(super) memory: f64,
    pub(super) kinds: Vec<Kind>,
    /// Seconds that flows are observed, all replicas added.
    pub(super) observed: f64,
    /// Position in `kinds` of each station of the scenario, where it has flows.
    pub(super) station: Vec<Option<usize>>,
}

fn unsupported<T>(what: &str) -> Result<T, ModelError> {
    Err(ModelError::Unsupported { what: what.to_owned() })
}

impl Cell {
    /// The cell of `scenario`.
    ///
    /// # Errors
    /// Another PHY, another queue at the AP, a box, an uplink limiter or a window cap; several categories; traffic that is not TCP without
    /// end; a station with flows both ways.
    pub fn of(scenario: &Scenario) -> Result<Cell, ModelError> {
        let params = scenario.mac();
        let Some(qos) = params.qos else { return unsupported("802.11a, b and g here") };
        if scenario.enforce.is_some() {
            return unsupported("a box between gateway and AP in a cell with aggregates");
        }
        if scenario.ap.uplink_limiter.is_some() || scenario.ap.window_cap.is_some() {
            return unsupported("an uplink limiter or a window cap in a cell with aggregates");
        }
        if qos.categories != QosParams::BEST_EFFORT {
            return unsupported("several access categories");
        }
        let (turns, memory) = turns(scenario.ap.queue)?;
        let mut kinds: Vec<Kind> = Vec::new();
        let mut station = Vec::new();
        for row in &scenario.stations {
            let Some(like) = kind(scenario, row, &params, &qos)? else {
                station.push(None);
                continue;
            };
            let position = kinds.iter().position(|other| Kind { count: 1.0, ..other.clone() } == like);
            let position = position.unwrap_or_else(|| {
                kinds.push(Kind { count: 0.0, ..like });
                kinds.len() - 1
            });
            kinds[position].count += 1.0;
            station.push(Some(position));
        }
        if kinds.is_empty() {
            return Err(ModelError::NoFlows);
        }
        let measured = scenario.run.duration.saturating_sub(scenario.run.warmup).as_secs_f64();
        let observed = (measured * f64::from(scenario.run.replicas)).max(1e-3);
        Ok(Cell { params, qos, turns, memory, kinds, observed, station })
    }

    /// Those that send data, with their position.
    pub(super) fn ups(&self) -> impl Iterator<Item = (usize, &Kind)> {
        self.of_direction(Direction::Up)
    }

    /// Those that receive data, with their position.
    pub(super) fn downs(&self) -> impl Iterator<Item = (usize, &Kind)> {
        self.of_direction(Direction::Down)
    }

    fn of_direction(&self, way: Direction) -> impl Iterator<Item = (usize, &Kind)> {
        self.kinds.iter().enumerate().filter(move |(_, kind)| kind.direction == way)
    }
}

fn turns(queue: QdiscSpec) -> Result<(Turns, f64), ModelError> {
    match queue {
        QdiscSpec::SharedFifo(SharedFifoParams { limit, .. }) => {
            Ok((Turns::Fifo { limit: limit as f64 }, f64::INFINITY))
        }
        QdiscSpec::Mac80211(Mac80211Params { airtime, rx_airtime, limit, memory, .. }) => {
            let memory = (limit as f64).min(memory.0 as f64 / TRUESIZE);
            let turns = match (airtime, rx_airtime) {
                (false, _) => Turns::Robin,
                (true, true) => Turns::Air,
                (true, false) => Turns::AirDown,
            };
            Ok((turns, memory))
        }
        other => {
            let what = format!("an AP queue that is `{}` in a cell with aggregates", other.kind());
            Err(ModelError::Unsupported { what })
        }
    }
}

/// What `station` is; `None` without flows.
fn kind(
    scenario: &Scenario,
    station: &Station,
    params: &MacParams,
    qos: &QosParams,
) -> Result<Option<Kind>, ModelError> {
    let Some(first) = station.flows.first() else { return Ok(None) };
    if station.flows.iter().any(|flow| flow.traffic != Traffic::Bulk) {
        return unsupported("traffic other than TCP without end");
    }
    if station.flows.iter().any(|flow| flow.direction != first.direction) {
        return unsupported("a station with flows both ways in a cell with aggregates");
    }
    let tx: TxVector = scenario.radio.station_tx(station);
    let segment = u64::from(first.tcp.mss) + TCP_IP_HEADER;
    let bits = params.frame_len(Bytes(segment)).as_bits() as f64;
    let error = 1.0 - (1.0 - station.frame_error.get()) * (1.0 - station.bit_error_rate).powf(bits);
    let data = Exchanges::new(params, tx, Bytes(segment));
    let window = qos.aggregation.map_or(1, |limits| limits.within(tx.phy()).window);
    let acks = Exchanges::new(params, tx, Bytes(TCP_IP_HEADER));
    Ok(Some(Kind {
        count: 1.0,
        direction: first.direction,
        flows: station.flows.len() as f64,
        data,
        acks,
        full_acks: mean_mpdus(error, window as f64, acks.most),
        full: mean_mpdus(error, window as f64, data.most),
        error,
        ack_ratio: if first.tcp.delayed_ack { 0.5 } else { 1.0 },
        bits: f64::from(first.tcp.mss) * 8.0,
        window: f64::from(first.tcp.window),
        holds: station.uplink_queue as f64 + AGGREGATES_AHEAD * data.most,
        wire: 2.0 * wire_delay(scenario, first),
        rto: (first.tcp.min_rto.as_secs_f64(), first.tcp.max_rto.as_secs_f64()),
        limited_transmit: first.tcp.limited_transmit,
    }))
}
