//! The committed scenarios, run shortly, as one table: a change of behaviour shows in review as changed numbers.
//!
//! `UPDATE_GOLDEN=1 cargo test -p fairair-sim --test golden` rewrites it; say in the commit why the new numbers are right.

use std::fmt::Write;
use std::path::Path;

use fairair_core::packet::{Class, Direction};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;

/// kbit/s of a direction.
fn kbps(record: &Record, direction: Direction) -> f64 {
    let bytes: u64 = record.flows.iter().filter(|f| f.direction == direction).map(|f| f.delivered_bytes).sum();
    bytes as f64 * 8.0 / record.measured.as_secs_f64() / 1e3
}

fn line(name: &str, record: &Record) -> String {
    let macs = record.stations.iter().map(|station| station.mac).chain([record.ap_mac]);
    let (attempts, collisions) = macs.fold((0, 0), |(a, c), mac| (a + mac.attempts, c + mac.collisions));
    let sum = |of: fn(&fairair_core::record::FlowRecord) -> u64| record.flows.iter().map(of).sum::<u64>();
    format!(
        "{name:<28} {:>9.1} {:>9.1} {:>7.2} {:>6} {:>6} {:>7} {:>6} {:>6} {:>5} {:>5}",
        kbps(record, Direction::Up),
        kbps(record, Direction::Down),
        record.ap_queue.occupancy as f64 / record.measured.as_nanos() as f64,
        record.ap_queue.dropped(Class::Data),
        record.ap_queue.dropped(Class::Ack),
        attempts,
        collisions,
        sum(|flow| flow.retransmits),
        sum(|flow| flow.timeouts.unwrap_or_default()),
        sum(|flow| flow.transfer_times.len() as u64),
    )
}

#[test]
fn committed_scenarios_behave_as_committed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(root.join("../../scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let mut table = format!(
        "{:<28} {:>9} {:>9} {:>7} {:>6} {:>6} {:>7} {:>6} {:>6} {:>5} {:>5}\n",
        "scenario, 5-30 s", "up kb/s", "down", "queue", "dDATA", "dACK", "frames", "coll", "rexmt", "RTOs", "files"
    );
    for path in files {
        let mut scenario = Scenario::load(&path).unwrap();
        scenario.run.duration = Duration::from_secs(30);
        scenario.run.warmup = Duration::from_secs(5);
        writeln!(table, "{}", line(&scenario.name, &fairair_sim::run(&scenario, 0))).unwrap();
    }
    let golden = root.join("tests/golden.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &table).unwrap();
    }
    let committed = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(table, committed, "\n{table}\nUPDATE_GOLDEN=1 rewrites {}", golden.display());
}
