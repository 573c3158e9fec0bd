//! Everybody's goodput under AP buffer loss, channel errors, unequal rates and priorities, and delayed ACKs at once.
//!
//! Ours (docs/models.md, section Unified). Symbols: `lambda` packets per second that the AP sends while it has any, `Q`
//! packets that wait at the AP, `p` its loss probability, `D_i` delay in the queue of station i in AP services, `m_i`
//! packets that station i sends per AP service while it has any, `l` probability that the MAC gives a segment up.

use crate::mac::MacParams;
use crate::packet::Direction;
use crate::units::{Bitrate, Bytes};

/// A flow below this share of the mean goodput is critically starved.
pub const STARVED: f64 = 0.05;

/// Flows that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flows {
    /// Way of the payload.
    pub direction: Direction,
    /// How many a station.
    pub count: f64,
    /// Receive window in segments, at least 1.
    pub window: f64,
    /// Segments that an ACK acknowledges: 1, or 2 with delayed ACKs.
    pub b: f64,
    /// Payload of a segment.
    pub mss: Bytes,
    /// Smallest and largest retransmission timeout in seconds.
    pub rto: (f64, f64),
    /// RFC 3042.
    pub limited_transmit: bool,
    /// Round-trip time of the wire in seconds.
    pub wire: f64,
}

/// Stations that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Stations {
    /// How many.
    pub count: f64,
    /// PHY rate, both ways.
    pub rate: Bitrate,
    /// Access priority over the AP.
    pub beta: f64,
    /// Probability that an attempt of a frame with payload is spoilt.
    pub data_error: f64,
    /// Of one without.
    pub ack_error: f64,
    /// What each has.
    pub flows: Vec<Flows>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Timing and windows of the MAC.
    pub params: MacParams,
    /// Packets that may wait at the AP, at least 1.
    pub buffer: f64,
    /// The stations, like ones together.
    pub stations: Vec<Stations>,
    /// Seconds that the flows are observed, all repetitions added: what can even out. Above zero.
    pub observed: f64,
}

/// What a flow gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowAnswer {
    /// Segments delivered in order per second.
    pub goodput: f64,
    /// Probability that a segment is lost, anywhere.
    pub loss: f64,
    /// Goodput of the unluckiest of the flows that are like it, in the observed time: timeouts hit at random, and a
    /// flow that they hit early may stay out for long.
    pub least: f64,
}

/// The steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// `p`.
    pub p: f64,
    /// `Q`.
    pub q_ap: f64,
    /// `lambda` in packets per second.
    pub lambda: f64,
    /// Packets in the queue of each station, by kind of station.
    pub q: Vec<f64>,
    /// By kind of station and kind of flow.
    pub flows: Vec<Vec<FlowAnswer>>,
    /// IP packets that cross the radio per second, both ways.
    pub packets: f64,
    /// Those of them that the AP sends.
    pub ap_packets: f64,
}

impl Answer {
    /// Whether some flow is critically starved: below 5 % of the fair share.
    pub fn starves(&self, cell: &Cell) -> bool {
        let (mut total, mut flows, mut least) = (0.0, 0.0, f64::INFINITY);
        for (s, row) in cell.stations.iter().zip(&self.flows) {
            for (f, answer) in s.flows.iter().zip(row).filter(|(f, _)| s.count * f.count > 0.0) {
                total += s.count * f.count * answer.goodput;
                flows += s.count * f.count;
                least = answer.least.min(least);
            }
        }
        least < STARVED * total / flows
    }
}
