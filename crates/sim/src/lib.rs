//! The simulator: drives the core's state machines in virtual time.
//!
//! What a program asks for is here as plain functions: [`simulate`] and [`compare`], [`Engine`] and
//! [`EngineComparison`], and the [planner](plan). Each runs on a [`Pool`](replicas::Pool), tells a [`Watch`] how far it
//! is, and returns what is complete when it is stopped.

mod compare;
mod endpoints;
mod engines;
mod flow;
mod parcel;
pub mod plan;
mod replica;
pub mod replicas;
mod simulate;
mod starved;
mod watch;

pub use compare::{Comparison, Row, SCHEMA as COMPARE_SCHEMA, compare};
pub use endpoints::Monitor;
pub use engines::{Engine, EngineComparison, SCHEMA as ENGINES_SCHEMA, Value};
pub use replica::{run, run_monitored, run_unless};
pub use simulate::{Effort, Execution, MAX_REPLICAS, SIMULATOR, simulate, simulate_by};
pub use watch::{Counter, Progress, Watch};
