//! `adaptive` below the full queue of a small buffer: a ceiling for C in place of a delay.
//!
//! Where a full AP queue is worth a few milliseconds or no probe is answered, the box itself shows that C is too high: its
//! queues vanish, and less than C passes. What passes then is what the cell carries. C stays below it for a while, the longer
//! the more often that turned out to be right, and then tries gently whether the cell carries more by now.

use serde::{Deserialize, Serialize};

use super::adaptive::Adaptive;
use super::lowered::{LOWERED, drained};
use super::signal::ONE_SIDED;
use super::{Kept, Reason, State};
use crate::units::{Bitrate, Duration, Instant};

/// How long C stays below the ceiling, at first and at most.
pub(super) const HOLD: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(60));
/// The same where no probe is answered: then only lost packets show that C is too high.
const HOLD_BLIND: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(240));
/// Share of C by which it rises then in a decision.
const RISE_BLIND: f64 = 0.001;
/// C under the ceiling as a share of it: right after it was met, and later.
const AFTER: f64 = 0.95;
const BELOW: f64 = 0.97;
/// Two ceilings that differ by less are the same.
const SAME: f64 = 0.1;
/// C above the ceiling by this with packets waiting: the cell carries more than it did.
const BEYOND: f64 = 1.1;
/// From then on C rises twice as fast, each time that this happens, up to this share in a decision.
const FASTEST: f64 = 0.04;
/// Without a queue in the box for so long C is too high; nor is it judged earlier after a cut.
const VANISHED: Duration = Duration::from_millis(600);
/// What passed in this time is what the cell carries.
const MEASURED: Duration = Duration::from_millis(1500);
/// Where less than this share of C passes, the stations may ask for less: a trial decides.
const DEMAND: f64 = 0.75;
/// A ceiling that was met beside a load that may not back off is worth nothing when less than this share of that load is left.
const GONE: f64 = 0.5;
/// Delay target as a share of what a full queue is worth, and in standard errors of that.
const HALF: f64 = 0.5;
const SURE: f64 = 3.0;

/// What the cell carried when the box lost its queues.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ceiling {
    /// In bit/s.
    rate: f64,
    /// C stays below until then; for how long that was.
    until: Instant,
    hold: Duration,
    /// C is lower still until then, to drain the AP's queue.
    drains_until: Option<Instant>,
    /// It was met from below, so it is what the cell carries; else it is what passed through a buffer too small for that.
    is_met: bool,
    /// When it was met last.
    met_at: Instant,
    /// Delay above the baseline that says that the AP's queue fills up, in seconds, where that can be told.
    pub(super) target: Option<f64>,
    /// How often in a row the cell turned out to carry more.
    #[serde(default)]
    exceeded: i32,
    /// What passed the box by, or may not have backed off, when it was met, in bit/s.
    #[serde(default)]
    beside: [f64; 2],
}

impl Ceiling {
    /// The share by which C rises near the ceiling in a decision: `gently`, until the cell turned out to carry more.
    fn rise(&self, gently: f64) -> f64 {
        (gently * 2_f64.powi(self.exceeded)).min(FASTEST)
    }
}

impl Adaptive {
    /// What the next machine should know; nothing while C has never been below its bound.
    pub(super) fn keep(&self) -> Option<Kept> {
        Some(self.settled()).filter(|kept| kept.capacity < self.params.max)
    }

    /// C without the trials, and the ceiling.
    pub(super) fn settled(&self) -> Kept {
        let bits = |rate: f64| Bitrate::from_bps(rate.round() as u64);
        let target = |ceiling: Ceiling| ceiling.target.map(Duration::from_secs_f64);
        let ceiling = self.ceiling.map(|ceiling| (bits(ceiling.rate), target(ceiling)));
        Kept { capacity: bits(self.c_settled()), ceiling }
    }

    /// The counters missed what passed until `now`, and what was decided meanwhile is worth nothing: C is that of `kept`, which
    /// was found before.
    pub(super) fn recount(&mut self, now: Instant, kept: &Kept) {
        self.signal.restart(now);
        self.delivered.clear();
        self.trials.forget();
        self.descents.forget();
        self.occupancy.restart();
        (self.mu, self.full, self.drop, self.drains, self.calm) = (None, None, None, false, 0);
        let is_kept =
            |ceiling: &Ceiling| kept.ceiling.is_some_and(|(rate, _)| is_same(rate.as_bps() as f64, ceiling.rate));
        self.ceiling = self.ceiling.filter(is_kept);
        let is_lost = self.ceiling.is_none();
        self.resume(now, &Kept { ceiling: kept.ceiling.filter(|_| is_lost), ..*kept });
    }

