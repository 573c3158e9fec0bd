//! `adaptive` in a cell that carries much less at once: a bound first, then the rate, then the queue.
//!
//! At the old C the AP's buffer fills within some tenths of a second, and each reply comes later than the one before. So
//! the first sign is a reply that is overdue: the bytes that passed before its probe are the most that the cell can have
//! delivered. Later replies measure the rate. The old C has left a queue in the AP. It would stand for many seconds if C were
//! only a few per cent below the rate, so C goes far below it until, by the bytes that passed, the queue is gone. The cell
//! delivers as much meanwhile, since the AP has enough to send.

use serde::{Deserialize, Serialize};

use super::Reason;
use super::adaptive::{AFTER_DRAIN, Adaptive, DROP, NEWS};
use crate::units::Instant;

/// C while the queue drains, as a share of what the cell delivers.
const DRAIN: f64 = 0.25;

/// The lower C, the more is dropped of what comes up unasked. So C goes below what is left by this part of the share that is dropped: a
/// few per cent are losses of senders that back off.
const FURTHER: f64 = 0.6;

/// A drop that is being followed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CapacityDrop {
    phase: Phase,
    /// C before it, in bit/s.
    c_before: f64,
}

/// What is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// How much the cell carries at most.
    Bounded,
    /// What it carries, from one measurement.
    Measured,
    /// What it carries, from two that agree; the queue drains.
    Drains,
}

impl Adaptive {
    /// The cell carries `rate` bit/s, or less, where it carried C.
    pub(super) fn begin_drop(&mut self, now: Instant, phase: Phase, rate: f64) {
        let c_before = self.drop.map_or(self.c, |drop| drop.c_before);
        self.drop = Some(CapacityDrop { phase, c_before });
        self.calm = 0;
        self.set(now, rate, Reason::Overload);
    }

    /// Looks for a drop, or follows one; whether C is settled by that for now.
    pub(super) fn follow_drop(&mut self, now: Instant, is_measured: bool) -> bool {
        match self.drop {
            Some(CapacityDrop { phase: Phase::Drains, .. }) => {
                self.drain(now);
                true
            }
            Some(drop) if is_measured => {
                let mu = self.mu.unwrap_or(self.c);
                let agrees = drop.phase == Phase::Measured && (mu / self.c - 1.0).abs() <= 1.0 - NEWS;
                let phase = if agrees { Phase::Drains } else { Phase::Measured };
                self.begin_drop(now, phase, mu);
                if mu > drop.c_before * DROP {
                    // Less than it seemed: the usual way is good enough.
                    self.drop = None;
                    self.drains = true;
                }
                true
            }
            _ if is_measured => false,
            _ => {
                self.miss(now);
                false
            }
        }
    }

    /// A reply is overdue and what comes up has become rare: the cell has slowed down, and the probe still waits behind
    /// what the box let pass before it.
    fn miss(&mut self, now: Instant) {
        let Some(waiting) = self.prober.oldest_after(self.newest_sent_at) else { return };
        let due = waiting.sent_at + self.params.interval + self.delivered.latest_delay();
        if self.signal.backlog == 0 || now < due || !self.signal.comes_up_rarely(now) {
            return;
        }
        let Some(bound) = self.delivered.bound(now, waiting.down, self.signal.up) else { return };
        let bound = bound.as_bps() as f64;
        if bound < self.c * NEWS {
            if self.drop.is_none() {
                self.mu = None;
                self.delivered.keep_last();
            }
            self.begin_drop(now, Phase::Bounded, bound);
        }
    }

    fn drain(&mut self, now: Instant) {
        let queue = self.mu.and_then(|mu| Some((mu, self.delivered.queue(now, self.signal.down, mu)?)));
        match queue {
            Some((mu, queue)) if queue > self.target(mu).as_secs_f64() => self.set(now, mu * DRAIN, Reason::DelayHigh),
            _ => self.end_drop(now),
        }
    }

    /// What C may be where the cell carries `rate` bit/s: what comes up, and the box drops, has taken its part of that. It is no
    /// [drop](CapacityDrop), however much it is.
    pub(super) fn without_dropped(&self, rate: f64) -> f64 {
        let [bypassing, _] = self.signal.beside();
        match self.occupancy.dropped() - bypassing {
            dropped if dropped > 0.0 => {
                let share = (dropped / rate).min(1.0);
                (rate * (1.0 - share) * (1.0 - FURTHER * share)).max(rate.min(DROP * self.c))
            }
            _ => rate,
        }
    }

    /// The queue is gone, or nothing more can be learned: C is what the cell carries, or what it was if that is unknown.
    pub(super) fn end_drop(&mut self, now: Instant) {
        if let Some(drop) = self.drop.take() {
            let c = self.mu.map_or(drop.c_before, |mu| self.without_dropped(mu) * AFTER_DRAIN);
            self.set(now, c, Reason::DelayLow);
        }
    }
}
