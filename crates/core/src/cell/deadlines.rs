//! The heap of deadlines: what is due when, besides the radio.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::units::Instant;

/// What is due. `T` are the driver's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline<T> {
    /// A packet arrives at the end of the wired link with this index, or the link may serve the next one.
    Link(u32),
    /// A timer of the driver.
    Driver(T),
    /// A packet may leave the AP's uplink limiter.
    Limiter,
    /// A packet may leave the box.
    Shaper,
    /// The box's controller is due.
    Control,
    /// A sleeping station takes the probe with this number.
    Answer(u32),
    /// The timed event of the scenario with this position.
    Script(u32),
    /// A sample of the time series is due.
    Sample,
    /// The measured time begins.
    WarmupEnd,
}

/// Deadlines in the order of time; equal times in the order of scheduling.
#[derive(Debug)]
pub(super) struct Deadlines<T> {
    heap: BinaryHeap<Reverse<(Instant, u64, Deadline<T>)>>,
    scheduled: u64,
}

impl<T: Copy + Ord> Deadlines<T> {
    pub(super) const fn new() -> Self {
        Deadlines { heap: BinaryHeap::new(), scheduled: 0 }
    }

    pub(super) fn schedule(&mut self, at: Instant, deadline: Deadline<T>) {
        self.scheduled += 1;
        self.heap.push(Reverse((at, self.scheduled, deadline)));
    }

    /// Makes sure that `deadline` comes up at `at` or before; what comes up before looks again.
    ///
    /// `wakeup` says when it is going to come up: [`Instant::FAR_FUTURE`] when it is not in the heap.
    pub(super) fn arm(&mut self, wakeup: &mut Instant, at: Option<Instant>, deadline: Deadline<T>) {
        if let Some(at) = at
            && at < *wakeup
        {
            *wakeup = at;
            self.schedule(at, deadline);
        }
    }

    /// When the next deadline is due; [`Instant::FAR_FUTURE`] when there is none.
    pub(super) fn next_at(&self) -> Instant {
        self.heap.peek().map_or(Instant::FAR_FUTURE, |Reverse((at, ..))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<Deadline<T>> {
        self.heap.pop().map(|Reverse((.., deadline))| deadline)
    }
}

/// Whether the wake-up that has come up at `now` is the one that counts; if so, none is in the heap any more.
pub(super) fn is_current(wakeup: &mut Instant, now: Instant) -> bool {
    let current = *wakeup == now;
    if current {
        *wakeup = Instant::FAR_FUTURE;
    }
    current
}
