//! The box between gateway and AP, its controller, and the probes that go round it.

use fairair_core::control::{Capacity, Decision, Probe, StationView};
use fairair_core::packet::{Direction, FlowId, Kind, NodeId, Segment};
use fairair_core::record::EnforceRecord;
use fairair_core::rng::Rng;
use fairair_core::scenario::{Action, Scenario};
use fairair_core::shaper::Vsb;
use fairair_core::units::{Duration, Instant};

use super::{World, arm};
use crate::events::Event;
use crate::flow::BLANK;

/// ICMP payload of a probe: its number and a time stamp.
const PROBE_PAYLOAD: u32 = 16;

/// The box at work.
pub(super) struct TheBox {
    vsb: Vsb<Segment>,
    control: Capacity,
    /// Whether it shapes; else all packets pass and nobody is probed.
    on: bool,
    views: Vec<StationView>,
    trace: Vec<Decision>,
    shaper_wakeup: Instant,
    control_wakeup: Instant,
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
            shaper_wakeup: Instant::FAR_FUTURE,
            control_wakeup: Instant::FAR_FUTURE,
        })
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
}

impl World<'_> {
    /// Starts the controller of a box that is on.
    pub(super) fn start_enforce(&mut self, now: Instant) {
        if let Some(the_box) = &mut self.enforce
            && the_box.on
        {
            let deadline = the_box.control.poll_timeout().map(|at| at.max(now));
            arm(&mut self.events, &mut the_box.control_wakeup, deadline, Event::Control);
        }
    }

    /// The box begins to shape, or lets all go that waits.
    pub(super) fn switch_enforce(&mut self, now: Instant, on: bool) {
        let Some(the_box) = &mut self.enforce else { return };
        the_box.on = on;
        if on {
            self.start_enforce(now);
            return;
        }
        while let Some(segment) = self.enforce.as_mut().and_then(|the_box| the_box.vsb.dequeue_unpaced(now)) {
            self.beyond_box(now, segment);
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

    /// A segment comes to the box, from either side.
    pub(super) fn enter_box(&mut self, now: Instant, segment: Segment) {
        let Some(the_box) = &mut self.enforce else { return };
        if !the_box.on {
            self.beyond_box(now, segment);
        } else if the_box.vsb.takes(&segment) {
            the_box.vsb.enqueue(now, segment);
            self.pump_shaper(now);
        } else {
            the_box.vsb.bypass(&segment);
            self.beyond_box(now, segment);
        }
    }

    pub(super) fn shaper_wakes(&mut self, now: Instant) {
        if let Some(the_box) = &mut self.enforce
            && the_box.shaper_wakeup == now
        {
            the_box.shaper_wakeup = Instant::FAR_FUTURE;
            self.pump_shaper(now);
        }
    }

    fn pump_shaper(&mut self, now: Instant) {
        while let Some(segment) = self.enforce.as_mut().and_then(|the_box| the_box.vsb.dequeue(now)) {
            self.beyond_box(now, segment);
        }
        if let Some(the_box) = &mut self.enforce {
            let deadline = the_box.vsb.poll_timeout();
            arm(&mut self.events, &mut the_box.shaper_wakeup, deadline, Event::Shaper);
        }
    }

    pub(super) fn control_wakes(&mut self, now: Instant) {
        let Some(the_box) = &mut self.enforce else { return };
        if the_box.control_wakeup != now {
            return;
        }
        the_box.control_wakeup = Instant::FAR_FUTURE;
        if !the_box.on {
            return;
        }
        the_box.look(now);
        the_box.control.handle_timeout(now, &the_box.views);
        self.obey(now);
    }

    /// The reply to a probe is back at the box.
    pub(super) fn answered(&mut self, now: Instant, reply: &Segment) {
        if let Some(the_box) = &mut self.enforce {
            the_box.look(now);
            the_box.control.handle_reply(now, reply.seq, &the_box.views);
        }
        self.obey(now);
    }

    /// Sends the probes that the controller wants, and sets the C that it has decided on.
    fn obey(&mut self, now: Instant) {
        while let Some(Probe { station, id }) = self.enforce.as_mut().and_then(|the_box| the_box.control.poll_probe()) {
            let probe = self.echo(station, Kind::Echo, id);
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
        if let Some(the_box) = &mut self.enforce {
            let deadline = the_box.control.poll_timeout();
            arm(&mut self.events, &mut the_box.control_wakeup, deadline, Event::Control);
        }
    }

    /// A station hears a probe.
    pub(super) fn asked(&mut self, now: Instant, probe: &Segment) {
        let station = probe.station.station_index().expect("probes name their station");
        match self.habits.answer_after(station) {
            None => {}
            Some(Duration::ZERO) => self.answer(now, probe.station, probe.seq),
            Some(late) => {
                let number = self.habits.note(probe.station, probe.seq);
                self.events.schedule(now + late, Event::Answer(number));
            }
        }
    }

    /// A station that slept answers a probe.
    pub(super) fn answer_late(&mut self, now: Instant, number: u32) {
        let (station, id) = self.habits.noted(number);
        self.answer(now, station, id);
    }

    /// A station answers a probe.
    fn answer(&mut self, now: Instant, station: NodeId, id: u64) {
        let reply = self.echo(station, Kind::EchoReply, id);
        self.bss.enqueue(now, station, reply);
    }

    /// Probes have flow numbers of their own, one a station, behind those of the flows.
    fn echo(&self, station: NodeId, kind: Kind, id: u64) -> Segment {
        let flow = FlowId(self.flows.len() as u32 + station.0 - 1);
        let direction = if kind == Kind::Echo { Direction::Down } else { Direction::Up };
        Segment { flow, station, direction, kind, seq: id, payload: PROBE_PAYLOAD, ..BLANK }
    }
}
