//! `--pcap`: replica 0 with a monitor on the channel.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

use crate::error::CliError;
use crate::pcap::{FileError, PcapFile};

/// A capture that was opened before the run, so that a place that cannot be written to is refused in time.
pub(crate) struct Capture(Mutex<Option<PcapFile>>);

impl Capture {
    /// Opens the capture that is to become `path`.
    pub(crate) fn open(path: &Path, scenario: &Scenario) -> Result<Self, CliError> {
        PcapFile::create(path, &scenario.radio, scenario.flows().map(|(_, flow)| flow.direction))
            .map(|file| Capture(Mutex::new(Some(file))))
            .map_err(|FileError { path, source }| CliError::unwritable(path, &source))
    }

    /// Runs replica 0 and writes the frames on the air, whole or not at all.
    pub(crate) fn run(&self, scenario: &Scenario) -> Result<Record, CliError> {
        let Some(mut file) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(fairair_sim::run(scenario, 0));
        };
        // A monitor cannot stop the simulation: the first failure waits until the replica is over.
        let mut outcome = Ok(());
        let record = fairair_sim::run_monitored(
            scenario,
            0,
            Some(&mut |frame| {
                if outcome.is_ok() {
                    outcome = file.write(frame);
                }
            }),
        );
        let failed = |FileError { path, source }| CliError::write(path, &source);
        outcome.and_then(|()| file.finish()).map(|()| record).map_err(failed)
    }
}
