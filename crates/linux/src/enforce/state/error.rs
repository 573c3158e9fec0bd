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
