//! The cell with its wires and box, over real frames and without input or output of its own.
//!
//! ```text
//! fixed host -- gateway --| own wire of a flow -- common wire -- [box] -- AP ))) |-- stations
//!                         `------------------- this module ----------------------'
//! ```
//!
//! The same machines as in the simulator, driven by frames instead of by simulated TCP. All deadlines are handled at
//! their scheduled time, however late the driver is; frames say when they were due.

use std::collections::VecDeque;

use fairair_core::enforce::{Enforcer, Habits};
use fairair_core::mac::Bss;
use fairair_core::packet::{Direction, NodeId, Packet};
use fairair_core::record::{Record, Series};
use fairair_core::scenario::{Scenario, Traffic, Wire};
use fairair_core::units::{Bitrate, Bytes, Instant};
use fairair_core::wire::Link;

use super::addresses as addr;
use super::ap::ApExtras;
use super::connections::{Connections, Key};
use super::enforce::Probes;
use super::flows::Flows;
use super::frame::{self, Frame, Headers, Transport};
use super::script::LateProbes;

/// The common wire, from the AP to the gateway and back.
const UP: usize = 0;
const DOWN: usize = 1;
/// Protocol numbers in connection keys.
const TCP: u8 = 6;
const UDP: u8 = 17;
const NO_PORTS: u8 = 0;
/// Number of a live box's probes: their own is not known here.
const LIVE: u64 = 0;

/// Groups of routers only: switches that snoop keep solicitations and membership reports from hosts (RFC 4541 section 2.1.1).
const FOR_ROUTERS: [[u8; 6]; 4] = [
    [0x33, 0x33, 0, 0, 0, 0x02],
    [0x33, 0x33, 0, 0, 0, 0x16],
    [0x01, 0x00, 0x5e, 0, 0, 0x02],
    [0x01, 0x00, 0x5e, 0, 0, 0x16],
];

/// Where a frame enters or leaves the emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The wireless interface of the station at this position.
    Station(usize),
    /// The AP's end of the wire.
    Wire,
}

/// A frame that leaves the emulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where.
    pub port: Port,
    /// The frame.
    pub bytes: Vec<u8>,
    /// When it was to leave.
    pub due: Instant,
}

/// Frames that the emulation neither carries nor drops in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// For nobody: an unknown address, or no Ethernet.
    pub unknown: u64,
}

/// The emulation of one replica.
///
/// Inputs are [`handle_frame`](Self::handle_frame) and [`handle_timeout`](Self::handle_timeout) in the order of time;
/// after each of them take the frames that are due with [`poll_output`](Self::poll_output).
pub struct Cell<'a> {
    pub(super) scenario: &'a Scenario,
    seed: u64,
    pub(super) bss: Bss<Frame>,
    links: Vec<Link<Frame>>,
    /// Index of the flow's own uplink in `links`, its downlink follows; `None`: the flow ends at the common wire.
    own_wire: Vec<Option<usize>>,
    connections: Connections,
    flows: Flows,
    outputs: VecDeque<Output>,
    strays: Strays,
    /// Data rate of each station, as timed events have left it.
    pub(super) rates: Vec<Bitrate>,
    pub(super) ap: ApExtras,
    pub(super) enforcer: Option<Enforcer<Frame>>,
    pub(super) probes: Probes,
    pub(super) habits: Habits,
    pub(super) late_probes: LateProbes,
    /// Position of the next timed event of the scenario.
    next_event: usize,
    warmup_ends: Option<Instant>,
    next_sample: Option<Instant>,
    series: Series,
    /// When the counters began.
    counted_from: Instant,
}

