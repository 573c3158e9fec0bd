//! A fluid cell for tests: an AP queue in bytes, stations that answer after it, and the box's counters.

use std::collections::BTreeSet;

use super::log::Recorder;
use super::{CapacityController, Decision, State, StationView};
use crate::rng::Rng;
use crate::shaper::Totals;
use crate::units::{Bytes, Duration, Instant};

pub(super) const MBPS: f64 = 1e6;
const STEP: f64 = 0.001;
/// RTT without a queue, in seconds.
const BASE: f64 = 0.003;
/// The AP's buffer in bytes: 75 packets.
const BUFFER: f64 = 75.0 * 1500.0;
/// Share of the bytes that are ACKs on their way up.
const ACKS: f64 = 0.02;

/// Greedy senders as one fluid: what is on the way is their windows, which grow by a segment a round trip each; a lost
/// segment takes half of a window, once a round trip.
#[derive(Clone, Copy)]
pub(super) struct Greedy {
    flows: f64,
    /// Bytes on the way, those in the box, and those on their way back.
    window: f64,
    waits: f64,
    wire: f64,
    /// Bytes that were lost and are sent again after a round trip; those lost in this one, and when it began.
    lost: f64,
    losses: f64,
    began: f64,
}

impl Greedy {
    fn new(flows: u32, window: f64) -> Self {
        Greedy { flows: f64::from(flows), window, waits: 0.0, wire: 0.0, lost: 0.0, losses: 0.0, began: 0.0 }
    }

    /// A step in which `losses` bytes are lost, of a round trip of `rtt` seconds.
    fn adapt(&mut self, now: f64, rtt: f64, losses: f64) {
        self.window += STEP * self.flows * 1500.0 / rtt;
        self.lost += losses - self.lost * STEP / rtt;
        self.losses += losses;
        if now > self.began + rtt {
            let hit = (self.losses / 1500.0).min(self.flows);
            self.window *= 1.0 - 0.5 * hit / self.flows;
            (self.losses, self.began) = (0.0, now);
        }
    }
}

/// What the box's classes hold: 50 ms at C, as the shaper does by itself.
const BOX_QUEUE: f64 = 0.05;
/// Bytes that wait at a station that sends: 300 packets.
const UPLINK_QUEUE: f64 = 300.0 * 1500.0;

#[allow(clippy::struct_excessive_bools, reason = "each is a fault that a test switches on")]
pub(super) struct Cell {
    pub(super) control: CapacityController,
    /// The AP's buffer in bytes.
    pub(super) buffer: f64,
    /// Senders that take what they get, in place of `load`.
    pub(super) greedy: Option<Greedy>,
    /// `load` is UDP to all stations but the last: it goes on whatever the AP drops, and next to nothing comes back.
    pub(super) drops: bool,
    /// It goes to the last as well, and nothing comes back; UDP is counted.
    pub(super) is_one_way: bool,
    /// UDP to each station, bit/s, in place of all else, and the bytes of it that the box let pass.
    pub(super) asks: Vec<f64>,
    passed: Vec<f64>,
    /// The first station sends instead, from a queue of its own at the radio: what it loses it loses there and in the box.
    uploads: Option<Greedy>,
    /// The box shapes.
    pub(super) is_on: bool,
    /// Replies come up to so many seconds later, at random.
    pub(super) jitter: f64,
    /// The box wakes up to so many seconds late, at random.
    pub(super) wakes_late: f64,
    overslept: f64,
    rng: Rng,
    /// What the cell carries, bit/s.
    pub(super) carries: f64,
    /// What the stations want, bit/s; above C the box has backlog.
    pub(super) load: f64,
    pub(super) silent: bool,
    /// Senders have nothing to send for now, and what waits goes on.
    pub(super) is_paused: bool,
    /// Others took the box's rules away: it counts and shapes nothing, and its machine goes on.
    pub(super) uncounted: bool,
    pub(super) deaf: Vec<bool>,
    /// Seconds that each station's answers are late.
    pub(super) late: Vec<f64>,
    /// What each station carries, relative to the others.
    pub(super) parts: Vec<f64>,
    /// Bytes of UDP that somebody sends past the box in each station's name, in a second.
    pub(super) udp: Vec<f64>,
    /// Short files beside `greedy`: bytes that a server sends at once, every so many seconds in the mean, at random.
    pub(super) files: Option<(f64, f64)>,
    /// UDP to the first station beside `greedy`, bit/s: it goes on whatever is lost, and nothing comes back.
    pub(super) one_way: f64,
    sent_one_way: f64,
    /// Segments that the first station sends whatever comes back, bit/s on the air: the box counts them, and lets an equal part of C pass
    /// and what the others leave.
    pub(super) flood: f64,
    flooded: f64,
    /// UDP that the first station sends past the box, bit/s: it takes its part of what the cell carries.
    pub(super) calls: f64,
    called: f64,
    pub(super) decisions: Vec<Decision>,
    pub(super) recorder: Recorder,
    now: f64,
    /// Share of what reaches the AP that it drops.
    lost: f64,
    /// Bytes in the AP, and bytes that went through.
    queue: f64,
    down: f64,
    up: f64,
    /// Bytes of the station that sends, and what reached all others.
    uploaded: f64,
    received: f64,
    /// Replies on the way, by nanosecond and number.
    replies: BTreeSet<(u64, u64)>,
}

