//! `adaptive` where C is above what the cell carries and the load does not back off: C goes down until round trips fall.
//!
//! The AP drops what the cell does not carry. Senders that do not mind go on, so all of C passes and what passes says nothing
//! of the cell. Two signs call for a descent: delay stays above the target though C is below what was measured, or a
//! one-sided load, from which nothing comes back, waits in the box while no baseline is known to be free of a queue. C goes
//! down by a quarter each step. Where round trips fall C is below what the cell carries, and delay tells the rest. Where they
//! fall nowhere there is no queue: who answers late is late by its own doing, and C is what it was.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::Reason;
use super::adaptive::Adaptive;
use super::ceiling::HOLD;
use super::lowered::{BEFORE, DRAINED, LOWERED, RoundTrip, RoundTripChange, fall_of, least_queue};
use super::signal::ONE_SIDED;
use super::trial::{LONG, PROVEN};
use crate::units::{Duration, Instant};

/// C does not go below this share of what it was, the second where probes were lost or C was never right.
const FLOOR: f64 = 0.4;
const FLOOR_FAR: f64 = 0.05;
/// A step where fewer than this share of the probes were answered.
const LOWERED_LOSSY: f64 = 0.6;
const ANSWERED: f64 = 0.75;
const ALL: f64 = 0.85;
const ON_THE_WAY: Duration = Duration::from_millis(100);
/// A step ends with so many round trips, or after this time.
const TRIPS: usize = 5;
const LONGEST_STEP: Duration = Duration::from_millis(1200);
/// A queue of a moment ago should be shorter by this share after so long, and twice its own delay.
const SHRUNK: f64 = 0.85;
/// C is much lower below this share of what it was.
const LOWER: f64 = 0.85;
/// A queue should be gone when that much of it has drained, by what the cell seems to carry.
const DRAINS: f64 = 1.5;
/// Nor is it judged earlier.
const PATIENCE: Duration = Duration::from_millis(500);
/// C is right if it is used up to this share.
const USED: f64 = 0.9;
/// For so long it is remembered what C was right, and that somebody answers.
const REMEMBERED: Duration = Duration::from_secs(30);
/// Time to the next descent after one that found nothing, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(120));

/// What a cell carries at least, as a share of what it may deliver for a moment.
const FASTER: f64 = 0.5;

/// Why C goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Cause {
    /// Delay does not fall.
    Stuck,
    /// Baselines may be a full queue.
    Unproven,
    /// They may have become one since: a step tells.
    Doubted,
}

/// C on its way down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Descent {
    cause: Cause,
    /// Many probes were lost before it.
    is_lossy: bool,
    began: Instant,
    c_before: f64,
    mu_before: Option<f64>,
    stepped_at: Instant,
    /// C before the last step, and the delay of the newest round trip then.
    c_above: f64,
    queue: Duration,
    /// Delay before it.
    delay: Duration,
    /// Round trips before it.
    before: Vec<RoundTrip>,
}

/// A delay above the target, and since when it has been about that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Above {
    since: Instant,
    delay: Duration,
    /// C then, in bit/s.
    c: f64,
}

/// A delay above the target since then, the longest since, and how much of it should have drained, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Waits {
    since: Instant,
    at: Instant,
    longest: Duration,
    drained: f64,
}

/// Descents: the one at work, and when the next is allowed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Descents {
    now: Option<Descent>,
    above: Option<Above>,
    waits: Option<Waits>,
    /// The highest C at which delay was at its target, and when that was last.
    anchor: Option<(f64, Instant)>,
    /// There was such a C since the start: before, C may be any multiple of what the cell carries.
    #[serde(default)]
    was_right: bool,
    pub(super) next_at: Instant,
    pause: Duration,
    /// C is lower for a moment until then, and what it was.
    pub(super) breath: Option<(Instant, f64)>,
    /// How many such moments there were.
    #[serde(default)]
    pub(super) breaths: u32,
    /// When stations were asked lately, and which.
    asked: VecDeque<(Instant, usize)>,
    /// When those probes left that are back, and whose they are; and when the newest of all left.
    answered: VecDeque<(Instant, usize)>,
    #[serde(default)]
    answered_at: Option<Instant>,
    /// When C was low last: probes that left before say nothing of the rate at the C of later.
    pub(super) low_at: Instant,
}

impl Descents {
    /// A probe leaves.
    pub(super) fn has_asked(&mut self, now: Instant, station: usize) {
        self.asked.push_back((now, station));
        while self.asked.front().is_some_and(|(at, _)| *at + BEFORE + ON_THE_WAY < now) {
            self.asked.pop_front();
        }
    }

