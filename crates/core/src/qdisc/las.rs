//! `las`: the connection that got the least so far goes first (khademi2010 section 2.3).

use serde::{Deserialize, Serialize};

use super::service::{ByService, Service};
use super::{Drops, Qdisc};
use crate::packet::{DropReason, Packet};
use crate::units::Instant;

/// Parameters of [`Las`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LasParams {
    /// Most packets that wait, at least 1. Default 50 (khademi2010 Table 3).
    pub limit: usize,
}

impl Default for LasParams {
    fn default() -> Self {
        LasParams { limit: 50 }
    }
}

/// Least attained service first, both directions of a connection counted as one.
///
/// A packet that arrives to a full queue is put in its place, and the packet at the end of the queue is dropped.
#[derive(Debug)]
pub struct Las<P> {
    params: LasParams,
    service: Service,
    waiting: ByService<P>,
}

impl<P> Las<P> {
    /// An empty queue.
    pub fn new(params: LasParams) -> Self {
        Las { params, service: Service::new(), waiting: ByService::new(params.limit) }
    }
}

impl<P: Packet + Send> Qdisc<P> for Las<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut Drops<P>) {
        let attained = self.service.attained(now, &packet);
        if self.waiting.len() >= self.params.limit {
            if self.waiting.most().is_none_or(|most| most <= attained) {
                drops.push((packet, DropReason::QueueFull));
                return;
            }
            drops.extend(self.waiting.pop_most().map(|last| (last, DropReason::PushedOut)));
        }
        self.waiting.insert(attained, packet);
    }

    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops<P>) -> Option<P> {
        self.waiting.pop_least()
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}
