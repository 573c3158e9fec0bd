//! `airtime-fq`: stations take turns by the air that they use, as mac80211 schedules them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::backlogs::{Backlogs, Slot};
use super::{Drops, Qdisc};
use crate::packet::{Direction, NodeId, Packet};
use crate::units::{Duration, Instant};

/// Parameters of [`AirtimeFq`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AirtimeFqParams {
    /// Most packets that wait in all queues together, at least 1. Default 100 (the AP buffer of detti2005).
    pub limit: usize,
    /// Air that a round gives each station. Default 300 us (Linux, ath9k's `ATH_AIRTIME_QUANTUM`).
    pub quantum: Duration,
    /// Most air that a station can owe. Default 1 s: two windows of 42 full packets at 1 Mb/s. Ours, mac80211 has none.
    pub max_debt: Duration,
}

impl Default for AirtimeFqParams {
    fn default() -> Self {
        AirtimeFqParams { limit: 100, quantum: Duration::from_micros(300), max_debt: Duration::from_secs(1) }
    }
}

/// Deficit round robin over stations in airtime of both directions.
///
/// Every frame from or to a station is charged to it, retries included. An upload that takes more air than its share
/// waits longer for its ACKs, which slows it down; the AP has no other hold on it. A station without packets here owes
/// on, or an upload would go free between two ACKs; the debt is bounded, as air that is gone cannot be given back to
/// the others.
#[derive(Debug)]
pub struct AirtimeFq<P> {
    limit: usize,
    quantum: i64,
    max_debt: i64,
    backlogs: Backlogs<P, NodeOf>,
    /// Stations with packets in the order of their turns.
    turns: VecDeque<Slot>,
    /// Air in nanoseconds that each node may still use in this round, by [`NodeId`].
    deficits: Vec<i64>,
}

/// The station that a queue belongs to.
#[derive(Clone, Copy, Debug, Default)]
struct NodeOf(usize);

impl<P: Packet> AirtimeFq<P> {
    /// No stations yet.
    pub fn new(params: AirtimeFqParams) -> Self {
        AirtimeFq {
            limit: params.limit,
            quantum: params.quantum.as_nanos().max(1) as i64,
            max_debt: params.max_debt.as_nanos() as i64,
            backlogs: Backlogs::new(),
            turns: VecDeque::new(),
            deficits: Vec::new(),
        }
    }

    fn deficit(&mut self, node: usize) -> &mut i64 {
        if node >= self.deficits.len() {
            self.deficits.resize(node + 1, 0);
        }
        &mut self.deficits[node]
    }

    /// Gives each station with packets as many rounds as the least indebted one needs: the outcome of going round that
    /// often, in one step.
    fn next_rounds(&mut self) {
        let node_of = |slot: &Slot| self.backlogs.get(*slot).state.0;
        let best = self.turns.iter().map(|slot| self.deficits[node_of(slot)]).max().unwrap_or(0);
        // Positive afterwards: a deficit of zero does not send.
        let rounds = (-best).div_euclid(self.quantum) + 1;
        for slot in &self.turns {
            self.deficits[self.backlogs.get(*slot).state.0] += rounds * self.quantum;
        }
    }

    fn leave_if_empty(&mut self, slot: Slot) {
        if self.backlogs.get(slot).waiting.is_empty() {
            self.backlogs.release(slot);
            self.turns.retain(|other| *other != slot);
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for AirtimeFq<P> {
    fn enqueue(&mut self, _now: Instant, packet: P, drops: &mut Drops<P>) {
        let node = packet.station();
        self.deficit(node.index());
        let (slot, new) = self.backlogs.slot(node.0);
        if new {
            *self.backlogs.state(slot) = NodeOf(node.index());
            self.turns.push_back(slot);
        }
        self.backlogs.push(slot, packet);
        if self.backlogs.len() > self.limit {
            let shortened = self.backlogs.shorten(slot, drops);
            self.leave_if_empty(shortened);
        }
    }

    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops<P>) -> Option<P> {
        if self.turns.iter().all(|slot| self.deficits[self.backlogs.get(*slot).state.0] <= 0) {
            self.next_rounds();
        }
        // One packet a turn: what it costs in air is known only when it has been sent.
        let turn = self.turns.iter().position(|slot| self.deficits[self.backlogs.get(*slot).state.0] > 0)?;
        self.turns.rotate_left(turn);
        let slot = self.turns[0];
        let packet = self.backlogs.pop_head(slot);
        self.turns.rotate_left(1);
        self.leave_if_empty(slot);
        packet
    }

    fn len(&self) -> usize {
        self.backlogs.len()
    }

    fn observe_airtime(&mut self, _now: Instant, station: NodeId, _direction: Direction, airtime: Duration) {
        let max_debt = self.max_debt;
        let deficit = self.deficit(station.index());
        *deficit = (*deficit - airtime.as_nanos() as i64).max(-max_debt);
    }
}
