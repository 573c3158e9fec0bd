//! One pool of packets for all stations, served station by station in the order of their oldest packets.
//!
//! ns-3's MAC queue with its first-come-first-served scheduler, and access points before per-station queues: the station
//! of the oldest packet gets an aggregate of everything that waits for it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::discipline::{Held, Nothing, Txq};
use super::{Drops, Qdisc};
use crate::packet::{Category, DropReason, NodeId, Packet};
use crate::units::{Bytes, Instant};

/// Limits of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SharedFifoParams {
    /// Packets that it holds at most, at least 1.
    pub limit: usize,
    /// Whether packets that the MAC has not got acknowledged yet count towards `limit` (ns-3).
    pub count_unacknowledged: bool,
}

impl Default for SharedFifoParams {
    /// ns-3's number of packets; only those that wait count.
    fn default() -> Self {
        SharedFifoParams { limit: 500, count_unacknowledged: false }
    }
}

/// The pool.
pub struct SharedFifo<P> {
    params: SharedFifoParams,
    /// By station and category.
    queues: Vec<[VecDeque<P>; 4]>,
    /// Packets that wait, by category.
    waiting: [usize; 4],
    /// Packets handed over and not completed.
    held: usize,
}

impl<P> SharedFifo<P> {
    /// An empty pool.
    pub fn new(params: SharedFifoParams) -> Self {
        SharedFifo { params, queues: Vec::new(), waiting: [0; 4], held: 0 }
    }
}

impl<P: Packet + Send> Qdisc<P> for SharedFifo<P> {
    fn enqueue(&mut self, _now: Instant, packet: P, drops: &mut Drops<P>) {
        let held = if self.params.count_unacknowledged { self.held } else { 0 };
        if self.len() + held >= self.params.limit {
            drops.push((packet, DropReason::QueueFull));
            return;
        }
        let station = packet.station().index();
        if station >= self.queues.len() {
            self.queues.resize_with(station + 1, Default::default);
        }
        let category = packet.category().index();
        self.waiting[category] += 1;
        self.queues[station][category].push_back(packet);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<P> {
        let (station, category) = Category::ALL
            .into_iter()
            .find_map(|category| self.next_station(now, category, &Nothing).map(|station| (station, category)))?;
        let packet = self.dequeue_for(now, station, category, drops);
        // Who dequeues one packet after the other reports no completion.
        self.held -= usize::from(packet.is_some());
        packet
    }

    fn len(&self) -> usize {
        self.waiting.iter().sum()
    }

    fn as_txq(&mut self) -> Option<&mut dyn Txq<P>> {
        Some(self)
    }
}

impl<P: Packet + Send> Txq<P> for SharedFifo<P> {
    fn has_traffic(&self, category: Category) -> bool {
        self.waiting[category.index()] > 0
    }

    fn next_station(&mut self, _now: Instant, category: Category, held: &dyn Held) -> Option<NodeId> {
        let age = |(station, queues): (usize, &[VecDeque<P>; 4])| {
            let station = NodeId(station as u32);
            let first = queues[category.index()].front().filter(|_| held.has_room(station));
            if first.is_none() && !held.may_send(station) {
                return None;
            }
            let oldest = [held.oldest(station), first.map(Packet::enqueued_at)].into_iter().flatten().min();
            oldest.map(|oldest| (oldest, station))
        };
        self.queues.iter().enumerate().skip(1).filter_map(age).min().map(|(_, station)| station)
    }

    fn dequeue_for(&mut self, _now: Instant, station: NodeId, category: Category, _drops: &mut Drops<P>) -> Option<P> {
        let packet = self.queues.get_mut(station.index())?[category.index()].pop_front()?;
        self.waiting[category.index()] -= 1;
        self.held += 1;
        Some(packet)
    }

    fn completed(&mut self, _now: Instant, _station: NodeId, _category: Category, packets: usize, _bytes: Bytes) {
        self.held -= packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, FlowId, Kind, NO_SACK, Segment};
    use crate::units::Duration;

    fn segment(station: usize, seq: u64, at: u64) -> Segment {
        Segment {
            flow: FlowId(0),
            station: NodeId::station(station),
            direction: Direction::Down,
            kind: Kind::Data,
            incarnation: 1,
            category: crate::packet::Category::BestEffort,
            seq,
            payload: 1460,
            ack: 0,
            window: 0,
            cwnd: 0,
            push: false,
            sack: NO_SACK,
            ecn: crate::packet::Ecn::NONE,
            enqueued_at: Instant::ZERO + Duration::from_micros(at),
        }
    }

    fn pool(limit: usize, count_unacknowledged: bool) -> SharedFifo<Segment> {
        SharedFifo::new(SharedFifoParams { limit, count_unacknowledged })
    }

    #[test]
    fn the_station_of_the_oldest_packet_is_served_with_everything_that_waits_for_it() {
        let (mut pool, mut drops) = (pool(10, false), Vec::new());
        for (station, at) in [(1, 1), (0, 2), (1, 3)] {
            pool.enqueue(Instant::ZERO, segment(station, at, at), &mut drops);
        }
        let be = Category::BestEffort;
        let first = pool.next_station(Instant::ZERO, be, &Nothing).unwrap();
        assert_eq!(first, NodeId::station(1));
        let mut next = || pool.dequeue_for(Instant::ZERO, first, be, &mut drops).map(|packet| packet.seq);
        assert_eq!([next(), next(), next()], [Some(1), Some(3), None]);
        assert_eq!(pool.next_station(Instant::ZERO, be, &Nothing), Some(NodeId::station(0)));
    }

    #[test]
    fn packets_count_until_they_are_acknowledged_where_asked_for() {
        for (count, dropped) in [(false, 0), (true, 1)] {
            let (mut pool, mut drops) = (pool(1, count), Vec::new());
            let station = NodeId::station(0);
            pool.enqueue(Instant::ZERO, segment(0, 0, 0), &mut drops);
            assert!(pool.dequeue_for(Instant::ZERO, station, Category::BestEffort, &mut drops).is_some());
            pool.enqueue(Instant::ZERO, segment(0, 1, 1), &mut drops);
            assert_eq!(drops.len(), dropped, "counting what the MAC holds: {count}");
            pool.completed(Instant::ZERO, station, Category::BestEffort, 1, Bytes(1500));
            pool.enqueue(Instant::ZERO, segment(0, 2, 2), &mut drops);
            assert_eq!(drops.len(), 1);
        }
    }
}
