//! What a machine saw and decided, one event a line, and the same machine or another one on such a log.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Capacity, CapacityParams, Decision, Probe, StationView};
use crate::rng::Rng;
use crate::shaper::Totals;
use crate::units::{Bytes, Duration, Instant};

/// What was counted of one station, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Position of the station.
    pub station: u32,
    /// Packets that wait.
    pub backlog: u64,
    /// IP bytes towards the radio, since the start.
    pub down: u64,
    /// IP bytes from the radio.
    pub up: u64,
    /// Of `up`, those that passed by the box.
    pub bypassing: u64,
    /// Nobody is at this position.
    pub absent: bool,
    /// Air that a byte takes, in ns; 0: unknown.
    #[serde(default)]
    pub air_ns: u32,
}

impl Seen {
    fn new(station: usize, view: &StationView) -> Self {
        let Totals { down, up, up_bypassing } = view.totals;
        let (down, up, bypassing) = (down.0, up.0, up_bypassing.0);
        let (backlog, absent, air_ns) = (view.backlog as u64, view.is_absent, view.air_ns);
        Seen { station: station as u32, backlog, down, up, bypassing, absent, air_ns }
    }
}

/// A line. Times are those of the box's monotonic clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A machine begins, without stations.
    Start {
        /// Which, and with what.
        params: CapacityParams,
        /// Of its random numbers.
        seed: u64,
    },
    /// A machine that has been at work goes on from here: the log before it need not be there.
    State {
        /// It.
        machine: Capacity,
        /// Of its random numbers from here on.
        seed: u64,
        /// What it was shown last, one a station.
        seen: Vec<Seen>,
    },
    /// There is room for so many stations.
    Grow {
        /// How many.
        stations: u32,
    },
    /// The counters that are not what they were.
    Look {
        /// When the machine was shown them.
        at: Instant,
        /// Them.
        seen: Vec<Seen>,
    },
    /// The machine was told the time.
    Timeout {
        /// Then.
        at: Instant,
    },
    /// A probe left.
    Probe {
        /// When.
        at: Instant,
        /// Its number.
        id: u64,
        /// The position of the station that was asked.
        station: u32,
    },
    /// Its reply came.
    Reply {
        /// When.
        at: Instant,
        /// The number of the probe.
        id: u64,
    },
    /// The machine decided.
    Decision(Decision),
}

/// Notes what a machine is told. One that is off notes nothing.
#[derive(Debug, Default)]
pub struct Tape {
    is_on: bool,
    shown: Vec<StationView>,
    events: Vec<Event>,
}

impl Tape {
    /// Begins with the machine that `params` and `seed` make.
    pub fn new(params: CapacityParams, seed: u64) -> Self {
        Tape { is_on: true, shown: Vec::new(), events: vec![Event::Start { params, seed }] }
    }

    /// [`Capacity::grow`].
    pub fn grow(&mut self, stations: usize) {
        if self.is_on && stations > self.shown.len() {
            self.shown.resize(stations, StationView::default());
            self.events.push(Event::Grow { stations: stations as u32 });
        }
    }

    /// [`Capacity::handle_timeout`].
    pub fn timeout(&mut self, at: Instant, views: &[StationView]) {
        self.look(at, views);
        self.put(Event::Timeout { at });
    }

    /// [`Capacity::handle_reply`].
    pub fn reply(&mut self, at: Instant, id: u64, views: &[StationView]) {
        self.look(at, views);
        self.put(Event::Reply { at, id });
    }

    /// [`Capacity::poll_probe`].
    pub fn probe(&mut self, at: Instant, probe: &Probe) {
        if let Some(station) = probe.station.station_index() {
            self.put(Event::Probe { at, id: probe.id, station: station as u32 });
        }
    }

    /// [`Capacity::poll_decision`].
    pub fn decision(&mut self, decision: Decision) {
        self.put(Event::Decision(decision));
    }

    /// What stands for all that was noted before: `machine`, which draws from [`Rng::fork`] of `seed` from here on.
    pub fn state(&self, machine: &Capacity, seed: u64) -> Event {
        let looks = self.shown.iter().enumerate().map(|(station, view)| Seen::new(station, view));
        Event::State { machine: machine.clone(), seed, seen: looks.collect() }
    }

