//! Judges a plan without the planner: its own measure of the goals, and seeds that the planner never used.

use std::sync::atomic::AtomicBool;

use fairair_core::mac::AirBody;
use fairair_core::metrics::{FLOOR, Provenance, Report, Starved};
use fairair_core::packet::{Direction, NodeId};
use fairair_core::qdisc::Histogram;
use fairair_core::record::Record;
use fairair_core::scenario::{Scenario, Traffic};
use fairair_core::units::{Duration, Instant};
use fairair_sim::plan::Goal;
use fairair_sim::replicas::Pool;

use super::problem::Problem;

/// Fresh seeds, each for the scenario's own time.
pub(crate) const SEEDS: u32 = 20;
/// Far from what the planner makes of the scenario's seed.
const SEED: u64 = 0x5eed_0000_0000_0007;

/// What an independent simulation says of a configuration.
pub(crate) struct Judgement {
    /// Every goal is met by the means over the seeds.
    pub(crate) meets: bool,
    /// Flows and stations that have less than 5 % of their max-min share in one of the seeds.
    pub(crate) starved: usize,
    pub(crate) goodput: f64,
    /// The ratios and delays that decide, for people.
    pub(crate) figures: String,
}

/// One seed: the record, and the 95th percentile of the time in the AP's queue by station, in seconds.
struct Seen {
    record: Record,
    delays: Vec<f64>,
}

/// Simulates with fresh seeds.
pub(crate) fn judge(problem: &Problem, scenario: &Scenario) -> Judgement {
    let mut scenario = scenario.clone();
    (scenario.run.seed, scenario.run.replicas) = (SEED, SEEDS);
    let seen = Pool::new(0).unwrap().run(0..SEEDS, &AtomicBool::new(false), |seed| see(&scenario, seed), |_| ());
    let (records, delays): (Vec<Record>, Vec<Vec<f64>>) = seen.into_iter().map(|s| (s.record, s.delays)).unzip();
    let report = Report::new(
        &scenario,
        &records,
        Provenance {
            engine: "simulator".to_owned(),
            version: String::new(),
            replicas_planned: SEEDS,
            interrupted: false,
            until_ci: None,
        },
    );
    let mut meets = true;
    let mut figures = Vec::new();
    for goal in problem.goals() {
        let (met, figure) = measure(&goal, problem.tolerance(), &scenario, &report, &delays);
        meets &= met;
        figures.push(figure);
    }
    Judgement {
        meets,
        starved: starved(&scenario, &records),
        goodput: report.totals.goodput_bps.mean.unwrap(),
        figures: figures.join(", "),
    }
}

fn see(scenario: &Scenario, seed: u32) -> Seen {
    let mut waits = vec![Histogram::enabled(); scenario.stations.len()];
    let from = Instant::ZERO + scenario.run.warmup;
    let mut watch = |frame: &fairair_core::mac::AirFrame<fairair_core::packet::Segment>| {
        let AirBody::Data { packet, retry: false, .. } = frame.body else { return };
        if frame.transmitter == NodeId::AP && frame.at >= from {
            let index = (0..waits.len()).find(|index| NodeId::station(*index) == frame.receiver).unwrap();
            waits[index].record(frame.at.saturating_since(packet.enqueued_at));
        }
    };
    let record = fairair_sim::run_monitored(scenario, seed, Some(&mut watch));
    let seconds = |histogram: &Histogram| histogram.quantile(0.95).map_or(0.0, Duration::as_secs_f64);
    Seen { record, delays: waits.iter().map(seconds).collect() }
}

/// Flows and stations that starve in any seed, or while others are there.
fn starved(scenario: &Scenario, records: &[Record]) -> usize {
    let mut all = Starved::default();
    for record in records {
        all.extend(fairair_core::metrics::starved(scenario, record, FLOOR));
    }
    all.flows.len() + all.stations.len()
}

