//! How stations answer the probes of the box.

use super::deadlines::Deadline;
use super::{Cell, CellPacket, Output};
use crate::rng::Rng;
use crate::scenario::{Action, Scenario};
use crate::units::{Duration, Instant};
use std::collections::BTreeMap;

/// Each station answers at once, late while it sleeps, or never.
pub(super) struct Responders<P> {
    stations: Vec<Responder>,
    rng: Rng,
    /// Probes that sleeping stations have not taken yet, by the number of their deadline.
    late: BTreeMap<u32, P>,
    last: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Responder {
    deaf: bool,
    /// Least and largest delay of an answer.
    delay: (Duration, Duration),
}

impl<P> Responders<P> {
    /// All awake, none deaf.
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let stations = vec![Responder::default(); scenario.stations.len()];
        Responders { stations, rng: Rng::fork(seed, "answers"), late: BTreeMap::new(), last: 0 }
    }

    /// Stations stop or resume answering probes, or answer late; other actions change nothing here.
    pub(super) fn change(&mut self, action: &Action) {
        match action {
            Action::Deaf { stations, on } => {
                for station in stations {
                    self.stations[*station].deaf = *on;
                }
            }
            Action::Sleep { stations, shortest, longest } => {
                for station in stations {
                    self.stations[*station].delay = (*shortest, *longest);
                }
            }
            Action::Rate { .. } | Action::Silence { .. } | Action::Enforce { .. } => {}
        }
    }

    /// After which time station number `station` answers a probe that reaches it now; `None`: never.
    fn answer_after(&mut self, station: usize) -> Option<Duration> {
        let Responder { deaf, delay: (shortest, longest) } = self.stations[station];
        if deaf {
            return None;
        }
        if longest == Duration::ZERO {
            return Some(Duration::ZERO);
        }
        let spread = (longest.as_nanos() - shortest.as_nanos()) as f64 * self.rng.uniform();
        Some(shortest + Duration::from_nanos(spread as u64))
    }

    /// Keeps a probe for later; returns its number.
    fn keep(&mut self, probe: P) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.late.insert(self.last, probe);
        self.last
    }

    /// The probe with this number, whose time has come.
    pub(super) fn take(&mut self, number: u32) -> Option<P> {
        self.late.remove(&number)
    }
}

impl<P: CellPacket, T: Copy> Cell<'_, P, T> {
    /// A probe reaches its station, which takes it now, later or never.
    pub(super) fn asked(&mut self, now: Instant, probe: P) -> Option<Output<P, T>> {
        let station = probe.station().station_index().expect("probes name their station");
        match self.responders.answer_after(station)? {
            Duration::ZERO => return Some(Output::Arrival(probe)),
            late => {
                let number = self.responders.keep(probe);
                self.deadlines.schedule(now + late, Deadline::Answer(number));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_station_answers_within_its_bounds_and_a_deaf_one_never() {
        let text = "name = \"s\"\n[run]\nduration = \"10 s\"\n[[station]]\nname = \"one\"\n";
        let scenario = Scenario::from_toml(text, "s.toml").expect("a scenario");
        let mut responders = Responders::<()>::new(&scenario, 1);
        assert_eq!(responders.answer_after(0), Some(Duration::ZERO));
        let (shortest, longest) = (Duration::from_millis(100), Duration::from_millis(300));
        responders.change(&Action::Sleep { stations: vec![0], shortest, longest });
        for _ in 0..100 {
            let after = responders.answer_after(0).expect("asleep, not deaf");
            assert!((shortest..=longest).contains(&after));
        }
        responders.change(&Action::Deaf { stations: vec![0], on: true });
        assert_eq!(responders.answer_after(0), None);
    }
}
