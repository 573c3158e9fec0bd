//! Which stations are awake, how much traffic passes, and whether any packet comes from the stations at all.

mod turn;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use self::turn::Turn;
use super::StationView;
use crate::shaper::Totals;
use crate::units::{Bytes, Duration, Instant};

/// For how long a station counts as active after its last packet.
const ACTIVE: Duration = Duration::from_secs(1);
/// UDP past the box of more than this share of an equal part of C may wait at its sender; less, such as calls, does not.
const LOAD: f64 = 0.25;
/// Without a packet from any station for so long, the cell is silent.
const SILENCE: Duration = Duration::from_millis(250);

/// For so long after a silence the AP's queue grows at a C that it carried before, supposedly since everybody retransmits.
/// Chosen on five replicas; docs/remedies-box.md has the figures of others.
const RECOVERY: Duration = Duration::from_secs(3);

/// Senders that wait for answers send next to nothing, as a share of C, when a silence has lasted for so long.
const LONG_SILENCE: Duration = Duration::from_secs(3);
const GOES_ON: f64 = 0.05;

/// Bytes that go down without any answer in a silence, at least: a packet or two may need none.
const UNANSWERED: u64 = 3000;

/// What comes up in this time is held against the second before.
const LATELY: Duration = Duration::from_millis(100);
/// A packet within this time: no silence.
const HEARD: Duration = Duration::from_millis(50);
/// Below this share of it something has slowed down: what comes up varies less when the box paces what goes down.
const RARE: f64 = 0.5;
/// Above this share of it nothing has slowed down; where more than that share is one-sided, that cannot be told.
const AS_BEFORE: f64 = 0.8;
const MUCH: f64 = 0.5;

/// Acknowledgements are a larger share than this of what they acknowledge, however thinned.
const NOTHING_BACK: f64 = 0.0015;

/// Share of what a typical station carries that vouches for a delay. Addresses cost nothing, and traffic does.
pub(super) const VOUCHES: f64 = 0.25;

/// Least share of what passes that makes it a load beside which C is looked for in another way.
pub(super) const ONE_SIDED: f64 = 0.04;

/// What the counters of the box say between two looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Signal {
    stations: Vec<Seen>,
    /// Bytes of all stations that C is for: down, and up without those that bypass it.
    pub(super) down: Bytes,
    pub(super) up: Bytes,
    /// Packets that wait for C.
    pub(super) backlog: usize,
    /// C in bit/s.
    #[serde(default)]
    c: f64,
    /// UDP that was counted, and of that what passed in about the last second.
    #[serde(default)]
    datagrams: Bytes,
    #[serde(default)]
    datagrams_lately: f64,
    /// Total bytes, and those that came up, at the looks of the last second.
    history: VecDeque<(Instant, u64, u64)>,
    /// When bytes last came up from a station, and when the counters were last read.
    heard_at: Instant,
    looked_at: Instant,
    /// Bytes sent down until bytes last came up, and until the counters were last read.
    down_heard: u64,
    down_looked: u64,
    #[serde(default)]
    answers: Answers,
    /// When the last silence ended: probes that were under way before are no evidence about C.
    resumed_at: Instant,
    /// Since when the counters miss nothing: what was asked before is no evidence about C either.
    #[serde(default)]
    counted_from: Instant,
    #[serde(default)]
    turn: Turn,
}

/// IP bytes that came up from stations, and that went down, in about the last second before a sign of life: where next to nothing answers,
/// nothing is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Answers {
    up: f64,
    down: f64,
    /// Bytes up and down since the start, until then.
    until: (u64, u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Seen {
    totals: Totals,
    #[serde(default)]
    is_absent: bool,
    active_at: Option<Instant>,
    udp_at: Option<Instant>,
    /// UDP past the box until about a second ago, and when that was.
    #[serde(default)]
    udp_before: (Bytes, Instant),
    /// Bytes of both directions in about the last second: what passed earlier counts less and less.
    #[serde(default)]
    lately: f64,
    /// Those of them that came up.
    #[serde(default)]
    lately_up: f64,
    /// Those of them that passed the box by.
    #[serde(default)]
    lately_bypassing: f64,
    /// How much of a probe it is owed.
    #[serde(default)]
    owed: f64,
}

/// Mean of the stations' `bytes`, each weighted with its bytes: stations with next to no traffic hardly count.
pub(super) fn typical(bytes: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = bytes.fold((0.0, 0.0), |sums, own| (sums.0 + own, sums.1 + own * own));
    if sum > 0.0 { squares / sum } else { 0.0 }
}

impl Seen {
    fn is_one_sided(&self) -> bool {
        self.lately_up.min(self.lately - self.lately_up) < NOTHING_BACK * self.lately
    }
}

fn recent(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| now < at + ACTIVE)
}

