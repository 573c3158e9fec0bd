//! The cell: one medium, a DCF machine per transmitter, the AP's queue.
//!
//! The medium is stepped once per contention round: at the instant at which the shortest countdown
//! ends, at the end of the data frame, and at the end of the MAC ACK. Idle slots cost nothing.
//! Everybody hears everybody; overlapping frames are lost (no capture).

use super::air::{AirBody, AirFrame, Reception};
use super::backoff::Windows;
use super::node::{Backoff, Delivery, Link, Node, StationLink};
use super::params::MacParams;
use crate::packet::{Class, Direction, NodeId, Packet};
use crate::qdisc::Queue;
use crate::record::{MacStats, StationRecord};
use crate::rng::Rng;
use crate::scenario::Preset;
use crate::units::{Bitrate, Duration, Instant};

/// What the medium is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    /// Nobody sends; the first countdown of a node with a frame ends at `attempt`.
    Idle { attempt: Instant },
    /// Data frames of `Bss::senders` until `until`, the longest one's end.
    Data { until: Instant },
    /// The MAC ACK to `sender` until `until`.
    Ack { sender: NodeId, until: Instant },
}

/// Somebody on the air.
#[derive(Clone, Copy, Debug)]
struct Sender {
    id: NodeId,
    /// End of its frame.
    end: Instant,
}

/// A Basic Service Set over packets `P`.
///
/// Inputs are [`enqueue`](Self::enqueue) and [`handle_timeout`](Self::handle_timeout), called in the
/// order of time and never later than [`poll_timeout`](Self::poll_timeout); after each of them take
/// what arrived with [`poll_delivery`](Self::poll_delivery) until it is `None`.
pub struct Bss<P> {
    params: MacParams,
    nodes: Vec<Node<P>>,
    /// By station, that is by `NodeId - 1`.
    links: Vec<Link>,
    /// Air that frames from the AP took, by station.
    airtime_down: Vec<Duration>,
    /// Nodes with a countdown, in no particular order.
    contenders: Vec<NodeId>,
    medium: Medium,
    /// From when nodes that heard the last exchange count down, DIFS (or EIFS) included.
    count_from: Instant,
    /// Until when something outside the cell holds the medium.
    silent_until: Instant,
    /// Numbers the idle periods.
    epoch: u64,
    /// Who sends now; more than one is a collision.
    senders: Vec<Sender>,
    /// Whether the channel spoilt the frame of a lone sender.
    corrupted: bool,
    delivery: Option<Delivery<P>>,
    /// Nodes that fetched from their queue since the last [`Self::poll_fetched`], when asked for.
    fetched: Option<Vec<NodeId>>,
    /// Frames since the last [`Self::drain_air`], when monitored.
    air: Option<Vec<AirFrame<P>>>,
}

impl<P: Packet + Clone> Bss<P> {
    /// A cell with an idle medium. `queues` holds the AP's queue first, then one a station in the order of `stations`.
    pub fn new(params: MacParams, stations: &[StationLink], queues: Vec<Queue<P>>, seed: u64) -> Self {
        assert_eq!(queues.len(), stations.len() + 1, "one queue for the AP and one a station");
        // A station may be called "ap", but no name holds a slash.
        let name = |s: &StationLink| if s.name == "ap" { "ap/station".to_owned() } else { s.name.clone() };
        let names = std::iter::once(("ap".to_owned(), 1.0)).chain(stations.iter().map(|s| (name(s), s.beta)));
        let nodes = queues
            .into_iter()
            .zip(names)
            .map(|(queue, (name, beta))| {
                Node::new(queue, Windows::new(&params, beta), Rng::fork(seed, &format!("backoff/{name}")))
            })
            .collect();
        Bss {
            links: stations.iter().map(|station| Link::new(&params, station, seed)).collect(),
            airtime_down: vec![Duration::ZERO; stations.len()],
            contenders: Vec::with_capacity(stations.len() + 1),
            medium: Medium::Idle { attempt: Instant::FAR_FUTURE },
            count_from: Instant::ZERO + params.difs,
            silent_until: Instant::ZERO,
            // Ahead of the nodes' zero, which is no idle period.
            epoch: 1,
            senders: Vec::with_capacity(stations.len() + 1),
            corrupted: false,
            delivery: None,
            fetched: None,
            air: None,
            params,
            nodes,
        }
    }

    /// Starts to tell in [`Self::poll_fetched`] which queues made room: for sources that wait for it.
    pub fn notify_fetches(&mut self) {
        self.fetched = Some(Vec::new());
    }

