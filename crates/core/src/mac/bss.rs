//! The cell as one object: the medium, a transmitter a node, the queue of each AP.
//!
//! The medium is stepped once per contention round: at the instant at which the shortest countdown
//! ends, at the end of the data frame, and at the end of the MAC ACK. Overlapping frames are lost (no capture).

use std::collections::VecDeque;

use super::access::Access;
use super::air::AirFrame;
use super::backoff::Windows;
use super::counters::{Delays, MacStats, StationRecord};
use super::edca::Edca;
use super::link::{Link, StationLink};
use super::medium::{Medium, State};
use super::node::{Delivery, Node};
use super::params::MacParams;
use super::rules::AfterNoAnswer;
use super::tx_vector::TxVector;
use crate::packet::{Category, NodeId, Packet};
use crate::qdisc::{Queue, SparseHistogram};
use crate::rng::Rng;
use crate::units::{Bytes, Duration, Instant};

/// A Basic Service Set over packets `P`, or several on one channel: all hear each other.
///
/// Inputs are [`enqueue`](Self::enqueue) and [`handle_timeout`](Self::handle_timeout), called in the
/// order of time and never later than [`poll_timeout`](Self::poll_timeout); after each of them take
/// what arrived with [`poll_delivery`](Self::poll_delivery) until it is `None`.
pub struct Bss<P> {
    pub(super) params: MacParams,
    /// The first AP, the stations, further APs.
    pub(super) nodes: Vec<Node<P>>,
    /// By station, that is by `NodeId - 1`.
    pub(super) links: Vec<Link>,
    /// Air that frames from APs took, by station.
    pub(super) airtime_down: Vec<Duration>,
    /// How long packets waited in APs until they were first sent, by station.
    pub(super) ap_delays: Vec<SparseHistogram>,
    pub(super) medium: Medium,
    /// Whether the channel spoilt the frame of a lone sender.
    pub(super) corrupted: bool,
    /// The QoS half; `None` under DCF.
    pub(super) edca: Option<Edca<P>>,
    /// What arrives when and was not taken yet, in the order of time.
    pub(super) deliveries: VecDeque<(Instant, Delivery<P>)>,
    /// The last [`Self::handle_timeout`].
    now: Instant,
    /// Nodes that fetched from their queue since the last [`Self::poll_fetched`], when asked for.
    pub(super) fetched: Option<Vec<NodeId>>,
    /// Frames since the last [`Self::drain_air`], when monitored.
    pub(super) air: Option<Vec<AirFrame<P>>>,
}

impl<P: Packet + Clone> Bss<P> {
    /// A cell with an idle medium. `queues` holds the AP's queue first, then one a station in the order of `stations`.
    pub fn new(params: MacParams, stations: &[StationLink], queues: Vec<Queue<P>>, seed: u64) -> Self {
        Bss::of_several(params, stations, &[], queues, seed)
    }

    /// Several cells on one channel, with further APs of these names. `queues` holds that of the first AP, one a station, and those of
    /// the further APs.
    pub fn of_several(
        params: MacParams,
        stations: &[StationLink],
        more: &[String],
        queues: Vec<Queue<P>>,
        seed: u64,
    ) -> Self {
        assert_eq!(queues.len(), 1 + stations.len() + more.len(), "one queue an AP and one a station");
        assert!(stations.iter().all(|station| station.ap.access_point_index().is_some_and(|ap| ap <= more.len())));
        // A station may be called "ap", but no name holds a slash.
        let name = |s: &StationLink| if s.name == "ap" { "ap/station".to_owned() } else { s.name.clone() };
        let ap = |name: String| (name, 1.0, params.cw_min);
        let nodes = std::iter::once(ap("ap".to_owned()))
            .chain(stations.iter().map(|s| (name(s), s.beta, params.cw_min_of(s.tx))))
            .chain(more.iter().map(|name| ap(format!("ap/access-point/{name}"))));
        let is_ap = |node: usize| NodeId::at_position(node, stations.len()).is_ap();
        let accesses = nodes.enumerate().flat_map(|(node, named)| accesses(&params, is_ap(node), &named, seed));
        let link = |station| Link::new(&params, station, stations.len(), seed);
        let links: Vec<Link> = stations.iter().map(link).collect();
        Bss {
            medium: Medium::new(accesses.collect(), params.slot, params.rules),
            nodes: queues.into_iter().map(Node::new).collect(),
            edca: params.qos.as_ref().map(|qos| Edca::new(&params, qos, &links, more.len())),
            links,
            airtime_down: vec![Duration::ZERO; stations.len()],
            ap_delays: vec![SparseHistogram::default(); stations.len()],
            corrupted: false,
            deliveries: VecDeque::new(),
            now: Instant::ZERO,
            fetched: None,
            air: None,
            params,
        }
    }

