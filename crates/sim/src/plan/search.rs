//! Successive halving: many candidates for a short time, the better ones longer and with more replicas, children of the
//! better ones between, and a proof of the last few.

mod cross;
mod rank;

use fairair_core::rng::Rng;
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;

use super::change::Change;
use super::family::{Family, Ranges};
use super::look::{Sample, simulate};
use super::outcome::{Idea, Outcome};
use super::wish::Wish;
use crate::replicas::Pool;
use crate::watch::{Counter, Watch};
use rank::{best_goodput, by_goodput, elites, prefer_useful, rank};

/// How long and how often a candidate is simulated. All candidates of a rung have the same seeds, which no other rung has:
/// luck is shared by all, and who was lucky in one rung is not in the next.
#[derive(Clone, Copy)]
pub(crate) struct Rung {
    pub(crate) number: u64,
    pub(crate) replicas: u32,
    /// Measured time of each replica, in a cell of [`USUAL_PACE`].
    measured_s: f64,
    warmup_s: f64,
    /// Share of the tolerance that it allows. One replica has no confidence interval to leave room for.
    margin: f64,
}

const FIRST: Rung = Rung { number: 0, replicas: 1, measured_s: 30.0, warmup_s: 8.0, margin: 0.7 };
const SECOND: Rung = Rung { number: 1, replicas: 3, measured_s: 60.0, warmup_s: 15.0, margin: 0.8 };
const THIRD: Rung = Rung { number: 2, replicas: 6, measured_s: 100.0, warmup_s: 15.0, margin: 0.9 };
pub(crate) const PROOF: Rung = Rung { number: 3, replicas: 24, measured_s: 100.0, warmup_s: 15.0, margin: 0.95 };
/// Once more for what the proof leaves in doubt.
const LONGER: Rung = Rung { number: 4, replicas: 64, ..PROOF };
/// Candidates that the second and third rung and the proof see, and children a generation in the first and second.
const SECOND_KEPT: usize = 14;
const THIRD_KEPT: usize = 10;
const PROVED: usize = 5;
const GENERATIONS: [(usize, usize); 2] = [(3, 28), (2, 10)];
/// Rounds of points between the two sides of a goal, and how many.
const CROSSINGS: (usize, usize) = (2, 12);
/// Most that are proved when none of the first passes, and most that are looked at longer.
const MORE_PROOFS: usize = 2;
const DOUBTFUL: usize = 2;
/// What may be worth a longer look: more goodput than the best that passed, by this factor.
const WORTH: f64 = 1.02;
/// Packets per second of 802.11b at 11 Mbit/s. A faster cell has as many in less time, down to a quarter: round trips of
/// wires and pauses of users do not get shorter.
const USUAL_PACE: f64 = 800.0;
/// Packets that the whole search may simulate at default: about 10 s on two cores.
const BUDGET: f64 = 40e6;
/// Least part of the fairness of the cell as it is that a plan keeps when the wish is about time only.
const KEPT: f64 = 0.95;

/// What a search found.
pub(crate) struct Found {
    /// The proved ones, the recommended one first.
    pub(crate) proved: Vec<Outcome>,
    /// All, each as the last rung that it reached has it; the cell as it is first.
    pub(crate) all: Vec<Outcome>,
    /// Packets that were simulated, as reckoned.
    pub(crate) packets: f64,
    /// Least fairness, where the wish says nothing of who gets what.
    pub(crate) kept: Option<f64>,
}

