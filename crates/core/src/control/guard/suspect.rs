//! When what passes calls for a trial with a lower C.

use super::super::ebb::BEGINS;
use super::super::lowered::{LEAST_RATE, LEAST_TRIPS, LOWERED, WATCHED};
use super::super::signal::ONE_SIDED;
use super::{DEPTHS, Guard, LISTENS};
use crate::units::Instant;

impl Guard {
    /// What passes in bit/s, if it is steady and either less than C, with next to nothing waiting, or a load that does not back
    /// off: what the AP drops is part of that.
    pub(super) fn passing(&self) -> Option<f64> {
        if self.is_beside_queue {
            let is_suspect = self.occupancy.span(LISTENS).is_some_and(|span| {
                !span.is_capped() && if self.is_leaky { span.is_leaky(false) } else { span.binds() }
            });
            return self.occupancy.steady_rate().filter(|rate| is_suspect && *rate >= LEAST_RATE);
        }
        let is_suspect = self.occupancy.span(WATCHED).is_some_and(|span| {
            !span.is_capped() && (span.is_open() || (span.binds() && self.signal.one_sided() >= ONE_SIDED))
        });
        self.occupancy.steady_rate().filter(|rate| is_suspect && *rate >= LEAST_RATE)
    }

    /// The queue in the box comes and goes, less than C passes, and a trial would begin late enough in the load to count.
    pub(super) fn leaks(&self, now: Instant) -> bool {
        self.quiet_at.is_none_or(|at| now + LISTENS >= at + BEGINS)
            && self.occupancy.span(WATCHED).is_some_and(|span| span.is_leaky(false) && !span.is_capped())
    }

    /// Stations were asked, and few have answered, by whom a trial would be in doubt: their addresses, or another kind of question, may be
    /// found soon.
    pub(super) fn is_unheard(&self, now: Instant, since: Instant) -> bool {
        self.trips.len() < 2 * LEAST_TRIPS && now < since + LISTENS * 2
    }

    /// C of a trial as a share of what passes: lower from trial to trial beside a load that does not back off.
    pub(super) fn lowered(&self) -> f64 {
        LOWERED.powi(1 + (self.in_vain % DEPTHS) as i32)
    }

    /// The same at the end of [`Phase::Listens`](super::Phase::Listens). A trial in a hurry has not looked for its kind before.
    pub(super) fn still_passing(&mut self, now: Instant) -> Option<f64> {
        let before = (self.is_beside_queue, self.is_leaky);
        let leaks = self.leaks(now) && self.signal.one_sided() < ONE_SIDED;
        let kinds = [Some(before), Some((false, false)), leaks.then_some((true, true))];
        for kind in kinds.into_iter().flatten().take(if self.hurries { kinds.len() } else { 1 }) {
            (self.is_beside_queue, self.is_leaky) = kind;
            if let Some(rate) = self.passing() {
                return Some(rate);
            }
        }
        (self.is_beside_queue, self.is_leaky) = before;
        None
    }

    /// A load begins with a queue in the cell, also where C is right: the trial shows nothing, and the next one begins when that queue is gone.
    pub(super) fn wait_for_begin(&mut self, now: Instant) {
        self.settle(now);
        self.room.put_off(now);
        self.last_trial = now;
        self.next_trial = self.quiet_at.map_or(now, |at| now.max(at + (BEGINS - LISTENS)));
    }
}