impl Signal {
    pub(super) fn new(stations: usize) -> Self {
        Signal { stations: vec![Seen::default(); stations], ..Signal::default() }
    }

    /// The counters missed what passed until `now`.
    pub(super) fn restart(&mut self, now: Instant) {
        self.history.clear();
        (self.heard_at, self.down_heard) = (now, self.down_looked);
        self.counted_from = now;
    }

    pub(super) fn grow(&mut self, stations: usize) {
        let stations = stations.max(self.stations.len());
        self.stations.resize(stations, Seen::default());
    }

    /// A look at the counters, at a C of `c` bit/s.
    pub(super) fn observe(&mut self, now: Instant, views: &[StationView], c: f64) {
        let mut is_heard = false;
        let fades = (-now.saturating_since(self.looked_at).as_secs_f64() / ACTIVE.as_secs_f64()).exp();
        let load = LOAD * c / 8.0 * ACTIVE.as_secs_f64() / self.active(now).max(1) as f64;
        (self.down, self.up, self.backlog, self.c) = (Bytes(0), Bytes(0), 0, c);
        for (seen, view) in self.stations.iter_mut().zip(views) {
            is_heard |= view.totals.up > seen.totals.up;
            let bypassing = view.totals.up_bypassing;
            if bypassing > seen.totals.up_bypassing && bypassing.0.saturating_sub(seen.udp_before.0.0) as f64 > load {
                seen.udp_at = Some(now);
            }
            if now >= seen.udp_before.1 + ACTIVE {
                seen.udp_before = (bypassing, now);
            }
            if view.totals != seen.totals || view.backlog > 0 {
                seen.active_at = Some(now);
            }
            let bytes = |totals: &Totals| (totals.down + totals.up).0;
            seen.lately = seen.lately * fades + bytes(&view.totals).saturating_sub(bytes(&seen.totals)) as f64;
            seen.lately_up = seen.lately_up * fades + view.totals.up.0.saturating_sub(seen.totals.up.0) as f64;
            let passed_by = bypassing.0.saturating_sub(seen.totals.up_bypassing.0) as f64;
            seen.lately_bypassing = seen.lately_bypassing * fades + passed_by;
            (seen.totals, seen.is_absent) = (view.totals, view.is_absent);
            self.down += view.totals.down;
            self.up += Bytes(view.totals.up.0.saturating_sub(view.totals.up_bypassing.0));
            self.backlog += view.backlog;
        }
        let datagrams = Bytes(views.iter().map(|view| view.datagrams.0).sum());
        let passed = datagrams.0.saturating_sub(self.datagrams.0) as f64;
        (self.datagrams, self.datagrams_lately) = (datagrams, self.datagrams_lately * fades + passed);
        if self.history.is_empty() {
            // Nobody has listened before.
            self.heard_at = now;
        }
        if is_heard {
            self.heard(now);
        }
        (self.looked_at, self.down_looked) = (now, self.down.0);
        self.history.push_back((now, self.down.0 + self.up.0, self.up.0));
        while self.history.len() > 1 && self.history[1].0 + ACTIVE <= now {
            self.history.pop_front();
        }
    }

    /// What came up since the last sign of life, and what went down.
    fn count_answers(&mut self, now: Instant) {
        let fades = (-now.saturating_since(self.heard_at).as_secs_f64() / ACTIVE.as_secs_f64()).exp();
        let (up, down) = (self.stations.iter().map(|seen| seen.totals.up.0).sum(), self.down.0);
        let (up_before, down_before) = std::mem::replace(&mut self.answers.until, (up, down));
        self.answers.up = self.answers.up * fades + up.saturating_sub(up_before) as f64;
        self.answers.down = self.answers.down * fades + down.saturating_sub(down_before) as f64;
    }

