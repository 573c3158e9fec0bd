//! The cell as every engine drives it: wires, box, AP, radio, timed events and books.
//!
//! ```text
//! fixed host -- own wire of a flow -- common wire -- [box] -- AP ))) stations
//! ```
//!
//! Several APs may share the channel: each has a common wire, and the pools of the box are the channel's or the APs'.
//!
//! Drivers supply the ends: the simulator its TCP machines, the testbed the frames of real hosts. They differ in who sends
//! and takes packets, how an echo request is made and who answers it, and what is known of congestion windows.
//!
//! The parts: `wires` joins the links, `the_box` is the way through the box and its `enforcer`, `responders` answer
//! its probes, `ap` is what the AP does to packets besides queueing, `script` the timed events, `record` the
//! measurements, `deadlines` the heap that says what is due next.

mod ap;
mod deadlines;
mod driver;
mod enforcer;
mod record;
mod responders;
mod script;
mod the_box;
mod wires;

use self::ap::Ap;
use self::deadlines::{Deadline, Deadlines};
pub use self::driver::{CellPacket, Output};
use self::responders::Responders;
use self::the_box::Pools;
use self::wires::Wires;
use crate::mac::{AirFrame, Bss, Delivery, TxVector};
use crate::packet::{Direction, FlowId, NodeId};
use crate::record::Series;
use crate::scenario::Scenario;
use crate::units::{Bitrate, Bytes, Instant};

/// Where the step under way may have more to give.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Nothing,
    /// Deliveries and fetches of the radio.
    Radio,
    /// Packets at the end of a link.
    Link(usize),
}

/// One cell: a channel with an AP or several, their stations, and the way from there to the fixed hosts.
///
/// [`advance`](Self::advance) does what is due and gives outputs, one a call. What the driver puts in
/// ([`send`](Self::send), [`forward_to_station`](Self::forward_to_station), [`forward_to_wire`](Self::forward_to_wire),
/// [`set_timer`](Self::set_timer)) comes at the time of the last output or later, and not after [`poll_timeout`](Self::poll_timeout).
///
/// At equal times wires and timers come before the radio, and each other in the order in which they were set.
pub struct Cell<'a, P, T> {
    scenario: &'a Scenario,
    seed: u64,
    bss: Bss<P>,
    wires: Wires<P>,
    ap: Ap<P>,
    pools: Pools<P>,
    /// The controller of this pool has looked; its probes and its decision are still to be carried out.
    settling: Option<usize>,
    responders: Responders<P>,
    deadlines: Deadlines<T>,
    pending: Pending,
    /// Time of the step that is pending or settling.
    now: Instant,
    /// Modulation of each station's data, as timed events have left it.
    txs: Vec<TxVector>,
    series: Series,
    /// When the counters began.
    counted_from: Instant,
}

