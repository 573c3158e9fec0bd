//! `wce`: the Wireless Capacity Estimator as published (detti2011 section 4.2.1 and App. IV).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::prober::Prober;
use super::{Decision, Reason, State, StationView};
use crate::rng::Rng;
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// What the user chose. The paper gives the thresholds and the number of samples; the rest is ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WceParams {
    /// Time between two probes; the next one waits for the reply to the last.
    pub interval: Duration,
    /// RTT above which C falls by `step`, below which it rises by `step`.
    pub threshold: Duration,
    /// RTT above which C is multiplied by `back_off`.
    pub high: Duration,
    /// RTT below which C is multiplied by `speed_up`.
    pub low: Duration,
    /// Linear step.
    pub step: Bitrate,
    /// Factor of a fast fall, below 1.
    pub back_off: f64,
    /// Factor of a fast rise, above 1.
    pub speed_up: f64,
    /// Every so many samples their minimum becomes the base RTT; `threshold` is never below it (App. IV).
    pub base_samples: u32,
    /// A probe without reply after this is lost, and counts as an RTT of this.
    pub timeout: Duration,
    /// Smallest C.
    pub min: Bitrate,
    /// Largest C, and the first.
    pub max: Bitrate,
}

impl Default for WceParams {
    fn default() -> Self {
        WceParams {
            interval: Duration::from_millis(200),
            threshold: Duration::from_millis(40),
            high: Duration::from_millis(200),
            low: Duration::from_millis(5),
            step: Bitrate::from_bps(100_000),
            back_off: 0.8,
            speed_up: 1.25,
            base_samples: 8,
            timeout: Duration::from_secs(1),
            min: Bitrate::from_bps(100_000),
            max: Bitrate::mbps(6),
        }
    }
}

/// For how long a station counts as an uplink UDP sender after its last datagram.
const UDP_MEMORY: Duration = Duration::from_secs(2);

/// The published controller: one random station is pinged at a time, and its RTT alone moves C.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wce {
    params: WceParams,
    capacity: Bitrate,
    next_probe: Instant,
    pub(super) prober: Prober,
    /// Seeded by [`Wce::reseed`] where the machine was read from a log.
    #[serde(skip)]
    rng: Rng,
    /// Bytes of uplink UDP when last seen, and when they last grew.
    udp: Vec<(Bytes, Option<Instant>)>,
    /// Positions without a station.
    absent: Vec<bool>,
    /// Minimum of the current group of samples, and their number.
    group: (Duration, u32),
    base: Duration,
    pub(super) decisions: VecDeque<Decision>,
}

impl Wce {
    /// Begins with the largest C.
    pub fn new(params: WceParams, stations: usize, rng: Rng) -> Self {
        Wce {
            params,
            capacity: params.max,
            prober: Prober::new(params.timeout),
            rng,
            udp: vec![(Bytes(0), None); stations],
            absent: vec![false; stations],
            group: (Duration::from_nanos(u64::MAX), 0),
            ..Wce::default()
        }
    }

    /// From here on whom to ask is drawn from `rng`.
    pub(super) fn reseed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    /// C.
    pub const fn capacity(&self) -> Bitrate {
        self.capacity
    }

    /// When the next probe is due, or the one on the way is given up.
    pub fn poll_timeout(&self) -> Instant {
        self.prober.deadline().unwrap_or(self.next_probe)
    }

    /// Sends the next probe, or gives one up.
    pub fn handle_timeout(&mut self, now: Instant, stations: &[StationView]) {
        self.watch_udp(now, stations);
        if let Some(lost) = self.prober.poll_lost(now) {
            self.sample(now, now - lost.sent_at, true);
        }
        if now < self.next_probe || !self.prober.is_idle() {
            return;
        }
        self.next_probe = now + self.params.interval;
        let is_quiet = |udp: &(Bytes, Option<Instant>)| udp.1.is_none_or(|last| last + UDP_MEMORY <= now);
        let eligible = |index: &usize| is_quiet(&self.udp[*index]) && !self.absent[*index];
        let candidates = (0..self.udp.len()).filter(eligible).count();
        if candidates == 0 {
            return;
        }
        let chosen = (self.rng.uniform() * candidates as f64) as usize;
        let station = (0..self.udp.len()).filter(eligible).nth(chosen);
        self.prober.send(now, station.unwrap_or_default(), Bytes(0));
    }

    /// Makes room for more stations.
    pub fn grow(&mut self, stations: usize) {
        let stations = stations.max(self.udp.len());
        self.udp.resize(stations, (Bytes(0), None));
        self.absent.resize(stations, true);
    }

    /// A reply is back.
    pub fn handle_reply(&mut self, now: Instant, id: u64) {
        if let Some(probe) = self.prober.take(id) {
            self.sample(now, now - probe.sent_at, false);
        }
    }

    /// App. IV: the RTT of a station with greedy uplink UDP says nothing about C.
    fn watch_udp(&mut self, now: Instant, stations: &[StationView]) {
        for ((udp, absent), view) in self.udp.iter_mut().zip(&mut self.absent).zip(stations) {
            *absent = view.is_absent;
            if view.totals.up_bypassing > udp.0 {
                *udp = (view.totals.up_bypassing, Some(now));
            }
        }
    }

    fn sample(&mut self, now: Instant, rtt: Duration, lost: bool) {
        let params = &self.params;
        self.group = (self.group.0.min(rtt), self.group.1 + 1);
        if self.group.1 >= params.base_samples {
            self.base = self.group.0;
            self.group = (Duration::from_nanos(u64::MAX), 0);
        }
        let (bps, step) = (self.capacity.as_bps(), params.step.as_bps());
        let times = |factor: f64| (bps as f64 * factor).round() as u64;
        let (wanted, reason) = if rtt > params.high {
            (times(params.back_off), if lost { Reason::ProbeLost } else { Reason::Overload })
        } else if rtt > params.threshold.max(self.base) {
            (bps.saturating_sub(step), Reason::DelayHigh)
        } else if rtt < params.low {
            (times(params.speed_up), Reason::DelayVeryLow)
        } else {
            (bps + step, Reason::DelayLow)
        };
        let capacity = Bitrate::from_bps(wanted).clamp(params.min, params.max);
        match capacity.cmp(&self.capacity) {
            std::cmp::Ordering::Greater => self.prober.stats.rises += 1,
            std::cmp::Ordering::Less => self.prober.stats.falls += 1,
            std::cmp::Ordering::Equal => return,
        }
        self.capacity = capacity;
        self.decisions.push_back(Decision { at: now, capacity, state: State::Run, reason });
    }
}
