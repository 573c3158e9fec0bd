//! Where the bottleneck is, by what waits in the box and what passes it: no probe is needed.
//!
//! While C is below what the cell carries, stations that ask for more have packets waiting in the box, and C passes. While
//! C is above it, less than C passes and next to nothing waits: the queue stands in the cell, or the stations ask for less.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::StationView;
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
/// Stations that wait for their caps have most of what passes from this share on.
const CAPPED: f64 = 0.9;
/// Below this share of C not all of C is used.
const USED: f64 = 0.97;
/// What is counted over C, where senders lose little.
const BEYOND: f64 = 1.03;
/// A station with less than this share of an equal part has little traffic.
const PART: f64 = 0.25;
/// Those that wait get more than those that do not by this factor.
const MORE: f64 = 1.1;
/// Two seconds whose rates differ by this share are those of traffic that comes and goes.
const UNSTEADY: f64 = 0.3;

/// Looks at the box of the last two seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Occupancy {
    looks: VecDeque<Observation>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Observation {
    at: Instant,
    /// A queue stands in the box.
    waits: bool,
    /// Most of what passed since the look before was of stations that wait for their caps.
    #[serde(default)]
    is_capped: bool,
    /// IP bytes that have passed until now, or have come up.
    bytes: u64,
    /// C in bit/s.
    c: f64,
    /// The same of each station: bytes until now, and whether packets of it wait.
    stations: Vec<(u64, bool)>,
    /// Stations that wait for their caps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    at_cap: Vec<usize>,
}

