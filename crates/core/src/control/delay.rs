//! Round-trip times: the baseline of each station, the delay above it, and who is believed.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::queues::Queues;
use super::signal::{VOUCHES, typical};
use crate::units::{Duration, Instant};

/// For how long a station's last delay counts.
const FRESH: Duration = Duration::from_millis(300);
/// A baseline is the least RTT of this time and of the same time before: it ages.
const BASELINE: Duration = Duration::from_secs(15);
/// No station's baseline is above this: a station that is first seen through a full queue has another one.
const LONGEST_BASELINE: Duration = Duration::from_millis(20);
/// So many losses in a row make a station deaf (it may filter echo requests).
const DEAF: u32 = 3;
/// How long a deaf station is left alone.
const DEAF_PAUSE: Duration = Duration::from_secs(5);

/// Each reply is compared with the three before and the three after it: a station that is repeatedly later than twice their median by
/// more than this delays its own replies.
const AROUND: usize = 3;
const LATE: Duration = Duration::from_millis(25);
/// A late reply counts for this, another one takes one away; from so many on a station counts as late, for so many replies.
const LATE_COUNTS: u32 = 2;
const IS_LATE: u32 = 4;
const STAYS_LATE: u32 = 40;
/// A station whose delay did not fall with C is not believed for so long.
const DISTRUST: Duration = Duration::from_secs(300);
/// For so long it is remembered that delay was no queue, and a station without delay contradicts those that have one.
const DOUBTS: Duration = Duration::from_secs(60);
const QUICK_COUNTS: Duration = Duration::from_secs(4);
/// A reply says nothing of those that came so much later.
const AGREES: Duration = Duration::from_secs(2);

