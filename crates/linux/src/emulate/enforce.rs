//! The scenario's box over real frames: the core's, and its probes as ICMP.

use std::collections::BTreeMap;

use etherparse::PacketBuilder;
use fairair_core::control::Probe;
use fairair_core::enforce::Enforcer;
use fairair_core::packet::{Direction, FlowId};
use fairair_core::units::Instant;

use super::addresses as addr;
use super::cell::Cell;
use super::frame::Frame;

/// ICMP payload of a probe, as in the simulator.
const PROBE_PAYLOAD: [u8; 16] = *b"fairair probe...";
/// Identifies the box's probes among other pings.
const PROBE_ID: u16 = 0xfa1a;
/// Flow numbers of probes count down from here: those of connections count up.
const LAST_FLOW: u32 = u32::MAX;

/// The probes that were sent.
#[derive(Default)]
pub(super) struct Probes {
    /// The probe behind each ICMP sequence number.
    sent: BTreeMap<u16, u64>,
    last: u16,
}

impl Probes {
    /// The probe that an echo reply answers.
    pub(super) fn find(&self, id: u16, seq: u16) -> Option<u64> {
        self.sent.get(&seq).copied().filter(|_| id == PROBE_ID)
    }

    /// An echo request of the box to a station.
    fn echo(&mut self, now: Instant, probe: Probe) -> Frame {
        self.last = self.last.wrapping_add(1);
        self.sent.insert(self.last, probe.id);
        let index = probe.station.station_index().expect("probes name their station");
        let builder = PacketBuilder::ethernet2(addr::BOX_MAC, addr::station_mac(index))
            .ipv4(addr::BOX.octets(), addr::station(index).octets(), 64)
            .icmpv4_echo_request(PROBE_ID, self.last);
        let mut bytes = Vec::with_capacity(builder.size(PROBE_PAYLOAD.len()));
        builder.write(&mut bytes, &PROBE_PAYLOAD).expect("a short payload, written to memory");
        Frame {
            bytes,
            station: probe.station,
            flow: FlowId(LAST_FLOW - probe.station.0),
            direction: Direction::Down,
            tcp: None,
            of_scenario: None,
            probe: Some(probe.id),
            datagram: 0,
            enqueued_at: now,
        }
    }
}

impl Cell<'_> {
    /// When the box is going to let a frame go, or its controller wants to look.
    pub(super) fn box_timeout(&self) -> Option<Instant> {
        let enforcer = self.enforcer.as_ref()?;
        enforcer.shaper_timeout().into_iter().chain(enforcer.control_timeout()).min()
    }

    /// The box begins to shape, or lets all go that waits.
    pub(super) fn switch_enforce(&mut self, now: Instant, on: bool) {
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.switch(on);
            self.pump_shaper(now);
        }
    }

    /// The data rates of stations have changed.
    pub(super) fn reweigh(&mut self, now: Instant) {
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.set_rates(now, self.scenario, &self.rates);
        }
    }

    /// A frame comes to where the box would be, from either side.
    pub(super) fn through_box(&mut self, now: Instant, frame: Frame) {
        let counts = frame.datagram > 0;
        match &mut self.enforcer {
            None => self.beyond_box(now, frame),
            Some(enforcer) => match enforcer.enter(now, frame, counts) {
                Some(frame) => self.beyond_box(now, frame),
                None => self.pump_shaper(now),
            },
        }
    }

    /// A frame may leave the box, or its controller is due.
    pub(super) fn box_wakes(&mut self, now: Instant) {
        self.pump_shaper(now);
        if let Some(enforcer) = &mut self.enforcer
            && enforcer.control_timeout().is_some_and(|at| at <= now)
        {
            enforcer.handle_timeout(now);
            self.obey(now);
        }
    }

    /// The reply to a probe is back at the box.
    pub(super) fn answered(&mut self, now: Instant, id: u64) {
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.answered(now, id);
            self.obey(now);
        }
    }

    fn pump_shaper(&mut self, now: Instant) {
        while let Some(frame) = self.enforcer.as_mut().and_then(|enforcer| enforcer.dequeue(now)) {
            self.beyond_box(now, frame);
        }
    }

    /// Sends the probes that the controller wants, and sets the C that it has decided on.
    fn obey(&mut self, now: Instant) {
        while let Some(probe) = self.enforcer.as_mut().and_then(Enforcer::poll_probe) {
            let probe = self.probes.echo(now, probe);
            self.enter_cell(now, probe);
        }
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.settle(now);
        }
        self.pump_shaper(now);
    }
}
