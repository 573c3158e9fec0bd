//! `per-flow-fq` and `per-station-fq`: whoever has packets takes turns.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::backlogs::{Backlogs, Slot};
use super::flow_table::FlowTable;
use super::{Drops, Qdisc};
use crate::packet::{Class, Packet};
use crate::units::{Duration, Instant};

/// Parameters of [`FairQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FairQueueParams {
    /// Most packets that wait in all queues together, at least 1. Default 100 (the AP buffer of detti2005).
    pub limit: usize,
    /// What a packet costs. Default `acknowledged`: a charge a packet leaves uploads an advantage (docs/remedies.md).
    pub charge: Charge,
}

impl Default for FairQueueParams {
    fn default() -> Self {
        FairQueueParams { limit: 100, charge: Charge::default() }
    }
}

/// What a packet costs its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Charge {
    /// One, whatever it is (Wu et al.).
    Packet,
    /// Ours: its payload, or for an ACK the payload that it newly acknowledges, at least its own length. An ACK that
    /// stands for others that were dropped or delayed costs what they would have cost.
    #[default]
    Acknowledged,
}

/// Among whom the AP's service is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairKey {
    /// Connections, both directions as one (Wu et al. 2005, reference 9 of ha2009).
    Flow,
    /// Stations.
    Station,
}

/// Bytes that a turn is worth when bytes are charged: a full packet.
const QUANTUM: i64 = 1500;
/// The AP remembers what a silent flow had acknowledged for so long.
const IDLE: Duration = Duration::from_secs(60);

/// Deficit round robin.
///
/// A deficit in bytes of the packets themselves would never hold an upload back: its ACKs have 40 bytes. With a charge
/// per packet a download's data and an upload's ACKs are served at one rate, and an ACK stands for one or two data
/// packets in the other direction. When the common limit is reached the longest queue loses its last packet; among
/// equals the arrival's own queue, so that a flow within its share never pays for another.
#[derive(Debug)]
pub struct FairQueue<P> {
    limit: usize,
    charge: Charge,
    key: FairKey,
    /// With the credit that each has left: a queue whose credit is used up waits for its next turn.
    backlogs: Backlogs<P, i64>,
    /// Queues with packets or debts in the order of their turns.
    turns: VecDeque<Slot>,
    /// Highest ACK served, by flow.
    acked: FlowTable<u64>,
}

impl<P: Packet> FairQueue<P> {
    /// No queues yet.
    pub fn new(params: FairQueueParams, key: FairKey) -> Self {
        FairQueue {
            limit: params.limit,
            charge: params.charge,
            key,
            backlogs: Backlogs::new(),
            turns: VecDeque::new(),
            acked: FlowTable::new(IDLE),
        }
    }

    fn key_of(&self, packet: &P) -> u32 {
        match self.key {
            FairKey::Flow => packet.flow().0,
            FairKey::Station => packet.station().0,
        }
    }

    /// Credit of a turn.
    fn quantum(&self) -> i64 {
        match self.charge {
            Charge::Packet => 1,
            Charge::Acknowledged => QUANTUM,
        }
    }

    /// What the service of `packet` costs.
    fn cost(&mut self, now: Instant, packet: &P) -> i64 {
        if self.charge == Charge::Packet {
            return 1;
        }
        let header_or_datagram = packet.ip_len().0;
        let bytes = match packet.tcp() {
            Some(tcp) if packet.class() == Class::Ack => {
                let acked = self.acked.touch(now, packet.flow());
                // A flow that is met in the middle has not moved all its bytes just now; a SYN-ACK starts it again.
                let growth = if *acked == 0 { 0 } else { tcp.ack.saturating_sub(*acked) };
                *acked = if tcp.syn { 0 } else { tcp.ack.max(*acked) };
                growth.max(header_or_datagram)
            }
            Some(tcp) if tcp.payload > 0 => u64::from(tcp.payload),
            _ => header_or_datagram,
        };
        bytes as i64
    }
}

impl<P: Packet + Send> Qdisc<P> for FairQueue<P> {
    fn enqueue(&mut self, _now: Instant, packet: P, drops: &mut Drops<P>) {
        let (slot, new) = self.backlogs.slot(self.key_of(&packet));
        if new {
            *self.backlogs.state(slot) = self.quantum();
            self.turns.push_back(slot);
        }
        self.backlogs.push(slot, packet);
        if self.backlogs.len() > self.limit {
            self.backlogs.shorten(slot, drops);
        }
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut Drops<P>) -> Option<P> {
        loop {
            let slot = *self.turns.front()?;
            let quantum = self.quantum();
            let credit = self.backlogs.state(slot);
            if *credit <= 0 {
                *credit += quantum;
                self.turns.rotate_left(1);
            } else if let Some(packet) = self.backlogs.pop_head(slot) {
                *self.backlogs.state(slot) -= self.cost(now, &packet);
                return Some(packet);
            } else {
                // Not before its debts are paid: else a queue that runs empty would always be a new one.
                self.turns.pop_front();
                self.backlogs.release(slot);
            }
        }
    }

    fn len(&self) -> usize {
        self.backlogs.len()
    }
}
