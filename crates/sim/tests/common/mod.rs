//! What the validation tests share: scenarios with changes, and numbers out of records.
#![allow(dead_code)] // Each test binary uses its own part.

use std::path::Path;

use fairair_core::packet::Direction;
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::units::Bitrate;

/// The text of a committed scenario.
pub(crate) fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(file);
    std::fs::read_to_string(path).expect("the scenario is in the repository")
}

/// `text` with parts replaced; each replacement must apply.
pub(crate) fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "there is no {from:?}");
        text.replace(from, to)
    })
}

/// The scenario in `text`.
#[track_caller]
pub(crate) fn parse(text: &str) -> Scenario {
    Scenario::from_toml(text, "test").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The first replica to look at; `FIRST_REPLICA` in the environment names another one.
pub(crate) fn first_replica(usual: u32) -> u32 {
    std::env::var("FIRST_REPLICA").map_or(usual, |first| first.parse().expect("FIRST_REPLICA is a number"))
}

/// All replicas.
pub(crate) fn runs(scenario: &Scenario, replicas: u32) -> Vec<Record> {
    let first = first_replica(0);
    (first..first + replicas).map(|replica| fairair_sim::run(scenario, replica)).collect()
}

/// The mean of a number over replicas.
pub(crate) fn mean(records: &[Record], of: impl Fn(&Record) -> f64) -> f64 {
    records.iter().map(of).sum::<f64>() / records.len() as f64
}

/// kbit/s of a station's goodput.
pub(crate) fn station_kbps(record: &Record, station: usize) -> f64 {
    let bytes: u64 = record.flows.iter().filter(|flow| flow.station == station).map(|flow| flow.delivered_bytes).sum();
    bytes as f64 * 8.0 / record.measured.as_secs_f64() / 1e3
}

/// kbit/s of all flows of a direction.
pub(crate) fn direction_kbps(record: &Record, direction: Direction) -> f64 {
    let bytes: u64 = record.flows.iter().filter(|f| f.direction == direction).map(|f| f.delivered_bytes).sum();
    bytes as f64 * 8.0 / record.measured.as_secs_f64() / 1e3
}

/// kbit/s of the whole cell.
pub(crate) fn total_kbps(record: &Record) -> f64 {
    direction_kbps(record, Direction::Up) + direction_kbps(record, Direction::Down)
}

/// Goodput of station 1 over the mean of the others', as a quotient of means.
pub(crate) fn fairness_level(records: &[Record]) -> f64 {
    let stations = records[0].stations.len();
    let others: f64 = (1..stations).map(|station| mean(records, |record| station_kbps(record, station))).sum();
    mean(records, |record| station_kbps(record, 0)) / (others / (stations - 1) as f64)
}

/// IP bytes of both directions that a cell without losses carried, as a rate: its TCP capacity.
pub(crate) fn tcp_capacity(records: &[Record], mss: u64) -> Bitrate {
    let bits = mean(records, |record| {
        let segments = record.flows.iter().map(|flow| flow.delivered_bytes / mss).sum::<u64>();
        let packets = record.ap_mac.delivered + record.stations.iter().map(|s| s.mac.delivered).sum::<u64>();
        let bytes = segments * (mss + 40) + packets.saturating_sub(segments) * 40;
        bytes as f64 * 8.0 / record.measured.as_secs_f64()
    });
    Bitrate::from_bps(bits as u64)
}

/// Fails when `ours` is outside `low..=high`; prints it in any case.
#[track_caller]
pub(crate) fn within(what: &str, ours: f64, low: f64, high: f64) {
    println!("{what}: {ours:.3} (bar {low} to {high})");
    assert!((low..=high).contains(&ours), "{what}: {ours:.3} is not in {low}..{high}");
}
