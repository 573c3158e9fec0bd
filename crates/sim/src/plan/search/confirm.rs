//! A last look, as long as the scenario, at what proofs say that are shorter or longer.

use super::rank::{recommended, replace};
use super::rung::{WHOLE, of_own_time};
use super::{Search, proposal, proposals};
use crate::plan::outcome::Outcome;

/// Most plans that are looked at for longer than the proof, and for less time than that.
const CONFIRMED: (usize, usize) = (4, 12);

impl Search<'_> {
    /// Looks at what would be recommended for as long as the scenario lasts, and at the next one where that fails. What has had no such look by
    /// then is not called met.
    pub(super) fn confirm(&mut self, as_is: f64, proved: &mut Vec<Outcome>) -> Option<()> {
        let Some(rung) = of_own_time(self.scenario, self.pace) else { return Some(()) };
        let is_longer = rung.number == WHOLE.number;
        if is_longer {
            self.confirm_who_starves(proved)?;
        }
        for _ in 0..if is_longer { CONFIRMED.0 } else { CONFIRMED.1 } {
            let Some(best) = recommended(proved, as_is, self.ranges.aggregates) else { return Some(()) };
            let mut whole = Vec::new();
            self.look(&[proposal(&best)], rung, &mut whole)?;
            // Who is close to the floor the proof has weighed, but for the start of a shorter run.
            let is_safe = |o: &Outcome| o.starved.is_nobody() && (is_longer || o.risk.is_none());
            let holds = |o: &Outcome| o.misses.iter().all(|miss| *miss <= 0.0) && is_safe(o);
            if whole.iter().all(holds) {
                return Some(());
            }
            for outcome in &mut whole {
                outcome.meets = false;
            }
            replace(proved, whole);
        }
        for outcome in proved.iter_mut() {
            outcome.meets = false;
        }
        Some(())
    }

    /// Who starves for ten seconds in the cell as it is need not starve for as long as the scenario lasts.
    fn confirm_who_starves(&mut self, proved: &mut [Outcome]) -> Option<()> {
        let starves = |outcome: &&mut Outcome| outcome.of.is_none() && !outcome.starved.is_nobody();
        let Some(outcome) = proved.iter_mut().find(starves) else { return Some(()) };
        let mut whole = Vec::new();
        self.look(&proposals::as_is(), WHOLE, &mut whole)?;
        if let Some(whole) = whole.pop() {
            outcome.starved = whole.starved;
        }
        Some(())
    }
}
