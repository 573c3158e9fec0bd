//! What a flow asks for.

use std::ops::Range;

use crate::packet::TCP_IP_HEADER;
use crate::scenario::{Flow, Scenario, Traffic, Wire};
use crate::units::Duration;

/// A file may take so many seconds before its user is said to wait for it: connections are set up, and a first packet may be lost.
pub(super) const PATIENCE_S: f64 = 1.0;

/// Datagrams that may still be under way.
pub(super) const UNDER_WAY: u64 = 1;

/// What a replica showed of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// In which part of the period it has waited for files, if it has any.
    pub(super) waited: Option<f64>,
    /// Packets that it sent.
    pub(super) sent_per_s: f64,
}

/// What a flow asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Part of the period in which it is there.
    present: f64,
    /// Most that it takes while it sends: its rate, its window over the round trip of its wires, or its wires.
    most: f64,
    /// Files with pauses: bits of a file, mean seconds of a burst and of a pause.
    paused: Option<(f64, f64, f64)>,
    /// A given number of files that began before the period: how many of them are left is not known.
    is_left: bool,
    /// In which part of the period it has waited for files, where that is known and says more than the rest.
    waited: Option<f64>,
}

impl Asked {
    /// Nothing for a flow that is not there in the period, counted from the start of the run.
    pub(super) fn of(scenario: &Scenario, flow: &Flow, period: Range<Duration>) -> Option<Self> {
        let Range { start: from, end: to } = period;
        let measured = (to.as_secs_f64() - from.as_secs_f64()).max(1e-9);
        let begins = flow.start.max(from).as_secs_f64();
        let ends = flow.stop.unwrap_or(to).min(to).as_secs_f64();
        let present = ((ends - begins) / measured).clamp(0.0, 1.0);
        if present <= 0.0 {
            return None;
        }
        let wires = std::iter::once(&scenario.wire).chain(&flow.wire);
        let mut most = wires.clone().map(|wire| wire_goodput(wire, flow)).fold(f64::INFINITY, f64::min);
        let round_trip: f64 = wires.map(|wire| 2.0 * wire.delay.as_secs_f64()).sum();
        let (mut paused, mut is_left) = (None, false);
        match flow.traffic {
            Traffic::Bulk => most = most.min(windows(flow, round_trip)),
            Traffic::Files { size, count, burst, idle } => {
                most =
                    most.min(windows(flow, round_trip)).min(size.as_bits() as f64 / set_up(flow, size.0, round_trip));
                is_left = count.is_some() && flow.start < from;
                if let Some(count) = count.filter(|_| !is_left) {
                    most = most.min(f64::from(count) * size.as_bits() as f64 / measured / present);
                }
                if idle > Duration::ZERO {
                    paused = Some((size.as_bits() as f64, burst.as_secs_f64(), idle.as_secs_f64()));
                }
            }
            Traffic::Quic | Traffic::UdpGreedy { .. } => {}
            Traffic::UdpCbr { rate, .. } => most = most.min(rate.as_bps() as f64),
        }
        Some(Asked { present, most, paused, is_left, waited: None })
    }

    /// With what is known of `flow`; nothing where that is needed and is not there.
    pub(super) fn within(self, flow: &Flow, known: Option<Known>) -> Option<Self> {
        let Some(Known { waited, sent_per_s }) = known else { return Some(self).filter(|own| !own.is_left) };
        if self.is_left && waited.is_none() {
            return None;
        }
        let sent = match flow.traffic {
            Traffic::UdpCbr { payload, .. } => sent_per_s * payload.as_bits() as f64 / self.present,
            _ => f64::INFINITY,
        };
        let waited = waited.filter(|_| self.paused.is_some() || self.is_left);
        Some(Asked { waited, most: self.most.min(sent), ..self })
    }

    /// What it takes where nobody gets more than `level` bit/s at a time.
    pub(super) fn at(self, level: f64) -> f64 {
        let sending = level.min(self.most);
        let most = self.waited.map_or(f64::INFINITY, |waited| waited * sending);
        let asked = self.present
            * match self.paused {
                None => sending,
                Some(_) if sending <= 0.0 => 0.0,
                Some((bits, burst, idle)) => {
                    // A file that has begun is brought to its end.
                    let on = burst.max(bits / sending);
                    sending * on / (on + idle)
                }
            };
        asked.min(most)
    }
}

/// Payload that a wire carries of a flow's full packets.
fn wire_goodput(wire: &Wire, flow: &Flow) -> f64 {
    let mss = f64::from(flow.tcp.mss);
    wire.rate.as_bps() as f64 * mss / (mss + TCP_IP_HEADER as f64)
}

/// A window a round trip.
fn windows(flow: &Flow, round_trip: f64) -> f64 {
    f64::from(flow.tcp.window) * f64::from(flow.tcp.mss) * 8.0 / round_trip
}

/// Least time that a file of `bytes` takes: the handshake and the rounds of slow start.
fn set_up(flow: &Flow, bytes: u64, round_trip: f64) -> f64 {
    let segments = bytes as f64 / f64::from(flow.tcp.mss.max(1));
    let rounds = (segments / f64::from(flow.tcp.initial_cwnd.max(1)) + 1.0).log2().ceil().max(1.0);
    round_trip * (1.0 + rounds)
}
