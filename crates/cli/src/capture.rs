//! `--pcap` and `--trace`: replica 0 with a monitor on the channel.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fairair_core::mac::{AirFrame, Traced};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_linux::emulate::{EthernetFrame, Monitor, Outcome};
use fairair_sim::replicas::Pool;
use fairair_sim::{Effort, Execution, Watch};

use crate::args::CaptureArgs;
use crate::error::CliError;
use crate::pcap::{Captured, PcapFile};
use crate::sink::FileError;
use crate::trace::TraceFile;

/// How often the writer looks for frames: it must not be woken by the thread that keeps time.
const LOOK: Duration = Duration::from_millis(20);

/// What is written of replica 0, opened before the run, so that a place that cannot be written to is refused in time.
pub(crate) struct Capture(Mutex<Option<Files>>);

/// A capture, a trace, or both.
struct Files {
    pcap: Option<PcapFile>,
    trace: Option<TraceFile>,
}

impl Files {
    fn write<P: Captured + Traced>(&mut self, frame: &AirFrame<P>) -> Result<(), FileError> {
        self.pcap.as_mut().map_or(Ok(()), |file| file.write(frame))?;
        self.trace.as_mut().map_or(Ok(()), |file| file.see(frame))
    }

    fn finish(self) -> Result<(), FileError> {
        self.pcap.map_or(Ok(()), PcapFile::finish)?;
        self.trace.map_or(Ok(()), TraceFile::finish)
    }
}

impl Capture {
    /// Opens what is to become the capture `pcap` and the table `trace`; `None`: neither is asked for.
    fn open(pcap: Option<&Path>, trace: Option<&Path>, scenario: &Scenario) -> Result<Option<Self>, CliError> {
        let flows = || scenario.flows().map(|(_, flow)| flow.direction);
        let open = || {
            let pcap = pcap.map(|path| PcapFile::create(path, &scenario.radio, flows())).transpose()?;
            let trace = trace.map(|path| TraceFile::create(path, scenario)).transpose()?;
            Ok((pcap.is_some() || trace.is_some()).then(|| Capture(Mutex::new(Some(Files { pcap, trace })))))
        };
        open().map_err(|FileError { path, source }| CliError::unwritable(path, &source))
    }

    /// What is asked for on the command line.
    pub(crate) fn of(asked: &CaptureArgs, scenario: &Scenario) -> Result<Option<Self>, CliError> {
        Self::open(asked.pcap.as_deref(), asked.trace.as_deref(), scenario)
    }

    /// Runs replica 0 and writes the frames on the air, whole or not at all; nothing of one that is abandoned.
    pub(crate) fn run(&self, scenario: &Scenario, is_abandoned: &dyn Fn() -> bool) -> Result<Option<Record>, CliError> {
        let Some(mut files) = self.take() else {
            return Ok(fairair_sim::run_unless(scenario, 0, None, is_abandoned));
        };
        // A monitor cannot stop the simulation: the first failure waits until the replica is over.
        let mut outcome = Ok(());
        let record = fairair_sim::run_unless(
            scenario,
            0,
            Some(&mut |frame| {
                if outcome.is_ok() {
                    outcome = files.write(frame);
                }
            }),
            is_abandoned,
        );
        let finished = |()| if record.is_some() { files.finish() } else { Ok(()) };
        outcome.and_then(finished).map_err(failed)?;
        Ok(record)
    }

    /// Runs a replica on the testbed with `run` and writes the frames on the air. A replica that did not come to its end leaves no file.
    pub(crate) fn emulate(
        &self,
        run: impl FnOnce(Option<Monitor>) -> Result<Option<Outcome>, CliError>,
    ) -> Result<Option<Outcome>, CliError> {
        let Some(files) = self.take() else { return run(None) };
        let (monitor, air) = mpsc::channel();
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || write(files, &air));
            let outcome = run(Some(monitor))?;
            let files = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(failed)?;
            if outcome.is_some() {
                files.finish().map_err(failed)?;
            }
            Ok(outcome)
        })
    }

    fn take(&self) -> Option<Files> {
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
    fairair_sim::simulate_by(scenario, effort, pool, watch, |replica, is_abandoned| match capture {
        Some(capture) if replica == 0 => capture.run(scenario, is_abandoned),
        _ => Ok(fairair_sim::run_unless(scenario, replica, None, is_abandoned)),
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
    let capture = Capture::open(Some(pcap), None, scenario)?;
    simulate(scenario, effort, pool, watch, capture.as_ref())
}

fn failed(FileError { path, source }: FileError) -> CliError {
    CliError::write(path, &source)
}

/// Writes frames until the sender is gone.
fn write(mut files: Files, air: &Receiver<AirFrame<EthernetFrame>>) -> Result<Files, FileError> {
    loop {
        match air.try_recv() {
            Ok(frame) => files.write(&frame)?,
            Err(TryRecvError::Empty) => std::thread::sleep(LOOK),
            Err(TryRecvError::Disconnected) => return Ok(files),
        }
    }
}
