//! One station or AP: its queue, the frame in service, its counters.

use super::counters::MacStats;
use crate::packet::{NodeId, Packet};
use crate::qdisc::Queue;
use crate::units::Instant;

/// A transmitter under DCF.
pub(super) struct Node<P> {
    pub(super) queue: Queue<P>,
    /// Under DCF the frame that the MAC works on; under EDCA a packet whose session has no room yet. It has left the queue.
    pub(super) in_service: Option<P>,
    pub(super) stats: MacStats,
    /// 802.11 sequence number of the frame in service.
    pub(super) sequence: u16,
    /// Whether its queue decides which station a PPDU goes to.
    pub(super) picks_stations: bool,
}

impl<P: Packet> Node<P> {
    pub(super) fn new(mut queue: Queue<P>) -> Self {
        let picks_stations = queue.picks_stations();
        Node { queue, in_service: None, stats: MacStats::default(), sequence: 0, picks_stations }
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
    /// The node that received it: an AP, or a station.
    pub receiver: NodeId,
    /// The packet.
    pub packet: P,
}
