//! BBR, version 1, as Linux has it: net/ipv4/tcp_bbr.c, after Cardwell et al., "BBR: Congestion-Based Congestion Control",
//! ACM Queue 14(5), 2016.
//!
//! BBR keeps a model of the path, the largest rate of delivery and the shortest round trip, paces at that rate and keeps about
//! two products of both in flight. Losses are no part of the model. Arithmetic is the kernel's: gains in 256ths, bandwidths in
//! segments a microsecond with 24 binary digits.
//!
//! Left out: the restart of an application that was idle (`CA_EVENT_TX_START`; applications here always have data), and
//! `is_ack_delayed` (it concerns a segment shorter than the MSS).

mod aggregation;
mod bandwidth;
mod policer;
#[cfg(test)]
mod tests;

use self::aggregation::Aggregation;
use self::bandwidth::{Bandwidth, MaxFilter, UNIT};
use self::policer::Policer;
use super::{Ack, Pacing, Repair, Sample};
use crate::rng::Rng;
use crate::units::{Duration, Instant};

/// 2 / ln 2: doubles the rate in each round (`bbr_high_gain`).
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Its inverse (`bbr_drain_gain`).
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Of the window in the steady state (`bbr_cwnd_gain`).
const CWND_GAIN: u64 = UNIT * 2;
/// Of pacing in the steady state, a phase a round trip: more, less, as much (`bbr_pacing_gain`).
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The cycle starts with any phase but the second (`bbr_cycle_rand`).
const STARTS: usize = 7;
/// The rate is the largest of so many rounds (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u32 = 10;
/// A round trip is believed so long (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Then so much time goes with a small window (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT: Duration = Duration::from_millis(200);
/// The small window (`bbr_cwnd_min_target`).
const LEAST_WINDOW: u32 = 4;
/// Without a round trip, the window (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;
/// The pipe is full after three rounds without a quarter more (`bbr_full_bw_cnt`, `bbr_full_bw_thresh`).
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: u64 = UNIT * 5 / 4;
/// Below this rate, in bytes a second, a burst is one segment (`bbr_min_tso_rate`, 1.2 Mbit/s).
const SINGLE_SEGMENTS: u64 = 1_200_000 / 8;
/// Bytes of a burst at most, and segments (`bbr_tso_segs_goal`).
const LARGEST_BURST: u64 = 65_535 - 320;
const MOST_SEGMENTS: u32 = 127;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Looks for the rate, doubling.
    #[default]
    Startup,
    /// Empties the queue that start-up made.
    Drain,
    /// Steady state.
    ProbeBw,
    /// Empties the path to see its round trip.
    ProbeRtt,
}

/// BBR of one connection. Windows are in segments.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Flags of `struct bbr`, each with a rule of its own.
pub(super) struct Bbr {
    mss: u32,
    rng: Rng,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Bytes a second; zero before the handshake is over.
    pacing_rate: u64,
    /// The pacing rate knows a round trip.
    seen_rtt: bool,
    bandwidth: MaxFilter,
    /// `None`: no round trip was ever measured.
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    /// Round trips, counted in deliveries: the one at work ends with a segment sent after `round_end` were delivered.
    rounds: u32,
    round_end: u64,
    round_begins: bool,
    full: bool,
    full_bandwidth: Bandwidth,
    full_rounds: u32,
    phase: usize,
    phase_since: Instant,
    /// When the small window has lasted long enough, and whether a round has passed with it.
    probe_rtt_until: Option<Instant>,
    probe_rtt_round: bool,
    /// The window before it was cut for a loss or to see the round trip.
    prior_cwnd: u32,
    repair: Repair,
    /// The first round of recovery: a segment goes for a segment that came.
    conserving: bool,
    aggregation: Aggregation,
    policer: Policer,
}

impl Bbr {
    pub(super) fn new(mss: u32, rng: Rng) -> Self {
        Bbr { mss, rng, pacing_gain: HIGH_GAIN, cwnd_gain: HIGH_GAIN, ..Bbr::default() }
    }

    /// The handshake is over (`bbr_init`); `rtt`: its round trip, if the SYN was sent once.
    pub(super) fn start(&mut self, now: Instant, cwnd: u32, rtt: Option<Duration>) {
        self.min_rtt = rtt;
        self.min_rtt_at = now;
        self.round_end = 1;
        self.aggregation = Aggregation::new(now);
        self.pace_from(cwnd, rtt);
    }

    /// The rate at which to send; `None` before the handshake is over.
    pub(super) fn pacing(&self) -> Option<Pacing> {
        let least = if self.pacing_rate < SINGLE_SEGMENTS { 1 } else { 2 };
        (self.pacing_rate > 0).then_some(Pacing { rate: self.pacing_rate, least })
    }

