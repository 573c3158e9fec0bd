//! One replica of a scenario on real hosts, in real time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration as Wait, Instant as Clock};

use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::units::Instant;

use super::driver::{Listeners, Monitor, drive};
use super::emulation::Emulation;
use super::error::TestbedError;
use super::hand_over::HandOver;
use super::live_box::{self, LiveBox};
use super::registry::Entry;
use super::rig::Rig;
use super::traffic::{Pings, TrafficPrograms};
use super::{Options, UncarriedFrames, stack};
use crate::realtime;

/// Priority of the emulation among real-time threads.
const PRIORITY: i32 = 50;
/// How often the conductor looks at what is due.
const TICK: Wait = Wait::from_millis(20);

/// What a replica gave.
pub struct Outcome {
    /// What was measured.
    pub record: Record,
    /// How late frames were handed over.
    pub hand_over: HandOver,
    /// Frames for nobody.
    pub uncarried: UncarriedFrames,
    /// Frames that the kernel dropped before the emulation saw them.
    pub overruns: u64,
    /// Whether the emulation had real-time priority.
    pub realtime: bool,
    /// Round trips, one entry a station; empty without pings.
    pub pings: Vec<Pings>,
    /// Round trips of a live box's probes after the warm-up.
    pub probes: Pings,
    /// What a live box reported of its capacity at the end of the run.
    pub findings: Vec<String>,
}

/// Says early whether the testbed can do the scenario.
///
/// # Errors
/// Names what it cannot do and what to change.
pub fn check(scenario: &Scenario, options: Options) -> Result<(), TestbedError> {
    if options.live_box.is_some() {
        live_box::check(scenario)?;
    }
    stack::check(scenario, options)
}

/// Says early whether the testbed can build the scenario's cell, without its flows.
///
/// # Errors
/// Names what it cannot do and what to change.
pub fn check_cell(scenario: &Scenario) -> Result<(), TestbedError> {
    stack::check_cell(scenario)
}

/// Builds a testbed, runs one replica and takes the testbed down. `None` when `cancel` was set before the end.
///
/// # Errors
/// When the testbed cannot be built or its traffic fails; it is taken down then too.
pub fn run(
    scenario: &Scenario,
    replica: u32,
    options: Options,
    cancel: &AtomicBool,
) -> Result<Option<Outcome>, TestbedError> {
    run_monitored(scenario, replica, options, cancel, None)
}

/// The same with a monitor on the channel.
///
/// # Errors
/// As [`run`].
pub fn run_monitored(
    scenario: &Scenario,
    replica: u32,
    options: Options,
    cancel: &AtomicBool,
    monitor: Option<Monitor>,
) -> Result<Option<Outcome>, TestbedError> {
    check(scenario, options)?;
    let seed = scenario.replica_seed(replica);
    let rig = Rig::build(scenario, options)?;
    let (finished, ends): (Vec<_>, Vec<_>) = scenario.flows().map(|_| mpsc::channel()).unzip();
    let mut programs = TrafficPrograms::new(scenario, &rig, seed, options.uplink, ends)?;
    let listeners = Listeners { finished, refills: programs.refills(), air: monitor };
    let stop = AtomicBool::new(false);
    if let Some(interval) = options.ping {
        programs.ping(interval)?;
    }
    let live_box = options.live_box.map(|program| LiveBox::new(scenario, &rig, program)).transpose()?;
    let start = Clock::now();
    let is_over = AtomicBool::new(false);
    let (emulated, conducted, kept) = std::thread::scope(|scope| {
        let emulation = scope.spawn(|| emulate(scenario, seed, &rig, options, start, &stop, &listeners));
        let keeper = live_box.map(|live_box| scope.spawn(|| live_box.keep(start, &is_over)));
        // Before the end it finishes by an error only.
        let has_failed = || keeper.as_ref().is_some_and(std::thread::ScopedJoinHandle::is_finished);
        let conducted =
            conduct(scenario, seed, &mut programs, start, cancel, || emulation.is_finished() || has_failed());
        stop.store(!matches!(conducted, Ok(true)) || has_failed(), Ordering::Relaxed);
        let emulated = emulation.join();
        is_over.store(true, Ordering::Relaxed);
        (emulated, conducted, keeper.map(std::thread::ScopedJoinHandle::join))
    });
    let kept = kept.transpose().map_err(|_| std::io::Error::other("the live box's keeper died"))?;
    if !conducted? {
        return Ok(None);
    }
    let mut outcome = emulated.map_err(|_| std::io::Error::other("the emulation died"))??;
    if let Some(kept) = kept.transpose()? {
        outcome.record.enforce = Some(kept.record);
        (outcome.probes, outcome.findings) = (kept.probes, kept.findings);
    }
    outcome.overruns = rig.overruns();
    outcome.pings = programs.pings();
    Ok(Some(outcome))
}

