//! `fq-codel`: flows take turns by bytes, new ones first, each under CoDel (RFC 8290).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::backlogs::{Backlogs, Slot};
use super::{CodelParams, CodelQueue, CodelState, Drops, Qdisc};
use crate::packet::{DropReason, Packet};
use crate::units::{Duration, Instant};

/// Parameters of [`FqCodel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodelParams {
    /// Most packets that wait in all queues together, at least 1. Default 10240 (RFC 8290 section 5.2.3).
    pub limit: usize,
    /// Bytes that a flow may send in a turn. Default 1514 (RFC 8290 section 5.2.4).
    pub quantum: u64,
    /// CoDel's target. Default 5 ms (RFC 8290 section 5.2.2).
    pub target: Duration,
    /// CoDel's interval. Default 100 ms (RFC 8290 section 5.2.1).
    pub interval: Duration,
}

impl Default for FqCodelParams {
    fn default() -> Self {
        FqCodelParams {
            limit: 10_240,
            quantum: 1_514,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
        }
    }
}

/// RFC 8290 section 4.1: an overflow drops at most this many packets at once.
const DROP_BATCH: usize = 64;
/// Largest IP packet of an Ethernet host.
const MAX_PACKET: u64 = 1500;

/// What the scheduler remembers of a flow that is on one of its lists.
#[derive(Clone, Copy, Debug, Default)]
struct FlowState {
    /// Byte credits; may be negative.
    deficit: i64,
    codel: CodelState,
}

/// Fair queueing with controlled delay.
///
/// RFC 8290 hashes flows into 1024 queues; here each flow has its own, made when it has a packet and gone when it
/// leaves the list of old flows, which is hashing without collisions.
#[derive(Debug)]
pub struct FqCodel<P> {
    limit: usize,
    quantum: i64,
    codel: CodelParams,
    backlogs: Backlogs<P, FlowState>,
    new_flows: VecDeque<Slot>,
    old_flows: VecDeque<Slot>,
}

/// One flow's queue in CoDel's hands.
struct Lent<'a, P> {
    backlogs: &'a mut Backlogs<P, FlowState>,
    slot: Slot,
}

impl<P: Packet> CodelQueue<P> for Lent<'_, P> {
    fn pop(&mut self) -> Option<P> {
        self.backlogs.pop_head(self.slot)
    }

    fn bytes(&self) -> u64 {
        self.backlogs.get(self.slot).bytes
    }
}

impl<P: Packet> FqCodel<P> {
    /// No flows yet.
    pub fn new(params: FqCodelParams) -> Self {
        FqCodel {
            limit: params.limit,
            quantum: params.quantum.max(1) as i64,
            codel: CodelParams { target: params.target, interval: params.interval, max_packet: MAX_PACKET },
            backlogs: Backlogs::new(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
        }
    }

    /// RFC 8290 section 4.1: half of the packets of the flow with most bytes go, from the head.
    fn relieve(&mut self, own: Slot, drops: &mut Drops<P>) {
        let fattest = self.backlogs.longest(own, |backlog| backlog.bytes);
        let batch = (self.backlogs.get(fattest).waiting.len() / 2).clamp(1, DROP_BATCH);
        for _ in 0..batch {
            let Some(packet) = self.backlogs.pop_head(fattest) else { break };
            drops.push((packet, DropReason::PushedOut));
            self.backlogs.state(fattest).codel.count_overflow();
        }
    }

    /// RFC 8290 section 4.2: the flow whose turn it is, and whether it is a new one.
    fn turn(&mut self) -> Option<(Slot, bool)> {
        loop {
            let new = !self.new_flows.is_empty();
            let slot = *(if new { self.new_flows.front() } else { self.old_flows.front() })?;
            let state = self.backlogs.state(slot);
            if state.deficit > 0 {
                return Some((slot, new));
            }
            state.deficit += self.quantum;
            self.leave_list(new);
            self.old_flows.push_back(slot);
        }
    }

    fn leave_list(&mut self, new: bool) {
        let list = if new { &mut self.new_flows } else { &mut self.old_flows };
        list.pop_front();
    }
}

impl<P: Packet + Send> Qdisc<P> for FqCodel<P> {
    fn enqueue(&mut self, _now: Instant, packet: P, drops: &mut Drops<P>) {
        let (slot, new) = self.backlogs.slot(packet.flow().0);
        if new {
            self.backlogs.state(slot).deficit = self.quantum;
            self.new_flows.push_back(slot);
        }
        self.backlogs.push(slot, packet);
        if self.backlogs.len() > self.limit {
            self.relieve(slot, drops);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<P> {
        loop {
            let (slot, new) = self.turn()?;
            let mut codel = self.backlogs.state(slot).codel;
            let packet = codel.dequeue(now, &self.codel, &mut Lent { backlogs: &mut self.backlogs, slot }, drops);
            let state = self.backlogs.state(slot);
            state.codel = codel;
            if let Some(packet) = packet {
                state.deficit -= packet.ip_len().0 as i64;
                return Some(packet);
            }
            // An empty new flow waits a round among the old ones, or it could be new again with its next packet.
            self.leave_list(new);
            if new {
                self.old_flows.push_back(slot);
            } else {
                self.backlogs.release(slot);
            }
        }
    }

    fn len(&self) -> usize {
        self.backlogs.len()
    }
}
