//! The box: classes, deficit round robin, one pacer at C.

use std::collections::{BTreeMap, VecDeque};

use super::limit::{self, Demand};
use super::udp::{UdpChange, UdpFlows};
use super::waiting::Waiting;
use super::{
    BATCHES, LeafRule, Pacer, Policy, QueueRule, ROUND, Share, StationStats, Totals, UdpRule, VsbParams, turn,
};
use crate::packet::{Class as PacketClass, Direction, DropReason, FlowId, NodeId, Packet};
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// How often limits follow the rates of the classes, as in the live box.
const LOOK: Duration = Duration::from_millis(500);
/// Largest packet, for limits.
const LARGEST: Bytes = Bytes(1500);

/// What the box keeps of a station besides its packets.
#[derive(Debug, Default)]
struct Station {
    /// Packets waiting.
    backlog: usize,
    /// Until when `stats.queue.occupancy` is summed.
    counted_to: Instant,
    stats: StationStats,
    /// IP bytes since the start, for the controller: passed down, arrived from the radio (bypassing ones included),
    /// and of these the bypassing ones.
    totals: Totals,
}

/// A queue that shares C with the others.
#[derive(Debug)]
struct Class<P> {
    waiting: Waiting<P>,
    /// With [`QueueRule::Auto`], most bytes that wait.
    limit: Bytes,
    /// Bytes sent since the last look, and the rate that they make, smoothed, in bit/s.
    sent: u64,
    rate: f64,
    /// Bytes that it may still send in this round; negative: sent ahead.
    deficit: i64,
    /// Bytes that a round gives it where classes send a packet at a time.
    quantum: i64,
    cap: Option<Pacer>,
    /// Whether it stands in the ring.
    active: bool,
}

impl<P: Packet> Class<P> {
    fn new(quantum: i64, params: &VsbParams, limit: Bytes) -> Self {
        // A class of `per-flow` is a flow already.
        let is_apart = params.leaf == LeafRule::Auto && params.policy != Policy::PerFlow;
        let waiting = Waiting::new(is_apart, params.quantum.0 as i64);
        Class { waiting, limit, sent: 0, rate: 0.0, deficit: 0, quantum, cap: None, active: false }
    }

    /// Whether there is no room for `packet`.
    fn is_full(&self, rule: QueueRule, packet: &P) -> bool {
        let (packets, bytes) = self.waiting.held();
        match rule {
            QueueRule::Packets(limit) => packets >= limit,
            QueueRule::Auto => {
                let limit = limit::limit_of_flows(self.limit, self.waiting.busy(), LARGEST);
                bytes.0 + packet.ip_len().0 > limit.0
            }
        }
    }

    /// Whether its own cap lets it send at `now`.
    fn is_ready(&self, now: Instant) -> bool {
        self.cap.is_none_or(|cap| cap.ready_at() <= now)
    }
}

/// A work-conserving shaper with one pool of capacity for both directions of all stations.
///
/// Give it each packet that [`takes`](Self::takes) says yes to with [`enqueue`](Self::enqueue); after that, and at
/// [`poll_timeout`](Self::poll_timeout), take packets with [`dequeue`](Self::dequeue) until it is `None`. Classes are
/// served by deficit round robin in bytes; a class that sends the end of a packet on credit pays before its next one,
/// so that no packet needs to be looked at before it is taken. With [`VsbParams::batch`] packets leave until the pool
/// owes as much as a class sends a round, and C is paid afterwards. As in the kernel (`htb_lowater` with `htb_hysteresis`) bursts and
/// turns are apart: once a class has run out of packets, a burst has the end of one turn and the begin of the next. An idle pool saves
/// nothing up, where HTB's saves a burst.
/// [`set_capacity`](Self::set_capacity) touches no packet.
#[derive(Debug)]
pub struct Vsb<P> {
    params: VsbParams,
    root: Pacer,
    classes: Vec<Class<P>>,
    /// Class of each connection, with [`Policy::PerFlow`].
    flows: BTreeMap<FlowId, usize>,
    /// Classes with packets, the one in turn first.
    ring: VecDeque<usize>,
    stations: Vec<Station>,
    /// Packets waiting in all classes.
    pub(super) backlog: usize,
    /// With a `batch`: what the pool may owe before it stops; `None` while it pays.
    burst: Option<Bytes>,
    has_caps: bool,
    /// When limits followed rates.
    looked: Instant,
    /// With [`UdpRule::Auto`], what is held of flows.
    udp: UdpFlows,
}

