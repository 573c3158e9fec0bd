//! The wired part of the cell: links, each with a queue, a rate and a delay, and how they follow each other.
//!
//! ```text
//! fixed host -- own wire of a flow -- common wire -- [box] -- AP
//! ```
//!
//! Where there are several APs each has a common wire.

use std::collections::VecDeque;

use super::deadlines::{Deadline, is_current};
use super::{Cell, CellPacket};
use crate::packet::{Direction, NodeId, Packet};
use crate::qdisc::{DropTail, Queue};
use crate::scenario::{Scenario, Wire};
use crate::units::{Bitrate, Duration, Instant};

/// The common wire of the first AP, from there to the gateway and back. Those of the others follow.
const UP: usize = 0;
const DOWN: usize = 1;

/// All links, and which of them a flow has for itself.
pub(super) struct Wires<P> {
    links: Vec<Link<P>>,
    /// So many of them are of common wires.
    common: usize,
    /// By station: the link up of its AP's common wire; empty with one AP.
    ups: Vec<usize>,
    /// By flow: index of its own uplink in `links`, its downlink follows; `None`: the flow ends at the common wire.
    own: Vec<Option<usize>>,
    /// By link: when it is going to be looked at.
    wakeups: Vec<Instant>,
}

impl<P: Packet + Send + 'static> Wires<P> {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let Wire { rate, delay, queue } = scenario.wire;
        let more = scenario.access_points.iter().map(|own| own.uplink_queue);
        let uplinks = std::iter::once(scenario.uplink_queue_at_wire()).chain(more);
        let mut links: Vec<Link<P>> =
            uplinks.flat_map(|uplink| [Link::new(uplink, rate, delay), Link::new(queue, rate, delay)]).collect();
        let common = links.len();
        let is_one = scenario.access_points.is_empty();
        let ups = scenario.stations.iter().filter(|_| !is_one).map(|station| UP + 2 * station.ap).collect();
        let own = scenario.flows().map(|(_, flow)| {
            flow.wire.map(|Wire { rate, delay, queue }| {
                links.extend([Link::new(queue, rate, delay), Link::new(queue, rate, delay)]);
                links.len() - 2
            })
        });
        let own = own.collect();
        Wires { wakeups: vec![Instant::FAR_FUTURE; links.len()], links, common, ups, own }
    }

    /// The end of the common wire at the AP with this position.
    pub(super) fn uplink(&mut self, ap: usize) -> &mut Queue<P, DropTail<P>> {
        &mut self.links[UP + 2 * ap].queue
    }

    /// Packets that found a buffer full; those at the AP's ends of common wires as well if `all`.
    pub(super) fn drops(&mut self, now: Instant, all: bool) -> u64 {
        let common = self.common;
        let is_meant = |index: usize| all || index >= common || index % 2 != UP;
        let links = self.links.iter_mut().enumerate().filter(|(index, _)| is_meant(*index));
        links.map(|(_, link)| link.queue.stats(now).drops.iter().flatten().sum::<u64>()).sum()
    }

    /// The link up of the common wire that the packets of a station take.
    #[inline]
    fn up_of(&self, station: NodeId) -> usize {
        if self.common == 2 { UP } else { station.station_index().map_or(UP, |station| self.ups[station]) }
    }

    pub(super) fn reset_stats(&mut self, now: Instant) {
        self.links.iter_mut().for_each(|link| link.queue.reset_stats(now));
    }

    #[inline]
    fn own(&self, flow: Option<usize>) -> Option<usize> {
        self.own.get(flow?).copied().flatten()
    }
}