    /// Where a node stands in [`Self::nodes`].
    #[inline]
    pub(super) fn position(&self, node: NodeId) -> usize {
        node.position(self.links.len())
    }

    /// Which node stands there.
    #[inline]
    pub(super) fn id_at(&self, position: usize) -> NodeId {
        NodeId::at_position(position, self.links.len())
    }

    /// The AP of the station at this position.
    pub fn ap_of(&self, station: usize) -> NodeId {
        self.links[station].ap
    }

    /// The queue of the AP of the station at this position.
    #[inline]
    pub(super) fn queue_of_ap(&mut self, station: usize) -> &mut Queue<P> {
        &mut self.nodes[self.links[station].ap_at].queue
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
    #[inline]
    pub fn enqueue(&mut self, now: Instant, node: NodeId, packet: P) {
        self.enqueue_at(now, self.position(node), packet);
    }

    /// A packet for its station arrives at the queue of that one's AP.
    #[inline]
    pub fn enqueue_down(&mut self, now: Instant, packet: P) {
        let ap = packet.station().station_index().map_or(0, |station| self.links[station].ap_at);
        self.enqueue_at(now, ap, packet);
    }

    fn enqueue_at(&mut self, now: Instant, node: usize, packet: P) {
        let n = &mut self.nodes[node];
        n.queue.enqueue(now, packet);
        if self.edca.is_some() {
            self.supply(now, node);
            return;
        }
        // The sender of a frame that awaits its ACK fetches when the exchange is over.
        let awaits_ack = matches!(self.medium.state, State::Answer { sender, .. } if sender == node);
        if n.in_service.is_some() || awaits_ack {
            return;
        }
        n.fetch(now);
        if n.in_service.is_some() {
            self.medium.request(now, node);
        }
    }

    /// Whether a packet has arrived or a queue has made room since they were last asked for.
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.deliveries.is_empty() || self.fetched.as_ref().is_some_and(|nodes| !nodes.is_empty())
    }

