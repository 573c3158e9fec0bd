//! What is proved beside the best, since the answer names it.

use fairair_core::rng::Rng;

use super::proposals::{self, children, unseen};
use super::rank::{CLOSEST, best_goodput, by_goodput, most_goodput_between, recommended};
use super::rung::{PROOF, THIRD};
use super::{Looked, Search, proposal, without};
use crate::plan::outcome::{Outcome, Proposal, SHORT_S, distinct};

/// Most candidates of a kind that are proved for their own sake, and those of short looks that are looked at longer.
const OTHERS: usize = 2;
const LOOKED_AT: usize = 3;

/// How often what is likely is proved, and how much more it carries than the best.
const ATTEMPTS: usize = 4;
const CLEARLY: f64 = 1.05;
/// The same where no aggregates are, while frames are left.
const HARDLY: f64 = 1.03;

/// How much more a candidate that can be deployed must be worth than one that is proved, as a share of goodput.
const BETTER: f64 = 0.02;

/// Steps from what can be deployed to what is better, long ones and then short ones.
const STEPS: usize = 2;

/// Steps of children of what is to be tuned, and how many there are of each.
const TUNED: [f64; 3] = [0.12, 0.06, 0.03];
const CHILDREN: usize = 8;
/// What has less than this share of the best's goodput is not tuned.
const USEFUL: f64 = 0.7;