impl<P: CellPacket, T: Copy> Cell<'_, P, T> {
    /// A packet leaves the fixed host.
    #[inline]
    pub(super) fn leave_host(&mut self, now: Instant, packet: P) {
        let common = self.wires.up_of(packet.station());
        let link = self.wires.own(packet.scenario_flow()).unwrap_or(common) + DOWN;
        self.onto_wire(now, link, packet);
    }

    /// A packet leaves its AP.
    #[inline]
    pub(super) fn leave_ap(&mut self, now: Instant, packet: P) {
        self.onto_wire(now, self.wires.up_of(packet.station()), packet);
    }

    #[inline]
    fn onto_wire(&mut self, now: Instant, link: usize, packet: P) {
        if self.wires.links[link].enqueue(now, packet) {
            self.arm_link(link);
        }
    }

    /// Whether the link is to be asked for packets with [`Self::off_the_wire`] now.
    #[inline]
    pub(super) fn link_wakes(&mut self, now: Instant, link: usize) -> bool {
        is_current(&mut self.wires.wakeups[link], now)
    }

    /// Takes packets off the end of a link until one has reached the fixed host, or none is left.
    #[inline]
    pub(super) fn off_the_wire(&mut self, now: Instant, link: usize) -> Option<P> {
        while let Some(packet) = self.wires.links[link].poll_delivery(now) {
            let is_down = packet.direction() == Direction::Down;
            match (link < self.wires.common, is_down) {
                (true, true) => self.through_box(now, packet),
                (true, false) => match self.wires.own(packet.scenario_flow()) {
                    Some(own) => self.onto_wire(now, own, packet),
                    None => return Some(packet),
                },
                (false, true) => {
                    let down = self.wires.up_of(packet.station()) + DOWN;
                    self.onto_wire(now, down, packet);
                }
                (false, false) => return Some(packet),
            }
        }
        self.arm_link(link);
        None
    }

    #[inline]
    fn arm_link(&mut self, link: usize) {
        let at = self.wires.links[link].poll_timeout();
        self.deadlines.arm(&mut self.wires.wakeups[link], at, Deadline::Link(link as u32));
    }
}

/// A link in one direction: serves its queue at `rate` and delivers `delay` after the last bit.
///
/// Inputs are [`enqueue`](Self::enqueue) and [`poll_delivery`](Self::poll_delivery), the latter at
/// [`poll_timeout`](Self::poll_timeout) until it is `None`.
struct Link<P> {
    /// Packets that wait for the wire.
    queue: Queue<P, DropTail<P>>,
    rate: Bitrate,
    delay: Duration,
    /// When the last bit of the packet in transmission leaves.
    busy_until: Instant,
    /// Packets beyond the queue with their arrival times.
    in_flight: VecDeque<(Instant, P)>,
}

impl<P: Packet + Send + 'static> Link<P> {
    /// A link with room for `limit` waiting packets.
    fn new(limit: usize, rate: Bitrate, delay: Duration) -> Self {
        Link {
            queue: Queue::of(DropTail::new(limit)),
            rate,
            delay,
            busy_until: Instant::ZERO,
            in_flight: VecDeque::with_capacity(64),
        }
    }

    /// A packet arrives at the sending end. Whether [`Self::poll_timeout`] may now be earlier.
    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: P) -> bool {
        let (waited, flying) = (self.queue.len(), self.in_flight.len());
        if self.busy_until > now {
            self.queue.enqueue(now, packet);
        } else if self.queue.is_empty() {
            self.queue.pass(now, &mut packet);
            self.transmit(now, packet);
        } else {
            self.queue.enqueue(now, packet);
            self.serve(now);
        }
        waited == 0 && !self.queue.is_empty() || flying == 0
    }

    /// When to call [`Self::poll_delivery`]: a packet arrives, or the next one may be sent.
    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        let arrival = self.in_flight.front().map(|(at, _)| *at);
        let departure = (!self.queue.is_empty()).then_some(self.busy_until);
        match (arrival, departure) {
            (Some(a), Some(d)) => Some(a.min(d)),
            (a, d) => a.or(d),
        }
    }

    /// A packet that has arrived at the far end by `now`.
    #[inline]
    fn poll_delivery(&mut self, now: Instant) -> Option<P> {
        if self.busy_until <= now {
            self.serve(now);
        }
        self.in_flight.pop_front_if(|(at, _)| *at <= now).map(|(_, packet)| packet)
    }

    #[inline]
    fn serve(&mut self, now: Instant) {
        if let Some(packet) = self.queue.dequeue(now) {
            self.transmit(now, packet);
        }
    }

    #[inline]
    fn transmit(&mut self, now: Instant, packet: P) {
        self.busy_until = now + packet.ip_len().time_at(self.rate);
        self.in_flight.push_back((self.busy_until + self.delay, packet));
    }
}
