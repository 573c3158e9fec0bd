//! `adaptive` beside a load that does not back off: C is lower for a moment now and then, so that baselines stay those of an AP without
//! a queue.
//!
//! Such a load keeps a queue of the AP full where C is above what the cell carries, for as long as baselines remember. A moment at a C
//! that is a little lower lets a small queue drain. It does not where C is far above: then the first time, and each third, C goes down a step of a
//! [descent](super::descent), and round trips tell.

use super::adaptive::Adaptive;
use super::descent::Cause;
use super::signal::ONE_SIDED;
use super::trial::PROVEN;
use super::{Reason, State};
use crate::units::{Duration, Instant};

/// How often C is lower, for how long, and what it is then.
const BREATHES: Duration = Duration::from_secs(10);
const BREATH: Duration = Duration::from_millis(500);
const SHALLOW: f64 = 0.9;
/// One of so many, the first among them, is a step of a descent.
const DEEP: u32 = 3;

impl Adaptive {
    /// Beside a one-sided load: a descent where baselines may be a full queue, a breath where they are known to be none.
    pub(super) fn begin_beside_one_sided(&mut self, now: Instant) -> bool {
        let is_short = self.delays.baseline(now).is_none_or(|baseline| baseline < self.least_queue());
        let binds = self.occupancy.span(BREATH).is_some_and(|span| span.binds());
        let is_blind = self.state() == State::Blind;
        let calls = if is_blind { self.descents.may_be_answered(now) } else { !is_short };
        let may = self.drop.is_none() && binds && calls;
        if !may || self.signal.one_sided_shaped() < ONE_SIDED {
            return false;
        }
        if is_blind || self.trials.proven_until.is_none_or(|until| until <= now) {
            if now < self.descents.next_at {
                return false;
            }
            self.begin_descent(now, Cause::Unproven, Instant::ZERO);
            return true;
        }
        if now < self.descents.low_at + BREATHES {
            return false;
        }
        let is_deep = self.descents.breaths.is_multiple_of(DEEP);
        self.descents.breaths = self.descents.breaths.wrapping_add(1);
        if is_deep {
            self.begin_descent(now, Cause::Doubted, Instant::ZERO);
            return true;
        }
        self.descents.breath = Some((now + BREATH, self.c));
        self.descents.low_at = now;
        self.trials.proven_until = Some(now + PROVEN);
        self.set(now, SHALLOW * self.c, Reason::Trial);
        true
    }
}
