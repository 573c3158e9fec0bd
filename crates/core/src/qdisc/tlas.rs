//! `tlas`: least attained service first up to a threshold, then first in, first out (khademi2010 section 2.3).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::service::{ByService, PACKET, Service};
use super::{Drops, Qdisc};
use crate::packet::{DropReason, Packet};
use crate::units::Instant;

/// Parameters of [`Tlas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlasParams {
    /// Most packets that wait, at least 1. Default 50 (khademi2010 Table 3).
    pub limit: usize,
    /// Service, in packets of 1460 bytes, up to which a connection has priority. Default 50 (khademi2010 Table 2).
    pub threshold: u64,
}

impl Default for TlasParams {
    fn default() -> Self {
        TlasParams { limit: 50, threshold: 50 }
    }
}

/// Least attained service first below the threshold; all others behind, in the order of arrival.
///
/// Full buffer: a packet below the threshold takes the place of the one below it with the most service, unless that is
/// less than its own (section 3 says so of TLAS-SAF, "similar to TLAS"); if none is below, the place of the last.
/// A packet above the threshold is dropped.
#[derive(Debug)]
pub struct Tlas<P> {
    limit: usize,
    threshold: u64,
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
            service: Service::new(),
            below: ByService::new(params.limit),
            above: VecDeque::with_capacity(params.limit.min(256)),
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
            let victim = match self.below.most() {
                Some(most) if most >= attained => self.below.pop_most(),
                Some(_) => None,
                None => self.above.pop_back(),
            };
            let Some(victim) = victim else {
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