    /// What was noted since the last call, oldest first.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn put(&mut self, event: Event) {
        if self.is_on {
            self.events.push(event);
        }
    }

    fn look(&mut self, at: Instant, views: &[StationView]) {
        if !self.is_on {
            return;
        }
        let mut seen = Vec::new();
        for (station, (view, shown)) in views.iter().zip(&mut self.shown).enumerate() {
            if view != shown {
                *shown = *view;
                seen.push(Seen::new(station, view));
            }
        }
        if !seen.is_empty() {
            self.events.push(Event::Look { at, seen });
        }
    }
}

/// Why a log cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// No machine was begun before.
    #[error("an event comes before the `start` of its AP")]
    NoStart,
    /// Nobody has that position.
    #[error("station {0} is beyond the last `grow`")]
    NoStation(u32),
    /// The other parameters are those of `air`.
    #[error("the log tells no air of any station, which capacity of kind `air` needs: its AP had no `phy`")]
    NoAir,
    /// More stations than a box has.
    #[error("{0} stations are more than the 65535 that a log may have")]
    Crowd(u32),
}

/// What was decided then, and what is decided now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// By the log.
    pub recorded: Vec<Decision>,
    /// By the machine that was replayed.
    pub replayed: Vec<Decision>,
}

/// Most stations of a log.
const CROWD: u32 = 65_535;

/// Replays the log of the AP that is called `label`, with the recorded parameters or with `other`.
///
/// With the recorded parameters the machine is told exactly what was recorded. With others its own probes count: each is
/// answered after as long as the last recorded one to the same station before it, or never if that was not answered.
/// The log cannot tell how the cell would have answered to another C.
///
/// # Errors
/// The events cannot be those of a machine, or `other` wants to know what the log does not tell.
pub fn replay(label: &str, events: &[Event], other: Option<&CapacityParams>) -> Result<Replayed, LogError> {
    if matches!(other, Some(CapacityParams::Air(_))) && !events.iter().any(tells_air) {
        return Err(LogError::NoAir);
    }
    let trips = trips(events);
    let mut told = Replayed::default();
    let mut run: Option<Run> = None;
    for (index, event) in events.iter().enumerate() {
        if let Event::Start { params, seed } = event {
            let params = other.unwrap_or(params);
            run = Some(Run::new(Capacity::new(params, 0, Rng::fork(*seed, label))));
            continue;
        }
        if let Event::State { machine, seed, seen } = event {
            let rng = Rng::fork(*seed, label);
            if other.is_none() {
                // A gap before it may have cut off the decisions of the last event.
                told.replayed.truncate(told.recorded.len());
            }
            let machine = match (other, run.is_some()) {
                // Another machine has a state of its own.
                (Some(_), true) => continue,
                (Some(other), false) => Capacity::new(other, 0, rng),
                (None, _) => {
                    let mut machine = machine.clone();
                    machine.reseed(rng);
                    machine
                }
            };
            let mut own = Run::new(machine);
            own.grow(seen.len());
            own.look(seen)?;
            run = Some(own);
            continue;
        }
        let run = run.as_mut().ok_or(LogError::NoStart)?;
        match event {
            Event::Decision(decision) => told.recorded.push(*decision),
            Event::Grow { stations } if *stations > CROWD => return Err(LogError::Crowd(*stations)),
            Event::Grow { stations } => {
                run.grow(run.views.len().max(*stations as usize));
            }
            Event::Look { seen, .. } => run.look(seen)?,
            Event::Probe { station, .. } => {
                run.asked.insert(*station, trips.get(&index).copied());
            }
            Event::Timeout { at } if other.is_none() => run.machine.handle_timeout(*at, &run.views),
            Event::Reply { at, id } if other.is_none() => run.machine.handle_reply(*at, *id, &run.views),
            Event::Start { .. } | Event::State { .. } | Event::Timeout { .. } | Event::Reply { .. } => {}
        }
        if let (Some(_), Event::Look { at, .. } | Event::Timeout { at } | Event::Reply { at, .. }) = (other, event) {
            run.advance(*at, &mut told.replayed);
        }
        run.drain(None, &mut told.replayed);
    }
    Ok(told)
}

