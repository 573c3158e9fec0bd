//! Does the cell carry much more than a fixed C? An access point that was replaced by a faster one is told by nothing else:
//! the queue stands in the box, as it should.
//!
//! C rises a little for a moment, and by more for two others if no queue came up in the cell. In a cell that C fits the
//! first step ends as soon as round trips grow, which leaves a queue of some packets. So it is done seldom: when traffic
//! comes after a pause, in which an access point may have been replaced, and every ten minutes.

use serde::{Deserialize, Serialize};

use super::lowered::RoundTrip;
use super::occupancy::Span;
use crate::units::{Bytes, Duration, Instant};

/// C in the steps, over what it is. A C of 93 % may pass the first; 1.3 times as much would then leave an eighth of a second of
/// packets in the cell before the step ends.
const STEPS: [f64; 3] = [1.1, 1.18, 1.3];
/// How long each takes.
const STEP: Duration = Duration::from_millis(600);
/// Less than this share of the raised C passed: the cell or the senders have no more.
const PASSED: f64 = 0.94;
/// Round trips that have grown by so many packets' time met a queue.
const QUEUE: f64 = 3.0;
/// A short buffer of an access point, in packets: who cannot tell one that is full knows nothing.
const SHORT_BUFFER: f64 = 20.0;
const PACKET: Bytes = Bytes(1500);
/// Fewer round trips than this in a step say nothing.
const LEAST_TRIPS: usize = 3;
/// So much of C, or less, for so long is a pause.
const LITTLE: f64 = 0.1;
const PAUSE: Duration = Duration::from_secs(2);
/// From the first queue in the box, or the first after a pause, until a trial; and between two.
const SOON: Duration = Duration::from_secs(3);
const SELDOM: Duration = Duration::from_secs(600);
const LEAST: Duration = Duration::from_secs(60);

/// What is known of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Room {
    /// When the next trial is due, and when the last one was.
    next_at: Option<Instant>,
    last_at: Option<Instant>,
    /// Since when next to nothing passes.
    little_since: Option<Instant>,
    /// What passed without a queue, in bit/s.
    pub(super) found: Option<f64>,
}

/// A trial under way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Raised {
    began: Instant,
    step: usize,
    /// Since when C is what it is.
    pub(super) step_began: Instant,
}

/// What comes next in a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// C goes to this, as a multiple of what the user has fixed.
    Raise(f64),
    /// C goes back.
    End,
}

impl Room {
    /// Sees `last`, what passed in the half second before `now`: a trial is due soon after a pause, whatever the machine did meanwhile.
    pub(super) fn see(&mut self, now: Instant, last: Span) {
        if last.used() < LITTLE {
            self.little_since = self.little_since.or(Some(now));
            return;
        }
        let pause = self.little_since.take().is_some_and(|since| since + PAUSE <= now);
        if pause && let Some(last) = self.last_at {
            let soon = (now + SOON).max(last + LEAST);
            self.next_at = self.next_at.map(|at| at.min(soon));
        }
    }

    /// Whether a trial is due, at a look that found `span`.
    pub(super) fn is_due(&mut self, now: Instant, span: Span) -> bool {
        self.little_since.is_none() && span.binds() && now >= *self.next_at.get_or_insert(now + SOON)
    }

    /// A trial begins: C goes to the answer, as a multiple of what the user has fixed.
    pub(super) const fn begin(now: Instant) -> (Raised, f64) {
        (Raised { began: now, step: 0, step_began: now }, STEPS[0])
    }

    /// Goes on with a trial at a C of `c` bit/s; `span` is what the looks of the last step's time found.
    pub(super) fn follow(
        &mut self,
        now: Instant,
        raised: &mut Raised,
        trips: &[RoundTrip],
        span: Option<Span>,
        c: f64,
    ) -> Next {
        let packet = PACKET.as_bits() as f64 / c;
        let grown = growth(trips, raised.began, raised.step_began);
        if grown.is_some_and(|(by, error)| by > (QUEUE * packet).max(error)) {
            return self.end(now, None);
        }
        if now < raised.step_began + STEP {
            return Next::Wait;
        }
        let is_precise = grown.is_some_and(|(_, error)| error < SHORT_BUFFER * packet);
        let Some(span) = span.filter(|span| is_precise && span.binds() && span.used() > PASSED) else {
            return self.end(now, None);
        };
        raised.step += 1;
        raised.step_began = now;
        match STEPS.get(raised.step) {
            Some(step) => Next::Raise(*step),
            None => self.end(now, Some(span.rate)),
        }
    }

    /// Whether the cell still drains a queue, by the round trips since `since` at a C of `c` bit/s: what a trial adds to it
    /// cannot be told from what leaves.
    pub(super) fn drains(now: Instant, since: Instant, trips: &[RoundTrip], c: f64) -> bool {
        let middle = since + Duration::from_nanos((now - since).as_nanos() / 2);
        let packet = PACKET.as_bits() as f64 / c;
        growth(trips, middle, middle).is_some_and(|(by, error)| -by > (QUEUE * packet).max(error))
    }

    /// Packets did not wait for as long as round trips were measured, or the cell drained a queue: a trial comes to nothing
    /// before it begins.
    pub(super) fn put_off(&mut self, now: Instant) {
        self.next_at = Some(now + SOON);
    }

    /// The length of a step, less half of the time between two looks, `looks`: one may be late by some milliseconds.
    pub(super) const fn step(looks: Duration) -> Duration {
        STEP.saturating_sub(Duration::from_nanos(looks.as_nanos() / 2))
    }

    fn end(&mut self, now: Instant, found: Option<f64>) -> Next {
        (self.last_at, self.next_at, self.found) = (Some(now), Some(now + SELDOM), found);
        Next::End
    }
}

/// By how many seconds round trips that began at `after` or later are longer than those before `before`, and how sure that is
/// (three standard errors); `None`: they are too few.
fn growth(trips: &[RoundTrip], before: Instant, after: Instant) -> Option<(f64, f64)> {
    let own = |station| trips.iter().filter(move |trip| trip.station == station).map(|trip| trip.rtt).min();
    let excess = |since: Instant, until: Instant| {
        let within = trips.iter().filter(|trip| trip.sent_at >= since && trip.sent_at < until);
        let mut all: Vec<f64> =
            within.map(|trip| trip.rtt.saturating_sub(own(trip.station).unwrap_or_default()).as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        (all.len() >= LEAST_TRIPS).then(|| {
            let quartiles = all[all.len() * 3 / 4] - all[all.len() / 4];
            (all[all.len() / 2], quartiles * quartiles / all.len() as f64)
        })
    };
    let (before, square_before) = excess(Instant::ZERO, before)?;
    let (after, square_after) = excess(after, Instant::FAR_FUTURE)?;
    // As for a trial with a lower C: the standard error of a median is 0.93 of the quartiles' distance over the root of their
    // number.
    Some((after - before, 3.0 * 0.93 * (square_before + square_after).sqrt()))
}
