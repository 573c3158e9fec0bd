//! A scenario's replicas: as many as it asks for, or as many as a wanted precision takes.

use fairair_core::metrics::{DirectionReport, Estimate, Provenance, Report, UntilCi};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

use crate::replicas::Pool;
use crate::watch::{Counter, UnderWay, Watch};

/// A direction whose mean flow goodput is below this part of the fair share is starved.
const STARVED: f64 = 0.05;
/// Replicas that a precision takes at least: two that agree by chance would end the run too soon.
const FIRST_BATCH: u32 = 5;
/// Most replicas that a precision takes unless told otherwise.
pub const MAX_REPLICAS: u32 = 1000;

/// How many replicas to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Wanted 95 % half-width over mean, in per cent; without it the scenario's replicas are run.
    ///
    /// Watched are the total goodput and the mean flow goodput of each direction that is not starved.
    pub until_ci_percent: Option<f64>,
    /// Most replicas that the precision may take.
    pub max_replicas: u32,
}

impl Default for Effort {
    /// The scenario's replicas.
    fn default() -> Self {
        Effort { until_ci_percent: None, max_replicas: MAX_REPLICAS }
    }
}

impl Effort {
    fn first_batch(self, scenario: &Scenario) -> u32 {
        match self.until_ci_percent {
            Some(_) => scenario.run.replicas.max(FIRST_BATCH).min(self.max_replicas),
            None => scenario.run.replicas,
        }
    }
}

/// What was run.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Of replicas 0, 1, ...
    pub records: Vec<Record>,
    /// Replicas that would have been run without an interruption.
    pub planned: u32,
    /// Whether it was stopped before it was done.
    pub interrupted: bool,
    /// The wanted precision and whether it was reached.
    pub until_ci: Option<UntilCi>,
}

impl Execution {
    /// The result of these records of `scenario`. `engine` is what ran them.
    pub fn report(&self, scenario: &Scenario, engine: &str) -> Report {
        Report::new(scenario, &self.records, self.provenance(engine))
    }

    fn provenance(&self, engine: &str) -> Provenance {
        Provenance {
            engine: engine.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            replicas_planned: self.planned,
            interrupted: self.interrupted,
            until_ci: self.until_ci,
        }
    }
}

/// Name of the simulator in results.
pub const SIMULATOR: &str = "simulator";

/// Simulates a scenario. The records depend on scenario and effort alone, not on the number of threads.
pub fn simulate(scenario: &Scenario, effort: Effort, pool: &Pool, watch: Watch) -> Execution {
    let run = |replica, is_abandoned: &dyn Fn() -> bool| {
        Ok::<_, std::convert::Infallible>(crate::run_unless(scenario, replica, None, is_abandoned))
    };
    match simulate_by(scenario, effort, pool, watch, run) {
        Ok(execution) => execution,
        Err(never) => match never {},
    }
}

/// As [`simulate`], with the caller's way to run a replica: with a monitor on the channel, or on another engine. What `replica` is
/// lent says when to abandon it, which `None` answers.
///
/// # Errors
/// The first error of `replica`, after the replicas that were running beside it.
pub fn simulate_by<E: Send>(
    scenario: &Scenario,
    effort: Effort,
    pool: &Pool,
    watch: Watch,
    replica: impl Fn(u32, &dyn Fn() -> bool) -> Result<Option<Record>, E> + Sync,
) -> Result<Execution, E> {
    let counter = Counter::new(watch);
    let mut planned = effort.first_batch(scenario);
    counter.plan(planned);
    let under_way = UnderWay::new(watch);
    let one = |number| {
        let record = replica(number, &|| under_way.is_abandoned())?;
        Ok(record.inspect(|_| under_way.complete()))
    };
    let mut records: Vec<Record> = Vec::new();
    loop {
        for record in pool.run(records.len() as u32..planned, watch.cancel, one, |_| counter.done()) {
            // Behind one that was abandoned none counts: a result is that of the first few.
            let Some(record) = record? else { break };
            records.push(record);
        }
        let interrupted = (records.len() as u32) < planned;
        let worst = effort.until_ci_percent.and_then(|_| worst_half_width(&interim(scenario, &records)));
        let until_ci = effort.until_ci_percent.map(|target_percent| UntilCi {
            target_percent,
            reached: worst.is_some_and(|worst| worst * 100.0 <= target_percent),
        });
        let satisfied = until_ci.is_none_or(|until_ci| until_ci.reached) || planned >= effort.max_replicas;
        if interrupted || satisfied || watch.is_cancelled() {
            return Ok(Execution { records, planned, interrupted: interrupted || !satisfied, until_ci });
        }
        let target = effort.until_ci_percent.map_or(f64::INFINITY, |percent| percent / 100.0);
        let more = next_batch(planned, worst, target).min(effort.max_replicas - planned);
        counter.plan(more);
        planned += more;
    }
}

