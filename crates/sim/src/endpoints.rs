//! The simulator's ends of a cell, in virtual time: TCP and UDP machines, and stations that answer probes.

use fairair_core::cell::{Cell, Output};
use fairair_core::control::Probe;
use fairair_core::mac::AirFrame;
use fairair_core::packet::{Direction, FlowId, Kind, NodeId, Packet, Segment};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::tcp::Sender;
use fairair_core::units::Instant;

use crate::flow::{BLANK, Flow, Next};
use crate::parcel::{self, Parcel};

/// Sees every frame on the air.
pub type Monitor<'a> = &'a mut dyn FnMut(&AirFrame<Segment>);

/// ICMP payload of a probe: its number and a time stamp.
const PROBE_PAYLOAD: u32 = 16;

/// What a flow waits for, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The flow starts, goes on after a pause, or sends its next datagram.
    Application(u32),
    /// The timer of its TCP sender may have expired.
    Sender(u32),
    /// The timer of its TCP receiver may have expired.
    Receiver(u32),
    /// It sends nothing new from now on.
    Stop(u32),
}

/// Timers that are set; [`Instant::FAR_FUTURE`] when there is none.
struct Wakeups {
    senders: Vec<Instant>,
    receivers: Vec<Instant>,
}

/// Greedy datagram sources of a station.
#[derive(Clone, Default)]
struct Sources {
    /// They take turns, in this order.
    flows: Vec<FlowId>,
    /// Packets that keep the station's transmitter busy.
    busy: usize,
}

/// A simulation of one replica.
pub(crate) struct Simulation<'a> {
    scenario: &'a Scenario,
    cell: Cell<'a, Parcel, Timer>,
    flows: Vec<Flow>,
    /// Flows that refill their station's queue whenever it has room, by station.
    refill: Vec<Sources>,
    wakeups: Wakeups,
    /// Samples of the congestion window by flow, when the scenario asks for them.
    cwnd: Vec<Vec<f32>>,
}

impl<'a> Simulation<'a> {
    /// The cell and its flows before their start.
    pub(crate) fn new(scenario: &'a Scenario, seed: u64) -> Self {
        parcel::begin();
        let mut cell = Cell::new(scenario, seed);
        let mut flows: Vec<Flow> = scenario
            .flows()
            .zip(scenario.flow_streams(seed))
            .enumerate()
            .map(|(id, ((station, flow), stream))| Flow::new(FlowId(id as u32), station, flow, stream))
            .collect();
        for flow in &mut flows {
            cell.set_timer(flow.first_start(scenario.run.start_spread), Timer::Application(flow.id.0));
            if let Some(stop) = flow.params.stop {
                cell.set_timer(Instant::ZERO + stop, Timer::Stop(flow.id.0));
            }
        }
        let none = || vec![Instant::FAR_FUTURE; flows.len()];
        let sampled = if scenario.run.sample_interval.is_some() { flows.len() } else { 0 };
        Simulation {
            scenario,
            cell,
            refill: vec![Sources::default(); scenario.stations.len()],
            wakeups: Wakeups { senders: none(), receivers: none() },
            cwnd: vec![Vec::new(); sampled],
            flows,
        }
    }

    /// Runs to the end of the scenario, showing each frame on the air to `monitor`.
    pub(crate) fn run(mut self, mut monitor: Option<Monitor>) -> Record {
        if monitor.is_some() {
            self.cell.monitor();
        }
        let end = Instant::ZERO + self.scenario.run.duration;
        while let Some((now, output)) = self.cell.advance(end) {
            match output {
                Output::Arrival(parcel) => {
                    self.arrive(now, &parcel);
                    parcel.discard();
                }
                // Stations talk to fixed hosts only.
                Output::Relay(segment) => self.cell.forward_to_wire(now, segment),
                Output::Probe(Probe { station, id }) => {
                    let request = self.echo(station, Kind::Echo, id);
                    self.cell.forward_to_station(now, Parcel::new(request));
                }
                Output::Fetched(node) => self.refill(now, node),
                Output::Timer(timer) => self.wake(now, timer),
                Output::Sample => self.sample(),
                Output::WarmupEnd => self.flows.iter_mut().for_each(|flow| flow.start_measuring(now)),
            }
            if let Some(monitor) = &mut monitor {
                self.cell.drain_air().for_each(|frame| show(monitor, frame));
            }
        }
        if let Some(monitor) = &mut monitor {
            self.cell.drain_air().for_each(|frame| show(monitor, frame));
        }
        self.record(end)
    }

