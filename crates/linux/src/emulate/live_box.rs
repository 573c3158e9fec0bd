//! The scenario's box as it is sold: `fairair vsb run` in the box's namespace instead of the emulation's own shaper.

mod config;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Wait, Instant as Clock};

use fairair_core::control::log::Event;
use fairair_core::control::{CapacityParams, ControlStats, Decision};
use fairair_core::record::EnforceRecord;
use fairair_core::scenario::{Action, Enforce, Scenario, TimedEvent};
use fairair_core::shaper::Policy;
use fairair_core::units::{Bitrate, Duration, Instant};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub(super) use self::config::check;
use self::config::config;
use super::error::TestbedError;
use super::rig::Rig;
use super::traffic::{Pings, hurried};
use crate::command::in_namespace;
use crate::enforce::log;
use crate::enforce::protocol::{Answer, Ask, Status, ask};

/// How long the daemon may take to shape, or to end: other testbeds that come and go hold the kernel's lock of devices.
const PATIENCE: Wait = Wait::from_mins(1);
/// How often its keeper looks at what is due.
const TICK: Wait = Wait::from_millis(10);

/// The daemon's part of a replica.
pub(super) struct LiveBox<'a> {
    scenario: &'a Scenario,
    enforce: Enforce,
    rig: &'a Rig,
    /// What begins the command `fairair`.
    program: &'a [OsString],
    /// Configuration, control socket, logs.
    directory: tempfile::TempDir,
    rates: Vec<Bitrate>,
    running: Option<Daemon>,
    /// Times that it was started.
    starts: usize,
    kept: KeptRun,
}

/// What is kept of the daemon's part.
#[derive(Default)]
pub(super) struct KeptRun {
    pub(super) record: EnforceRecord,
    /// Round trips of the daemon's probes after the warm-up.
    pub(super) probes: Pings,
    /// What it reported of its capacity when it was stopped.
    pub(super) findings: Vec<String>,
}

struct Daemon {
    child: Child,
    log: PathBuf,
    /// When its own clock began.
    began: Clock,
}

impl<'a> LiveBox<'a> {
    /// The scenario's box; it shapes from now on unless a timed event is going to switch it on.
    pub(super) fn new(scenario: &'a Scenario, rig: &'a Rig, program: &'a [OsString]) -> Result<Self, TestbedError> {
        let enforce = scenario.enforce.expect("it was checked");
        let mut the_box = LiveBox {
            scenario,
            enforce,
            rig,
            program,
            directory: tempfile::tempdir()?,
            rates: scenario.stations.iter().map(|station| station.rate).collect(),
            running: None,
            starts: 0,
            kept: KeptRun::default(),
        };
        let first = scenario.events.iter().find_map(|event| match event.action {
            Action::Enforce { on } => Some(on),
            _ => None,
        });
        if first != Some(true) {
            the_box.start()?;
        }
        Ok(the_box)
    }

    /// Does the scenario's timed events until `is_over`.
    /// Time 0 of the scenario is at `start`.
    pub(super) fn keep(mut self, start: Clock, is_over: &AtomicBool) -> Result<KeptRun, TestbedError> {
        let mut events = self.scenario.events.iter().peekable();
        while !is_over.load(Ordering::Relaxed) {
            let now = start.elapsed();
            while let Some(event) = events.next_if(|event| Wait::from_nanos(event.at.as_nanos()) <= now) {
                self.perform(event, start)?;
            }
            if let Some(running) = &mut self.running
                && !matches!(running.child.try_wait(), Ok(None))
            {
                return Err(self.failed("it ended early"));
            }
            std::thread::sleep(TICK);
        }
        self.stop(start)?;
        Ok(std::mem::take(&mut self.kept))
    }

