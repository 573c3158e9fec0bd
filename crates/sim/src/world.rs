//! The topology at work: hosts, wire, AP, radio, stations, in virtual time.
//!
//! ```text
//! host -- own wire of a flow -- common wire -- [box] -- AP ))) stations
//! ```
//!
//! The parts: `path` takes segments from end to end, `enforce` is the box and its controller, `ap` what else the AP does
//! to packets, `script` the scenario's timed events, `record` the measurements.
//!
//! At equal times wired events and timers come before the radio.

mod ap;
mod enforce;
mod path;
mod record;
mod script;

use fairair_core::enforce::{Enforcer, Habits};
use fairair_core::mac::Bss;
use fairair_core::packet::{FlowId, Segment};
use fairair_core::record::{Record, Series};
use fairair_core::rng::Rng;
use fairair_core::scenario::{Scenario, Wire};
use fairair_core::units::{Bitrate, Instant};
use fairair_core::wire::Link;

use crate::Monitor;
use crate::events::{Event, Events};
use crate::flow::Flow;
use ap::ApExtras;
use enforce::{BoxWakeups, LateAnswers};

/// The common wire, from the AP to the gateway and back.
const UP: usize = 0;
const DOWN: usize = 1;

/// Wake-ups that are in the event queue; [`Instant::FAR_FUTURE`] when there is none.
struct Wakeups {
    links: Vec<Instant>,
    senders: Vec<Instant>,
    receivers: Vec<Instant>,
}

/// A simulation of one replica.
pub(crate) struct World<'a> {
    scenario: &'a Scenario,
    seed: u64,
    bss: Bss<Segment>,
    links: Vec<Link<Segment>>,
    /// Index of the flow's own uplink in `links`, its downlink follows; `None`: the flow ends at the common wire.
    own_wire: Vec<Option<usize>>,
    flows: Vec<Flow>,
    /// Flows that refill their station's queue whenever it has room, by station.
    refill: Vec<Vec<FlowId>>,
    events: Events,
    wakeups: Wakeups,
    series: Series,
    /// Data rate of each station, as timed events have left it.
    rates: Vec<Bitrate>,
    ap: ApExtras,
    enforcer: Option<Enforcer<Segment>>,
    box_wakeups: BoxWakeups,
    /// How stations answer probes.
    habits: Habits,
    late_answers: LateAnswers,
}

