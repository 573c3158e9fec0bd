//! The capacity loop: one machine of `core::control` a pool, fed with what the kernel counts.

#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, HashMap, HashSet};

use fairair_core::control::log::{Event, Recorder};
use fairair_core::control::{
    CapacityController, CapacityParams, Decision, Kept, Reason, State, StationView, Verdict, Watch,
};
use fairair_core::rng::Rng;
use fairair_core::units::{Bitrate, Bytes, Duration, Instant};

use super::passed::{Look, Passed};
use super::strangers::Strangers;
use crate::enforce::datapath::{Arrivals, ClassStats, leaf_minor, newcomers_minor};
use crate::enforce::site::{Site, SitePool, Station};

/// Uplink UDP below this, in bytes between two looks, is a question to a name server, not a load.
pub(super) const UDP_LOAD: u64 = 1500;
/// Uplink UDP past the box is much of the air from the larger share of C on, until the smaller.
pub(super) const PASSES_BY: std::ops::Range<f64> = 0.03..0.06;

/// The position of all that have no class of their own yet: what they carry is part of what the cell carries.
const NEWCOMERS: usize = 0;

/// A pool's machine.
#[derive(Debug)]
pub(super) struct PoolControl {
    pub(super) id: u16,
    params: CapacityParams,
    capacity: CapacityController,
    /// Who is at which position of the machine: the slot of the station's class, and what that had sent when seen last. At
    /// [`NEWCOMERS`] are those without a class of their own, whom nobody can ask.
    positions: Vec<Option<(u16, u64)>>,
    views: Vec<StationView>,
    arrivals: Option<Arrivals>,
    passed: Passed,
    /// Classes that are no station's, and what each had sent when seen last: the newcomers', and those of policies that are not by station.
    common: BTreeMap<u16, u64>,
    /// Whether stations have classes of their own. Else what passed of each is known in proportion only, and [`NEWCOMERS`] have the rest.
    is_by_station: bool,
    /// Share that goes down of the bytes that left last.
    down: f64,
    pub(super) reason: Reason,
    /// When a trial last changed C, or ended.
    tried: Option<Instant>,
    /// Probes on their way, to tell round-trip times.
    sent: BTreeMap<u64, Instant>,
    pub(super) rtt: Option<Duration>,
    /// How much of the last round-trip times is above the stations' baselines.
    pub(super) delay: Option<Duration>,
    watch: Watch,
    /// Whom nobody can ask.
    strangers: Strangers,
    /// What is wrong with C for a while now.
    verdict: Option<Verdict>,
    /// Whether uplink UDP that passes the box by takes much of the air; known of a fixed C.
    is_passed_by: bool,
    recorder: Recorder,
    /// What the machine had found when the rules and classes of the box were whole last.
    sound: Option<Kept>,
    /// What passes is not counted for a while: the machine is shown nothing.
    stands_still: bool,
}

impl PoolControl {
    pub(super) fn new(pool: &SitePool, seed: u64, is_logged: bool) -> Self {
        let capacity = match pool.capacity() {
            CapacityParams::Fixed { rate } => CapacityController::guarded(*rate, 0),
            params => CapacityController::new(params, 0, Rng::fork(seed, &pool.name)),
        };
        PoolControl {
            id: pool.id,
            params: *pool.capacity(),
            capacity,
            positions: vec![None],
            views: vec![StationView { is_absent: true, ..StationView::default() }],
            arrivals: None,
            passed: Passed::default(),
            common: BTreeMap::from([(newcomers_minor(pool.id), 0)]),
            is_by_station: true,
            down: 0.5,
            reason: Reason::Start,
            tried: None,
            sent: BTreeMap::new(),
            rtt: None,
            delay: None,
            watch: Watch::default(),
            strangers: Strangers::default(),
            verdict: None,
            is_passed_by: false,
            recorder: if is_logged && !matches!(pool.capacity(), CapacityParams::Fixed { .. }) {
                Recorder::new(*pool.capacity(), seed)
            } else {
                Recorder::default()
            },
            sound: None,
            stands_still: false,
        }
    }