impl Cell {
    /// Five Mbit/s, saturated.
    pub(super) fn new(control: CapacityController, stations: usize) -> Self {
        Cell {
            control,
            buffer: BUFFER,
            greedy: None,
            drops: false,
            is_one_way: false,
            asks: Vec::new(),
            passed: vec![0.0; stations],
            uploads: None,
            is_on: true,
            jitter: 0.0,
            wakes_late: 0.0,
            overslept: 0.0,
            rng: Rng::fork(1, "jitter"),
            carries: 5.0 * MBPS,
            load: f64::INFINITY,
            silent: false,
            is_paused: false,
            uncounted: false,
            deaf: vec![false; stations],
            late: vec![0.0; stations],
            parts: vec![1.0; stations],
            udp: vec![0.0; stations],
            files: None,
            one_way: 0.0,
            sent_one_way: 0.0,
            flood: 0.0,
            flooded: 0.0,
            calls: 0.0,
            called: 0.0,
            decisions: Vec::new(),
            recorder: Recorder::default(),
            now: 0.0,
            lost: 0.0,
            queue: 0.0,
            down: 0.0,
            up: 0.0,
            uploaded: 0.0,
            received: 0.0,
            replies: BTreeSet::new(),
        }
    }

    /// A new machine begins, with a clock of its own.
    pub(super) fn restart(&mut self) {
        (self.now, self.replies) = (0.0, BTreeSet::new());
        self.decisions.clear();
        for greedy in self.greedy.iter_mut().chain(&mut self.uploads) {
            greedy.began = 0.0;
        }
    }

