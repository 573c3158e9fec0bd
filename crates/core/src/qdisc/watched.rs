//! Who waits in a queue and what it drops, packet by packet: what a chart of a queue shows.

use std::collections::BTreeMap;

use crate::packet::{Class, DropReason, FlowId, Packet};
use crate::units::Instant;

/// Drops that are kept; later ones are counted only.
const MOST: usize = 100_000;

/// A packet that a queue dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// When.
    pub at: Instant,
    /// Its flow.
    pub flow: FlowId,
    /// What it was.
    pub class: Class,
    /// Why.
    pub reason: DropReason,
}

/// The packets of a queue by flow, and its drops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    waiting: BTreeMap<FlowId, u32>,
    drops: Vec<Dropped>,
}

impl Watched {
    /// Packets of `flow` that wait.
    pub fn waiting(&self, flow: FlowId) -> u32 {
        self.waiting.get(&flow).copied().unwrap_or_default()
    }

    /// The first 100,000 drops, in the order of their time.
    pub fn take_drops(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.drops)
    }

    pub(super) fn came(&mut self, packet: &impl Packet) {
        *self.waiting.entry(packet.flow()).or_default() += 1;
    }

    pub(super) fn left(&mut self, packet: &impl Packet) {
        if let Some(waiting) = self.waiting.get_mut(&packet.flow()) {
            *waiting = waiting.saturating_sub(1);
        }
    }

    pub(super) fn dropped(&mut self, at: Instant, packet: &impl Packet, reason: DropReason) {
        self.left(packet);
        if self.drops.len() < MOST {
            self.drops.push(Dropped { at, flow: packet.flow(), class: packet.class(), reason });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Category, Direction, Ecn, Kind, NO_SACK, NodeId, Segment};
    use crate::qdisc::{DropTail, Queue};

    #[test]
    fn a_watched_queue_knows_who_waits_and_what_was_dropped() {
        let mut queue: Queue<Segment> = Queue::new(Box::new(DropTail::new(2)));
        queue.watch();
        let of = |flow| Segment {
            flow: FlowId(flow),
            station: NodeId(1),
            direction: Direction::Down,
            kind: Kind::Data,
            incarnation: 0,
            category: Category::BestEffort,
            seq: 0,
            payload: 1460,
            ack: 0,
            window: 0,
            cwnd: 0,
            push: false,
            sack: NO_SACK,
            ecn: Ecn::NONE,
            enqueued_at: Instant::ZERO,
        };
        for flow in [0, 1, 1] {
            queue.enqueue(Instant::ZERO, of(flow));
        }
        let watched = queue.watched().unwrap();
        assert_eq!((watched.waiting(FlowId(0)), watched.waiting(FlowId(1))), (1, 1));
        let drops = watched.take_drops();
        assert_eq!((drops.len(), drops[0].flow, drops[0].reason), (1, FlowId(1), DropReason::QueueFull));
        queue.dequeue(Instant::ZERO);
        assert_eq!(queue.watched().unwrap().waiting(FlowId(0)), 0);
    }
}
