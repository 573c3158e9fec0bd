//! Replicas in batches: one as planned, or as many as a wanted precision takes.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use fairair_core::metrics::{DirectionReport, Estimate, Provenance, Report, UntilCi};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_sim::replicas::Pool;

use crate::args::{Percent, RunArgs};
use crate::capture::Capture;
use crate::error::CliError;
use crate::progress::Progress;

/// A direction whose mean flow goodput is below this part of the fair share is starved.
const STARVED: f64 = 0.05;
/// Replicas that `--until-ci` runs at least: two that agree by chance would end the run too soon.
const FIRST_BATCH: u32 = 5;

/// How many replicas to run, and on how many threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Threads; 0 is one a processor.
    pub jobs: usize,
    /// The wanted precision; without it the scenario's replicas are run.
    pub until_ci: Option<Percent>,
    /// Most replicas that the precision may take.
    pub max_replicas: u32,
}

impl From<&RunArgs> for Effort {
    fn from(args: &RunArgs) -> Self {
        Effort { jobs: args.jobs.unwrap_or(0).into(), until_ci: args.until_ci, max_replicas: args.max_replicas }
    }
}

/// What was run.
pub struct Execution {
    /// Of replicas 0, 1, ...
    pub records: Vec<Record>,
    /// Replicas that would have been run without an interruption.
    pub planned: u32,
    /// Whether it was stopped.
    pub interrupted: bool,
    /// The wanted precision and whether it was reached.
    pub until_ci: Option<UntilCi>,
}

/// Runs a scenario as `fairair run` does, for programs: nothing is printed. With `pcap` the frames on the air in replica
/// 0 are written to that file. `done` is told after each replica how many are done, and of how many.
///
/// # Errors
/// A capture that cannot be written: before anything runs where that can be known, else after replica 0.
pub fn simulate(
    scenario: &Scenario,
    effort: Effort,
    pcap: Option<&Path>,
    cancel: &AtomicBool,
    done: impl Fn(u32, u32) + Sync,
) -> Result<Execution, CliError> {
    let capture = pcap.map(|path| Capture::open(path, scenario)).transpose()?;
    let (ended, planned) = (AtomicU32::new(0), AtomicU32::new(0));
    let told = Told {
        plan: |replicas| planned.store(replicas, Ordering::SeqCst),
        done: || done(ended.fetch_add(1, Ordering::SeqCst) + 1, planned.load(Ordering::SeqCst)),
    };
    batches(scenario, effort, capture.as_ref(), cancel, &told)
}

/// Runs the scenario as `args` ask, replica 0 with `capture`, until done or `cancel` is set.
pub(crate) fn execute(
    scenario: &Scenario,
    args: &RunArgs,
    capture: Option<&Capture>,
    cancel: &AtomicBool,
) -> Result<Execution, CliError> {
    let effort = Effort::from(args);
    let progress = Progress::new(first_batch(scenario, effort));
    let told = Told { plan: |replicas| progress.plan(replicas), done: || progress.done() };
    batches(scenario, effort, capture, cancel, &told)
}

/// Who hears how far a run is.
struct Told<P, D> {
    /// So many replicas are planned.
    plan: P,
    /// One more is done.
    done: D,
}

fn batches(
    scenario: &Scenario,
    args: Effort,
    capture: Option<&Capture>,
    cancel: &AtomicBool,
    told: &Told<impl Fn(u32) + Sync, impl Fn() + Sync>,
) -> Result<Execution, CliError> {
    let pool = Pool::new(args.jobs).map_err(|error| CliError::Threads(error.to_string()))?;
    let mut planned = first_batch(scenario, args);
    (told.plan)(planned);
    // The whole of `told` cannot be shared between threads.
    let done = &told.done;
    let replica = |replica: u32| match capture {
        Some(capture) if replica == 0 => capture.run(scenario),
        _ => Ok(fairair_sim::run(scenario, replica)),
    };
    let mut records: Vec<Record> = Vec::new();
    loop {
        let batch: Range<u32> = records.len() as u32..planned;
        for record in pool.run(batch, cancel, replica, |_| done()) {
            records.push(record?);
        }
        let interrupted = (records.len() as u32) < planned;
        let target = args.until_ci;
        let worst = target.and_then(|_| worst_half_width(&interim(scenario, &records)));
        let until_ci = target.map(|Percent(target_percent)| UntilCi {
            target_percent,
            reached: worst.is_some_and(|worst| worst * 100.0 <= target_percent),
        });
        let satisfied = until_ci.is_none_or(|until_ci| until_ci.reached) || planned >= args.max_replicas;
        if interrupted || satisfied || cancel.load(Ordering::SeqCst) {
            let interrupted = interrupted || !satisfied;
            return Ok(Execution { records, planned, interrupted, until_ci });
        }
        let target = target.map_or(f64::INFINITY, |Percent(percent)| percent / 100.0);
        planned = (planned + next_batch(planned, worst, target)).min(args.max_replicas);
        (told.plan)(planned);
    }
}

fn first_batch(scenario: &Scenario, args: Effort) -> u32 {
    match args.until_ci {
        Some(_) => scenario.run.replicas.max(FIRST_BATCH).min(args.max_replicas),
        None => scenario.run.replicas,
    }
}

