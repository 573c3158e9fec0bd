//! Events, and who notes them.

use serde::{Deserialize, Serialize};

use crate::control::{CapacityController, CapacityParams, Decision, Probe, StationView};
use crate::shaper::Totals;
use crate::units::Instant;

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
    /// UDP of both directions, where it is counted.
    #[serde(default)]
    pub datagrams: u64,
    /// Nobody is at this position.
    pub absent: bool,
    /// It waits for its cap.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_cap: bool,
    /// Air that a byte takes, in ns; 0: unknown.
    #[serde(default)]
    pub air_ns: u32,
}

impl Seen {
    fn new(station: usize, view: &StationView) -> Self {
        let Totals { down, up, up_bypassing } = view.totals;
        let (down, up, bypassing) = (down.0, up.0, up_bypassing.0);
        let (backlog, absent, at_cap) = (view.backlog as u64, view.is_absent, view.is_at_cap);
        let (datagrams, air_ns) = (view.datagrams.0, view.air_ns);
        Seen { station: station as u32, backlog, down, up, bypassing, datagrams, absent, at_cap, air_ns }
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
        /// The state of the controller.
        machine: CapacityController,
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
    /// The counters that changed.
    Look {
        /// When the machine was shown them.
        at: Instant,
        /// The counters that changed.
        seen: Vec<Seen>,
    },
    /// The controller was called with the time.
    Timeout {
        /// Time of the call.
        at: Instant,
    },
    /// A probe left.
    Probe {
        /// Time of departure.
        at: Instant,
        /// Its number.
        id: u64,
        /// The position of the station that was asked.
        station: u32,
    },
    /// Its reply came.
    Reply {
        /// Time of arrival.
        at: Instant,
        /// The number of the probe.
        id: u64,
    },
    /// The machine decided.
    Decision(Decision),
}

/// Records the inputs of a controller. A recorder that is off records nothing.
#[derive(Debug, Default)]
pub struct Recorder {
    is_on: bool,
    shown: Vec<StationView>,
    events: Vec<Event>,
}

impl Recorder {
    /// Begins with the machine that `params` and `seed` make.
    pub fn new(params: CapacityParams, seed: u64) -> Self {
        Recorder { is_on: true, shown: Vec::new(), events: vec![Event::Start { params, seed }] }
    }

    /// [`CapacityController::resume`]: `machine` as it is goes on. It draws from a fork of `seed`, as from its start.
    pub fn resume(&mut self, machine: &CapacityController, seed: u64) {
        let state = self.state(machine, seed);
        self.put(state);
    }

    /// [`CapacityController::grow`].
    pub fn grow(&mut self, stations: usize) {
        if self.is_on && stations > self.shown.len() {
            self.shown.resize(stations, StationView::default());
            self.events.push(Event::Grow { stations: stations as u32 });
        }
    }

    /// [`CapacityController::handle_timeout`].
    pub fn timeout(&mut self, at: Instant, views: &[StationView]) {
        self.look(at, views);
        self.put(Event::Timeout { at });
    }

    /// [`CapacityController::handle_reply`].
    pub fn reply(&mut self, at: Instant, id: u64, views: &[StationView]) {
        self.look(at, views);
        self.put(Event::Reply { at, id });
    }

    /// [`CapacityController::poll_probe`].
    pub fn probe(&mut self, at: Instant, probe: &Probe) {
        if let Some(station) = probe.station.station_index() {
            self.put(Event::Probe { at, id: probe.id, station: station as u32 });
        }
    }

    /// [`CapacityController::poll_decision`].
    pub fn decision(&mut self, decision: Decision) {
        self.put(Event::Decision(decision));
    }

    /// What stands for all that was noted before: `machine`, which draws from [`Rng::fork`](crate::rng::Rng::fork) of `seed`
    /// from here on.
    pub fn state(&self, machine: &CapacityController, seed: u64) -> Event {
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
