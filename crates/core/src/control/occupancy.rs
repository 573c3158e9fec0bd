//! Where the bottleneck is, by what waits in the box and what passes it: no probe is needed.
//!
//! While C is below what the cell carries, stations that ask for more have packets waiting in the box, and C passes. While
//! C is above it, less than C passes and next to nothing waits: the queue stands in the cell, or the stations ask for less.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Duration, Instant};

/// For how long looks are kept.
const KEPT: Duration = Duration::from_secs(2);
/// The first and the second half of it.
const HALF: Duration = Duration::from_millis(1000);
/// Looks that reach back so far are enough: they come each tenth of a second.
const LONG_ENOUGH: Duration = Duration::from_millis(1750);
/// A queue of the box counts from this time at C on, and from this number of packets on: a burst of a sender that the
/// box passes on at once is shorter.
const QUEUE: Duration = Duration::from_millis(3);
const PACKETS: usize = 2;
/// The longest packet.
const PACKET: Bytes = Bytes(1500);
/// A queue in at most this share of the looks is none.
const SELDOM: f64 = 0.25;
/// A queue in at least this share of the looks stands.
const MOSTLY: f64 = 0.5;
/// A queue in at most this share of the looks comes and goes.
const OFTEN: f64 = 0.75;
/// Below this share of C not all of C is used.
const USED: f64 = 0.97;
/// Two seconds whose rates differ by this share are those of traffic that comes and goes.
const UNSTEADY: f64 = 0.3;

/// Looks at the box of the last two seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Occupancy {
    looks: VecDeque<Look>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Look {
    at: Instant,
    /// A queue stands in the box.
    waits: bool,
    /// IP bytes that have passed until now.
    bytes: u64,
    /// C in bit/s.
    c: f64,
}

/// A span of looks in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// Share of the looks that found a queue in the box.
    waits: f64,
    /// What passed, in bit/s.
    pub(super) rate: f64,
    /// Mean of C, in bit/s.
    c: f64,
}

impl Span {
    /// Packets wait in the box: it divides what passes.
    pub(super) fn binds(&self) -> bool {
        self.waits >= MOSTLY
    }

    /// Next to nothing waits, and less than C passes.
    pub(super) fn is_open(&self) -> bool {
        self.waits <= SELDOM && self.rate < USED * self.c
    }

    /// The queue in the box comes and goes, and less than C passes. Where nobody answers all of C may pass: packets that
    /// the AP drops are among it.
    pub(super) fn is_leaky(&self, is_blind: bool) -> bool {
        self.waits <= OFTEN && (is_blind || self.rate < USED * self.c)
    }

    /// What passed as a share of C.
    pub(super) fn used(&self) -> f64 {
        self.rate / self.c.max(1.0)
    }
}

impl Occupancy {
    /// Whether `backlog` packets are a queue at a C of `c` bit/s.
    pub(super) fn is_queue(backlog: usize, c: f64) -> bool {
        let queue = (QUEUE.as_secs_f64() * c / PACKET.as_bits() as f64) as usize;
        backlog >= queue.max(PACKETS)
    }

    /// A look: `backlog` packets wait, `bytes` have passed, C is `c` bit/s.
    pub(super) fn observe(&mut self, now: Instant, backlog: usize, bytes: Bytes, c: f64) {
        let waits = Self::is_queue(backlog, c);
        self.looks.push_back(Look { at: now, waits, bytes: bytes.0, c });
        while self.looks.len() > 1 && self.looks[1].at + KEPT <= now {
            self.looks.pop_front();
        }
    }

    /// The looks of the last `length`; `None`: they do not reach so far back.
    pub(super) fn span(&self, length: Duration) -> Option<Span> {
        let last = self.looks.back()?;
        let first = self.looks.iter().rposition(|look| look.at + length <= last.at)?;
        Some(self.between(first, self.looks.len() - 1))
    }

    /// What passed lately in bit/s, if about as much passed in the first second as in the second one.
    pub(super) fn steady_rate(&self) -> Option<f64> {
        let last = self.looks.len().checked_sub(1)?;
        let middle = self.looks.iter().rposition(|look| look.at + HALF <= self.looks[last].at)?;
        let (before, after) = (self.between(0, middle), self.between(middle, last));
        let is_long = self.looks[last].at.saturating_since(self.looks[0].at) >= LONG_ENOUGH;
        let is_steady = (after.rate - before.rate).abs() < UNSTEADY * before.rate.max(after.rate);
        (is_long && is_steady).then_some(f64::midpoint(before.rate, after.rate))
    }

    /// Forgets the looks: what is looked for begins now.
    pub(super) fn restart(&mut self) {
        self.looks.drain(..self.looks.len().saturating_sub(1));
    }

    /// The looks after number `first`, up to number `last`.
    fn between(&self, first: usize, last: usize) -> Span {
        let (from, to) = (self.looks[first], self.looks[last]);
        let looks = || self.looks.range(first + 1..=last);
        let number = (last - first).max(1) as f64;
        let seconds = to.at.saturating_since(from.at).as_secs_f64().max(1e-3);
        Span {
            waits: looks().filter(|look| look.waits).count() as f64 / number,
            rate: Bytes(to.bytes.saturating_sub(from.bytes)).as_bits() as f64 / seconds,
            c: looks().map(|look| look.c).sum::<f64>() / number,
        }
    }
}
