//! Is the box the bottleneck? If not it divides nothing, and the operator must know.
//!
//! Where less than C passes and next to nothing waits in the box, the stations may simply ask for no more. Stations that
//! compete for a queue elsewhere look different: one gains what the others lose, so their sum varies less than they do.
//! The rates of stations that share no queue are independent, and the variance of their sum is the sum of their variances.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::occupancy::Occupancy;
use super::{State, StationView};
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// Time between two looks that count, and their number in the time that is judged: ten seconds.
const STEP: Duration = Duration::from_millis(500);
const STEPS: usize = 20;
/// The variance of the sum as a share of the sum of the variances: below it stations compete.
const COMPETE: f64 = 0.2;
/// Rates that vary together by less than this share of their sum give no evidence.
const VARIES: f64 = 0.02;
/// A sum that varies by more than this share of it is no full cell.
const STEADY: f64 = 0.1;
/// Less than this is no load, in bit/s.
const LOAD: f64 = 100_000.0;
/// Less than this comes up from nobody, in bit/s.
const NOTHING: f64 = 2_000.0;
/// A station with less than this share of what passes has next to no traffic.
const PART: f64 = 0.02;
/// Packets that wait in so many of the steps are a queue in the box.
const WAITS: f64 = 0.25;
/// Less than this share of C passes.
const USED: f64 = 0.97;

/// So many windows of ten seconds in a row, a step apart: rates that vary by chance look like it for a moment.
const IN_ROW: u32 = 7;

/// What is wrong with C.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Stations compete, but not in the box: so much passes, and C is above.
    Elsewhere(Bitrate),
    /// Stations send, and no probe is answered.
    Blind,
    /// Much goes down, and nothing at all comes up.
    Silent,
}

/// Looks at one pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watch {
    steps: VecDeque<Step>,
    /// IP bytes of each station until the last step, and when that was.
    bytes: Vec<u64>,
    up: u64,
    stepped_at: Option<Instant>,
    blind_since: Option<Instant>,
    silent_since: Option<Instant>,
    in_row: u32,
    elsewhere: Option<Bitrate>,
}

/// What passed in a step, in bit/s by station, and whether a queue stood in the box.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    rates: Vec<f64>,
    /// What came up of that.
    up: f64,
    waits: bool,
    c: f64,
}

impl Watch {
    /// What is wrong for ten seconds now or somewhat longer, if anything. Call it twice a second or more often.
    pub fn observe(&mut self, now: Instant, c: Bitrate, state: State, views: &[StationView]) -> Option<Verdict> {
        let due = self.stepped_at.is_none_or(|at| at + STEP <= now);
        if due {
            self.step(now, c, views);
            self.elsewhere = self.competes_elsewhere();
            self.in_row = if self.elsewhere.is_some() { self.in_row + 1 } else { 0 };
        }
        // Senders that wait for answers have stopped in a silence; where they go on nobody knows what arrives.
        let goes_on =
            || self.steps.back().is_some_and(|step| step.rates.iter().sum::<f64>() >= LOAD && step.up < NOTHING);
        let is_silent = state == State::NoSignal && goes_on();
        self.blind_since = (state == State::Blind).then(|| self.blind_since.unwrap_or(now));
        self.silent_since = is_silent.then(|| self.silent_since.unwrap_or(now));
        let judged = Duration::from_nanos(STEP.as_nanos() * STEPS as u64);
        let lasts = |since: Option<Instant>| since.is_some_and(|since| since + judged <= now);
        // Who competes elsewhere matters more.
        let elsewhere = self.elsewhere.filter(|_| self.in_row >= IN_ROW);
        let blind = lasts(self.blind_since).then_some(Verdict::Blind);
        elsewhere.map(Verdict::Elsewhere).or(blind).or(lasts(self.silent_since).then_some(Verdict::Silent))
    }

    fn step(&mut self, now: Instant, c: Bitrate, views: &[StationView]) {
        let bytes: Vec<u64> = views.iter().map(|view| view.totals.down.0 + view.totals.up.0).collect();
        let seconds = self.stepped_at.map(|at| now.saturating_since(at).as_secs_f64());
        let before = std::mem::replace(&mut self.bytes, bytes);
        let up: u64 = views.iter().map(|view| view.totals.up.0).sum();
        let up_before = std::mem::replace(&mut self.up, up);
        self.stepped_at = Some(now);
        // After a gap nothing is known of how rates varied.
        let Some(seconds) = seconds.filter(|seconds| *seconds < 4.0 * STEP.as_secs_f64()) else {
            self.steps.clear();
            return;
        };
        let rate = |(now, before): (&u64, &u64)| Bytes(now.saturating_sub(*before)).as_bits() as f64 / seconds;
        let rates = self.bytes.iter().zip(before.iter().chain(std::iter::repeat(&u64::MAX))).map(rate).collect();
        let backlog = views.iter().map(|view| view.backlog).sum();
        let c = c.as_bps() as f64;
        let up = rate((&up, &up_before));
        self.steps.push_back(Step { rates, up, waits: Occupancy::is_queue(backlog, c), c });
        if self.steps.len() > STEPS {
            self.steps.pop_front();
        }
    }

