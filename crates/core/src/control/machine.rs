//! The machines by name, and one of them at work.

use serde::{Deserialize, Serialize};

use super::{
    Adaptive, AdaptiveParams, Air, AirParams, ControlStats, Decision, Guard, Kept, Probe, State, StationView, Wce,
    WceParams,
};
use crate::rng::Rng;
use crate::units::{Bitrate, Duration, Instant};

/// Which machine, and what the user chose for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CapacityParams {
    /// C as the user says.
    Fixed {
        /// C.
        rate: Bitrate,
    },
    /// The Wireless Capacity Estimator of detti2011.
    Wce(WceParams),
    /// Ours.
    Adaptive(AdaptiveParams),
    /// Ours, for cells whose rates are known.
    Air(AirParams),
}

impl CapacityParams {
    /// The smallest and the largest C.
    pub const fn bounds(&self) -> (Bitrate, Bitrate) {
        match self {
            CapacityParams::Fixed { rate } => (*rate, *rate),
            CapacityParams::Wce(params) => (params.min, params.max),
            CapacityParams::Adaptive(params) => (params.min, params.max),
            CapacityParams::Air(params) => (params.min, params.max),
        }
    }
}

/// A machine at work.
///
/// Inputs: [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout), and
/// [`handle_reply`](Self::handle_reply) when a probe returns. After each, send what [`poll_probe`](Self::poll_probe)
/// says and do what [`poll_decision`](Self::poll_decision) says, until both are `None`. The slice of views has one
/// entry a station, always in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CapacityController {
    /// Never changes.
    Fixed(Bitrate),
    /// As the user says, but for the moments in which it is looked whether it is too high.
    Guarded(Box<Guard>),
    /// detti2011 section 4.2.1.
    Wce(Box<Wce>),
    /// Ours.
    Adaptive(Box<Adaptive>),
    /// Ours, for cells whose rates are known.
    Air(Box<Air>),
}

/// Asks the machine at work; a C that never changes answers for itself.
macro_rules! ask {
    ($controller:expr, $rate:pat => $fixed:expr, $machine:ident => $answer:expr) => {
        match $controller {
            CapacityController::Fixed($rate) => $fixed,
            CapacityController::Guarded($machine) => $answer,
            CapacityController::Wce($machine) => $answer,
            CapacityController::Adaptive($machine) => $answer,
            CapacityController::Air($machine) => $answer,
        }
    };
}

impl CapacityController {
    /// The machine that `params` describe, for `stations` stations.
    pub fn new(params: &CapacityParams, stations: usize, rng: Rng) -> Self {
        match params {
            CapacityParams::Fixed { rate } => CapacityController::Fixed(*rate),
            CapacityParams::Wce(params) => CapacityController::Wce(Box::new(Wce::new(*params, stations, rng))),
            CapacityParams::Adaptive(params) => {
                CapacityController::Adaptive(Box::new(Adaptive::new(*params, stations)))
            }
            CapacityParams::Air(params) => CapacityController::Air(Box::new(Air::new(*params, stations))),
        }
    }

    fn adaptive(&self) -> Option<&Adaptive> {
        if let CapacityController::Adaptive(adaptive) = self { Some(adaptive) } else { None }
    }

    /// A C of `rate` that is watched over: see [`Guard`].
    pub fn guarded(rate: Bitrate, stations: usize) -> Self {
        CapacityController::Guarded(Box::new(Guard::new(rate, stations)))
    }

    /// What the cell carries, if a C that is watched over is above that.
    pub fn elsewhere(&self) -> Option<Bitrate> {
        if let CapacityController::Guarded(guard) = self { guard.elsewhere() } else { None }
    }

    /// A C that is watched over takes the place of one that was above what the cell carries, `carried`.
    pub fn suspect(&mut self, carried: Bitrate) {
        if let CapacityController::Guarded(guard) = self {
            guard.suspect(carried);
        }
    }

    /// What the cell carries at least, if that is more than C may be: much more than a C that is watched over, or more than the
    /// largest C of `adaptive`.
    pub fn spare(&self, now: Instant) -> Option<Bitrate> {
        match self {
            CapacityController::Guarded(guard) => guard.spare(),
            CapacityController::Adaptive(adaptive) => adaptive.spare(now),
            CapacityController::Fixed(_) | CapacityController::Wce(_) | CapacityController::Air(_) => None,
        }
    }

    /// Something before the pool is the bottleneck now, such as the Internet link: a C that is watched over is left alone.
    pub fn stand_by(&mut self, now: Instant) {
        if let CapacityController::Guarded(guard) = self {
            guard.stand_by(now);
        }
    }

