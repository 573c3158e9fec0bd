//! `adaptive`: C from the delay of several stations and from the rate that the cell delivers.
//!
//! Delay says which way to go, and how far above: C rises in proportion to the room below the target, and only when
//! packets wait in the box. Above the target the cell is full, and what it delivers while it is full is what it can
//! carry: C goes there in one step, less a cut that lets the queue drain; see [`drop`](super::drop) for a cell that
//! carries much less at once. C does not move while the box is idle, while no packet comes from the
//! stations, or while no probe is answered: a lost signal is no sign of a lost capacity.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ceiling::Ceiling;
use super::delay::Delays;
use super::delivered::{Delivered, Trip};
use super::descent::Descents;
use super::drop::{CapacityDrop, Phase};
use super::lowered::{RoundTrip, WATCHED};
use super::occupancy::Occupancy;
use super::prober::Prober;
use super::signal::{ONE_SIDED, Signal};
use super::trial::Trials;
use super::{Decision, Reason, State, StationView};
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// The cell carries more than the largest C when that has held packets back for so long.
const SPARE: Duration = Duration::from_secs(4);

/// What the user chose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveParams {
    /// Time between two probes, and between two decisions.
    pub interval: Duration,
    /// Delay above the baseline to hold, or that of 1.3 packets of 1500 B at C if that is longer; up to twice as
    /// much where stations send data, and at most that of 200 packets.
    pub target: Duration,
    /// Largest rise a decision, as a share of C: with no delay at all.
    pub rise: f64,
    /// A probe without reply after this is lost.
    pub timeout: Duration,
    /// Smallest C.
    pub min: Bitrate,
    /// Largest C, and the first.
    pub max: Bitrate,
}

impl Default for AdaptiveParams {
    fn default() -> Self {
        AdaptiveParams {
            interval: Duration::from_millis(100),
            target: Duration::from_millis(7),
            rise: 0.08,
            timeout: Duration::from_secs(2),
            min: Bitrate::from_bps(100_000),
            max: Bitrate::mbps(6),
        }
    }
}

/// A trip with less delay than this may have found the AP's queue empty.
const QUEUED: Duration = Duration::from_millis(5);
/// Below this share of C, with nobody waiting, there is too little traffic to learn from.
const QUIET: f64 = 0.05;
/// Without an answer for so long, in spite of traffic, the machine is blind.
const BLIND: Duration = Duration::from_secs(1);
/// Two rates that differ by less are the same but for errors of measurement.
pub(super) const NEWS: f64 = 0.85;
/// A delivered rate below this share of what was known is another cell: no mean of the two is right.
pub(super) const DROP: f64 = 0.6;
/// The weight of a new measurement of the delivered rate.
const SMOOTHING: f64 = 0.5;
/// Where C goes when a queue has drained, as a share of what the cell carries.
pub(super) const AFTER_DRAIN: f64 = 0.97;
/// Least and most packets that may wait before a probe: half of one is on the air on average, and the AP's buffer may hold only 300.
const WAITING: [f64; 2] = [1.3, 200.0];
/// What comes up may be this share of all bytes without any data in it: ACKs, one a segment.
const ACKS: f64 = 0.04;
/// The longest packet.
const PACKET: Bytes = Bytes(1500);
/// The first rise a decision, and in how many calm decisions it doubles: the longer a packet takes, the later a probe can
/// tell a queue from the packet on the air.
const FIRST_RISE: f64 = 0.005;
const DOUBLING: std::ops::RangeInclusive<f64> = 3.0..=6.0;
/// Up to this time of a packet the first of them holds.
const SHORT: Duration = Duration::from_micros(3500);

/// In cells where a packet takes less air than this, a common AP buffer holds little more delay than the target. C then rises
/// slowly near the rate that filled the buffer last, so that probes see the queue in time.
const QUICK: Duration = Duration::from_micros(1200);
/// Between these shares of that C rises by this share of itself in a decision.
const NEAR: std::ops::Range<f64> = AFTER_DRAIN..1.06;
const GENTLY: f64 = 0.002;

