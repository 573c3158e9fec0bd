//! From many candidates to the few that are worth a long look: each round simulates those left for longer.

use std::cmp::Ordering;
use std::sync::atomic::AtomicBool;

use fairair_core::metrics::{Provenance, Report};
use fairair_core::record::Record;
use fairair_core::remedy::{Candidate, Deploy};
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;
use fairair_sim::replicas::Pool;

use super::goal::Wish;
use crate::progress::Progress;

/// A round of the search.
struct Round {
    /// Candidates that enter it.
    candidates: usize,
    replicas: u32,
    /// Measured time of each replica, after the warm-up.
    measured: Duration,
}

/// Short looks at all, long looks at the best. The last round is the proof that a plan comes with.
const ROUNDS: [Round; 3] = [
    Round { candidates: usize::MAX, replicas: 1, measured: Duration::from_secs(60) },
    Round { candidates: 24, replicas: 4, measured: Duration::from_secs(120) },
    Round { candidates: 6, replicas: 8, measured: Duration::from_secs(300) },
];
const WARMUP: Duration = Duration::from_secs(20);
/// The best so many of the first round are tried with their parameters between the steps too.
const REFINED: usize = 10;
/// Share of the tolerance that the search allows: what is met with room to spare is met by other seeds too.
const MARGIN: f64 = 0.7;
/// Goodputs closer than this are alike, and the simpler change wins.
const ALIKE: f64 = 0.01;

/// A candidate and what the last round that it reached says of it.
pub(crate) struct Verified {
    pub(crate) candidate: Candidate,
    pub(crate) report: Report,
    /// Whether it meets the wish with room to spare.
    pub(crate) meets: bool,
    shortfall: f64,
}

/// The candidates of the last round, the recommended one first; `None` when `cancel` was set.
pub(crate) fn search(
    candidates: Vec<Candidate>,
    wish: &Wish,
    pool: &Pool,
    cancel: &AtomicBool,
) -> Option<Vec<Verified>> {
    let mut left: Vec<Candidate> = candidates;
    let mut ranked = Vec::new();
    for (number, round) in (0..).zip(&ROUNDS) {
        left.truncate(round.candidates);
        ranked = look(left, number, round, wish, pool, cancel)?;
        ranked.sort_by(better);
        if number == 0 {
            let seen: Vec<Candidate> = ranked.iter().map(|v| v.candidate.clone()).collect();
            let mut between: Vec<Candidate> = seen.iter().take(REFINED).flat_map(Candidate::neighbours).collect();
            between.retain(|candidate| !seen.contains(candidate));
            ranked.extend(look(between, number, round, wish, pool, cancel)?);
            ranked.sort_by(better);
        }
        left = ranked.iter().map(|verified| verified.candidate.clone()).collect();
    }
    prefer_simple(&mut ranked);
    Some(ranked)
}

/// What is closer to the wish goes first; what meets it, by its goodput.
fn better(a: &Verified, b: &Verified) -> Ordering {
    let goodput = |v: &Verified| v.report.totals.goodput_bps.mean.unwrap_or(0.0);
    a.shortfall.total_cmp(&b.shortfall).then(goodput(b).total_cmp(&goodput(a)))
}

/// Among those that meet the wish and carry as much as the best, the simplest change goes first, then the least delay.
fn prefer_simple(ranked: &mut [Verified]) {
    let goodput = |v: &Verified| v.report.totals.goodput_bps.mean.unwrap_or(0.0);
    let effort = |v: &Verified| match v.candidate.deploy {
        Deploy::Nothing => 0,
        Deploy::Ap => 1,
        Deploy::Box => 2,
    };
    let Some(best) = ranked.first().filter(|best| best.meets).map(goodput) else { return };
    let alike = ranked.iter().take_while(|v| v.meets && goodput(v) >= best * (1.0 - ALIKE)).count();
    let delay = |v: &Verified| {
        v.report.ap_queue.p95_sojourn_s.mean.unwrap_or(0.0) + v.report.box_sojourn_s().mean.unwrap_or(0.0)
    };
    ranked[..alike].sort_by(|a, b| effort(a).cmp(&effort(b)).then(delay(a).total_cmp(&delay(b))));
}

fn look(
    candidates: Vec<Candidate>,
    number: u64,
    round: &Round,
    wish: &Wish,
    pool: &Pool,
    cancel: &AtomicBool,
) -> Option<Vec<Verified>> {
    let scenarios: Vec<Scenario> =
        candidates.iter().map(|candidate| timed(&candidate.scenario, number, round)).collect();
    let jobs = scenarios.len() as u32 * round.replicas;
    let progress = Progress::new(jobs);
    let simulate = |job: u32| fairair_sim::run(&scenarios[(job / round.replicas) as usize], job % round.replicas);
    let records: Vec<Record> = pool.run(0..jobs, cancel, simulate, |_| progress.done());
    if records.len() < jobs as usize {
        return None;
    }
    let verified = candidates.into_iter().zip(&scenarios).zip(records.chunks(round.replicas as usize)).map(
        |((candidate, scenario), records)| {
            let report = Report::new(
                scenario,
                records,
                Provenance {
                    engine: "simulator".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    replicas_planned: round.replicas,
                    interrupted: false,
                    until_ci: None,
                },
            );
            let shortfall = wish.shortfall(&report, MARGIN);
            Verified { candidate, meets: shortfall <= 0.0, shortfall, report }
        },
    );
    Some(verified.collect())
}

/// The scenario with the round's length and seeds of its own. A scenario in which flows come and go keeps its time.
fn timed(scenario: &Scenario, number: u64, round: &Round) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.run.replicas = round.replicas;
    // A candidate that was lucky in one round should not be lucky in the next.
    scenario.run.seed = scenario.run.seed.wrapping_add(number << 32);
    let steady = scenario.flows().all(|(_, flow)| flow.start == Duration::ZERO && flow.stop.is_none());
    if steady {
        scenario.run.warmup = WARMUP;
        scenario.run.duration = WARMUP + round.measured;
    }
    scenario
}
