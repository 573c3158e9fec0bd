//! The event queue: what happens when, besides the radio.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairair_core::units::Instant;

/// Which of the wired links has a packet arriving, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The packet at the head of a link arrives.
    Arrival(u32),
    /// A flow starts, goes on after a pause, or sends its next datagram.
    Application(u32),
    /// A TCP sender's timer may have expired.
    SenderTimer(u32),
    /// A TCP receiver's timer may have expired.
    ReceiverTimer(u32),
    /// A flow sends nothing new from now on.
    Stop(u32),
    /// A packet may leave the AP's uplink limiter.
    Limiter,
    /// A packet may leave the box.
    Shaper,
    /// The box's controller is due.
    Control,
    /// A sleeping station answers a probe: the late answer with this number.
    Answer(u32),
    /// The timed event of the scenario with this position.
    Script(u32),
    /// A sample of the time series is due.
    Sample,
    /// The measured time begins.
    WarmupEnd,
}

/// Events in the order of time; equal times in the order of scheduling.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    scheduled: u64,
}

impl Events {
    pub(crate) fn schedule(&mut self, at: Instant, event: Event) {
        self.scheduled += 1;
        self.heap.push(Reverse((at, self.scheduled, event)));
    }

    /// When the next event is due.
    pub(crate) fn next_at(&self) -> Instant {
        self.heap.peek().map_or(Instant::FAR_FUTURE, |Reverse((at, ..))| *at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Instant, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