/// How long the replies to the probes took, by the places of the probes in the log.
fn trips(events: &[Event]) -> BTreeMap<usize, Duration> {
    let (mut trips, mut sent) = (BTreeMap::new(), BTreeMap::new());
    for (index, event) in events.iter().enumerate() {
        match event {
            Event::Start { .. } => sent.clear(),
            Event::Probe { at, id, .. } => drop(sent.insert(*id, (index, *at))),
            Event::Reply { at, id } => {
                if let Some((index, sent_at)) = sent.remove(id) {
                    trips.insert(index, at.saturating_since(sent_at));
                }
            }
            _ => {}
        }
    }
    trips
}

/// A machine that is replayed.
struct Run {
    machine: Capacity,
    views: Vec<StationView>,
    /// How long the last recorded probe to a station took; `None`: lost.
    asked: BTreeMap<u32, Option<Duration>>,
    /// Replies to the machine's own probes.
    due: BTreeSet<(Instant, u64)>,
}

impl Run {
    fn new(machine: Capacity) -> Self {
        Run { machine, views: Vec::new(), asked: BTreeMap::new(), due: BTreeSet::new() }
    }

    fn grow(&mut self, stations: usize) {
        self.views.resize(stations, StationView::default());
        self.machine.grow(stations);
    }

    fn look(&mut self, seen: &[Seen]) -> Result<(), LogError> {
        for seen in seen {
            let view = self.views.get_mut(seen.station as usize).ok_or(LogError::NoStation(seen.station))?;
            view.backlog = seen.backlog as usize;
            view.totals = Totals { down: Bytes(seen.down), up: Bytes(seen.up), up_bypassing: Bytes(seen.bypassing) };
            view.is_absent = seen.absent;
            view.air_ns = seen.air_ns;
        }
        Ok(())
    }

    /// Lets time pass for a machine with other parameters.
    fn advance(&mut self, now: Instant, decisions: &mut Vec<Decision>) {
        while let Some((at, id)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, id));
            self.machine.handle_reply(at, id, &self.views);
            self.drain(Some(at), decisions);
        }
        if self.machine.poll_timeout().is_some_and(|at| at <= now) {
            self.machine.handle_timeout(now, &self.views);
        }
        self.drain(Some(now), decisions);
    }

    /// Takes what the machine says; its probes count from `now` on if they are to be answered.
    fn drain(&mut self, now: Option<Instant>, decisions: &mut Vec<Decision>) {
        while let Some(probe) = self.machine.poll_probe() {
            let station = probe.station.station_index().map(|station| station as u32);
            let trip = station.and_then(|station| self.asked.get(&station).copied().flatten());
            if let (Some(now), Some(trip)) = (now, trip) {
                self.due.insert((now + trip, probe.id));
            }
        }
        while let Some(decision) = self.machine.poll_decision() {
            decisions.push(decision);
        }
    }
}