impl<'a> World<'a> {
    /// The cell before its first event.
    pub(crate) fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let flows: Vec<Flow> = scenario
            .stations
            .iter()
            .enumerate()
            .flat_map(|(index, station)| {
                let label = |nth: usize| format!("flow/{}/{nth}", station.name);
                station.flows.iter().enumerate().map(move |(nth, flow)| (index, flow, label(nth)))
            })
            .enumerate()
            .map(|(id, (station, flow, label))| Flow::new(FlowId(id as u32), station, flow, Rng::fork(seed, &label)))
            .collect();
        let mut links = vec![
            Link::new(scenario.uplink_queue_at_wire(), scenario.wire.rate, scenario.wire.delay),
            Link::new(scenario.wire.queue, scenario.wire.rate, scenario.wire.delay),
        ];
        let own_wire = flows
            .iter()
            .map(|flow| {
                flow.params.wire.map(|Wire { rate, delay, queue }| {
                    links.extend([Link::new(queue, rate, delay), Link::new(queue, rate, delay)]);
                    links.len() - 2
                })
            })
            .collect();
        let none = |n: usize| vec![Instant::FAR_FUTURE; n];
        World {
            scenario,
            seed,
            bss: scenario.cell(seed),
            wakeups: Wakeups { links: none(links.len()), senders: none(flows.len()), receivers: none(flows.len()) },
            links,
            own_wire,
            refill: vec![Vec::new(); scenario.stations.len()],
            flows,
            events: Events::default(),
            series: Series::default(),
            rates: scenario.stations.iter().map(|station| station.rate).collect(),
            ap: ApExtras::new(scenario),
            enforcer: Enforcer::new(scenario, seed),
            box_wakeups: BoxWakeups::default(),
            habits: Habits::new(scenario, seed),
            late_answers: LateAnswers::new(),
        }
    }

    /// Runs to the end of the scenario, showing each frame on the air to `monitor`.
    pub(crate) fn run(mut self, mut monitor: Option<Monitor>) -> Record {
        if monitor.is_some() {
            self.bss.monitor();
        }
        let end = Instant::ZERO + self.scenario.run.duration;
        self.schedule_start();
        loop {
            let radio = self.bss.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
            let event = self.events.next_at();
            let now = radio.min(event);
            if now >= end {
                return self.record(end);
            }
            if event <= radio {
                let (now, event) = self.events.pop().expect("the queue said when its next event is due");
                self.handle_event(now, event);
            } else {
                self.bss.handle_timeout(radio);
                while let Some(delivery) = self.bss.poll_delivery() {
                    self.off_the_air(radio, delivery.receiver, delivery.packet);
                }
                while let Some(node) = self.bss.poll_fetched() {
                    self.refill(radio, node);
                }
                if let Some(monitor) = &mut monitor {
                    self.bss.drain_air().for_each(|frame| monitor(&frame));
                }
            }
        }
    }

    fn schedule_start(&mut self) {
        let run = &self.scenario.run;
        self.events.schedule(Instant::ZERO + run.warmup, Event::WarmupEnd);
        if run.sample_interval.is_some() {
            self.series.cwnd = vec![Vec::new(); self.flows.len()];
            self.events.schedule(Instant::ZERO, Event::Sample);
        }
        for (index, event) in self.scenario.events.iter().enumerate() {
            self.events.schedule(Instant::ZERO + event.at, Event::Script(index as u32));
        }
        self.await_control(Instant::ZERO);
        for flow in &mut self.flows {
            self.events.schedule(flow.first_start(run.start_spread), Event::Application(flow.id.0));
            if let Some(stop) = flow.params.stop {
                self.events.schedule(Instant::ZERO + stop, Event::Stop(flow.id.0));
            }
        }
    }

    fn handle_event(&mut self, now: Instant, event: Event) {
        match event {
            Event::Arrival(link) => self.link_wakes(now, link as usize),
            Event::Application(flow) => self.application(now, flow as usize),
            Event::SenderTimer(index) => {
                let flow = &mut self.flows[index as usize];
                if self.wakeups.senders[index as usize] == now {
                    self.wakeups.senders[index as usize] = Instant::FAR_FUTURE;
                    if let Some(sender) = &mut flow.sender {
                        sender.handle_timeout(now);
                    }
                    self.pump_sender(now, index as usize);
                }
            }
            Event::ReceiverTimer(index) => {
                if self.wakeups.receivers[index as usize] == now {
                    self.wakeups.receivers[index as usize] = Instant::FAR_FUTURE;
                    self.flows[index as usize].receiver.handle_timeout(now);
                    self.pump_receiver(now, index as usize);
                }
            }
            Event::Stop(flow) => self.flows[flow as usize].stop(),
            Event::Limiter => self.limiter_wakes(now),
            Event::Shaper => self.shaper_wakes(now),
            Event::Control => self.control_wakes(now),
            Event::Answer(number) => self.answer_late(now, number),
            Event::Script(index) => self.perform(now, index as usize),
            Event::Sample => self.sample(now),
            Event::WarmupEnd => {
                self.bss.reset_stats(now);
                self.links.iter_mut().for_each(|link| link.queue.reset_stats(now));
                self.flows.iter_mut().for_each(Flow::start_measuring);
                self.ap.reset_stats(now);
                if let Some(enforcer) = &mut self.enforcer {
                    enforcer.reset_stats(now);
                }
            }
        }
    }
}

/// Makes sure that `event` fires at `deadline` or before; earlier wake-ups look again.
fn arm(events: &mut Events, wakeup: &mut Instant, deadline: Option<Instant>, event: Event) {
    if let Some(deadline) = deadline
        && deadline < *wakeup
    {
        *wakeup = deadline;
        events.schedule(deadline, event);
    }
}
