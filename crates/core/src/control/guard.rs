//! Looks after a C that the user has fixed: is it above what the cell carries, or far below?
//!
//! The guard reports such a C and never corrects it. Where less than C passes and next to nothing waits in the box, C goes
//! below what passes for a second, as in a trial of `adaptive`: if round trips fall, the queue stood in the cell. Two such
//! trials in a row are reported. While packets wait in the box, a trial with a lower C tests now and then whether a queue stands in the
//! cell, too: an access point with few buffers drops a part of what the box passes on, and C seems to be used. Then [`Room`] tests
//! whether the cell carries much more.

mod suspect;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::delay::Delays;
use super::ebb::{BEGINS, Ebb, HURRIES};
use super::findings::Findings;
use super::lowered::{
    DRAINED, LASTS, LEAST_RATE, LEAST_TRIPS, LOWERED, RoundTrip, RoundTripChange, USED_UP, WATCHED, are_short, deep,
    fall, goes_on,
};
use super::occupancy::Occupancy;
use super::phase::Phase;
use super::prober::Prober;
use super::room::{Next, Raised, Room};
use super::signal::{ONE_SIDED, Signal};
use super::{Decision, Reason, State, StationView};
use crate::units::{Bitrate, Duration, Instant};

/// Time between two looks, and while round trips are measured.
const LOOK: Duration = Duration::from_millis(500);
const PROBE: Duration = Duration::from_millis(100);
/// A probe without reply after this is lost.
const TIMEOUT: Duration = Duration::from_secs(2);
/// For how long round trips are measured before C is lowered.
const LISTENS: Duration = Duration::from_millis(1400);
/// Time to the next trial: to the one that confirms, and after one without result, at first and at most.
const CONFIRMS: Duration = Duration::from_secs(1);
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(120));
/// How deep trials beside a load that does not back off go in turn.
const DEPTHS: u32 = 3;
/// The longest time to the next trial while C is said to be too high, nobody answers, or trials show nothing.
const SOON_PAUSE: Duration = Duration::from_secs(30);
/// Packets that wait in the box for so long show that it divides what passes. Where C is a few per cent too high they wait for shorter
/// times, too: an upload's bursts.
const DIVIDES: Duration = Duration::from_secs(5);
/// What passes has changed by this share since C was found to be too high: that may be no longer so.
const CHANGED: f64 = 0.1;

/// Watches over a fixed C.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// As the user has it, in bit/s.
    fixed: f64,
    /// C now.
    c: f64,
    phase: Phase,
    next_tick: Instant,
    pub(super) prober: Prober,
    signal: Signal,
    delays: Delays,
    occupancy: Occupancy,
    /// Whom to ask next.
    turn: usize,
    trips: Vec<RoundTrip>,
    next_trial: Instant,
    last_trial: Instant,
    pause: Duration,
    findings: Findings,
    /// The load ended before the last trial could: round trips are measured from the begin of the next one.
    hurries: bool,
    /// The trial at work, or the last one, began while packets waited in the box.
    is_beside_queue: bool,
    /// It began while the queue in the box came and went and less than C passed: short files wait for C in bursts.
    #[serde(default)]
    is_leaky: bool,
    /// Since when packets wait in the box.
    divides_since: Option<Instant>,
    /// When next to nothing passed last.
    quiet_at: Option<Instant>,
    /// Trials beside a load that does not back off which found none.
    in_vain: u32,
    room: Room,
    /// What passed above the user's C in the trial at work, in seconds at that C.
    owed: f64,
    pub(super) decisions: VecDeque<Decision>,
}

impl Guard {
    /// Watches over `fixed`.
    pub fn new(fixed: Bitrate, stations: usize) -> Self {
        let fixed = fixed.as_bps() as f64;
        Guard {
            fixed,
            c: fixed,
            prober: Prober::new(TIMEOUT),
            signal: Signal::new(stations),
            delays: Delays::new(stations),
            ..Guard::default()
        }
    }

    /// C, which is another for a moment now and then.
    pub fn capacity(&self) -> Bitrate {
        Bitrate::from_bps(self.c.round() as u64)
    }

    /// What the cell carries, if C is above that.
    pub fn elsewhere(&self) -> Option<Bitrate> {
        self.findings.is_told.then(|| Bitrate::from_bps(self.findings.carried as u64))
    }

