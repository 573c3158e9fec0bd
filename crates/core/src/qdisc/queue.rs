//! A discipline with its books: arrivals, drops by reason and class, occupancy, sojourn.

use super::{Drops, Held, Histogram, Qdisc, Watched};
use crate::packet::{Category, Class, Direction, DropReason, NodeId, Packet};
use crate::units::{Bytes, Duration, Instant};

/// Counters of one queue since the last [`Queue::reset_stats`]. All counts are packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Arrivals by class.
    pub arrivals: [u64; 3],
    /// Packets handed to the server by class.
    pub departures: [u64; 3],
    /// Drops by reason and class.
    pub drops: [[u64; 3]; DropReason::ALL.len()],
    /// Integral of the number of waiting packets over time, in packet-nanoseconds.
    pub occupancy: u128,
    /// Sum of the waiting times of the packets handed to the server.
    pub sojourn: Duration,
    /// Waiting times, where the queue was asked to keep them.
    pub delays: Histogram,
}

impl QueueStats {
    /// Drops of a class over all reasons.
    pub fn dropped(&self, class: Class) -> u64 {
        self.drops.iter().map(|by_class| by_class[class.index()]).sum()
    }
}

/// The counters of several queues together.
impl std::ops::Add<&QueueStats> for QueueStats {
    type Output = QueueStats;

    fn add(mut self, other: &QueueStats) -> QueueStats {
        let sum =
            |own: &mut [u64; 3], other: &[u64; 3]| own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
        sum(&mut self.arrivals, &other.arrivals);
        sum(&mut self.departures, &other.departures);
        self.drops.iter_mut().zip(&other.drops).for_each(|(own, other)| sum(own, other));
        self.occupancy += other.occupancy;
        self.sojourn += other.sojourn;
        self.delays.add(&other.delays);
        self
    }
}

/// A discipline, its packets and its statistics.
pub struct Queue<P, D = Box<dyn Qdisc<P>>> {
    discipline: D,
    stats: QueueStats,
    drops: Drops<P>,
    /// Until when `stats.occupancy` is summed.
    counted_to: Instant,
    watched: Option<Box<Watched>>,
}

impl<P: Packet> Queue<P> {
    /// An empty queue.
    pub fn new(discipline: Box<dyn Qdisc<P>>) -> Self {
        Queue::of(discipline)
    }
}

impl<P: Packet, D: Qdisc<P>> Queue<P, D> {
    /// An empty queue of one kind, which is called without indirection.
    pub fn of(discipline: D) -> Self {
        Queue { discipline, stats: QueueStats::default(), drops: Vec::new(), counted_to: Instant::ZERO, watched: None }
    }

    /// Keeps a histogram of the waiting times too.
    #[must_use]
    pub fn with_delays(mut self) -> Self {
        self.stats.delays = Histogram::enabled();
        self
    }

    /// Starts to keep who waits and what is dropped, for [`Self::watched`].
    pub fn watch(&mut self) {
        self.watched.get_or_insert_default();
    }

    /// Who waits and what was dropped since [`Self::watch`].
    pub fn watched(&mut self) -> Option<&mut Watched> {
        self.watched.as_deref_mut()
    }

    /// Takes a packet in.
    pub fn enqueue(&mut self, now: Instant, mut packet: P) {
        self.count_occupancy(now);
        self.stats.arrivals[packet.class().index()] += 1;
        packet.set_enqueued_at(now);
        if let Some(watched) = &mut self.watched {
            watched.came(&packet);
        }
        self.discipline.enqueue(now, packet, &mut self.drops);
        if !self.drops.is_empty() {
            self.count_drops(now);
        }
    }

    /// A packet comes and need not wait, as the queue is empty: it goes on at once.
    #[inline]
    pub fn pass(&mut self, now: Instant, packet: &mut P) {
        debug_assert!(self.is_empty(), "others came before");
        self.counted_to = now;
        packet.set_enqueued_at(now);
        self.stats.arrivals[packet.class().index()] += 1;
        self.stats.departures[packet.class().index()] += 1;
        self.stats.delays.record(Duration::ZERO);
    }

