//! What C should be: machines that watch the cell through probes and the box's own counters.
//!
//! All are sans-IO. The driver (simulator, replay of a log, live daemon) sends the probes past the shaper, says when
//! their replies come, and shows each time what the box has counted; the machine answers with decisions.

mod adaptive;
#[cfg(test)]
mod adaptive_tests;
mod air;
mod breath;
mod ceiling;
mod decision;
mod delay;
mod delivered;
mod descent;
#[cfg(test)]
mod descent_tests;
mod drop;
mod ebb;
mod findings;
mod guard;
#[cfg(test)]
mod guard_tests;
pub mod log;
mod lowered;
mod machine;
mod occupancy;
mod phase;
mod prober;
mod queues;
mod room;
mod signal;
#[cfg(test)]
mod start_tests;
#[cfg(test)]
mod testbed;
mod trial;
mod watch;
mod wce;
#[cfg(test)]
mod wce_tests;

pub use adaptive::{Adaptive, AdaptiveParams};
pub use air::{Air, AirParams};
pub use decision::{ControlStats, Decision, Kept, Reason, State, StationView};
pub use guard::Guard;
pub use machine::{CapacityController, CapacityParams};
pub use prober::Probe;
pub use watch::{Verdict, Watch};
pub use wce::{Wce, WceParams};
