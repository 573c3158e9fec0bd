//! Successive halving: many candidates for a short time, the better ones longer and with more replicas, children of the
//! better ones between, and a proof of the last few.

mod budget;
mod confirm;
mod cross;
mod others;
mod proposals;
mod rank;
mod reading;
mod rung;
mod squeeze;
mod surface;

use fairair_core::rng::Rng;
use fairair_core::scenario::Scenario;

use super::change::Change;
use super::family::Family;
use super::look::Sample;
use super::outcome::{Outcome, Proposal};
use super::ranges::Ranges;
use super::requirements::Requirements;
use crate::replicas::Pool;
use crate::watch::{Counter, Watch};
use proposals::{children, proposal, unseen};
use rank::{
    WORTH, best_goodput, by_goodput, closest_first, elites, hopeful, leaders, most_goodput_between, near_misses,
    promoted, recommend, replace, safest, spare,
};
use rung::{FIRST, LONGER, Rung, SECOND, THIRD};
pub(super) use rung::{PROOF, is_steady, settled_s};
use surface::few_of_kind;

/// Candidates that the second and third rung and the proof see, and children a generation in the first and second.
const SECOND_KEPT: usize = 14;
const THIRD_KEPT: usize = 10;
const PROVED: usize = 2;
/// Most of a kind that the third rung sees: they hardly differ.
const OF_KIND: usize = 3;
const GENERATIONS: [(usize, usize); 2] = [(3, 28), (1, 6)];
/// Rounds of points between the two sides of a goal, and how many.
const CROSSINGS: (usize, usize) = (2, 12);
/// Most times that as many are proved when none of those before passes, and most that are looked at longer.
const MORE_PROOFS: usize = 4;
const DOUBTFUL: usize = 2;
/// Packets of a default search as reckoned. The number of candidates follows, as a factor of the numbers above.
const BUDGET: f64 = 35e6;
/// The same in a cell of aggregates, where families have more kinds: about 20 s. There the search also looks across kinds, beside near misses,
/// and proves more; elsewhere it comes within 5 % of ten times the work without (docs/planner.md).
const BUDGET_AGGREGATED: f64 = 220e6;
/// Where candidates carry more than the best by this factor and miss the requirements, a few between two of them are looked at: on a thin
/// surface that is met with much goodput.
const AMPLY: f64 = 1.2;
const AMPLE: usize = 6;
/// Both miss the goal by fewer tolerances than that.
const NEAR: f64 = 2.5;
const FACTORS: (f64, f64) = (0.5, 3.0);
/// Most in a cell of aggregates, where families have more kinds.
const MOST_AGGREGATED: f64 = 2.5;
/// From this factor on candidates that meet the requirements get turns of their own, most goodput first.
const ROOM: f64 = 0.45;
/// More rounds after the first, while less than this share of the frames is spent, the larger one where nothing is proved yet: children of
/// the best, and the best of what was passed over.
const ROUNDS: usize = 3;
/// Pairs of what meets the requirements and what carries more, between which two points are looked at.
const EDGES: usize = 5;
/// Most times that the neighbours of what is proved are looked at, once more with finer steps where that gives no more goodput, while less
/// than this share of the frames is spent.
const CLIMBS: usize = 3;
const SPENT_CLIMBING: f64 = 0.75;
const SPENT: f64 = 0.45;
const SPENT_IN_VAIN: f64 = 0.8;
/// Least part of the fairness of the cell as it is that a plan keeps when the requirements are about time only.
pub(super) const KEPT: f64 = 0.95;

/// What a search found.
pub(crate) struct Found {
    /// The proved ones, the recommended one first.
    pub(crate) proved: Vec<Outcome>,
    /// All, each as the last rung that it reached has it; the cell as it is first.
    pub(crate) all: Vec<Outcome>,
    /// Frames on the air that were simulated.
    pub(crate) frames: f64,
    /// Candidates that were left out, as the frames were spent.
    pub(crate) cut: usize,
    /// Whether it was stopped before its end.
    pub(crate) interrupted: bool,
    /// Least fairness, where the requirements say nothing of who gets what.
    pub(crate) kept: Option<f64>,
}

