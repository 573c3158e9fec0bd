//! Runs the cells: the simulator's replicas on all processors, the testbed's side by side in real time.

use std::sync::atomic::AtomicBool;

use fairair_core::metrics::{Estimate, Provenance, Report};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;
use fairair_linux::emulate::{self, Options, TcpStack, TestbedError, Uplink};
use fairair_sim::replicas::Pool;

use crate::points::Cell;

/// Nobody pings: pings take places in a full queue, 3 % of them at Fig. 9.
const fn hosts(stack: TcpStack) -> Options {
    Options { uplink: Uplink::Deep, stack, known_neighbours: true, ping: None, live_box: None }
}

/// 99 % of a replica's frames are handed over within this, or it counts for nothing: `fairair testbed run` says TOO LATE then.
const LATENESS_BOUND: Duration = Duration::from_millis(1);

/// What one replica gave, and of the testbed how late it was.
pub(crate) struct Replica {
    record: Record,
    pub late: Option<(Option<Duration>, Duration)>,
}

impl Replica {
    pub(crate) fn is_on_time(&self) -> bool {
        self.late.is_none_or(|(p99, _)| p99.is_none_or(|p99| p99 <= LATENESS_BOUND))
    }
}

/// An engine's answer for a cell.
pub(crate) struct Answer {
    scenario: Scenario,
    replicas: Vec<Replica>,
}

/// What is compared, over all replicas or of one.
pub(crate) struct Figures {
    pub level: Estimate,
    pub total_mbps: Estimate,
    pub data_drops: Estimate,
    pub ack_drops: Estimate,
    pub ap_queue: Estimate,
    pub first_queue: Estimate,
    pub up_down: Estimate,
    pub jain: Estimate,
}

impl Answer {
    pub(crate) fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    /// Over all replicas that were on time.
    pub(crate) fn figures(&self) -> Figures {
        self.of(self.replicas.iter().filter(|replica| replica.is_on_time()))
    }

    /// Of one of them.
    pub(crate) fn figures_of(&self, replica: usize) -> Figures {
        self.of([&self.replicas[replica]].into_iter())
    }

    fn of<'a>(&'a self, replicas: impl Iterator<Item = &'a Replica>) -> Figures {
        let records: Vec<Record> = replicas.map(|replica| replica.record.clone()).collect();
        let provenance = Provenance {
            engine: String::new(),
            version: String::new(),
            replicas_planned: records.len() as u32,
            interrupted: false,
            until_ci: None,
        };
        let report = Report::new(&self.scenario, &records, provenance);
        let mbps = |bps: Estimate| Estimate {
            mean: bps.mean.map(|mean| mean / 1e6),
            ci95: bps.ci95.map(|ci| ci / 1e6),
            ..bps
        };
        Figures {
            level: report.indices.fairness_level_first_station,
            total_mbps: mbps(report.totals.goodput_bps),
            data_drops: report.ap_queue.drop_probability.data,
            ack_drops: report.ap_queue.drop_probability.ack,
            ap_queue: report.ap_queue.mean_packets,
            first_queue: report.stations[0].uplink_queue_mean_packets,
            up_down: report.indices.up_down_ratio,
            jain: report.indices.jain_flows,
        }
    }
}

/// The simulator's answers.
pub(crate) fn simulate(scenarios: Vec<Scenario>, cancel: &AtomicBool) -> Vec<Answer> {
    let pool = Pool::new(0).expect("the system gives threads");
    let run = |scenario: Scenario| {
        let one = |replica| Replica { record: fairair_sim::run(&scenario, replica), late: None };
        let replicas = pool.run(0..scenario.run.replicas, cancel, one, |_| ());
        Answer { scenario, replicas }
    };
    scenarios.into_iter().map(run).collect()
}

/// The testbed's answers, `jobs` replicas side by side, the longest first.
///
/// # Errors
/// When the testbed cannot do a cell. A replica that fails is left out and told on stderr.
pub(crate) fn measure(cells: &[Cell], jobs: usize, cancel: &AtomicBool) -> Result<Vec<Answer>, TestbedError> {
    let mut tasks: Vec<(usize, u32)> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        emulate::check(&cell.scenario, hosts(cell.stack))?;
        tasks.extend((0..cell.replicas).map(|replica| (index, replica)));
    }
    tasks.sort_by_key(|(index, replica)| (std::cmp::Reverse(cells[*index].scenario.run.duration), *replica, *index));
    let count = tasks.len() as u32;
    let pool = Pool::new(jobs).expect("the system gives threads");
    let one = |task: u32| {
        let (index, replica) = tasks[task as usize];
        emulate::run(&cells[index].scenario, replica, hosts(cells[index].stack), cancel)
    };
    let done = |task: u32| eprintln!("{} of {count}: {}", task + 1, cells[tasks[task as usize].0].scenario.name);
    let outcomes = pool.run(0..count, cancel, one, done);
    let mut answers: Vec<Answer> =
        cells.iter().map(|cell| Answer { scenario: cell.scenario.clone(), replicas: Vec::new() }).collect();
    for ((index, _), outcome) in tasks.iter().zip(outcomes) {
        // One that fails costs itself, not the hour.
        let outcome = outcome.unwrap_or_else(|error| {
            eprintln!("a replica of {} is left out: {error}", cells[*index].scenario.name);
            None
        });
        if let Some(outcome) = outcome {
            let hand_over = outcome.hand_over;
            let late = (hand_over.lateness.quantile(0.99), hand_over.worst);
            answers[*index].replicas.push(Replica { record: outcome.record, late: Some(late) });
        }
    }
    Ok(answers)
}
