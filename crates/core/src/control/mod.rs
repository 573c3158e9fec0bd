//! What C should be: machines that watch the cell through probes and the box's own counters.
//!
//! All are sans-IO. The driver (simulator, replay of a log, live daemon) sends the probes past the shaper, says when
//! their replies come, and shows each time what the box has counted; the machine answers with decisions.

mod adaptive;
#[cfg(test)]
mod adaptive_tests;
mod air;
mod ceiling;
mod delay;
mod drop;
mod guard;
pub mod log;
mod occupancy;
mod prober;
mod signal;
#[cfg(test)]
mod start_tests;
#[cfg(test)]
mod testbed;
mod trial;
mod watch;
mod wce;
#[cfg(test)]
mod wce_tests;

pub use adaptive::{Adaptive, AdaptiveParams};
pub use air::{Air, AirParams};
pub use guard::Guard;
pub use prober::Probe;
pub use watch::{Verdict, Watch};
pub use wce::{Wce, WceParams};

use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::shaper::Totals;
use crate::units::{Bitrate, Duration, Instant};

/// What the box has counted of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationView {
    /// Packets that wait in the box for C.
    pub backlog: usize,
    /// IP bytes since the start of the box.
    pub totals: Totals,
    /// Nobody is at this position now: it is not asked.
    pub is_absent: bool,
    /// Air that an IP byte of it takes at its rate, contention included, in ns; 0: unknown.
    pub air_ns: u32,
}

/// How much a machine knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Traffic and answers: C follows the cell.
    Run,
    /// Too little traffic to learn from: C stays.
    Idle,
    /// Nothing is heard from any station: C stays.
    NoSignal,
    /// Traffic, but no probe is answered: C stays.
    Blind,
}

impl State {
    /// All of them.
    pub const ALL: [State; 4] = [State::Run, State::Idle, State::NoSignal, State::Blind];
}

/// Why C is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The value to begin with, and again after a trial of a fixed one.
    Start,
    /// The value that the machine before had found (`adaptive`).
    Kept,
    /// The round-trip time is below the threshold (`wce`) or target (`adaptive`).
    DelayLow,
    /// The round-trip time is below the low threshold: faster up (`wce`).
    DelayVeryLow,
    /// The round-trip time is above the threshold or target.
    DelayHigh,
    /// The round-trip time is above the high threshold, or the rate that the cell delivered is below C.
    Overload,
    /// A probe was lost (`wce`: taken for overload).
    ProbeLost,
    /// Nobody waits for C: no reason to rise.
    NoBacklog,
    /// Less than C passes and nothing waits: C goes below that for a moment (`adaptive`).
    Trial,
    /// A trial found no queue in the cell: the stations ask for no more, or the bottleneck is elsewhere.
    NoQueue,
    /// Packets wait in the box, and nobody answers (`adaptive`).
    NoDelay,
    /// Too little traffic.
    Quiet,
    /// No sign of life from any station.
    Silence,
    /// Stations send, but answer no probe.
    Unanswered,
    /// Signals are back.
    Recovered,
    /// C would leave its bounds.
    Bound,
    /// Other stations are served, whose bytes take more or less air (`air`).
    Mix,
}

/// A value of C, or a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// When.
    pub at: Instant,
    /// C, in IP bytes of both directions.
    pub capacity: Bitrate,
    /// What is known.
    pub state: State,
    /// Why.
    pub reason: Reason,
}

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

/// What a machine hands on to the next one of the same cell, so that a new start does not begin at the largest C under
/// load. The next one checks it as it checks any C.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// C.
    pub capacity: Bitrate,
    /// Where a full queue tells little: the C that was too high, and the delay of half such a queue if it was measured.
    pub ceiling: Option<(Bitrate, Option<Duration>)>,
}

/// Counters of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlStats {
    /// Probes sent.
    pub probes: u64,
    /// Probes answered in time.
    pub replies: u64,
    /// Probes given up.
    pub lost: u64,
    /// Times that C rose.
    pub rises: u64,
    /// Times that C fell.
    pub falls: u64,
}

/// A machine at work.
///
/// Inputs: [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout), and
/// [`handle_reply`](Self::handle_reply) when a probe returns. After each, send what [`poll_probe`](Self::poll_probe)
/// says and do what [`poll_decision`](Self::poll_decision) says, until both are `None`. The slice of views has one
/// entry a station, always in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Capacity {
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

impl Capacity {
    /// The machine that `params` describe, for `stations` stations.
    pub fn new(params: &CapacityParams, stations: usize, rng: Rng) -> Self {
        match params {
            CapacityParams::Fixed { rate } => Capacity::Fixed(*rate),
            CapacityParams::Wce(params) => Capacity::Wce(Box::new(Wce::new(*params, stations, rng))),
            CapacityParams::Adaptive(params) => Capacity::Adaptive(Box::new(Adaptive::new(*params, stations))),
            CapacityParams::Air(params) => Capacity::Air(Box::new(Air::new(*params, stations))),
        }
    }

    /// A C of `rate` that is watched over: see [`Guard`].
    pub fn guarded(rate: Bitrate, stations: usize) -> Self {
        Capacity::Guarded(Box::new(Guard::new(rate, stations)))
    }

