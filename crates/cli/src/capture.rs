//! `--pcap`: replica 0 with a monitor on the channel.

use std::path::Path;

use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

use crate::error::CliError;

/// Refuses a capture that could not be written, before the run.
pub(crate) fn check(path: &Path) -> Result<(), CliError> {
    Err(CliError::Usage {
        what: format!("cannot write {}: this build has no capture writer", path.display()),
        help: "leave --pcap out".to_owned(),
    })
}

/// Runs replica 0 and writes the frames on the air to `path`, whole or not at all.
///
/// The writer goes here: a temporary file beside `path` ([`crate::output::files::Pending`]), fed by the monitor, persisted
/// at the end; a write error must wait until the replica is over, as a monitor cannot fail.
#[expect(clippy::unnecessary_wraps, reason = "writing can fail")]
pub(crate) fn run_captured(scenario: &Scenario, _path: &Path) -> Result<Record, CliError> {
    let mut monitor = |_frame: &_| {};
    Ok(fairair_sim::run_monitored(scenario, 0, Some(&mut monitor)))
}