    /// Whether the machine is shown nothing.
    pub(super) const fn stands_still(&self) -> bool {
        self.stands_still
    }

    /// Stops the machine, or lets it go on; whether that is news.
    pub(super) const fn stand_still(&mut self, stands_still: bool) -> bool {
        std::mem::replace(&mut self.stands_still, stands_still) != stands_still
    }

    /// Goes on with what another machine has learned of the same cell.
    pub(super) fn resume(&mut self, now: Instant, kept: &Kept, seed: u64) {
        self.capacity.resume(now, kept);
        self.recorder.resume(&self.capacity, seed);
    }

    /// Takes over from `before` that C was above what the cell carries: the contrary has to be found first.
    pub(super) fn take_over(&mut self, before: &PoolControl) {
        if let Some(Verdict::Elsewhere(carried)) = before.verdict {
            self.capacity.suspect(carried);
        }
    }

    /// Rules and classes are whole: what the machine has found counts.
    pub(super) fn vouch(&mut self) {
        self.sound = self.capacity.settled();
    }

    /// Others had taken rules or classes away, and for up to a second what passed was not counted: the machine goes on with what
    /// it had found before.
    pub(super) fn recount(&mut self, now: Instant, seed: u64) {
        self.watch = Watch::default();
        self.passed = Passed::default();
        self.capacity.recount(now, self.sound.as_ref());
        if self.sound.is_some() {
            self.recorder.resume(&self.capacity, seed);
        }
    }

    /// What the next machine of the same cell should know.
    pub(super) fn keep(&self) -> Option<Kept> {
        self.capacity.keep()
    }

    /// Judges whether the box is the bottleneck, twice a second. `can_ask`: a station is known by its address.
    pub(super) fn judge(&mut self, now: Instant, c: Bitrate, can_ask: bool) {
        if self.stands_still {
            (self.verdict, self.strangers) = (None, Strangers::default());
            return;
        }
        self.strangers.look(now, can_ask, &self.views);
        let state = self.capacity.state();
        let elsewhere = self.capacity.elsewhere().map(Verdict::Elsewhere);
        // Who watches over a fixed C has asked for long enough.
        let blind = (self.is_fixed() && state == State::Blind).then_some(Verdict::Blind);
        self.verdict = self.watch.observe(now, c, state, &self.views).or(elsewhere).or(blind);
    }

    /// Whether it is still what `pool` asks for.
    pub(super) fn is_for(&self, pool: &SitePool) -> bool {
        self.id == pool.id && self.params == *pool.capacity()
    }

    /// Whether C is the user's; it is lower for a moment when it seems to be too high.
    pub(super) const fn is_fixed(&self) -> bool {
        matches!(self.params, CapacityParams::Fixed { .. })
    }

    pub(super) const fn state(&self) -> State {
        self.capacity.state()
    }

    /// Probes sent, answered, lost.
    pub(super) fn probes(&self) -> [u64; 3] {
        let stats = self.capacity.stats();
        [stats.probes, stats.replies, stats.lost]
    }

    /// Shows a pool of fixed C what was counted: nothing counts before its shaper, so both directions count together.
    pub(super) fn observe_fixed(&mut self, counters: &BTreeMap<u16, ClassStats>, udp: &BTreeMap<u16, u64>) {
        self.down = 1.0;
        let bytes: u64 = self.positions.iter().flatten().filter_map(|(slot, _)| udp.get(slot)).sum();
        if let CapacityParams::Fixed { rate } = self.params {
            let share = bytes as f64 * 8.0 / rate.as_bps() as f64;
            self.is_passed_by = share > if self.is_passed_by { PASSES_BY.start } else { PASSES_BY.end };
        }
        self.observe(counters, Arrivals::default(), &BTreeMap::new());
    }