impl<'a, P: CellPacket, T: Copy> Cell<'a, P, T> {
    /// The cell before its first packet. `seed` makes all draws of MAC, queues, box and stations that answer probes.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut cell = Cell {
            scenario,
            seed,
            bss: scenario.cell(seed),
            wires: Wires::new(scenario),
            ap: Ap::new(scenario),
            pools: Pools::new(scenario, seed),
            settling: None,
            responders: Responders::new(scenario, seed),
            deadlines: Deadlines::new(),
            pending: Pending::Nothing,
            now: Instant::ZERO,
            txs: scenario.station_txs(),
            series: Series::default(),
            counted_from: Instant::ZERO,
        };
        let (run, start) = (&scenario.run, Instant::ZERO);
        let warmup_end = start + run.warmup;
        if warmup_end > start {
            cell.deadlines.schedule(warmup_end, Deadline::WarmupEnd);
        }
        for period in &scenario.periods()[1..] {
            cell.deadlines.schedule(start + period.start, Deadline::PeriodEnd);
        }
        if run.sample_interval.is_some() {
            cell.deadlines.schedule(start, Deadline::Sample);
        }
        for (index, event) in scenario.events.iter().enumerate() {
            cell.deadlines.schedule(start + event.at, Deadline::Script(index as u32));
        }
        cell.await_control(start);
        cell
    }

    /// A packet leaves its end: a station (`Up`) or the fixed host (`Down`).
    #[inline]
    pub fn send(&mut self, now: Instant, packet: P) {
        match packet.direction() {
            Direction::Up => self.bss.enqueue(now, packet.station(), packet),
            Direction::Down => self.leave_host(now, packet),
        }
    }

    /// `timer` comes back as an output at `at`. A timer cannot be taken back: the driver ignores what is out of date.
    #[inline]
    pub fn set_timer(&mut self, at: Instant, timer: T) {
        self.deadlines.schedule(at, Deadline::Driver(timer));
    }

    /// When something is due; [`Instant::FAR_FUTURE`] when the cell waits for packets. Holds when [`Self::advance`] has given `None`.
    #[inline]
    pub fn poll_timeout(&self) -> Instant {
        self.deadlines.next_at().min(self.bss.next_at())
    }

    /// Does all that is due before `end`, each thing at its own time, up to the next output; `None`: nothing is left.
    ///
    /// Call it until `None` before time goes on.
    #[inline]
    pub fn advance(&mut self, end: Instant) -> Option<(Instant, Output<P, T>)> {
        loop {
            if (self.settling.is_some() || !matches!(self.pending, Pending::Nothing))
                && let Some(output) = self.poll_step()
            {
                return Some((self.now, output));
            }
            let wired = self.deadlines.next_at();
            let radio = self.bss.next_at();
            let now = wired.min(radio);
            if now >= end {
                return None;
            }
            if radio < wired {
                self.bss.handle_timeout(now);
                if self.bss.has_output() {
                    (self.pending, self.now) = (Pending::Radio, now);
                }
            } else if let Some(output) = self.meet_deadline(now) {
                return Some((now, output));
            }
        }
    }

    /// The next output of the step under way.
    #[inline]
    fn poll_step(&mut self) -> Option<Output<P, T>> {
        loop {
            if let Some(pool) = self.settling
                && let Some(probe) = self.settle(self.now, pool)
            {
                return Some(Output::Probe(probe));
            }
            match self.pending {
                Pending::Nothing => return None,
                Pending::Radio => match self.bss.poll_delivery() {
                    Some(delivery) => {
                        if let Some(output) = self.off_the_air(self.now, delivery) {
                            return Some(output);
                        }
                    }
                    None => match self.bss.poll_fetched() {
                        Some(node) => return Some(Output::Fetched(node)),
                        None => break,
                    },
                },
                Pending::Link(link) => match self.off_the_wire(self.now, link) {
                    Some(packet) => return Some(Output::Arrival(packet)),
                    None => break,
                },
            }
        }
        self.pending = Pending::Nothing;
        None
    }

    /// The first deadline is due.
    #[inline]
    fn meet_deadline(&mut self, now: Instant) -> Option<Output<P, T>> {
        match self.deadlines.pop()? {
            Deadline::Link(link) => {
                if self.link_wakes(now, link as usize) {
                    (self.pending, self.now) = (Pending::Link(link as usize), now);
                }
            }
            Deadline::Driver(timer) => return Some(Output::Timer(timer)),
            Deadline::Limiter => self.limiter_wakes(now),
            Deadline::Shaper(pool) => self.shaper_wakes(now, pool as usize),
            Deadline::Control(pool) => self.control_wakes(now, pool as usize),
            Deadline::Answer(number) => return self.responders.take(number).map(Output::Arrival),
            Deadline::Script(index) => self.perform(now, index as usize),
            Deadline::Sample => {
                self.sample(now);
                return Some(Output::Sample);
            }
            Deadline::WarmupEnd => {
                self.reset_stats(now);
                return Some(Output::WarmupEnd);
            }
            Deadline::PeriodEnd => return Some(Output::PeriodEnd),
        }
        None
    }

    /// A packet has crossed the radio.
    #[inline]
    fn off_the_air(&mut self, now: Instant, Delivery { receiver, packet }: Delivery<P>) -> Option<Output<P, T>> {
        match packet.probe() {
            Some(_) if receiver.is_ap() && self.pools.is_empty() => return Some(Output::Arrival(packet)),
            Some(id) if receiver.is_ap() => self.answered(now, packet.station(), id),
            Some(_) => return self.asked(now, packet),
            None if !receiver.is_ap() => {
                self.ap.observe(now, &packet, &self.bss);
                return Some(Output::Arrival(packet));
            }
            None if packet.is_for_stations() => return Some(Output::Relay(packet)),
            None => self.forward_to_wire(now, packet),
        }
        None
    }

    /// Packets of a node: waiting, and in the MAC's hands.
    #[inline]
    pub fn backlog(&self, node: NodeId) -> usize {
        self.bss.backlog(node)
    }

    /// Packets of at least `len` at a node that keep its transmitter busy until it asks for more ([`Output::Fetched`]).
    pub fn busy_backlog(&self, len: Bytes) -> usize {
        self.bss.busy_backlog(len)
    }

    /// Packets that wait in the queue of a node.
    #[inline]
    pub fn waiting(&mut self, node: NodeId) -> usize {
        self.bss.queue(node).len()
    }

    /// Starts to keep which flow's packets wait in the queue of a node, for [`Self::waiting_of`].
    pub fn watch(&mut self, node: NodeId) {
        self.bss.queue(node).watch();
    }

    /// Packets of a flow that wait in the queue of a node since [`Self::watch`].
    pub fn waiting_of(&mut self, node: NodeId, flow: FlowId) -> usize {
        self.bss.queue(node).watched().map_or(0, |watched| watched.waiting(flow) as usize)
    }

    /// Present data rate of the station at this position.
    #[inline]
    pub fn rate(&self, station: usize) -> Bitrate {
        self.txs[station].rate()
    }

    /// Starts to tell which queues made room, as [`Output::Fetched`]: for sources that wait for it.
    pub fn notify_fetches(&mut self) {
        self.bss.notify_fetches();
    }

    /// Starts to record frames for [`Self::drain_air`], and what happens in the queues of APs for the series.
    pub fn monitor(&mut self) {
        self.bss.monitor();
        for ap in self.access_points() {
            self.bss.queue(ap).watch();
        }
    }

    /// The access points.
    fn access_points(&self) -> impl Iterator<Item = NodeId> + use<P, T> {
        (0..=self.scenario.access_points.len()).map(NodeId::access_point)
    }

    /// Hands over the frames recorded since the last call, in the order of their start.
    pub fn drain_air(&mut self) -> impl Iterator<Item = AirFrame<P>> {
        self.bss.drain_air()
    }
}
