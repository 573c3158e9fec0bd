//! `adaptive` where nothing tells a queue in the cell: a short trial with a lower C.
//!
//! Less than C passes and nothing waits in the box. Either stations ask for no more, or the queue stands in the cell: so
//! small that no delay is above the target, or since before the first probe, so that it seems to be the baseline. C goes
//! below what passes for a second, and round trips tell: if they fall, the queue stood in the cell, and the difference is
//! what a full one is worth. If they do not fall, C is what it was, and the next trial is later. If round trips cannot tell,
//! since nobody answers or they vary by more than a small buffer holds, C stays just below what passed: that divides the
//! cell fairly and costs a few per cent of it.

use serde::{Deserialize, Serialize};

use super::adaptive::{AFTER_DRAIN, Adaptive};
use super::ceiling::HOLD;
use super::lowered::{
    BEFORE, DRAINED, LASTS, LEAST_RATE, LEAST_TRIPS, LOWERED, RoundTrip, RoundTripChange, USED_UP, WATCHED, drained,
    fall_of, least_queue,
};
use super::signal::ONE_SIDED;
use super::{Reason, State};
use crate::units::{Duration, Instant};

/// C after a trial in which those that were held back began to wait, as a share of what passed.
const FREED: f64 = 0.94;
/// Time to the next trial after one that found no queue: the first and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(120));
/// A rate that has grown by this factor is another traffic.
const GROWN: f64 = 1.5;
/// For so long after a trial with round trips the baselines are known to be free of a queue: as long as they remember it.
pub(super) const PROVEN: Duration = Duration::from_secs(15);
/// A full queue of this delay is told by the delay.
pub(super) const LONG: Duration = Duration::from_millis(14);

/// A trial at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Trial {
    began: Instant,
    c_before: f64,
    /// What passed before, in bit/s.
    rate: f64,
    /// Stations that had nothing waiting while others got more.
    held_back: Vec<usize>,
}

/// Trials: the one at work, when the next is allowed, and the round trips that they compare.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Trials {
    now: Option<Trial>,
    /// After one without result: when the next may begin, the pause before it, and what passed.
    next_at: Instant,
    pause: Duration,
    rate: f64,
    /// Baselines are those of an AP without a queue until then; before the first trial and later they may be a full queue.
    pub(super) proven_until: Option<Instant>,
    pub(super) trips: Vec<RoundTrip>,
}

impl Trials {
    /// A round trip was measured.
    pub(super) fn push(&mut self, now: Instant, trip: RoundTrip) {
        self.trips.retain(|old| now.saturating_since(old.sent_at) < BEFORE + LASTS);
        self.trips.push(trip);
    }

    /// C is lowered by one.
    pub(super) const fn is_under_way(&self) -> bool {
        self.now.is_some()
    }

    /// Baselines do not age in the time `span` of a silence that ends `now`.
    pub(super) fn stays_proven(&mut self, now: Instant, span: Duration) {
        self.proven_until = self.proven_until.map(|until| if now < until + span { until + span } else { until });
    }

    /// A trial under way, and what was measured, are worth nothing.
    pub(super) fn forget(&mut self) {
        self.now = None;
        self.trips.clear();
    }
}

impl Adaptive {
    /// Begins a trial if one is due, or goes on with one; whether C is settled by that.
    pub(super) fn follow_trial(&mut self, now: Instant) -> bool {
        if let Some(trial) = self.trials.now.clone() {
            // Nobody answers: a queue of any length may stand in the AP.
            let extra = if self.state() == State::Blind { drained(trial.rate) } else { Duration::ZERO };
            if now >= trial.began + LASTS.max(extra) {
                self.trials.now = None;
                self.end_trial(now, trial);
            }
            return true;
        }
        let is_open = self.occupancy.span(WATCHED).is_some_and(|span| {
            !span.is_capped() && (span.is_empty() || (self.state() == State::Blind && span.is_leaky(true)))
        });
        // Where a full queue is long the delay tells of it, if anybody answers and the baseline is not that queue itself; and
        // stations also stop to send for other reasons.
        let queue = least_queue(self.c);
        let is_proven = self.trials.proven_until.is_some_and(|until| now < until)
            || self.delays.baseline(now).is_none_or(|baseline| baseline.as_secs_f64() < queue);
        let is_told = self.ceiling.is_none() && self.state() == State::Run && is_proven;
        let mut held_back =
            if is_told || self.met_no_queue(now) { Vec::new() } else { self.occupancy.held_back(WATCHED) };
        // Losses do not slow down who does not know of them: who has nothing waiting then asks for no more.
        held_back.retain(|station| !self.signal.is_one_sided(*station) && !self.occupancy.is_at_cap(*station));
        if self.drop.is_some() || !is_open && held_back.is_empty() {
            return false;
        }
        // The delay tells already that the cell is full.
        if self.state() == State::Run && self.delay(now).is_some_and(|delay| delay > self.target(self.c)) {
            return false;
        }
        let Some(rate) = self.occupancy.steady_rate().filter(|rate| *rate >= LEAST_RATE) else { return false };
        if now < self.trials.next_at && rate < GROWN * self.trials.rate {
            return false;
        }
        self.trials.now = Some(Trial { began: now, c_before: self.c, rate, held_back });
        self.occupancy.restart();
        self.set(now, LOWERED * rate, Reason::Trial);
        true
    }