    /// By the clock that the machine is told.
    pub(super) fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(self.now)
    }

    /// C in bit/s.
    pub(super) fn c(&self) -> f64 {
        self.control.capacity().as_bps() as f64
    }

    /// Delay in the AP's queue in seconds.
    pub(super) fn delay(&self) -> f64 {
        self.queue * 8.0 / (self.carries - self.taken())
    }

    /// What stations send without waiting for anything, bit/s on the air.
    fn taken(&self) -> f64 {
        self.calls + self.flood
    }

    /// Share of what reaches the AP now that it drops.
    pub(super) fn lost(&self) -> f64 {
        self.lost
    }

    pub(super) fn control_state(&self) -> State {
        self.control.state()
    }

    fn views(&self) -> Vec<StationView> {
        let stations = self.deaf.len() as f64 - f64::from(u8::from(self.uploads.is_some()));
        let mut view = StationView::default();
        view.totals.down = Bytes((self.down / stations) as u64);
        view.totals.up = Bytes((self.up / stations) as u64);
        // All at the rate at which the cell carries what it carries.
        view.air_ns = (8e9 / self.carries) as u32;
        view.backlog = match self.greedy {
            Some(greedy) => {
                let waiting = self.parts.iter().filter(|part| **part >= 1.0).count() as f64;
                (greedy.waits / 1500.0 / stations.min(waiting)).round() as usize
            }
            None if self.load > self.c() => 20,
            None => 0,
        };
        let mut views = vec![view; self.deaf.len()];
        if self.parts.iter().any(|part| *part < 1.0) {
            let all: f64 = self.parts.iter().sum();
            for (view, part) in views.iter_mut().zip(&self.parts) {
                view.totals.down = Bytes((self.down * part / all) as u64);
                view.totals.up = Bytes((self.up * part / all) as u64);
                view.backlog = if *part < 1.0 { 0 } else { view.backlog };
            }
        }
        for (view, udp) in views.iter_mut().zip(&self.udp) {
            let bytes = Bytes((udp * self.now) as u64);
            (view.totals.up, view.totals.up_bypassing) = (view.totals.up + bytes, bytes);
        }
        if self.one_way > 0.0 {
            views[0].datagrams = Bytes(self.sent_one_way as u64);
        }
        if self.is_one_way {
            views[0].datagrams = Bytes(self.down as u64);
            for view in &mut views {
                view.totals.up = Bytes(0);
            }
        }
        if !self.asks.is_empty() {
            let granted = self.granted(self.c() * (1.0 - ACKS));
            for (station, view) in views.iter_mut().enumerate() {
                let down = Bytes(self.passed[station] as u64);
                view.totals = Totals { down, ..Totals::default() };
                view.datagrams = down;
                view.backlog = if granted[station] < self.asks[station] { 20 } else { 0 };
            }
        }
        if self.drops
            && let Some((last, others)) = views.split_last_mut()
        {
            last.totals.up = Bytes(self.up as u64);
            for view in others {
                view.totals.up = Bytes(0);
            }
        }
        views[0].totals.up += Bytes(self.flooded as u64);
        let called = Bytes(self.called as u64);
        views[0].totals.up += called;
        views[0].totals.up_bypassing += called;
        if let Some(uploads) = self.uploads {
            let down = Bytes((self.uploaded * ACKS) as u64);
            views[0].totals = Totals { up: Bytes(self.uploaded as u64), down, ..Totals::default() };
            views[0].backlog = (uploads.waits / 1500.0).round() as usize;
        }
        views
    }

    /// What the box lets pass of [`Cell::asks`] at a C of `c` bit/s, by station: max-min fair.
    fn granted(&self, c: f64) -> Vec<f64> {
        let mut left = c;
        let mut order: Vec<usize> = (0..self.asks.len()).collect();
        order.sort_by(|a, b| self.asks[*a].total_cmp(&self.asks[*b]));
        let mut granted = vec![0.0; order.len()];
        for (turn, station) in order.iter().enumerate() {
            granted[*station] = self.asks[*station].min(left / (order.len() - turn) as f64);
            left -= granted[*station];
        }
        granted
    }

    /// `flows` greedy senders at work behind an AP with room for `packets`, and a cell that carries `carries` bit/s.
    pub(super) fn load_greedily(&mut self, carries: f64, packets: f64, flows: u32) {
        (self.carries, self.buffer, self.is_on) = (carries, packets * 1500.0, false);
        let window = carries * BASE / 8.0 + self.buffer;
        self.greedy = Some(Greedy::new(flows, window));
    }

    /// The first station sends `flows`, the others receive.
    pub(super) fn upload_greedily(&mut self, flows: u32) {
        self.uploads = Some(Greedy::new(flows, UPLINK_QUEUE));
    }

    /// What the first station has sent in the next `seconds` over the mean of what the others have received.
    pub(super) fn level(&mut self, seconds: f64) -> f64 {
        let (uploaded, received) = (self.uploaded, self.received);
        self.run(seconds);
        (self.uploaded - uploaded) * (self.deaf.len() - 1) as f64 / (self.received - received)
    }

    /// Seconds of the next `seconds` in which the box has packets to divide, as a share.
    pub(super) fn share_bound(&mut self, seconds: f64) -> f64 {
        let looks = (seconds / 0.05).round() as u32;
        let mut bound = 0.0;
        for _ in 0..looks {
            self.run(0.05);
            bound += f64::from(u8::from(self.greedy.is_some_and(|greedy| greedy.waits > 3000.0)));
        }
        bound / f64::from(looks)
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
                self.recorder.reply(now, id, &views);
                self.control.handle_reply(now, id, &views);
                self.drain(now);
            }
            let late = Duration::from_secs_f64(self.overslept);
            if self.is_on && self.control.poll_timeout().is_some_and(|at| at + late <= now) {
                if self.wakes_late > 0.0 {
                    self.overslept = self.wakes_late * self.rng.uniform();
                }
                let views = self.views();
                self.recorder.timeout(now, &views);
                self.control.handle_timeout(now, &views);
            }
            self.drain(now);
        }
    }

    /// Does what the machine asks for.
    fn drain(&mut self, now: Instant) {
        while let Some(probe) = self.control.poll_probe() {
            self.recorder.probe(now, &probe);
            let station = probe.station.station_index().expect("a station");
            let back = self.now + self.delay() + BASE + self.late[station] + self.jitter * self.rng.uniform();
            let is_lost = self.lost > 0.0 && self.rng.uniform() < self.lost;
            if !self.deaf[station] && !is_lost {
                self.replies.insert((Duration::from_secs_f64(back).as_nanos(), probe.id));
            }
        }
        while let Some(decision) = self.control.poll_decision() {
            self.recorder.decision(decision);
            self.decisions.push(decision);
        }
    }

    /// A step of the fluid: the box feeds the queue, the radio empties it. TCP keeps what the AP would drop in the box.
    fn flow(&mut self) {
        let c = self.control.capacity().as_bps() as f64;
        let fits = (c * (1.0 - ACKS) * STEP / 8.0).max(0.0);
        let flooded = self.flood * STEP / 8.0;
        self.flooded += flooded;
        let others = self.greedy.map_or(0.0, |greedy| greedy.waits);
        let fits = fits - flooded.min((fits / self.deaf.len() as f64).max(fits - others));
        self.called += self.calls * STEP / 8.0;
        let carried = if self.silent { 0.0 } else { (self.carries - self.taken()) * (1.0 - ACKS) * STEP / 8.0 };
        let (sent_up, passed_up) = self.upload(fits, carried);
        let granted = self.granted(c * (1.0 - ACKS));
        for (passed, rate) in self.passed.iter_mut().zip(&granted) {
            *passed += rate * STEP / 8.0;
        }
        let offered = match &mut self.greedy {
            None if !granted.is_empty() => granted.iter().sum::<f64>() * STEP / 8.0,
            None if self.drops || self.is_one_way => self.load.min(c) * (1.0 - ACKS) * STEP / 8.0,
            None => (self.load.min(c) * (1.0 - ACKS) * STEP / 8.0).min(self.buffer - self.queue),
            Some(greedy) => {
                let free = greedy.window - greedy.waits - self.queue - greedy.wire - greedy.lost;
                greedy.waits += if self.is_paused { 0.0 } else { free.max(0.0) };
                let files = self.files.filter(|(_, every)| self.rng.uniform() * every < STEP);
                greedy.waits += files.map_or(0.0, |(bytes, _)| bytes);
                // It gets its part of C, and what the others leave.
                let part = (fits / self.deaf.len() as f64).max(fits - greedy.waits);
                let one_way = (self.one_way * STEP / 8.0).min(part.max(0.0));
                self.sent_one_way += one_way;
                let fits = (fits - passed_up - one_way).max(0.0);
                let passes = if self.is_on && !self.uncounted { greedy.waits.min(fits) } else { greedy.waits };
                greedy.waits -= passes;
                passes + one_way
            }
        };
        self.down += if self.uncounted { 0.0 } else { offered };
        self.queue += offered;
        let rtt = BASE + self.delay();
        let overflow = (self.queue - self.buffer).max(0.0);
        self.lost = if offered > 0.0 { overflow / offered } else { 0.0 };
        self.queue = self.queue.min(self.buffer);
        // A class has room for the rate that it has, and for its own part at least.
        let part =
            self.uploads.map_or(1.0, |_| 1.0 - 1.0 / self.deaf.len() as f64).max(1.0 - passed_up / fits.max(1.0));
        let limit = c * BOX_QUEUE / 8.0 * part + 2_400.0 * self.deaf.len() as f64;
        if let Some(greedy) = &mut self.greedy {
            let rtt = rtt + if self.is_on { greedy.waits * 8.0 / c } else { 0.0 };
            let losses = overflow + (greedy.waits - limit).max(0.0);
            greedy.waits = greedy.waits.min(limit);
            greedy.adapt(self.now, rtt, losses);
        }
        if !self.silent {
            let sent = (carried - sent_up).min(self.queue);
            self.queue -= sent;
            self.received += sent;
            if let Some(greedy) = &mut self.greedy {
                greedy.wire = sent / STEP * BASE;
            }
            self.up += if self.uncounted { 0.0 } else { sent * ACKS / (1.0 - ACKS) };
        }
    }

    /// A step of the station that sends: it takes turns with the AP on the air, and with the other stations in the box.
    /// Bytes that it had on the air, and that the box let pass.
    fn upload(&mut self, fits: f64, carried: f64) -> (f64, f64) {
        let Some(uploads) = &mut self.uploads else { return (0.0, 0.0) };
        let queued = (uploads.window - uploads.waits - uploads.wire - uploads.lost).max(0.0);
        let queued = if self.is_paused { 0.0 } else { queued };
        let sent = queued.min((carried / 2.0).max(carried - self.queue));
        uploads.waits += sent;
        let others = self.greedy.map_or(0.0, |greedy| greedy.waits);
        let part = (fits / self.deaf.len() as f64).max(fits - others);
        let passed = if self.is_on { uploads.waits.min(part) } else { uploads.waits };
        uploads.waits -= passed;
        self.uploaded += passed;
        uploads.wire = passed / STEP * BASE;
        let c = self.control.capacity().as_bps() as f64;
        let limit = c * BOX_QUEUE / 8.0 * (passed / fits.max(1.0)).max(1.0 / self.deaf.len() as f64) + 12_000.0;
        let losses = (queued - sent - UPLINK_QUEUE).max(0.0) + (uploads.waits - limit).max(0.0);
        uploads.waits = uploads.waits.min(limit);
        let rtt = BASE + (queued + uploads.waits) / (passed / STEP).max(carried / STEP / 20.0);
        uploads.adapt(self.now, rtt, losses);
        (sent, passed)
    }
}
