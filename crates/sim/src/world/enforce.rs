//! The box between gateway and AP, and the probes that go round it, in virtual time.

use fairair_core::control::Probe;
use fairair_core::enforce::Enforcer;
use fairair_core::packet::{Direction, FlowId, Kind, NodeId, Segment};
use fairair_core::units::{Duration, Instant};

use super::{World, arm};
use crate::events::Event;
use crate::flow::BLANK;

/// ICMP payload of a probe: its number and a time stamp.
const PROBE_PAYLOAD: u32 = 16;

/// When the box is going to be looked at.
pub(super) struct BoxWakeups {
    shaper: Instant,
    control: Instant,
}

impl Default for BoxWakeups {
    fn default() -> Self {
        BoxWakeups { shaper: Instant::FAR_FUTURE, control: Instant::FAR_FUTURE }
    }
}

/// Late answers of sleeping stations, by number: station and probe. Events hold the number, to stay small.
pub(super) type LateAnswers = Vec<(NodeId, u64)>;

impl World<'_> {
    /// Arms the wake-up of the controller of a box that is on.
    pub(super) fn await_control(&mut self, now: Instant) {
        if let Some(enforcer) = &self.enforcer {
            let deadline = enforcer.control_timeout().map(|at| at.max(now));
            arm(&mut self.events, &mut self.box_wakeups.control, deadline, Event::Control);
        }
    }

    /// The box begins to shape, or lets all go that waits.
    pub(super) fn switch_enforce(&mut self, now: Instant, on: bool) {
        let Some(enforcer) = &mut self.enforcer else { return };
        enforcer.switch(on);
        self.pump_shaper(now);
        self.await_control(now);
    }

    /// The data rates of stations have changed.
    pub(super) fn reweigh(&mut self, now: Instant) {
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.set_rates(now, self.scenario, &self.rates);
        }
    }

    /// A segment comes to where the box would be, from either side.
    pub(super) fn through_box(&mut self, now: Instant, segment: Segment) {
        match &mut self.enforcer {
            None => self.beyond_box(now, segment),
            Some(enforcer) => match enforcer.enter(now, segment, true) {
                Some(segment) => self.beyond_box(now, segment),
                None => self.pump_shaper(now),
            },
        }
    }

    pub(super) fn shaper_wakes(&mut self, now: Instant) {
        if self.box_wakeups.shaper == now {
            self.box_wakeups.shaper = Instant::FAR_FUTURE;
            self.pump_shaper(now);
        }
    }

    fn pump_shaper(&mut self, now: Instant) {
        while let Some(segment) = self.enforcer.as_mut().and_then(|enforcer| enforcer.dequeue(now)) {
            self.beyond_box(now, segment);
        }
        if let Some(enforcer) = &self.enforcer {
            arm(&mut self.events, &mut self.box_wakeups.shaper, enforcer.shaper_timeout(), Event::Shaper);
        }
    }

    pub(super) fn control_wakes(&mut self, now: Instant) {
        if self.box_wakeups.control != now {
            return;
        }
        self.box_wakeups.control = Instant::FAR_FUTURE;
        if let Some(enforcer) = &mut self.enforcer
            && enforcer.control_timeout().is_some()
        {
            enforcer.handle_timeout(now);
            self.obey(now);
        }
    }

    /// The reply to a probe is back at the box.
    pub(super) fn answered(&mut self, now: Instant, reply: &Segment) {
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.answered(now, reply.seq);
            self.obey(now);
        }
    }

    /// Sends the probes that the controller wants, and sets the C that it has decided on.
    fn obey(&mut self, now: Instant) {
        while let Some(Probe { station, id }) = self.enforcer.as_mut().and_then(Enforcer::poll_probe) {
            let probe = self.echo(station, Kind::Echo, id);
            self.enter_cell(now, probe);
        }
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.settle(now);
        }
        self.pump_shaper(now);
        self.await_control(now);
    }

    /// A station hears a probe.
    pub(super) fn asked(&mut self, now: Instant, probe: &Segment) {
        let station = probe.station.station_index().expect("probes name their station");
        match self.habits.answer_after(station) {
            None => {}
            Some(Duration::ZERO) => self.answer(now, probe.station, probe.seq),
            Some(late) => {
                self.late_answers.push((probe.station, probe.seq));
                let number = self.late_answers.len() as u32 - 1;
                self.events.schedule(now + late, Event::Answer(number));
            }
        }
    }

    /// A station that slept answers a probe.
    pub(super) fn answer_late(&mut self, now: Instant, number: u32) {
        let (station, id) = self.late_answers[number as usize];
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
