//! `air`: C is a share of the air, whatever the mix of rates that is served.
//!
//! A cell carries fewer bytes while it serves slow stations. A C that is fixed in bytes is too much for it then, and the
//! queue goes back to the AP, where nobody divides it (docs/remedies-box.md, two stable states). Here C is the capacity of
//! the bytes that passed lately, reckoned from the rates of their stations, times the share that the user chose, less the
//! share that UDP takes which bypasses the box. Nothing is probed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{ControlStats, Decision, Reason, State, StationView};
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// What the user chose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AirParams {
    /// C as a share of what the cell is reckoned to carry, above 0. Many uploading stations contend more than is
    /// reckoned: their cell carries 0.97 of it.
    pub share: f64,
    /// Time between two decisions.
    pub interval: Duration,
    /// Smallest C.
    pub min: Bitrate,
    /// Largest C, and the first.
    pub max: Bitrate,
}

impl Default for AirParams {
    fn default() -> Self {
        AirParams {
            share: 0.92,
            interval: Duration::from_millis(50),
            min: Bitrate::from_bps(100_000),
            max: Bitrate::mbps(6),
        }
    }
}

/// The weight of the mix of an interval in which C was used up; one with fewer bytes weighs less. A C that follows each
/// one alone is high just when a burst of the slow station is next: what bursts leave to others in one interval they take
/// from them in the next.
const SMOOTHING: f64 = 0.25;
/// A change of C below this share of it is not worth a decision.
const WORTH: f64 = 0.005;

/// Our controller for cells whose rates are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Air {
    params: AirParams,
    capacity: Bitrate,
    next_tick: Instant,
    /// What each station had at the last look, and when that was.
    counted: Vec<Counted>,
    looked_at: Option<Instant>,
    /// Air that a byte through the box takes lately, in ns.
    per_byte: Option<f64>,
    /// Share of the air that went to bytes which bypass the box, lately.
    bypassing: f64,
    pub(super) stats: ControlStats,
    pub(super) decisions: VecDeque<Decision>,
}

/// Bytes of a station: through the box, and past it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counted {
    shaped: Bytes,
    bypassing: Bytes,
}

impl Air {
    /// Begins with the largest C.
    pub fn new(params: AirParams, stations: usize) -> Self {
        Air { params, capacity: params.max, counted: vec![Counted::default(); stations], ..Air::default() }
    }

    /// C.
    pub const fn capacity(&self) -> Bitrate {
        self.capacity
    }

    /// When the next decision is due.
    pub const fn poll_timeout(&self) -> Instant {
        self.next_tick
    }

    /// Decides.
    pub fn handle_timeout(&mut self, now: Instant, stations: &[StationView]) {
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + self.params.interval;
        let passed = self.count(stations);
        self.learn(&passed, stations);
        self.learn_bypassing(now, &passed, stations);
        let Some(air) = self.per_byte else { return };
        let share = (self.params.share - self.bypassing).max(0.0);
        let wanted = Bitrate::from_bps((share * 8e9 / air).round() as u64);
        self.set(now, wanted.clamp(self.params.min, self.params.max));
    }

    /// Makes room for more stations.
    pub fn grow(&mut self, stations: usize) {
        let stations = stations.max(self.counted.len());
        self.counted.resize(stations, Counted::default());
    }

    /// Bytes of each station since the last look.
    fn count(&mut self, stations: &[StationView]) -> Vec<Counted> {
        let grown = self.counted.iter_mut().zip(stations).map(|(counted, view)| {
            let bypassing = view.totals.up_bypassing;
            let shaped = Bytes((view.totals.down.0 + view.totals.up.0).saturating_sub(bypassing.0));
            let before = std::mem::replace(counted, Counted { shaped, bypassing });
            Counted {
                shaped: Bytes(shaped.0.saturating_sub(before.shaped.0)),
                bypassing: Bytes(bypassing.0.saturating_sub(before.bypassing.0)),
            }
        });
        grown.collect()
    }

    /// Moves the air that a byte takes towards that of the last interval's mix: by bytes, so that a pause says nothing. Before
    /// there are any, equal shares of all whose rate is known.
    fn learn(&mut self, passed: &[Counted], stations: &[StationView]) {
        let known = || passed.iter().zip(stations).filter(|(_, view)| !view.is_absent && view.air_ns > 0);
        let mean = |weight: &dyn Fn(f64) -> f64| {
            let all: f64 = known().map(|(passed, _)| weight(passed.shaped.0 as f64)).sum();
            let air = known().map(|(passed, view)| weight(passed.shaped.0 as f64) * f64::from(view.air_ns));
            let air: f64 = air.sum();
            (all > 0.0).then(|| (all, air / all))
        };
        match (self.per_byte, mean(&|bytes| bytes)) {
            (Some(before), Some((all, mix))) => {
                let full = self.capacity.bytes_in(self.params.interval).0.max(1) as f64;
                self.per_byte = Some(before + SMOOTHING * (all / full).min(1.0) * (mix - before));
            }
            (None, _) => self.per_byte = mean(&|_| 1.0).map(|(_, air)| air),
            (Some(_), None) => {}
        }
    }

    /// Moves the share of the air that bypasses the box towards that of the last interval. A byte of UDP counts as one of TCP
    /// of its station does.
    fn learn_bypassing(&mut self, now: Instant, passed: &[Counted], stations: &[StationView]) {
        let Some(before) = self.looked_at.replace(now) else { return };
        let air = passed.iter().zip(stations).map(|(passed, view)| passed.bypassing.0 as f64 * f64::from(view.air_ns));
        let share = air.sum::<f64>() / (now.saturating_since(before).as_nanos() as f64).max(1.0);
        self.bypassing += SMOOTHING * (share.min(1.0) - self.bypassing);
    }