/// RTTs by station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Delays {
    stations: Vec<StationDelay>,
    /// Who shares a queue.
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub(super) queues: Queues,
    /// The last replies, oldest first.
    #[serde(default)]
    replies: VecDeque<Reply>,
    /// A descent of C found that delay was no queue: until when that is remembered, and the longest such delay.
    #[serde(default)]
    doubts: Option<(Instant, Duration)>,
    /// Who answered without delay last.
    #[serde(default)]
    quick: Vec<(usize, Instant)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Reply {
    station: usize,
    sent_at: Instant,
    received_at: Instant,
    excess: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct StationDelay {
    /// Least RTT since `since`, and in the period before.
    least: Duration,
    least_before: Duration,
    since: Instant,
    /// Delay above the baseline, and when it was measured.
    latest: Option<(Instant, Duration)>,
    lost_in_row: u32,
    ask_again: Instant,
    /// How sure it is that the station is late by its own doing.
    #[serde(default)]
    late: u32,
    /// What it answers says nothing until then.
    #[serde(default)]
    distrusted_until: Option<Instant>,
}

impl StationDelay {
    fn new() -> Self {
        StationDelay { least: LONGEST_BASELINE, least_before: LONGEST_BASELINE, ..StationDelay::default() }
    }

    fn is_late_again(&mut self) {
        self.late += LATE_COUNTS;
        self.late = if self.late >= IS_LATE { STAYS_LATE } else { self.late };
    }

    fn distrust(&mut self, now: Instant) {
        self.distrusted_until = Some(now + DISTRUST);
        self.latest = None;
    }

    fn is_distrusted(&self, now: Instant) -> bool {
        self.distrusted_until.is_some_and(|until| now < until)
    }
}

impl Delays {
    pub(super) fn new(stations: usize) -> Self {
        Delays { stations: vec![StationDelay::new(); stations], ..Delays::default() }
    }

    pub(super) fn grow(&mut self, stations: usize) {
        let stations = stations.max(self.stations.len());
        self.stations.resize(stations, StationDelay::new());
    }

    /// Number of stations.
    pub(super) fn len(&self) -> usize {
        self.stations.len()
    }

    /// A station answered after `rtt`; how much of it is above the baseline. `None`: that says nothing of the queue that all
    /// share, by what others answered. A queue that all share drains by `drains` seconds a second at most.
    pub(super) fn sample(&mut self, now: Instant, station: usize, rtt: Duration, drains: f64) -> Option<Duration> {
        let s = &mut self.stations[station];
        s.lost_in_row = 0;
        if now.saturating_since(s.since) >= BASELINE {
            (s.least_before, s.least, s.since) = (s.least, LONGEST_BASELINE, now);
        }
        s.least = s.least.min(rtt);
        let excess = rtt.saturating_sub(s.least.min(s.least_before));
        let reply =
            Reply { station, sent_at: Instant::from_nanos(now.as_nanos() - rtt.as_nanos()), received_at: now, excess };
        let is_overtaken = self.is_overtaken(&reply);
        self.contradict(&reply, drains);
        self.replies.push_back(reply);
        self.compare(now);
        self.remember_quick(now, station, excess);
        if self.is_doubtful(now, station, excess) {
            self.stations[station].distrust(now);
        }
        let is_believed = self.is_believed(station, now) || !self.is_anybody_believed(now);
        if is_overtaken || self.is_late(station, now) || !is_believed {
            return None;
        }
        self.stations[station].latest = Some((now, excess));
        Some(excess)
    }

    /// A probe to another station left later and was back earlier: what kept this one was no queue that all share.
    fn is_overtaken(&self, reply: &Reply) -> bool {
        self.replies.iter().any(|other| {
            other.station != reply.station
                && self.queues.are_one(other.station, reply.station)
                && other.sent_at > reply.sent_at
                && other.received_at + LATE < reply.received_at
        })
    }

    /// Earlier replies whose queue cannot have drained to that of `reply` show that their stations were late by their own doing.
    fn contradict(&mut self, reply: &Reply, drains: f64) {
        let queues = &self.queues;
        let is_other = |late: &&Reply| late.station != reply.station && queues.are_one(late.station, reply.station);
        for late in self.replies.iter().filter(is_other).filter(|late| late.sent_at < reply.sent_at) {
            let drained = drains * reply.sent_at.saturating_since(late.sent_at).as_secs_f64();
            if late.excess > reply.excess + LATE + Duration::from_secs_f64(drained) {
                self.stations[late.station].is_late_again();
            }
        }
    }

    /// Holds the reply in the middle of the last ones against those around it.
    fn compare(&mut self, now: Instant) {
        while self.replies.len() > 2 * AROUND + 1
            || self.replies.front().is_some_and(|old| old.received_at + AGREES < now)
        {
            self.replies.pop_front();
        }
        if self.replies.len() <= 2 * AROUND {
            return;
        }
        let own = self.replies[AROUND];
        let others = self.replies.iter().filter(|other| other.station != own.station);
        let others = others.filter(|other| self.queues.are_one(other.station, own.station));
        let mut excess: Vec<Duration> = others.map(|other| other.excess).collect();
        excess.sort_unstable();
        let Some(middle) = excess.get(excess.len().saturating_sub(1) / 2) else { return };
        let station = &mut self.stations[own.station];
        if own.excess > *middle + *middle + LATE {
            station.is_late_again();
        } else {
            station.late = station.late.saturating_sub(1);
        }
    }

    /// Whether the station is late by its own doing, and another one tells of the queue.
    fn is_late(&self, station: usize, now: Instant) -> bool {
        let late = |station: usize| self.stations[station].late >= IS_LATE;
        let says = |other: &Reply| !late(other.station) && self.queues.are_one(other.station, station);
        late(station) && self.replies.iter().any(|other| says(other) && now < other.received_at + AGREES)
    }

    /// A delay of `delay` did not fall with C, so it is no queue: for a while who is that late is not believed while others are not.
    pub(super) fn doubt(&mut self, now: Instant, delay: Duration) {
        self.doubts = Some((now + DOUBTS, delay + delay));
    }

    /// Whether a delay of `excess` is the station's own doing: delay of that kind was no queue, and another station that is believed
    /// found no queue lately.
    fn is_doubtful(&self, now: Instant, station: usize, excess: Duration) -> bool {
        let is_quick = |(other, at): &(usize, Instant)| {
            *other != station && self.queues.are_one(*other, station) && now < *at + QUICK_COUNTS
        };
        self.doubts.is_some_and(|(until, most)| now < until && excess < most && excess > LATE)
            && self.quick.iter().any(is_quick)
    }

    /// Remembers who answered without delay: the last two stations an AP. Who was not believed is again.
    fn remember_quick(&mut self, now: Instant, station: usize, excess: Duration) {
        if excess < LATE {
            self.stations[station].distrusted_until = None;
            self.quick.retain(|(other, _)| *other != station);
            self.quick.push((station, now));
            self.quick.drain(..self.quick.len().saturating_sub(2 * self.queues.count()));
        }
    }

    /// Whether a station that is believed answered lately.
    fn is_anybody_believed(&self, now: Instant) -> bool {
        self.replies.iter().any(|reply| self.is_believed(reply.station, now) && now < reply.received_at + AGREES)
    }

    /// Whether what the station answers counts.
    pub(super) fn is_believed(&self, station: usize, now: Instant) -> bool {
        !self.stations[station].is_distrusted(now)
    }

    /// Stations that answered late although at least two others, asked before them but after `since`, found no more than `target`
    /// are late by their own doing. Whether there are any.
    pub(super) fn distrust_contradicted(&mut self, now: Instant, since: Instant, target: Duration) -> bool {
        let lately = self.replies.iter().filter(|reply| reply.sent_at >= since);
        let quick: Vec<Reply> = lately.clone().filter(|reply| reply.excess <= target).copied().collect();
        let late: Vec<usize> = lately
            .filter(|reply| reply.excess > target + LATE)
            .filter(|late| {
                let is_before =
                    |reply: &&Reply| reply.sent_at < late.sent_at && self.queues.are_one(reply.station, late.station);
                let before: BTreeSet<usize> = quick.iter().filter(is_before).map(|reply| reply.station).collect();
                before.len() > 1 && !before.contains(&late.station)
            })
            .map(|reply| reply.station)
            .collect();
        for station in &late {
            self.stations[*station].distrust(now);
        }
        !late.is_empty()
    }

    /// A station did not answer.
    pub(super) fn lost(&mut self, now: Instant, station: usize) {
        let s = &mut self.stations[station];
        s.lost_in_row += 1;
        if s.lost_in_row >= DEAF {
            s.ask_again = now + DEAF_PAUSE;
        }
    }

    /// Nobody could answer: that says nothing of who filters.
    pub(super) fn forget_losses(&mut self, now: Instant) {
        for station in &mut self.stations {
            (station.lost_in_row, station.ask_again) = (0, station.ask_again.min(now));
        }
    }

    /// Whether asking the station makes sense now.
    pub(super) fn may_answer(&self, station: usize, now: Instant) -> bool {
        let s = &self.stations[station];
        s.lost_in_row < DEAF || s.ask_again <= now
    }

    /// Median over the stations of their fresh delays, the lower one of two; less where those that have it carry less, by `bytes`, than
    /// [`VOUCHES`] of what a typical station does. `None` without a fresh delay that enough bytes vouch for. Of several APs that with the
    /// longest queue counts.
    pub(super) fn median(&self, now: Instant, bytes: impl Fn(usize) -> f64) -> Option<Duration> {
        let fresh = self.fresh(now, FRESH, |_, excess| excess);
        let ap = |(station, _): &(usize, Duration)| self.queues.of(*station);
        let aps: BTreeSet<usize> = fresh.iter().map(ap).collect();
        if aps.len() < 2 {
            return self.median_of(now, fresh, bytes);
        }
        let through = |own: usize| fresh.iter().filter(|one| ap(one) == own).copied().collect();
        aps.into_iter().filter_map(|own| self.median_of(now, through(own), &bytes)).max()
    }

    fn median_of(
        &self,
        now: Instant,
        mut fresh: Vec<(usize, Duration)>,
        bytes: impl Fn(usize) -> f64,
    ) -> Option<Duration> {
        let median = middle(&fresh)?;
        let lately = self.fresh(now, AGREES, |_, excess| excess);
        let needed = VOUCHES * typical(lately.iter().map(|(station, _)| bytes(*station)));
        fresh.sort_by_key(|(_, excess)| std::cmp::Reverse(*excess));
        let mut carried = 0.0;
        let most = fresh.iter().find(|(station, _)| {
            carried += bytes(*station);
            carried >= needed
        });
        most.map(|(_, excess)| median.min(*excess))
    }

    /// Median over the stations with a fresh delay of their baselines; the lower one of two.
    pub(super) fn baseline(&self, now: Instant) -> Option<Duration> {
        middle(&self.fresh(now, FRESH, |station, _| station.least.min(station.least_before)))
    }

    /// Something of the stations whose delay was measured within `lately`.
    fn fresh(
        &self,
        now: Instant,
        lately: Duration,
        of: impl Fn(&StationDelay, Duration) -> Duration,
    ) -> Vec<(usize, Duration)> {
        let fresh = |s: &StationDelay| s.latest.filter(|(at, _)| now < *at + lately).map(|(_, excess)| of(s, excess));
        self.stations.iter().enumerate().filter_map(|(station, s)| Some((station, fresh(s)?))).collect()
    }
}

/// The median; the lower one of two.
fn middle(times: &[(usize, Duration)]) -> Option<Duration> {
    let mut times: Vec<Duration> = times.iter().map(|(_, time)| *time).collect();
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied()
}
