//! What the AP does to packets besides queueing them: window cap and uplink limiter.

use fairair_core::ap::{UplinkLimiter, WindowCap};
use fairair_core::mac::Bss;
use fairair_core::packet::{NodeId, Packet, Segment};
use fairair_core::qdisc::{DropTail, Queue};
use fairair_core::scenario::Scenario;
use fairair_core::units::Instant;

use super::{World, arm};
use crate::events::Event;

/// The mechanisms that the scenario asks for.
pub(super) struct ApExtras {
    window_cap: Option<WindowCap>,
    limiter: Option<Limiter>,
}

/// The uplink limiter with the AP's uplink queue in front of it.
struct Limiter {
    machine: UplinkLimiter,
    queue: Queue<Segment>,
    wakeup: Instant,
}

impl ApExtras {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let limiter = |params| Limiter {
            machine: UplinkLimiter::new(params),
            queue: Queue::new(Box::new(DropTail::new(scenario.ap.uplink_queue))),
            wakeup: Instant::FAR_FUTURE,
        };
        ApExtras {
            window_cap: scenario.ap.window_cap.map(WindowCap::new),
            limiter: scenario.ap.uplink_limiter.map(limiter),
        }
    }

    /// A segment has crossed the radio.
    pub(super) fn observe(&mut self, now: Instant, segment: &Segment, bss: &Bss<Segment>) {
        if let Some(limiter) = &mut self.limiter {
            // One packet may be in the MAC's hands; more are a queue.
            limiter.machine.observe(now, segment, bss.backlog(NodeId::AP) > 1);
        }
    }

    /// The queue in front of the limiter, if there is one.
    pub(super) fn limiter_queue(&mut self) -> Option<&mut Queue<Segment>> {
        self.limiter.as_mut().map(|limiter| &mut limiter.queue)
    }

    pub(super) fn reset_stats(&mut self, now: Instant) {
        if let Some(queue) = self.limiter_queue() {
            queue.reset_stats(now);
        }
    }
}

impl World<'_> {
    /// A segment from a station has reached the AP.
    pub(super) fn through_ap(&mut self, now: Instant, mut segment: Segment) {
        if let Some(cap) = &mut self.ap.window_cap {
            cap.handle(now, &mut segment);
        }
        self.ap.observe(now, &segment, &self.bss);
        match &mut self.ap.limiter {
            None => self.through_box(now, segment),
            Some(limiter) => {
                limiter.queue.enqueue(now, segment);
                self.pump_limiter(now);
            }
        }
    }

    /// A segment from the wire goes to the AP's queue towards the stations.
    pub(super) fn enter_cell(&mut self, now: Instant, mut segment: Segment) {
        if let Some(cap) = &mut self.ap.window_cap {
            cap.handle(now, &mut segment);
        }
        self.bss.enqueue(now, NodeId::AP, segment);
    }

    pub(super) fn limiter_wakes(&mut self, now: Instant) {
        if let Some(limiter) = &mut self.ap.limiter
            && limiter.wakeup == now
        {
            limiter.wakeup = Instant::FAR_FUTURE;
            self.pump_limiter(now);
        }
    }

    fn pump_limiter(&mut self, now: Instant) {
        while let Some(limiter) = &mut self.ap.limiter
            && limiter.machine.ready_at() <= now
            && let Some(segment) = limiter.queue.dequeue(now)
        {
            limiter.machine.charge(now, segment.ip_len());
            self.through_box(now, segment);
        }
        if let Some(limiter) = &mut self.ap.limiter {
            let deadline = (!limiter.queue.is_empty()).then(|| limiter.machine.ready_at());
            arm(&mut self.events, &mut limiter.wakeup, deadline, Event::Limiter);
        }
    }
}