    fn set(&mut self, now: Instant, capacity: Bitrate) {
        let (before, after) = (self.capacity.as_bps() as f64, capacity.as_bps() as f64);
        if (after / before - 1.0).abs() < WORTH {
            return;
        }
        if after > before {
            self.stats.rises += 1;
        } else {
            self.stats.falls += 1;
        }
        self.capacity = capacity;
        self.decisions.push_back(Decision { at: now, capacity, state: State::Run, reason: Reason::Mix });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{CapacityController, CapacityParams};
    use crate::rng::Rng;
    use crate::shaper::Totals;

    /// A fast station's byte takes 1.5 us (5.33 Mbit/s alone), a slow one's 5 us (1.6 Mbit/s).
    fn view(air_ns: u32, down: u64) -> StationView {
        let totals = Totals { down: Bytes(down), ..Totals::default() };
        StationView { totals, air_ns, ..StationView::default() }
    }

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn air(stations: usize) -> CapacityController {
        CapacityController::new(
            &CapacityParams::Air(AirParams { share: 1.0, ..AirParams::default() }),
            stations,
            Rng::fork(1, ""),
        )
    }

    fn mbps(capacity: &CapacityController) -> f64 {
        capacity.capacity().as_bps() as f64 / 1e6
    }

    /// C in Mbit/s after two seconds in which each station has its `bytes` in every 50 ms.
    fn after_two_seconds(bytes: [u64; 2]) -> f64 {
        let mut capacity = air(2);
        for tick in 0..40 {
            capacity.handle_timeout(at(50 * tick), &[view(1500, bytes[0] * tick), view(5000, bytes[1] * tick)]);
        }
        mbps(&capacity)
    }

    #[test]
    fn c_is_what_the_cell_carries_of_the_mix_that_passes() {
        let mut capacity = air(2);
        // Nothing passes: equal shares, 3.25 us a byte.
        capacity.handle_timeout(at(0), &[view(1500, 0), view(5000, 0)]);
        assert!((mbps(&capacity) - 8.0 / 3.25).abs() < 1e-3, "{}", mbps(&capacity));
        let decision = capacity.poll_decision().expect("a decision");
        assert_eq!((decision.at, decision.reason), (at(0), Reason::Mix));
        let (fast, slow) = (after_two_seconds([33_000, 0]), after_two_seconds([0, 10_000]));
        assert!((fast - 8.0 / 1.5).abs() < 0.03, "{fast}");
        assert!((slow - 8.0 / 5.0).abs() < 0.03, "{slow}");
    }

    #[test]
    fn a_full_interval_weighs_a_quarter_a_packet_little_and_a_pause_nothing() {
        let mut capacity = air(2);
        for tick in 0..40 {
            capacity.handle_timeout(at(50 * tick), &[view(1500, 33_000 * tick), view(5000, 0)]);
        }
        let mut moved = |ms: u64, slow_bytes: u64| {
            let before = 8.0 / mbps(&capacity);
            capacity.handle_timeout(at(ms), &[view(1500, 33_000 * 39), view(5000, slow_bytes)]);
            (8.0 / mbps(&capacity) - before) / (5.0 - before)
        };
        assert!(moved(2000, 0).abs() < 1e-6);
        // A packet of 1500 B is a 22nd of an interval.
        assert!((moved(2050, 1500) - 0.25 * 0.045).abs() < 0.002);
        assert!((moved(2100, 1_000_000) - 0.25).abs() < 0.01);
    }

    #[test]
    fn a_station_that_is_gone_or_whose_rate_is_unknown_does_not_count() {
        let mut capacity = air(3);
        let gone = StationView { is_absent: true, ..view(5000, 0) };
        capacity.handle_timeout(at(0), &[view(1500, 0), gone, view(0, 0)]);
        assert!((mbps(&capacity) - 8.0 / 1.5).abs() < 1e-3);
        let mut blind = air(1);
        blind.handle_timeout(at(0), &[view(0, 5000)]);
        assert!((mbps(&blind) - 6.0).abs() < 1e-9, "as at the start");
    }

    /// Half of the air is gone before the box sees it: C is the other half, for those that it shapes.
    #[test]
    fn what_bypasses_the_box_leaves_less_air_to_c() {
        let mut capacity = air(2);
        for tick in 0..40 {
            // 5000 B of 5 us are 25 ms of each 50.
            let up = Bytes(5000 * tick);
            let totals = Totals { up, up_bypassing: up, ..Totals::default() };
            let sender = StationView { totals, ..view(5000, 0) };
            capacity.handle_timeout(at(50 * tick), &[view(1500, 16_000 * tick), sender]);
        }
        assert!((mbps(&capacity) - 0.5 * 8.0 / 1.5).abs() < 0.03, "{}", mbps(&capacity));
        let all = |tick: u64| {
            let up = Bytes(5000 * 39 + 100_000 * (tick - 39));
            let totals = Totals { up, up_bypassing: up, ..Totals::default() };
            [view(1500, 16_000 * 39), StationView { totals, ..view(5000, 0) }]
        };
        for tick in 40..80 {
            capacity.handle_timeout(at(50 * tick), &all(tick));
        }
        assert!((mbps(&capacity) - 0.1).abs() < 1e-9, "the smallest C: {}", mbps(&capacity));
    }
}
