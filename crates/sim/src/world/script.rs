//! The scenario's timed events.

use fairair_core::packet::NodeId;
use fairair_core::rng::Rng;
use fairair_core::scenario::{Action, Scenario};
use fairair_core::units::{Duration, Instant};

use super::World;

/// How each station answers probes.
pub(super) struct Habits {
    stations: Vec<Habit>,
    rng: Rng,
    /// Late answers, by number: station and probe. Events hold the number, to stay small.
    late: Vec<(NodeId, u64)>,
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
            late: Vec::new(),
        }
    }

    /// Notes a late answer and gives it a number.
    pub(super) fn note(&mut self, station: NodeId, id: u64) -> u32 {
        self.late.push((station, id));
        self.late.len() as u32 - 1
    }

    /// The late answer with this number.
    pub(super) fn noted(&self, number: u32) -> (NodeId, u64) {
        self.late[number as usize]
    }

    /// After which time a station answers a probe; `None`: never.
    pub(super) fn answer_after(&mut self, station: usize) -> Option<Duration> {
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

impl World<'_> {
    /// Does what the timed event number `index` says.
    pub(super) fn perform(&mut self, now: Instant, index: usize) {
        let scenario = self.scenario;
        match &scenario.events[index].action {
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