fn tells_air(event: &Event) -> bool {
    matches!(event, Event::Look { seen, .. } | Event::State { seen, .. } if seen.iter().any(|seen| seen.air_ns > 0))
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{Cell, MBPS};
    use super::super::{AdaptiveParams, AirParams, WceParams};
    use super::*;
    use crate::units::Bitrate;

    /// Twenty seconds of a cell that drops to a quarter and falls silent, as lines of JSON.
    fn recorded(params: CapacityParams) -> (Vec<Event>, Vec<Decision>) {
        let mut cell = Cell::new(Capacity::new(&params, 0, Rng::fork(7, "ap1")), 4);
        cell.tape = Tape::new(params, 7);
        cell.tape.grow(4);
        cell.control.grow(4);
        cell.run(5.0);
        cell.carries = 1.25 * MBPS;
        cell.deaf[2] = true;
        cell.run(6.0);
        cell.silent = true;
        cell.run(2.0);
        cell.silent = false;
        cell.carries = 5.0 * MBPS;
        cell.run(7.0);
        let lines = cell.tape.take().into_iter().map(|event| serde_json::to_string(&event).unwrap());
        (lines.map(|line| serde_json::from_str(&line).unwrap()).collect(), cell.decisions)
    }

    /// Replay is exact: what the machine decides depends on nothing that is not in the log.
    #[test]
    fn a_log_gives_the_decisions_that_it_was_recorded_with() {
        for params in [
            CapacityParams::Adaptive(AdaptiveParams::default()),
            CapacityParams::Wce(WceParams::default()),
            CapacityParams::Air(AirParams::default()),
        ] {
            let (events, decisions) = recorded(params);
            assert!(decisions.len() > 20, "{}", decisions.len());
            let told = replay("ap1", &events, None).unwrap();
            assert_eq!(told.recorded, decisions);
            assert_eq!(told.replayed, decisions);
        }
    }

    #[test]
    fn other_parameters_are_obeyed_and_change_the_decisions() {
        let (events, decisions) = recorded(CapacityParams::Adaptive(AdaptiveParams::default()));
        let max = Bitrate::mbps(3);
        let other = CapacityParams::Adaptive(AdaptiveParams { max, ..AdaptiveParams::default() });
        let told = replay("ap1", &events, Some(&other)).unwrap();
        assert_eq!(told.recorded, decisions);
        assert!(told.replayed.len() > 20, "its probes are answered: {}", told.replayed.len());
        assert!(told.replayed.iter().all(|decision| decision.capacity <= max));
    }

    /// The oldest files of a log are gone, and what is left begins with the machine as it was.
    #[test]
    fn a_log_without_its_beginning_gives_the_same_decisions() {
        for params in [CapacityParams::Adaptive(AdaptiveParams::default()), CapacityParams::Wce(WceParams::default())] {
            let mut cell = Cell::new(Capacity::new(&params, 0, Rng::fork(7, "ap1")), 4);
            cell.tape = Tape::new(params, 7);
            cell.tape.grow(4);
            cell.control.grow(4);
            cell.run(5.0);
            cell.carries = 1.25 * MBPS;
            cell.run(1.3);
            let before = cell.tape.take().len();
            assert!(before > 100, "{before}");
            let already = cell.decisions.len();
            let state = serde_json::to_string(&cell.tape.state(&cell.control, 9)).unwrap();
            cell.control.reseed(Rng::fork(9, "ap1"));
            cell.run(8.0);
            let mut events: Vec<Event> = vec![serde_json::from_str(&state).unwrap()];
            events.extend(cell.tape.take());
            let decisions = &cell.decisions[already..];
            assert!(decisions.len() > 10, "{}", decisions.len());
            let told = replay("ap1", &events, None).unwrap();
            assert_eq!((&told.recorded[..], &told.replayed[..]), (decisions, decisions));
            let other = CapacityParams::Adaptive(AdaptiveParams { max: Bitrate::mbps(3), ..AdaptiveParams::default() });
            let told = replay("ap1", &events, Some(&other)).unwrap();
            assert!(!told.replayed.is_empty() && told.replayed.iter().all(|own| own.capacity <= Bitrate::mbps(3)));
        }
    }

    #[test]
    fn a_log_without_air_is_none_for_the_machine_that_needs_it() {
        let (mut events, _) = recorded(CapacityParams::Wce(WceParams::default()));
        let air = CapacityParams::Air(AirParams::default());
        assert!(!replay("ap1", &events, Some(&air)).unwrap().replayed.is_empty());
        for event in &mut events {
            if let Event::Look { seen, .. } = event {
                // As versions wrote it that did not know of air.
                let lines = seen.iter().map(|seen| {
                    serde_json::to_string(seen).unwrap().replace(&format!(",\"air_ns\":{}", seen.air_ns), "")
                });
                *seen = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
            }
        }
        assert_eq!(replay("ap1", &events, Some(&air)), Err(LogError::NoAir));
    }

    #[test]
    fn impossible_logs_are_errors() {
        let at = Instant::ZERO;
        assert_eq!(replay("ap1", &[Event::Timeout { at }], None), Err(LogError::NoStart));
        let start = Event::Start { params: CapacityParams::Fixed { rate: Bitrate::mbps(1) }, seed: 1 };
        let seen = vec![Seen { station: 3, backlog: 0, down: 0, up: 0, bypassing: 0, absent: false, air_ns: 0 }];
        assert_eq!(replay("ap1", &[start.clone(), Event::Look { at, seen }], None), Err(LogError::NoStation(3)));
        assert_eq!(replay("ap1", &[start, Event::Grow { stations: u32::MAX }], None), Err(LogError::Crowd(u32::MAX)));
    }
}
