//! Why the state file is of no use.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The state file cannot be read or written.
#[derive(Debug, Error)]
#[error("state file {}: {reason}", path.display())]
pub struct StateError {
    /// The file.
    pub path: PathBuf,
    /// The system's words.
    pub reason: io::Error,
}

/// Why it is not known what a predecessor added.
#[derive(Debug, Error)]
pub enum Lost {
    /// There is no state file.
    #[error("the state file {} is missing", .0.display())]
    Missing(PathBuf),
    /// It does not parse, and was renamed.
    #[error("{error}; the damaged file is now {}", aside.display())]
    Damaged {
        /// What is wrong with it.
        error: StateError,
        /// Where it is now.
        aside: PathBuf,
    },
}