    /// The C before this one was above what the cell carries, `carried`: so is this one until the contrary is found, unless it is lower.
    pub fn suspect(&mut self, carried: Bitrate) {
        self.findings.suspect(self.fixed, carried.as_bps() as f64);
    }

    /// [`State::Blind`] where stations may compete in the cell and none answers a probe.
    pub const fn state(&self) -> State {
        if self.findings.is_blind() { State::Blind } else { State::Run }
    }

    /// What the cell carries at least, if that is much more than C.
    pub fn spare(&self) -> Option<Bitrate> {
        self.room.found.map(|rate| Bitrate::from_bps(rate as u64))
    }

    /// When the next look is due.
    pub const fn poll_timeout(&self) -> Instant {
        self.next_tick
    }

    /// Makes room for more stations.
    pub fn grow(&mut self, stations: usize) {
        self.signal.grow(stations);
        self.delays.grow(stations);
    }

    /// A reply is back.
    pub fn handle_reply(&mut self, now: Instant, id: u64) {
        let Some(probe) = self.prober.take(id) else { return };
        let rtt = now - probe.sent_at;
        self.findings.hear();
        self.delays.sample(now, probe.station, rtt, 1.0);
        self.trips.push(RoundTrip { sent_at: probe.sent_at, station: probe.station, ap: 0, rtt, baseline: rtt });
    }

    /// Looks, and goes on with a trial.
    pub fn handle_timeout(&mut self, now: Instant, stations: &[StationView]) {
        if now < self.next_tick {
            return;
        }
        self.signal.observe(now, stations, self.c);
        let passed = self.signal.down + self.signal.up;
        self.occupancy.observe(now, self.signal.backlog, passed, self.c, stations);
        if let Some(last) = self.occupancy.span(LOOK) {
            self.room.see(now, last);
        }
        while let Some(lost) = self.prober.poll_lost(now) {
            self.delays.lost(now, lost.station);
        }
        self.follow_ebb(now);
        match self.phase {
            Phase::Watches => self.watch(now),
            Phase::Listens(since) if now >= since + LISTENS && !self.is_unheard(now, since) => {
                match self.still_passing(now) {
                    Some(rate) if self.is_beside_queue && are_short(&self.trips, rate) => {
                        // Nobody who answers shows nothing.
                        self.conclude(now, None, self.findings.is_suspected || self.trips.len() >= LEAST_TRIPS);
                        let is_raised = !self.findings.is_told && !self.is_leaky;
                        self.phase = if is_raised { Phase::Weighs(since) } else { Phase::Watches };
                    }
                    Some(_) if self.trips.is_empty() && !self.is_beside_queue => {
                        self.findings.unheard += 1;
                        self.conclude(now, None, false);
                        self.phase = Phase::Watches;
                    }
                    Some(rate) => {
                        self.phase = Phase::Lowered(now, rate);
                        self.occupancy.restart();
                        self.set(now, self.lowered() * rate, Reason::Trial);
                    }
                    None if (self.hurries || self.is_leaky || self.findings.found > 0) && now < since + HURRIES => {}
                    None => {
                        if !self.is_leaky {
                            self.room.put_off(now);
                        }
                        (self.hurries, self.phase) = (false, Phase::Watches);
                    }
                }
            }
            Phase::Lowered(since, rate) if now >= since + goes_on(rate) + LASTS => self.end(now, since, rate),
            Phase::Weighs(since) => self.weigh(now, since),
            Phase::Raised(raised) => self.raise(now, raised),
            Phase::Repays(until) if now >= until => self.settle(now),
            Phase::Listens(_) | Phase::Lowered(..) | Phase::Ebbs(_) | Phase::Repays(_) => {}
        }
        let is_quiet = self.phase == Phase::Watches;
        if !is_quiet {
            self.probe(now);
        }
        self.next_tick = now + if is_quiet { LOOK } else { PROBE };
    }

    /// Something before the pool is the bottleneck now: an empty box says nothing of C. Ends a trial that is under way.
    pub fn stand_by(&mut self, now: Instant) {
        self.occupancy.restart();
        self.forget();
        if let Phase::Lowered(..) | Phase::Raised(_) | Phase::Repays(_) = self.phase {
            self.set(now, self.fixed, Reason::Start);
        }
        self.phase = Phase::Watches;
    }

