//! What waits in a class: one queue, or small packets first and connections apart.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::packet::Packet;
use crate::units::Bytes;

/// Queues for connections, as in the live box.
const BUCKETS: usize = 8;
/// Bytes of small packets that may go ahead after a pause.
const MOST_AHEAD: i64 = 3000;

/// Packets of a class.
#[derive(Debug)]
pub(super) enum Waiting<P> {
    /// First in, first out.
    One(Lane<P>),
    /// Flows apart.
    Apart(Box<Flows<P>>),
}

/// A queue that knows its bytes.
#[derive(Debug)]
pub(super) struct Lane<P> {
    packets: VecDeque<P>,
    bytes: Bytes,
}

/// TCP without data goes first, up to a quarter of the bytes; beyond that, and all else, is served by deficit round robin over
/// buckets of connections. The limit is of all together: what is full loses the end of its longest queue.
#[derive(Debug)]
pub(super) struct Flows<P> {
    small: Lane<P>,
    buckets: [Lane<P>; BUCKETS],
    deficits: [i64; BUCKETS],
    /// Packets of all lanes, and their bytes.
    held: (usize, Bytes),
    /// Buckets with packets, the one in turn first.
    ring: VecDeque<usize>,
    /// Bytes that small packets may still send ahead.
    ahead: i64,
    quantum: i64,
}

impl<P: Packet> Waiting<P> {
    pub(super) fn new(is_apart: bool, quantum: i64) -> Self {
        if !is_apart {
            return Waiting::One(Lane::new());
        }
        Waiting::Apart(Box::new(Flows {
            small: Lane::new(),
            buckets: std::array::from_fn(|_| Lane::new()),
            deficits: [0; BUCKETS],
            held: (0, Bytes(0)),
            ring: VecDeque::new(),
            ahead: MOST_AHEAD,
            quantum,
        }))
    }

    /// Packets that wait, and their bytes.
    pub(super) fn held(&self) -> (usize, Bytes) {
        match self {
            Waiting::One(lane) => (lane.packets.len(), lane.bytes),
            Waiting::Apart(flows) => flows.held,
        }
    }

    /// Queues for connections that have packets; one queue for all counts for nothing.
    pub(super) fn busy(&self) -> usize {
        if let Waiting::Apart(flows) = self { flows.ring.len() } else { 0 }
    }

    /// Takes the last packet of the longest queue out, so that `packet`, which comes next, has room; `None` if its own queue is
    /// the longest then.
    pub(super) fn make_room(&mut self, packet: &P) -> Option<P> {
        match self {
            Waiting::One(_) => None,
            Waiting::Apart(flows) => flows.make_room(packet).inspect(|last| flows.count_out(last)),
        }
    }

    pub(super) fn push(&mut self, packet: P) {
        match self {
            Waiting::One(lane) => lane.push(packet),
            Waiting::Apart(flows) => flows.push(packet),
        }
    }

    pub(super) fn pop(&mut self) -> Option<P> {
        match self {
            Waiting::One(lane) => lane.pop(),
            Waiting::Apart(flows) => flows.pop().inspect(|packet| flows.count_out(packet)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Waiting::One(lane) => lane.is_empty(),
            Waiting::Apart(flows) => flows.small.is_empty() && flows.ring.is_empty(),
        }
    }
}

impl<P: Packet> Flows<P> {
    fn count_out(&mut self, packet: &P) {
        self.held.0 -= 1;
        self.held.1 -= packet.ip_len();
    }

    fn push(&mut self, packet: P) {
        self.held.0 += 1;
        self.held.1 += packet.ip_len();
        if is_small(&packet) {
            self.small.push(packet);
            return;
        }
        let bucket = bucket(&packet);
        if self.buckets[bucket].is_empty() {
            self.deficits[bucket] += self.quantum;
            self.ring.push_back(bucket);
        }
        self.buckets[bucket].push(packet);
    }

    fn make_room(&mut self, packet: &P) -> Option<P> {
        let own = if is_small(packet) { &self.small } else { &self.buckets[bucket(packet)] };
        let own = own.bytes + packet.ip_len();
        let longest = (0..BUCKETS).max_by_key(|bucket| (self.buckets[*bucket].bytes, Reverse(*bucket)))?;
        if own >= self.small.bytes.max(self.buckets[longest].bytes) {
            return None;
        }
        if self.small.bytes > self.buckets[longest].bytes {
            return self.small.pop_last();
        }
        let last = self.buckets[longest].pop_last();
        if self.buckets[longest].is_empty() {
            self.ring.retain(|bucket| *bucket != longest);
            self.deficits[longest] = self.deficits[longest].min(0);
        }
        last
    }

    fn pop(&mut self) -> Option<P> {
        if self.ring.is_empty() || self.ahead > 0 && !self.small.is_empty() {
            let packet = self.small.pop()?;
            self.ahead = (self.ahead - packet.ip_len().0 as i64).max(-MOST_AHEAD);
            return Some(packet);
        }
        loop {
            let turn = self.ring[0];
            if self.deficits[turn] > 0 {
                let packet = self.buckets[turn].pop()?;
                let len = packet.ip_len().0 as i64;
                self.deficits[turn] -= len;
                self.ahead = (self.ahead + len / 3).min(MOST_AHEAD);
                if self.buckets[turn].is_empty() {
                    self.deficits[turn] = self.deficits[turn].min(0);
                    self.ring.pop_front();
                }
                return Some(packet);
            }
            self.deficits[turn] += self.quantum;
            self.ring.rotate_left(1);
        }
    }
}

impl<P: Packet> Lane<P> {
    fn new() -> Self {
        Lane { packets: VecDeque::new(), bytes: Bytes(0) }
    }

    fn push(&mut self, packet: P) {
        self.bytes += packet.ip_len();
        self.packets.push_back(packet);
    }

    fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.ip_len();
        Some(packet)
    }

    fn pop_last(&mut self) -> Option<P> {
        let packet = self.packets.pop_back()?;
        self.bytes -= packet.ip_len();
        Some(packet)
    }

    fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

fn is_small<P: Packet>(packet: &P) -> bool {
    packet.tcp().is_some_and(|tcp| tcp.payload == 0)
}

/// Both directions of a connection have buckets of their own, as in the live box.
fn bucket<P: Packet>(packet: &P) -> usize {
    let own = packet.flow().0.wrapping_mul(2).wrapping_add(packet.direction() as u32);
    (own.wrapping_mul(0x9e37_79b1) >> 29) as usize
}