impl<P: Packet> Vsb<P> {
    /// A box for `shares.len()` stations. With a policy that is not by station, weights and caps have no effect.
    pub fn new(params: VsbParams, capacity: Bitrate, shares: &[Share]) -> Self {
        let classes = match params.policy {
            Policy::PerFlow => 0,
            Policy::PerDirection => 2,
            Policy::PerStation | Policy::Airtime | Policy::AirtimePhy => shares.len(),
        };
        let quantum = params.quantum.0 as i64;
        let mut vsb = Vsb {
            params,
            root: Pacer::new(capacity, Bytes(0)),
            has_caps: false,
            classes: (0..classes).map(|_| Class::new(quantum, &params, LARGEST)).collect(),
            flows: BTreeMap::new(),
            ring: VecDeque::new(),
            stations: shares.iter().map(|_| Station::default()).collect(),
            backlog: 0,
            burst: None,
            looked: Instant::ZERO,
            udp: UdpFlows::default(),
        };
        vsb.set_shares(Instant::ZERO, shares);
        vsb.set_limits();
        vsb
    }

    /// Changes weights and caps, one share a station. Packets stay where they are.
    pub fn set_shares(&mut self, now: Instant, shares: &[Share]) {
        if !self.params.policy.is_by_station() {
            return;
        }
        let lightest = shares.iter().map(|share| share.weight).fold(f64::INFINITY, f64::min);
        self.has_caps = shares.iter().any(|share| share.cap.is_some());
        // It may send what its cap gave it since its last turn: two rounds ago where the deficit ended within that one, and
        // weights make a round longer than `ROUND`.
        let VsbParams { quantum, batch, .. } = self.params;
        let burst = |cap: Bitrate| quantum.max(batch.min(cap.bytes_in(ROUND * 4)));
        for (class, share) in self.classes.iter_mut().zip(shares) {
            // The lightest class gets the user's quantum, so that no round passes a class by.
            class.quantum = ((self.params.quantum.0 as f64 * share.weight / lightest).round() as i64).max(1);
            match (&mut class.cap, share.cap) {
                (Some(pacer), Some(cap)) => pacer.set_rate(now, cap),
                (pacer, cap) => *pacer = cap.map(|cap| Pacer::new(cap, burst(cap))),
            }
        }
    }

    /// Whether the box shapes `packet`, which has just come. Report other packets to [`Self::bypass`]; they go on at once. `counts`: it belongs
    /// to a flow, as ICMP and ARP do not.
    pub fn takes(&mut self, now: Instant, packet: &P, counts: bool) -> bool {
        let is_down = packet.direction() == Direction::Down;
        packet.class() != PacketClass::Other
            || match self.params.udp {
                UdpRule::Shape => true,
                UdpRule::BypassUplink => is_down,
                UdpRule::Auto => {
                    let (flow, len) = (packet.flow(), packet.ip_len());
                    counts && self.udp.arrives(now, flow, packet.direction(), len) || is_down
                }
            }
    }

    /// With [`UdpRule::Auto`], every change of what was held of a flow, since the box was built.
    pub fn udp_changes(&self) -> &[UdpChange] {
        &self.udp.changes
    }

    /// A packet passed by the box.
    pub fn bypass(&mut self, packet: &P) {
        let station = &mut self.stations[index(packet)];
        station.stats.bypassed += packet.ip_len();
        if packet.direction() == Direction::Up {
            station.totals.up += packet.ip_len();
            station.totals.up_bypassing += packet.ip_len();
        }
    }