    /// Goes on with what another machine has found.
    pub(super) fn resume(&mut self, now: Instant, kept: &Kept) {
        // The clock may have run before: nobody has failed to answer yet.
        self.answered_at = now;
        if let Some((rate, target)) = kept.ceiling {
            self.hold_below(now, rate.as_bps() as f64, HOLD, None);
            let target = target.map(Duration::as_secs_f64);
            self.ceiling = self.ceiling.map(|ceiling| Ceiling { target, is_met: true, ..ceiling });
        }
        self.set(now, kept.capacity.as_bps() as f64, Reason::Kept);
    }

    /// C stays below `rate` for a while. `full`: what a full queue is worth in seconds, with its standard error.
    pub(super) fn hold_below(
        &mut self,
        now: Instant,
        rate: f64,
        (first, longest): (Duration, Duration),
        full: Option<(f64, f64)>,
    ) {
        let before = self.ceiling.filter(|old| is_same(rate, old.rate));
        let hold = before.map_or(first, |old| (old.hold * 2).clamp(first, longest));
        let target = full.map(|(seconds, error)| (seconds * HALF).max(SURE * error));
        let target = target.or(before.and_then(|old| old.target));
        let (drains_until, is_met, met_at, exceeded) = (None, false, now, 0);
        let (until, beside) = (now + hold, self.signal.beside());
        self.ceiling = Some(Ceiling { rate, until, hold, drains_until, is_met, met_at, target, exceeded, beside });
    }

    /// Looks whether C is above what the cell carries; whether C is settled by that.
    pub(super) fn follow_ceiling(&mut self, now: Instant) -> bool {
        let Some(ceiling) = self.ceiling else { return false };
        let is_gone = |(then, now): (f64, f64)| then > ONE_SIDED * self.c && now < GONE * then;
        if ceiling.beside.into_iter().zip(self.signal.beside()).any(is_gone) {
            // It was what that load left, or what a cell full of it carried.
            (self.ceiling, self.full, self.mu, self.calm) = (None, None, None, 0);
            return false;
        }
        if let Some(until) = ceiling.drains_until {
            if now >= until {
                self.ceiling = Some(Ceiling { drains_until: None, met_at: now, ..ceiling });
                self.set(now, BELOW * ceiling.rate, Reason::Overload);
            }
            return true;
        }
        if now < ceiling.met_at + MEASURED {
            return false;
        }
        let Some((last, span)) = self.occupancy.span(VANISHED).zip(self.occupancy.span(MEASURED)) else { return false };
        let is_blind = self.state() != State::Run;
        let is_delayed = !is_blind
            && ceiling.target.is_some_and(|target| self.delay(now).is_some_and(|delay| delay.as_secs_f64() > target));
        let is_above = (last.is_open() && last.used() > DEMAND) || (span.is_leaky(is_blind) && span.used() > DEMAND);
        if is_above || (is_delayed && last.used() > BELOW) {
            // Through a long queue more than the cell carries has passed before it was full.
            let rate = if is_blind { last.rate } else { span.rate }.min(self.c);
            self.hold_below(now, rate, if is_blind { HOLD_BLIND } else { HOLD }, None);
            self.calm = 0;
            let drains_until = is_blind.then(|| now + drained(rate));
            self.ceiling = self.ceiling.map(|ceiling| Ceiling { drains_until, is_met: true, ..ceiling });
            self.set(now, if is_blind { LOWERED } else { AFTER } * rate, Reason::Overload);
            return true;
        }
        if self.c > BEYOND * ceiling.rate && span.binds() && span.used() > BELOW {
            let exceeded = ceiling.exceeded + 1;
            self.ceiling = Some(Ceiling { rate: self.c, until: now, hold: HOLD.0, exceeded, ..ceiling });
        }
        false
    }

    /// Nobody answers: C rises under a ceiling only, and gently once the ceiling was met.
    pub(super) fn rise_blind(&mut self, now: Instant, gently: f64) {
        let Some(ceiling) = self.ceiling else { return };
        if self.occupancy.span(VANISHED).is_some_and(|span| span.binds()) {
            let gently = if ceiling.is_met { RISE_BLIND } else { gently };
            let wanted = self.c * (1.0 + ceiling.rise(gently));
            self.set(now, self.below_ceiling(now, wanted, gently), Reason::NoDelay);
        }
    }

    /// `wanted` for C, or less under a ceiling. Near the ceiling C rises by a share of at most `gently`, faster where the cell
    /// turned out to carry more.
    pub(super) fn below_ceiling(&self, now: Instant, wanted: f64, gently: f64) -> f64 {
        match self.ceiling {
            Some(ceiling) if now < ceiling.until => wanted.min(self.c.max(BELOW * ceiling.rate)),
            Some(ceiling) if wanted > BELOW * ceiling.rate => {
                wanted.min(self.c.max(BELOW * ceiling.rate) * (1.0 + ceiling.rise(gently)))
            }
            _ => wanted,
        }
    }
}

fn is_same(rate: f64, other: f64) -> bool {
    (rate / other - 1.0).abs() < SAME
}