    /// When to call [`Self::handle_timeout`]; `None` when the cell waits for packets.
    pub fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next_at()).filter(|at| *at < Instant::FAR_FUTURE)
    }

    /// [`Self::poll_timeout`], or [`Instant::FAR_FUTURE`].
    #[inline]
    pub fn next_at(&self) -> Instant {
        let arrival = self.deliveries.front().map_or(Instant::FAR_FUTURE, |(at, _)| *at);
        self.medium.timeout().min(arrival)
    }

    /// Does what is due at `now`, which must be what [`Self::poll_timeout`] said.
    #[inline]
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if self.medium.timeout() > now {
            // Only a packet arrives.
            return;
        }
        if self.edca.is_some() {
            self.step(now);
            return;
        }
        match self.medium.state {
            State::Idle { .. } => self.transmit(now),
            State::Frames { .. } if self.medium.senders.len() == 1 && !self.corrupted => self.deliver(now),
            State::Frames { .. } => self.fail(now),
            State::Answer { sender, .. } | State::Pause { sender, .. } => self.acknowledged(now, sender),
        }
    }

    /// A packet that the last step brought over the radio.
    #[inline]
    pub fn poll_delivery(&mut self) -> Option<Delivery<P>> {
        let now = self.now;
        let (_, delivery) = self.deliveries.pop_front_if(|(at, _)| *at <= now)?;
        if self.edca.is_some() && delivery.receiver.is_ap() {
            self.queue(delivery.receiver).observe_uplink(now, &delivery.packet);
        }
        Some(delivery)
    }

    /// From now on data frames from and to `station` (its position) are sent with `tx`.
    pub fn set_tx(&mut self, station: usize, tx: TxVector) {
        self.links[station].set_tx(&self.params, tx);
        if let Some(edca) = &mut self.edca {
            edca.set_link(&self.params, station, &self.links[station]);
        }
    }

    /// Something outside the cell holds the medium until `until`: all sense it busy after the exchange that goes on.
    pub fn silence(&mut self, now: Instant, until: Instant) {
        self.medium.silence(now, until);
    }

    /// The queue of a node.
    pub fn queue(&mut self, node: NodeId) -> &mut Queue<P> {
        let node = self.position(node);
        &mut self.nodes[node].queue
    }

    /// Packets at a node: waiting, and in the MAC's hands.
    pub fn backlog(&self, node: NodeId) -> usize {
        let id = self.position(node);
        let node = &self.nodes[id];
        let sessions =
            self.edca.iter().flat_map(|edca| edca.functions[edca.of_node(id)].iter().flat_map(|f| &f.sessions));
        node.queue.len() + usize::from(node.in_service.is_some()) + sessions.map(|session| session.held).sum::<usize>()
    }

    /// Packets of at least `len` at a node that keep it busy from one fetch to the next: those of two PPDUs.
    pub fn busy_backlog(&self, len: Bytes) -> usize {
        let joined = |amsdu: Bytes| (amsdu.0 / len.0.max(1)).max(1) as usize;
        2 * self.params.qos.map_or(1, |qos| qos.most_mpdus() * qos.amsdu.map_or(1, joined))
    }

    /// MAC counters of a node.
    pub fn stats(&self, node: NodeId) -> &MacStats {
        &self.nodes[self.position(node)].stats
    }

    /// What station number `station` has counted up to `end`.
    pub fn station_record(&mut self, station: usize, end: Instant) -> StationRecord {
        let node = NodeId::station(station);
        StationRecord {
            mac: *self.stats(node),
            uplink_queue: self.queue(node).stats(end).clone(),
            airtime_down: self.airtime_down(station),
            ap_delays: self.ap_delays[station].clone(),
        }
    }

    /// Air that frames from its AP to a station took.
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
        self.ap_delays.iter_mut().for_each(SparseHistogram::clear);
        if let Some(edca) = &mut self.edca {
            edca.delays.clear();
        }
    }

    /// From the arrival of packets at the AP, or at any of several, until they are first sent, where its MAC holds more than the packet that it works on:
    /// under EDCA.
    pub fn ap_delays(&self) -> Option<&Delays> {
        self.edca.as_ref().map(|edca| &edca.delays)
    }

    /// The shortest countdown is over: its owner sends, and so does everybody whose countdown ends with it.
    fn transmit(&mut self, now: Instant) {
        self.medium.seize(now);
        let collision = self.medium.senders.len() > 1;
        let seen = self.air.as_ref().map_or(0, Vec::len);
        self.corrupted = false;
        let mut until = now;
        for index in 0..self.medium.senders.len() {
            let id = self.medium.senders[index].id;
            let end = now + self.start_frame(now, id, collision);
            self.medium.senders[index].end = end;
            until = until.max(end);
        }
        if let (Some(air), true) = (&mut self.air, collision) {
            // Data follow a CTS-to-self while another frame may have begun with it.
            air[seen..].sort_by_key(|frame| frame.at);
        }
        self.medium.state = State::Frames { until };
    }

    /// The MAC ACK has ended: the sender draws its post-backoff and fetches the next frame.
    fn acknowledged(&mut self, now: Instant, sender: usize) {
        self.medium.release(now);
        self.medium.accesses[sender].stage = 0;
        self.medium.contend(sender);
        self.fetch(now, sender);
        self.medium.become_idle();
    }

    /// Nobody answers the frames that ended: collision or channel error. Senders back off, listeners wait EIFS.
    fn fail(&mut self, now: Instant) {
        let MacParams { difs, after_bad_frame, .. } = self.params;
        // Every wait ends with the contender's own interframe space.
        let undecoded = now + (after_bad_frame - difs);
        if self.medium.senders.len() > 1 {
            self.medium.release(undecoded);
        } else {
            // All but the receiver decoded the frame and keep silent for the ACK that it announced.
            let sender = self.medium.senders[0].id;
            let (receiver, answer, protected) = self.announced(sender);
            self.medium.release(now + answer);
            // A CTS-to-self told the receiver, too.
            self.medium.set_idle_from(receiver, if protected { undecoded.max(now + answer) } else { undecoded });
        }
        let longest = self.medium.senders.iter().filter(|sender| sender.end == now).count();
        for index in 0..self.medium.senders.len() {
            let sender = self.medium.senders[index];
            let timeout = sender.end + (self.after_no_ack(sender.id) - difs);
            let idle_from = match self.params.rules.after_no_answer {
                AfterNoAnswer::Timeout => timeout.max(now),
                AfterNoAnswer::TimeoutIfLongest if sender.end == now && longest == 1 => timeout,
                AfterNoAnswer::TimeoutIfLongest => undecoded,
                AfterNoAnswer::SpaceAfterTimeout => now.max(timeout + difs),
            };
            self.medium.set_idle_from(sender.id, idle_from);
            self.retry(now, sender.id);
        }
        self.medium.become_idle();
    }

    /// One more attempt of the frame in service, or the next frame when the limit is reached.
    fn retry(&mut self, now: Instant, id: usize) {
        let access = &mut self.medium.accesses[id];
        access.stage += 1;
        if access.stage >= self.params.retry_limit {
            access.stage = 0;
            let node = &mut self.nodes[id];
            node.in_service.take().into_iter().for_each(Packet::discard);
            node.stats.discards += 1;
            self.fetch(now, id);
        }
        self.medium.contend(id);
    }

    /// The MAC of `id` is done with its frame and takes the next one.
    fn fetch(&mut self, now: Instant, id: usize) {
        let node = &mut self.nodes[id];
        node.fetch(now);
        self.medium.accesses[id].wants = node.in_service.is_some();
        if let Some(fetched) = &mut self.fetched {
            fetched.push(NodeId::at_position(id, self.links.len()));
        }
    }
}

/// The contenders at an AP or a station with a name, an access priority and a smallest window: one under DCF, one a category under EDCA.
fn accesses(params: &MacParams, is_ap: bool, named: &(String, f64, u32), seed: u64) -> Vec<Access> {
    let (name, beta, cw_min) = named;
    let (label, beta) = (format!("backoff/{name}"), *beta);
    let Some(qos) = &params.qos else {
        let windows = Windows::between(params, *cw_min, params.cw_max, beta);
        return vec![Access::new(params.difs, 0, windows, Rng::fork(seed, &label))];
    };
    let rules = if is_ap { &qos.edca.ap } else { &qos.edca.stations };
    let used = Category::ALL.into_iter().filter(|category| qos.categories[category.index()]);
    used.map(|category| {
        let access = rules[category.index()];
        let label = match category {
            Category::BestEffort => label.clone(),
            Category::Voice | Category::Video | Category::Background => format!("{label}/{category:?}"),
        };
        let windows = Windows::between(params, access.cw_min, access.cw_max, beta);
        let aifs = params.sifs + params.slot * u64::from(access.aifsn);
        Access::new(aifs, 1, windows, Rng::fork(seed, &label))
    })
    .collect()
}