/// Our controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    pub(super) params: AdaptiveParams,
    /// C in bit/s.
    pub(super) c: f64,
    state: State,
    next_tick: Instant,
    pub(super) prober: Prober,
    pub(super) signal: Signal,
    pub(super) delays: Delays,
    pub(super) delivered: Delivered,
    /// When the probe left whose reply came last, and whether a decision has used it.
    pub(super) newest_sent_at: Instant,
    is_news: bool,
    pub(super) answered_at: Instant,
    changed_at: Instant,
    /// What the cell carries, by the last measurements, in bit/s.
    pub(super) mu: Option<f64>,
    /// What the cell carried when the delay was above the target last, in bit/s.
    pub(super) full: Option<f64>,
    /// C is low to drain a queue.
    pub(super) drains: bool,
    /// The cell carries much less than it did.
    pub(super) drop: Option<CapacityDrop>,
    /// Decisions in a row that found next to no delay.
    pub(super) calm: u32,
    pub(super) occupancy: Occupancy,
    pub(super) trials: Trials,
    #[serde(default)]
    pub(super) descents: Descents,
    /// The highest C where delay cannot show a full queue: what the cell carried when it was last full.
    pub(super) ceiling: Option<Ceiling>,
    /// Since when C is the largest, packets wait for it all the same, and the cell has no queue.
    bound_since: Option<Instant>,
    pub(super) decisions: VecDeque<Decision>,
}

impl Adaptive {
    /// Begins with the largest C.
    pub fn new(params: AdaptiveParams, stations: usize) -> Self {
        Adaptive {
            params,
            c: params.max.as_bps() as f64,
            prober: Prober::new(params.timeout),
            signal: Signal::new(stations),
            delays: Delays::new(stations),
            ..Adaptive::default()
        }
    }

    /// The largest C, if the cell carries more than that for some seconds now.
    pub(super) fn spare(&self, now: Instant) -> Option<Bitrate> {
        self.bound_since.filter(|since| *since + SPARE <= now).map(|_| self.params.max)
    }

    /// Whether the largest C holds packets back that the cell could carry, as far as looks and round trips tell.
    fn is_bound(&self, now: Instant) -> bool {
        let is_largest = self.c >= self.params.max.as_bps() as f64 - 1.0;
        let binds = self.occupancy.span(WATCHED).map_or(self.bound_since.is_some(), |span| span.binds());
        let has_no_queue = self.delay(now).is_some_and(|delay| delay < self.target(self.c));
        is_largest && binds && has_no_queue && self.state == State::Run
    }

    /// C.
    pub fn capacity(&self) -> Bitrate {
        Bitrate::from_bps(self.c.round() as u64)
    }

    /// What is known.
    pub const fn state(&self) -> State {
        self.state
    }

    /// See [`super::CapacityController::delay`].
    pub(super) fn delay(&self, now: Instant) -> Option<Duration> {
        self.delays.median(now, |station| self.signal.bytes_lately(station))
    }

    /// When the next decision and probe are due.
    pub const fn poll_timeout(&self) -> Instant {
        self.next_tick
    }

    /// Decides, and sends the next probe.
    pub fn handle_timeout(&mut self, now: Instant, stations: &[StationView]) {
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + self.params.interval;
        self.signal.observe(now, stations, self.c);
        let passed = self.signal.down + self.signal.up;
        self.occupancy.observe(now, self.signal.backlog, passed, self.c, stations);
        while let Some(lost) = self.prober.poll_lost(now) {
            self.delays.lost(now, lost.station);
        }
        self.decide(now);
        self.bound_since = self.is_bound(now).then(|| self.bound_since.unwrap_or(now));
        self.probe(now);
    }

    /// Makes room for more stations.
    pub fn grow(&mut self, stations: usize) {
        self.signal.grow(stations);
        self.delays.grow(stations);
    }

    /// A reply is back.
    pub fn handle_reply(&mut self, now: Instant, id: u64, stations: &[StationView]) {
        let Some(probe) = self.prober.take(id) else { return };
        self.signal.observe(now, stations, self.c);
        self.signal.heard(now);
        self.answered_at = now;
        self.descents.has_answered(now, probe.sent_at, probe.station);
        if probe.sent_at < self.signal.evidence_from() {
            // It waited out a silence with the others, or bytes passed that nobody counted.
            self.delivered.clear();
            return;
        }
        // A station that is late by its own doing says nothing of the queue that all share.
        let Some(excess) = self.delays.sample(now, probe.station, now - probe.sent_at, self.drains_at_most()) else {
            return;
        };
        let (station, ap) = (probe.station, self.delays.queues.of(probe.station));
        let (sent_at, received_at, rtt) = (probe.sent_at, now, now - probe.sent_at);
        self.trials.push(now, RoundTrip { sent_at, station, ap, rtt, baseline: rtt.saturating_sub(excess) });
        if self.descents.tells_rate(sent_at) {
            self.delivered.push(Trip { sent_at, received_at, ap, excess, down: probe.down, up: self.signal.up });
        }
        self.newest_sent_at = self.newest_sent_at.max(sent_at);
        self.is_news = true;
    }