    /// While the round trip is probed, samples of the rate say nothing about the path.
    pub(super) fn probes_rtt(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    /// The window after an acknowledgement (`bbr_main`).
    pub(super) fn on_ack(&mut self, ack: &Ack, sample: &Sample, mut cwnd: u32) -> u32 {
        self.update_bandwidth(sample);
        let bandwidth = self.bandwidth();
        self.aggregation.observe(sample, ack.segments, self.round_begins, bandwidth, cwnd);
        if self.mode == Mode::ProbeBw && self.phase_is_over(ack.now, sample) {
            self.next_phase(sample.delivered_at);
        }
        self.check_full(sample);
        self.check_drained(ack.now, sample);
        cwnd = self.update_min_rtt(ack.now, sample, cwnd);
        self.update_gains();
        self.set_pacing_rate(ack.srtt, cwnd);
        self.window(ack.segments, sample, cwnd)
    }

    /// A loss was found: the window comes back when it is repaired (`bbr_ssthresh`, `bbr_save_cwnd`).
    pub(super) fn save_window(&mut self, cwnd: u32) {
        let good = self.repair == Repair::Nothing && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// A timeout (`bbr_set_state`): the rate that was found need not be the path's.
    pub(super) fn on_timeout(&mut self, cwnd: u32) {
        self.save_window(cwnd);
        self.repair = Repair::Timeout;
        self.full_bandwidth = Bandwidth::default();
        self.round_begins = true;
    }

    /// The timeout was needless (`bbr_undo_cwnd`).
    pub(super) fn on_undo(&mut self) {
        self.full_bandwidth = Bandwidth::default();
        self.full_rounds = 0;
        self.policer.reset();
    }

    /// The rate that is used (`bbr_bw`).
    fn bandwidth(&self) -> Bandwidth {
        self.policer.rate().unwrap_or_else(|| self.max_bandwidth())
    }

    fn max_bandwidth(&self) -> Bandwidth {
        Bandwidth(self.bandwidth.max())
    }

    /// `bbr_update_bw`, `bbr_lt_bw_sampling`.
    fn update_bandwidth(&mut self, sample: &Sample) {
        self.round_begins = false;
        let Some(rate) = sample.rate else { return };
        if rate.prior_delivered >= self.round_end {
            self.round_end = sample.delivered;
            self.rounds += 1;
            self.round_begins = true;
            self.conserving = false;
        }
        if self.policer.rate().is_none() {
            self.policer.observe(sample, rate.limited, self.round_begins, self.mss);
        } else if self.mode == Mode::ProbeBw && self.round_begins && self.policer.expire() {
            self.enter_probe_bw(sample.delivered_at);
        }
        let bandwidth = Bandwidth::of(rate.delivered, rate.interval);
        // What the sender held back tells nothing, unless it was more than ever.
        if !rate.limited || bandwidth >= self.max_bandwidth() {
            self.bandwidth.take(BANDWIDTH_ROUNDS, self.rounds, bandwidth.0);
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, now: Instant, sample: &Sample) -> bool {
        let lasted = sample.delivered_at.saturating_since(self.phase_since);
        let full_length = self.min_rtt.is_some_and(|min| lasted > min);
        let in_net = || self.in_net(now, sample, sample.prior_in_flight);
        let target = |gain| self.inflight(self.max_bandwidth(), gain);
        match self.pacing_gain {
            UNIT => full_length,
            more if more > UNIT => full_length && (sample.losses > 0 || in_net() >= target(more)),
            _ => full_length || in_net() <= target(UNIT),
        }
    }

    fn next_phase(&mut self, delivered_at: Instant) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_since = delivered_at;
    }

    fn enter_probe_bw(&mut self, delivered_at: Instant) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - (self.rng.uniform() * STARTS as f64) as usize;
        self.next_phase(delivered_at);
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full(&mut self, sample: &Sample) {
        if self.full || !self.round_begins || sample.rate.is_none_or(|rate| rate.limited) {
            return;
        }
        if self.max_bandwidth().0 >= self.full_bandwidth.0 * FULL_GROWTH / UNIT {
            self.full_bandwidth = self.max_bandwidth();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    fn check_drained(&mut self, now: Instant, sample: &Sample) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        let target = self.inflight(self.max_bandwidth(), UNIT);
        if self.mode == Mode::Drain && self.in_net(now, sample, sample.in_flight) <= target {
            self.enter_probe_bw(sample.delivered_at);
        }
    }

    /// `bbr_update_min_rtt`; returns the window, which is restored when the probe is over.
    fn update_min_rtt(&mut self, now: Instant, sample: &Sample, mut cwnd: u32) -> u32 {
        let expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = now;
        }
        if expired && self.mode != Mode::ProbeRtt {
            self.save_window(cwnd);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = None;
        }
        if self.mode != Mode::ProbeRtt {
            return cwnd;
        }
        match self.probe_rtt_until {
            None if sample.in_flight <= LEAST_WINDOW => {
                self.probe_rtt_until = Some(now + PROBE_RTT);
                self.probe_rtt_round = false;
                self.round_end = sample.delivered;
            }
            None => {}
            Some(until) => {
                self.probe_rtt_round |= self.round_begins;
                if self.probe_rtt_round && now > until {
                    self.min_rtt_at = now;
                    cwnd = cwnd.max(self.prior_cwnd);
                    if self.full {
                        self.enter_probe_bw(sample.delivered_at);
                    } else {
                        self.mode = Mode::Startup;
                    }
                }
            }
        }
        cwnd
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// `bbr_set_pacing_rate`: before the pipe is full the rate only grows.
    fn set_pacing_rate(&mut self, srtt: Option<Duration>, cwnd: u32) {
        if !self.seen_rtt && srtt.is_some() {
            self.pace_from(cwnd, srtt);
        }
        let rate = self.bandwidth().bytes_per_second(self.mss, self.pacing_gain);
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_init_pacing_rate_from_rtt`: a window in a round trip, of 1 ms where none is known.
    fn pace_from(&mut self, cwnd: u32, rtt: Option<Duration>) {
        self.seen_rtt = rtt.is_some();
        let rtt = rtt.unwrap_or(Duration::from_millis(1));
        self.pacing_rate = Bandwidth::of(u64::from(cwnd), rtt).bytes_per_second(self.mss, HIGH_GAIN);
    }

    /// `bbr_set_cwnd`.
    fn window(&mut self, acked: u32, sample: &Sample, mut cwnd: u32) -> u32 {
        if acked > 0 {
            cwnd = self.recover_or_restore(acked, sample, cwnd);
            if !self.conserving {
                cwnd = self.towards_target(acked, sample, cwnd);
            }
        }
        if self.mode == Mode::ProbeRtt { cwnd.min(LEAST_WINDOW) } else { cwnd }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`.
    fn recover_or_restore(&mut self, acked: u32, sample: &Sample, mut cwnd: u32) -> u32 {
        cwnd = cwnd.saturating_sub(sample.losses).max(1);
        let before = std::mem::replace(&mut self.repair, sample.repair);
        if sample.repair == Repair::Loss && before != Repair::Loss {
            self.conserving = true;
            self.round_end = sample.delivered;
            cwnd = sample.in_flight + acked;
        } else if before != Repair::Nothing && sample.repair == Repair::Nothing {
            self.conserving = false;
            cwnd = cwnd.max(self.prior_cwnd);
        }
        if self.conserving { cwnd.max(sample.in_flight + acked) } else { cwnd }
    }

    fn towards_target(&self, acked: u32, sample: &Sample, mut cwnd: u32) -> u32 {
        let bandwidth = self.bandwidth();
        let extra = if self.full { self.aggregation.extra(bandwidth) } else { 0 };
        let target = self.quantised(self.bdp(bandwidth, self.cwnd_gain) + extra);
        if self.full {
            cwnd = (cwnd + acked).min(target);
        } else if cwnd < target || sample.delivered < u64::from(INITIAL_WINDOW) {
            cwnd += acked;
        }
        cwnd.max(LEAST_WINDOW)
    }

    /// `bbr_bdp`: what is in flight at `bandwidth` without a queue, times `gain`.
    fn bdp(&self, bandwidth: Bandwidth, gain: u64) -> u32 {
        let Some(rtt) = self.min_rtt else { return INITIAL_WINDOW };
        bandwidth.product(rtt, gain) as u32
    }

    /// `bbr_quantization_budget`: three bursts more, an even number, and room for the probe.
    fn quantised(&self, window: u32) -> u32 {
        let window = (window + 3 * self.burst()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.phase == 0 { window + 2 } else { window }
    }

    fn inflight(&self, bandwidth: Bandwidth, gain: u64) -> u32 {
        self.quantised(self.bdp(bandwidth, gain))
    }

    /// Segments of a burst (`bbr_tso_segs_goal`).
    fn burst(&self) -> u32 {
        let bytes = (self.pacing_rate >> 10).min(LARGEST_BURST);
        let least = if self.pacing_rate < SINGLE_SEGMENTS { 1 } else { 2 };
        ((bytes / u64::from(self.mss)) as u32).max(least).min(MOST_SEGMENTS)
    }

    /// `bbr_packets_in_net_at_edt`: segments in the network when pacing lets the next burst go.
    fn in_net(&self, now: Instant, sample: &Sample, in_flight: u32) -> u32 {
        let until_then = self.bandwidth().segments_in(sample.release.saturating_since(now));
        let with_burst = if self.pacing_gain > UNIT { in_flight + self.burst() } else { in_flight };
        u64::from(with_burst).saturating_sub(until_then) as u32
    }
}
