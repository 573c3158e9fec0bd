//! The scenario's timed events.

use std::collections::VecDeque;

use fairair_core::rng::Rng;
use fairair_core::scenario::{Action, Scenario};
use fairair_core::units::{Duration, Instant};

use super::cell::Cell;
use super::frame::Frame;

/// How each station takes the box's probes: the kernel's answer is at once, so a sleeping station gets them late.
pub(super) struct Habits {
    stations: Vec<Habit>,
    rng: Rng,
    /// Probes that a sleeping station has not taken yet.
    late: VecDeque<(Instant, Frame)>,
}

#[derive(Clone, Copy, Default)]
struct Habit {
    deaf: bool,
    /// Least and largest delay of an answer.
    delay: (Duration, Duration),
}

impl Habits {
    /// All awake, none deaf.
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        Habits {
            stations: vec![Habit::default(); scenario.stations.len()],
            rng: Rng::fork(seed, "answers"),
            late: VecDeque::new(),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.late.iter().map(|(at, _)| *at).min()
    }

    /// A probe that its station takes now.
    pub(super) fn poll_late(&mut self, now: Instant) -> Option<Frame> {
        let first = self.late.iter().position(|(at, _)| *at <= now)?;
        self.late.remove(first).map(|(_, frame)| frame)
    }

    /// After which time a station takes a probe; `None`: never.
    fn after(&mut self, station: usize) -> Option<Duration> {
        let Habit { deaf, delay: (shortest, longest) } = self.stations[station];
        if deaf {
            return None;
        }
        if longest == Duration::ZERO {
            return Some(Duration::ZERO);
        }
        let spread = (longest.as_nanos() - shortest.as_nanos()) as f64 * self.rng.uniform();
        Some(shortest + Duration::from_nanos(spread as u64))
    }
}

impl Cell<'_> {
    /// A station hears a probe.
    pub(super) fn asked(&mut self, now: Instant, probe: Frame) {
        let station = probe.station.station_index().expect("probes name their station");
        match self.habits.after(station) {
            None => {}
            Some(Duration::ZERO) => self.output(now, probe),
            Some(late) => self.habits.late.push_back((now + late, probe)),
        }
    }

    /// Does what a timed event says.
    pub(super) fn perform(&mut self, now: Instant, action: &Action) {
        match action {
            Action::Rate { stations, rate } => {
                for station in stations {
                    self.rates[*station] = *rate;
                    self.bss.set_rate(*station, *rate);
                }
                self.reweigh(now);
            }
            Action::Silence { lasts } => self.bss.silence(now, now + *lasts),
            Action::Enforce { on } => self.switch_enforce(now, *on),
            Action::Deaf { stations, on } => {
                for station in stations {
                    self.habits.stations[*station].deaf = *on;
                }
            }
            Action::Sleep { stations, shortest, longest } => {
                for station in stations {
                    self.habits.stations[*station].delay = (*shortest, *longest);
                }
            }
        }
    }
}
