//! A last look, as long as the scenario, at what proofs say that are shorter or longer.

use super::proposals::unseen;
use super::rank::{by_goodput, recommended, replace};
use super::rung::{OWN, OWN_AGAIN, PROOF, Rung, WHOLE, of_own_time};
use super::{Search, proposal, proposals};
use crate::plan::outcome::{Outcome, Proposal, deployable};

/// Most of a family that are looked at in the scenario's own time where nothing that is proved holds there, and most that are proved then.
const OF_FAMILY: usize = 3;
/// Most plans that are looked at for longer than the proof, and for less time than that.
const CONFIRMED: (usize, usize) = (4, 12);

impl Search<'_> {
    /// Whether what is proved gets a look at the scenario's own time, which is shorter than the proof or has more of the start in it.
    pub(super) fn has_shorter_look(&self) -> bool {
        of_own_time(self.scenario, self.pace).is_some_and(|rung| rung.number == OWN.number)
    }

    /// Looks at what would be recommended, and then at what is named in its place where it cannot be deployed, for as long as the scenario
    /// lasts, and at the next one where that fails. What has had no such look by then is not called met.
    pub(super) fn confirm(&mut self, as_is: f64, proved: &mut Vec<Outcome>) -> Option<()> {
        let Some(rung) = of_own_time(self.scenario, self.pace) else { return Some(()) };
        self.confirm_who_starves(rung, proved)?;
        let gear = self.ranges.gear;
        self.confirm_each(rung, proved, |proved| recommended(proved, as_is, gear))?;
        let of_today = |proved: &[Outcome]| {
            let best = recommended(proved, as_is, gear)?;
            deployable(&best, proved, gear).cloned()
        };
        self.confirm_each(rung, proved, of_today)
    }

    /// Where nothing that is proved holds in the scenario's own time, which is shorter: looks there at what short looks say of the others, of each
    /// family the best, and proves what holds.
    pub(super) fn prove_by_own_time(
        &mut self,
        as_is: f64,
        looked: &[Outcome],
        proved: &mut Vec<Outcome>,
    ) -> Option<()> {
        if !self.has_shorter_look() || proved.iter().any(|outcome| outcome.meets) {
            return Some(());
        }
        let mut likely: Vec<&Outcome> = Vec::new();
        for outcome in by_goodput(looked).into_iter().filter(|o| o.meets && o.starved.is_nobody() && o.risk.is_none()) {
            let of_family = likely.iter().filter(|other| other.family == outcome.family).count();
            if of_family < OF_FAMILY && likely.len() < CONFIRMED.1 {
                likely.push(outcome);
            }
        }
        let mut own = Vec::new();
        self.look(&unseen(likely.into_iter().map(proposal).collect(), proved), OWN, &mut own)?;
        own.retain(holds);
        let best: Vec<Proposal> = by_goodput(&own).into_iter().take(OF_FAMILY).map(proposal).collect();
        self.look(&best, PROOF, proved)?;
        self.confirm(as_is, proved)
    }

    /// Looks at what `next` names until one of them holds; where none of several does, nothing that it could name is called met.
    fn confirm_each(
        &mut self,
        rung: Rung,
        proved: &mut Vec<Outcome>,
        next: impl Fn(&[Outcome]) -> Option<Outcome>,
    ) -> Option<()> {
        let is_longer = rung.number == WHOLE.number;
        // Who is close to the floor the proof has weighed, but for the start of a shorter run.
        let is_safe = |o: &Outcome| o.starved.is_nobody() && (is_longer || o.risk.is_none());
        let holds = |o: &Outcome| if is_longer { is_met(o) && is_safe(o) } else { holds(o) };
        for _ in 0..if is_longer { CONFIRMED.0 } else { CONFIRMED.1 } {
            let Some(best) = next(proved) else { return Some(()) };
            let mut whole = Vec::new();
            self.look(&[proposal(&best)], rung, &mut whole)?;
            // A short time strays more than the proof, and in it a flow that is silent has less time to come back: more replicas of it tell.
            let is_clear = |o: &Outcome| holds(o) && !o.is_silent;
            if !is_longer && !whole.iter().all(is_clear) && whole.iter().all(|o| o.seems_met && is_safe(o)) {
                whole.clear();
                self.look(&[proposal(&best)], OWN_AGAIN, &mut whole)?;
            }
            if whole.iter().all(holds) {
                if let Some(own) = whole.pop().filter(|_| !is_longer) {
                    let of_best = proved.iter_mut().filter(|outcome| outcome.change == best.change);
                    of_best.for_each(|outcome| outcome.own_time = Some(own.as_own_time()));
                }
                return Some(());
            }
            for outcome in &mut whole {
                outcome.meets = false;
            }
            replace(proved, whole);
        }
        while let Some(best) = next(proved) {
            proved.iter_mut().filter(|outcome| outcome.change == best.change).for_each(|outcome| outcome.meets = false);
        }
        Some(())
    }

    /// Who starves for ten seconds in the cell as it is need not starve for as long as the scenario lasts, and who does not starve in a proof
    /// may do so in a shorter time.
    fn confirm_who_starves(&mut self, rung: Rung, proved: &mut [Outcome]) -> Option<()> {
        let is_longer = rung.number == WHOLE.number;
        let is_asked = |outcome: &&mut Outcome| outcome.of.is_none() && outcome.starved.is_nobody() != is_longer;
        let Some(outcome) = proved.iter_mut().find(is_asked) else { return Some(()) };
        let mut own = Vec::new();
        self.look(&proposals::as_is(), rung, &mut own)?;
        if let Some(own) = own.pop() {
            outcome.meets &= own.starved.is_nobody();
            outcome.starved = own.starved;
        }
        Some(())
    }
}

fn is_met(outcome: &Outcome) -> bool {
    outcome.misses.iter().all(|miss| *miss <= 0.0)
}

/// Whether a look at a shorter time agrees.
fn holds(outcome: &Outcome) -> bool {
    is_met(outcome) && outcome.starved.is_nobody() && outcome.risk.is_none()
}
