//! The box between gateway and AP, and the probes that go round it.

use super::deadlines::{Deadline, is_current};
use super::wires::UP;
use super::{Cell, CellPacket};
use crate::control::Probe;
use crate::packet::Direction;
use crate::units::Instant;

/// When the box is going to be looked at.
pub(super) struct BoxWakeups {
    shaper: Instant,
    control: Instant,
}

impl BoxWakeups {
    pub(super) const NONE: Self = BoxWakeups { shaper: Instant::FAR_FUTURE, control: Instant::FAR_FUTURE };
}

impl<P: CellPacket, T: Copy> Cell<'_, P, T> {
    /// Arms the wake-up of the controller of a box that is on.
    pub(super) fn await_control(&mut self, now: Instant) {
        if let Some(enforcer) = &self.enforcer {
            let at = enforcer.control_timeout().map(|at| at.max(now));
            self.deadlines.arm(&mut self.box_wakeups.control, at, Deadline::Control);
        }
    }

    /// The box begins to shape, or lets all go that waits.
    pub(super) fn switch_enforce(&mut self, now: Instant, on: bool) {
        let Some(enforcer) = &mut self.enforcer else { return };
        enforcer.switch(on);
        self.pump_shaper(now);
        self.await_control(now);
    }

    /// The modulations of stations have changed.
    pub(super) fn reweigh(&mut self, now: Instant) {
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.set_txs(now, self.scenario, &self.txs);
        }
    }

    /// A packet comes to where the box would be, from either side.
    #[inline]
    pub(super) fn through_box(&mut self, now: Instant, packet: P) {
        match &mut self.enforcer {
            None => self.beyond_box(now, packet),
            Some(enforcer) => {
                let counts = packet.is_traffic();
                match enforcer.enter(now, packet, counts) {
                    Some(packet) => self.beyond_box(now, packet),
                    None => self.pump_shaper(now),
                }
            }
        }
    }

    /// Past the box, or where it would be.
    #[inline]
    fn beyond_box(&mut self, now: Instant, packet: P) {
        match packet.direction() {
            Direction::Up => self.onto_wire(now, UP, packet),
            Direction::Down => self.forward_to_station(now, packet),
        }
    }

    pub(super) fn shaper_wakes(&mut self, now: Instant) {
        if is_current(&mut self.box_wakeups.shaper, now) {
            self.pump_shaper(now);
        }
    }

    fn pump_shaper(&mut self, now: Instant) {
        while let Some(packet) = self.enforcer.as_mut().and_then(|enforcer| enforcer.dequeue(now)) {
            self.beyond_box(now, packet);
        }
        if let Some(enforcer) = &self.enforcer {
            self.deadlines.arm(&mut self.box_wakeups.shaper, enforcer.shaper_timeout(), Deadline::Shaper);
        }
    }

    pub(super) fn control_wakes(&mut self, now: Instant) {
        if is_current(&mut self.box_wakeups.control, now)
            && let Some(enforcer) = &mut self.enforcer
            && enforcer.control_timeout().is_some()
        {
            enforcer.handle_timeout(now);
            (self.is_settling, self.now) = (true, now);
        }
    }

    /// The reply to a probe is back at the box.
    pub(super) fn answered(&mut self, now: Instant, id: u64) {
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.answered(now, id);
            self.is_settling = true;
        }
    }

    /// After the controller has looked: the probes that it wants, one a call; then sets the C that it has decided on.
    pub(super) fn settle(&mut self, now: Instant) -> Option<Probe> {
        let enforcer = self.enforcer.as_mut()?;
        if let Some(probe) = enforcer.poll_probe() {
            return Some(probe);
        }
        enforcer.settle(now);
        self.is_settling = false;
        self.pump_shaper(now);
        self.await_control(now);
        None
    }
}
