//! A last look, as long as the scenario, at what proofs say that are shorter or longer.

use super::proposals::{proposal, unseen};
use super::rank::{by_goodput, recommended, replace};
use super::rung::{LONGER, OWN, OWN_AGAIN, PROOF, Rung, WHOLE, WHOLE_AGAIN, of_own_time};
use super::{Search, proposals};
use crate::plan::outcome::{Outcome, Proposal, deployable};

/// Most of a family that are looked at in the scenario's own time where nothing that is proved holds there, and most that are proved then.
const OF_FAMILY: usize = 3;
/// Most plans that are looked at for longer than the proof, and for less time than that.
const CONFIRMED: (usize, usize) = (4, 12);
/// Half width of the confidence interval of the goodput, as a share of it, from which on few replicas say too little.
const NOISY: f64 = 0.05;

impl Search<'_> {
    /// Whether what is proved gets a look at the scenario's own time, which is shorter than the proof or has more of the start in it.
    pub(super) fn has_shorter_look(&self) -> bool {
        of_own_time(self.scenario, self.pace).is_some_and(|rung| rung.number == OWN.number)
    }

    /// Looks at what would be recommended, and then at what is named in its place where it cannot be deployed, for as long as the scenario
    /// lasts, and at the next one where that fails. What has had no such look by then is not called met.
    pub(super) fn confirm(&mut self, as_is: f64, proved: &mut Vec<Outcome>) -> Option<()> {
        let gear = self.ranges.gear;
        let Some(rung) = of_own_time(self.scenario, self.pace) else {
            return self.confirm_close(proved, |proved| recommended(proved, as_is, gear));
        };
        self.confirm_who_starves(rung, proved)?;
        self.confirm_each(rung, proved, |proved| recommended(proved, as_is, gear))?;
        let of_today = |proved: &[Outcome]| {
            let best = recommended(proved, as_is, gear)?;
            deployable(&best, proved, gear).cloned()
        };
        self.confirm_each(rung, proved, of_today)?;
        if rung.number == OWN.number { self.confirm_doubts(proved) } else { Some(()) }
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
        let mut own = self.looked(&unseen(likely.into_iter().map(proposal).collect(), proved), OWN)?;
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
            let mut whole = self.looked(&[proposal(&best)], rung)?;
            if is_longer && whole.iter().any(|o| holds(o) && is_noisy(o)) {
                whole = self.looked(&[proposal(&best)], WHOLE_AGAIN)?;
            }
            // A short time strays more than the proof, and in it a flow that is silent has less time to come back: more replicas of it tell.
            let is_clear = |o: &Outcome| holds(o) && !o.is_unclear;
            if !is_longer && !whole.iter().all(is_clear) && whole.iter().all(|o| o.seems_met && is_safe(o)) {
                whole = self.looked(&[proposal(&best)], OWN_AGAIN)?;
            }
            let held = whole.iter().all(holds);
            if is_longer && !held {
                for outcome in &mut whole {
                    outcome.meets = false;
                }
                replace(proved, whole);
            } else if !is_longer {
                // What holds is proved in both times, whatever doubt a short one leaves.
                judge(proved, &whole, held);
            }
            if held {
                return Some(());
            }
        }
        while let Some(best) = next(proved) {
            proved.iter_mut().filter(|outcome| outcome.change == best.change).for_each(|outcome| outcome.meets = false);
        }
        Some(())
    }

    /// Looks longer at what `next` names, while that is unclear.
    fn confirm_close(&mut self, proved: &mut Vec<Outcome>, next: impl Fn(&[Outcome]) -> Option<Outcome>) -> Option<()> {
        for _ in 0..CONFIRMED.0 {
            let Some(best) = next(proved).filter(|best| best.is_unclear && best.rung != LONGER.number) else { break };
            let again = self.looked(&[proposal(&best)], LONGER)?;
            if again.is_empty() {
                break;
            }
            replace(proved, again);
        }
        Some(())
    }

    /// Who starves for ten seconds in the cell as it is need not starve for as long as the scenario lasts, and who does not starve in a proof
    /// may do so in a shorter time.
    fn confirm_who_starves(&mut self, rung: Rung, proved: &mut [Outcome]) -> Option<()> {
        let is_longer = rung.number == WHOLE.number;
        let is_asked = |outcome: &&mut Outcome| outcome.of.is_none() && outcome.starved.is_nobody() != is_longer;
        let Some(outcome) = proved.iter_mut().find(is_asked) else { return Some(()) };
        let mut own = self.looked(&proposals::as_is(), rung)?;
        if let Some(own) = own.pop() {
            outcome.meets &= own.starved.is_nobody();
            outcome.own_time = Some(own.as_own_time()).filter(|_| !is_longer);
            outcome.starved = own.starved;
        }
        Some(())
    }

    /// What is in doubt by its proof may be far from the goals in a shorter time, which a longer simulation does not mend.
    fn confirm_doubts(&mut self, proved: &mut [Outcome]) -> Option<()> {
        let is_asked = |o: &&Outcome| o.seems_met && !o.meets && o.starved.is_nobody() && o.own_time.is_none();
        let asked: Vec<Outcome> = proved.iter().filter(is_asked).cloned().collect();
        let asked: Vec<Proposal> = by_goodput(&asked).into_iter().take(CONFIRMED.0).map(proposal).collect();
        let own = self.looked(&asked, OWN)?;
        judge(proved, &own, false);
        Some(())
    }
}

