//! Attained service of connections, and a queue in its order: what the LAS family shares.

use std::collections::VecDeque;

use super::flow_table::FlowTable;
use crate::packet::{Class, Packet};
use crate::units::{Duration, Instant};

/// Payload of the packets in which khademi2010 counts thresholds and windows (its Table 2).
pub(super) const PACKET: u64 = 1460;
/// A UDP flow silent for so long starts anew. Ours: the paper knows TCP only.
const IDLE: Duration = Duration::from_secs(10);

/// Tells what service a connection has attained when a packet of it arrives.
///
/// By khademi2010 section 3 that is the packet's sequence number, and for an ACK the sequence number of the last data
/// packet that it acknowledges: the bytes of the other direction. Both are counted to the packet's end. No state is
/// kept for TCP; as sequence numbers start with the SYN, so does the service of a new connection.
#[derive(Debug)]
pub(super) struct Service {
    /// Bytes of flows that have no sequence numbers, counted on arrival.
    others: FlowTable<u64>,
}

impl Service {
    pub(super) fn new() -> Self {
        Service { others: FlowTable::new(IDLE) }
    }

    /// Bytes of the connection up to and with `packet`.
    pub(super) fn attained<P: Packet>(&mut self, now: Instant, packet: &P) -> u64 {
        match packet.tcp() {
            Some(tcp) if packet.class() == Class::Ack => tcp.ack,
            Some(tcp) => tcp.seq + u64::from(tcp.payload),
            None => {
                let bytes = self.others.touch(now, packet.flow());
                *bytes += packet.ip_len().0;
                *bytes
            }
        }
    }
}

/// Packets in the order of attained service; equals in the order of arrival.
#[derive(Debug)]
pub(super) struct ByService<P> {
    /// A sorted deque: with buffers of some hundred packets moving a few beats any tree, and it never allocates.
    waiting: VecDeque<(u64, P)>,
}

impl<P> ByService<P> {
    pub(super) fn new(limit: usize) -> Self {
        ByService { waiting: VecDeque::with_capacity(limit.min(256)) }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn insert(&mut self, attained: u64, packet: P) {
        let position = self.waiting.partition_point(|(other, _)| *other <= attained);
        self.waiting.insert(position, (attained, packet));
    }

    /// Takes the packet with the least service.
    pub(super) fn pop_least(&mut self) -> Option<P> {
        self.waiting.pop_front().map(|(_, packet)| packet)
    }

    /// The most service of any that waits.
    pub(super) fn most(&self) -> Option<u64> {
        self.waiting.back().map(|(attained, _)| *attained)
    }

    /// Takes the packet with the most service, the latest of them.
    pub(super) fn pop_most(&mut self) -> Option<P> {
        self.waiting.pop_back().map(|(_, packet)| packet)
    }
}