    fn watch(&mut self, now: Instant) {
        let is_one_sided = self.signal.one_sided() >= ONE_SIDED;
        if let Some(span) = self.occupancy.span(WATCHED) {
            let binds = span.is_capped() || (span.binds() && !is_one_sided);
            self.divides_since = binds.then(|| self.divides_since.unwrap_or(now));
            let divides = self.divides_since.is_some_and(|since| since + DIVIDES <= now);
            if divides && (span.is_capped() || (!self.findings.is_told && !self.is_beside_queue)) {
                self.forget();
            }
            // Packets waited in the box in the last trial, too: that they do is nothing new.
            let begins_to_divide = divides && !self.is_beside_queue;
            if self.findings.is_told && (begins_to_divide || (span.rate / self.findings.carried - 1.0).abs() > CHANGED)
            {
                self.next_trial = self.next_trial.min(self.last_trial + PAUSE.0);
            }
        }
        let before = (self.is_beside_queue, self.is_leaky);
        if now >= self.next_trial {
            (self.is_beside_queue, self.is_leaky) = (false, false);
            if self.passing().is_none() {
                self.is_leaky = !is_one_sided && self.leaks(now);
                // Who was found to be too high is tried wherever packets wait.
                self.is_beside_queue =
                    self.is_leaky || !is_one_sided && (self.findings.is_told || (before.0 && self.findings.found > 0));
            }
            if self.passing().is_some() {
                return self.listen(now);
            }
            (self.is_beside_queue, self.is_leaky) = before;
        }
        let last = self.occupancy.span(LOOK);
        if last.is_some_and(|last| last.rate < LEAST_RATE) {
            self.quiet_at = Some(now);
        }
        if self.hurries && now >= self.next_trial && last.is_some_and(|last| last.rate > LEAST_RATE) {
            if self.findings.found == 0 {
                (self.is_beside_queue, self.is_leaky) = (false, false);
            }
            return self.listen(now);
        }
        if let Some(span) = self.occupancy.span(WATCHED)
            && !self.findings.is_told
            && self.room.is_due(now, span)
            && !span.is_leaky(false)
        {
            (self.is_beside_queue, self.is_leaky) = (!is_one_sided, false);
            self.listen(now);
            if is_one_sided {
                self.phase = Phase::Weighs(now);
            }
        }
    }

    /// Ends what the end of the load leaves no time for, and concludes from round trips without it.
    fn follow_ebb(&mut self, now: Instant) {
        match self.phase {
            Phase::Listens(_) => {
                let Some((ebb, is_open)) = Ebb::begun(now, &self.occupancy) else { return };
                self.is_beside_queue = !is_open;
                if is_open || self.findings.is_told {
                    self.phase = Phase::Ebbs(ebb);
                }
            }
            Phase::Lowered(since, rate) => {
                let Some(ebb) = Ebb::in_trial(now, &self.occupancy, since, rate) else { return };
                self.settle(now);
                self.phase = Phase::Ebbs(ebb);
            }
            Phase::Ebbs(ebb) if ebb.is_over(now, &self.occupancy) => {
                match ebb.change(&self.trips) {
                    // Beside packets that wait in the box a load begins with a queue in the cell, and none stays.
                    RoundTripChange::By(..) if !self.is_beside_queue => self.conclude(now, Some(ebb.rate), false),
                    RoundTripChange::Not => self.conclude(now, None, true),
                    RoundTripChange::By(..) | RoundTripChange::Unknown => {}
                }
                (self.hurries, self.phase) = (true, Phase::Watches);
            }
            _ => {}
        }
    }

    /// Begins to measure round trips.
    fn listen(&mut self, now: Instant) {
        self.trips.clear();
        self.phase = Phase::Listens(now);
    }

    /// Round trips are measured before C rises, if packets still wait then and the cell does not drain a queue.
    fn weigh(&mut self, now: Instant, since: Instant) {
        if now < since + LISTENS {
            return;
        }
        let binds = self.occupancy.span(LISTENS).is_some_and(|span| span.binds());
        if binds && !Room::drains(now, since, &self.trips, self.c) {
            let (raised, share) = Room::begin(now);
            self.owed = 0.0;
            self.phase = Phase::Raised(raised);
            self.occupancy.restart();
            self.set(now, share * self.fixed, Reason::Trial);
        } else {
            self.room.put_off(now);
            self.phase = Phase::Watches;
        }
    }

