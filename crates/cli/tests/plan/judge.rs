//! Judges a plan without the planner: its own measure of the goal, seeds that the planner never used, and runs five
//! times as long.

use std::sync::atomic::AtomicBool;

use fairair_core::metrics::{Provenance, Report};
use fairair_core::remedy::candidates;
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;
use fairair_sim::replicas::Pool;

use super::problem::Problem;

const WARMUP: Duration = Duration::from_secs(20);
/// Five times what the last round of the planner looks at.
const REPLICAS: u32 = 8;
const LONG: Duration = Duration::from_secs(1500);
/// A look at every candidate, to find those that may be better than the chosen one.
const SHORT: Duration = Duration::from_secs(200);
/// Far from what the planner makes of the scenario's seed.
const SEED: u64 = 0x5eed_0000_0000_0007;
/// Of the candidates that seem to be better than the chosen one, so many are looked at for long.
const SUSPECTS: usize = 8;

/// What an independent simulation says of a configuration.
pub(crate) struct Judgement {
    pub(crate) meets: bool,
    pub(crate) goodput: f64,
    /// The ratios and delay that decide, for people.
    pub(crate) figures: String,
}

/// Simulates at length.
pub(crate) fn judge(problem: &Problem, scenario: &Scenario) -> Judgement {
    let report = simulate(&[scenario], REPLICAS, LONG).remove(0);
    let (miss, figures) = miss(problem, &report);
    Judgement { meets: miss <= 1.0, goodput: report.totals.goodput_bps.mean.unwrap(), figures }
}

/// The most goodput among candidates that meet the goal: every one of the planner's list is looked at, and those that
/// seem to beat `goodput` by more than 5 % are judged at length, the best first.
pub(crate) fn better_than(problem: &Problem, goodput: f64) -> Option<(String, Judgement)> {
    let candidates = candidates(&problem.scenario, problem.deploy());
    let scenarios: Vec<&Scenario> = candidates.iter().map(|candidate| &candidate.scenario).collect();
    let reports = simulate(&scenarios, 1, SHORT);
    let total = |report: &Report| report.totals.goodput_bps.mean.unwrap_or(0.0);
    let mut suspects: Vec<usize> = (0..candidates.len())
        // One short run may miss by a little what a long one meets.
        .filter(|i| total(&reports[*i]) > 1.05 * goodput && miss(problem, &reports[*i]).0 <= 1.5)
        .collect();
    suspects.sort_by(|a, b| total(&reports[*b]).total_cmp(&total(&reports[*a])));
    suspects.truncate(SUSPECTS);
    suspects
        .into_iter()
        .map(|i| (candidates[i].snippet.clone(), judge(problem, &candidates[i].scenario)))
        .find(|(_, judgement)| judgement.meets && judgement.goodput > 1.05 * goodput)
}

/// How far from the goal, in tolerances: met up to 1. A delay is met up to what was asked for.
fn miss(problem: &Problem, report: &Report) -> (f64, String) {
    let tolerance = problem.tolerance().ln_1p();
    let ratio = |estimate: Option<f64>| estimate.filter(|ratio| *ratio > 0.0);
    let mut worst: f64 = 0.0;
    let mut figures = Vec::new();
    for (name, wanted) in problem.goals() {
        let reached = match name {
            "level" if wanted.to_bits() == 1.0_f64.to_bits() => furthest_station(report),
            "level" => ratio(report.indices.fairness_level_first_station.mean),
            "up/down" => ratio(report.indices.up_down_ratio.mean),
            "down/up" => ratio(report.indices.up_down_ratio.mean).map(|ratio| 1.0 / ratio),
            other => panic!("{other} is no goal"),
        };
        worst = worst.max(reached.map_or(f64::INFINITY, |reached| (reached / wanted).ln().abs() / tolerance));
        figures.push(format!("{name} {}", reached.map_or("none".to_owned(), |reached| format!("{reached:.3}"))));
    }
    if let Some(most) = problem.max_delay() {
        let delay = report.ap_queue.p95_sojourn_s.mean.unwrap_or(0.0) + report.box_sojourn_s().mean.unwrap_or(0.0);
        worst = worst.max(1.0 + (delay / most).ln().max(0.0) / tolerance);
        figures.push(format!("{:.1} ms", delay * 1e3));
    }
    (worst, figures.join(", "))
}

/// Of all stations with flows, the ratio to the mean of the others that is furthest from 1; none when one gets nothing.
fn furthest_station(report: &Report) -> Option<f64> {
    let goodputs = |name: &str| -> Vec<Option<f64>> {
        report.flows.iter().filter(|flow| flow.station == name).map(|flow| flow.goodput_bps.mean).collect()
    };
    let of_flows = report.stations.iter().map(|station| goodputs(&station.name)).filter(|flows| !flows.is_empty());
    let stations: Vec<f64> = of_flows.map(|flows| flows.into_iter().flatten().sum()).collect();
    let total: f64 = stations.iter().sum();
    let level = |own: &f64| own * (stations.len() as f64 - 1.0) / (total - own);
    let levels: Vec<f64> = stations.iter().map(level).filter(|level| *level > 0.0).collect();
    (levels.len() == stations.len()).then(|| levels.into_iter().max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())))?
}

fn simulate(scenarios: &[&Scenario], replicas: u32, measured: Duration) -> Vec<Report> {
    let timed = |scenario: &&Scenario| {
        let mut scenario = (*scenario).clone();
        (scenario.run.seed, scenario.run.replicas) = (SEED, replicas);
        (scenario.run.warmup, scenario.run.duration) = (WARMUP, WARMUP + measured);
        scenario
    };
    let scenarios: Vec<Scenario> = scenarios.iter().map(timed).collect();
    let run = |job: u32| fairair_sim::run(&scenarios[(job / replicas) as usize], job % replicas);
    let jobs = 0..scenarios.len() as u32 * replicas;
    let records = Pool::new(0).unwrap().run(jobs, &AtomicBool::new(false), run, |_| ());
    let provenance = || Provenance {
        engine: "simulator".to_owned(),
        version: String::new(),
        replicas_planned: replicas,
        interrupted: false,
        until_ci: None,
    };
    let chunks = records.chunks(replicas as usize);
    scenarios.iter().zip(chunks).map(|(scenario, records)| Report::new(scenario, records, provenance())).collect()
}