    /// Takes a packet in. When its class is full a packet is dropped: this one, or the last of the longest queue of the class
    /// where flows are apart. That one may be shorter, so the class may hold more than its limit for a while.
    pub fn enqueue(&mut self, now: Instant, mut packet: P) -> Option<(P, DropReason)> {
        self.follow_rates(now);
        let class = self.classify(&packet);
        let station = &mut self.stations[index(&packet)];
        if packet.direction() == Direction::Up {
            station.totals.up += packet.ip_len();
        }
        let kind = packet.class().index();
        station.stats.queue.arrivals[kind] += 1;
        let class_state = &mut self.classes[class];
        let mut dropped = None;
        if class_state.is_full(self.params.queue, &packet) {
            let Some(last) = class_state.waiting.make_room(&packet) else {
                station.stats.queue.drops[DropReason::QueueFull.index()][kind] += 1;
                self.udp.dropped(&packet);
                return Some((packet, DropReason::QueueFull));
            };
            let other = &mut self.stations[index(&last)];
            other.count_occupancy(now);
            other.backlog -= 1;
            self.backlog -= 1;
            other.stats.queue.drops[DropReason::QueueFull.index()][last.class().index()] += 1;
            self.udp.dropped(&last);
            dropped = Some((last, DropReason::QueueFull));
        }
        let station = &mut self.stations[index(&packet)];
        station.count_occupancy(now);
        station.backlog += 1;
        self.backlog += 1;
        packet.set_enqueued_at(now);
        class_state.waiting.push(packet);
        if !class_state.active {
            class_state.active = true;
            self.ring.push_back(class);
            // With its quantum in hand, or a station that never has two packets would wait two rounds for each.
            self.classes[class].deficit += self.quantum_of(class);
        }
        dropped
    }

    /// The next packet, if one may go at `now`.
    pub fn dequeue(&mut self, now: Instant) -> Option<P> {
        if self.backlog == 0 {
            return None;
        }
        if self.root.ready_at() <= now {
            self.burst = Some(Bytes(self.round() as u64)).filter(|round| *round > self.params.quantum);
        } else if self.burst.is_none() {
            return None;
        }
        self.dequeue_unpaced(now)
    }

    /// Bytes that a round gives the lightest class at present.
    fn round(&self) -> i64 {
        let VsbParams { batch, quantum, .. } = self.params;
        turn(batch, quantum, self.root.rate(), self.ring.len()).0 as i64
    }

    /// Bytes that a round gives a class at present.
    fn quantum_of(&self, class: usize) -> i64 {
        self.classes[class].quantum * self.round() / self.params.quantum.0 as i64
    }

    /// The next packet in turn, whatever C: the box is being switched off.
    pub fn dequeue_unpaced(&mut self, now: Instant) -> Option<P> {
        // Classes in a row that their caps held back: when it is all of them, nobody may send.
        let mut held = 0;
        while held < self.ring.len() {
            let turn = self.ring[0];
            let class = &self.classes[turn];
            if class.is_ready(now) && class.deficit > 0 {
                return Some(self.send(now, turn));
            }
            if class.is_ready(now) {
                self.classes[turn].deficit += self.quantum_of(turn);
                held = 0;
            } else {
                held += 1;
            }
            self.ring.rotate_left(1);
        }
        None
    }

