//! EDCA: the access functions of a QoS cell, what each holds for its peers, and which PPDU goes next.

use std::collections::VecDeque;

use super::block_ack::{DELIMITER, HEADER_FCS, Limits, Load, MPDU_OVERHEAD, Session};
use super::counters::Delays;
use super::link::Link;
use super::medium::AccessId;
use super::node::Node;
use super::params::MacParams;
use super::phy::{LONGEST_PPDU, Phy};
use super::qos::QosParams;
use super::tx_vector::TxVector;
use crate::packet::{Category, NodeId, Packet};
use crate::qdisc::Held;
use crate::units::{Bytes, Duration, Instant};

/// Bytes of RTS and CF-End.
const RTS: u64 = 20;
/// Bytes of CTS and ACK.
const CTS: u64 = 14;
/// Bytes of a BlockAckReq.
const BLOCK_ACK_REQ: u64 = 24;
/// Bytes of a BlockAck with a bitmap of 64 and of 256 MPDUs.
pub(super) const BLOCK_ACK: (u64, u64) = (32, 56);
/// Aggregates that the MAC holds for a station and category when the queue does not pick stations.
const AGGREGATES_AHEAD: usize = 2;

/// What an access function puts on the air next or has there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// RTS, then the data.
    Rts,
    /// MPDUs.
    #[default]
    Data,
    /// BlockAckReq.
    Bar,
}

/// One exchange: what goes out, and what is to answer it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Job {
    pub(super) phase: Phase,
    /// Which session.
    pub(super) peer: usize,
    pub(super) load: Load,
    /// MPDUs that the receiver decoded, and their IP bytes.
    pub(super) received: u32,
    pub(super) received_bytes: Bytes,
    /// Duration of ACK or BlockAck.
    pub(super) answer: Duration,
}

/// An access function: one category of one node.
pub(super) struct AccessFunction<P> {
    /// Position of its node.
    pub(super) node: usize,
    pub(super) is_ap: bool,
    pub(super) category: Category,
    /// TXOP limit.
    pub(super) txop: Duration,
    /// By station at an AP, of all APs; a station has one.
    pub(super) sessions: Vec<Session<P>>,
    /// Longest A-MSDU of each session: one that does not fit into the TXOP with its answer is not made (802.11-2020 clause 10.23.2.9). 0: none.
    amsdu: Vec<u64>,
    /// Sessions with MPDUs that wait.
    turn: VecDeque<usize>,
    /// The session whose BlockAck is missing and is asked for.
    pub(super) bar: Option<usize>,
    pub(super) job: Job,
    /// From its access to the medium to the end of its TXOP.
    pub(super) busy: bool,
    pub(super) txop_end: Instant,
}

impl<P: Packet> AccessFunction<P> {
    fn new((node, is_ap): (usize, bool), category: Category, txop: Duration, peers: usize) -> Self {
        AccessFunction {
            node,
            is_ap,
            category,
            txop,
            sessions: (0..peers).map(|_| Session::new()).collect(),
            amsdu: vec![0; peers],
            turn: VecDeque::with_capacity(peers),
            bar: None,
            job: Job::default(),
            busy: false,
            txop_end: Instant::FAR_FUTURE,
        }
    }

    /// The station at the radio's other end, or the function's own node if that is a station.
    pub(super) fn station(&self, peer: usize) -> usize {
        if self.is_ap { peer } else { self.node - 1 }
    }

    fn peer(&self, station: NodeId) -> usize {
        if self.is_ap { station.index() - 1 } else { 0 }
    }

    /// `peer` has been served or got MPDUs: it queues behind the others if MPDUs wait.
    pub(super) fn take_turn(&mut self, peer: usize) {
        if let Some(position) = self.turn.iter().position(|other| *other == peer) {
            self.turn.remove(position);
        }
        if self.sessions[peer].may_send() {
            self.turn.push_back(peer);
        }
    }

