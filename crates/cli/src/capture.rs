//! `--pcap`: replica 0 with a monitor on the channel.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fairair_core::mac::AirFrame;
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_linux::emulate::{EthernetFrame, Monitor, Outcome};
use fairair_sim::replicas::Pool;
use fairair_sim::{Effort, Execution, Watch};

use crate::error::CliError;
use crate::pcap::{FileError, PcapFile};

/// How often the writer looks for frames: it must not be woken by the thread that keeps time.
const LOOK: Duration = Duration::from_millis(20);

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
        let Some(mut file) = self.take() else {
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
        outcome.and_then(|()| file.finish()).map(|()| record).map_err(failed)
    }

    /// Runs a replica on the testbed with `run` and writes the frames on the air. A replica that did not come to its end leaves no file.
    pub(crate) fn emulate(
        &self,
        run: impl FnOnce(Option<Monitor>) -> Result<Option<Outcome>, CliError>,
    ) -> Result<Option<Outcome>, CliError> {
        let Some(file) = self.take() else { return run(None) };
        let (monitor, air) = mpsc::channel();
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || write(file, &air));
            let outcome = run(Some(monitor))?;
            let file = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(failed)?;
            if outcome.is_some() {
                file.finish().map_err(failed)?;
            }
            Ok(outcome)
        })
    }

    fn take(&self) -> Option<PcapFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Simulates a scenario; the frames on the air in replica 0 go to `capture`.
///
/// # Errors
/// When the capture cannot be written, after replica 0.
pub(crate) fn simulate(
    scenario: &Scenario,
    effort: Effort,
    pool: &Pool,
    watch: Watch,
    capture: Option<&Capture>,
) -> Result<Execution, CliError> {
    fairair_sim::simulate_by(scenario, effort, pool, watch, |replica| match capture {
        Some(capture) if replica == 0 => capture.run(scenario),
        _ => Ok(fairair_sim::run(scenario, replica)),
    })
}

/// Simulates a scenario, for programs: the frames on the air in replica 0 become the file `pcap`, whole or not at all.
///
/// # Errors
/// A capture that cannot be written: before anything runs where that can be known, else after replica 0.
pub fn simulate_captured(
    scenario: &Scenario,
    effort: Effort,
    pool: &Pool,
    watch: Watch,
    pcap: &Path,
) -> Result<Execution, CliError> {
    let capture = Capture::open(pcap, scenario)?;
    simulate(scenario, effort, pool, watch, Some(&capture))
}

fn failed(FileError { path, source }: FileError) -> CliError {
    CliError::write(path, &source)
}

/// Writes frames until the sender is gone.
fn write(mut file: PcapFile, air: &Receiver<AirFrame<EthernetFrame>>) -> Result<PcapFile, FileError> {
    loop {
        match air.try_recv() {
            Ok(frame) => file.write(&frame)?,
            Err(TryRecvError::Empty) => std::thread::sleep(LOOK),
            Err(TryRecvError::Disconnected) => return Ok(file),
        }
    }
}
