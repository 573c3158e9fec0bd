//! Why a testbed does not run.

use std::io;

use thiserror::Error;

use crate::command::CommandError;

/// Why a testbed does not run.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// The scenario asks for what real hosts here cannot do.
    #[error("the testbed cannot do {what}")]
    Cannot {
        /// What the testbed cannot do.
        what: String,
        /// What to do about it.
        fix: String,
    },
    /// A program is missing or failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The kernel refused.
    #[error("the kernel refuses: {0}")]
    Kernel(#[from] io::Error),
    /// A traffic program ended before its time.
    #[error("the traffic of flow {flow} ended early: {message}")]
    Traffic {
        /// Position in the scenario.
        flow: usize,
        /// What it said.
        message: String,
    },
    /// The live box failed.
    #[error("the live box: {0}")]
    LiveBox(String),
    /// No testbed of that name stands.
    #[error("{0}")]
    NotThere(String),
}