impl Search<'_> {
    /// Proves what the answer names beside the best: what has a short delay where the best has a long one, and what can be deployed today where
    /// the best cannot. Where nothing meets the requirements it looks beside what comes closest, then longer at what seems to meet them, and proves
    /// the closest.
    pub(super) fn prove_others(&mut self, as_is: f64, looked: &mut Looked) -> Option<()> {
        let Looked { first, second, third, proved } = looked;
        let (seen, second) = (first.as_slice(), second.as_slice());
        let gear = self.ranges.gear;
        let can_be_had = |outcome: &Outcome| outcome.change.not_today(gear).is_none();
        let is_short = |outcome: &Outcome| outcome.delay_s <= SHORT_S;
        if let Some(best) = recommended(proved, as_is, gear) {
            let beside = self.beside(&best);
            self.look(&unseen(beside.clone(), proved), PROOF, proved)?;
            let best = recommended(proved, as_is, gear).unwrap_or(best);
            let wanted: [&dyn Fn(&Outcome) -> bool; 2] = [&is_short, &can_be_had];
            for (is_wanted, is_tuned) in wanted.into_iter().zip([true, false]) {
                let has = proved.iter().filter(|outcome| outcome.meets && is_wanted(outcome)).map(Outcome::utility);
                let has = has.fold(f64::NEG_INFINITY, f64::max);
                // One with a short delay will do. What can be deployed is to be the best of its kind: people will have that one.
                if is_wanted(&best) || (is_tuned && has > f64::NEG_INFINITY) {
                    continue;
                }
                // Each change once, as its longest look shows it.
                let known = distinct(third.iter().chain(second).chain(seen), |a, b| a.change == b.change);
                let mut known: Vec<&Outcome> = known.into_iter().filter(|o| seems(o) && is_wanted(o)).collect();
                if is_tuned {
                    known.sort_by(|a, b| b.goodput.total_cmp(&a.goodput));
                } else {
                    known.retain(|outcome| outcome.utility() > has + BETTER);
                    known.sort_by(|a, b| b.utility().total_cmp(&a.utility()));
                }
                let others = unseen(known.into_iter().map(proposal).collect(), proved);
                self.look(&others[..others.len().min(OTHERS)], PROOF, proved)?;
                if !is_tuned {
                    self.climb(is_wanted, proved)?;
                }
                if is_tuned && !proved.iter().any(|outcome| outcome.meets && is_wanted(outcome)) {
                    let mut known: Vec<Outcome> = second.iter().chain(seen).cloned().collect();
                    self.look(&unseen(beside.clone(), second), self.second(), &mut known)?;
                    let tuned = self.tuned(known, USEFUL * best.goodput, is_wanted)?;
                    self.look(&unseen(tuned, proved), PROOF, proved)?;
                }
            }
            return Some(());
        }
        let known: Vec<Outcome> = second.iter().chain(seen).cloned().collect();
        let tuned = self.tuned(known, CLOSEST * as_is, &|_| true)?;
        self.look(&unseen(tuned, proved), PROOF, proved)?;
        if recommended(proved, as_is, gear).is_some() {
            return Some(());
        }
        let seems = |o: &Outcome| o.seems_met && o.starved.is_nobody();
        let short: Vec<Outcome> = second.iter().chain(seen).filter(|o| seems(o)).cloned().collect();
        let again = unseen(by_goodput(&short).into_iter().map(proposal).collect(), third);
        self.look(&again[..again.len().min(LOOKED_AT)], THIRD, third)?;
        let mut closest = without(third, proved);
        closest.retain(|outcome| outcome.goodput >= CLOSEST * as_is && outcome.starved.is_nobody());
        closest.sort_by(|a, b| a.shortfall.total_cmp(&b.shortfall));
        let closest: Vec<Proposal> = closest.iter().take(OTHERS).map(proposal).collect();
        self.look(&closest, PROOF, proved)
    }

    /// Proves what is better beside the best of those wanted.
    fn climb(&mut self, is_wanted: &dyn Fn(&Outcome) -> bool, proved: &mut Vec<Outcome>) -> Option<()> {
        for step in 0..STEPS {
            let met = proved.iter().filter(|outcome| outcome.meets && is_wanted(outcome));
            let best = met.max_by(|a, b| a.utility().total_cmp(&b.utility())).cloned();
            let least = best.as_ref().map_or(0.0, Outcome::utility) + BETTER;
            let mut near = Vec::new();
            let steps = proposals::beside(best.as_slice(), &self.ranges, step > 0);
            self.look(&unseen(steps, proved), self.second(), &mut near)?;
            near.retain(|outcome| seems(outcome) && is_wanted(outcome) && outcome.utility() > least);
            near.sort_by(|a, b| b.utility().total_cmp(&a.utility()));
            let near: Vec<Proposal> = near.iter().take(OTHERS).map(proposal).collect();
            self.look(&near, PROOF, proved)?;
        }
        Some(())
    }

    /// Proves what is likely to carry clearly more than the best, the fairest first: where what carries most turns out to be near the floor, it
    /// has taken the proofs of what carries a little less. Where frames aggregate much may carry a little more, so that there what carries most and
    /// what is fairest take turns.
    pub(super) fn prove_likely(&mut self, looked: &mut Looked) -> Option<()> {
        let Looked { second, third, proved, .. } = looked;
        let aggregates = self.ranges.gear.aggregates;
        let (more, second) = if aggregates { (CLEARLY, second.as_slice()) } else { (HARDLY, [].as_slice()) };
        for _ in 0..ATTEMPTS {
            let best = best_goodput(proved);
            if !aggregates && (best <= 0.0 || self.spent > PROOF.until * self.most()) {
                break;
            }
            let is_likely = |o: &&Outcome| o.seems_met && o.starved.is_nobody() && o.goodput > more * best;
            let mut likely: Vec<Outcome> = third.iter().chain(second).filter(is_likely).cloned().collect();
            likely.sort_by(|a, b| a.risk.is_some().cmp(&b.risk.is_some()).then(b.fairness.total_cmp(&a.fairness)));
            if aggregates {
                // Without those that behave like one before them in every packet.
                likely = distinct(likely, |a, b| a.fingerprint == b.fingerprint);
                let (certain, rest): (Vec<Outcome>, Vec<Outcome>) =
                    likely.into_iter().partition(|own| own.risk.is_none() && own.is_likely());
                likely = most_goodput_between(certain).into_iter().chain(rest).collect();
            }
            let likely = unseen(likely.iter().map(proposal).collect(), proved);
            if likely.is_empty() {
                break;
            }
            self.look(&likely[..likely.len().min(OTHERS)], PROOF, proved)?;
        }
        Some(())
    }

    /// The same box with the live box's queue, and with a policy that can be deployed.
    fn beside(&self, best: &Outcome) -> Vec<Proposal> {
        let Some(family) = best.of else { return Vec::new() };
        let is_of_today = best.change.not_today(self.ranges.gear).is_none();
        let policy =
            Some(family).filter(|_| !is_of_today).and_then(|family| family.per_station(&self.ranges, &best.at));
        let queue = family.with_a_queue_of_time(&self.ranges, &best.at);
        queue.into_iter().chain(policy).map(|(at, change)| (Some(family), at, change)).collect()
    }

    /// What may meet the requirements, of children of those of `known` that come closest to them, are wanted, and have the `least` goodput.
    fn tuned(
        &mut self,
        mut known: Vec<Outcome>,
        least: f64,
        is_wanted: &dyn Fn(&Outcome) -> bool,
    ) -> Option<Vec<Proposal>> {
        let mut rng = Rng::fork(self.scenario.run.seed, "plan, tuned");
        let is_parent = |o: &Outcome| o.of.is_some() && o.starved.is_nobody() && o.goodput >= least && is_wanted(o);
        let first = known.len();
        for step in TUNED {
            let mut parents: Vec<Outcome> = known.iter().filter(|own| is_parent(own)).cloned().collect();
            parents.sort_by(|a, b| a.shortfall.total_cmp(&b.shortfall).then(b.goodput.total_cmp(&a.goodput)));
            parents.truncate(OTHERS);
            let near = unseen(children(&parents, &self.ranges, CHILDREN, step, &mut rng), &known);
            self.look(&near, self.second(), &mut known)?;
        }
        let mut found = known.split_off(first);
        found.retain(|own| is_parent(own) && own.seems_met && own.risk.is_none());
        Some(by_goodput(&found).into_iter().take(OTHERS).map(proposal).collect())
    }
}

/// What seems to meet the requirements and leaves nobody near the floor.
fn seems(outcome: &Outcome) -> bool {
    outcome.seems_met && outcome.starved.is_nobody() && outcome.risk.is_none()
}