    /// When to call [`Self::dequeue`] again; `None` when nothing waits.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.backlog == 0 {
            return None;
        }
        let root = if self.burst.is_some() { Instant::ZERO } else { self.root.ready_at() };
        if !self.has_caps {
            return Some(root);
        }
        let of_caps =
            self.ring.iter().map(|class| self.classes[*class].cap.map_or(Instant::ZERO, |cap| cap.ready_at()));
        of_caps.min().map(|earliest| earliest.max(root))
    }

    /// Changes C. Packets stay where they are.
    pub fn set_capacity(&mut self, now: Instant, capacity: Bitrate) {
        self.root.set_rate(now, capacity);
    }

    /// Packets of a station that wait for C, not for the station's own cap.
    pub fn backlog_of(&self, station: NodeId, now: Instant) -> usize {
        let Some(index) = station.station_index() else { return 0 };
        if self.is_at_cap(station, now) { 0 } else { self.stations[index].backlog }
    }

    /// Whether packets of a station wait for the station's own cap.
    pub fn is_at_cap(&self, station: NodeId, now: Instant) -> bool {
        let Some(index) = station.station_index() else { return false };
        self.params.policy.is_by_station() && self.stations[index].backlog > 0 && !self.classes[index].is_ready(now)
    }

    /// IP bytes of a station since the box was built.
    pub fn totals(&self, station: NodeId) -> Totals {
        station.station_index().map_or_else(Totals::default, |index| self.stations[index].totals)
    }

    /// The counters of a station up to `now`.
    pub fn stats(&mut self, station: NodeId, now: Instant) -> &StationStats {
        let station = &mut self.stations[station.station_index().expect("the box counts stations")];
        station.count_occupancy(now);
        &station.stats
    }

    /// Starts all counters afresh: the warm-up is over.
    pub fn reset_stats(&mut self, now: Instant) {
        for station in &mut self.stations {
            station.stats = StationStats::default();
            station.counted_to = now;
        }
    }

    /// With [`QueueRule::Auto`], gives classes limits by their rates.
    fn follow_rates(&mut self, now: Instant) {
        let span = now.saturating_since(self.looked);
        if self.params.queue != QueueRule::Auto || span < LOOK {
            return;
        }
        self.looked = now;
        for class in &mut self.classes {
            let measured = std::mem::take(&mut class.sent) as f64 * 8.0 / span.as_secs_f64();
            class.rate = limit::smoothed(class.rate, measured);
        }
        self.set_limits();
    }

    fn set_limits(&mut self) {
        let capacity = self.root.rate();
        let quantum = self.params.quantum.0 as f64;
        let demand = |class: &Class<P>| Demand {
            weight: class.quantum as f64 / quantum,
            rate: class.rate,
            cap: Some(class.cap.map_or(capacity, |cap| cap.rate().min(capacity))),
        };
        let demands: Vec<_> = self.classes.iter().map(demand).collect();
        let level = limit::fair_level(capacity, &demands);
        let batches = if self.params.batch == Bytes(0) { Bytes(0) } else { Bytes(BATCHES * self.round() as u64) };
        for (class, demand) in self.classes.iter_mut().zip(&demands) {
            let least = if class.cap.is_none() { batches } else { Bytes(0) };
            let wanted = limit::limit(level, demand, LARGEST).max(least);
            if limit::is_news(class.limit, wanted) {
                class.limit = wanted;
            }
        }
    }

    fn classify(&mut self, packet: &P) -> usize {
        match self.params.policy {
            Policy::PerStation | Policy::Airtime | Policy::AirtimePhy => index(packet),
            Policy::PerDirection => packet.direction() as usize,
            Policy::PerFlow => {
                let (params, classes) = (&self.params, &mut self.classes);
                // Until the next look.
                let limit = limit::limit(self.root.rate().as_bps() as f64, &Demand::default(), LARGEST);
                *self.flows.entry(packet.flow()).or_insert_with(|| {
                    classes.push(Class::new(params.quantum.0 as i64, params, limit));
                    classes.len() - 1
                })
            }
        }
    }

    /// The class in turn sends its first packet.
    fn send(&mut self, now: Instant, turn: usize) -> P {
        let class = &mut self.classes[turn];
        let packet = class.waiting.pop().expect("a class in the ring has packets");
        let len = packet.ip_len();
        class.deficit -= len.0 as i64;
        class.sent += len.0;
        if let Some(cap) = &mut class.cap {
            cap.charge(now, len);
        }
        if class.waiting.is_empty() {
            // What it did not use is lost, what it owes is not: sending one packet at a time gives no advantage.
            class.deficit = class.deficit.min(0);
            class.active = false;
            self.ring.pop_front();
        }
        self.root.charge(now, len);
        self.burst = self.burst.filter(|burst| self.root.owed(now) <= *burst);
        self.backlog -= 1;
        let station = &mut self.stations[index(&packet)];
        station.count_occupancy(now);
        station.backlog -= 1;
        let stats = &mut station.stats;
        stats.queue.departures[packet.class().index()] += 1;
        stats.queue.sojourn += now.saturating_since(packet.enqueued_at());
        stats.passed[packet.direction() as usize] += len;
        if packet.direction() == Direction::Down {
            station.totals.down += len;
        }
        packet
    }
}

impl Station {
    fn count_occupancy(&mut self, now: Instant) {
        let span = now.saturating_since(self.counted_to).as_nanos();
        self.stats.queue.occupancy += u128::from(span) * self.backlog as u128;
        self.counted_to = now;
    }
}

fn index<P: Packet>(packet: &P) -> usize {
    packet.station().station_index().expect("packets name their station")
}