    /// The reply of `station` to a probe that left at `sent_at` is back.
    pub(super) fn has_answered(&mut self, now: Instant, sent_at: Instant, station: usize) {
        self.answered.push_back((sent_at, station));
        self.answered_at = self.answered_at.max(Some(sent_at));
        self.answered.retain(|(at, _)| *at + BEFORE + ON_THE_WAY >= now);
    }

    /// Share of the probes that left since `since` and should be back now that are. What the AP drops it drops of all: of three
    /// stations or more the one that answers least may have reasons of its own, and does not count.
    fn share_answered(&self, now: Instant, since: Instant) -> f64 {
        let mut stations: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        let counts = |at: Instant| at >= since && at + ON_THE_WAY <= now;
        for (_, station) in self.asked.iter().filter(|(at, _)| counts(*at)) {
            stations.entry(*station).or_default().0 += 1.0;
        }
        for (_, station) in self.answered.iter().filter(|(at, _)| counts(*at)) {
            stations.entry(*station).or_default().1 += 1.0;
        }
        let lost = |(asked, answered): &(f64, f64)| asked - answered;
        let most =
            stations.iter().max_by(|one, other| lost(one.1).total_cmp(&lost(other.1))).map(|(station, _)| *station);
        if let Some(most) = most.filter(|_| stations.len() > 2) {
            stations.remove(&most);
        }
        let (asked, answered) = stations.values().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        answered / f64::max(asked, 1.0)
    }

    /// Somebody has answered in the last time: who never answers does not at a lower C, whereas an AP that drops what it is sent lets an
    /// answer through now and then.
    pub(super) fn may_be_answered(&self, now: Instant) -> bool {
        self.answered_at.is_some_and(|at| now < at + REMEMBERED)
    }

    /// Whether a probe that left at `sent_at` tells what the cell carried.
    pub(super) fn tells_rate(&self, sent_at: Instant) -> bool {
        sent_at >= self.low_at
    }

    /// C is lowered by a descent or a breath.
    pub(super) const fn is_under_way(&self) -> bool {
        self.now.is_some() || self.breath.is_some()
    }

    /// Many probes were lost before the descent that is under way.
    pub(super) fn is_lossy(&self) -> bool {
        self.now.as_ref().is_some_and(|descent| descent.is_lossy)
    }

    /// What C was before a descent.
    pub(super) fn c_before(&self) -> Option<f64> {
        self.now.as_ref().map(|descent| descent.c_before).or(self.breath.map(|(_, c)| c))
    }

    /// It was at a C of `c`, which is used.
    fn reached(&mut self, now: Instant, c: f64) {
        if self.anchor.is_none_or(|(highest, at)| c >= highest || at + REMEMBERED <= now) {
            self.anchor = Some((c, now));
        }
        self.was_right = true;
    }

    fn anchor(&self, now: Instant, c: f64) -> f64 {
        self.anchor.filter(|(highest, at)| *highest > c && now < *at + REMEMBERED).map_or(c, |(highest, _)| highest)
    }

    /// C is low no more, or the reason for that is known.
    fn end(&mut self, now: Instant) {
        (self.now, self.above, self.waits, self.low_at) = (None, None, None, now);
    }

    /// What was under way is worth nothing.
    pub(super) fn forget(&mut self) {
        (self.now, self.above, self.waits, self.anchor, self.breath) = (None, None, None, None, None);
    }
}

impl Adaptive {
    /// The delay is at its target.
    pub(super) fn reached_target(&mut self, now: Instant) {
        (self.descents.above, self.descents.waits) = (None, None);
        if self.occupancy.span(PATIENCE).is_some_and(|span| span.used() > USED) {
            self.descents.reached(now, self.c);
        }
    }

    /// Whether `delay`, above the target `target`, stays though C is below what the cell seems to carry; begins a descent then.
    pub(super) fn is_stuck(&mut self, now: Instant, delay: Duration, target: Duration) -> bool {
        // TCP backs off by itself, and uploads delay answers, too.
        let drains_in_vain = self.drains_in_vain(now, delay) > DRAINS && self.signal.one_sided_shaped() >= ONE_SIDED;
        let is_lowered_in_vain = self.is_lowered_in_vain(now, delay, target);
        let may = now >= self.descents.next_at && self.drop.is_none() && delay >= target + self.least_queue();
        if !may || !(drains_in_vain || is_lowered_in_vain) {
            return false;
        }
        let waits = self.descents.waits.map(|waits| waits.since);
        let above = self.descents.above.map(|above| above.since);
        let since = if drains_in_vain { waits } else { above }.unwrap_or(now);
        (self.descents.above, self.descents.waits) = (None, None);
        if self.tell_apart(now, since + PATIENCE) {
            return false;
        }
        self.begin_descent(now, Cause::Stuck, since);
        true
    }

