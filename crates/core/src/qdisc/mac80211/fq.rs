//! Flow queues of all stations: `include/net/fq_impl.h`, with CoDel in each (`include/net/codel_impl.h`).

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::Mac80211Params;
use crate::packet::{Category, DropReason, Packet};
use crate::qdisc::{CodelParams, CodelQueue, CodelState, Drops};
use crate::units::Instant;

/// An overflow drops at most so many packets at once (`fq_flow_drop`).
const DROP_BATCH: usize = 32;
/// Memory of a packet (`skb->truesize`): a buffer of 2048 bytes and its head of 256.
const TRUESIZE: u64 = 2304;

/// Position of a flow in [`Fq::flows`].
type FlowId = usize;
/// Position of a station and category in [`Fq::tins`].
type TinId = usize;

/// One flow queue.
struct Flow<P> {
    packets: VecDeque<P>,
    bytes: u64,
    deficit: i64,
    /// The station and category that it serves now.
    tin: Option<TinId>,
    /// Whether it stands on a list of its tin.
    listed: bool,
    codel: CodelState,
}

impl<P> Flow<P> {
    fn new() -> Self {
        let (packets, codel) = (VecDeque::new(), CodelState::default());
        Flow { packets, bytes: 0, deficit: 0, tin: None, listed: false, codel }
    }
}

impl<P: Packet> CodelQueue<P> for Flow<P> {
    fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.ip_len().0;
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The queues of one station and category (`struct fq_tin`).
#[derive(Default)]
struct Tin {
    new_flows: VecDeque<FlowId>,
    old_flows: VecDeque<FlowId>,
    packets: usize,
}

/// All flow queues (`struct fq`).
pub(super) struct Fq<P> {
    params: Mac80211Params,
    codel: CodelParams,
    /// The hashed flows, then one default flow a tin; made when they are first needed.
    flows: Vec<Option<Box<Flow<P>>>>,
    /// Which of them were made.
    made: Vec<FlowId>,
    tins: Vec<Tin>,
    waiting: [usize; 4],
}

const fn tin_of(station: usize, category: Category) -> TinId {
    station * 4 + category.index()
}

impl<P: Packet> Fq<P> {
    pub(super) fn new(params: Mac80211Params) -> Self {
        // `local->cparams.mtu` is 0: one packet may be dropped, too.
        let codel = CodelParams { target: params.target, interval: params.interval, max_packet: 0 };
        let flows = (0..params.flows).map(|_| None).collect();
        Fq { params, codel, flows, made: Vec::new(), tins: Vec::new(), waiting: [0; 4] }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.iter().sum()
    }

    pub(super) fn waiting(&self, category: Category) -> usize {
        self.waiting[category.index()]
    }

    pub(super) fn waiting_for(&self, station: usize, category: Category) -> usize {
        self.tins.get(tin_of(station, category)).map_or(0, |tin| tin.packets)
    }

    fn flow(&mut self, id: FlowId) -> &mut Flow<P> {
        self.flows[id].get_or_insert_with(|| {
            self.made.push(id);
            Box::new(Flow::new())
        })
    }

    /// `fq_flow_classify`: the flow that the hash names, or the tin's default flow where another tin has that one.
    fn classify(&mut self, tin: TinId, packet: &P) -> FlowId {
        let hash = packet.flow().0.wrapping_mul(0x9e37_79b1) ^ packet.direction() as u32;
        let id = ((u64::from(hash) * u64::from(self.params.flows)) >> 32) as FlowId;
        if self.flow(id).tin.is_some_and(|other| other != tin) { self.params.flows as FlowId + tin } else { id }
    }

    /// `fq_tin_enqueue`.
    pub(super) fn enqueue(&mut self, packet: P, drops: &mut Drops<P>) {
        let category = packet.category();
        let tin = tin_of(packet.station().index(), category);
        if tin >= self.tins.len() {
            self.tins.resize_with(tin + 1, Tin::default);
            self.flows.resize_with(self.params.flows as usize + tin + 1, || None);
        }
        let id = self.classify(tin, &packet);
        let quantum = self.params.quantum as i64;
        let flow = self.flow(id);
        flow.tin = Some(tin);
        flow.bytes += packet.ip_len().0;
        flow.packets.push_back(packet);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = quantum;
            self.tins[tin].new_flows.push_back(id);
        }
        self.tins[tin].packets += 1;
        self.waiting[category.index()] += 1;
        while self.len() > self.params.limit || self.len() as u64 * TRUESIZE > self.params.memory.0 {
            self.relieve(drops);
        }
    }

    /// `fq_find_fattest_flow`, `fq_flow_drop`: half of the fattest flow goes, from its head.
    fn relieve(&mut self, drops: &mut Drops<P>) {
        let bytes = |id: FlowId| self.flows[id].as_ref().map_or(0, |flow| flow.bytes);
        // Of several fattest the first.
        let fattest =
            self.made.iter().copied().max_by_key(|id| (bytes(*id), Reverse(*id))).expect("a flow has a packet");
        let flow = self.flow(fattest);
        let batch = (flow.packets.len() / 2).clamp(1, DROP_BATCH);
        let tin = flow.tin.expect("a flow with packets has a tin");
        for _ in 0..batch {
            let Some(packet) = self.flow(fattest).pop() else { break };
            self.left(tin, 1);
            drops.push((packet, DropReason::PushedOut));
        }
    }

    fn left(&mut self, tin: TinId, packets: usize) {
        self.tins[tin].packets -= packets;
        self.waiting[tin % 4] -= packets;
    }

    /// `fq_tin_dequeue`: new flows first, deficit round robin, CoDel in each.
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        station: usize,
        category: Category,
        drops: &mut Drops<P>,
    ) -> Option<P> {
        let tin = tin_of(station, category);
        self.tins.get(tin)?;
        loop {
            let lists = &self.tins[tin];
            let is_new = !lists.new_flows.is_empty();
            let id = *(if is_new { lists.new_flows.front() } else { lists.old_flows.front() })?;
            let (quantum, codel, has_codel) = (self.params.quantum as i64, self.codel, self.params.codel);
            let flow = self.flow(id);
            if flow.deficit <= 0 {
                flow.deficit += quantum;
                self.leave(tin, is_new);
                self.tins[tin].old_flows.push_back(id);
                continue;
            }
            let before = flow.packets.len();
            let packet = if has_codel {
                let mut state = flow.codel;
                let packet = state.dequeue(now, &codel, flow, drops);
                flow.codel = state;
                packet
            } else {
                flow.pop()
            };
            let left = before - flow.packets.len();
            flow.deficit -= packet.as_ref().map_or(0, |packet| packet.ip_len().0 as i64);
            self.left(tin, left);
            if packet.is_some() {
                return packet;
            }
            self.leave(tin, is_new);
            // A new flow that is empty passes once through the old ones, lest it starves them.
            if is_new && !self.tins[tin].old_flows.is_empty() {
                self.tins[tin].old_flows.push_back(id);
            } else {
                let flow = self.flow(id);
                flow.listed = false;
                flow.tin = None;
            }
        }
    }

    fn leave(&mut self, tin: TinId, is_new: bool) {
        let tin = &mut self.tins[tin];
        let list = if is_new { &mut tin.new_flows } else { &mut tin.old_flows };
        list.pop_front();
    }
}
