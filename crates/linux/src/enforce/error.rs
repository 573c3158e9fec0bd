//! Why the daemon does not run.

use std::path::PathBuf;

use fairair_core::scenario::ScenarioError;
use thiserror::Error;

use super::datapath::DatapathError;
use super::site::Full;

/// Why the daemon does not run, or ended.
#[derive(Debug, Error)]
pub enum VsbError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ScenarioError),
    /// Another one runs here.
    #[error("another fairair vsb runs in this network namespace")]
    Taken,
    /// More classes than there can be.
    #[error(transparent)]
    Full(#[from] Full),
    /// The kernel or a tool.
    #[error(transparent)]
    Datapath(#[from] DatapathError),
    /// An interface of the configuration is missing.
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// A file, directory or socket.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's words.
        reason: std::io::Error,
    },
    /// Something of the system that is no file.
    #[error("{what}: {reason}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's words.
        reason: std::io::Error,
    },
    /// Nobody confirmed in time.
    #[error("nobody confirmed within {0:?}; everything is as before")]
    Unconfirmed(std::time::Duration),
}

impl VsbError {
    /// What to do about it.
    pub fn fix(&self) -> &'static str {
        match self {
            VsbError::Config(_) => "mend the configuration",
            VsbError::Taken => {
                "stop it with `fairair vsb stop`, or give it the configuration with `fairair vsb reload`"
            }
            VsbError::Full(_) => "fewer stations a box",
            VsbError::Datapath(DatapathError::NoTool { .. }) => "install the package that is named",
            VsbError::Datapath(_) => {
                "run as root, or with CAP_NET_ADMIN and CAP_NET_RAW; `fairair vsb check` tells what is missing"
            }
            VsbError::NoInterface(_) => "name interfaces that `ip link` shows",
            VsbError::File { .. } => "name a directory that may be written, with `state` or `journal.file`",
            VsbError::System { .. } => "run as root, or with CAP_NET_ADMIN and CAP_NET_RAW",
            VsbError::Unconfirmed(_) => "run `fairair vsb confirm` in time if all is well",
        }
    }
}