/// A search at work.
pub(crate) struct Search<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) wish: &'a Wish,
    pub(crate) pool: &'a Pool,
    watch: Watch<'a>,
    counter: Counter<'a>,
    /// Packets per second of the full cell.
    pub(crate) pace: f64,
    pub(crate) ranges: Ranges,
    /// How many times the default's work.
    pub(crate) effort: f64,
    packets: f64,
    /// Least fairness, where the wish says nothing of who gets what: that of the cell as it is.
    kept: Option<f64>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        (scenario, wish): (&'a Scenario, &'a Wish),
        (pool, watch): (&'a Pool, Watch<'a>),
        (pace, ranges, effort): (f64, Ranges, f64),
    ) -> Self {
        let counter = Counter::new(watch);
        Search { scenario, wish, pool, watch, counter, pace, ranges, effort, packets: 0.0, kept: None }
    }

    /// Searches in `families`; `None` when it was stopped.
    pub(crate) fn run(mut self, families: &[&'static Family]) -> Option<Found> {
        // What a default search costs decides how many candidates it may look at: a scenario with a timetable of its own
        // is simulated whole.
        let first: usize = families.iter().map(|family| family.first).sum();
        let scale = self.effort * (BUDGET / self.cost_of_default(first + families.len())).clamp(0.2, 1.0);
        let many = |count: usize| ((count as f64 * scale).round() as usize).max(2);
        let mut rng = Rng::fork(self.scenario.run.seed, "plan");
        let mut ideas: Vec<Idea> = vec![(None, Vec::new(), Change::default())];
        for family in families {
            ideas.extend(design(family, many(family.first), &self.ranges));
        }
        let plain = self.look(&ideas[..1], SECOND)?;
        if self.wish.is_about_time_only() {
            self.kept = Some(plain[0].fairness * KEPT);
        }
        let mut seen = self.look(&unseen(ideas, &[]), FIRST)?;
        let as_is = seen[0].goodput;
        for _ in 0..GENERATIONS[0].0 {
            let parents = elites(&seen, as_is, many(16));
            let children = self.children(&parents, many(GENERATIONS[0].1), 0.12, &mut rng);
            let children = self.look(&unseen(children, &seen), FIRST)?;
            seen.extend(children);
        }
        for _ in 0..CROSSINGS.0 {
            let ideas = cross::between(&seen, &self.ranges, many(CROSSINGS.1));
            let between = self.look(&ideas, FIRST)?;
            seen.extend(between);
        }
        let mut second = self.promote(&seen, elites(&seen, as_is, many(SECOND_KEPT)), SECOND, true)?;
        for _ in 0..GENERATIONS[1].0 {
            let parents = elites(&second, as_is, many(6));
            let children = self.children(&parents, many(GENERATIONS[1].1), 0.05, &mut rng);
            let known: Vec<Outcome> = seen.iter().chain(&second).cloned().collect();
            second.extend(self.look(&unseen(children, &known), SECOND)?);
        }
        let third = self.promote(&second, elites(&second, as_is, many(THIRD_KEPT)), THIRD, false)?;
        let mut order = elites(&third, as_is, third.len());
        let mut proved: Vec<Outcome> = Vec::new();
        for batch in 0..=MORE_PROOFS {
            let rest = order.split_off(order.len().min(many(PROVED)));
            let worth = |outcome: &&Outcome| batch == 0 || outcome.seems_met;
            let ideas = order.iter().filter(worth).map(idea).collect::<Vec<_>>();
            proved.extend(self.look(&ideas, PROOF)?);
            if proved.iter().any(|outcome| outcome.meets) {
                break;
            }
            order = rest;
        }
        let best = best_goodput(&proved);
        let doubtful: Vec<Idea> = by_goodput(&proved)
            .into_iter()
            .filter(|o| !o.meets && o.seems_met && o.starved.is_nobody() && o.goodput > WORTH * best)
            .take(DOUBTFUL)
            .map(idea)
            .collect();
        let again = self.look(&doubtful, LONGER)?;
        proved.retain(|outcome| !again.iter().any(|other| other.change == outcome.change));
        proved.extend(again);
        rank(&mut proved, as_is);
        prefer_useful(&mut proved);
        let mut all = proved.clone();
        for outcome in third.into_iter().chain(second).chain(seen) {
            if !all.iter().any(|known| known.change == outcome.change) {
                all.push(outcome);
            }
        }
        let place = all.iter().position(|outcome| outcome.of.is_none()).unwrap_or(0);
        all.swap(0, place);
        Some(Found { proved, all, packets: self.packets, kept: self.kept })
    }

    /// Simulates `kept` in a rung, and with `families` the best of every family that did not get so far, and the cell as
    /// it is.
    fn promote(
        &mut self,
        from: &[Outcome],
        mut kept: Vec<Outcome>,
        rung: Rung,
        families: bool,
    ) -> Option<Vec<Outcome>> {
        if families {
            let mut ranked = from.to_vec();
            rank(&mut ranked, from[0].goodput);
            for outcome in ranked {
                let is_new = !kept.iter().any(|other| other.family == outcome.family);
                if is_new && (outcome.starved.is_nobody() || outcome.of.is_none()) {
                    kept.push(outcome);
                }
            }
        }
        self.look(&kept.iter().map(idea).collect::<Vec<_>>(), rung)
    }

    /// Simulates candidates in a rung.
    fn look(&mut self, ideas: &[Idea], rung: Rung) -> Option<Vec<Outcome>> {
        let scenarios: Vec<Scenario> =
            ideas.iter().map(|(_, _, change)| self.timed(&change.applied(self.scenario), rung)).collect();
        let jobs = scenarios.len() as u32 * rung.replicas;
        let delays = self.wish.needs_delays();
        self.counter.plan(jobs);
        let run = |job: u32| simulate(&scenarios[(job / rung.replicas) as usize], job % rung.replicas, delays);
        let replicas = self.pool.run(0..jobs, self.watch.cancel, run, |_| self.counter.done());
        if replicas.len() < jobs as usize {
            return None;
        }
        let mut replicas = replicas.into_iter();
        self.packets += ideas.len() as f64 * self.packets_of(rung);
        let outcome = |(idea, scenario): (&Idea, &Scenario)| {
            let sample = Sample::new(scenario, replicas.by_ref().take(rung.replicas as usize).collect());
            self.outcome(idea, sample, rung)
        };
        Some(ideas.iter().zip(&scenarios).map(outcome).collect())
    }

    fn outcome(&self, (family, at, change): &Idea, sample: Sample, rung: Rung) -> Outcome {
        let wish = self.wish;
        let doubt = if rung.replicas > 1 { 1.0 } else { 0.0 };
        let mut misses: Vec<f64> =
            wish.goals.iter().map(|goal| goal.miss(&sample, wish.tolerance, rung.margin, doubt)).collect();
        let seems_met = wish.goals.iter().all(|goal| goal.miss(&sample, wish.tolerance, 1.0, 0.0) <= 0.0);
        let fairness = sample.fairness();
        if let Some(kept) = self.kept {
            misses.push(((kept / fairness.max(1e-6)).ln() / wish.tolerance.ln_1p()).max(0.0));
        }
        let starved = sample.starved(wish.floor);
        let risky = rung.replicas >= 6 && sample.is_risky(wish.floor);
        let below = (starved.flows.len() + starved.stations.len()).min(10);
        // Who starves is further from any wish than a ratio that is off by ten tolerances.
        let shortfall =
            misses.iter().map(|miss| miss.min(1e6)).sum::<f64>() + 10.0 * below as f64 + f64::from(u8::from(risky));
        Outcome {
            family: family.map_or("as it is", |family| family.name),
            at: at.clone(),
            of: *family,
            change: change.clone(),
            rung: rung.number,
            reached: wish
                .goals
                .iter()
                .map(|goal| goal.reached(&sample))
                .chain(self.kept.map(|_| format!("{fairness:.3}")))
                .collect(),
            misses,
            seems_met,
            // A cell that delivers nothing has equal shares and no delay.
            meets: shortfall <= 0.0 && sample.goodput() > 0.0,
            shortfall,
            side: wish.goals.iter().find_map(|goal| goal.side(&sample)),
            starved,
            goodput: sample.goodput(),
            fairness,
            delay_s: sample.delay().mean.unwrap_or(0.0),
            fingerprint: sample.fingerprint,
            run: sample.scenario.run,
            report: sample.report,
        }
    }

    /// Flows come and go at times of their own, or something happens: the scenario keeps its time.
    fn is_steady(&self) -> bool {
        self.scenario.events.is_empty()
            && self.scenario.flows().all(|(_, flow)| flow.start == Duration::ZERO && flow.stop.is_none())
    }

    fn seconds(&self, rung: Rung) -> (f64, f64) {
        let factor = (USUAL_PACE / self.pace).clamp(0.25, 1.0);
        (rung.warmup_s, rung.measured_s * factor)
    }

    /// The scenario with the rung's length and seeds.
    pub(crate) fn timed(&self, scenario: &Scenario, rung: Rung) -> Scenario {
        let mut scenario = scenario.clone();
        scenario.run.replicas = rung.replicas;
        scenario.run.seed = scenario.run.seed.wrapping_add(rung.number << 32);
        if self.is_steady() {
            let (warmup, measured) = self.seconds(rung);
            scenario.run.warmup = Duration::from_millis((warmup * 1e3) as u64);
            scenario.run.duration = scenario.run.warmup + Duration::from_millis((measured * 1e3) as u64);
        }
        scenario
    }

    fn packets_of(&self, rung: Rung) -> f64 {
        let (warmup, measured) = self.seconds(rung);
        let whole = self.scenario.run.duration.as_secs_f64();
        let seconds = if self.is_steady() { warmup + measured } else { whole };
        f64::from(rung.replicas) * seconds * self.pace
    }

    fn cost_of_default(&self, first: usize) -> f64 {
        let looks = [
            (FIRST, first + GENERATIONS[0].0 * GENERATIONS[0].1),
            (SECOND, SECOND_KEPT + 20 + GENERATIONS[1].0 * GENERATIONS[1].1),
            (THIRD, THIRD_KEPT),
            (PROOF, PROVED),
        ];
        looks.into_iter().map(|(rung, count)| count as f64 * self.packets_of(rung)).sum()
    }

    /// Points near the parents, each with one coordinate moved, or all.
    fn children(&self, parents: &[Outcome], count: usize, step: f64, rng: &mut Rng) -> Vec<Idea> {
        let parents: Vec<&Outcome> = parents.iter().filter(|parent| !parent.at.is_empty()).collect();
        let mut ideas = Vec::new();
        for n in 0..count * usize::from(!parents.is_empty()) {
            let parent = parents[n % parents.len()];
            let (Some(family), mut at) = (parent.of, parent.at.clone()) else { continue };
            let own = (rng.next_u64() % at.len() as u64) as usize;
            let all = rng.uniform() < 0.3;
            for (index, x) in at.iter_mut().enumerate() {
                let moved = (rng.uniform() + rng.uniform() + rng.uniform() - 1.5) * 2.0 * step;
                if all || index == own {
                    *x = (*x + moved).clamp(0.0, 1.0);
                }
            }
            let change = family.change(&self.ranges, &at);
            ideas.push((Some(family), at, change));
        }
        ideas
    }
}

