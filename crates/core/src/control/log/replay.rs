//! A machine on the log of another one, or on its own.

use std::collections::{BTreeMap, BTreeSet};

use super::{Event, Seen};
use crate::control::{CapacityController, CapacityParams, Decision, StationView};
use crate::rng::Rng;
use crate::shaper::Totals;
use crate::units::{Bytes, Duration, Instant};

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
    #[error(
        "the log tells no air of any station, which capacity of kind `air` needs: its AP had no `phy`, or nothing passed"
    )]
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

impl Replayed {
    /// A full disk or a kill may have cut the log off between the last event and the decisions that it led to, those after
    /// the first `settled`: what is not recorded of them is nothing to compare with.
    fn cut(&mut self, settled: usize) {
        self.replayed.truncate(self.recorded.len().max(settled));
    }
}

/// Most stations of a log.
const CROWD: u32 = 65_535;

/// Replays the log of the AP that is called `label`, with the recorded parameters or with `other`.
///
/// With the recorded parameters the controller gets exactly the recorded inputs. With others its own probes count: each is
/// answered after as long as the last recorded one to the same station before it, or never if that was not answered.
/// How the cell would have answered to another C is not in the log.
///
/// # Errors
/// The events cannot be those of a controller, or `other` needs inputs that the log does not have.
pub fn replay(label: &str, events: &[Event], other: Option<&CapacityParams>) -> Result<Replayed, LogError> {
    if matches!(other, Some(CapacityParams::Air(_))) && !events.iter().any(tells_air) {
        return Err(LogError::NoAir);
    }
    let trips = trips(events);
    let mut told = Replayed::default();
    let mut run: Option<Run> = None;
    // Decisions before the last time or reply that the machine was told: it decides on these alone.
    let mut settled = 0;
    for (index, event) in events.iter().enumerate() {
        if matches!(event, Event::Start { .. } | Event::State { .. }) && other.is_none() {
            told.cut(settled);
        }
        if matches!(event, Event::Timeout { .. } | Event::Reply { .. }) {
            settled = told.replayed.len();
        }
        if let Event::Start { params, seed } = event {
            let params = other.unwrap_or(params);
            run = Some(Run::new(CapacityController::new(params, 0, Rng::fork(*seed, label))));
            continue;
        }
        if let Event::State { machine, seed, seen } = event {
            let rng = Rng::fork(*seed, label);
            let mut own = match (other, run.take()) {
                // Another machine has a state of its own.
                (Some(_), Some(own)) => own,
                (Some(other), None) => Run::new(CapacityController::new(other, 0, rng)),
                (None, _) => {
                    let mut machine = machine.clone();
                    machine.reseed(rng);
                    Run::new(machine)
                }
            };
            // Stations may have come in a gap.
            own.grow(own.views.len().max(seen.len()));
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
    if other.is_none() {
        told.cut(settled);
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
    machine: CapacityController,
    views: Vec<StationView>,
    /// How long the last recorded probe to a station took; `None`: lost.
    asked: BTreeMap<u32, Option<Duration>>,
    /// Replies to the machine's own probes.
    due: BTreeSet<(Instant, u64)>,
}

impl Run {
    fn new(machine: CapacityController) -> Self {
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
            view.datagrams = Bytes(seen.datagrams);
            view.is_absent = seen.absent;
            view.is_at_cap = seen.at_cap;
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
    use super::*;
    use crate::control::log::Recorder;
    use crate::control::testbed::{Cell, MBPS};
    use crate::control::{AdaptiveParams, AirParams, WceParams};
    use crate::units::Bitrate;

    /// A cell that drops to a quarter after five seconds, recorded.
    fn dropped(params: CapacityParams) -> Cell {
        let mut cell = Cell::new(CapacityController::new(&params, 0, Rng::fork(7, "ap1")), 4);
        cell.recorder = Recorder::new(params, 7);
        cell.recorder.grow(4);
        cell.control.grow(4);
        cell.run(5.0);
        cell.carries = 1.25 * MBPS;
        cell
    }

    /// Twenty seconds of it, with a silence, as lines of JSON.
    fn recorded(params: CapacityParams) -> (Vec<Event>, Vec<Decision>) {
        let mut cell = dropped(params);
        cell.deaf[2] = true;
        cell.run(6.0);
        cell.silent = true;
        cell.run(2.0);
        cell.silent = false;
        cell.carries = 5.0 * MBPS;
        cell.run(7.0);
        let lines = cell.recorder.take().into_iter().map(|event| serde_json::to_string(&event).unwrap());
        (lines.map(|line| serde_json::from_str(&line).unwrap()).collect(), cell.decisions)
    }

    /// The machines that decide: `wce` on replies, the others on time.
    fn kinds() -> [CapacityParams; 3] {
        [
            CapacityParams::Adaptive(AdaptiveParams::default()),
            CapacityParams::Wce(WceParams::default()),
            CapacityParams::Air(AirParams::default()),
        ]
    }

    /// Replay is exact: what the machine decides depends on nothing that is not in the log.
    #[test]
    fn a_log_gives_the_decisions_that_it_was_recorded_with() {
        for params in kinds() {
            let (events, decisions) = recorded(params);
            assert!(decisions.len() > 20, "{}", decisions.len());
            let told = replay("ap1", &events, None).unwrap();
            assert_eq!(told.recorded, decisions);
            assert_eq!(told.replayed, decisions);
        }
    }

    /// A full disk ends the log at any line: of what is left, all decisions are the same. A decision that is missing
    /// elsewhere is a difference.
    #[test]
    fn a_log_may_be_cut_off_at_any_line_but_lacks_none_before() {
        for params in kinds() {
            let (mut events, _) = recorded(params);
            for end in 1..=events.len() {
                let told = replay("ap1", &events[..end], None).unwrap();
                assert_eq!(told.recorded, told.replayed, "{params:?}, {end}");
            }
            let is_decision = |at: &usize| matches!(events[*at], Event::Decision(_));
            let second = (0..events.len()).filter(is_decision).nth(1).unwrap();
            // Killed before it could write the decision, and started again.
            let again: Vec<_> = events[..second].iter().chain(&events).cloned().collect();
            let told = replay("ap1", &again, None).unwrap();
            assert_eq!(told.recorded, told.replayed, "{params:?}");
            events.remove(second);
            let told = replay("ap1", &events, None).unwrap();
            assert_ne!(told.recorded, told.replayed, "{params:?}");
        }
    }

    /// A station came while the disk was full.
    #[test]
    fn other_parameters_meet_who_came_in_a_gap() {
        let params = CapacityParams::Adaptive(AdaptiveParams::default());
        let seen = |station| Seen {
            station,
            backlog: 0,
            down: 1,
            up: 1,
            bypassing: 0,
            datagrams: 0,
            absent: false,
            at_cap: false,
            air_ns: 0,
        };
        let machine = CapacityController::new(&params, 5, Rng::fork(1, "ap1"));
        let at = Instant::from_nanos(1);
        let events = [
            Event::Start { params, seed: 1 },
            Event::Grow { stations: 4 },
            Event::State { machine, seed: 2, seen: (0..5).map(seen).collect() },
            Event::Look { at, seen: vec![seen(4)] },
        ];
        assert!(replay("ap1", &events, Some(&params)).is_ok());
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
        for params in kinds() {
            let mut cell = dropped(params);
            cell.run(1.3);
            let before = cell.recorder.take().len();
            assert!(before > 100, "{before}");
            let already = cell.decisions.len();
            let state = serde_json::to_string(&cell.recorder.state(&cell.control, 9)).unwrap();
            cell.control.reseed(Rng::fork(9, "ap1"));
            cell.run(4.0);
            cell.carries = 5.0 * MBPS;
            cell.run(4.0);
            let mut events: Vec<Event> = vec![serde_json::from_str(&state).unwrap()];
            events.extend(cell.recorder.take());
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
        let seen = vec![Seen {
            station: 3,
            backlog: 0,
            down: 0,
            up: 0,
            bypassing: 0,
            datagrams: 0,
            absent: false,
            at_cap: false,
            air_ns: 0,
        }];
        assert_eq!(replay("ap1", &[start.clone(), Event::Look { at, seen }], None), Err(LogError::NoStation(3)));
        assert_eq!(replay("ap1", &[start, Event::Grow { stations: u32::MAX }], None), Err(LogError::Crowd(u32::MAX)));
    }
}