    /// Whether there is something to send besides what the queue holds.
    pub(super) fn has_traffic(&self) -> bool {
        self.bar.is_some() || !self.turn.is_empty()
    }
}

/// The answers and limits on the way between the AP and a station.
#[derive(Clone, Copy, Debug)]
struct Times {
    ack: Duration,
    block_ack: Duration,
    /// Longest PSDU by the limits of aggregation and of a PPDU's duration.
    longest: u64,
    /// Bytes before a lone MPDU.
    alone: u64,
    /// BlockAck window, and MPDUs of an A-MPDU at most.
    window: usize,
    mpdus: usize,
    /// Longest A-MSDU without regard to TXOPs; 0: none.
    amsdu: u64,
}

/// The QoS half of a cell.
pub(super) struct Edca<P> {
    pub(super) params: QosParams,
    /// By [`AccessId`]: those of a node stand together, the most urgent first.
    pub(super) functions: Vec<AccessFunction<P>>,
    /// Functions a node.
    pub(super) per_node: usize,
    /// Position of a category's function among those of its node.
    position: [usize; 4],
    times: Vec<Times>,
    pub(super) rts: Duration,
    pub(super) cts: Duration,
    pub(super) bar: Duration,
    pub(super) cf_end: Duration,
    /// Of packets from the AP.
    pub(super) delays: Delays,
    /// Modulation of RTS, CTS and BlockAckReq, and of CF-End.
    pub(super) control: TxVector,
    pub(super) lowest: TxVector,
}

impl<P: Packet> Edca<P> {
    /// `more`: further APs.
    pub(super) fn new(params: &MacParams, qos: &QosParams, links: &[Link], more: usize) -> Self {
        let used: Vec<Category> =
            Category::ALL.into_iter().filter(|category| qos.categories[category.index()]).collect();
        let mut position = [0; 4];
        for category in Category::ALL {
            // A category that is not used goes with the next less urgent one, or with the last.
            position[category.index()] =
                used.iter().position(|used| *used >= category).unwrap_or(used.len().saturating_sub(1));
        }
        let functions = (0..=links.len() + more).flat_map(|node| {
            let is_ap = NodeId::at_position(node, links.len()).is_ap();
            let (access, peers) = if is_ap { (&qos.edca.ap, links.len()) } else { (&qos.edca.stations, 1) };
            let of = move |category: &Category| {
                AccessFunction::new((node, is_ap), *category, access[category.index()].txop, peers)
            };
            used.iter().map(of)
        });
        let (control, lowest) = (params.control_tx(), params.lowest_tx());
        let time = |tx: TxVector, bytes| tx.ppdu_time(Bytes(bytes), &params.ppdu);
        let mut edca = Edca {
            functions: functions.collect(),
            per_node: used.len(),
            position,
            times: Vec::new(),
            rts: time(control, RTS),
            cts: time(control, CTS),
            bar: time(control, BLOCK_ACK_REQ),
            cf_end: time(lowest, RTS),
            delays: Delays::enabled(),
            control,
            lowest,
            params: *qos,
        };
        edca.times = links.iter().map(|link| edca.times_of(params, link)).collect();
        for (station, link) in links.iter().enumerate() {
            edca.limit_amsdus(params, station, link);
        }
        edca
    }

    /// The modulation of `station` has changed.
    pub(super) fn set_link(&mut self, params: &MacParams, station: usize, link: &Link) {
        self.times[station] = self.times_of(params, link);
        self.limit_amsdus(params, station, link);
    }

    /// Sets the longest A-MSDUs to and from `station`.
    fn limit_amsdus(&mut self, params: &MacParams, station: usize, link: &Link) {
        let times = self.times[station];
        for node in [link.ap_at, station + 1] {
            for id in self.of_node(node) {
                let (txop, peer) = (self.functions[id].txop, if self.functions[id].is_ap { station } else { 0 });
                let lone = self.room(params, link, (&times, txop), self.protects()).1;
                let within =
                    if txop > Duration::ZERO { lone.saturating_sub(times.alone + HEADER_FCS) } else { u64::MAX };
                self.functions[id].amsdu[peer] = times.amsdu.min(within);
            }
        }
    }