    fn perform(&mut self, event: &TimedEvent, start: Clock) -> Result<(), TestbedError> {
        match &event.action {
            Action::Enforce { on: true } if self.running.is_none() => self.start(),
            Action::Enforce { on: false } => self.stop(start),
            Action::Rate { stations, rate, .. } => {
                for station in stations {
                    self.rates[*station] = *rate;
                }
                let by_rate = matches!(self.enforce.vsb.policy, Policy::Airtime | Policy::AirtimePhy)
                    || matches!(self.enforce.capacity, CapacityParams::Air(_));
                if by_rate && self.running.is_some() {
                    self.write_config()?;
                    self.ask(Ask::Reload)?;
                }
                Ok(())
            }
            // The cell does these.
            Action::Enforce { .. } | Action::Silence { .. } | Action::Deaf { .. } | Action::Sleep { .. } => Ok(()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where the daemon of this start writes what its machine sees.
    fn log(&self) -> PathBuf {
        self.path(&format!("control-{}.jsonl", self.starts))
    }

    fn write_config(&self) -> Result<PathBuf, TestbedError> {
        let path = self.path("vsb.toml");
        fs::write(&path, config(self.scenario, self.enforce, &self.rates, self.directory.path(), &self.log()))?;
        Ok(path)
    }

    /// Starts the daemon and waits until it shapes.
    fn start(&mut self) -> Result<(), TestbedError> {
        self.starts += 1;
        let path = self.write_config()?;
        let (program, first) = self.program.split_first().expect("a program");
        let mut command = in_namespace(&self.rig.the_box.path(), &program.to_string_lossy())?;
        command.args(first).args(["vsb", "run"]).arg(path).stdout(Stdio::null());
        command.stderr(File::create(self.path("said"))?);
        // Another's work on this machine is no part of the measurement.
        hurried(&mut command);
        let child = command.spawn().map_err(|error| self.failed(&error.to_string()))?;
        self.running = Some(Daemon { child, log: self.log(), began: Clock::now() });
        let begin = Clock::now();
        loop {
            // The socket answers when the datapath stands.
            let asked = Clock::now();
            if let Ok(Ok(Answer::Status(status))) = ask(self.directory.path(), Ask::Status) {
                let middle = asked + asked.elapsed() / 2;
                if let Some(running) = &mut self.running {
                    running.began = middle.checked_sub(Wait::from_secs_f64(status.uptime_s)).unwrap_or(middle);
                }
                return Ok(());
            }
            let has_ended = self.running.as_mut().is_some_and(|running| !matches!(running.child.try_wait(), Ok(None)));
            if has_ended || begin.elapsed() > PATIENCE {
                return Err(self.failed("it does not start"));
            }
            std::thread::sleep(TICK);
        }
    }

    fn ask(&self, what: Ask) -> Result<Answer, TestbedError> {
        let answer = ask(self.directory.path(), what).map_err(|error| self.failed(&error.to_string()))?;
        answer.map_err(|refusal| self.failed(&refusal.to_string()))
    }

    fn failed(&self, what: &str) -> TestbedError {
        let said = fs::read_to_string(self.path("said")).unwrap_or_default();
        let said = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        TestbedError::LiveBox(if said.is_empty() { what.to_owned() } else { format!("{what}: {said}") })
    }

    /// Ends the daemon, if it runs, and keeps what it decided.
    fn stop(&mut self, start: Clock) -> Result<(), TestbedError> {
        if self.running.is_none() {
            return Ok(());
        }
        if let Answer::Status(status) = self.ask(Ask::Status)? {
            // That C does not fit the cell is a result. All else means that the box was not whole.
            let findings: Vec<_> = status.pools.iter().filter_map(|pool| pool.trouble.clone()).collect();
            if let Some(trouble) =
                status.troubles.iter().find(|trouble| !findings.iter().any(|own| trouble.contains(own)))
            {
                return Err(self.failed(trouble));
            }
            self.kept.findings.extend(findings);
            self.count(&status);
        }
        let Some(mut daemon) = self.running.take() else { return Ok(()) };
        let end_of_daemon = daemon.end();
        let events =
            log::read(&daemon.log).map_err(|error| self.failed(&format!("its log cannot be read: {error}")))?;
        let end = Instant::ZERO + self.scenario.run.duration;
        let place = |at: Instant| placed(at, daemon.began, start);
        let mut sent = BTreeMap::new();
        for event in events.into_values().flatten() {
            match event {
                Event::Decision(mut decision) => {
                    decision.at = place(decision.at);
                    if decision.at <= end {
                        self.note(decision);
                    }
                }
                Event::Probe { at, id, .. } => {
                    if place(at) >= Instant::ZERO + self.scenario.run.warmup {
                        self.kept.probes.sent += 1;
                        sent.insert(id, at);
                    }
                }
                Event::Reply { at, id } => {
                    self.kept.probes.round_trips.extend(sent.remove(&id).map(|sent| at.saturating_since(sent)));
                }
                Event::Start { .. }
                | Event::State { .. }
                | Event::Grow { .. }
                | Event::Look { .. }
                | Event::Timeout { .. } => {}
            }
        }
        match end_of_daemon {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.failed(&format!("it did not end in order ({status})"))),
            None => Err(self.failed("it did not end when it was told to")),
        }
    }

    fn note(&mut self, decision: Decision) {
        let before = self.kept.record.trace.last().map_or(decision.capacity, |last| last.capacity);
        self.kept.record.control.rises += u64::from(decision.capacity > before);
        self.kept.record.control.falls += u64::from(decision.capacity < before);
        self.kept.record.trace.push(decision);
    }

    fn count(&mut self, status: &Status) {
        let ControlStats { probes, replies, lost, .. } = &mut self.kept.record.control;
        for pool in &status.pools {
            *probes += pool.probes[0];
            *replies += pool.probes[1];
            *lost += pool.probes[2];
        }
    }
}

impl Daemon {
    /// Has it take everything back. How it ended, if it did in time.
    fn end(&mut self) -> Option<ExitStatus> {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let begin = Clock::now();
        while begin.elapsed() < PATIENCE {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(TICK),
                ended => return ended.ok().flatten(),
            }
        }
        None
    }
}

impl Drop for Daemon {
    /// It is told to end first: what it has set for all of the machine outlives its namespace.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) && self.end().is_none() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// A time of the daemon as one of the scenario; what came before the scenario's start is at its start.
fn placed(at: Instant, began: Clock, start: Clock) -> Instant {
    let nanos = |wait: Wait| u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
    match began.checked_duration_since(start) {
        Some(later) => at + Duration::from_nanos(nanos(later)),
        None => Instant::ZERO + at.saturating_since(Instant::from_nanos(nanos(start.duration_since(began)))),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn times_of_the_daemon_are_the_scenarios() {
        let start = Clock::now();
        let (second, at) = (Wait::from_secs(1), Instant::ZERO + Duration::from_secs(3));
        assert_eq!(placed(at, start + second, start), Instant::ZERO + Duration::from_secs(4));
        assert_eq!(placed(at, start, start + second), Instant::ZERO + Duration::from_secs(2));
        assert_eq!(placed(at, start, start + 5 * second), Instant::ZERO, "before the start");
    }

    #[test]
    fn a_daemon_that_is_dropped_takes_back_what_it_has_set() {
        let directory = tempfile::tempdir().unwrap();
        let [begun, taken_back] = ["begun", "taken-back"].map(|name| directory.path().join(name));
        let script = format!(
            "trap 'touch {}; exit' TERM; touch {}; while :; do sleep 0.02; done",
            taken_back.display(),
            begun.display()
        );
        let child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let daemon = Daemon { child, log: PathBuf::new(), began: Clock::now() };
        while !begun.exists() {
            std::thread::sleep(TICK);
        }
        drop(daemon);
        assert!(taken_back.exists());
    }
}
