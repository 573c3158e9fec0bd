//! A load that ends while round trips are measured. Loads that pause together leave no time for a trial with a lower C, and their end
//! shows the same: if round trips fall then, and almost nothing waited in the box, the queue was in the cell.

use serde::{Deserialize, Serialize};

use super::lowered::{DRAINED, LEAST_RATE, RoundTrip, RoundTripChange, deep, fall_apart, fall_of, goes_on, met_by_all};
use super::occupancy::Occupancy;
use crate::units::{Duration, Instant};

/// The load before is what passed from so long ago on, up to so long ago: what waits at a station goes on for a moment.
const BEFORE: (Duration, Duration) = (Duration::from_millis(1900), Duration::from_millis(500));
/// In the last of this time less than this share of it passes: it has ended. So much more: it has come back.
const LATELY: Duration = Duration::from_millis(300);
const LITTLE: f64 = 0.2;
const BACK: f64 = 0.5;
/// For how long round trips are measured after its end, at most.
const LASTS: Duration = Duration::from_millis(1500);
/// A load begins with a queue in the cell even where C is right. It is gone after this.
pub(super) const BEGINS: Duration = Duration::from_secs(8);
/// The longest time of measuring round trips from the begin of a load.
pub(super) const HURRIES: Duration = Duration::from_secs(4);

/// The end of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ebb {
    at: Instant,
    /// Round trips up to then are those of the load.
    loaded_until: Instant,
    /// Those from then on are those without it.
    drained_at: Instant,
    /// What passed before, in bit/s.
    pub(super) rate: f64,
}

impl Ebb {
    /// A load has ended, and whether next to nothing had waited in the box. `None`: it goes on, was not steady, or its stations had their caps.
    pub(super) fn begun(now: Instant, occupancy: &Occupancy) -> Option<(Ebb, bool)> {
        let (before, is_steady) = occupancy.earlier(BEFORE.0, BEFORE.1)?;
        let last = occupancy.span(LATELY)?;
        let is_over = before.rate >= LEAST_RATE && is_steady && !before.is_capped() && last.rate < LITTLE * before.rate;
        let loaded_until = Instant::from_nanos(now.as_nanos().saturating_sub(BEFORE.1.as_nanos()));
        is_over.then(|| (Ebb { at: now, loaded_until, drained_at: now + DRAINED, rate: before.rate }, before.is_open()))
    }

    /// The same in a trial that lowered C at `lowered_at`, before which `rate` bit/s passed.
    pub(super) fn in_trial(now: Instant, occupancy: &Occupancy, lowered_at: Instant, rate: f64) -> Option<Ebb> {
        let is_over = occupancy.span(LATELY)?.rate < LITTLE * rate;
        let drained_at = (lowered_at + goes_on(rate)).min(now) + DRAINED;
        is_over.then_some(Ebb { at: now, loaded_until: lowered_at, drained_at, rate })
    }

    /// All round trips after it are known, or the load has come back.
    pub(super) fn is_over(&self, now: Instant, occupancy: &Occupancy) -> bool {
        now >= self.at + LASTS || occupancy.span(LATELY).is_some_and(|last| last.rate > BACK * self.rate)
    }

    /// By how much round trips fell with the load, if by more than what a right C leaves in the cell.
    pub(super) fn change(&self, trips: &[RoundTrip]) -> RoundTripChange {
        let times = (self.loaded_until, self.drained_at);
        match met_by_all(fall_apart(trips, times, self.rate), trips, times, self.rate) {
            RoundTripChange::By(fell, error) if fell > deep(self.rate) => RoundTripChange::By(fell, error),
            // One station's fall alone is none of the cell.
            _ => match fall_of(trips, self.loaded_until, self.drained_at, self.rate) {
                RoundTripChange::Not => RoundTripChange::Not,
                RoundTripChange::By(..) | RoundTripChange::Unknown => RoundTripChange::Unknown,
            },
        }
    }
}
