//! The ends of a cell over real frames, without input or output of its own.
//!
//! Finds out whose each frame is, hands it to the core's cell, and says which frames leave it where and when. All
//! deadlines are handled at their scheduled time, however late the driver is; frames say when they were due.

use std::collections::VecDeque;
use std::convert::Infallible;

use fairair_core::cell::{Cell, Output};
use fairair_core::mac::{AirFrame, Traced};
use fairair_core::packet::{Class, Direction, NodeId, Packet};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::units::{Bytes, Duration, Instant};

use super::addresses as addr;
use super::connections::{Connections, Key};
use super::flows::Flows;
use super::frame::{self, Frame, Headers, Transport};
use super::probes::Probes;

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
pub struct Departure {
    /// The device that the frame leaves by.
    pub port: Port,
    /// The frame.
    pub bytes: Vec<u8>,
    /// When it was to leave.
    pub due: Instant,
}

/// A frame of a host as it is on the air: Ethernet, without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EthernetFrame {
    /// The frame.
    pub bytes: Vec<u8>,
    /// Whether a station sends it to the AP, not the AP to a station.
    pub from_station: bool,
    /// IP packet length.
    pub ip_len: Bytes,
    /// DATA, ACK or not TCP.
    pub class: Class,
}

impl Traced for EthernetFrame {
    fn traced_len(&self) -> Bytes {
        self.ip_len
    }

    fn traced_class(&self) -> Class {
        self.class
    }
}

/// Frames that the emulation neither carries nor drops in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UncarriedFrames {
    /// For nobody: an unknown address, or no Ethernet.
    pub unknown: u64,
}

/// The emulation of one replica.
///
/// Inputs are [`handle_frame`](Self::handle_frame) and [`handle_timeout`](Self::handle_timeout) in the order of time;
/// after each of them take the frames that are due with [`poll_departure`](Self::poll_departure).
pub struct Emulation<'a> {
    scenario: &'a Scenario,
    /// The kernels of the hosts keep all timers.
    cell: Cell<'a, Frame, Infallible>,
    connections: Connections,
    flows: Flows,
    probes: Probes,
    departures: VecDeque<Departure>,
    uncarried: UncarriedFrames,
}

