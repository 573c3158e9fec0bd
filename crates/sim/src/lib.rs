//! The simulator: drives the core's state machines in virtual time.
//!
//! What a program asks for is here as plain functions: [`simulate`] and [`compare`], [`Engine`] and
//! [`EngineComparison`], and the [planner](plan). Each runs on a [`Pool`](replicas::Pool), tells a [`Watch`] how far it
//! is, and returns what is complete when it is stopped.

mod compare;
mod endpoints;
mod engines;
mod flow;
pub mod plan;
pub mod replicas;
mod simulate;
mod watch;

pub use compare::{Comparison, Row, SCHEMA as COMPARE_SCHEMA, compare};
pub use engines::{Engine, EngineComparison, SCHEMA as ENGINES_SCHEMA, Value};
pub use simulate::{Effort, Execution, MAX_REPLICAS, SIMULATOR, simulate, simulate_by};
pub use watch::{Counter, Progress, Watch};

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
