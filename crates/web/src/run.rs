//! The simulation of a cell: a first look at once, then answers that grow more precise.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration as Real, Instant as Now};

use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;
use fairair_sim::replicas::Pool;
use fairair_sim::{Effort, Execution, SIMULATOR, simulate_by};

use crate::answer::{Answer, Source};
use crate::engine;
use crate::jobs::Job;
use crate::limits;

/// Half-width over mean at which an answer is precise enough, in per cent.
const PRECISE_PERCENT: f64 = 2.0;
/// Simulated time of a first look, and its warm-up.
const GLANCE: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(1));
/// Time between two answers.
const PAUSE: Real = Real::from_millis(200);

/// Sends answers until they are precise or the browser is gone: `fairair run --until-ci 2%` gives the last one, too.
pub(crate) fn run(scenario: &Scenario, job: &Job) {
    if let Some(short) = glance(scenario) {
        let execution = of(vec![engine::run(&short, 0, None)], false);
        job.send("answer", &Answer::new(&execution.report(&short, SIMULATOR), &short, Source::Glance));
    }
    let Some(pool) = job.pool() else { return };
    let effort = Effort { until_ci_percent: Some(PRECISE_PERCENT), max_replicas: limits::refined_replicas(scenario) };
    let interim = Mutex::new(Interim::default());
    let replica = |replica, _: &dyn Fn() -> bool| {
        let record = engine::run(scenario, replica, None);
        let mut interim = interim.lock().unwrap_or_else(PoisonError::into_inner);
        interim.add(replica, record.clone());
        if let Some(records) = interim.due() {
            let report = of(records, false).report(scenario, SIMULATOR);
            job.send("answer", &Answer::new(&report, scenario, Source::Simulation));
        }
        Ok::<_, Infallible>(Some(record))
    };
    let Ok(execution) = job.watched(0, 0, |watch| simulate_by(scenario, effort, &pool, watch, replica));
    let report = execution.report(scenario, SIMULATOR);
    job.send("answer", &Answer::new(&report, scenario, Source::Simulation));
    job.send("done", &serde_json::json!({ "precise": execution.until_ci.is_some_and(|until| until.reached) }));
}

/// The first seconds of a scenario; none of one that is short anyway or in which something happens at a certain time.
fn glance(scenario: &Scenario) -> Option<Scenario> {
    let (duration, warmup) = GLANCE;
    let plain = scenario.events.is_empty()
        && scenario.flows().all(|(_, flow)| flow.start == Duration::ZERO && flow.stop.is_none());
    let mut short = scenario.clone();
    short.run.duration = duration;
    short.run.warmup = warmup;
    short.run.start_spread = scenario.run.start_spread.min(Duration::from_millis(400));
    short.run.sample_interval = None;
    (plain && scenario.run.duration > Duration::from_secs(6)).then_some(short)
}

fn of(records: Vec<Record>, interrupted: bool) -> Execution {
    let planned = records.len() as u32;
    Execution { records, planned, interrupted, until_ci: None }
}

/// The records of a run that is under way.
#[derive(Default)]
struct Interim {
    /// Of replicas 0, 1, ... without a gap.
    records: Vec<Record>,
    later: BTreeMap<u32, Record>,
    told: Option<(usize, Now)>,
}

impl Interim {
    fn add(&mut self, replica: u32, record: Record) {
        self.later.insert(replica, record);
        while let Some(record) = self.later.remove(&(self.records.len() as u32)) {
            self.records.push(record);
        }
    }

    /// The records of the next answer, if it is time for one.
    fn due(&mut self) -> Option<Vec<Record>> {
        let now = Now::now();
        let count = self.records.len();
        let due = match self.told {
            None => count > 0,
            Some((told, at)) => count > told && now.duration_since(at) >= PAUSE,
        };
        if !due {
            return None;
        }
        self.told = Some((count, now));
        Some(self.records.clone())
    }
}

/// Runs the replicas of `scenario` under `pool` and gives what is complete: `Execution` of [`fairair_sim::simulate`].
pub(crate) fn plainly(scenario: &Scenario, pool: &Pool, job: &Job, before: u32, all: u32) -> Execution {
    job.watched(before, all, |watch| fairair_sim::simulate(scenario, Effort::default(), pool, watch))
}
