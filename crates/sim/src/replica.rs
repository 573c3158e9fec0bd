//! One replica.

use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

use crate::endpoints::{Monitor, Simulation};

/// Simulates one replica. `replica` counts from 0; the result depends on the scenario and `replica` alone.
///
/// Every frame on the air is shown to `monitor`, in the order of their start.
pub fn run_monitored(scenario: &Scenario, replica: u32, monitor: Option<Monitor>) -> Record {
    run_unless(scenario, replica, monitor, &|| false).expect("nobody abandons it")
}

/// As [`run_monitored`]; `None` as soon as `is_abandoned` says so, which is asked every few milliseconds.
pub fn run_unless(
    scenario: &Scenario,
    replica: u32,
    monitor: Option<Monitor>,
    is_abandoned: &dyn Fn() -> bool,
) -> Option<Record> {
    Simulation::new(scenario, scenario.replica_seed(replica)).run(monitor, is_abandoned)
}

/// Simulates one replica.
pub fn run(scenario: &Scenario, replica: u32) -> Record {
    run_monitored(scenario, replica, None)
}