/// A span of looks in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// Share of the looks that found a queue in the box.
    waits: f64,
    /// Share of the looks that found most stations at their caps.
    capped: f64,
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

    /// Next to nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waits <= SELDOM
    }

    /// Next to nothing waits, and less than C passes.
    pub(super) fn is_open(&self) -> bool {
        self.is_empty() && self.rate < USED * self.c
    }

    /// The caps of the stations limit what passes: it may well be less than C and than the cell carries.
    pub(super) fn is_capped(&self) -> bool {
        self.capped >= MOSTLY
    }

    /// The queue in the box comes and goes, and less than C passes. Where no probe is answered all of C may pass, packets
    /// that the AP drops included.
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
    pub(super) fn observe(&mut self, now: Instant, backlog: usize, bytes: Bytes, c: f64, views: &[StationView]) {
        let waits = Self::is_queue(backlog, c);
        let station = |view: &StationView| (view.totals.down.0 + view.totals.up.0, view.backlog >= PACKETS);
        let stations: Vec<_> = views.iter().map(station).collect();
        let before = self.looks.back().map_or(&[][..], |look| &look.stations);
        let passed = stations.iter().zip(before).map(|(now, before)| now.0.saturating_sub(before.0));
        let [mut all, mut capped] = [0, 0];
        for (bytes, view) in passed.zip(views) {
            all += bytes;
            capped += if view.is_at_cap { bytes } else { 0 };
        }
        let is_capped = all > 0 && capped as f64 >= CAPPED * all as f64;
        let at_cap = (0..views.len()).filter(|station| views[*station].is_at_cap).collect();
        self.looks.push_back(Observation { at: now, waits, is_capped, bytes: bytes.0, c, stations, at_cap });
        while self.looks.len() > 1 && self.looks[1].at + KEPT <= now {
            self.looks.pop_front();
        }
    }

    /// The looks of the last `length`; `None`: they do not reach so far back.
    pub(super) fn span(&self, length: Duration) -> Option<Span> {
        Some(self.between(self.ago(length)?, self.looks.len() - 1))
    }

    /// The newest look that is so long before the last one.
    fn ago(&self, time: Duration) -> Option<usize> {
        let now = self.looks.back()?.at;
        self.looks.iter().rposition(|look| look.at + time <= now)
    }

    /// The looks from `from` ago up to `to` ago, and whether about as much passed in their first half as in the second one; `None`: they do not
    /// reach so far back.
    pub(super) fn earlier(&self, from: Duration, to: Duration) -> Option<(Span, bool)> {
        let middle = self.ago(Duration::from_nanos(u64::midpoint(from.as_nanos(), to.as_nanos())))?;
        let (first, last) = (self.ago(from)?, self.ago(to)?);
        let is_steady = is_steady(self.between(first, middle).rate, self.between(middle, last).rate);
        Some((self.between(first, last), is_steady))
    }

    /// What passed lately in bit/s, if about as much passed in the first second as in the second one.
    pub(super) fn steady_rate(&self) -> Option<f64> {
        let last = self.looks.len().checked_sub(1)?;
        let middle = self.ago(HALF)?;
        let (before, after) = (self.between(0, middle), self.between(middle, last));
        let is_long = self.looks[last].at.saturating_since(self.looks[0].at) >= LONG_ENOUGH;
        (is_long && is_steady(before.rate, after.rate)).then_some(f64::midpoint(before.rate, after.rate))
    }

    /// What comes up and the box drops, in bit/s, as far as it goes on for both of the last two seconds: what passes beyond C. Senders that
    /// back off do not exceed C for so long by more than [`BEYOND`].
    pub(super) fn dropped(&self) -> f64 {
        let Some(middle) = self.ago(HALF) else { return 0.0 };
        let beyond = |span: Span| (span.rate - BEYOND * span.c).max(0.0);
        beyond(self.between(0, middle)).min(beyond(self.between(middle, self.looks.len() - 1)))
    }

    /// Stations that have traffic and nothing waiting in the last `length`, while others wait and get more. Either they ask
    /// for no more, or a queue elsewhere holds them back, whose losses do not reach those that wait: uploads, say, when the
    /// AP drops. Empty also where the looks do not reach so far back.
    pub(super) fn held_back(&self, length: Duration) -> Vec<usize> {
        let Some(parts) = self.parts(length) else { return Vec::new() };
        let all: f64 = parts.iter().map(|(bytes, _)| bytes).sum();
        let busy = parts.iter().filter(|(bytes, _)| *bytes > 0.0).count().max(1) as f64;
        let is_busy = |bytes: f64| bytes > PART * all / busy;
        let waiting: Vec<f64> = parts
            .iter()
            .filter(|(bytes, waits)| is_busy(*bytes) && *waits >= MOSTLY)
            .map(|(bytes, _)| *bytes)
            .collect();
        let most = waiting.iter().sum::<f64>() / waiting.len().max(1) as f64;
        let is_held = |(bytes, waits): &(f64, f64)| is_busy(*bytes) && *waits <= SELDOM && *bytes * MORE < most;
        (0..parts.len()).filter(|station| is_held(&parts[*station])).collect()
    }

    /// Whether `station` waits for its cap: it gets less than others, but not because of a queue elsewhere.
    pub(super) fn is_at_cap(&self, station: usize) -> bool {
        self.looks.back().is_some_and(|look| look.at_cap.contains(&station))
    }

    /// Whether most of `stations` had packets waiting in most of the last `length`.
    pub(super) fn wait_now(&self, stations: &[usize], length: Duration) -> bool {
        let Some(parts) = self.parts(length) else { return false };
        let waiting = stations.iter().filter(|station| parts.get(**station).is_some_and(|(_, waits)| *waits >= MOSTLY));
        waiting.count() * 2 > stations.len()
    }

    /// Bytes of each station in the last `length`, and the share of the looks in which packets of it wait.
    fn parts(&self, length: Duration) -> Option<Vec<(f64, f64)>> {
        let (last, first) = (self.looks.back()?, self.ago(length)?);
        let number = (self.looks.len() - 1 - first).max(1) as f64;
        let part = |(station, (bytes, _)): (usize, &(u64, bool))| {
            let before = self.looks[first].stations.get(station).map_or(*bytes, |(bytes, _)| *bytes);
            let waits = |look: &&Observation| look.stations.get(station).is_some_and(|(_, waits)| *waits);
            let waiting = self.looks.range(first + 1..).filter(waits).count() as f64;
            (bytes.saturating_sub(before) as f64, waiting / number)
        };
        Some(last.stations.iter().enumerate().map(part).collect())
    }

    /// Forgets the looks: what is looked for begins now.
    pub(super) fn restart(&mut self) {
        self.looks.drain(..self.looks.len().saturating_sub(1));
    }

    /// The looks after number `first`, up to number `last`.
    fn between(&self, first: usize, last: usize) -> Span {
        let (from, to) = (&self.looks[first], &self.looks[last]);
        let looks = || self.looks.range(first + 1..=last);
        let number = (last - first).max(1) as f64;
        let seconds = to.at.saturating_since(from.at).as_secs_f64().max(1e-3);
        Span {
            waits: looks().filter(|look| look.waits).count() as f64 / number,
            capped: looks().filter(|look| look.is_capped).count() as f64 / number,
            rate: Bytes(to.bytes.saturating_sub(from.bytes)).as_bits() as f64 / seconds,
            c: looks().map(|look| look.c).sum::<f64>() / number,
        }
    }
}

/// Whether two rates are about the same.
fn is_steady(before: f64, after: f64) -> bool {
    (after - before).abs() < UNSTEADY * before.max(after)
}
