//! What the AP does to packets besides queueing them: window cap and uplink limiter.

use super::deadlines::{Deadline, is_current};
use super::{Cell, CellPacket};
use crate::ap::{UplinkLimiter, WindowCap};
use crate::mac::Bss;
use crate::packet::{NodeId, Packet};
use crate::qdisc::{DropTail, Queue};
use crate::scenario::Scenario;
use crate::units::Instant;

/// The mechanisms that the scenario asks for.
pub(super) struct Ap<P> {
    window_cap: Option<WindowCap>,
    limiter: Option<Limiter<P>>,
}

/// The uplink limiter with the AP's uplink queue in front of it.
struct Limiter<P> {
    machine: UplinkLimiter,
    queue: Queue<P>,
    wakeup: Instant,
}

impl<P: Packet + Clone + Send + 'static> Ap<P> {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let limiter = |params| Limiter {
            machine: UplinkLimiter::new(params),
            queue: Queue::new(Box::new(DropTail::new(scenario.ap.uplink_queue))),
            wakeup: Instant::FAR_FUTURE,
        };
        Ap { window_cap: scenario.ap.window_cap.map(WindowCap::new), limiter: scenario.ap.uplink_limiter.map(limiter) }
    }

    /// A packet passes the AP, either way.
    #[inline]
    fn cap_window(&mut self, now: Instant, packet: &mut P) {
        if let Some(cap) = &mut self.window_cap {
            cap.handle(now, packet);
        }
    }

    /// A packet has crossed the radio.
    #[inline]
    pub(super) fn observe(&mut self, now: Instant, packet: &P, bss: &Bss<P>) {
        if let Some(limiter) = &mut self.limiter {
            // One packet may be in the MAC's hands; more are a queue.
            limiter.machine.observe(now, packet, bss.backlog(NodeId::AP) > 1);
        }
    }

    /// The queue in front of the limiter, if there is one.
    pub(super) fn limiter_queue(&mut self) -> Option<&mut Queue<P>> {
        self.limiter.as_mut().map(|limiter| &mut limiter.queue)
    }

    pub(super) fn reset_stats(&mut self, now: Instant) {
        if let Some(queue) = self.limiter_queue() {
            queue.reset_stats(now);
        }
    }
}

impl<P: CellPacket, T: Copy> Cell<'_, P, T> {
    /// A packet from a station goes from the AP to the wire.
    #[inline]
    pub fn forward_to_wire(&mut self, now: Instant, mut packet: P) {
        self.ap.cap_window(now, &mut packet);
        self.ap.observe(now, &packet, &self.bss);
        match &mut self.ap.limiter {
            None => self.through_box(now, packet),
            Some(limiter) => {
                limiter.queue.enqueue(now, packet);
                self.pump_limiter(now);
            }
        }
    }

    /// A packet goes to the queue of its AP towards the stations.
    #[inline]
    pub fn forward_to_station(&mut self, now: Instant, mut packet: P) {
        self.ap.cap_window(now, &mut packet);
        self.bss.enqueue_down(now, packet);
    }

    pub(super) fn limiter_wakes(&mut self, now: Instant) {
        if let Some(limiter) = &mut self.ap.limiter
            && is_current(&mut limiter.wakeup, now)
        {
            self.pump_limiter(now);
        }
    }

    fn pump_limiter(&mut self, now: Instant) {
        while let Some(limiter) = &mut self.ap.limiter
            && limiter.machine.ready_at() <= now
            && let Some(packet) = limiter.queue.dequeue(now)
        {
            limiter.machine.charge(now, packet.ip_len());
            self.through_box(now, packet);
        }
        if let Some(limiter) = &mut self.ap.limiter {
            let at = (!limiter.queue.is_empty()).then(|| limiter.machine.ready_at());
            self.deadlines.arm(&mut limiter.wakeup, at, Deadline::Limiter);
        }
    }
}