impl<'a> Emulation<'a> {
    /// The cell before its first frame. `seed` makes all draws of MAC, queues and box.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Self {
        Emulation {
            scenario,
            cell: Cell::new(scenario, seed),
            connections: Connections::default(),
            flows: Flows::new(scenario),
            probes: Probes::default(),
            departures: VecDeque::new(),
            uncarried: UncarriedFrames::default(),
        }
    }

    /// A frame has come to `port` at `now`, which is not before the last call's and not after [`Self::poll_timeout`].
    pub fn handle_frame(&mut self, now: Instant, port: Port, bytes: Vec<u8>) {
        let Some(headers) = frame::headers(&bytes) else {
            self.uncarried.unknown += 1;
            return;
        };
        match port {
            Port::Station(index) => {
                let frame = self.frame(now, NodeId::station(index), Direction::Up, headers, bytes);
                self.cell.send(now, frame);
            }
            Port::Wire => {
                let receivers = self.receivers(&headers);
                if receivers.is_empty() {
                    self.uncarried.unknown += u64::from(headers.destination[0] & 1 == 0);
                }
                for station in receivers {
                    let frame = self.frame(now, station, Direction::Down, headers, bytes.clone());
                    if frame.probe.is_some() {
                        // The box stands beside the AP: its probes have no wire to cross.
                        self.cell.forward_to_station(now, frame);
                    } else {
                        self.cell.send(now, frame);
                    }
                }
            }
        }
    }

    /// When to call [`Self::handle_timeout`].
    pub fn poll_timeout(&self) -> Instant {
        self.cell.poll_timeout()
    }

    /// Does all that is due up to `now`, each at its own time.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, output)) = self.cell.advance(now + Duration::from_nanos(1)) {
            match output {
                Output::Arrival(frame) => self.depart(at, frame),
                Output::Relay(frame) => self.relay(at, frame),
                Output::Probe(probe) => {
                    let probe = self.probes.echo(at, probe);
                    self.cell.forward_to_station(at, probe);
                }
                Output::WarmupEnd => self.flows.reset(),
                Output::PeriodEnd => self.flows.end_period(),
                // Only the kernels know congestion windows.
                Output::Sample | Output::Fetched(_) => {}
                Output::Timer(never) => match never {},
            }
        }
    }

    /// Starts to record what is on the air, for [`Self::drain_air`].
    pub fn monitor(&mut self) {
        self.cell.monitor();
    }

    /// Hands over what was on the air since the last call, in the order of the start.
    pub fn drain_air(&mut self) -> impl Iterator<Item = AirFrame<EthernetFrame>> {
        let shown = |frame: Frame| EthernetFrame {
            from_station: frame.direction == Direction::Up,
            ip_len: frame.ip_len(),
            class: frame.class(),
            bytes: frame.bytes,
        };
        self.cell.drain_air().map(move |frame| frame.map(shown))
    }

    /// A frame that leaves the emulation.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// A flow of files whose present file has just ended: its last ACK is on its way to the sender.
    pub fn poll_finished(&mut self) -> Option<usize> {
        self.flows.poll_finished()
    }

    /// Frames of a station that wait for the radio or are on it.
    pub fn backlog(&self, station: usize) -> usize {
        self.cell.backlog(NodeId::station(station))
    }

    /// Frames that went nowhere.
    pub fn uncarried(&self) -> UncarriedFrames {
        self.uncarried
    }

    /// What was measured up to `end`; nothing when the warm-up was not over.
    pub fn record(self, end: Instant) -> Record {
        let mut record = self.cell.record(end, self.flows.records(self.scenario));
        if let Some(enforce) = &mut record.enforce {
            // Flows are connections here, of whatever program.
            enforce.udp = None;
        }
        record
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

    /// Stations to which the AP passes a frame that `sender` has sent to it.
    fn fellows(&self, headers: &Headers, sender: NodeId) -> Vec<NodeId> {
        let mut fellows = self.receivers(headers);
        fellows.retain(|station| *station != sender && !FOR_ROUTERS.contains(&headers.destination));
        fellows
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
            Transport::EchoReply { id, seq } if direction == Direction::Up => match self.scenario.enforce {
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
        let relayed = direction == Direction::Up && !self.fellows(&headers, station).is_empty();
        let mut frame =
            Frame { bytes, station, flow, direction, tcp, of_scenario, probe, relayed, datagram, enqueued_at: now };
        if let (Some(flow), Some(seen)) = (of_scenario, seen) {
            let params = self.flows.params(flow).tcp;
            if self.flows.observe(now, flow, direction, &seen) {
                let segment = u64::from(params.mss - seen.options.min(params.mss - 1));
                frame.clamp_window(Bytes(u64::from(params.window) * segment));
            }
        }
        frame
    }

    /// The AP bridges a frame from a station to others, and to the wire too when it is for all.
    fn relay(&mut self, now: Instant, frame: Frame) {
        let headers = frame::headers(&frame.bytes).expect("it was read before");
        for station in self.fellows(&headers, frame.station) {
            let copy = self.frame(now, station, Direction::Down, headers, frame.bytes.clone());
            self.cell.forward_to_station(now, copy);
        }
        // A question for a station stays in the cell.
        if headers.destination[0] & 1 == 1 && headers.asks_for.is_none() {
            self.cell.forward_to_wire(now, frame);
        }
    }

    /// A frame leaves the emulation.
    fn depart(&mut self, now: Instant, frame: Frame) {
        if let Some(flow) = frame.of_scenario {
            self.flows.deliver(flow, frame.direction, frame.datagram);
            self.flows.arrive(now, flow, &frame);
        }
        let port = match (frame.direction, frame.station.station_index()) {
            (Direction::Down, Some(station)) => Port::Station(station),
            _ => Port::Wire,
        };
        self.departures.push_back(Departure { port, bytes: frame.bytes, due: now });
    }
}
