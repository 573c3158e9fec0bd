//! One station or the AP: its queue, the frame in service, its counters.

use crate::packet::{NodeId, Packet};
use crate::qdisc::Queue;
use crate::record::MacStats;
use crate::units::Instant;

/// A transmitter under DCF.
pub(super) struct Node<P> {
    pub(super) queue: Queue<P>,
    /// The frame that the MAC works on; it has left the queue.
    pub(super) in_service: Option<P>,
    pub(super) stats: MacStats,
    /// 802.11 sequence number of the frame in service.
    pub(super) sequence: u16,
}

impl<P: Packet> Node<P> {
    pub(super) fn new(queue: Queue<P>) -> Self {
        Node { queue, in_service: None, stats: MacStats::default(), sequence: 0 }
    }

    /// Fetches the next packet from the queue when the MAC has none.
    pub(super) fn fetch(&mut self, now: Instant) {
        if self.in_service.is_none() {
            self.in_service = self.queue.dequeue(now);
            if self.in_service.is_some() {
                self.sequence = (self.sequence + 1) % 4096;
            }
        }
    }
}

/// A packet that crossed the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The node that received it: the AP, or a station.
    pub receiver: NodeId,
    /// The packet.
    pub packet: P,
}
