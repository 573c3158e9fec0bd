//! Why a request is refused.

use std::io;
use std::time::Duration;

use fairair_core::scenario::ScenarioError;
use thiserror::Error;

use crate::enforce::datapath::DatapathError;
use crate::enforce::error::VsbError;
use crate::enforce::protocol::{Refusal, RequestError};
use crate::enforce::settings::{SettingError, SettingsFileError};
use crate::enforce::site::Full;

/// Why the daemon does not do what a client, or a signal, asks for.
#[derive(Debug, Error)]
pub(super) enum Refused {
    /// The line is no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The client sent none.
    #[error("no request within {0:?}")]
    Late(Duration),
    /// The daemon takes no requests any more.
    #[error("the daemon is stopping")]
    Stopping,
    /// The setting is wrong.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// It cannot be kept.
    #[error(transparent)]
    File(#[from] SettingsFileError),
    /// There is none of this name.
    #[error("no station has the name {0:?}: `fairair vsb stations` lists all")]
    NoStation(String),
    /// There is nothing to unset.
    #[error("nothing is set for it: `fairair vsb station list` shows all settings")]
    NotSet,
    /// The kernel did not take a setting.
    #[error("the kernel refused; `fairair vsb status` says why")]
    Kernel,
    /// The configuration is wrong.
    #[error("{0}. {fix}", fix = .0.fix())]
    Config(#[from] ScenarioError),
    /// The system that it is for.
    #[error("{0}. {fix}", fix = .0.fix())]
    System(#[from] VsbError),
    /// A key of the configuration that holds until the end.
    #[error("`{0}` cannot change while the daemon runs: stop and start it")]
    Fixed(&'static str),
    /// More classes than there can be.
    #[error(transparent)]
    Full(#[from] Full),
    /// Counters cannot be read, so nobody knows which classes are free.
    #[error(transparent)]
    Counters(#[from] io::Error),
    /// The kernel did not take a configuration, or not give back what it had.
    #[error(transparent)]
    Datapath(#[from] DatapathError),
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Refusal(refused.to_string())
    }
}
