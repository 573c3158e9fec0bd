//! Many small queues with one limit: what the fair disciplines share.

use std::collections::{BTreeMap, VecDeque};

use super::Drops;
use crate::packet::{DropReason, Packet};

/// Position of a queue in [`Backlogs`], valid until it is released.
pub(super) type Slot = usize;

/// One queue and what its discipline remembers of it.
#[derive(Debug)]
pub(super) struct Backlog<P, S> {
    key: u32,
    pub(super) waiting: VecDeque<P>,
    /// IP bytes waiting.
    pub(super) bytes: u64,
    pub(super) state: S,
}

/// FIFO queues by key (flow or station), made at a key's first packet and reused after their release, so that neither
/// memory nor time grows with flows that have ended.
#[derive(Debug)]
pub(super) struct Backlogs<P, S> {
    index: BTreeMap<u32, Slot>,
    slots: Vec<Backlog<P, S>>,
    free: Vec<Slot>,
    total: usize,
}

impl<P: Packet, S: Default> Backlogs<P, S> {
    pub(super) fn new() -> Self {
        Backlogs { index: BTreeMap::new(), slots: Vec::new(), free: Vec::new(), total: 0 }
    }

    /// Packets waiting in all queues.
    pub(super) fn len(&self) -> usize {
        self.total
    }

    /// The queue of `key`, and whether it was made for this call.
    pub(super) fn slot(&mut self, key: u32) -> (Slot, bool) {
        if let Some(slot) = self.index.get(&key) {
            return (*slot, false);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Backlog { key, waiting: VecDeque::new(), bytes: 0, state: S::default() });
            self.slots.len() - 1
        });
        self.slots[slot].key = key;
        self.slots[slot].state = S::default();
        self.index.insert(key, slot);
        (slot, true)
    }

    /// Forgets an empty queue.
    pub(super) fn release(&mut self, slot: Slot) {
        debug_assert!(self.slots[slot].waiting.is_empty(), "only empty queues are released");
        self.index.remove(&self.slots[slot].key);
        self.free.push(slot);
    }

    pub(super) fn get(&self, slot: Slot) -> &Backlog<P, S> {
        &self.slots[slot]
    }

    pub(super) fn state(&mut self, slot: Slot) -> &mut S {
        &mut self.slots[slot].state
    }

    pub(super) fn push(&mut self, slot: Slot, packet: P) {
        self.total += 1;
        self.slots[slot].bytes += packet.ip_len().0;
        self.slots[slot].waiting.push_back(packet);
    }

    /// Takes the packet that has waited longest in a queue.
    pub(super) fn pop_head(&mut self, slot: Slot) -> Option<P> {
        let packet = self.slots[slot].waiting.pop_front();
        self.count_out(slot, packet)
    }

    /// Takes the packet that came last to a queue.
    pub(super) fn pop_tail(&mut self, slot: Slot) -> Option<P> {
        let packet = self.slots[slot].waiting.pop_back();
        self.count_out(slot, packet)
    }

    /// The longest queue by `size`; among equals `preferred`, else the one made first.
    pub(super) fn longest(&self, preferred: Slot, size: impl Fn(&Backlog<P, S>) -> u64) -> Slot {
        let mut longest = (size(&self.slots[preferred]), preferred);
        for (slot, backlog) in self.slots.iter().enumerate() {
            let size = size(backlog);
            if size > longest.0 {
                longest = (size, slot);
            }
        }
        longest.1
    }

    /// Drops the packet that came last to the longest queue, for a packet that came to `own`.
    pub(super) fn shorten(&mut self, own: Slot, drops: &mut Drops<P>) -> Slot {
        let longest = self.longest(own, |backlog| backlog.waiting.len() as u64);
        let reason = if longest == own { DropReason::QueueFull } else { DropReason::PushedOut };
        drops.extend(self.pop_tail(longest).map(|packet| (packet, reason)));
        longest
    }

    fn count_out(&mut self, slot: Slot, packet: Option<P>) -> Option<P> {
        if let Some(packet) = &packet {
            self.total -= 1;
            self.slots[slot].bytes -= packet.ip_len().0;
        }
        packet
    }
}
