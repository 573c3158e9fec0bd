//! A fluid cell for tests: an AP queue in bytes, stations that answer after it, and the box's counters.

use std::collections::BTreeSet;

use super::log::Tape;
use super::{Capacity, Decision, State, StationView};
use crate::units::{Bytes, Duration, Instant};

pub(super) const MBPS: f64 = 1e6;
const STEP: f64 = 0.001;
/// RTT without a queue, in seconds.
const BASE: f64 = 0.003;
/// The AP's buffer in bytes: 75 packets.
const BUFFER: f64 = 75.0 * 1500.0;
/// Share of the bytes that are ACKs on their way up.
const ACKS: f64 = 0.02;

pub(super) struct Cell {
    pub(super) control: Capacity,
    /// What the cell carries, bit/s.
    pub(super) carries: f64,
    /// What the stations want, bit/s; above C the box has backlog.
    pub(super) load: f64,
    pub(super) silent: bool,
    pub(super) deaf: Vec<bool>,
    /// Seconds that each station's answers are late.
    pub(super) late: Vec<f64>,
    pub(super) decisions: Vec<Decision>,
    pub(super) tape: Tape,
    now: f64,
    /// Bytes in the AP, and bytes that went through.
    queue: f64,
    down: f64,
    up: f64,
    /// Replies on the way, by nanosecond and number.
    replies: BTreeSet<(u64, u64)>,
}

impl Cell {
    /// Five Mbit/s, saturated.
    pub(super) fn new(control: Capacity, stations: usize) -> Self {
        Cell {
            control,
            carries: 5.0 * MBPS,
            load: f64::INFINITY,
            silent: false,
            deaf: vec![false; stations],
            late: vec![0.0; stations],
            decisions: Vec::new(),
            tape: Tape::default(),
            now: 0.0,
            queue: 0.0,
            down: 0.0,
            up: 0.0,
            replies: BTreeSet::new(),
        }
    }

    /// C in bit/s.
    pub(super) fn c(&self) -> f64 {
        self.control.capacity().as_bps() as f64
    }

    /// Delay in the AP's queue in seconds.
    pub(super) fn delay(&self) -> f64 {
        self.queue * 8.0 / self.carries
    }

    pub(super) fn control_state(&self) -> State {
        self.control.state()
    }

    fn views(&self) -> Vec<StationView> {
        let stations = self.deaf.len() as f64;
        let mut view = StationView::default();
        view.totals.down = Bytes((self.down / stations) as u64);
        view.totals.up = Bytes((self.up / stations) as u64);
        // All at the rate at which the cell carries what it carries.
        view.air_ns = (8e9 / self.carries) as u32;
        view.backlog = if self.load > self.c() { 20 } else { 0 };
        vec![view; self.deaf.len()]
    }

    /// Lets `seconds` pass.
    pub(super) fn run(&mut self, seconds: f64) {
        for _ in 0..(seconds / STEP).round() as u64 {
            self.now += STEP;
            self.flow();
            let now = Instant::ZERO + Duration::from_secs_f64(self.now);
            while let Some((at, id)) = self.replies.pop_first() {
                if at > now.as_nanos() || self.silent {
                    self.replies.insert((at, id));
                    break;
                }
                let views = self.views();
                self.tape.reply(now, id, &views);
                self.control.handle_reply(now, id, &views);
                self.drain(now);
            }
            if self.control.poll_timeout().is_some_and(|at| at <= now) {
                let views = self.views();
                self.tape.timeout(now, &views);
                self.control.handle_timeout(now, &views);
            }
            self.drain(now);
        }
    }

    /// Does what the machine asks for.
    fn drain(&mut self, now: Instant) {
        while let Some(probe) = self.control.poll_probe() {
            self.tape.probe(now, &probe);
            let station = probe.station.station_index().expect("a station");
            let back = self.now + self.delay() + BASE + self.late[station];
            if !self.deaf[station] {
                self.replies.insert((Duration::from_secs_f64(back).as_nanos(), probe.id));
            }
        }
        while let Some(decision) = self.control.poll_decision() {
            self.tape.decision(decision);
            self.decisions.push(decision);
        }
    }

    /// A step of the fluid: the box feeds the queue, the radio empties it. TCP keeps what the AP would drop in the box.
    fn flow(&mut self) {
        let offered = (self.load.min(self.c()) * (1.0 - ACKS) * STEP / 8.0).min(BUFFER - self.queue);
        self.down += offered;
        self.queue += offered;
        if !self.silent {
            let sent = (self.carries * (1.0 - ACKS) * STEP / 8.0).min(self.queue);
            self.queue -= sent;
            self.up += sent * ACKS / (1.0 - ACKS);
        }
    }
}