    /// What the cell carries, if a C that is watched over is above that.
    pub fn elsewhere(&self) -> Option<Bitrate> {
        if let Capacity::Guarded(guard) = self { guard.elsewhere() } else { None }
    }

    /// Something before the pool is the bottleneck now, such as the Internet link: a C that is watched over is left alone.
    pub fn stand_by(&mut self, now: Instant) {
        if let Capacity::Guarded(guard) = self {
            guard.stand_by(now);
        }
    }

    /// Draws from `rng` from here on, as far as the machine draws at all.
    pub fn reseed(&mut self, rng: Rng) {
        if let Capacity::Wce(wce) = self {
            wce.reseed(rng);
        }
    }

    /// C.
    pub fn capacity(&self) -> Bitrate {
        match self {
            Capacity::Fixed(rate) => *rate,
            Capacity::Guarded(guard) => guard.capacity(),
            Capacity::Wce(wce) => wce.capacity(),
            Capacity::Adaptive(adaptive) => adaptive.capacity(),
            Capacity::Air(air) => air.capacity(),
        }
    }

    /// When to call [`Self::handle_timeout`]; `None`: never.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Capacity::Fixed(_) => None,
            Capacity::Guarded(guard) => Some(guard.poll_timeout()),
            Capacity::Wce(wce) => Some(wce.poll_timeout()),
            Capacity::Adaptive(adaptive) => Some(adaptive.poll_timeout()),
            Capacity::Air(air) => Some(air.poll_timeout()),
        }
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant, stations: &[StationView]) {
        match self {
            Capacity::Fixed(_) => {}
            Capacity::Guarded(guard) => guard.handle_timeout(now, stations),
            Capacity::Wce(wce) => wce.handle_timeout(now, stations),
            Capacity::Adaptive(adaptive) => adaptive.handle_timeout(now, stations),
            Capacity::Air(air) => air.handle_timeout(now, stations),
        }
    }

    /// The reply to probe `id` is back. Replies nobody waits for any more are ignored.
    pub fn handle_reply(&mut self, now: Instant, id: u64, stations: &[StationView]) {
        match self {
            Capacity::Fixed(_) | Capacity::Air(_) => {}
            Capacity::Guarded(guard) => guard.handle_reply(now, id),
            Capacity::Wce(wce) => wce.handle_reply(now, id),
            Capacity::Adaptive(adaptive) => adaptive.handle_reply(now, id, stations),
        }
    }

    /// A probe to send now.
    pub fn poll_probe(&mut self) -> Option<Probe> {
        match self {
            Capacity::Fixed(_) | Capacity::Air(_) => None,
            Capacity::Guarded(guard) => guard.poll_probe(),
            Capacity::Wce(wce) => wce.poll_probe(),
            Capacity::Adaptive(adaptive) => adaptive.poll_probe(),
        }
    }

    /// What was decided.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        match self {
            Capacity::Fixed(_) => None,
            Capacity::Guarded(guard) => guard.poll_decision(),
            Capacity::Wce(wce) => wce.poll_decision(),
            Capacity::Adaptive(adaptive) => adaptive.poll_decision(),
            Capacity::Air(air) => air.poll_decision(),
        }
    }

    /// Makes room for `stations` stations, if that is more than before; those that are known keep their positions.
    pub fn grow(&mut self, stations: usize) {
        match self {
            Capacity::Fixed(_) => {}
            Capacity::Guarded(guard) => guard.grow(stations),
            Capacity::Wce(wce) => wce.grow(stations),
            Capacity::Adaptive(adaptive) => adaptive.grow(stations),
            Capacity::Air(air) => air.grow(stations),
        }
    }

    /// What the next machine of the same cell should know, if this one learns anything.
    pub fn keep(&self) -> Option<Kept> {
        match self {
            Capacity::Adaptive(adaptive) => adaptive.keep(),
            _ => None,
        }
    }

    /// Goes on with what another machine of the same cell has learned, within this one's bounds.
    pub fn resume(&mut self, now: Instant, kept: &Kept) {
        if let Capacity::Adaptive(adaptive) = self {
            adaptive.resume(now, kept);
        }
    }

    /// What is known. All but `adaptive` are always sure.
    pub const fn state(&self) -> State {
        match self {
            Capacity::Fixed(_) | Capacity::Guarded(_) | Capacity::Wce(_) | Capacity::Air(_) => State::Run,
            Capacity::Adaptive(adaptive) => adaptive.state(),
        }
    }

    /// Median over the stations of the last round-trip times above their baselines, as far as they are fresh at `now`.
    /// `None`: no answer is fresh, or the machine keeps no baselines.
    pub fn delay(&self, now: Instant) -> Option<Duration> {
        match self {
            Capacity::Adaptive(adaptive) => adaptive.delay(now),
            Capacity::Fixed(_) | Capacity::Guarded(_) | Capacity::Wce(_) | Capacity::Air(_) => None,
        }
    }

    /// Counters since the start.
    pub fn stats(&self) -> ControlStats {
        match self {
            Capacity::Fixed(_) => ControlStats::default(),
            Capacity::Guarded(guard) => guard.stats(),
            Capacity::Wce(wce) => wce.stats(),
            Capacity::Adaptive(adaptive) => adaptive.stats(),
            Capacity::Air(air) => air.stats(),
        }
    }
}