/// How many replicas to add: what the spread seen so far asks for, half-widths shrinking with the square root of
/// their number, but between a quarter and all of those done. It depends on results only, never on the number of threads.
fn next_batch(done: u32, worst: Option<f64>, target: f64) -> u32 {
    let needed = worst.map_or(f64::INFINITY, |worst| f64::from(done) * (worst / target).powi(2));
    // The cast saturates.
    (needed.ceil() as u32).saturating_sub(done).clamp(done.div_ceil(4), done.max(1))
}

/// The largest half-width over mean among the quantities that a precision watches; `None` when one is not known yet.
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
    Report::in_brief(scenario, records, Provenance::default())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::watch::Progress;

    fn scenario() -> Scenario {
        let text = "[run]\nduration = \"2 s\"\nwarmup = \"1 s\"\nreplicas = 3\n\
                    [[station]]\nname = \"a\"\nflows = [{ direction = \"up\" }, { direction = \"down\" }]\n";
        Scenario::from_toml(&format!("name = \"small\"\n{text}"), "small.toml").unwrap()
    }

    fn run(effort: Effort, cancel: &AtomicBool) -> Execution {
        simulate(&scenario(), effort, &Pool::new(1).unwrap(), Watch { cancel, progress: &|_| () })
    }

    #[test]
    fn a_raised_flag_ends_the_run_before_it_starts() {
        let run = run(Effort::default(), &AtomicBool::new(true));
        assert_eq!((run.records.len(), run.planned, run.interrupted), (0, 3, true));
    }

    #[test]
    fn the_planned_replicas_are_run_and_told() {
        let told = Mutex::new(Vec::new());
        let cancel = AtomicBool::new(false);
        let progress = |Progress { done, planned }| told.lock().unwrap().push((done, planned));
        let watch = Watch { cancel: &cancel, progress: &progress };
        let run = simulate(&scenario(), Effort::default(), &Pool::new(2).unwrap(), watch);
        assert_eq!((run.records.len(), run.planned, run.interrupted, run.until_ci), (3, 3, false, None));
        assert_eq!(told.into_inner().unwrap(), [(0, 3), (1, 3), (2, 3), (3, 3)]);
    }

    #[test]
    fn what_is_complete_when_the_flag_is_raised_is_kept() {
        let cancel = AtomicBool::new(false);
        let progress = |progress: Progress| cancel.store(progress.done == 2, std::sync::atomic::Ordering::SeqCst);
        let watch = Watch { cancel: &cancel, progress: &progress };
        let run = simulate(&scenario(), Effort::default(), &Pool::new(1).unwrap(), watch);
        assert_eq!((run.records.len(), run.planned, run.interrupted), (2, 3, true));
        let report = run.report(&scenario(), SIMULATOR);
        assert_eq!((report.replicas, report.interrupted), (2, true));
    }

    /// A thousand million seconds: what waits for them waits for ever.
    #[test]
    fn an_endless_replica_is_abandoned() {
        let mut endless = scenario();
        endless.run.duration = fairair_core::units::Duration::from_secs(1_000_000_000);
        let cancel = AtomicBool::new(false);
        let progress = |_| ();
        let run = std::thread::scope(|scope| {
            let watch = Watch { cancel: &cancel, progress: &progress };
            let run = scope.spawn(move || simulate(&endless, Effort::default(), &Pool::new(2).unwrap(), watch));
            std::thread::sleep(std::time::Duration::from_millis(50));
            cancel.store(true, std::sync::atomic::Ordering::SeqCst);
            run.join().unwrap()
        });
        assert_eq!((run.records.len(), run.planned, run.interrupted), (0, 3, true));
    }

    #[test]
    fn the_first_error_of_a_replica_ends_the_run() {
        let cancel = AtomicBool::new(false);
        let watch = Watch { cancel: &cancel, progress: &|_| () };
        let replica = |replica, _: &dyn Fn() -> bool| {
            if replica == 1 { Err("disk full") } else { Ok(Some(Record::default())) }
        };
        let run = simulate_by(&scenario(), Effort::default(), &Pool::new(1).unwrap(), watch, replica);
        assert_eq!(run.err(), Some("disk full"));
    }

    #[test]
    fn no_more_than_the_most_replicas_are_run_for_precision() {
        let effort = Effort { until_ci_percent: Some(1e-9), max_replicas: 7 };
        let run = run(effort, &AtomicBool::new(false));
        assert_eq!((run.records.len(), run.planned, run.interrupted), (7, 7, false));
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
        let mut report = interim(&scenario(), &[]);
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