    /// What should have drained since the delay was at its target last, as a share of the longest queue since; 0: too early to tell.
    fn drains_in_vain(&mut self, now: Instant, delay: Duration) -> f64 {
        let slack = (1.0 - self.c / self.mu.unwrap_or(self.c)).max(0.0);
        let new = Waits { since: now, at: now, longest: delay, drained: 0.0 };
        let waits = self.descents.waits.get_or_insert(new);
        waits.drained += slack * now.saturating_since(waits.at).as_secs_f64();
        (waits.at, waits.longest) = (now, waits.longest.max(delay));
        if self.newest_sent_at < waits.since + PATIENCE { 0.0 } else { waits.drained / waits.longest.as_secs_f64() }
    }

    /// C is much lower than when the delay began, and the delay is what it was.
    fn is_lowered_in_vain(&mut self, now: Instant, delay: Duration, target: Duration) -> bool {
        let is_same =
            |above: &Above| delay < above.delay + target && delay.as_secs_f64() >= SHRUNK * above.delay.as_secs_f64();
        let Some(above) = self.descents.above.filter(|above| self.c <= above.c && is_same(above)) else {
            self.descents.above = Some(Above { since: now, delay, c: self.c });
            return false;
        };
        // What C was right at a moment ago, if it ever was: a start finds its way without this.
        let is_lower = self.c <= LOWER * self.descents.anchor(now, self.c).min(above.c);
        self.newest_sent_at >= above.since + PATIENCE && is_lower
    }

    /// The least queue that is told from the packets of a small one.
    pub(super) fn least_queue(&self) -> Duration {
        Duration::from_secs_f64(least_queue(self.c))
    }

    /// How fast a queue of the AP can drain, in seconds a second: it delivers no more than twice what it seems to carry.
    pub(super) fn drains_at_most(&self) -> f64 {
        let is_lowered =
            self.drop.is_some() || self.drains || self.trials.is_under_way() || self.descents.is_under_way();
        let (bytes, span) = self.signal.throughput();
        let passed = bytes.as_bits() as f64 / span.as_secs_f64().max(1e-3);
        if is_lowered { 1.0 } else { 1.0 - FASTER * (passed / self.mu.unwrap_or(self.c).max(self.c)).min(1.0) }
    }

    pub(super) fn begin_descent(&mut self, now: Instant, cause: Cause, since: Instant) {
        let is_before = |trip: &&RoundTrip| trip.sent_at >= since && trip.sent_at + BEFORE > now;
        let trips: Vec<_> = self.trials.trips.iter().filter(is_before).copied().collect();
        let is_lossy = self.descents.share_answered(now, Instant::ZERO) < ANSWERED;
        self.descents.now = Some(Descent {
            cause,
            is_lossy,
            began: now,
            c_before: self.c,
            mu_before: self.mu,
            stepped_at: now,
            c_above: self.c,
            queue: self.newest_delay().unwrap_or_default(),
            delay: self.delay(now).unwrap_or_default(),
            before: trips,
        });
        self.step_down(now);
    }

    fn step_down(&mut self, now: Instant) {
        // Only what is measured from now on tells what the cell carries: while a queue shrinks the AP drops nothing.
        (self.mu, self.descents.low_at) = (None, now);
        self.delivered.clear();
        let passed = self.occupancy.span(DRAINED).map_or(self.c, |span| span.rate.min(self.c));
        let share = if self.descents.is_lossy() { LOWERED_LOSSY } else { LOWERED };
        self.set(now, share * passed.max(LOWERED * self.c), Reason::Trial);
    }