    /// Shows the machine what was counted. `udp` has the slots of stations that send UDP past the shaper.
    pub(super) fn observe(
        &mut self,
        counters: &BTreeMap<u16, ClassStats>,
        arrivals: Arrivals,
        udp: &BTreeMap<u16, u64>,
    ) {
        let before = self.arrivals.replace(arrivals).unwrap_or(arrivals);
        // A table that was made anew counts from zero.
        let grown = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
        let (down, up) = (grown(arrivals.down, before.down), grown(arrivals.up, before.up));
        let bypassing = grown(arrivals.udp, before.udp).min(up);
        let own_leaves = self.positions.iter().flatten().map(|(slot, _)| leaf_minor(*slot));
        let leaves = own_leaves.chain(self.common.keys().copied());
        let waiting = leaves.filter_map(|minor| counters.get(&minor)).map(|class| u64::from(class.backlog_bytes)).sum();
        // A counter that could not be read is as it was.
        let unread = |bytes: u64| ClassStats { bytes, ..ClassStats::default() };
        let class = |minor: u16, before: u64| counters.get(&minor).copied().unwrap_or(unread(before));
        let own = |(slot, bytes): &(u16, u64)| grown(class(leaf_minor(*slot), *bytes).bytes, *bytes);
        let sent: u64 = self.positions.iter().flatten().map(own).sum();
        let (mut sent_to_newcomers, mut backlog) = (0, 0);
        for (minor, bytes) in &mut self.common {
            let class = class(*minor, *bytes);
            sent_to_newcomers += grown(class.bytes, std::mem::replace(bytes, class.bytes));
            backlog += class.backlog as usize;
        }
        if !self.is_by_station {
            sent_to_newcomers = sent_to_newcomers.saturating_sub(sent);
        }
        let sent = sent + sent_to_newcomers;
        let other_down = grown(arrivals.other_down, before.other_down);
        let other_up = grown(arrivals.other_up, before.other_up);
        let look = Look { down, up: up - bypassing, other_down, other_up, sent, waiting };
        self.down = self.passed.look(look).unwrap_or(self.down);
        let own_udp = |slot: &u16| udp.get(slot).copied().filter(|bytes| *bytes >= UDP_LOAD);
        let all_udp: u64 = self.positions.iter().flatten().filter_map(|(slot, _)| own_udp(slot)).sum();
        let mut sent = vec![0; self.views.len()];
        sent[NEWCOMERS] = sent_to_newcomers;
        self.views[NEWCOMERS].backlog = backlog;
        self.views[NEWCOMERS].totals.down += Bytes((sent_to_newcomers as f64 * self.down) as u64);
        for ((position, view), sent) in self.positions.iter_mut().zip(&mut self.views).zip(&mut sent) {
            let Some((slot, bytes)) = position else { continue };
            let class = class(leaf_minor(*slot), *bytes);
            *sent = grown(class.bytes, *bytes);
            *bytes = class.bytes;
            // What waits for its station's cap says nothing of C.
            view.is_at_cap = class.is_at_ceiling && class.backlog > 0;
            view.backlog = if view.is_at_cap { 0 } else { class.backlog as usize };
            // The class counts both directions together.
            view.totals.down += Bytes((*sent as f64 * self.down) as u64);
            // Who sent UDP a moment ago is heard only when more of it has come.
            if bypassing > 0
                && let Some(own) = own_udp(slot)
            {
                let own = Bytes(((bypassing as f64 * own as f64 / all_udp as f64) as u64).max(1));
                view.totals.up += own;
                view.totals.up_bypassing += own;
            }
        }
        // What came up through the shaper is known of the pool: those with traffic share it, and UDP whose sender is not known yet.
        let up = if all_udp > 0 { up - bypassing } else { up };
        self.views[NEWCOMERS].datagrams += Bytes(other_down + other_up);
        let all: u64 = sent.iter().sum();
        let present = self.positions.iter().position(Option::is_some);
        if all > 0 {
            let mut left = up;
            for (view, sent) in self.views.iter_mut().zip(&sent) {
                let own = (up as f64 * *sent as f64 / all as f64) as u64;
                view.totals.up += Bytes(own.min(left));
                left -= own.min(left);
            }
        } else if let Some(first) = present {
            self.views[first].totals.up += Bytes(up);
        }
    }