impl<'a> Cell<'a> {
    /// The cell before its first frame. `seed` makes all draws of MAC, queues and box.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut links = vec![
            Link::new(scenario.uplink_queue_at_wire(), scenario.wire.rate, scenario.wire.delay),
            Link::new(scenario.wire.queue, scenario.wire.rate, scenario.wire.delay),
        ];
        let own_wire = scenario.flows().map(|(_, flow)| {
            flow.wire.map(|Wire { rate, delay, queue }| {
                links.extend([Link::new(queue, rate, delay), Link::new(queue, rate, delay)]);
                links.len() - 2
            })
        });
        let own_wire = own_wire.collect();
        Cell {
            scenario,
            seed,
            bss: scenario.cell(seed),
            links,
            own_wire,
            connections: Connections::default(),
            flows: Flows::new(scenario),
            outputs: VecDeque::new(),
            strays: Strays::default(),
            rates: scenario.stations.iter().map(|station| station.rate).collect(),
            ap: ApExtras::new(scenario),
            enforcer: Enforcer::new(scenario, seed),
            probes: Probes::default(),
            habits: Habits::new(scenario, seed),
            late_probes: LateProbes::default(),
            next_event: 0,
            warmup_ends: Some(Instant::ZERO + scenario.run.warmup).filter(|end| *end > Instant::ZERO),
            next_sample: scenario.run.sample_interval.map(|_| Instant::ZERO),
            series: Series::default(),
            counted_from: Instant::ZERO,
        }
    }

    /// A frame has come to `port` at `now`, which is not before the last call's and not after [`Self::poll_timeout`].
    pub fn handle_frame(&mut self, now: Instant, port: Port, bytes: Vec<u8>) {
        let Some(headers) = frame::headers(&bytes) else {
            self.strays.unknown += 1;
            return;
        };
        match port {
            Port::Station(index) => {
                let frame = self.frame(now, NodeId::station(index), Direction::Up, headers, bytes);
                self.bss.enqueue(now, frame.station, frame);
            }
            Port::Wire => {
                let receivers = self.receivers(&headers);
                if receivers.is_empty() {
                    self.strays.unknown += u64::from(headers.destination[0] & 1 == 0);
                }
                for station in receivers {
                    let frame = self.frame(now, station, Direction::Down, headers, bytes.clone());
                    if frame.probe.is_some() {
                        // The box stands beside the AP: its probes have no wire to cross.
                        self.enter_cell(now, frame);
                        continue;
                    }
                    let own = frame.of_scenario.and_then(|flow| self.own_wire[flow]);
                    self.links[own.map_or(DOWN, |own| own + 1)].enqueue(now, frame);
                }
            }
        }
    }

    /// When to call [`Self::handle_timeout`].
    pub fn poll_timeout(&self) -> Instant {
        self.next_wired().min(self.bss.poll_timeout().unwrap_or(Instant::FAR_FUTURE))
    }

    /// Does all that is due up to `now`, each at its own time.
    pub fn handle_timeout(&mut self, now: Instant) {
        loop {
            let wired = self.next_wired();
            let radio = self.bss.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
            let at = wired.min(radio);
            if at > now {
                return;
            }
            if wired <= radio {
                self.wired_wakes(at);
            } else {
                self.bss.handle_timeout(at);
                while let Some(delivery) = self.bss.poll_delivery() {
                    self.off_the_air(at, delivery.receiver, delivery.packet);
                }
            }
        }
    }

    /// A frame that leaves the emulation.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// A flow of files whose present file has just ended: its last ACK is on its way to the sender.
    pub fn poll_finished(&mut self) -> Option<usize> {
        self.flows.poll_finished()
    }

    /// Frames of a station that wait for the radio or are on it.
    pub fn backlog(&self, station: usize) -> usize {
        self.bss.backlog(NodeId::station(station))
    }

    /// Frames that went nowhere.
    pub fn strays(&self) -> Strays {
        self.strays
    }

    /// What was measured up to `end`; nothing when the warm-up was not over.
    pub fn record(mut self, end: Instant) -> Record {
        Record {
            seed: self.seed,
            measured: end.saturating_since(self.counted_from),
            flows: self.flows.records(self.scenario),
            stations: (0..self.scenario.stations.len()).map(|index| self.bss.station_record(index, end)).collect(),
            ap_mac: *self.bss.stats(NodeId::AP),
            ap_queue: self.bss.queue(NodeId::AP).stats(end).clone(),
            ap_uplink_queue: match self.ap.limiter_queue() {
                Some(queue) => queue.stats(end).clone(),
                None => self.links[UP].queue.stats(end).clone(),
            },
            enforce: self.enforcer.as_mut().map(|enforcer| enforcer.record(end)),
            series: self.series,
        }
    }

    /// Stations that a frame for `headers.destination` is for. Broadcasts go to each as a frame of its own, as APs do
    /// that turn multicast into unicast; questions for an address go to its owner alone (proxy ARP, 802.11-2016 11.22.14).
    fn receivers(&self, headers: &Headers) -> Vec<NodeId> {
        let stations = self.scenario.stations.len();
        let one = |index: Option<usize>| index.map(NodeId::station).into_iter().collect();
        match headers.asks_for {
            _ if headers.destination[0] & 1 == 0 => one(addr::station_of_mac(headers.destination, stations)),
            Some(ip) => one(addr::station_of_ip(ip, stations)),
            None => (0..stations).map(NodeId::station).collect(),
        }
    }

    /// Finds out whose frame it is, counts it, and announces the receive window of the scenario in it.
    fn frame(
        &mut self,
        now: Instant,
        station: NodeId,
        direction: Direction,
        headers: Headers,
        bytes: Vec<u8>,
    ) -> Frame {
        let (protocol, ports, datagram) = match &headers.transport {
            Transport::Tcp(header) => (TCP, header.ports, 0),
            Transport::Udp { ports, payload } => (UDP, *ports, *payload),
            Transport::EchoRequest | Transport::EchoReply { .. } | Transport::Other => (NO_PORTS, (0, 0), 0),
        };
        let none = addr::BOX.into();
        let (from, to) = if protocol == NO_PORTS { (none, none) } else { headers.addresses.unwrap_or((none, none)) };
        let key = match direction {
            Direction::Up => Key { station: from, far: to, protocol, station_port: ports.0, far_port: ports.1 },
            Direction::Down => Key { station: to, far: from, protocol, station_port: ports.1, far_port: ports.0 },
        };
        let seen = match &headers.transport {
            Transport::Tcp(header) => Some(self.connections.observe(now, key, direction, header)),
            _ => None,
        };
        let index = station.station_index().expect("frames have a station");
        let of_scenario = match protocol {
            NO_PORTS => None,
            _ => self.flows.find(index, protocol == TCP, key.station_port, key.far_port),
        };
        let probe = match headers.transport {
            Transport::EchoRequest if headers.source == addr::BOX_MAC => Some(LIVE),
            Transport::EchoReply { id, seq } if direction == Direction::Up => match &self.enforcer {
                Some(_) => self.probes.find(id, seq),
                None => (headers.destination == addr::BOX_MAC).then_some(LIVE),
            },
            _ => None,
        };
        let flow = match seen {
            Some(seen) => seen.flow,
            None if protocol == NO_PORTS => {
                // One flow a station for all that has no ports.
                let of_station = addr::station(index).into();
                self.connections.flow(now, Key { station: of_station, ..key })
            }
            None => self.connections.flow(now, key),
        };
        let tcp = seen.map(|seen| seen.tcp);
        let mut frame = Frame { bytes, station, flow, direction, tcp, of_scenario, probe, datagram, enqueued_at: now };
        if let (Some(flow), Some(seen)) = (of_scenario, seen) {
            let params = self.flows.params(flow).tcp;
            if self.flows.observe(now, flow, direction, &seen) {
                let segment = u64::from(params.mss - seen.options.min(params.mss - 1));
                frame.clamp_window(Bytes(u64::from(params.window) * segment));
            }
        }
        frame
    }

    /// The next deadline of anything but the radio.
    fn next_wired(&self) -> Instant {
        let links = self.links.iter().filter_map(Link::poll_timeout);
        let script = self.scenario.events.get(self.next_event).map(|event| Instant::ZERO + event.at);
        let others = [
            self.ap.poll_timeout(),
            self.box_timeout(),
            self.late_probes.poll_timeout(),
            script,
            self.warmup_ends,
            self.next_sample,
        ];
        links.chain(others.into_iter().flatten()).min().unwrap_or(Instant::FAR_FUTURE)
    }

    fn wired_wakes(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.warmup_ends) {
            self.warmup_ends = None;
            self.reset_stats(now);
        }
        if due(self.next_sample) {
            self.sample(now);
        }
        while let Some(event) = self.scenario.events.get(self.next_event)
            && Instant::ZERO + event.at <= now
        {
            self.next_event += 1;
            self.perform(now, &event.action);
        }
        for link in 0..self.links.len() {
            if due(self.links[link].poll_timeout()) {
                self.link_wakes(now, link);
            }
        }
        if due(self.ap.poll_timeout()) {
            self.pump_limiter(now);
        }
        if due(self.box_timeout()) {
            self.box_wakes(now);
        }
        while let Some(probe) = self.late_probes.poll(now) {
            self.output(now, probe);
        }
    }

    fn link_wakes(&mut self, now: Instant, link: usize) {
        while let Some(frame) = self.links[link].poll_delivery(now) {
            match link {
                UP => match frame.of_scenario.and_then(|flow| self.own_wire[flow]) {
                    Some(own) => self.links[own].enqueue(now, frame),
                    None => self.output(now, frame),
                },
                DOWN => self.through_box(now, frame),
                _ if frame.direction == Direction::Down => self.links[DOWN].enqueue(now, frame),
                _ => self.output(now, frame),
            }
        }
    }

    /// A frame has crossed the radio.
    fn off_the_air(&mut self, now: Instant, receiver: NodeId, frame: Frame) {
        match frame.probe {
            Some(_) if receiver == NodeId::AP && self.enforcer.is_none() => self.output(now, frame),
            Some(id) if receiver == NodeId::AP => self.answered(now, id),
            Some(_) => self.asked(now, frame),
            None if receiver == NodeId::AP => self.at_ap(now, frame),
            None => {
                self.ap.observe(now, &frame, &self.bss);
                self.output(now, frame);
            }
        }
    }

    /// A frame from a station: the AP bridges it to the wire, to other stations, or to both.
    fn at_ap(&mut self, now: Instant, frame: Frame) {
        let headers = frame::headers(&frame.bytes).expect("it was read before");
        let group = headers.destination[0] & 1 == 1;
        let mut relayed = self.receivers(&headers);
        relayed.retain(|station| *station != frame.station && !FOR_ROUTERS.contains(&headers.destination));
        // A question for a station stays in the cell; an address that is no station's is beyond the wire.
        let for_wire = if group { headers.asks_for.is_none() || relayed.is_empty() } else { relayed.is_empty() };
        for station in relayed {
            let copy = self.frame(now, station, Direction::Down, headers, frame.bytes.clone());
            self.enter_cell(now, copy);
        }
        if for_wire {
            self.through_ap(now, frame);
        }
    }

    /// Past the box, or where it would be.
    pub(super) fn beyond_box(&mut self, now: Instant, frame: Frame) {
        match frame.direction {
            Direction::Up => self.links[UP].enqueue(now, frame),
            Direction::Down => self.enter_cell(now, frame),
        }
    }

    /// A frame leaves the emulation.
    pub(super) fn output(&mut self, now: Instant, frame: Frame) {
        if let Some(flow) = frame.of_scenario {
            self.flows.deliver(flow, frame.direction, frame.datagram);
            self.flows.arrive(now, flow, &frame);
        }
        let port = match (frame.direction, frame.station.station_index()) {
            (Direction::Down, Some(station)) => Port::Station(station),
            _ => Port::Wire,
        };
        self.outputs.push_back(Output { port, bytes: frame.bytes, due: now });
    }

    fn sample(&mut self, now: Instant) {
        self.series.at.push(now);
        self.series.ap_queue_packets.push(self.bss.queue(NodeId::AP).len() as u32);
        self.next_sample = self.scenario.run.sample_interval.map(|interval| now + interval);
    }

    fn reset_stats(&mut self, now: Instant) {
        self.counted_from = now;
        self.bss.reset_stats(now);
        self.links.iter_mut().for_each(|link| link.queue.reset_stats(now));
        self.flows.reset();
        self.ap.reset_stats(now);
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.reset_stats(now);
        }
    }
}

/// Whether a flow's traffic is TCP.
pub(super) fn is_tcp(traffic: &Traffic) -> bool {
    matches!(traffic, Traffic::Bulk | Traffic::Files { .. })
}
