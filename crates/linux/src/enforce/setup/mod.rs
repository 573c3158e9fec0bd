//! First set-up: what this machine has, which way is up, and the configuration that follows.
//!
//! [`Machine`] reads the machine, [`Roles`] says what each interface is and why, [`Choice`] is what the operator took and writes
//! it as TOML.

mod choice;
mod lists;
mod machine;
mod roles;
#[cfg(test)]
mod tests;

pub use choice::{Capacity, Choice, ChosenAp, Source, Wish};
pub use lists::Lists;
pub use machine::{Interface, Machine, Radio};
pub use roles::{Candidate, Role, Roles, Verdict};

use std::fmt;

use fairair_core::units::Duration;
use serde::Serialize;

/// Within this somebody has to confirm a configuration that is tried.
pub const CONFIRM: Duration = Duration::from_secs(60);
/// What the maximum of a capacity is, and how it is measured.
pub const MEASURE: &str = "The box has to be a little slower than the cell. It finds out how much that is, below a maximum: what one station\n\
     beside the AP measures alone, both directions at once (iperf3 --bidir, the sum), without the box.";

/// Why there is no configuration, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{what}")]
pub struct Lack {
    /// What is missing or wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl Lack {
    fn new(what: impl fmt::Display, fix: impl fmt::Display) -> Lack {
        Lack { what: what.to_string(), fix: fix.to_string() }
    }
}
