//! The simulator: drives the core's state machines in virtual time.

mod endpoints;
mod flow;
pub mod plan;
pub mod replicas;

use fairair_core::mac::AirFrame;
use fairair_core::packet::Segment;
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

/// Sees every frame on the air.
pub type Monitor<'a> = &'a mut dyn FnMut(&AirFrame<Segment>);

/// Simulates one replica. `replica` counts from 0; the result depends on the scenario and `replica` alone.
///
/// Every frame on the air is shown to `monitor`, in the order of their start.
pub fn run_monitored(scenario: &Scenario, replica: u32, monitor: Option<Monitor>) -> Record {
    endpoints::Simulation::new(scenario, scenario.replica_seed(replica)).run(monitor)
}

/// Simulates one replica.
pub fn run(scenario: &Scenario, replica: u32) -> Record {
    run_monitored(scenario, replica, None)
}