    /// The stations belong to several access points, each with a queue of its own: `aps` has that of each station.
    pub fn set_access_points(&mut self, aps: Vec<usize>) {
        if let CapacityController::Adaptive(adaptive) = self {
            adaptive.set_access_points(aps);
        }
    }

    /// Draws from `rng` from here on, as far as the machine draws at all.
    pub fn reseed(&mut self, rng: Rng) {
        if let CapacityController::Wce(wce) = self {
            wce.reseed(rng);
        }
    }

    /// C.
    pub fn capacity(&self) -> Bitrate {
        ask!(self, rate => *rate, machine => machine.capacity())
    }

    /// When to call [`Self::handle_timeout`]; `None`: never.
    pub fn poll_timeout(&self) -> Option<Instant> {
        ask!(self, _ => None, machine => Some(machine.poll_timeout()))
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant, stations: &[StationView]) {
        ask!(self, _ => {}, machine => machine.handle_timeout(now, stations));
    }

    /// The reply to probe `id` is back. A reply that comes after its probe was given up is ignored.
    pub fn handle_reply(&mut self, now: Instant, id: u64, stations: &[StationView]) {
        match self {
            CapacityController::Fixed(_) | CapacityController::Air(_) => {}
            CapacityController::Guarded(guard) => guard.handle_reply(now, id),
            CapacityController::Wce(wce) => wce.handle_reply(now, id),
            CapacityController::Adaptive(adaptive) => adaptive.handle_reply(now, id, stations),
        }
    }

    /// A probe to send now.
    pub fn poll_probe(&mut self) -> Option<Probe> {
        match self {
            CapacityController::Fixed(_) | CapacityController::Air(_) => None,
            CapacityController::Guarded(guard) => guard.prober.poll_probe(),
            CapacityController::Wce(wce) => wce.prober.poll_probe(),
            CapacityController::Adaptive(adaptive) => adaptive.prober.poll_probe(),
        }
    }

    /// What was decided.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        ask!(self, _ => None, machine => machine.decisions.pop_front())
    }

    /// Makes room for `stations` stations, if that is more than before; those that are known keep their positions.
    pub fn grow(&mut self, stations: usize) {
        ask!(self, _ => {}, machine => machine.grow(stations));
    }

    /// What the next machine of the same cell should know, if this one learns anything.
    pub fn keep(&self) -> Option<Kept> {
        self.adaptive()?.keep()
    }

    /// What it would go on with, if it should forget what it is shown from now on; see [`recount`](Self::recount).
    pub fn settled(&self) -> Option<Kept> {
        Some(self.adaptive()?.settled())
    }

    /// The counters missed what passed for a while that ends `now`: rules or classes of the box had been taken away. `kept` is
    /// what was [settled](Self::settled) before.
    pub fn recount(&mut self, now: Instant, kept: Option<&Kept>) {
        match (self, kept) {
            (CapacityController::Adaptive(adaptive), Some(kept)) => adaptive.recount(now, kept),
            (CapacityController::Guarded(guard), _) => guard.stand_by(now),
            _ => {}
        }
    }

    /// Goes on with what another machine of the same cell has learned, within this one's bounds.
    pub fn resume(&mut self, now: Instant, kept: &Kept) {
        if let CapacityController::Adaptive(adaptive) = self {
            adaptive.resume(now, kept);
        }
    }

    /// What is known. `wce`, `air` and a C that nobody watches over are always sure.
    pub const fn state(&self) -> State {
        match self {
            CapacityController::Guarded(guard) => guard.state(),
            CapacityController::Fixed(_) | CapacityController::Wce(_) | CapacityController::Air(_) => State::Run,
            CapacityController::Adaptive(adaptive) => adaptive.state(),
        }
    }

    /// Median over the stations of the last round-trip times above their baselines, as far as they are fresh at `now`.
    /// `None`: no answer is fresh, or the machine keeps no baselines.
    pub fn delay(&self, now: Instant) -> Option<Duration> {
        self.adaptive()?.delay(now)
    }

    /// Counters since the start.
    pub fn stats(&self) -> ControlStats {
        match self {
            CapacityController::Fixed(_) => ControlStats::default(),
            CapacityController::Guarded(guard) => guard.prober.stats,
            CapacityController::Wce(wce) => wce.prober.stats,
            CapacityController::Adaptive(adaptive) => adaptive.prober.stats,
            CapacityController::Air(air) => air.stats,
        }
    }
}
