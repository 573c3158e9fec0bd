//! What the AP does to frames besides queueing them: window cap and uplink limiter.

use fairair_core::ap::{UplinkLimiter, WindowCap};
use fairair_core::mac::Bss;
use fairair_core::packet::{NodeId, Packet};
use fairair_core::qdisc::{DropTail, Queue};
use fairair_core::scenario::Scenario;
use fairair_core::units::Instant;

use super::cell::Cell;
use super::frame::Frame;

/// The mechanisms that the scenario asks for.
pub(super) struct ApExtras {
    window_cap: Option<WindowCap>,
    limiter: Option<Limiter>,
}

/// The uplink limiter with the AP's uplink queue in front of it.
struct Limiter {
    machine: UplinkLimiter,
    queue: Queue<Frame>,
}

impl ApExtras {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let limiter = |params| Limiter {
            machine: UplinkLimiter::new(params),
            queue: Queue::new(Box::new(DropTail::new(scenario.ap.uplink_queue))),
        };
        ApExtras {
            window_cap: scenario.ap.window_cap.map(WindowCap::new),
            limiter: scenario.ap.uplink_limiter.map(limiter),
        }
    }

    /// When a frame may leave the limiter.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let limiter = self.limiter.as_ref().filter(|limiter| !limiter.queue.is_empty())?;
        Some(limiter.machine.ready_at())
    }

    /// A frame has crossed the radio.
    pub(super) fn observe(&mut self, now: Instant, frame: &Frame, bss: &Bss<Frame>) {
        if let Some(limiter) = &mut self.limiter {
            // One packet may be in the MAC's hands; more are a queue.
            limiter.machine.observe(now, frame, bss.backlog(NodeId::AP) > 1);
        }
    }

    /// The queue in front of the limiter, if there is one.
    pub(super) fn limiter_queue(&mut self) -> Option<&mut Queue<Frame>> {
        self.limiter.as_mut().map(|limiter| &mut limiter.queue)
    }

    pub(super) fn reset_stats(&mut self, now: Instant) {
        if let Some(queue) = self.limiter_queue() {
            queue.reset_stats(now);
        }
    }
}

impl Cell<'_> {
    /// A frame from a station goes from the AP to the wire.
    pub(super) fn through_ap(&mut self, now: Instant, mut frame: Frame) {
        if let Some(cap) = &mut self.ap.window_cap {
            cap.handle(now, &mut frame);
        }
        self.ap.observe(now, &frame, &self.bss);
        match &mut self.ap.limiter {
            None => self.through_box(now, frame),
            Some(limiter) => {
                limiter.queue.enqueue(now, frame);
                self.pump_limiter(now);
            }
        }
    }

    /// A frame goes to the AP's queue towards the stations.
    pub(super) fn enter_cell(&mut self, now: Instant, mut frame: Frame) {
        if let Some(cap) = &mut self.ap.window_cap {
            cap.handle(now, &mut frame);
        }
        self.bss.enqueue(now, NodeId::AP, frame);
    }

    pub(super) fn pump_limiter(&mut self, now: Instant) {
        while let Some(limiter) = &mut self.ap.limiter
            && limiter.machine.ready_at() <= now
            && let Some(frame) = limiter.queue.dequeue(now)
        {
            limiter.machine.charge(now, frame.ip_len());
            self.through_box(now, frame);
        }
    }
}