    fn wake(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Application(flow) => self.application(now, flow as usize),
            Timer::Sender(index) => {
                let index = index as usize;
                if self.wakeups.senders[index] == now {
                    self.wakeups.senders[index] = Instant::FAR_FUTURE;
                    if let Some(sender) = &mut self.flows[index].sender {
                        sender.handle_timeout(now);
                    }
                    self.pump_sender(now, index);
                }
            }
            Timer::Receiver(index) => {
                let index = index as usize;
                if self.wakeups.receivers[index] == now {
                    self.wakeups.receivers[index] = Instant::FAR_FUTURE;
                    self.flows[index].receiver.handle_timeout(now);
                    self.pump_receiver(now, index);
                }
            }
            Timer::Stop(flow) => self.flows[flow as usize].stop(),
        }
    }

    /// A flow starts, opens its next connection, or sends its next datagram.
    fn application(&mut self, now: Instant, index: usize) {
        let flow = &mut self.flows[index];
        let rate = self.cell.rate(flow.station.station_index().expect("flows belong to stations"));
        match flow.datagrams(rate) {
            None => {
                flow.connect(now);
                self.pump_sender(now, index);
            }
            Some((payload, Some(interval))) => {
                if let Some(datagram) = flow.datagram(payload) {
                    self.cell.set_timer(now + flow.pause(interval), Timer::Application(index as u32));
                    self.cell.send(now, Parcel::new(datagram));
                }
            }
            Some((payload, None)) => {
                let (id, node) = (flow.id, flow.station);
                let sources = &mut self.refill[node.station_index().expect("flows belong to stations")];
                sources.flows.push(id);
                sources.busy = sources.busy.max(self.cell.busy_backlog(payload));
                self.cell.notify_fetches();
                self.refill(now, node);
            }
        }
    }

    /// Greedy datagram sources of a station take turns to keep its queue from running empty, and never overflow it.
    fn refill(&mut self, now: Instant, node: NodeId) {
        let Some(station) = node.station_index() else { return };
        let room = self.scenario.stations[station].uplink_queue;
        let Sources { flows, busy } = &mut self.refill[station];
        flows.retain(|flow| !self.flows[flow.index()].is_stopped());
        if flows.is_empty() {
            return;
        }
        let enough = (*busy).max(2 * flows.len());
        while self.cell.backlog(node) < enough && self.cell.waiting(node) < room {
            let flow = &mut self.flows[flows[0].index()];
            flows.rotate_left(1);
            if let Some((payload, None)) = flow.datagrams(self.cell.rate(station))
                && let Some(datagram) = flow.datagram(payload)
            {
                self.cell.send(now, Parcel::new(datagram));
            }
        }
    }

    /// Lets the sender say all that it has to say and keeps its timer.
    fn pump_sender(&mut self, now: Instant, index: usize) {
        while let Some(sender) = &mut self.flows[index].sender
            && let Some(transmission) = sender.poll_transmit(now)
        {
            let segment = self.flows[index].data(transmission);
            self.cell.send(now, Parcel::new(segment));
        }
        let deadline = self.flows[index].sender.as_ref().and_then(Sender::poll_timeout);
        arm(&mut self.cell, &mut self.wakeups.senders[index], deadline, Timer::Sender(index as u32));
    }

    fn pump_receiver(&mut self, now: Instant, index: usize) {
        while let Some(acknowledgement) = self.flows[index].receiver.poll_transmit() {
            let segment = self.flows[index].ack(acknowledgement);
            self.cell.send(now, Parcel::new(segment));
        }
        let deadline = self.flows[index].receiver.poll_timeout();
        arm(&mut self.cell, &mut self.wakeups.receivers[index], deadline, Timer::Receiver(index as u32));
    }

    /// A segment reaches the far end of its flow, or a probe its station.
    fn arrive(&mut self, now: Instant, segment: &Segment) {
        let index = segment.flow.index();
        match segment.kind {
            Kind::Echo => {
                let reply = self.echo(segment.station, Kind::EchoReply, segment.seq);
                self.cell.send(now, Parcel::new(reply));
            }
            // The box takes the replies to its probes.
            Kind::EchoReply => {}
            Kind::Udp => self.flows[index].deliver(now, segment),
            Kind::Syn | Kind::Data => {
                self.flows[index].deliver(now, segment);
                self.pump_receiver(now, index);
            }
            Kind::SynAck | Kind::Ack => {
                let flow = &mut self.flows[index];
                flow.acknowledge(now, segment);
                if let Next::At(at) = flow.after_ack(now) {
                    self.cell.set_timer(at, Timer::Application(index as u32));
                }
                self.pump_sender(now, index);
            }
        }
    }

    /// Probes have flow numbers of their own, one a station, behind those of the flows.
    fn echo(&self, station: NodeId, kind: Kind, id: u64) -> Segment {
        let flow = FlowId(self.flows.len() as u32 + station.0 - 1);
        let direction = if kind == Kind::Echo { Direction::Down } else { Direction::Up };
        Segment { flow, station, direction, kind, seq: id, payload: PROBE_PAYLOAD, ..BLANK }
    }

    fn sample(&mut self) {
        for (column, flow) in self.cwnd.iter_mut().zip(&self.flows) {
            if flow.is_tcp() {
                column.push(flow.sender.as_ref().map_or(0.0, |sender| sender.cwnd() as f32));
            }
        }
    }

    fn record(self, end: Instant) -> Record {
        let mut record = self.cell.record(end, self.flows.iter().map(|flow| flow.record(end)).collect());
        record.series.cwnd = self.cwnd;
        record
    }
}