    /// Beside a one-sided load no round trip was as long as a full queue, however short that is: a trial would cost more than it finds.
    fn met_no_queue(&self, now: Instant) -> bool {
        if self.signal.one_sided_shaped() < ONE_SIDED {
            return false;
        }
        let queue = least_queue(self.c);
        let mut lately = self.trials.trips.iter().filter(|trip| trip.sent_at + WATCHED > now).peekable();
        lately.peek().is_some()
            && self.trials.trips.len() > LEAST_TRIPS
            && lately.all(|trip| trip.rtt.as_secs_f64() < queue)
    }

    /// C, or what it was before something lowered it for a moment.
    pub(super) fn c_settled(&self) -> f64 {
        let lowered = self.trials.now.as_ref().map(|trial| trial.c_before).or(self.descents.c_before());
        lowered.unwrap_or(self.c)
    }

    /// Takes a trial back: something else is the matter.
    pub(super) fn abort_trial(&mut self, now: Instant) {
        if let Some(trial) = self.trials.now.take() {
            self.set(now, trial.c_before, Reason::Trial);
        }
    }

    fn end_trial(&mut self, now: Instant, trial: Trial) {
        let Trial { began, c_before, rate, held_back } = trial;
        // What passed includes bursts; where round trips tell of a queue in the cell it is no reason for a larger C.
        let rate = if self.state() == State::Run { rate.min(c_before) } else { rate };
        let span = self.occupancy.span(LASTS - DRAINED);
        // Who did not wait at the larger C waits at the smaller one: another queue has held that station back.
        let is_freed = !held_back.is_empty() && self.occupancy.wait_now(&held_back, LASTS - DRAINED);
        self.occupancy.restart();
        // Who asks for less than the lowered C has no queue anywhere.
        let answers = self.trials.trips.iter().filter(|trip| trip.sent_at >= began + DRAINED).count();
        if answers >= LEAST_TRIPS {
            self.trials.proven_until = Some(now + PROVEN);
        }
        let is_wanted = span.is_some_and(|span| span.binds() || span.used() > USED_UP);
        let fall =
            if is_wanted { fall_of(&self.trials.trips, began, began + DRAINED, rate) } else { RoundTripChange::Not };
        // One station shares with nobody.
        let binds = match fall {
            RoundTripChange::By(..) => true,
            // Whoever asks for a little more than the lowered C begins to wait at it, too: where a full queue is known to be
            // short that is the likelier mistake, elsewhere round trips are believed.
            RoundTripChange::Not if self.ceiling.is_none() => false,
            RoundTripChange::Not | RoundTripChange::Unknown if !held_back.is_empty() => is_freed,
            RoundTripChange::Not => false,
            RoundTripChange::Unknown => self.signal.active(now) > 1,
        };
        if !binds {
            let (first, longest) = PAUSE;
            let is_same = rate < GROWN * self.trials.rate && rate * GROWN > self.trials.rate;
            self.trials.pause = if is_same { (self.trials.pause * 2).clamp(first, longest) } else { first };
            (self.trials.next_at, self.trials.rate) = (now + self.trials.pause, rate);
            self.set(now, c_before, Reason::NoQueue);
            return;
        }
        (self.trials.next_at, self.trials.rate) = (now, 0.0);
        self.mu = Some(rate);
        match fall {
            RoundTripChange::By(seconds, error) if seconds < LONG.as_secs_f64() => {
                self.hold_below(now, rate, HOLD, Some((seconds, error)));
            }
            RoundTripChange::By(..) => (self.ceiling, self.full) = (None, Some(rate)),
            RoundTripChange::Not | RoundTripChange::Unknown => self.hold_below(now, rate, HOLD, None),
        }
        // What the AP dropped is part of what passed.
        self.set(now, if is_freed { FREED } else { AFTER_DRAIN } * rate, Reason::Overload);
    }
}