/// How many replicas to add: what the spread seen so far asks for, half-widths shrinking with the square root of
/// their number, but between a quarter and all of those done. It depends on results only, never on the number of threads.
fn next_batch(done: u32, worst: Option<f64>, target: f64) -> u32 {
    let needed = worst.map_or(f64::INFINITY, |worst| f64::from(done) * (worst / target).powi(2));
    // The cast saturates.
    (needed.ceil() as u32).saturating_sub(done).clamp(done.div_ceil(4), done.max(1))
}

/// The largest half-width over mean among the quantities that `--until-ci` watches; `None` when one is not known yet.
fn worst_half_width(report: &Report) -> Option<f64> {
    let flows = f64::from(report.directions.up.flows + report.directions.down.flows);
    let starved = STARVED * report.totals.goodput_bps.mean? / flows;
    let watched = |direction: &&DirectionReport| {
        direction.mean_flow_goodput_bps.mean.is_some_and(|goodput| goodput > 0.0 && goodput >= starved)
    };
    let directions = [&report.directions.up, &report.directions.down];
    let mut worst = relative(report.totals.goodput_bps)?;
    for direction in directions.into_iter().filter(watched) {
        worst = worst.max(relative(direction.mean_flow_goodput_bps)?);
    }
    Some(worst)
}

/// A quantity that never varies is precise, even when it is zero.
fn relative(estimate: Estimate) -> Option<f64> {
    if estimate.ci95 == Some(0.0) { Some(0.0) } else { estimate.relative_half_width() }
}

fn interim(scenario: &Scenario, records: &[Record]) -> Report {
    let provenance = Provenance {
        engine: String::new(),
        version: String::new(),
        replicas_planned: 0,
        interrupted: false,
        until_ci: None,
    };
    Report::new(scenario, records, provenance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::output::fixture;
    use clap::Parser;

    fn args(more: &[&str]) -> RunArgs {
        let line = ["fairair", "run", "cell.toml", "--jobs", "1"].iter().chain(more);
        match Cli::parse_from(line).command {
            Command::Run(args) => args,
            _ => unreachable!("the line says run"),
        }
    }

    #[test]
    fn a_raised_flag_ends_the_run_before_it_starts() {
        let run = execute(&fixture::scenario(), &args(&[]), None, &AtomicBool::new(true)).unwrap();
        assert_eq!((run.records.len(), run.planned, run.interrupted), (0, 3, true));
    }

    #[test]
    fn the_planned_replicas_are_run() {
        let run = execute(&fixture::scenario(), &args(&[]), None, &AtomicBool::new(false)).unwrap();
        assert_eq!((run.records.len(), run.planned, run.interrupted, run.until_ci), (3, 3, false, None));
    }

    #[test]
    fn a_program_gets_what_the_command_gets_and_hears_of_each_replica() {
        let effort = Effort { jobs: 1, until_ci: None, max_replicas: 1000 };
        let heard = std::sync::Mutex::new(Vec::new());
        let note = |done, planned| heard.lock().unwrap().push((done, planned));
        let run = simulate(&fixture::scenario(), effort, None, &AtomicBool::new(false), note).unwrap();
        assert_eq!((run.records.len(), run.planned, run.interrupted), (3, 3, false));
        assert_eq!(heard.into_inner().unwrap(), [(1, 3), (2, 3), (3, 3)]);
    }

    #[test]
    fn no_more_than_the_most_replicas_are_run_for_precision() {
        let args = args(&["--until-ci", "0.000000001%", "--max-replicas", "7"]);
        let run = execute(&fixture::scenario(), &args, None, &AtomicBool::new(false)).unwrap();
        assert_eq!((run.records.len(), run.interrupted), (7, false));
        assert!(run.until_ci.is_some_and(|until| !until.reached));
    }

    #[test]
    fn batches_grow_with_the_spread_but_never_more_than_double() {
        // Half-widths 1.2 times too wide: 1.44 times the replicas.
        assert_eq!(next_batch(100, Some(0.012), 0.01), 44);
        assert_eq!(next_batch(100, Some(0.0101), 0.01), 25);
        assert_eq!(next_batch(100, Some(1.0), 0.01), 100);
        assert_eq!(next_batch(5, None, 0.01), 5);
    }

    #[test]
    fn a_starved_direction_does_not_keep_the_run_going() {
        let mut report = fixture::report();
        let estimate = |mean, ci95| Estimate { mean: Some(mean), ci95: Some(ci95), n: 5 };
        let flows = f64::from(report.directions.up.flows + report.directions.down.flows);
        report.totals.goodput_bps = estimate(flows * 100.0, flows);
        report.directions.up.mean_flow_goodput_bps = estimate(200.0, 4.0);
        report.directions.down.mean_flow_goodput_bps = estimate(4.9, 4.9);
        assert_eq!(worst_half_width(&report), Some(0.02));
        report.directions.down.mean_flow_goodput_bps = estimate(5.0, 4.0);
        assert_eq!(worst_half_width(&report), Some(0.8));
        report.directions.down.mean_flow_goodput_bps.ci95 = None;
        assert_eq!(worst_half_width(&report), None);
    }
}