    /// Goes on with a descent or a breath.
    pub(super) fn follow_descent(&mut self, now: Instant) {
        if let Some((until, c_before)) = self.descents.breath {
            if now >= until {
                self.descents.breath = None;
                self.set(now, c_before, Reason::NoQueue);
            }
            return;
        }
        let Some(descent) = self.descents.now.clone() else { return };
        let drained_at = descent.stepped_at + DRAINED;
        let after = self.trials.trips.iter().filter(|trip| trip.sent_at >= drained_at);
        let answered = after.clone().count();
        if (answered < TRIPS || descent.is_lossy) && now < descent.stepped_at + LONGEST_STEP + descent.delay {
            return;
        }
        let trips: Vec<RoundTrip> = descent.before.iter().chain(after).copied().collect();
        let fall = fall_of(&trips, descent.began, drained_at, self.c);
        let is_lost_no_more = descent.is_lossy && self.descents.share_answered(now, drained_at) > ALL;
        let is_contradicted = descent.cause == Cause::Stuck && self.tell_apart(now, drained_at);
        let is_drained = self.is_drained(&descent, drained_at);
        let newest = self.newest_delay().unwrap_or(descent.queue);
        let shrinks = newest.as_secs_f64() < SHRUNK * descent.queue.as_secs_f64();
        let floor = if descent.is_lossy || !self.descents.was_right { FLOOR_FAR } else { FLOOR };
        match fall {
            _ if is_contradicted => self.end_in_vain(now, &descent),
            RoundTripChange::By(seconds, error) => self.end_found(now, &descent, seconds, error),
            _ if is_drained => self.end_found(now, &descent, LONG.as_secs_f64(), 0.0),
            // A long queue takes its time: a lower C would only be further from what the cell carries.
            _ if shrinks => self.descents.now = Some(Descent { stepped_at: now, queue: newest, ..descent }),
            _ if is_lost_no_more => {
                // One step more: a few may be lost still.
                self.step_down(now);
                self.end_found(now, &descent, LONG.as_secs_f64(), 0.0);
            }
            _ if descent.cause == Cause::Doubted
                || LOWERED * self.c < floor * self.descents.anchor(now, descent.c_before) =>
            {
                self.end_in_vain(now, &descent);
            }
            _ => {
                self.descents.now = Some(Descent { stepped_at: now, c_above: self.c, queue: newest, ..descent });
                self.step_down(now);
            }
        }
    }

    /// Delay of the round trip that began last.
    fn newest_delay(&self) -> Option<Duration> {
        let newest = self.trials.trips.iter().max_by_key(|trip| trip.sent_at)?;
        Some(newest.rtt.saturating_sub(newest.baseline))
    }

    /// Round trips are those of an AP without a queue, by what is known of the baselines or because no queue is so short.
    fn is_drained(&self, descent: &Descent, drained_at: Instant) -> bool {
        let after: Vec<_> = self.trials.trips.iter().filter(|trip| trip.sent_at >= drained_at).collect();
        let stations: BTreeSet<usize> = after.iter().map(|trip| trip.station).collect();
        let short = self.least_queue();
        let delay = |trip: &RoundTrip| match descent.cause {
            Cause::Stuck => trip.rtt.saturating_sub(trip.baseline),
            Cause::Unproven | Cause::Doubted => trip.rtt,
        };
        let quick = after.iter().filter(|trip| delay(trip) < short).count();
        stations.len() > 1 && after.len() >= TRIPS && quick as f64 > ALL * after.len() as f64
    }

    /// C is below what the cell carries, and above that a step ago.
    fn end_found(&mut self, now: Instant, descent: &Descent, seconds: f64, error: f64) {
        self.trials.proven_until = Some(now + PROVEN);
        self.descents.end(now);
        (self.descents.pause, self.descents.next_at) = (Duration::ZERO, now);
        let above = descent.c_above;
        let measured = self.mu.filter(|mu| (self.c..above).contains(mu));
        self.calm = 0;
        (self.mu, self.drains) = (measured.or(Some(self.c)), measured.is_some());
        self.occupancy.restart();
        if seconds < LONG.as_secs_f64() {
            self.hold_below(now, measured.unwrap_or(above), HOLD, Some((seconds, error)));
        } else if self.signal.one_sided_shaped() >= ONE_SIDED {
            self.hold_below(now, measured.unwrap_or(above), HOLD, None);
        } else {
            (self.ceiling, self.full) = (None, Some(above));
        }
    }

    /// There is no queue: C is what it was.
    fn end_in_vain(&mut self, now: Instant, descent: &Descent) {
        let (first, longest) = PAUSE;
        let c =
            if descent.cause == Cause::Stuck { self.descents.anchor(now, descent.c_before) } else { descent.c_before };
        self.trials.proven_until = Some(now + PROVEN);
        self.descents.end(now);
        self.descents.anchor = None;
        if descent.cause != Cause::Doubted {
            self.descents.pause = (self.descents.pause * 2).clamp(first, longest);
            self.descents.next_at = now + self.descents.pause;
        }
        if descent.cause == Cause::Stuck {
            self.delays.doubt(now, descent.delay);
        }
        self.mu = descent.mu_before;
        self.delivered.clear();
        self.occupancy.restart();
        self.set(now, c, Reason::NoQueue);
    }

    /// Some stations answer late though others, asked before them, found no queue: those that are late are not believed.
    /// Whether there are such stations.
    fn tell_apart(&mut self, now: Instant, since: Instant) -> bool {
        let target = self.target(self.c);
        self.delays.distrust_contradicted(now, since, target)
    }

    /// Takes a descent back: something else is the matter.
    pub(super) fn abort_descent(&mut self, now: Instant) {
        if let Some(c) = self.descents.c_before() {
            self.descents.forget();
            self.set(now, c, Reason::Trial);
        }
    }
}