/// Points spread evenly over a family's cube: an additive recurrence with the generalised golden ratio of its dimension.
fn design(family: &'static Family, count: usize, ranges: &Ranges) -> Vec<Idea> {
    let mut golden = 1.5_f64;
    for _ in 0..40 {
        golden = (1.0 + golden).powf(1.0 / (family.dims as f64 + 1.0));
    }
    let point = |n: usize| -> Vec<f64> {
        if family.dims == 1 {
            return vec![n as f64 / (count.max(2) - 1) as f64];
        }
        (1..=family.dims as i32).map(|k| (0.5 + (n as f64 + 1.0) / golden.powi(k)).fract()).collect()
    };
    (0..count).map(point).map(|at| (Some(family), at.clone(), family.change(ranges, &at))).collect()
}

fn idea(outcome: &Outcome) -> Idea {
    (outcome.of, outcome.at.clone(), outcome.change.clone())
}

/// Ideas that change something else than each other and than what was looked at.
fn unseen(ideas: Vec<Idea>, seen: &[Outcome]) -> Vec<Idea> {
    let mut new: Vec<Idea> = Vec::new();
    for idea in ideas {
        if !new.iter().any(|other| other.2 == idea.2) && !seen.iter().any(|other| other.change == idea.2) {
            new.push(idea);
        }
    }
    new
}