    /// What passes, where stations compete elsewhere than in the box.
    fn competes_elsewhere(&self) -> Option<Bitrate> {
        if self.steps.len() < STEPS {
            return None;
        }
        let mean = |of: &dyn Fn(&Step) -> f64| self.steps.iter().map(of).sum::<f64>() / STEPS as f64;
        let variance = |of: &dyn Fn(&Step) -> f64| {
            let mean = mean(of);
            self.steps.iter().map(|step| (of(step) - mean).powi(2)).sum::<f64>() / (STEPS - 1) as f64
        };
        let sum = |step: &Step| step.rates.iter().sum::<f64>();
        let (rate, c) = (mean(&sum), mean(&|step| step.c));
        let waits = mean(&|step| f64::from(u8::from(step.waits)));
        if rate < LOAD || waits > WAITS || rate > USED * c {
            return None;
        }
        let stations = self.steps.iter().map(|step| step.rates.len()).max().unwrap_or_default();
        let of = |station: usize| move |step: &Step| step.rates.get(station).copied().unwrap_or_default();
        let busy = (0..stations).filter(|station| mean(&of(*station)) > PART * rate);
        let variances: Vec<f64> = busy.map(|station| variance(&of(station))).collect();
        let (apart, together) = (variances.iter().sum::<f64>(), variance(&sum));
        let compete =
            together < COMPETE * apart && apart > (VARIES * rate).powi(2) && together < (STEADY * rate).powi(2);
        (variances.len() > 1 && compete).then(|| Bitrate::from_bps(rate as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Seconds until something is told of stations whose rates in Mbit/s are `rates` of the time in steps, if within ten
    /// minutes; `backlog` packets of each wait at a C of 5 Mbit/s.
    fn told(backlog: usize, state: State, mut rates: impl FnMut(u32) -> Vec<f64>) -> Option<(f64, Verdict)> {
        let (mut watch, mut views) = (Watch::default(), vec![StationView::default(); rates(0).len()]);
        for step in 0..1200 {
            for (view, rate) in views.iter_mut().zip(rates(step)) {
                view.backlog = backlog;
                view.totals.down += Bytes((rate * 1e6 / 8.0 * 0.5) as u64);
            }
            let now = Instant::ZERO + Duration::from_nanos(STEP.as_nanos() * u64::from(step));
            if let Some(verdict) = watch.observe(now, Bitrate::mbps(5), state, &views) {
                return Some((f64::from(step) / 2.0, verdict));
            }
        }
        None
    }

    /// Each of four takes what the others leave of 4.1 Mbit/s, as TCP does in one queue.
    fn competing(rng: &mut Rng) -> Vec<f64> {
        let wants: Vec<f64> = (0..4).map(|_| 1.0 + 0.6 * rng.uniform()).collect();
        let sum: f64 = wants.iter().sum();
        wants.iter().map(|want| want / sum * (4.1 + 0.08 * rng.uniform())).collect()
    }

    #[test]
    fn stations_that_compete_elsewhere_are_told_within_fifteen_seconds() {
        let mut rng = Rng::fork(1, "watch");
        let (at, verdict) = told(0, State::Run, |_| competing(&mut rng)).expect("told");
        assert!(at <= 15.0, "{at}");
        assert!(matches!(verdict, Verdict::Elsewhere(rate) if (4.0e6..4.3e6).contains(&(rate.as_bps() as f64))));
    }

    /// Ten minutes each: packets wait; web traffic; one sender alone; two that get what they ask for.
    #[test]
    fn right_operation_and_low_demand_are_not_told() {
        for seed in 0..20 {
            let mut rng = Rng::fork(seed, "watch");
            assert_eq!(told(20, State::Run, |_| competing(&mut rng)), None, "right");
            let mut web = |_| (0..4).map(|_| if rng.uniform() < 0.3 { 4.0 * rng.uniform() } else { 0.0 }).collect();
            assert_eq!(told(0, State::Run, &mut web), None, "web");
            let mut rng = Rng::fork(seed, "alone");
            assert_eq!(told(0, State::Run, |_| vec![3.0 + rng.uniform(), 0.0, 0.001]), None, "alone");
            assert_eq!(told(0, State::Run, |_| vec![1.5, 2.0]), None, "two constant rates");
            let mut own = |_| (0..4).map(|_| 0.7 + 0.4 * rng.uniform()).collect();
            assert_eq!(told(0, State::Run, &mut own), None, "four that vary each for itself");
        }
    }

    #[test]
    fn nobody_who_answers_is_told_after_ten_seconds() {
        assert_eq!(told(20, State::Blind, |_| vec![1.0; 4]), Some((10.0, Verdict::Blind)));
        let beside_a_dead_radio = told(20, State::NoSignal, |_| vec![1.0; 4]);
        assert!(matches!(beside_a_dead_radio, Some((at, Verdict::Silent)) if at <= 11.0), "{beside_a_dead_radio:?}");
        assert_eq!(told(20, State::NoSignal, |_| vec![0.01; 4]), None, "senders wait");
    }

    /// The radio is back after eight seconds, and the state of the machine is not yet.
    #[test]
    fn a_radio_that_is_back_is_not_told() {
        let (mut watch, mut view) = (Watch::default(), StationView::default());
        for step in 0..40 {
            view.totals.down += Bytes(60_000);
            view.totals.up += Bytes(if step < 16 { 0 } else { 2_000 });
            let now = Instant::ZERO + Duration::from_nanos(STEP.as_nanos() * step);
            let verdict = watch.observe(now, Bitrate::mbps(5), State::NoSignal, &[view]);
            assert_eq!(verdict, None, "step {step}");
        }
    }
}