/// Whether a goal is met, and what was reached. Ratios are of flows and stations that send all they can, where both sides
/// have some.
fn measure(goal: &Goal, tolerance: f64, scenario: &Scenario, report: &Report, delays: &[Vec<f64>]) -> (bool, String) {
    let meant = |who: &str| -> Vec<usize> {
        let group = |name: &str| name.strip_prefix(who).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        (0..scenario.stations.len()).filter(|i| who.is_empty() || group(&scenario.stations[*i].name)).collect()
    };
    let goodput = |index: usize| report.stations[index].goodput_bps.mean.unwrap();
    let within = |ratio: f64, wanted: f64| (ratio / wanted).ln().abs() <= tolerance.ln_1p();
    match goal {
        Goal::Level(wanted) => {
            let greedy: Vec<usize> = (0..scenario.stations.len()).filter(|i| is_greedy(scenario, *i)).collect();
            let level = |index: usize| {
                let others: Vec<f64> = greedy.iter().filter(|i| **i != index).map(|i| goodput(*i)).collect();
                goodput(index) * others.len() as f64 / others.iter().sum::<f64>()
            };
            let levels: Vec<f64> = if wanted.to_bits() == 1.0_f64.to_bits() {
                greedy.iter().map(|index| level(*index)).filter(|level| level.is_finite()).collect()
            } else {
                vec![level(0)]
            };
            let furthest = levels.iter().copied().max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())).unwrap_or(1.0);
            (levels.iter().all(|level| within(*level, *wanted)), format!("level {furthest:.3}"))
        }
        Goal::DownUp(wanted) => {
            let mean = |direction: Direction, greedy: bool| {
                let flows = scenario.flows().zip(&report.flows);
                let of = flows.filter(|((_, flow), _)| flow.direction == direction && (!greedy || is_bulk(flow)));
                let goodputs: Vec<f64> = of.map(|(_, row)| row.goodput_bps.mean.unwrap()).collect();
                (!goodputs.is_empty()).then(|| goodputs.iter().sum::<f64>() / goodputs.len() as f64)
            };
            let pair = |greedy| Some((mean(Direction::Down, greedy)?, mean(Direction::Up, greedy)?));
            let (down, up) = pair(true).or_else(|| pair(false)).unwrap();
            (within(down / up, *wanted), format!("down/up {:.3}", down / up))
        }
        Goal::Goodput { who, least } => {
            let worst = meant(who).into_iter().map(goodput).fold(f64::INFINITY, f64::min);
            (worst >= least.as_bps() as f64, format!("{who} {:.2} Mbit/s", worst / 1e6))
        }
        Goal::Delay { who, most } => {
            let delay = if who.is_empty() {
                report.ap_delay.p95_s.mean.unwrap_or(0.0) + report.box_sojourn_s().mean.unwrap_or(0.0)
            } else {
                let boxed = |i: usize| report.enforce.as_ref().and_then(|e| e.stations[i].mean_sojourn_s.mean);
                let at_ap = |i: usize| delays.iter().map(|seed| seed[i]).sum::<f64>() / delays.len() as f64;
                meant(who).into_iter().map(|i| at_ap(i) + boxed(i).unwrap_or(0.0)).fold(0.0, f64::max)
            };
            (delay <= most.as_secs_f64(), format!("{:.1} ms", delay * 1e3))
        }
        Goal::Files { who, most } => {
            let flows = scenario.flows().zip(&report.flows).filter(|((station, _), _)| meant(who).contains(station));
            let times = flows.filter_map(|(_, row)| row.transfers.mean_s.mean);
            let time = match who.as_str() {
                "" => report.transfers[0].transfers.mean_s.mean.unwrap_or(f64::INFINITY),
                _ => times.fold(0.0, f64::max),
            };
            (time <= most.as_secs_f64(), format!("files {:.0} ms", time * 1e3))
        }
    }
}

fn is_bulk(flow: &fairair_core::scenario::Flow) -> bool {
    // A window of a few segments over a long path is a limit of the flow's own.
    let far = flow.wire.is_some_and(|wire| wire.delay >= Duration::from_millis(100)) && flow.tcp.window <= 8;
    matches!(flow.traffic, Traffic::Bulk | Traffic::UdpGreedy { .. }) && !far
}

fn is_greedy(scenario: &Scenario, station: usize) -> bool {
    scenario.stations[station].flows.iter().any(is_bulk)
}
