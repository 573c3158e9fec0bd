//! `air`: C is a share of the air, whatever the mix of rates that is served.
//!
//! A cell carries fewer bytes while it serves slow stations. A C that is fixed in bytes is too much for it then, and the
//! queue goes back to the AP, where nobody divides it (docs/remedies-box.md, two stable states). Here C is the capacity of
//! the bytes that passed lately, reckoned from the rates of their stations, times the share that the user chose. Nothing
//! is probed.

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

/// Bytes that are taken for granted, as a share of C and divided equally: a station that sends a single packet in a quiet
/// cell is no reason for another C.
const PRIOR: f64 = 0.05;
/// The weight of the last interval's mix. A C that follows each one alone is high just when a burst of the slow station is
/// next: what bursts leave to others in one interval they take from them in the next.
const SMOOTHING: f64 = 0.25;
/// A change of C below this share of it is not worth a decision.
const WORTH: f64 = 0.005;

/// Our controller for cells whose rates are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Air {
    params: AirParams,
    capacity: Bitrate,
    next_tick: Instant,
    /// Bytes of each station at the last look.
    counted: Vec<Bytes>,
    /// Air that a byte takes lately, in ns.
    per_byte: Option<f64>,
    stats: ControlStats,
    decisions: VecDeque<Decision>,
}

impl Air {
    /// Begins with the largest C.
    pub fn new(params: AirParams, stations: usize) -> Self {
        Air {
            params,
            capacity: params.max,
            next_tick: Instant::ZERO,
            counted: vec![Bytes(0); stations],
            per_byte: None,
            stats: ControlStats::default(),
            decisions: VecDeque::new(),
        }
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
        let bytes = self.count(stations);
        let Some(mix) = self.mix(&bytes, stations) else { return };
        let air = self.per_byte.map_or(mix, |air| air + SMOOTHING * (mix - air));
        self.per_byte = Some(air);
        let wanted = Bitrate::from_bps((self.params.share * 8e9 / air).round() as u64);
        self.set(now, wanted.clamp(self.params.min, self.params.max));
    }

    /// Makes room for more stations.
    pub fn grow(&mut self, stations: usize) {
        let stations = stations.max(self.counted.len());
        self.counted.resize(stations, Bytes(0));
    }

    /// What was decided.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    /// Counters since the start.
    pub const fn stats(&self) -> ControlStats {
        self.stats
    }

    /// Bytes of each station since the last look. Those that bypass the box take air, too.
    fn count(&mut self, stations: &[StationView]) -> Vec<f64> {
        let grown = self.counted.iter_mut().zip(stations).map(|(counted, view)| {
            let now = view.totals.down + view.totals.up;
            let before = std::mem::replace(counted, now);
            now.0.saturating_sub(before.0) as f64
        });
        grown.collect()
    }

    /// Air that a byte takes now on average, in ns; `None` where nobody's rate is known.
    fn mix(&self, bytes: &[f64], stations: &[StationView]) -> Option<f64> {
        let known = || bytes.iter().zip(stations).filter(|(_, view)| !view.is_absent && view.air > 0);
        let prior = PRIOR * self.params.interval.as_secs_f64() * self.capacity.as_bps() as f64 / 8.0;
        let prior = prior / known().count() as f64;
        let (mut all, mut air) = (0.0, 0.0);
        for (bytes, view) in known() {
            all += bytes + prior;
            air += (bytes + prior) * f64::from(view.air);
        }
        (all > 0.0).then(|| air / all)
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
    use crate::control::{Capacity, CapacityParams};
    use crate::rng::Rng;
    use crate::shaper::Totals;

    /// A fast station's byte takes 1.5 us (5.33 Mbit/s alone), a slow one's 5 us (1.6 Mbit/s).
    fn view(air: u32, down: u64) -> StationView {
        let totals = Totals { down: Bytes(down), ..Totals::default() };
        StationView { totals, air, ..StationView::default() }
    }

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn air(stations: usize) -> Capacity {
        Capacity::new(
            &CapacityParams::Air(AirParams { share: 1.0, ..AirParams::default() }),
            stations,
            Rng::fork(1, ""),
        )
    }

    fn mbps(capacity: &Capacity) -> f64 {
        capacity.capacity().as_bps() as f64 / 1e6
    }

    /// C in Mbit/s after a second in which each station has its `bytes` in every 50 ms.
    fn after_a_second(capacity: &mut Capacity, from_ms: u64, airs: [u32; 2], bytes: [u64; 2]) -> f64 {
        for tick in 0..20 {
            let total = |each: u64| each * (from_ms / 50 + tick);
            let views = [view(airs[0], total(bytes[0])), view(airs[1], total(bytes[1]))];
            capacity.handle_timeout(at(from_ms + 50 * tick), &views);
        }
        mbps(capacity)
    }

    #[test]
    fn c_is_what_the_cell_carries_of_the_mix_that_passes() {
        let mut capacity = air(2);
        // Nothing passes: equal shares, 3.25 us a byte.
        capacity.handle_timeout(at(0), &[view(1500, 0), view(5000, 0)]);
        assert!((mbps(&capacity) - 8.0 / 3.25).abs() < 1e-3, "{}", mbps(&capacity));
        // All to the fast one, but for the bytes that are taken for granted; then all to the slow one.
        let fast = after_a_second(&mut air(2), 0, [1500, 5000], [33_000, 0]);
        assert!((5.0..5.3).contains(&fast), "{fast}");
        let slow = after_a_second(&mut air(2), 0, [1500, 5000], [0, 10_000]);
        assert!((1.6..1.7).contains(&slow), "{slow}");
        let decision = std::iter::from_fn(|| capacity.poll_decision()).last().expect("a decision");
        assert_eq!((decision.at, decision.reason), (at(0), Reason::Mix));
    }

    #[test]
    fn a_burst_of_one_interval_moves_c_by_a_quarter_of_what_lasting_ones_would() {
        let mut capacity = air(2);
        for tick in 0..10 {
            capacity.handle_timeout(at(50 * tick), &[view(1500, 30_000 * tick), view(5000, 0)]);
        }
        let fast = 8.0 / mbps(&capacity);
        capacity.handle_timeout(at(500), &[view(1500, 270_000), view(5000, 1_000_000)]);
        let moved = (8.0 / mbps(&capacity) - fast) / (5.0 - fast);
        assert!((moved - 0.25).abs() < 0.01, "{moved}");
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

    #[test]
    fn what_passes_by_the_box_takes_air() {
        let mut capacity = air(2);
        let totals = Totals { up: Bytes(60_000), up_bypassing: Bytes(60_000), ..Totals::default() };
        capacity.handle_timeout(at(0), &[view(1500, 0), StationView { totals, ..view(5000, 0) }]);
        assert!((1.6..1.75).contains(&mbps(&capacity)), "{}", mbps(&capacity));
    }
}