    /// A node whose queue handed a frame to the MAC or ran empty since the last call.
    pub fn poll_fetched(&mut self) -> Option<NodeId> {
        self.fetched.as_mut().and_then(Vec::pop)
    }

    /// Starts to record frames for [`Self::drain_air`].
    pub fn monitor(&mut self) {
        self.air = Some(Vec::new());
    }

    /// Hands over the frames recorded since the last call, in the order of their start.
    pub fn drain_air(&mut self) -> impl Iterator<Item = AirFrame<P>> {
        self.air.as_mut().map(|air| air.drain(..)).into_iter().flatten()
    }

    /// A packet for the radio arrives at the queue of `node`.
    pub fn enqueue(&mut self, now: Instant, node: NodeId, packet: P) {
        let n = &mut self.nodes[node.index()];
        n.queue.enqueue(now, packet);
        // The sender of a frame that awaits its ACK fetches when the exchange is over.
        let awaits_ack = matches!(self.medium, Medium::Ack { sender, .. } if sender == node);
        if n.in_service.is_some() || awaits_ack {
            return;
        }
        n.fetch(now);
        if n.in_service.is_some() {
            self.request_access(now, node);
        }
    }

    /// When to call [`Self::handle_timeout`]; `None` when the cell waits for packets.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.medium {
            Medium::Idle { attempt: Instant::FAR_FUTURE } => None,
            Medium::Idle { attempt: at } | Medium::Data { until: at } | Medium::Ack { until: at, .. } => Some(at),
        }
    }

    /// Does what is due at `now`, which must be what [`Self::poll_timeout`] said.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.medium {
            Medium::Idle { .. } => self.transmit(now),
            Medium::Data { .. } if self.senders.len() == 1 && !self.corrupted => self.deliver(now),
            Medium::Data { .. } => self.fail(now),
            Medium::Ack { sender, .. } => self.acknowledged(now, sender),
        }
    }

    /// The packet that the last step brought over the radio.
    pub fn poll_delivery(&mut self) -> Option<Delivery<P>> {
        self.delivery.take()
    }

    /// From now on frames from and to `station` (its position) have another data rate.
    pub fn set_rate(&mut self, station: usize, rate: Bitrate) {
        self.links[station].set_rate(&self.params, rate);
    }

    /// Something outside the cell holds the medium until `until`: all sense it busy after the exchange that goes on.
    pub fn silence(&mut self, now: Instant, until: Instant) {
        self.silent_until = self.silent_until.max(until);
        if matches!(self.medium, Medium::Idle { .. }) {
            for id in &self.contenders {
                self.nodes[id.index()].freeze(now, self.params.slot);
            }
            self.contenders.retain(|id| self.nodes[id.index()].backoff != Backoff::None);
            self.epoch += 1;
            self.become_idle();
        }
    }

    /// The queue of a node.
    pub fn queue(&mut self, node: NodeId) -> &mut Queue<P> {
        &mut self.nodes[node.index()].queue
    }

    /// Packets at a node: waiting, and in the MAC's hands.
    pub fn backlog(&self, node: NodeId) -> usize {
        let node = &self.nodes[node.index()];
        node.queue.len() + usize::from(node.in_service.is_some())
    }

    /// MAC counters of a node.
    pub fn stats(&self, node: NodeId) -> &MacStats {
        &self.nodes[node.index()].stats
    }

    /// What station number `station` has counted up to `end`.
    pub fn station_record(&mut self, station: usize, end: Instant) -> StationRecord {
        let node = NodeId::station(station);
        StationRecord {
            mac: *self.stats(node),
            uplink_queue: self.queue(node).stats(end).clone(),
            airtime_down: self.airtime_down(station),
        }
    }

    /// Air that frames from the AP to a station took.
    pub fn airtime_down(&self, station: usize) -> Duration {
        self.airtime_down[station]
    }

    /// Starts all counters afresh: the warm-up is over.
    pub fn reset_stats(&mut self, now: Instant) {
        for node in &mut self.nodes {
            node.stats = MacStats::default();
            node.queue.reset_stats(now);
        }
        self.airtime_down.fill(Duration::ZERO);
    }

    /// A node got a frame to send while it had none.
    fn request_access(&mut self, now: Instant, node: NodeId) {
        let slot = self.params.slot;
        let idle = matches!(self.medium, Medium::Idle { .. });
        let heard = self.count_from_of(node);
        let n = &mut self.nodes[node.index()];
        // A post-backoff that ran out in the silence since is as good as none.
        let waiting = matches!(n.backoff, Backoff::Slots(_));
        if waiting && !(idle && n.expiry(slot) <= now) {
            self.schedule_attempt(node);
            return;
        }
        match self.params.preset {
            // Medium idle: no backoff, sent at the next slot boundary after DIFS.
            Preset::Standard if idle => {
                n.backoff = Backoff::Immediate;
                n.count_from = heard + now.saturating_since(heard).round_up_to(slot);
            }
            // ns-2 draws a backoff in any case and counts it from DIFS after the arrival.
            Preset::Ns2 if idle => {
                n.draw_backoff();
                n.count_from = heard.max(now + self.params.difs);
            }
            _ => n.draw_backoff(),
        }
        n.epoch = self.epoch;
        if !waiting {
            self.contenders.push(node);
        }
        self.schedule_attempt(node);
    }

    /// When `node` may count in the current idle period.
    fn count_from_of(&self, node: NodeId) -> Instant {
        let n = &self.nodes[node.index()];
        if n.epoch == self.epoch { n.count_from } else { self.count_from }
    }

    /// `node` may be the next to send.
    fn schedule_attempt(&mut self, node: NodeId) {
        if let Medium::Idle { attempt } = &mut self.medium {
            let node = &self.nodes[node.index()];
            if node.in_service.is_some() {
                *attempt = node.expiry(self.params.slot).min(*attempt);
            }
        }
    }

    /// The shortest countdown is over: its owner sends, and so does everybody whose countdown ends with it.
    fn transmit(&mut self, now: Instant) {
        let slot = self.params.slot;
        self.senders.clear();
        let mut i = 0;
        while i < self.contenders.len() {
            let id = self.contenders[i];
            let node = &mut self.nodes[id.index()];
            if node.in_service.is_some() && node.expiry(slot) == now {
                node.backoff = Backoff::None;
                self.senders.push(Sender { id, end: now });
            } else {
                node.freeze(now, slot);
            }
            if node.backoff == Backoff::None {
                self.contenders.swap_remove(i);
            } else {
                i += 1;
            }
        }
        let collision = self.senders.len() > 1;
        self.corrupted = false;
        let mut until = now;
        for index in 0..self.senders.len() {
            let end = now + self.start_frame(now, self.senders[index].id, collision);
            self.senders[index].end = end;
            until = until.max(end);
        }
        self.medium = Medium::Data { until };
    }

    /// Puts the frame in service of `id` on the air and tells how long it lasts.
    fn start_frame(&mut self, now: Instant, id: NodeId, collision: bool) -> Duration {
        let node = &mut self.nodes[id.index()];
        let packet = node.in_service.as_ref().expect("a sender has a frame");
        let peer = packet.station();
        let station = peer.station_index().expect("packets name their station");
        let link = &mut self.links[station];
        let len = packet.ip_len();
        let duration = link.data_time(&self.params, len);
        node.stats.attempts += 1;
        node.stats.airtime += duration;
        if id == NodeId::AP {
            self.airtime_down[station] += duration;
        }
        let direction = if id == NodeId::AP { Direction::Down } else { Direction::Up };
        let reception = if collision {
            node.stats.collisions += 1;
            Reception::Collided
        } else if link.corrupts(&self.params, len, packet.class() != Class::Ack) {
            node.stats.frame_errors += 1;
            self.corrupted = true;
            Reception::Corrupted
        } else {
            Reception::Decoded
        };
        if let Some(air) = &mut self.air {
            air.push(AirFrame {
                at: now,
                duration,
                transmitter: id,
                receiver: if id == NodeId::AP { peer } else { NodeId::AP },
                rate: link.rate,
                reception,
                body: AirBody::Data { packet: packet.clone(), sequence: node.sequence, retry: node.attempts > 0 },
            });
        }
        self.queue(NodeId::AP).observe_airtime(now, peer, direction, duration);
        duration
    }

    /// A lone, intact frame has ended: the packet is delivered and the receiver answers after SIFS.
    fn deliver(&mut self, now: Instant) {
        let sender = self.senders[0].id;
        let node = &mut self.nodes[sender.index()];
        let packet = node.in_service.take().expect("a sender has a frame");
        let peer = packet.station();
        let station = peer.station_index().expect("packets name their station");
        let receiver = if sender == NodeId::AP { peer } else { NodeId::AP };
        let link = &self.links[station];
        let answer = self.params.sifs + link.ack_time;
        node.stats.delivered += 1;
        node.stats.airtime += answer;
        if sender == NodeId::AP {
            self.airtime_down[station] += answer;
        }
        if let Some(air) = &mut self.air {
            air.push(AirFrame {
                at: now + self.params.sifs,
                duration: link.ack_time,
                transmitter: receiver,
                receiver: sender,
                rate: link.ack_rate,
                reception: Reception::Decoded,
                body: AirBody::Ack,
            });
        }
        let direction = if sender == NodeId::AP { Direction::Down } else { Direction::Up };
        let ap = self.queue(NodeId::AP);
        ap.observe_airtime(now, peer, direction, answer);
        if direction == Direction::Up {
            ap.observe_uplink(now, &packet);
        }
        self.delivery = Some(Delivery { receiver, packet });
        self.medium = Medium::Ack { sender, until: now + answer };
    }

    /// The MAC ACK has ended: the sender draws its post-backoff and fetches the next frame.
    fn acknowledged(&mut self, now: Instant, sender: NodeId) {
        self.epoch += 1;
        self.count_from = now + self.params.difs;
        let node = &mut self.nodes[sender.index()];
        node.attempts = 0;
        node.draw_backoff();
        self.fetch(now, sender);
        self.contenders.push(sender);
        self.become_idle();
    }

    /// Nobody answers the frames that ended: collision or channel error. Senders back off, listeners wait EIFS.
    fn fail(&mut self, now: Instant) {
        self.epoch += 1;
        if self.senders.len() > 1 {
            self.count_from = now + self.params.after_bad_frame;
        } else {
            // All but the receiver decoded the frame and keep silent for the ACK that it announced.
            let sender = self.senders[0].id;
            let packet = self.nodes[sender.index()].in_service.as_ref().expect("a sender has a frame");
            let peer = packet.station();
            let link = &self.links[peer.station_index().expect("packets name their station")];
            self.count_from = now + self.params.sifs + link.ack_time + self.params.difs;
            let receiver = if sender == NodeId::AP { peer } else { NodeId::AP };
            self.set_count_from(receiver, now + self.params.after_bad_frame);
        }
        let longest = self.senders.iter().filter(|sender| sender.end == now).count();
        for index in 0..self.senders.len() {
            let Sender { id, end } = self.senders[index];
            let timeout = end + self.params.after_no_ack;
            let count_from = match self.params.preset {
                Preset::Standard => timeout.max(now + self.params.difs),
                // In ns-2 only a sender whose frame outlasts all others fails to hear them.
                Preset::Ns2 if end == now && longest == 1 => timeout,
                Preset::Ns2 => now + self.params.after_bad_frame,
            };
            self.set_count_from(id, count_from);
            self.retry(now, id);
        }
        self.become_idle();
    }

    /// `id` counts from another instant than the rest in the idle period that begins.
    ///
    /// By the standard all count in the same slots, as carrier sensing keeps them in step; ns-2's timers run freely.
    fn set_count_from(&mut self, id: NodeId, at: Instant) {
        let node = &mut self.nodes[id.index()];
        node.epoch = self.epoch;
        node.count_from = match self.params.preset {
            Preset::Ns2 => at,
            Preset::Standard if at >= self.count_from => {
                self.count_from + at.saturating_since(self.count_from).round_up_to(self.params.slot)
            }
            Preset::Standard => {
                let early = self.count_from.saturating_since(at).div_floor(self.params.slot);
                Instant::from_nanos(self.count_from.as_nanos() - (self.params.slot * early).as_nanos())
            }
        };
    }

    /// One more attempt of the frame in service, or the next frame when the limit is reached.
    fn retry(&mut self, now: Instant, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        node.attempts += 1;
        if node.attempts >= self.params.retry_limit {
            node.attempts = 0;
            node.in_service = None;
            node.stats.discards += 1;
            self.fetch(now, id);
        }
        self.nodes[id.index()].draw_backoff();
        self.contenders.push(id);
    }

    /// The MAC of `id` is done with its frame and takes the next one.
    fn fetch(&mut self, now: Instant, id: NodeId) {
        self.nodes[id.index()].fetch(now);
        if let Some(fetched) = &mut self.fetched {
            fetched.push(id);
        }
    }

    /// The medium falls silent: all countdowns go on and the shortest one decides.
    fn become_idle(&mut self) {
        let slot = self.params.slot;
        let earliest = self.silent_until + self.params.difs;
        self.count_from = self.count_from.max(earliest);
        let mut attempt = Instant::FAR_FUTURE;
        for id in &self.contenders {
            let node = &mut self.nodes[id.index()];
            if node.epoch != self.epoch {
                node.epoch = self.epoch;
                node.count_from = self.count_from;
            }
            node.count_from = node.count_from.max(earliest);
            if node.in_service.is_some() {
                attempt = attempt.min(node.expiry(slot));
            }
        }
        self.medium = Medium::Idle { attempt };
    }
}