    fn raise(&mut self, now: Instant, mut raised: Raised) {
        let over = (self.c / self.fixed - 1.0) * now.saturating_since(raised.step_began).as_secs_f64();
        let next = self.room.follow(now, &mut raised, &self.trips, self.occupancy.span(Room::step(PROBE)), self.c);
        if next != Next::Wait {
            self.owed += over;
        }
        match next {
            Next::Wait => {}
            Next::Raise(share) => {
                self.phase = Phase::Raised(raised);
                self.occupancy.restart();
                self.set(now, share * self.fixed, Reason::Trial);
            }
            // The mean stays the user's C. A queue that the trial left in the cell would take many seconds to drain at that.
            Next::End => {
                self.phase = Phase::Repays(now + Duration::from_secs_f64(self.owed / (1.0 - LOWERED)));
                self.set(now, LOWERED * self.fixed, Reason::Trial);
            }
        }
    }

    /// C is the user's again.
    fn settle(&mut self, now: Instant) {
        self.phase = Phase::Watches;
        self.occupancy.restart();
        self.set(now, self.fixed, Reason::Start);
    }

    fn end(&mut self, now: Instant, since: Instant, rate: f64) {
        let is_wanted = self.occupancy.span(LASTS).is_some_and(|span| span.binds() || span.used() > USED_UP);
        let times = (since, since + goes_on(rate) + DRAINED);
        let change = fall(&self.trips, times, rate);
        let least = if self.is_beside_queue { deep(rate) } else { 0.0 };
        let is_new = self.is_beside_queue && self.quiet_at.is_some_and(|at| since < at + BEGINS);
        let is_fall = is_wanted && matches!(change, RoundTripChange::By(fell, _) if fell > least);
        let is_queue = is_fall && !is_new;
        self.hurries = false;
        if is_new && is_fall {
            return self.wait_for_begin(now);
        }
        let is_one_sided = self.signal.one_sided() >= ONE_SIDED;
        // Beside such a load the cell carries something between the C of the trial and that of one step before.
        let carried = if is_one_sided { self.lowered() / LOWERED.sqrt() * rate } else { rate };
        self.in_vain = if is_one_sided && !is_queue { self.in_vain + 1 } else { self.in_vain };
        // A trial that stations made nothing of shows nothing.
        let is_missed = is_wanted && (self.findings.is_suspected || change != RoundTripChange::Unknown);
        self.conclude(now, is_queue.then_some(carried), is_missed);
        self.hurries = is_queue && !self.findings.is_told;
        self.settle(now);
        if self.is_beside_queue && !self.is_leaky && !is_queue && !self.findings.is_told {
            self.trips.clear();
            self.phase = Phase::Weighs(now);
        }
    }

    /// A trial found a queue in the cell, which carries so much; or it found none, if it is one that may count.
    fn conclude(&mut self, now: Instant, carried: Option<f64>, is_missed: bool) {
        let is_doubtful = self.findings.conclude(carried, is_missed);
        // One that showed nothing is repeated sooner than one that found no queue.
        let is_soon = self.findings.is_told || self.findings.is_blind() || (carried.is_none() && !is_missed);
        let longest = if is_soon { SOON_PAUSE } else { PAUSE.1 };
        self.pause = if is_doubtful { CONFIRMS } else { (self.pause * 2).clamp(PAUSE.0, longest) };
        (self.last_trial, self.next_trial) = (now, now + self.pause);
    }

    /// The box divides what passes, or something before it does: what was found counts no more.
    fn forget(&mut self) {
        self.in_vain = 0;
        self.findings.forget();
    }

    fn set(&mut self, now: Instant, c: f64, reason: Reason) {
        self.c = c;
        self.decisions.push_back(Decision { at: now, capacity: self.capacity(), state: self.state(), reason });
    }

    /// Asks the next station in turn that has traffic and may answer.
    fn probe(&mut self, now: Instant) {
        let stations = self.delays.len();
        let was_asked = |station| self.trips.iter().any(|trip| trip.station == station);
        let is_ebb = matches!(self.phase, Phase::Ebbs(_));
        let may = |station: &usize| {
            !self.signal.is_absent(*station)
                && (self.signal.is_active(*station, now) || (is_ebb && was_asked(*station)))
                && self.delays.may_answer(*station, now)
        };
        let turn = (0..stations).map(|step| (self.turn + step) % stations).find(may);
        if let Some(station) = turn {
            self.turn = station + 1;
            self.prober.send(now, station, self.signal.down);
        }
    }
}