/// Takes what looks at the scenario's own time say of what is proved; `held`: it holds there.
fn judge(proved: &mut [Outcome], own: &[Outcome], held: bool) {
    for outcome in proved.iter_mut() {
        let Some(own) = own.iter().find(|own| own.change == outcome.change) else { continue };
        if held {
            outcome.own_time = Some(own.as_own_time());
        } else {
            outcome.judge_by(own);
            outcome.meets = false;
        }
    }
}

/// Whether the replicas differ much.
fn is_noisy(outcome: &Outcome) -> bool {
    let goodput = &outcome.report.totals.goodput_bps;
    goodput.ci95.unwrap_or(0.0) > NOISY * goodput.mean.unwrap_or(0.0)
}

fn is_met(outcome: &Outcome) -> bool {
    outcome.misses.iter().all(|miss| *miss <= 0.0)
}

/// Whether a look at a shorter time agrees.
fn holds(outcome: &Outcome) -> bool {
    is_met(outcome) && outcome.starved.is_nobody() && outcome.risk.is_none()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use fairair_core::control::{CapacityParams, WceParams};
    use fairair_core::scenario::Scenario;
    use fairair_core::shaper::Policy;

    use super::*;
    use crate::plan::change::BoxChange;
    use crate::plan::ranges::Ranges;
    use crate::plan::requirements::Requirements;
    use crate::plan::{classes, pace};
    use crate::replicas::Pool;
    use crate::watch::Watch;

    /// A download over a long wire has all of the cell once its window has grown, and little in the four seconds of its file.
    #[test]
    fn what_fails_in_the_files_own_time_is_neither_met_nor_in_doubt() {
        let text = r#"
            name = "late"
            [run]
            duration = "4 s"
            warmup = "0 s"
            [radio]
            phy = "802.11g"
            [wire]
            delay = "60 ms"
            [[station]]
            name = "vip"
            flows = [{ direction = "down", start = "1 s" }]
        "#;
        let scenario = Scenario::from_toml(text, "late.toml").unwrap();
        let goals = vec!["vip >= 3 Mbit/s".parse().unwrap()];
        let required = Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 };
        let pool = Pool::new(0).unwrap();
        let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
        let pace = pace::of(&scenario);
        let ranges = Ranges::new(&scenario, pace, classes::of(&scenario, &required));
        let mut search = Search::new((&scenario, &required), (&pool, watch), (pace, ranges, 1.0));
        let (mut proved, mut own) = (Vec::new(), Vec::new());
        search.look(&proposals::as_is(), PROOF, &mut proved).unwrap();
        search.look(&proposals::as_is(), OWN, &mut own).unwrap();
        let goodput = proved[0].goodput;
        assert!(proved[0].meets && !own[0].seems_met && own[0].goodput < 0.7 * goodput, "{goodput} {}", own[0].goodput);
        // What stations mislead needs much more goodput to go first.
        let mut fragile = proved[0].clone();
        let capacity = CapacityParams::Wce(WceParams::default());
        fragile.change.enforce = Some(BoxChange { policy: Policy::PerStation, capacity, queue: None, batches: false });
        for (factor, goes_first) in [(1.09, false), (1.15, true)] {
            fragile.goodput = factor * goodput;
            let best = recommended(&[proved[0].clone(), fragile.clone()], goodput, search.ranges.gear).unwrap();
            assert_eq!(best.is_fragile(), goes_first, "{factor}");
        }
        // Half of the goodput, and nobody has more: no advice, whatever the doubt about the cell as it is.
        let (mut doubtful, mut costly) = (proved[0].clone(), proved[0].clone());
        (doubtful.meets, costly.of, costly.goodput) = (false, Some(&crate::plan::family::AP[0]), 0.5 * goodput);
        for (factor, is_advice) in [(0.5, false), (1.1, true)] {
            costly.report.stations[0].goodput_bps.mean = Some(factor * goodput);
            let best = recommended(&[doubtful.clone(), costly.clone()], goodput, search.ranges.gear);
            assert_eq!(best.is_some(), is_advice, "{factor}");
        }
        let mut noisy = proved[0].clone();
        noisy.report.totals.goodput_bps.ci95 = Some(0.06 * goodput);
        assert!(is_noisy(&noisy) && !is_noisy(&proved[0]), "6 % and {:?}", proved[0].report.totals.goodput_bps);
        // Twelve replicas say less than 24 of a goal that the mean hardly meets.
        let nearly = vec![format!("vip >= {} bit/s", (0.9985 * goodput / 1.005) as u64).parse().unwrap()];
        let required = Requirements { goals: nearly, ..required.clone() };
        let mut search = Search::new((&scenario, &required), (&pool, watch), (pace, search.ranges, 1.0));
        let mut close = Vec::new();
        for share in [1.0, 0.5] {
            search.look(&proposals::as_is(), PROOF.fewer(share), &mut close).unwrap();
        }
        let known: Vec<_> = close.iter().map(|own| (own.seems_met, own.is_unclear)).collect();
        assert_eq!(known, [(true, false), (true, true)], "{goodput} {:?}", close[1].report.totals.goodput_bps);
        judge(&mut proved, &own, false);
        let row = &proved[0];
        assert!(!row.meets && !row.seems_met && row.misses[0] > 0.0 && row.goodput.to_bits() == goodput.to_bits());
        assert!(row.reached[0].ends_with("in the file's own time"), "{:?}", row.reached);
        let own_time = row.own_time.as_ref().unwrap();
        assert!((own_time.measured_s - 4.0).abs() < 1e-9 && own_time.goodput_bps < 0.7 * goodput, "{own_time:?}");
    }
}
