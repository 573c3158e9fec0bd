//! The box between gateway and AP, pool by pool, and the probes that go round it.

use super::deadlines::{Deadline, is_current};
use super::enforcer::Enforcer;
use super::{Cell, CellPacket};
use crate::control::Probe;
use crate::packet::{Direction, NodeId, Packet};
use crate::record::EnforceRecord;
use crate::scenario::Scenario;
use crate::shaper::PoolRule;
use crate::units::Instant;

/// The pools of the box: one for the channel, or one an AP; none without a box.
pub(super) struct Pools<P> {
    list: Vec<Pool<P>>,
    /// By station: its pool; empty with one pool.
    of: Vec<usize>,
}

/// A pool at work, and when it is going to be looked at.
struct Pool<P> {
    enforcer: Enforcer<P>,
    shaper: Instant,
    control: Instant,
}

impl<P: Packet> Pools<P> {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let Some(enforce) = scenario.enforce else { return Pools { list: Vec::new(), of: Vec::new() } };
        let pool = |enforcer| Pool { enforcer, shaper: Instant::FAR_FUTURE, control: Instant::FAR_FUTURE };
        if enforce.vsb.pool == PoolRule::Channel || scenario.access_points.is_empty() {
            return Pools { list: Enforcer::new(scenario, seed).map(pool).into_iter().collect(), of: Vec::new() };
        }
        let names = scenario.access_point_names().enumerate();
        let list = names.filter_map(|(ap, name)| Enforcer::of_access_point(scenario, seed, (ap, name)).map(pool));
        Pools { list: list.collect(), of: scenario.stations.iter().map(|station| station.ap).collect() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The pool of a station.
    #[inline]
    fn of(&self, station: NodeId) -> usize {
        if self.list.len() == 1 { 0 } else { station.station_index().map_or(0, |station| self.of[station]) }
    }

    /// What they have counted and decided; `None` without a box.
    pub(super) fn record(&mut self, end: Instant) -> Option<EnforceRecord> {
        Enforcer::record_of_all(self.list.iter_mut().map(|pool| &mut pool.enforcer), end)
    }

    pub(super) fn reset_stats(&mut self, now: Instant) {
        self.list.iter_mut().for_each(|pool| pool.enforcer.vsb.reset_stats(now));
    }
}

impl<P: CellPacket, T: Copy> Cell<'_, P, T> {
    /// Arms the wake-ups of the controllers of a box that is on.
    pub(super) fn await_control(&mut self, now: Instant) {
        for pool in 0..self.pools.list.len() {
            self.await_control_of(now, pool);
        }
    }

    fn await_control_of(&mut self, now: Instant, number: usize) {
        let pool = &mut self.pools.list[number];
        let at = pool.enforcer.control_timeout().map(|at| at.max(now));
        self.deadlines.arm(&mut pool.control, at, Deadline::Control(number as u32));
    }

    /// The box begins to shape, or lets all go that waits.
    pub(super) fn switch_enforce(&mut self, now: Instant, on: bool) {
        for number in 0..self.pools.list.len() {
            self.pools.list[number].enforcer.on = on;
            self.pump_shaper(now, number);
            self.await_control_of(now, number);
        }
    }

    /// The modulations of stations have changed.
    pub(super) fn reweigh(&mut self, now: Instant) {
        for pool in &mut self.pools.list {
            pool.enforcer.set_txs(now, self.scenario, &self.txs);
        }
    }

    /// A packet comes to where the box would be, from either side.
    #[inline]
    pub(super) fn through_box(&mut self, now: Instant, packet: P) {
        if self.pools.is_empty() {
            self.beyond_box(now, packet);
            return;
        }
        let (number, counts) = (self.pools.of(packet.station()), packet.is_traffic());
        match self.pools.list[number].enforcer.enter(now, packet, counts) {
            Some(packet) => self.beyond_box(now, packet),
            None => self.pump_shaper(now, number),
        }
    }

    /// Past the box, or where it would be.
    #[inline]
    fn beyond_box(&mut self, now: Instant, packet: P) {
        match packet.direction() {
            Direction::Up => self.leave_ap(now, packet),
            Direction::Down => self.forward_to_station(now, packet),
        }
    }

    pub(super) fn shaper_wakes(&mut self, now: Instant, number: usize) {
        if is_current(&mut self.pools.list[number].shaper, now) {
            self.pump_shaper(now, number);
        }
    }

    fn pump_shaper(&mut self, now: Instant, number: usize) {
        while let Some(packet) = self.pools.list[number].enforcer.dequeue(now) {
            self.beyond_box(now, packet);
        }
        let pool = &mut self.pools.list[number];
        self.deadlines.arm(&mut pool.shaper, pool.enforcer.vsb.poll_timeout(), Deadline::Shaper(number as u32));
    }

    pub(super) fn control_wakes(&mut self, now: Instant, number: usize) {
        let pool = &mut self.pools.list[number];
        if is_current(&mut pool.control, now) && pool.enforcer.control_timeout().is_some() {
            pool.enforcer.handle_timeout(now);
            (self.settling, self.now) = (Some(number), now);
        }
    }

    /// The reply of a station to a probe is back at the box.
    pub(super) fn answered(&mut self, now: Instant, station: NodeId, id: u64) {
        let number = self.pools.of(station);
        self.pools.list[number].enforcer.answered(now, id);
        self.settling = Some(number);
    }

    /// After the controller of a pool has looked: the probes that it wants, one a call; then sets the C that it has decided on.
    pub(super) fn settle(&mut self, now: Instant, number: usize) -> Option<Probe> {
        let enforcer = &mut self.pools.list[number].enforcer;
        if let Some(probe) = enforcer.poll_probe() {
            return Some(probe);
        }
        enforcer.settle(now);
        self.settling = None;
        self.pump_shaper(now, number);
        self.await_control_of(now, number);
        None
    }
}