    /// The next packet for the server.
    pub fn dequeue(&mut self, now: Instant) -> Option<P> {
        self.count_occupancy(now);
        let packet = self.discipline.dequeue(now, &mut self.drops);
        self.count_departure(now, packet.as_ref());
        packet
    }

    /// Whether the discipline decides which station an aggregate goes to: then the four methods below may be called.
    pub fn picks_stations(&mut self) -> bool {
        self.discipline.as_txq().is_some()
    }

    /// Whether a packet of `category` waits that may be handed over.
    pub fn has_traffic(&mut self, category: Category) -> bool {
        self.discipline.as_txq().is_some_and(|txq| txq.has_traffic(category))
    }

    /// The station that the next PPDU of `category` goes to.
    pub fn next_station(&mut self, now: Instant, category: Category, held: &dyn Held) -> Option<NodeId> {
        self.discipline.as_txq()?.next_station(now, category, held)
    }

    /// The next packet of `category` for `station`.
    pub fn dequeue_for(&mut self, now: Instant, station: NodeId, category: Category) -> Option<P> {
        self.count_occupancy(now);
        let packet = self.discipline.as_txq()?.dequeue_for(now, station, category, &mut self.drops);
        self.count_departure(now, packet.as_ref());
        packet
    }

    /// Packets handed over were acknowledged or given up.
    pub fn completed(&mut self, now: Instant, station: NodeId, category: Category, packets: usize, bytes: Bytes) {
        if let Some(txq) = self.discipline.as_txq() {
            txq.completed(now, station, category, packets, bytes);
        }
    }

    /// A packet from a station passed the transmitter on its way up.
    pub fn observe_uplink(&mut self, now: Instant, packet: &P) {
        self.discipline.observe_uplink(now, packet);
    }

    /// A frame from or to `station` took `airtime`.
    pub fn observe_airtime(&mut self, now: Instant, station: NodeId, direction: Direction, airtime: Duration) {
        self.discipline.observe_airtime(now, station, direction, airtime);
    }

    /// Packets waiting.
    pub fn len(&self) -> usize {
        self.discipline.len()
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.discipline.is_empty()
    }

    /// The counters up to `now`.
    pub fn stats(&mut self, now: Instant) -> &QueueStats {
        self.count_occupancy(now);
        &self.stats
    }

    /// Starts counting afresh: the warm-up is over.
    pub fn reset_stats(&mut self, now: Instant) {
        let mut delays = std::mem::take(&mut self.stats.delays);
        delays.clear();
        self.stats = QueueStats { delays, ..QueueStats::default() };
        self.counted_to = now;
    }

    fn count_occupancy(&mut self, now: Instant) {
        let span = now.saturating_since(self.counted_to).as_nanos();
        if span > 0 {
            self.stats.occupancy += u128::from(span) * self.discipline.len() as u128;
            self.counted_to = now;
        }
    }

    fn count_departure(&mut self, now: Instant, packet: Option<&P>) {
        if !self.drops.is_empty() {
            self.count_drops(now);
        }
        if let Some(packet) = packet {
            if let Some(watched) = &mut self.watched {
                watched.left(packet);
            }
            self.stats.departures[packet.class().index()] += 1;
            let sojourn = now.saturating_since(packet.enqueued_at());
            self.stats.sojourn += sojourn;
            self.stats.delays.record(sojourn);
        }
    }

    fn count_drops(&mut self, now: Instant) {
        for (packet, reason) in self.drops.drain(..) {
            if let Some(watched) = &mut self.watched {
                watched.dropped(now, &packet, reason);
            }
            self.stats.drops[reason.index()][packet.class().index()] += 1;
            packet.discard();
        }
    }
}