    /// Whether long PPDUs are announced by RTS and CTS.
    fn protects(&self) -> bool {
        self.params.rts_above.is_some() || self.params.rts_longer.is_some()
    }

    /// Longest PSDU of several MPDUs, and of one, that is over with its answer in `left`, behind RTS and CTS if `announced`.
    fn room(&self, params: &MacParams, link: &Link, (times, left): (&Times, Duration), announced: bool) -> (u64, u64) {
        let announcement = if announced { self.rts + self.cts + params.sifs * 2 } else { Duration::ZERO };
        let protection = announcement + params.protection_time(link.tx);
        let within = |answer| {
            let room = left.saturating_sub(params.sifs + answer + protection);
            link.tx.longest_psdu(room, &params.ppdu).map_or(0, |bytes| bytes.0)
        };
        (within(times.block_ack), within(times.ack))
    }

    fn times_of(&self, params: &MacParams, link: &Link) -> Times {
        let answer = |bytes| params.ack_tx(link.tx).ppdu_time(Bytes(bytes), &params.ppdu);
        let phy = link.tx.phy();
        let limits = self.params.aggregation.map(|aggregation| aggregation.within(phy));
        let longest = limits.map_or(LONGEST_PPDU, |limits| limits.longest_ppdu());
        let by_duration = link.tx.longest_psdu(longest, &params.ppdu).map_or(0, |bytes| bytes.0);
        let by_bytes = limits.map_or(u64::MAX, |limits| limits.max_bytes.0);
        let window = limits.map_or_else(|| self.params.window(), |limits| limits.window);
        let longest = by_duration.min(by_bytes);
        Times {
            ack: answer(CTS),
            block_ack: answer(if window > 64 { BLOCK_ACK.1 } else { BLOCK_ACK.0 }),
            longest,
            alone: if matches!(phy, Phy::Ac | Phy::Ax) { DELIMITER } else { 0 },
            window,
            mpdus: limits.filter(|_| phy.has_mcs()).map_or(1, |limits| limits.most_mpdus()),
            amsdu: self.params.most_amsdu(phy).min(longest.saturating_sub(DELIMITER + MPDU_OVERHEAD)),
        }
    }

    /// The function of `category` at `node`.
    pub(super) fn function(&self, node: usize, category: Category) -> AccessId {
        node * self.per_node + self.position[category.index()]
    }

    /// The functions of a node.
    pub(super) fn of_node(&self, node: usize) -> std::ops::Range<AccessId> {
        node * self.per_node..(node + 1) * self.per_node
    }

    /// Takes packets out of a queue that does not pick stations, as long as there is room for the first in line.
    pub(super) fn drain(&mut self, now: Instant, node: &mut Node<P>, index: usize) {
        while let Some(packet) = node.in_service.take().or_else(|| node.queue.dequeue(now)) {
            let id = self.function(index, packet.category());
            let function = &mut self.functions[id];
            let peer = function.peer(packet.station());
            let Times { longest, mpdus, .. } = self.times[function.station(peer)];
            let amsdu = function.amsdu[peer];
            let session = &mut function.sessions[peer];
            let (count, bytes) = session.waiting();
            let few = count < AGGREGATES_AHEAD;
            let fits =
                count < AGGREGATES_AHEAD * mpdus && bytes + packet.ip_len().0 <= AGGREGATES_AHEAD as u64 * longest;
            if !few && !fits {
                node.in_service = Some(packet);
                return;
            }
            session.push(packet, amsdu);
            if count == 0 {
                function.take_turn(peer);
            }
        }
    }

