//! One run, on the testbed or in the simulator, and what is read off its result.

use std::path::Path;
use std::process::Command;

use fairair_core::metrics::{Provenance, Report};
use fairair_core::model::air::reckoned_capacity;
use fairair_core::scenario::Scenario;
use fairair_core::shaper::Policy;

use crate::cases::{Case, EVENT, Look, TheBox};

/// Payload of a datagram of UDP, in bits.
const DATAGRAM: f64 = 1472.0 * 8.0;
/// Where the machines begin.
const MAX: f64 = 6e6;

/// What a run showed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) level: Option<f64>,
    pub(crate) jain: Option<f64>,
    /// The TCP station with the least goodput over the one with the most.
    pub(crate) least_over_most: Option<f64>,
    pub(crate) goodput: f64,
    /// Mean C of the measured time, or of each span.
    pub(crate) capacity: Vec<f64>,
    /// The first of them over what the cell carries.
    pub(crate) share: Option<f64>,
    pub(crate) probe_p95: Option<f64>,
    /// Seconds until C is near, or the fall of C, in per cent.
    pub(crate) figure: Option<f64>,
    pub(crate) lateness_p99: Option<f64>,
    pub(crate) on_time: bool,
}

/// Runs a scenario on the testbed, with the live box if it has one.
///
/// # Errors
/// What the command said.
pub(crate) fn testbed(fairair: &Path, text: &str, seed: u64) -> Result<Report, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = directory.path().join("vsb-bars.toml");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let mut command = Command::new(fairair);
    command.args(["testbed", "run", "--ping", "0 s", "--format", "json", "--seed", &seed.to_string()]).arg(file);
    if text.contains("[enforce]") {
        command.args(["--box", "live"]);
    }
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " "));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// The same in the simulator, with its box.
pub(crate) fn simulated(text: &str, seed: u64) -> Result<Report, String> {
    let mut scenario = Scenario::from_toml(text, "vsb-bars").map_err(|error| format!("{error}\n{text}"))?;
    scenario.run.seed = seed;
    let provenance = Provenance {
        engine: "simulator".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        replicas_planned: 1,
        interrupted: false,
        until_ci: None,
    };
    Ok(Report::new(&scenario, &[fairair_sim::run(&scenario, 0)], provenance))
}

/// The cell with a buffer that loses nothing: its capacity is measured in it.
pub(crate) fn lossless(cell: &str) -> String {
    cell.replace("limit = 75", "limit = 100000")
}

/// IP bytes of both directions that a cell without losses carried in TCP, bit/s: goodput, and the headers of all packets.
pub(crate) fn capacity(report: &Report) -> f64 {
    let goodput = report.totals.goodput_bps.mean.unwrap_or_default();
    let packets = report.totals.packets_per_second.mean.unwrap_or_default();
    let udp = report.stations.iter().filter(|station| station.name == "udp");
    let udp: f64 = udp.filter_map(|station| station.goodput_bps.mean).sum();
    // Kernel TCP has timestamps.
    let headers = if report.testbed.is_some() { 52.0 } else { 40.0 } * 8.0;
    goodput - udp + headers * (packets - udp / DATAGRAM)
}

/// The scenario of a case with its box.
pub(crate) fn with_box(case: &Case, capacity: f64) -> String {
    let box_text = match case.the_box {
        TheBox::Without => return case.text.clone(),
        TheBox::Fixed => fixed(&case.text, 0.95 * capacity),
        TheBox::Adaptive => "[enforce]\ncapacity = { kind = \"adaptive\" }\n".to_owned(),
        TheBox::Wce => "[enforce]\ncapacity = { kind = \"wce\" }\n".to_owned(),
    };
    // Arrays of tables may follow tables, not the other way round: what is last may be an event's.
    case.text.clone() + &box_text
}

/// A box at `capacity`, or, where rates differ, at what takes as much air: bytes are not the same for all there.
fn fixed(text: &str, capacity: f64) -> String {
    let scenario = Scenario::from_toml(text, "vsb-bars").ok();
    let mixed = scenario.filter(|scenario| scenario.stations.iter().any(|s| s.rate != scenario.stations[0].rate));
    match mixed {
        Some(scenario) => {
            let share = capacity / reckoned_capacity(&scenario, Policy::PerStation).as_bps() as f64;
            format!("[enforce]\ncapacity = {{ kind = \"air\", share = {share:.4} }}\n")
        }
        None => format!("[enforce]\ncapacity = \"{capacity:.0} bit/s\"\n"),
    }
}

/// What the result of a case shows; `carried` is its cell's capacity.
pub(crate) fn seen(case: &Case, report: &Report, carried: f64) -> Seen {
    let goodputs = report.stations.iter().filter(|station| station.name != "udp").filter_map(|s| s.goodput_bps.mean);
    let goodputs: Vec<f64> = goodputs.collect();
    let (least, most) = goodputs.iter().fold((f64::MAX, 0.0_f64), |(l, m), x| (l.min(*x), m.max(*x)));
    let scenario = Scenario::from_toml(&case.text, "vsb-bars").ok();
    let (from, to) = scenario.map_or((0.0, 0.0), |s| (s.run.warmup.as_secs_f64(), s.run.duration.as_secs_f64()));
    let traced = report.enforce.as_ref().map(|enforce| &enforce.trace).filter(|trace| !trace.at_s.is_empty());
    let c_at = |at: f64| {
        let past = traced.map_or(0, |trace| trace.at_s.partition_point(|time| *time <= at));
        traced.filter(|_| past > 0).map_or(MAX, |trace| trace.capacity_bps[past - 1] as f64)
    };
    let samples = |from: f64, to: f64| {
        let number = ((to - from) / 0.05) as u32;
        (0..number).map(move |n| from + f64::from(n) * 0.05).map(|at| (at, c_at(at))).collect::<Vec<_>>()
    };
    let mean = |from: f64, to: f64| {
        let samples = samples(from, to);
        samples.iter().map(|(_, c)| c).sum::<f64>() / samples.len() as f64
    };
    let capacity = match (case.the_box, case.look) {
        (TheBox::Without, _) => Vec::new(),
        (TheBox::Fixed, _) => vec![0.95 * carried],
        (_, Look::Spans(spans)) => spans.iter().map(|(from, to)| mean(*from, *to)).collect(),
        _ => vec![mean(from, to)],
    };
    let figure = match case.look {
        Look::Follow => {
            let near = |(_, c): &(f64, f64)| (c / carried - 1.0).abs() <= 0.15;
            samples(EVENT, to).iter().find(|sample| near(sample)).map(|(at, _)| at - EVENT)
        }
        Look::Fall => {
            let lowest = samples(EVENT, EVENT + 10.0).iter().fold(f64::MAX, |least, (_, c)| least.min(*c));
            Some((1.0 - lowest / c_at(EVENT - 0.01)) * 100.0)
        }
        Look::Shares | Look::Spans(_) | Look::Steady => None,
    };
    let testbed = report.testbed.as_ref();
    Seen {
        level: report.indices.fairness_level_first_station.mean,
        jain: fairair_core::metrics::jain_index(&goodputs),
        least_over_most: (most > 0.0).then_some(least / most),
        goodput: goodputs.iter().sum(),
        share: capacity.first().map(|c| c / carried),
        capacity,
        probe_p95: testbed.and_then(|testbed| testbed.probes.as_ref()?.p95_s),
        figure,
        lateness_p99: testbed.and_then(|testbed| testbed.lateness_p99_s),
        on_time: testbed.is_none_or(|testbed| testbed.on_time),
    }
}
