//! The simulator: drives the core's state machines in virtual time.

use fairair_core::mac::AirFrame;
use fairair_core::packet::Segment;
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

/// Simulates one replica. `replica` counts from 0; the result depends on the scenario and `replica` alone.
///
/// Every frame on the air is shown to `monitor`, in the order of their start.
pub fn run_monitored(
    _scenario: &Scenario,
    _replica: u32,
    _monitor: Option<&mut dyn FnMut(&AirFrame<Segment>)>,
) -> Record {
    Record::default()
}

/// Simulates one replica.
pub fn run(scenario: &Scenario, replica: u32) -> Record {
    run_monitored(scenario, replica, None)
}