/// Shows a frame with the segments that it carries.
fn show(monitor: &mut Monitor, frame: AirFrame<Parcel>) {
    monitor(&frame.map(|parcel| {
        let segment = *parcel;
        parcel.discard();
        segment
    }));
}

/// Makes sure that `timer` fires at `deadline` or before; timers that fire earlier look again.
fn arm(cell: &mut Cell<Parcel, Timer>, wakeup: &mut Instant, deadline: Option<Instant>, timer: Timer) {
    if let Some(deadline) = deadline
        && deadline < *wakeup
    {
        *wakeup = deadline;
        cell.set_timer(deadline, timer);
    }
}

#[cfg(test)]
mod tests {
    use fairair_core::scenario::Scenario;

    /// Five packets of 1500 bytes fit an A-MSDU of 7935 bytes. At 65 Mbit/s it lasts 980 us, with SIFS and MAC ACK 1024; 43 of AIFS
    /// and 67.5 of mean back-off come before it. So 5 x 1472 bytes pass in 1134.5 us: 51.9 Mbit/s.
    #[test]
    fn greedy_datagrams_fill_an_a_msdu() {
        let text = "name = \"one\"\n[run]\nduration = \"1 s\"\nwarmup = \"0.2 s\"\nstart_spread = \"0 s\"\n\
                    [radio]\nphy = \"802.11n\"\naggregation = \"off\"\namsdu = \"7935 B\"\n\
                    [[station]]\nname = \"s\"\nflows = [{ direction = \"up\", kind = \"udp\" }]\n";
        let record = crate::run(&Scenario::from_toml(text, "one.toml").unwrap(), 0);
        let mbps = record.flows[0].delivered_bytes as f64 * 8.0 / record.measured.as_secs_f64() / 1e6;
        assert!((mbps / 51.9 - 1.0).abs() < 0.01, "{mbps} Mbit/s");
    }
}
