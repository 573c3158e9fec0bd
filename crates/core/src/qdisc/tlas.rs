//! `tlas`: least attained service first up to a threshold, then first in, first out (khademi2010 section 2.3).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::service::{ByService, PACKET, Service};
use super::{Drops, Qdisc};
use crate::packet::{DropReason, Packet};
use crate::units::Instant;

/// Which packet makes room in a full buffer for one below the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The one below the threshold with the most service, unless that is less than the arrival's; the last packet when
    /// none is below: the rule of khademi2010 section 3 to the letter.
    #[default]
    Below,
    /// The last packet, as under LAS (khademi2010 section 2.3); one below the threshold when all are.
    Last,
}

/// Parameters of [`Tlas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlasParams {
    /// Most packets that wait, at least 1. Default 50 (khademi2010 Table 3).
    pub limit: usize,
    /// Service, in packets of 1460 bytes, up to which a connection has priority. Default 50 (khademi2010 Table 2).
    pub threshold: u64,
    /// What makes room below the threshold. Default `below` (khademi2010 section 3).
    #[serde(skip_serializing_if = "crate::units::is_default")]
    pub victim: Victim,
}

impl Default for TlasParams {
    fn default() -> Self {
        TlasParams { limit: 50, threshold: 50, victim: Victim::Below }
    }
}

/// Least attained service first below the threshold; all others behind, in the order of arrival.
///
/// Full buffer: a packet below the threshold takes the place of the one that [`Victim`] names (section 3 gives the rule
/// for TLAS-SAF, "similar to TLAS"). A packet above the threshold is dropped.
#[derive(Debug)]
pub struct Tlas<P> {
    limit: usize,
    threshold: u64,
    victim: Victim,
    service: Service,
    below: ByService<P>,
    above: VecDeque<P>,
}

impl<P> Tlas<P> {
    /// An empty queue.
    pub fn new(params: TlasParams) -> Self {
        Tlas {
            limit: params.limit,
            threshold: params.threshold.saturating_mul(PACKET),
            victim: params.victim,
            service: Service::new(),
            below: ByService::new(params.limit),
            above: VecDeque::with_capacity(params.limit.min(256)),
        }
    }

    /// Makes room for a packet of a flow below the threshold.
    fn victim_for_below(&mut self, attained: u64) -> Option<P> {
        if self.victim == Victim::Last && !self.above.is_empty() {
            return self.above.pop_back();
        }
        match self.below.most() {
            Some(most) if most >= attained => self.below.pop_most(),
            Some(_) => None,
            None => self.above.pop_back(),
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Tlas<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut Drops<P>) {
        let attained = self.service.attained(now, &packet);
        let full = self.len() >= self.limit;
        if attained > self.threshold {
            if full {
                drops.push((packet, DropReason::QueueFull));
            } else {
                self.above.push_back(packet);
            }
            return;
        }
        if full {
            let Some(victim) = self.victim_for_below(attained) else {
                drops.push((packet, DropReason::QueueFull));
                return;
            };
            drops.push((victim, DropReason::PushedOut));
        }
        self.below.insert(attained, packet);
    }

    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops<P>) -> Option<P> {
        self.below.pop_least().or_else(|| self.above.pop_front())
    }

    fn len(&self) -> usize {
        self.below.len() + self.above.len()
    }
}
