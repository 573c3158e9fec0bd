//! The scenario's timed events.

use std::collections::VecDeque;

use fairair_core::scenario::Action;
use fairair_core::units::{Duration, Instant};

use super::cell::Cell;
use super::frame::Frame;

/// Probes that a sleeping station has not taken yet: the kernel answers at once, so it gets them late.
#[derive(Default)]
pub(super) struct LateProbes(VecDeque<(Instant, Frame)>);

impl LateProbes {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.0.iter().map(|(at, _)| *at).min()
    }

    /// A probe that its station takes now.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Frame> {
        let first = self.0.iter().position(|(at, _)| *at <= now)?;
        self.0.remove(first).map(|(_, frame)| frame)
    }
}

impl Cell<'_> {
    /// A station hears a probe.
    pub(super) fn asked(&mut self, now: Instant, probe: Frame) {
        let station = probe.station.station_index().expect("probes name their station");
        match self.habits.answer_after(station) {
            None => {}
            Some(Duration::ZERO) => self.output(now, probe),
            Some(late) => self.late_probes.0.push_back((now + late, probe)),
        }
    }

    /// Does what a timed event says.
    pub(super) fn perform(&mut self, now: Instant, action: &Action) {
        match action {
            Action::Rate { stations, rate } => {
                for station in stations {
                    self.rates[*station] = *rate;
                    self.bss.set_tx(*station, self.scenario.radio.tx(*rate));
                }
                self.reweigh(now);
            }
            Action::Silence { lasts } => self.bss.silence(now, now + *lasts),
            Action::Enforce { on } => self.switch_enforce(now, *on),
            Action::Deaf { .. } | Action::Sleep { .. } => self.habits.change(action),
        }
    }
}
