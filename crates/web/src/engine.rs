//! The simulator as the lab's jobs call it.

use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_sim::Monitor;

/// For tests: the simulation of a scenario of this name panics, as a defect of an engine would.
const PANIC: &str = "FAIRAIR_LAB_PANIC";

/// Simulates one replica: [`fairair_sim::run_monitored`].
pub(crate) fn run(scenario: &Scenario, replica: u32, monitor: Option<Monitor>) -> Record {
    assert!(std::env::var_os(PANIC).is_none_or(|name| *name != *scenario.name), "{PANIC} names this scenario");
    fairair_sim::run_monitored(scenario, replica, monitor)
}
