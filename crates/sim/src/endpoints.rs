//! The simulator's ends of a cell, in virtual time: TCP, QUIC and UDP machines, and stations that answer probes.

use fairair_core::cell::{Cell, Output};
use fairair_core::control::Probe;
use fairair_core::mac::AirFrame;
use fairair_core::packet::{Direction, FlowId, Kind, NodeId, Packet, Segment};
use fairair_core::record::Record;
use fairair_core::scenario::{Scenario, Station};
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
    /// [`Station::greedy_fill`](fairair_core::scenario::Station::greedy_fill).
    fill: Option<usize>,
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

    /// Runs to the end of the scenario, showing each frame on the air to `monitor`; `None`: `is_abandoned` came first.
    pub(crate) fn run(mut self, mut monitor: Option<Monitor>, is_abandoned: &dyn Fn() -> bool) -> Option<Record> {
        // Often enough for who waits, seldom enough to cost nothing.
        const ASK: u32 = 1024;
        let mut outputs = 0_u32;
        if monitor.is_some() {
            self.cell.monitor();
        }
        let end = Instant::ZERO + self.scenario.run.duration;
        while let Some((now, output)) = self.cell.advance(end) {
            outputs = outputs.wrapping_add(1);
            if outputs.is_multiple_of(ASK) && is_abandoned() {
                return None;
            }
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
                Output::PeriodEnd => self.flows.iter_mut().for_each(|flow| flow.end_period(now)),
            }
            if let Some(monitor) = &mut monitor {
                self.cell.drain_air().for_each(|frame| show(monitor, frame));
            }
        }
        if let Some(monitor) = &mut monitor {
            self.cell.drain_air().for_each(|frame| show(monitor, frame));
        }
        Some(self.record(end))
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
                let station = node.station_index().expect("flows belong to stations");
                let sources = &mut self.refill[station];
                sources.flows.push(id);
                sources.busy = sources.busy.max(self.cell.busy_backlog(payload));
                sources.fill = self.scenario.stations[station].greedy_fill();
                if sources.fill.is_some() {
                    self.cell.watch(node);
                }
                self.cell.notify_fetches();
                self.refill(now, node);
            }
        }
    }

    /// Greedy datagram sources of a station take turns to keep its queue from running empty, and never overflow it. Beside other uploads they
    /// fill it.
    fn refill(&mut self, now: Instant, node: NodeId) {
        let Some(station) = node.station_index() else { return };
        let Station { uplink_mac80211: linux, uplink_queue, .. } = &self.scenario.stations[station];
        let room = linux.as_ref().map_or(*uplink_queue, |params| params.limit);
        let unacknowledged = self.scenario.uplink_counts_unacknowledged();
        let Sources { flows, busy, fill } = &mut self.refill[station];
        flows.retain(|flow| !self.flows[flow.index()].stopped);
        let enough = (*busy).max(2 * flows.len());
        let mut have_enough = 0;
        while have_enough < flows.len() {
            let id = flows[0];
            flows.rotate_left(1);
            let backlog = self.cell.backlog(node);
            let waiting = if unacknowledged { backlog } else { self.cell.waiting(node) };
            let lacks = match *fill {
                None => backlog < enough && waiting < room,
                Some(fill) if linux.is_some() => self.cell.waiting_of(node, id) < fill,
                Some(fill) => waiting < fill,
            };
            let flow = &mut self.flows[id.index()];
            if lacks
                && let Some((payload, None)) = flow.datagrams(self.cell.rate(station))
                && let Some(datagram) = flow.datagram(payload)
            {
                self.cell.send(now, Parcel::new(datagram));
            }
            // A queue may be full by a measure of its own: bytes, or what is not acknowledged.
            have_enough = if self.cell.backlog(node) > backlog { 0 } else { have_enough + 1 };
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
            Kind::QuicInitial if segment.direction != self.flows[index].params.direction => {
                self.acknowledge(now, segment);
            }
            Kind::Syn | Kind::Data | Kind::QuicInitial | Kind::Quic => {
                self.flows[index].deliver(now, segment);
                self.pump_receiver(now, index);
            }
            Kind::SynAck | Kind::Ack | Kind::QuicAck => self.acknowledge(now, segment),
        }
    }

    /// An acknowledgement reaches the sender of its flow.
    fn acknowledge(&mut self, now: Instant, segment: &Segment) {
        let index = segment.flow.index();
        let flow = &mut self.flows[index];
        flow.acknowledge(now, segment);
        if let Next::At(at) = flow.after_ack(now) {
            self.cell.set_timer(at, Timer::Application(index as u32));
        }
        self.pump_sender(now, index);
    }

    /// Probes have flow numbers of their own, one a station, behind those of the flows.
    fn echo(&self, station: NodeId, kind: Kind, id: u64) -> Segment {
        let flow = FlowId(self.flows.len() as u32 + station.0 - 1);
        let direction = if kind == Kind::Echo { Direction::Down } else { Direction::Up };
        Segment { flow, station, direction, kind, seq: id, payload: PROBE_PAYLOAD, ..BLANK }
    }

    fn sample(&mut self) {
        for (column, flow) in self.cwnd.iter_mut().zip(&self.flows) {
            if flow.has_window() {
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

    /// Mbit/s of each flow of a station of 802.11n at MCS 7, 20 MHz.
    fn mbps(run: &str, radio: &str, station: &str) -> Vec<f64> {
        let text = format!(
            "name = \"one\"\n[run]\nduration = \"4 s\"\nwarmup = \"1 s\"\nstart_spread = \"0 s\"\n{run}\n\
             [radio]\nphy = \"802.11n\"\nwidth = \"20 MHz\"\n{radio}\n[[station]]\nname = \"s\"\n{station}\n"
        );
        let record = crate::run(&Scenario::from_toml(&text, "one.toml").unwrap(), 0);
        record.flows.iter().map(|flow| flow.delivered_bytes as f64 * 8e-6 / record.measured.as_secs_f64()).collect()
    }

    /// A greedy sender always has something to send, whatever else its station sends.
    #[test]
    fn greedy_datagrams_fill_the_queue_beside_tcp() {
        let flows = "flows = [{ direction = \"up\", kind = \"udp\" }, { direction = \"up\" }]";
        let fifo = mbps("", "", flows);
        assert!(fifo[0] > 50.0 && fifo[1] < 5.0, "{fifo:?} Mbit/s");
        let linux = mbps("", "", &format!("uplink_queue = {{ kind = \"mac80211\" }}\n{flows}"));
        assert!((linux[0] / linux[1] - 1.0).abs() < 0.15, "{linux:?} Mbit/s: turns by flow");
    }

    /// Queues that are full by a measure of their own: in ns-3's the MAC's packets count, and Linux' holds 8192, fewer than two A-MPDUs of
    /// A-MSDUs.
    #[test]
    fn greedy_datagrams_stop_at_a_full_queue() {
        let flow = "flows = [{ direction = \"up\", kind = \"udp\", payload = \"100 B\" }]";
        let linux =
            mbps("", "amsdu = \"3839 B\"", &format!("uplink_queue = {{ kind = \"mac80211\", limit = 64 }}\n{flow}"));
        assert!(linux[0] > 1.0, "{linux:?} Mbit/s");
        for limit in [1, 10, 100] {
            let ns3 = mbps("preset = \"ns3\"", "", &format!("count = 2\nuplink_queue = {limit}\n{flow}"));
            assert!(ns3.iter().all(|mbps| *mbps > 0.5), "{ns3:?} Mbit/s");
        }
    }

    /// Video and background at one station, without aggregation: 34.5 and 0.44 Mbit/s by a calculation slot by slot of two functions that
    /// contend for cycles of 228 + 44 us, and 34.5 and 0.49 with datagrams at a constant rate.
    #[test]
    fn categories_of_greedy_datagrams_contend_within_a_station() {
        let udp = "direction = \"up\", kind = \"udp\"";
        let pair = mbps(
            "",
            "aggregation = \"off\"\n[radio.edca]\nstations = { vi = { txop = \"0 s\" } }",
            &format!(
                "uplink_queue = {{ kind = \"mac80211\" }}\nflows = [{{ {udp}, category = \"vi\" }}, {{ {udp}, category = \"bk\" }}]"
            ),
        );
        assert!((pair[0] / 34.5 - 1.0).abs() < 0.02 && (0.3..0.7).contains(&pair[1]), "{pair:?} Mbit/s");
    }

    /// An A-MSDU of two packets at MCS 0 lasts 3828 us: more than a TXOP of 2528 us, and one packet 1936. With AIFS, mean back-off, SIFS and
    /// ACK and the CF-End after SIFS a packet takes 43 + 67.5 + 1936 + 60 + 68 us.
    #[test]
    fn an_a_msdu_keeps_to_the_txop() {
        let radio = "amsdu = \"3839 B\"\ntxop = \"2528 us\"";
        for flow in
            ["flows = [{ direction = \"up\", kind = \"udp\" }]", "flows = [{ direction = \"down\", kind = \"udp\" }]"]
        {
            let alone = mbps("", &radio.replace("amsdu", "mcs = 0\namsdu"), flow);
            assert!((alone[0] / 5.415 - 1.0).abs() < 0.01, "{alone:?} Mbit/s");
        }
    }

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