/// Builds a testbed without traffic and keeps it until `cancel` is set; `ready` is told what stands.
///
/// # Errors
/// When the testbed cannot be built; nothing is left behind then.
pub fn keep(
    scenario: &Scenario,
    options: Options,
    cancel: &AtomicBool,
    ready: impl FnOnce(&Entry),
) -> Result<(), TestbedError> {
    check_cell(scenario)?;
    let mut rig = Rig::build(scenario, options)?;
    rig.announce()?;
    ready(rig.entry());
    std::thread::scope(|scope| {
        let endless = || {
            realtime::keep_time(PRIORITY);
            let mut cell = Emulation::new(scenario, scenario.replica_seed(0));
            let (never, taps) = (Instant::FAR_FUTURE, rig.taps(options));
            drive(&mut cell, &taps, Clock::now(), never, never, cancel, &Listeners::default())
        };
        scope.spawn(endless).join().map_err(|_| std::io::Error::other("the emulation died"))?
    })?;
    Ok(())
}

fn emulate(
    scenario: &Scenario,
    seed: u64,
    rig: &Rig,
    options: Options,
    start: Clock,
    stop: &AtomicBool,
    listeners: &Listeners,
) -> std::io::Result<Outcome> {
    let realtime = realtime::keep_time(PRIORITY);
    let shaped_elsewhere = options.live_box.map(|_| Scenario { enforce: None, ..scenario.clone() });
    let mut cell = Emulation::new(shaped_elsewhere.as_ref().unwrap_or(scenario), seed);
    let taps = rig.taps(options);
    let end = Instant::ZERO + scenario.run.duration;
    let measure_from = Instant::ZERO + scenario.run.warmup;
    let (stopped, hand_over) = drive(&mut cell, &taps, start, end, measure_from, stop, listeners)?;
    let uncarried = cell.uncarried();
    Ok(Outcome {
        record: cell.record(stopped),
        hand_over,
        uncarried,
        overruns: 0,
        realtime,
        pings: Vec::new(),
        probes: Pings::default(),
        findings: Vec::new(),
    })
}

/// Starts and stops the flows at their times; says whether the run came to its end.
fn conduct(
    scenario: &Scenario,
    seed: u64,
    programs: &mut TrafficPrograms,
    start: Clock,
    cancel: &AtomicBool,
    is_over: impl Fn() -> bool,
) -> Result<bool, TestbedError> {
    let end = scenario.run.duration;
    let mut due: Vec<(Instant, usize, bool)> = Vec::new();
    for (id, ((_, flow), at)) in scenario.flows().zip(scenario.starts(seed)).enumerate() {
        due.push((at, id, true));
        due.extend(flow.stop.filter(|stop| *stop < end).map(|stop| (Instant::ZERO + stop, id, false)));
    }
    due.sort();
    let mut due = due.into_iter().peekable();
    while !is_over() {
        if cancel.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let now = Instant::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        while let Some((at, id, starts)) = due.next_if(|(at, ..)| *at <= now) {
            if starts {
                let stop = scenario.flows().nth(id).and_then(|(_, flow)| flow.stop).unwrap_or(end).min(end);
                programs.start(id, (Instant::ZERO + stop).saturating_since(at))?;
            } else {
                programs.stop(id);
            }
        }
        // What ends while the emulation ends is no fault.
        if let Some(error) = programs.ended_early()
            && !is_over()
        {
            return Err(error);
        }
        std::thread::sleep(TICK);
    }
    Ok(true)
}