    /// Gives each station of the pool a position, for as long as it is there.
    pub(super) fn assign_positions(&mut self, site: &Site) {
        self.is_by_station = site.config().policy.is_by_station();
        let before = std::mem::take(&mut self.common);
        let common = site.common_classes(self.id);
        self.common = common.map(|minor| (minor, before.get(&minor).copied().unwrap_or(0))).collect();
        let stations = || site.stations().iter().filter(|station| station.pool == self.id);
        let by_slot: HashMap<u16, &Station> = stations().map(|station| (station.slot, station)).collect();
        for (position, view) in self.positions.iter_mut().zip(&mut self.views) {
            if position.is_some_and(|(slot, _)| !by_slot.contains_key(&slot)) {
                *position = None;
                *view = StationView { is_absent: true, backlog: 0, is_at_cap: false, ..*view };
            }
        }
        let placed: HashSet<u16> = self.positions.iter().flatten().map(|(slot, _)| *slot).collect();
        let is_free = |own: &usize| *own != NEWCOMERS && self.positions[*own].is_none();
        let mut free = (0..self.positions.len()).filter(is_free).collect::<Vec<_>>().into_iter();
        for station in stations().filter(|station| !placed.contains(&station.slot)) {
            let free = free.next().unwrap_or_else(|| {
                self.positions.push(None);
                self.views.push(StationView::default());
                self.positions.len() - 1
            });
            self.positions[free] = Some((station.slot, 0));
            // Totals go on from those of whoever was here before: they never fall.
            self.views[free].is_absent = false;
        }
        // For `air`, and for its replay of what other machines saw. Stations have few rates.
        let mut known = BTreeMap::new();
        for (position, view) in self.positions.iter().zip(&mut self.views) {
            let Some((slot, _)) = position else { continue };
            view.air_ns = by_slot
                .get(slot)
                .map_or(0, |station| *known.entry(station.rate).or_insert_with(|| site.air_ns(station)));
        }
        self.recorder.grow(self.positions.len());
        self.capacity.grow(self.positions.len());
    }

    /// When the machine is due; one that stands still never is.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.capacity.poll_timeout().filter(|_| !self.stands_still)
    }

    /// The Internet link is the bottleneck: an empty pool says nothing of C.
    pub(super) fn stand_by(&mut self, now: Instant) {
        self.capacity.stand_by(now);
    }

    /// Does what is due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|at| at <= now) {
            self.recorder.timeout(now, &self.views);
            self.capacity.handle_timeout(now, &self.views);
        }
    }

    /// The reply to probe `id` is back.
    pub(super) fn handle_reply(&mut self, now: Instant, id: u64) {
        if let Some(sent_at) = self.sent.remove(&id) {
            self.rtt = Some(now.saturating_since(sent_at));
            self.recorder.reply(now, id, &self.views);
            self.capacity.handle_reply(now, id, &self.views);
            self.delay = self.capacity.delay(now);
        }
    }

    /// A probe to send: its number, and the slot of the station.
    pub(super) fn poll_probe(&mut self, now: Instant) -> Option<(u64, u16)> {
        loop {
            let probe = self.capacity.poll_probe()?;
            self.recorder.probe(now, &probe);
            self.sent.insert(probe.id, now);
            while self.sent.len() > 64 {
                self.sent.pop_first();
            }
            let position = probe.station.station_index()?;
            if let Some((slot, _)) = self.positions.get(position).copied().flatten() {
                return Some((probe.id, slot));
            }
        }
    }

    pub(super) fn poll_decision(&mut self) -> Option<Decision> {
        let decision = self.capacity.poll_decision()?;
        let before = std::mem::replace(&mut self.reason, decision.reason);
        if [before, decision.reason].contains(&Reason::Trial) {
            self.tried = Some(decision.at);
        }
        self.recorder.decision(decision);
        Some(decision)
    }

    /// The machine as it is, for the log; from here on it draws from `seed`.
    pub(super) fn snapshot(&mut self, name: &str, seed: u64) -> Event {
        self.capacity.reseed(Rng::fork(seed, name));
        // What was noted before and not taken belongs to a machine with another seed.
        self.recorder.take();
        self.recorder.state(&self.capacity, seed)
    }

    /// What the machine saw and did since the last call, for the log.
    pub(super) fn take_events(&mut self) -> Vec<Event> {
        self.recorder.take()
    }
}