    fn decide(&mut self, now: Instant) {
        let (state, reason) = self.look(now);
        if state != self.state {
            self.state = state;
            self.note(now, reason);
        }
        if matches!(state, State::NoSignal | State::Idle) {
            self.abort_descent(now);
        }
        if state == State::NoSignal {
            self.abort_trial(now);
            self.trials.stays_proven(now, self.params.interval);
            self.delays.forget_losses(now);
        } else if self.descents.is_under_way() {
            if std::mem::take(&mut self.is_news) {
                self.measure();
            }
            self.follow_descent(now);
            return;
        } else if self.follow_trial(now) || self.follow_ceiling(now) {
            return;
        }
        if state != State::Run {
            self.end_drop(now);
            if state == State::Blind && !self.begin_beside_one_sided(now) {
                self.rise_blind(now, FIRST_RISE);
            }
            return;
        }
        let is_news = std::mem::take(&mut self.is_news);
        let is_measured = is_news && self.measure();
        if self.begin_beside_one_sided(now) || self.follow_drop(now, is_measured) || !is_news {
            return;
        }
        let Some(delay) = self.delay(now) else { return };
        let target = self.target(self.c);
        if delay <= target {
            self.reached_target(now);
        } else if self.is_stuck(now, delay, target) {
            return;
        }
        if self.drop.is_some() && delay <= target {
            // The reply that did not come says nothing then.
            self.end_drop(now);
        } else if delay > target {
            self.fall(now, delay.saturating_sub(target));
        } else if std::mem::take(&mut self.drains) {
            let wanted = self.c.max(self.without_dropped(self.mu.unwrap_or_default()) * AFTER_DRAIN);
            self.set(now, self.below_ceiling(now, wanted, FIRST_RISE), Reason::DelayLow);
        } else if self.signal.backlog > 0 && self.newest_sent_at >= self.changed_at {
            self.rise(now, delay, target);
        }
    }

    /// The delay to hold where the cell carries `rate` bit/s. Where stations send data the reply to a probe contends with it,
    /// though the AP has no queue: in a cell of uploads it may take twice as long.
    pub(super) fn target(&self, rate: f64) -> Duration {
        let [least, most] = WAITING.map(|packets| packets * PACKET.as_bits() as f64 / rate);
        let down = self.params.target.as_secs_f64().max(least);
        Duration::from_secs_f64((down * (1.0 + (self.signal.share_up() - ACKS).max(0.0))).min(most))
    }

    /// A trip with less delay may have found the AP's queue empty, but for the packet on the air.
    fn queued(&self) -> Duration {
        QUEUED.max(PACKET.time_at(self.capacity()))
    }

    /// Keeps the rate that the cell delivers while it has a queue; whether there was one.
    fn measure(&mut self) -> bool {
        let Some(delivery) = self.delivered.rate(self.queued()) else { return false };
        let rate = (delivery.rate.as_bps() as f64).max(self.params.min.as_bps() as f64);
        let is_one_sided = self.signal.one_sided_shaped() >= ONE_SIDED;
        self.mu = Some(match self.mu {
            Some(mu) if rate * NEWS > mu && delivery.may_have_dropped => mu,
            // A short buffer drops as well, and no sender of such a load minds.
            Some(mu) if rate > mu && delivery.stands && is_one_sided => mu,
            // What was measured first in a drop is part of what was before.
            Some(_) if self.drop.is_some() => rate,
            Some(mu) if rate >= mu * DROP => mu + SMOOTHING * delivery.weight * (rate - mu),
            _ => rate,
        });
        true
    }

    /// Room is left below the target, and somebody waits. A probe that waits for less than a packet has met no queue, but
    /// perhaps the packet on the air: while that is all, C rises faster and faster.
    fn rise(&mut self, now: Instant, delay: Duration, target: Duration) {
        let packet = PACKET.time_at(self.capacity());
        self.calm = if delay < packet { self.calm + 1 } else { 0 };
        let delay = delay.as_secs_f64() / target.as_secs_f64();
        let longer = packet.as_secs_f64() / SHORT.as_secs_f64();
        let doubling = (DOUBLING.start() * longer).clamp(*DOUBLING.start(), *DOUBLING.end());
        let rise = self.params.rise.min(FIRST_RISE * (f64::from(self.calm) / doubling).exp2());
        let wanted = self.near_full(packet, self.c * (1.0 + rise * (1.0 - delay)));
        self.set(now, self.below_ceiling(now, wanted, FIRST_RISE), Reason::DelayLow);
        // What passes without a queue is less than the cell can carry: it carries more than it did.
        let (bytes, span) = self.signal.throughput();
        let passed = self.c.min(bytes.as_bits() as f64 / span.as_secs_f64().max(1e-3));
        self.mu = self.mu.map(|mu| mu.max(passed));
    }

