//! The scenario's box: the core's Virtual Shared Bottleneck and its controller over real frames.

use std::collections::BTreeMap;

use etherparse::PacketBuilder;
use fairair_core::control::{Capacity, Decision, Probe, StationView};
use fairair_core::packet::{Direction, FlowId, NodeId};
use fairair_core::record::EnforceRecord;
use fairair_core::rng::Rng;
use fairair_core::scenario::{Action, Scenario};
use fairair_core::shaper::Vsb;
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

/// The box at work.
pub(super) struct TheBox {
    vsb: Vsb<Frame>,
    control: Capacity,
    /// Whether it shapes; else all frames pass and nobody is probed.
    on: bool,
    views: Vec<StationView>,
    trace: Vec<Decision>,
    /// The probe behind each ICMP sequence number.
    probes: BTreeMap<u16, u64>,
    sent: u16,
}

impl TheBox {
    /// The scenario's box, on unless a timed event is going to switch it on.
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Option<Self> {
        let enforce = scenario.enforce?;
        let control = Capacity::new(&enforce.capacity, scenario.stations.len(), Rng::fork(seed, "control"));
        let rates: Vec<_> = scenario.stations.iter().map(|station| station.rate).collect();
        let first = scenario.events.iter().find_map(|event| match event.action {
            Action::Enforce { on } => Some(on),
            _ => None,
        });
        Some(TheBox {
            vsb: Vsb::new(enforce.vsb, control.capacity(), &scenario.shares(enforce.vsb.policy, &rates)),
            control,
            on: first != Some(true),
            views: vec![StationView::default(); scenario.stations.len()],
            trace: Vec::new(),
            probes: BTreeMap::new(),
            sent: 0,
        })
    }

    /// The probe that an echo reply answers.
    pub(super) fn probe(&self, id: u16, seq: u16) -> Option<u64> {
        self.probes.get(&seq).copied().filter(|_| id == PROBE_ID)
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let control = self.control.poll_timeout().filter(|_| self.on);
        self.vsb.poll_timeout().into_iter().chain(control).min()
    }

    pub(super) fn reset_stats(&mut self, now: Instant) {
        self.vsb.reset_stats(now);
    }

    pub(super) fn record(&mut self, end: Instant) -> EnforceRecord {
        let stations = (0..self.views.len()).map(|index| self.vsb.stats(NodeId::station(index), end).clone()).collect();
        EnforceRecord { stations, trace: std::mem::take(&mut self.trace), control: self.control.stats() }
    }

    fn look(&mut self, now: Instant) {
        for (index, view) in self.views.iter_mut().enumerate() {
            let node = NodeId::station(index);
            *view = StationView {
                backlog: self.vsb.backlog_of(node, now),
                totals: self.vsb.totals(node),
                is_absent: false,
            };
        }
    }

    /// An echo request of the box to a station.
    fn echo(&mut self, now: Instant, probe: Probe) -> Frame {
        self.sent = self.sent.wrapping_add(1);
        self.probes.insert(self.sent, probe.id);
        let index = probe.station.station_index().expect("probes name their station");
        let builder = PacketBuilder::ethernet2(addr::BOX_MAC, addr::station_mac(index))
            .ipv4(addr::BOX.octets(), addr::station(index).octets(), 64)
            .icmpv4_echo_request(PROBE_ID, self.sent);
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
    /// The box begins to shape, or lets all go that waits.
    pub(super) fn switch_enforce(&mut self, now: Instant, on: bool) {
        let Some(the_box) = &mut self.enforce else { return };
        the_box.on = on;
        while !on && let Some(frame) = self.enforce.as_mut().and_then(|the_box| the_box.vsb.dequeue_unpaced(now)) {
            self.beyond_box(now, frame);
        }
    }

    /// The data rates of stations have changed.
    pub(super) fn reweigh(&mut self, now: Instant) {
        let Some(policy) = self.scenario.enforce.map(|enforce| enforce.vsb.policy) else { return };
        let shares = self.scenario.shares(policy, &self.rates);
        if let Some(the_box) = &mut self.enforce {
            the_box.vsb.set_shares(now, &shares);
        }
    }

    /// A frame comes to the box, from either side.
    pub(super) fn enter_box(&mut self, now: Instant, frame: Frame) {
        let Some(the_box) = &mut self.enforce else { return };
        if !the_box.on {
            self.beyond_box(now, frame);
        } else if the_box.vsb.takes(&frame) {
            the_box.vsb.enqueue(now, frame);
            self.pump_shaper(now);
        } else {
            // ICMP, ARP and the like are no stream: the controller must not take who answers a ping for a sender of UDP.
            if frame.datagram > 0 {
                the_box.vsb.bypass(&frame);
            }
            self.beyond_box(now, frame);
        }
    }

    /// A frame may leave the box, or its controller is due.
    pub(super) fn box_wakes(&mut self, now: Instant) {
        self.pump_shaper(now);
        if let Some(the_box) = &mut self.enforce
            && the_box.on
            && the_box.control.poll_timeout().is_some_and(|at| at <= now)
        {
            the_box.look(now);
            the_box.control.handle_timeout(now, &the_box.views);
            self.obey(now);
        }
    }

    /// The reply to a probe is back at the box.
    pub(super) fn answered(&mut self, now: Instant, id: u64) {
        if let Some(the_box) = &mut self.enforce {
            the_box.look(now);
            the_box.control.handle_reply(now, id, &the_box.views);
        }
        self.obey(now);
    }

    fn pump_shaper(&mut self, now: Instant) {
        while let Some(frame) = self.enforce.as_mut().and_then(|the_box| the_box.vsb.dequeue(now)) {
            self.beyond_box(now, frame);
        }
    }

    /// Sends the probes that the controller wants, and sets the C that it has decided on.
    fn obey(&mut self, now: Instant) {
        while let Some(the_box) = &mut self.enforce
            && let Some(probe) = the_box.control.poll_probe()
        {
            let probe = the_box.echo(now, probe);
            self.enter_cell(now, probe);
        }
        let Some(the_box) = &mut self.enforce else { return };
        let mut changed = false;
        while let Some(decision) = the_box.control.poll_decision() {
            changed = true;
            the_box.trace.push(decision);
        }
        if changed {
            the_box.vsb.set_capacity(now, the_box.control.capacity());
            self.pump_shaper(now);
        }
    }
}