    /// Whether function `id` has something to send.
    pub(super) fn has_traffic(&self, id: AccessId, node: &mut Node<P>) -> bool {
        let function = &self.functions[id];
        function.has_traffic() || (node.picks_stations && node.queue.has_traffic(function.category))
    }

    /// Decides what function `id` sends at `start`, which is the first of its TXOP or not. `false`: nothing fits or waits.
    pub(super) fn build(
        &mut self,
        params: &MacParams,
        links: &[Link],
        node: &mut Node<P>,
        (now, start): (Instant, Instant),
        id: AccessId,
        first: bool,
    ) -> bool {
        let function = &mut self.functions[id];
        let left = if function.txop > Duration::ZERO {
            function.txop_end.saturating_since(start)
        } else {
            Duration::from_secs(1)
        };
        if let Some(peer) = function.bar {
            let answer = self.times[function.station(peer)].block_ack;
            if !first && self.bar + params.sifs + answer > left {
                return false;
            }
            function.job = Job { phase: Phase::Bar, peer, load: Load::default(), answer, ..function.job };
            return true;
        }
        let category = function.category;
        let peer = if node.picks_stations {
            let held = HeldBy { function, times: &self.times };
            node.queue.next_station(now, category, &held).map(|station| function.peer(station))
        } else {
            function.turn.front().copied()
        };
        let Some(peer) = peer else { return false };
        let station = function.station(peer);
        function.job.peer = peer;
        let times = self.times[station];
        let (mut longest, mut lone) = (times.longest, u64::MAX);
        let protects = first && self.protects();
        let function = &self.functions[id];
        if function.txop > Duration::ZERO {
            let (several, one) = self.room(params, &links[station], (&times, left), protects);
            (longest, lone) = (longest.min(several), one);
        }
        let function = &mut self.functions[id];
        let limits = Limits {
            psdu: longest,
            lone_psdu: lone,
            window: times.window,
            mpdus: times.mpdus,
            amsdu: function.amsdu[peer],
            alone: times.alone,
            first_always: first,
            expired: Session::<P>::expiry(now, self.params.lifetime),
        };
        let Node { queue, picks_stations, .. } = node;
        let pull = || picks_stations.then(|| queue.dequeue_for(now, NodeId::station(station), category)).flatten();
        let load = function.sessions[peer].load(&limits, pull);
        function.take_turn(peer);
        if load.mpdus == 0 {
            return false;
        }
        let lasts = |limit| links[station].tx.ppdu_time(Bytes(load.psdu), &params.ppdu) > limit;
        let announced = protects
            && (self.params.rts_above.is_some_and(|above| load.psdu > above.0)
                || self.params.rts_longer.is_some_and(lasts));
        function.job = Job {
            phase: if announced { Phase::Rts } else { Phase::Data },
            peer,
            load,
            answer: if load.mpdus > 1 { times.block_ack } else { times.ack },
            ..Job::default()
        };
        true
    }
}

/// What an access function holds, for the queue that picks the station.
struct HeldBy<'a, P> {
    function: &'a AccessFunction<P>,
    /// By station.
    times: &'a [Times],
}

impl<P: Packet> HeldBy<'_, P> {
    fn session(&self, station: NodeId) -> Option<&Session<P>> {
        let index = if self.function.is_ap {
            station.station_index()?
        } else if station.index() == self.function.node {
            0
        } else {
            return None;
        };
        self.function.sessions.get(index)
    }
}

impl<P: Packet> Held for HeldBy<'_, P> {
    fn oldest(&self, station: NodeId) -> Option<Instant> {
        self.session(station).and_then(Session::oldest)
    }

    fn may_send(&self, station: NodeId) -> bool {
        self.session(station).is_some_and(Session::may_send)
    }

    fn has_room(&self, station: NodeId) -> bool {
        let window = station.station_index().map_or(0, |index| self.times[index].window);
        self.session(station).is_some_and(|session| session.len() < window)
    }
}
