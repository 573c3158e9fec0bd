//! `droptail`: first in, first out, arrivals are dropped when the queue is full.

use std::collections::VecDeque;

use super::{Drops, Qdisc};
use crate::packet::{DropReason, Packet};
use crate::units::Instant;

/// A FIFO of at most `limit` waiting packets.
#[derive(Debug)]
pub struct DropTail<P> {
    limit: usize,
    waiting: VecDeque<P>,
}

impl<P> DropTail<P> {
    /// Room for `limit` waiting packets (the one in service is the server's).
    pub fn new(limit: usize) -> Self {
        // Reserved once up to a sane size: a steady queue allocates nothing per packet.
        DropTail { limit, waiting: VecDeque::with_capacity(limit.min(256)) }
    }
}

impl<P: Packet + Send> Qdisc<P> for DropTail<P> {
    fn enqueue(&mut self, _now: Instant, packet: P, drops: &mut Drops<P>) {
        if self.waiting.len() < self.limit {
            self.waiting.push_back(packet);
        } else {
            drops.push((packet, DropReason::QueueFull));
        }
    }

    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops<P>) -> Option<P> {
        self.waiting.pop_front()
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}