/// What each rung showed so far.
#[derive(Default)]
struct Looked {
    first: Vec<Outcome>,
    second: Vec<Outcome>,
    third: Vec<Outcome>,
    proved: Vec<Outcome>,
}

/// A search at work.
pub(crate) struct Search<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) required: &'a Requirements,
    pub(crate) pool: &'a Pool,
    watch: Watch<'a>,
    counter: Counter<'a>,
    /// Packets per second of the full cell.
    pub(crate) pace: f64,
    pub(crate) ranges: Ranges,
    /// How many times the default's work.
    pub(crate) effort: f64,
    /// Goodput of the cell as it is, by its first look: what others may not take from everybody. Zero before.
    as_is_bps: f64,
    frames: f64,
    /// What they cost, in frames that pass no box.
    spent: f64,
    /// Simulated seconds behind them.
    seconds: f64,
    cut: usize,
    /// Least fairness, where the requirements say nothing of who gets what: that of the cell as it is.
    kept: Option<f64>,
    /// Whether enough candidates get longer looks for turns of what meets the requirements.
    has_room: bool,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        (scenario, required): (&'a Scenario, &'a Requirements),
        (pool, watch): (&'a Pool, Watch<'a>),
        (pace, ranges, effort): (f64, Ranges, f64),
    ) -> Self {
        let counter = Counter::new(watch);
        Search {
            scenario,
            required,
            pool,
            watch,
            counter,
            pace,
            ranges,
            effort,
            as_is_bps: 0.0,
            frames: 0.0,
            spent: 0.0,
            seconds: 0.0,
            cut: 0,
            kept: None,
            has_room: false,
        }
    }

    /// Searches in `families`; `None` when it was stopped before anything was known. Calls `met_already` where the first look at the cell
    /// as it is finds that it meets the requirements.
    pub(crate) fn run(mut self, families: &[&'static Family], met_already: &dyn Fn()) -> Option<Found> {
        let mut looked = Looked::default();
        let finished = self.rungs(families, &mut looked, met_already).is_some();
        let Looked { first, second, mut third, mut proved } = looked;
        if self.second().is_own {
            // A longer look knows nothing of the scenario's own time, in which the second one was.
            for outcome in third.iter_mut().chain(&mut proved).filter(|outcome| outcome.own_time.is_none()) {
                let own = second.iter().find(|own| own.change == outcome.change);
                outcome.seems_met &= own.is_none_or(|own| own.seems_met);
                outcome.meets &= outcome.seems_met;
            }
        }
        let as_is = self.reference(first.iter().chain(&second).find(|outcome| outcome.of.is_none())?);
        spare(&mut proved);
        recommend(&mut proved, as_is, self.ranges.gear);
        if !proved.iter().any(|outcome| outcome.meets) {
            closest_first(&mut proved, as_is);
        }
        let mut all = proved.clone();
        for outcome in third.into_iter().chain(second).chain(first) {
            if !all.iter().any(|known| known.change == outcome.change) {
                all.push(outcome);
            }
        }
        let place = all.iter().position(|outcome| outcome.of.is_none()).unwrap_or(0);
        all.swap(0, place);
        let Search { frames, cut, kept, .. } = self;
        Some(Found { proved, all, frames, cut, interrupted: !finished, kept })
    }

    /// Rung after rung; `None` when it was stopped. What is complete stands in `looked`.
    fn rungs(&mut self, families: &[&'static Family], looked: &mut Looked, met_already: &dyn Fn()) -> Option<()> {
        // What a default search costs decides how many candidates it may look at: a scenario with a timetable of its own
        // is simulated whole.
        let first: usize = families.iter().map(|family| family.first).sum();
        let (budget, largest) =
            if self.ranges.gear.aggregates { (BUDGET_AGGREGATED, MOST_AGGREGATED) } else { (BUDGET, FACTORS.1) };
        let scale = self.effort * (budget / self.cost_of_default(first + families.len())).clamp(FACTORS.0, largest);
        self.has_room = scale >= ROOM;
        self.expect(first + families.len(), scale);
        let many = |count: usize| ((count as f64 * scale).round() as usize).max(2);
        let mut rng = Rng::fork(self.scenario.run.seed, "plan");
        let proposals = proposals::first(families, &self.ranges, many);
        let plain = self.looked(&proposals[..1], SECOND)?;
        self.as_is_bps = plain[0].goodput;
        if plain[0].meets && self.meets_in_second_look()? {
            met_already();
        }
        // Equal parts of nothing are no fairness to keep.
        if self.required.is_about_time_only() && self.as_is_bps > 0.0 {
            self.kept = Some(plain[0].fairness * KEPT);
        }
        self.look(&unseen(proposals, &[]), FIRST, &mut looked.first)?;
        let as_is = self.reference(&looked.first[0]);
        for _ in 0..GENERATIONS[0].0 {
            let parents = self.elites(&looked.first, as_is, many(16));
            let children = children(&parents, &self.ranges, many(GENERATIONS[0].1), 0.12, &mut rng);
            self.look(&unseen(children, &looked.first), FIRST, &mut looked.first)?;
        }
        for _ in 0..CROSSINGS.0 {
            let proposals = cross::between(&looked.first, &self.ranges, many(CROSSINGS.1), |outcome| outcome.side);
            self.look(&proposals, FIRST, &mut looked.first)?;
        }
        self.better(FIRST, &mut looked.first, &[], &mut rng)?;
        let long = proposals::shorter(&self.elites(&looked.first, as_is, many(16)), &self.ranges);
        self.look(&unseen(long, &looked.first), FIRST, &mut looked.first)?;
        self.deepen(looked, &many, &mut rng)?;
        for _ in 0..ROUNDS {
            let share = if best_goodput(&looked.proved) > 0.0 { SPENT } else { SPENT_IN_VAIN };
            if self.spent > share * self.most() {
                break;
            }
            let parents = self.elites(&looked.first, as_is, many(16));
            let mut more = children(&parents, &self.ranges, many(GENERATIONS[0].1), 0.12, &mut rng);
            if self.ranges.gear.aggregates {
                more.extend(proposals::across(&leaders(&looked.proved), &self.ranges));
            }
            self.look(&unseen(more, &looked.first), FIRST, &mut looked.first)?;
            self.deepen(looked, &many, &mut rng)?;
        }
        let mut fine = false;
        for _ in 0..CLIMBS {
            if self.spent > SPENT_CLIMBING * self.most() {
                break;
            }
            let (before, parents) = (best_goodput(&looked.proved), leaders(&looked.proved));
            let known: Vec<Outcome> = looked.first.iter().chain(looked.second.iter()).cloned().collect();
            let mut near = cross::edges(&looked.second, &self.ranges, before, many(EDGES));
            near.extend(proposals::beside(&parents, &self.ranges, fine));
            if self.ranges.gear.aggregates {
                let missed = near_misses(&looked.second, &looked.proved, before);
                near.extend(proposals::beside(&missed, &self.ranges, false));
                near.extend(proposals::across(&missed, &self.ranges));
            } else if before > 0.0 {
                let is_ample = |o: &&Outcome| {
                    !o.meets
                        && o.goodput > AMPLY * before
                        && o.lean.is_some_and(|lean| lean.abs() < NEAR * self.required.tolerance.ln_1p())
                };
                let ample: Vec<Outcome> = looked.second.iter().filter(is_ample).cloned().collect();
                near.extend(cross::between(&ample, &self.ranges, many(AMPLE), |outcome| outcome.lean));
            }
            self.look(&unseen(near, &known), self.second(), &mut looked.second)?;
            self.prove(looked, &many)?;
            match (best_goodput(&looked.proved) <= before, fine) {
                (true, true) => break,
                // A goal or the floor may be reached between two steps.
                (true, false) => fine = true,
                _ => {}
            }
        }
        // What everything is compared with is known as well.
        self.look(&unseen(proposals::as_is().to_vec(), &looked.proved), PROOF, &mut looked.proved)?;
        if !looked.proved.iter().any(|outcome| outcome.meets) {
            let safe = safest(looked.third.iter().chain(looked.second.iter()), &looked.proved);
            self.look(&safe, PROOF, &mut looked.proved)?;
        }
        let best = best_goodput(&looked.proved);
        let doubtful: Vec<Proposal> = by_goodput(&looked.proved)
            .into_iter()
            .filter(|o| !o.meets && o.seems_met && o.starved.is_nobody() && o.goodput > WORTH * best)
            .take(DOUBTFUL)
            .map(proposal)
            .collect();
        let again = self.looked(&doubtful, LONGER)?;
        replace(&mut looked.proved, again);
        self.prove_likely(looked)?;
        self.prove_others(as_is, looked)?;
        self.confirm(as_is, &mut looked.proved)?;
        let Looked { first, second, third, proved } = looked;
        let all: Vec<Outcome> = third.iter().chain(second.iter()).chain(first.iter()).cloned().collect();
        self.prove_by_own_time(as_is, &all, proved)
    }

    /// Looks longer at what is worth it and has had no longer look yet, and proves the best.
    fn deepen(&mut self, looked: &mut Looked, many: &impl Fn(usize) -> usize, rng: &mut Rng) -> Option<()> {
        let Looked { first: seen, second, .. } = looked;
        let as_is = self.reference(&seen[0]);
        let fresh = without(seen, second);
        let kept = hopeful(self.elites(&fresh, as_is, many(SECOND_KEPT)));
        self.look(&promoted(&fresh, kept, as_is), self.second(), second)?;
        for _ in 0..GENERATIONS[1].0 {
            let parents = self.elites(second, as_is, many(6));
            let children = children(&parents, &self.ranges, many(GENERATIONS[1].1), 0.05, rng);
            let known: Vec<Outcome> = seen.iter().chain(second.iter()).cloned().collect();
            self.look(&unseen(children, &known), self.second(), second)?;
        }
        self.better(self.second(), second, seen, rng)?;
        self.prove(looked, many)
    }

    /// Looks longer at the best of the second rung, and proves what promises more than is proved.
    fn prove(&mut self, looked: &mut Looked, many: &impl Fn(usize) -> usize) -> Option<()> {
        let Looked { second, third, proved, .. } = looked;
        let as_is = self.reference(&second[0]);
        // What a proof would doubt does not take the place of others of its kind.
        let (mut kept, doubted): (Vec<Outcome>, Vec<Outcome>) =
            hopeful(self.elites(second, as_is, many(THIRD_KEPT))).into_iter().partition(Outcome::is_likely);
        kept.extend(doubted);
        let kept = few_of_kind(kept, OF_KIND);
        let kept: Vec<Proposal> = kept.iter().map(proposal).collect();
        self.look(&unseen(kept, third), THIRD, third)?;
        let best = best_goodput(proved);
        let mut order = self.elites(&without(third, proved), as_is, third.len());
        order.retain(|outcome| best <= 0.0 || (outcome.seems_met && outcome.goodput > best));
        // What a longer look doubts is hardly ever proved: a few of it tell, and of what misses the requirements the closest one.
        let (order, doubted): (Vec<Outcome>, Vec<Outcome>) = order.into_iter().partition(Outcome::is_likely);
        let mut order = most_goodput_between(order);
        for _ in 0..=MORE_PROOFS {
            let rest = order.split_off(order.len().min(PROVED));
            self.look(&order.iter().map(proposal).collect::<Vec<_>>(), PROOF, proved)?;
            if proved.iter().any(|outcome| outcome.meets) || self.spent > PROOF.until * self.most() {
                return Some(());
            }
            order = rest;
        }
        let (seem, miss): (Vec<Outcome>, Vec<Outcome>) = doubted.into_iter().partition(|own| own.seems_met);
        let closest = miss.into_iter().filter(|_| seem.is_empty() && proved.is_empty()).take(1);
        let few: Vec<Proposal> = seem.iter().take(PROVED).cloned().chain(closest).map(|own| proposal(&own)).collect();
        self.look(&few, PROOF, proved)
    }

    /// Whether the cell as it is meets the requirements in the second rung as well, where that is one of its own.
    fn meets_in_second_look(&mut self) -> Option<bool> {
        if !self.second().is_own {
            return Some(true);
        }
        let own = self.looked(&proposals::as_is(), self.second())?;
        Some(own.iter().all(|outcome| outcome.meets))
    }

    /// The second rung.
    pub(super) fn second(&self) -> Rung {
        rung::second(self.scenario, self.pace)
    }

    fn elites(&self, of: &[Outcome], as_is: f64, most: usize) -> Vec<Outcome> {
        elites(of, as_is, most, self.has_room)
    }

    /// Simulates candidates in a rung, as many as the frames that are left allow; `None` when it was stopped. Those that are
    /// complete are added to `into` all the same.
    fn look(&mut self, proposals: &[Proposal], rung: Rung, into: &mut Vec<Outcome>) -> Option<()> {
        let rung = rung.of(self.scenario, self.pace);
        let cost = self.cost(rung);
        let can_be_had = |change: &Change| change.not_today(self.ranges.gear).is_none();
        let proposals: Vec<Proposal> =
            proposals.iter().filter(|own| !self.ranges.today || can_be_had(&own.2)).cloned().collect();
        let room = (self.most() * rung.until - self.spent) / cost;
        let most = proposals.len().min(rung.least(cost, self.most(), self.spent).max(room.max(0.0) as usize));
        self.cut += proposals.len() - most;
        let proposals = &proposals[..most];
        let scenarios: Vec<Scenario> = proposals
            .iter()
            .map(|(_, _, change)| rung::timed(&change.applied(self.scenario), rung, self.pace))
            .collect();
        let jobs = scenarios.len() as u32 * rung.replicas;
        let parts = self.parts(rung);
        self.counter.plan(jobs * parts);
        let run = |job: u32| crate::run(&scenarios[(job / rung.replicas) as usize], job % rung.replicas);
        let replicas = self.pool.run(0..jobs, self.watch.cancel, run, |_| self.counter.done_of(parts));
        let stopped = replicas.len() < jobs as usize;
        let mut replicas = replicas.into_iter();
        for (proposal, scenario) in proposals.iter().zip(&scenarios) {
            let own: Vec<_> = replicas.by_ref().take(rung.replicas as usize).collect();
            if own.len() < rung.replicas as usize {
                break;
            }
            let frames: f64 = own.iter().map(|replica| rung::frames(scenario, replica)).sum();
            self.frames += frames;
            let seconds = f64::from(rung.replicas) * scenario.run.duration.as_secs_f64();
            self.spent += frames * rung::cost_of_frame(scenario, self.pace) + seconds * rung::datagrams(scenario);
            self.seconds += seconds;
            into.push(self.outcome(proposal, Sample::new(scenario, own, rung.is_proof()), rung));
        }
        (!stopped).then_some(())
    }

    /// The same, by themselves.
    fn looked(&mut self, proposals: &[Proposal], rung: Rung) -> Option<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        self.look(proposals, rung, &mut outcomes)?;
        Some(outcomes)
    }

    /// Goodput by which remedies are measured: that of the cell as it is, or what is left of it where slow stations get as much as fast
    /// ones.
    fn reference(&self, as_is: &Outcome) -> f64 {
        as_is.goodput * self.ranges.equal
    }
}

/// Those of `all` that are not among `known`.
fn without(all: &[Outcome], known: &[Outcome]) -> Vec<Outcome> {
    all.iter().filter(|own| !known.iter().any(|other| other.change == own.change)).cloned().collect()
}