    /// `wanted` for C, or less where the cell was full lately.
    fn near_full(&mut self, packet: Duration, wanted: f64) -> f64 {
        let is_near = |full: &f64| self.c < NEAR.end * full && wanted > NEAR.start * full;
        let Some(full) = self.full.filter(|full| packet < QUICK && is_near(full)) else { return wanted };
        self.calm = 0;
        wanted.min(self.c.max(NEAR.start * full) * (1.0 + GENTLY))
    }

    /// What is known, and why.
    fn look(&self, now: Instant) -> (State, Reason) {
        let (bytes, span) = self.signal.throughput();
        let share = bytes.as_bits() as f64 / (self.c * span.as_secs_f64()).max(1.0);
        if self.signal.backlog == 0 && share < QUIET {
            (State::Idle, Reason::Quiet)
        } else if self.signal.is_silent(now) || self.signal.is_recovering(now) {
            (State::NoSignal, Reason::Silence)
        } else if now.saturating_since(self.answered_at) >= BLIND {
            (State::Blind, Reason::Unanswered)
        } else {
            (State::Run, Reason::Recovered)
        }
    }

    /// The delay is `above` the target.
    fn fall(&mut self, now: Instant, above: Duration) {
        let mut carried = self.mu.unwrap_or(self.c);
        self.calm = 0;
        if carried < self.c * DROP && self.signal.comes_up_as_before(self.c) {
            // Answers of stations that are late by their own doing seem to say so.
            (self.mu, carried) = (Some(self.c), self.c);
            self.delivered.keep_last();
        }
        carried = self.without_dropped(carried);
        self.full = Some(carried.min(self.c));
        if carried < self.c * DROP {
            self.begin_drop(now, Phase::Measured, carried);
            return;
        }
        self.drains = true;
        // Below what the cell carries already: the queue drains by itself.
        let wanted = carried * (1.0 - cut(above, PACKET.time_at(self.capacity()) < QUICK));
        if wanted < self.c {
            self.set(now, wanted, Reason::DelayHigh);
        }
    }

    pub(super) fn set(&mut self, now: Instant, wanted: f64, reason: Reason) {
        let c = wanted.clamp(self.params.min.as_bps() as f64, self.params.max.as_bps() as f64);
        if (c - self.c).abs() < 1.0 {
            return;
        }
        let stats = &mut self.prober.stats;
        if c > self.c {
            stats.rises += 1;
        } else {
            stats.falls += 1;
        }
        self.c = c;
        self.changed_at = now;
        self.note(now, reason);
    }

    fn note(&mut self, now: Instant, reason: Reason) {
        let decision = Decision { at: now, capacity: self.capacity(), state: self.state, reason };
        self.decisions.push_back(decision);
    }

    /// Asks the next station that has TCP traffic (so it is awake) and may answer.
    fn probe(&mut self, now: Instant) {
        // Who lost what it was asked since the AP drops may answer now.
        let (delays, c, is_lossy) = (&self.delays, self.c, self.descents.is_lossy());
        let may = |signal: &Signal, station| {
            signal.is_active(station, now)
                && !signal.sends_udp(station, now)
                && !signal.sends_one_sided(station, c)
                && (is_lossy || delays.may_answer(station, now))
        };
        if let Some(station) = self.signal.next_asked(may, |station| delays.is_believed(station, now)) {
            self.prober.send(now, station, self.signal.down);
            self.descents.has_asked(now, station);
        }
    }
}

/// By which share C goes below what the cell delivers, so that a queue of `above` too much drains: quickly for long
/// queues and where a short one may be all that the AP holds, gently for those that a second of silence leaves in an AP's
/// buffer.
fn cut(above: Duration, is_quick: bool) -> f64 {
    let above = above.as_secs_f64();
    (above / if is_quick { 0.2 } else { 0.5 }).min(0.05) + ((above - 0.2) / 4.0).clamp(0.0, 0.08)
}