    /// What goes down may be a load that nobody answers: next to nothing came up before, or nothing ever, and yet it goes on. Where
    /// something did come up, a load that goes on is no sign of that: the radio may be dead, and not every sender minds.
    fn is_unanswered(&self, now: Instant) -> bool {
        let (bytes, span) = self.throughput();
        let goes_on = bytes.as_bits() as f64 > GOES_ON * self.c * span.as_secs_f64() && span > Duration::ZERO;
        let is_long = now.saturating_since(self.heard_at) >= LONG_SILENCE;
        let Answers { up, down, .. } = self.answers;
        up < NOTHING_BACK * down || (up <= 0.0 && is_long && goes_on)
    }

    /// A station gave a sign of life. A pause between two looks is no silence: a busy machine wakes the box late. Nor is one in
    /// which next to nothing was sent that anybody could have answered: the stations were idle.
    pub(super) fn heard(&mut self, now: Instant) {
        let unanswered = self.down_looked.saturating_sub(self.down_heard);
        if self.is_silent(self.looked_at) && unanswered > UNANSWERED {
            self.resumed_at = now;
        }
        self.count_answers(now);
        (self.heard_at, self.down_heard) = (now, self.down.0);
    }

    /// No station has sent for [`SILENCE`], though what goes down should be answered.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        now.saturating_since(self.heard_at) >= SILENCE && !self.is_unanswered(now)
    }

    /// A silence ended a moment ago.
    pub(super) fn is_recovering(&self, now: Instant) -> bool {
        self.resumed_at > Instant::ZERO && now.saturating_since(self.resumed_at) < RECOVERY
    }

    /// Probes that left earlier are no evidence about C: a silence kept them, or the counters missed what passed.
    pub(super) fn evidence_from(&self) -> Instant {
        self.resumed_at.max(self.counted_from)
    }

    /// Bytes of both directions in about the last second, and how long that is.
    pub(super) fn throughput(&self) -> (Bytes, Duration) {
        match (self.history.front(), self.history.back()) {
            (Some((from, before, _)), Some((to, after, _))) => (Bytes(after - before), to.saturating_since(*from)),
            _ => (Bytes(0), Duration::ZERO),
        }
    }

    /// Share of the bytes of about the last second that came up, 0 to 1.
    pub(super) fn share_up(&self) -> f64 {
        let (Some((_, all, up)), Some((_, all_now, up_now))) = (self.history.front(), self.history.back()) else {
            return 0.0;
        };
        let passed = all_now.saturating_sub(*all);
        if passed == 0 { 0.0 } else { (up_now.saturating_sub(*up) as f64 / passed as f64).min(1.0) }
    }

    /// Stations still send, but much less than in the second before.
    pub(super) fn comes_up_rarely(&self, now: Instant) -> bool {
        now.saturating_since(self.heard_at) < HEARD && self.comes_up().is_some_and(|share| share < RARE)
    }

    /// Stations send about as much as in the second before: the cell does not carry much less, unless what it carries is not
    /// acknowledged.
    pub(super) fn comes_up_as_before(&self, c: f64) -> bool {
        let is_loaded = self.loaded_before().is_some_and(|rate| rate > AS_BEFORE * c);
        is_loaded && self.one_sided() < MUCH && self.comes_up().is_some_and(|share| share > AS_BEFORE)
    }

    /// What passed in the second before the last tenth of one, in bit/s.
    fn loaded_before(&self) -> Option<f64> {
        let [first, middle, _] = self.last_second()?;
        let seconds = middle.0.saturating_since(first.0).as_secs_f64().max(1e-3);
        Some(Bytes(middle.1 - first.1).as_bits() as f64 / seconds)
    }

    /// What came up lately as a share of what came up in the second before, by time.
    fn comes_up(&self) -> Option<f64> {
        let rate = |from: (Instant, u64, u64), to: (Instant, u64, u64)| {
            (to.2 - from.2) as f64 / to.0.saturating_since(from.0).as_secs_f64().max(1e-3)
        };
        let [first, middle, last] = self.last_second()?;
        Some(rate(middle, last) / rate(first, middle).max(1.0))
    }

    /// The first look of about a second, one [`LATELY`] before the last, and the last.
    fn last_second(&self) -> Option<[(Instant, u64, u64); 3]> {
        let last = *self.history.back()?;
        let middle = self.history.iter().rfind(|(at, ..)| *at + LATELY <= last.0)?;
        Some([self.history[0], *middle, last])
    }

    /// There is nobody to ask.
    pub(super) fn is_absent(&self, station: usize) -> bool {
        self.stations[station].is_absent
    }

    /// The station has traffic, so it is awake.
    pub(super) fn is_active(&self, station: usize, now: Instant) -> bool {
        recent(self.stations[station].active_at, now)
    }

    /// Share of what passes whose senders may not back off: UDP where that is counted, or what next to nothing comes back for, so that
    /// its sender does not know of losses. 0 where neither UDP nor directions are counted.
    pub(super) fn one_sided(&self) -> f64 {
        self.one_sided_by(|seen| seen.lately)
    }

    /// The same of what the box shapes. UDP that passes the box by goes up: no queue of the AP is full of it, so delay tells what it leaves.
    pub(super) fn one_sided_shaped(&self) -> f64 {
        self.one_sided_by(|seen| seen.lately - seen.lately_bypassing)
    }

    /// UDP is counted without what passes the box by.
    fn one_sided_by(&self, bytes: impl Fn(&Seen) -> f64) -> f64 {
        let sum = |of: &dyn Fn(&Seen) -> f64| self.stations.iter().map(of).sum::<f64>();
        let (all, up) = (sum(&|seen| seen.lately), sum(&|seen| seen.lately_up));
        let one_sided = sum(&|seen| if seen.is_one_sided() { bytes(seen) } else { 0.0 });
        let known = if up > 0.0 { one_sided } else { 0.0 };
        known.max(self.datagrams_lately) / all.max(1.0)
    }

    /// What passes the box by, and what else may not back off, in bit/s, of about the last second.
    pub(super) fn beside(&self) -> [f64; 2] {
        let all: f64 = self.stations.iter().map(|seen| seen.lately).sum();
        [self.bypassing(), self.one_sided_shaped().min(1.0) * all].map(|bytes| 8.0 * bytes / ACTIVE.as_secs_f64())
    }

    /// Bytes that passed the box by in about the last second.
    fn bypassing(&self) -> f64 {
        self.stations.iter().map(|seen| seen.lately_bypassing).sum()
    }

    /// Next to nothing comes back for what the station sends or gets: whoever sends it does not know of losses.
    pub(super) fn is_one_sided(&self, station: usize) -> bool {
        self.stations[station].is_one_sided()
    }

    /// The station sends a load that nobody acknowledges: what it is asked waits behind that.
    pub(super) fn sends_one_sided(&self, station: usize, c: f64) -> bool {
        let seen = &self.stations[station];
        let is_one_sided = seen.lately - seen.lately_up < NOTHING_BACK * seen.lately;
        is_one_sided && seen.lately_up * 8.0 > LOAD * c / self.stations.len() as f64
    }

    /// Bytes of the station in about the last second, both directions.
    pub(super) fn bytes_lately(&self, station: usize) -> f64 {
        self.stations[station].lately
    }

    /// Number of stations with traffic.
    pub(super) fn active(&self, now: Instant) -> usize {
        (0..self.stations.len()).filter(|station| self.is_active(*station, now)).count()
    }

    /// The station sends a load of UDP past the box: its delay is its own doing (detti2011 App. IV).
    pub(super) fn sends_udp(&self, station: usize, now: Instant) -> bool {
        recent(self.stations[station].udp_at, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A video call that passes the box by on its way up, and is shaped on its way down; in bytes a tenth of a second.
    #[test]
    fn uplink_udp_past_the_box_hides_none_that_comes_down() {
        let mut signal = Signal::new(2);
        let mut views = [StationView::default(); 2];
        for look in 0..20 {
            views[0].totals.down += Bytes(10_000);
            views[0].totals.up += Bytes(10_400);
            views[0].totals.up_bypassing += Bytes(10_000);
            views[0].datagrams += Bytes(10_000);
            views[1].totals.down += Bytes(30_000);
            views[1].totals.up += Bytes(1_200);
            signal.observe(Instant::ZERO + Duration::from_millis(100) * look, &views, 10e6);
        }
        let [bypassing, shaped] = signal.beside();
        assert!((bypassing / shaped - 1.0).abs() < 0.01, "{bypassing} {shaped}");
        assert!(signal.one_sided_shaped() > 0.15, "{}", signal.one_sided_shaped());
    }
}
