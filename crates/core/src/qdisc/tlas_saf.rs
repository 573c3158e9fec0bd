//! `tlas-saf`: TLAS with selective ACK filtering (khademi2010 section 3, Fig. 2).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::flow_table::FlowTable;
use super::service::{ByService, PACKET, Service};
use super::tlas::Victim;
use super::{Drops, Qdisc};
use crate::packet::{Class, Direction, DropReason, Packet, TcpView};
use crate::units::{Duration, Instant};

/// A data packet sent with a smaller window cannot raise three duplicate ACKs when it is lost (khademi2010 section 3).
const CRUCIAL_CWND: u64 = 4;
/// How long the AP remembers the ACKs of a silent flow.
const IDLE: Duration = Duration::from_secs(60);

/// Where the congestion window of a data packet is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CwndSource {
    /// The sender writes it into its packets: what the paper assumes and no deployed TCP does.
    #[default]
    Revealed,
    /// The AP's own view: from the highest ACK that it saw go up to the end of the packet at hand.
    Estimated,
}

/// Parameters of [`TlasSaf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlasSafParams {
    /// Most packets that wait, at least 1. Default 50 (khademi2010 Table 3).
    pub limit: usize,
    /// Service, in packets of 1460 bytes, up to which a connection has priority. Default 50 (khademi2010 Table 2).
    pub threshold: u64,
    /// Where congestion windows are known from. Default `revealed` (khademi2010 section 3).
    pub cwnd: CwndSource,
    /// What makes room below the threshold, where an ACK above it goes before the last packet. Default `below`
    /// (khademi2010 section 3).
    #[serde(skip_serializing_if = "crate::units::is_default")]
    pub victim: Victim,
}

impl Default for TlasSafParams {
    fn default() -> Self {
        TlasSafParams { limit: 50, threshold: 50, cwnd: CwndSource::Revealed, victim: Victim::Below }
    }
}

/// Least attained service first below the threshold; above it first in, first out with one ACK a flow.
///
/// Above the threshold a newer ACK always takes the place of the flow's waiting one. Full buffer: a
/// packet below the threshold takes the place of the one that [`Victim`] names, where the newest ACK above the threshold
/// goes before the last packet. A data packet above the threshold with a congestion window smaller than 4 takes the place
/// of the newest ACK. Everything else is dropped.
#[derive(Debug)]
pub struct TlasSaf<P> {
    params: TlasSafParams,
    service: Service,
    below: ByService<P>,
    above: VecDeque<P>,
    /// Highest ACK seen on the way up, by flow.
    acked: FlowTable<u64>,
}

impl<P: Packet> TlasSaf<P> {
    /// An empty queue.
    pub fn new(params: TlasSafParams) -> Self {
        TlasSaf {
            params,
            service: Service::new(),
            below: ByService::new(params.limit),
            above: VecDeque::with_capacity(params.limit.min(256)),
            acked: FlowTable::new(IDLE),
        }
    }

    fn is_full(&self) -> bool {
        self.below.len() + self.above.len() >= self.params.limit
    }

    /// Takes the newest ACK of a flow above the threshold out of the queue.
    fn newest_ack(&mut self) -> Option<P> {
        let position = self.above.iter().rposition(|packet| packet.class() == Class::Ack)?;
        self.above.remove(position)
    }

    /// Makes room for a packet of a flow below the threshold.
    fn victim_for_below(&mut self, attained: u64) -> Option<P> {
        if self.params.victim == Victim::Last && !self.above.is_empty() {
            return self.last_above();
        }
        match self.below.most() {
            Some(most) if most >= attained => self.below.pop_most(),
            Some(_) => None,
            None => self.last_above(),
        }
    }

    /// Takes the newest ACK above the threshold out of the queue, or else the last packet.
    fn last_above(&mut self) -> Option<P> {
        self.newest_ack().or_else(|| self.above.pop_back())
    }

    /// A newer ACK takes the place of the one that waits. Returns the ACK when none does.
    fn supersede(&mut self, mut ack: P, drops: &mut Drops<P>) -> Option<P> {
        let flow = ack.flow();
        let same = |packet: &&mut P| packet.flow() == flow && packet.class() == Class::Ack;
        let Some(waiting) = self.above.iter_mut().find(same) else { return Some(ack) };
        let number = |packet: &P| packet.tcp().map(|tcp| tcp.ack);
        if number(&ack) >= number(waiting) {
            // In its place, not at the end: else a steady stream of ACKs would never be served.
            std::mem::swap(waiting, &mut ack);
        }
        drops.push((ack, DropReason::Superseded));
        None
    }

    /// Whether the loss of this data packet would end in a retransmission timeout.
    fn is_crucial(&mut self, now: Instant, packet: &P) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        if packet.class() != Class::Data {
            return false;
        }
        match self.params.cwnd {
            CwndSource::Revealed => tcp.cwnd.is_some_and(|cwnd| u64::from(cwnd) < CRUCIAL_CWND),
            CwndSource::Estimated => {
                let acked = *self.acked.touch(now, packet.flow());
                in_flight(tcp, acked).div_ceil(PACKET) < CRUCIAL_CWND
            }
        }
    }
}

/// Bytes that are out when the packet at hand is the last of them. A retransmission has few before it and counts as
/// crucial: rightly, as its loss waits for the timer.
fn in_flight(tcp: TcpView, acked: u64) -> u64 {
    (tcp.seq + u64::from(tcp.payload)).saturating_sub(acked)
}

impl<P: Packet + Send> Qdisc<P> for TlasSaf<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut Drops<P>) {
        let attained = self.service.attained(now, &packet);
        if self.params.cwnd == CwndSource::Estimated && packet.tcp().is_some_and(|tcp| tcp.syn) {
            *self.acked.touch(now, packet.flow()) = 0;
        }
        if attained <= self.params.threshold.saturating_mul(PACKET) {
            if self.is_full() {
                let Some(victim) = self.victim_for_below(attained) else {
                    drops.push((packet, DropReason::QueueFull));
                    return;
                };
                drops.push((victim, DropReason::PushedOut));
            }
            self.below.insert(attained, packet);
            return;
        }
        let packet = if packet.class() == Class::Ack {
            let Some(packet) = self.supersede(packet, drops) else { return };
            packet
        } else {
            packet
        };
        if self.is_full() {
            let victim = if self.is_crucial(now, &packet) { self.newest_ack() } else { None };
            let Some(victim) = victim else {
                drops.push((packet, DropReason::QueueFull));
                return;
            };
            drops.push((victim, DropReason::PushedOut));
        }
        self.above.push_back(packet);
    }

    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops<P>) -> Option<P> {
        self.below.pop_least().or_else(|| self.above.pop_front())
    }

    fn len(&self) -> usize {
        self.below.len() + self.above.len()
    }

    fn observe_uplink(&mut self, now: Instant, packet: &P) {
        if self.params.cwnd == CwndSource::Estimated
            && packet.direction() == Direction::Up
            && packet.class() == Class::Ack
            && let Some(tcp) = packet.tcp()
        {
            let acked = self.acked.touch(now, packet.flow());
            // The SYN-ACK of a new connection starts it afresh; late ACKs of the old one may still pass.
            *acked = if tcp.syn { 0 } else { tcp.ack.max(*acked) };
        }
    }
}
