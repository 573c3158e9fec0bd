//! The topology at work: hosts, wire, AP, radio, stations, in virtual time.
//!
//! ```text
//! host -- own wire of a flow -- common wire -- AP ))) stations
//! ```
//!
//! At equal times wired events and timers come before the radio.

use fairair_core::mac::{Bss, MacParams, StationLink};
use fairair_core::packet::{Direction, FlowId, Kind, NodeId, Segment};
use fairair_core::qdisc::{self, DropTail, QdiscSpec, Queue};
use fairair_core::record::{Record, Series, StationRecord};
use fairair_core::rng::Rng;
use fairair_core::scenario::{Preset, Scenario, Wire};
use fairair_core::tcp::Sender;
use fairair_core::units::Instant;

use crate::Monitor;
use crate::events::{Event, Events};
use crate::flow::{Flow, Next};
use crate::link::Link;

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
    links: Vec<Link>,
    /// Index of the flow's own uplink in `links`, its downlink follows; `None`: the flow ends at the common wire.
    own_wire: Vec<Option<usize>>,
    flows: Vec<Flow>,
    /// Flows that refill their station's queue whenever it has room, by station.
    refill: Vec<Vec<FlowId>>,
    events: Events,
    wakeups: Wakeups,
    series: Series,
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
            Link::new(scenario.ap.uplink_queue, scenario.wire.rate, scenario.wire.delay),
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
            bss: build_bss(scenario, seed),
            wakeups: Wakeups { links: none(links.len()), senders: none(flows.len()), receivers: none(flows.len()) },
            links,
            own_wire,
            refill: vec![Vec::new(); scenario.stations.len()],
            flows,
            events: Events::default(),
            series: Series::default(),
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
                if let Some(delivery) = self.bss.poll_delivery() {
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
            Event::Sample => self.sample(now),
            Event::WarmupEnd => {
                self.bss.reset_stats(now);
                self.links.iter_mut().for_each(|link| link.queue.reset_stats(now));
                self.flows.iter_mut().for_each(Flow::start_measuring);
            }
        }
    }

    /// A flow starts, opens its next connection, or sends its next datagram.
    fn application(&mut self, now: Instant, index: usize) {
        let flow = &mut self.flows[index];
        let station = &self.scenario.stations[flow.station.station_index().expect("flows belong to stations")];
        match flow.datagrams(station.rate) {
            None => {
                flow.connect(now);
                self.pump_sender(now, index);
            }
            Some((payload, Some(interval))) => {
                if let Some(datagram) = flow.datagram(payload) {
                    self.events.schedule(now + flow.pause(interval), Event::Application(index as u32));
                    self.send(now, index, datagram);
                }
            }
            Some((_, None)) => {
                let (id, node) = (flow.id, flow.station);
                self.refill[node.station_index().expect("flows belong to stations")].push(id);
                self.bss.notify_fetches();
                self.refill(now, node);
            }
        }
    }

    /// Greedy datagram sources of a station take turns to keep its queue from running empty, and never overflow it.
    fn refill(&mut self, now: Instant, node: NodeId) {
        let Some(index) = node.station_index() else { return };
        let station = &self.scenario.stations[index];
        let sources = &mut self.refill[index];
        sources.retain(|flow| !self.flows[flow.index()].is_stopped());
        while self.bss.backlog(node) < 2 * sources.len() && self.bss.queue(node).len() < station.uplink_queue {
            let flow = &mut self.flows[sources[0].index()];
            sources.rotate_left(1);
            if let Some((payload, None)) = flow.datagrams(station.rate)
                && let Some(datagram) = flow.datagram(payload)
            {
                self.bss.enqueue(now, node, datagram);
            }
        }
    }

    /// Lets the sender say all that it has to say and keeps its timer.
    fn pump_sender(&mut self, now: Instant, index: usize) {
        while let Some(sender) = &mut self.flows[index].sender
            && let Some(transmission) = sender.poll_transmit(now)
        {
            let segment = self.flows[index].data(transmission);
            self.send(now, index, segment);
        }
        let deadline = self.flows[index].sender.as_ref().and_then(Sender::poll_timeout);
        arm(&mut self.events, &mut self.wakeups.senders[index], deadline, Event::SenderTimer(index as u32));
    }

    fn pump_receiver(&mut self, now: Instant, index: usize) {
        while let Some(acknowledgement) = self.flows[index].receiver.poll_transmit() {
            let segment = self.flows[index].ack(acknowledgement);
            self.send(now, index, segment);
        }
        let deadline = self.flows[index].receiver.poll_timeout();
        arm(&mut self.events, &mut self.wakeups.receivers[index], deadline, Event::ReceiverTimer(index as u32));
    }

    /// A segment leaves one end of its flow.
    fn send(&mut self, now: Instant, index: usize, segment: Segment) {
        match segment.direction {
            Direction::Up => self.bss.enqueue(now, segment.station, segment),
            Direction::Down => self.onto_wire(now, self.own_wire[index].map_or(DOWN, |own| own + 1), segment),
        }
    }

    /// A segment has crossed the radio.
    fn off_the_air(&mut self, now: Instant, receiver: NodeId, segment: Segment) {
        if receiver == NodeId::AP {
            self.onto_wire(now, UP, segment);
        } else {
            self.arrive(now, segment);
        }
    }

    fn onto_wire(&mut self, now: Instant, link: usize, segment: Segment) {
        self.links[link].enqueue(now, segment);
        self.arm_link(link);
    }

    fn arm_link(&mut self, link: usize) {
        let deadline = self.links[link].poll_timeout();
        arm(&mut self.events, &mut self.wakeups.links[link], deadline, Event::Arrival(link as u32));
    }

    fn link_wakes(&mut self, now: Instant, link: usize) {
        if self.wakeups.links[link] != now {
            return;
        }
        self.wakeups.links[link] = Instant::FAR_FUTURE;
        while let Some(segment) = self.links[link].poll_delivery(now) {
            match link {
                UP => match self.own_wire[segment.flow.index()] {
                    Some(own) => self.onto_wire(now, own, segment),
                    None => self.arrive(now, segment),
                },
                DOWN => self.bss.enqueue(now, NodeId::AP, segment),
                _ if segment.direction == Direction::Down => self.onto_wire(now, DOWN, segment),
                _ => self.arrive(now, segment),
            }
        }
        self.arm_link(link);
    }

    /// A segment reaches the far end of its flow.
    fn arrive(&mut self, now: Instant, segment: Segment) {
        let index = segment.flow.index();
        let flow = &mut self.flows[index];
        match segment.kind {
            Kind::Udp => flow.deliver(now, &segment),
            Kind::Syn | Kind::Data => {
                flow.deliver(now, &segment);
                self.pump_receiver(now, index);
            }
            Kind::SynAck | Kind::Ack => {
                flow.acknowledge(now, &segment);
                if let Next::At(at) = flow.after_ack(now) {
                    self.events.schedule(at, Event::Application(index as u32));
                }
                self.pump_sender(now, index);
            }
        }
    }

    fn sample(&mut self, now: Instant) {
        self.series.at.push(now);
        self.series.ap_queue_packets.push(self.bss.queue(NodeId::AP).len() as u32);
        for (column, flow) in self.series.cwnd.iter_mut().zip(&self.flows) {
            if flow.is_tcp() {
                column.push(flow.sender.as_ref().map_or(0.0, |sender| sender.cwnd() as f32));
            }
        }
        if let Some(interval) = self.scenario.run.sample_interval {
            self.events.schedule(now + interval, Event::Sample);
        }
    }

    fn record(mut self, end: Instant) -> Record {
        let station = |bss: &mut Bss<Segment>, index: usize| {
            let node = NodeId::station(index);
            StationRecord {
                mac: *bss.stats(node),
                uplink_queue: bss.queue(node).stats(end).clone(),
                airtime_down: bss.airtime_down(index),
            }
        };
        Record {
            seed: self.seed,
            measured: self.scenario.run.duration - self.scenario.run.warmup,
            flows: self.flows.iter().map(Flow::record).collect(),
            stations: (0..self.scenario.stations.len()).map(|index| station(&mut self.bss, index)).collect(),
            ap_mac: *self.bss.stats(NodeId::AP),
            ap_queue: self.bss.queue(NodeId::AP).stats(end).clone(),
            ap_uplink_queue: self.links[UP].queue.stats(end).clone(),
            series: self.series,
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

fn build_bss(scenario: &Scenario, seed: u64) -> Bss<Segment> {
    let params = MacParams::new(&scenario.radio, scenario.run.preset);
    let stations: Vec<StationLink> = scenario
        .stations
        .iter()
        .map(|station| StationLink {
            rate: station.rate,
            beta: station.beta,
            frame_error: station.frame_error.get(),
            bit_error_rate: station.bit_error_rate,
            name: station.name.clone(),
        })
        .collect();
    let ap = qdisc::build(ap_queue(scenario), Rng::fork(seed, "qdisc/ap"));
    let uplinks = scenario.stations.iter().map(|station| Queue::new(Box::new(DropTail::new(station.uplink_queue))));
    let queues = std::iter::once(Queue::new(ap).with_delays()).chain(uplinks).collect();
    Bss::new(params, &stations, queues, seed)
}

/// ns-2's `limit_` counts one packet more than may wait (design ruling 4).
fn ap_queue(scenario: &Scenario) -> QdiscSpec {
    match scenario.run.preset {
        Preset::Ns2 => scenario.ap.queue.with_ns2_limit(),
        Preset::Standard => scenario.ap.queue,
    }
}

/// The seed of replica number `replica`.
pub(crate) fn replica_seed(scenario: &Scenario, replica: u32) -> u64 {
    Rng::fork(scenario.run.seed, &format!("replica/{replica}")).next_u64()
}
