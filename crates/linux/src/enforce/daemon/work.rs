//! What the daemon does by itself: counters, capacity, discovery.

use std::collections::{BTreeMap, BTreeSet};

use fairair_core::units::Instant;
use tracing::{info, warn};

use super::pools::PoolControl;
use super::probes::Echo;
use super::troubles::Trouble;
use super::{Daemon, TICK, open_log};
use crate::enforce::datapath::{Health, leaf_minor, links};
use crate::enforce::journal::Journal;
use crate::enforce::preflight::bridge_faults;
use crate::enforce::protocol::Ask;
use crate::enforce::site::Station;
use crate::enforce::state::Learned;

/// Ticks in a second.
const SECOND: u64 = 10;
/// Ticks between two looks where C never changes.
const SLOW: u64 = 5;
/// Seconds between two writes of what was learned.
const KEEP: u64 = 5;
/// How long `status` reports that other programs changed or removed something.
const RETUNED: std::time::Duration = std::time::Duration::from_secs(30);
/// Seconds between two lines of goodput in the journal.
const MINUTE: u64 = 60;

impl Daemon {
    /// Makes machines and discovery what the configuration says; what stays the same goes on.
    pub(super) fn follow_config(&mut self) {
        let mut before = std::mem::take(&mut self.pools);
        let now = self.now();
        for pool in self.site.pools().values() {
            let kept = before.iter().position(|control| control.is_for(pool));
            let seed = u64::from(std::process::id());
            // A log that could not be opened may be open later.
            let is_logged = self.site.config().journal.as_ref().is_some_and(|journal| journal.log.is_some());
            if let Some(kept) = kept {
                self.pools.push(before.swap_remove(kept));
                continue;
            }
            let mut control = PoolControl::new(pool, seed, is_logged);
            // Another `max` is no other cell.
            let previous = before.iter().find(|control| control.id == pool.id);
            if let Some(previous) = previous {
                control.take_over(previous);
            }
            let learned = previous.and_then(PoolControl::keep);
            if let Some(kept) = learned.or_else(|| self.learned.pools.get(&pool.name).copied()) {
                control.resume(now, &kept, seed);
            }
            self.pools.push(control);
        }
        self.assign_positions();
        // Not a moment with the largest C.
        self.act();
        self.start_discovery();
    }

    /// Gives the controllers the list of present stations.
    pub(super) fn assign_positions(&mut self) {
        for pool in &mut self.pools {
            pool.assign_positions(&self.site);
        }
    }

    /// Time since the start, as the machines count it.
    pub(super) fn now(&self) -> Instant {
        Instant::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Ten times a second.
    pub(super) fn tick(&mut self) {
        self.ticks_done += 1;
        if self.ticks_done.is_multiple_of(SLOW) {
            self.count();
            self.look_at_wan();
            // Without nftables' counters there is still something to mend.
            if self.troubles.has(Trouble::Counters) {
                return;
            }
            self.look_at_udp();
            self.judge();
            self.limit();
            self.limit_wan();
        }
        if self.ticks_done.is_multiple_of(SECOND * KEEP) {
            self.keep();
        }
        if self.ticks_done.is_multiple_of(SECOND) {
            self.mend();
            self.open_socket();
            self.survey();
            self.find_udp_senders();
        }
    }

    /// Says where the box is not the bottleneck, or cannot know.
    fn judge(&mut self) {
        let now = self.now();
        let (mut troubles, mut notes) = (Vec::new(), Vec::new());
        for control in &mut self.pools {
            let Some(pool) = self.site.pool(control.id) else { continue };
            if control.is_fixed() {
                control.observe_fixed(&self.counts.classes, &self.counts.udp);
            }
            let has_address = |station: &Station| station.pool == pool.id && !station.addresses.is_empty();
            control.judge(now, pool.rate, self.site.stations().iter().any(has_address));
            troubles.extend(control.trouble(pool.rate).map(|trouble| format!("{}: {trouble}", pool.name)));
            notes.extend(control.note(now, pool.rate).map(|note| format!("{}: {note}", pool.name)));
        }
        for note in notes.iter().filter(|note| !self.notes.contains(note)) {
            info!("{note}");
        }
        // These are in the log already, or change too often for it.
        notes.extend(self.moved(self.started.elapsed().as_secs()));
        notes.extend(self.silent_crowd().into_iter().chain(self.loads_past_the_box()));
        self.notes = notes;
        let rates = self.site.rates_are_known();
        self.troubles.watch(Trouble::Rates, rates);
        self.troubles.tell(Trouble::Bottleneck, all(&troubles));
    }

    /// Writes what the machines have learned for the next daemon, if it is news.
    pub(super) fn keep(&mut self) {
        let own = |pool: &PoolControl| {
            let name = self.site.pool(pool.id)?.name.clone();
            pool.keep().or_else(|| self.learned.pools.get(&name).copied()).map(|kept| (name, kept))
        };
        let learned = Learned::new(self.pools.iter().filter_map(own).collect());
        if learned != self.learned {
            let saved = learned.save(&self.site.config().state);
            self.learned = learned;
            self.troubles.attempt(Trouble::CapacityFile, "cannot keep C for the next start", saved);
        }
    }

    /// Reads all counters. `None`: some cannot be read; they are as they were, and a machine must not see them beside those
    /// that could.
    fn count(&mut self) -> Option<()> {
        let begin = std::time::Instant::now();
        self.counts.read = None;
        let read = self.engine.read(&mut self.counts.classes);
        self.troubles.attempt(Trouble::Counters, "cannot read the counters", read)?;
        self.count_talkers()?;
        self.counts.rates.observe(begin, &self.counts.classes);
        let leaves = &self.engine.layout().leaves;
        self.counts.drops.observe(&self.counts.classes, |minor| leaves.get(&minor).map(|leaf| leaf.pool));
        if self.pools.iter().any(|pool| !pool.is_fixed()) {
            let arrived = self.netfilter.arrivals(&mut self.counts.arrivals);
            self.troubles.attempt(Trouble::Arrivals, "cannot read nftables counters", arrived)?;
        }
        self.counts.read = Some((begin, begin.elapsed()));
        Some(())
    }

    /// Reads all counters, unless the last look is so fresh that reading would take more than a fiftieth of the time.
    fn count_again(&mut self) -> Option<()> {
        match self.counts.read {
            Some((at, took)) if at.elapsed() < (took * 50).min(TICK / 2) => Some(()),
            _ => self.count(),
        }
    }

    /// When the next machine is due.
    pub(super) fn machines_due(&self) -> Option<std::time::Instant> {
        let due = self.pools.iter().filter_map(PoolControl::poll_timeout).min()?;
        Some(self.started + std::time::Duration::from_nanos(due.saturating_since(Instant::ZERO).as_nanos()))
    }

    /// Shows the machines what was counted, and does what they decide.
    pub(super) fn control(&mut self) {
        // What went down until now belongs to the next probe. If the counters cannot be read, the controller sees no traffic and leaves C as it is.
        let is_counted = self.count().is_some();
        let now = self.now();
        let wan_binds = self.wan_binds();
        for pool in self.pools.iter_mut().filter(|pool| !pool.stands_still()) {
            if pool.is_fixed() && wan_binds {
                pool.stand_by(now);
            }
            if is_counted && pool.is_fixed() {
                pool.observe_fixed(&self.counts.classes, &self.counts.udp);
            } else if is_counted {
                let arrivals = self.counts.arrivals.get(&pool.id).copied().unwrap_or_default();
                pool.observe(&self.counts.classes, arrivals, &self.counts.udp);
            }
            pool.handle_timeout(now);
        }
        self.act();
    }

    /// Sends the probes and sets the capacities that the machines ask for.
    fn act(&mut self) {
        let now = self.now();
        let mut failed = None;
        for pool in &mut self.pools {
            while let Some((id, slot)) = pool.poll_probe(now) {
                let Some(station) = self.site.stations().iter().find(|station| station.slot == slot) else { continue };
                let ap = self.site.config().aps.iter().find(|ap| ap.name == station.ap);
                let interface = ap.map_or("", |ap| ap.interface.as_str());
                // A station that cannot be reached has a probe lost; that is the machine's to judge.
                if let Err(error) = self.probes.ask(station, interface, Echo { pool: pool.id, id }) {
                    failed = Some(format!("cannot send a probe: {error}"));
                }
            }
            while let Some(decision) = pool.poll_decision() {
                self.site.set_rate(pool.id, decision.capacity);
                if let Err(error) = self.engine.set_capacity(pool.id, decision.capacity) {
                    failed = Some(format!("cannot change C: {error}"));
                }
                let ap = self.site.pool(pool.id).map_or("", |own| own.name.as_str());
                tracing::debug!(ap, capacity = %decision.capacity, state = ?decision.state, reason = ?decision.reason, "decided");
                self.records.journal.decision(ap, &decision);
            }
            for event in pool.take_events() {
                let ap = self.site.pool(pool.id).map_or("", |own| own.name.as_str());
                self.records.log.note(ap, event);
            }
        }
        self.troubles.tell(Trouble::Control, failed);
        if self.records.log.wants_to_begin() {
            self.begin_log();
        }
    }

    /// Lets the control log go on with the machines as they are.
    fn begin_log(&mut self) {
        let seed = self.ticks_done ^ u64::from(std::process::id()) << 32;
        let pools = self.pools.iter_mut().filter(|pool| !pool.is_fixed());
        let machines = pools.map(|pool| {
            let name = self.site.pool(pool.id).map_or("", |own| own.name.as_str());
            (name.to_owned(), pool.snapshot(name, seed))
        });
        self.records.log.begin(machines);
    }

    /// A probe is back.
    pub(super) fn echo(&mut self, echo: Echo) {
        let now = self.now();
        // What came up until now belongs to this reply. If that is not known, the reply would say that the cell carries next to
        // nothing: it counts as lost.
        if self.count_again().is_none() {
            return;
        }
        if let Some(pool) = self.pools.iter_mut().find(|pool| pool.id == echo.pool && !pool.stands_still()) {
            if !pool.is_fixed() {
                let arrivals = self.counts.arrivals.get(&pool.id).copied().unwrap_or_default();
                pool.observe(&self.counts.classes, arrivals, &self.counts.udp);
            }
            pool.handle_reply(now, echo.id);
        }
        self.act();
    }

    fn find_udp_senders(&mut self) {
        let senders = self.netfilter.udp_senders();
        let Some(senders) = self.troubles.attempt(Trouble::Udp, "cannot read nftables sets", senders) else { return };
        self.counts.udp.clear();
        let mut now = BTreeMap::new();
        let mode = self.site.config().mode;
        let stations = self.site.stations().iter().filter(|_| !senders.is_empty());
        let slots: BTreeMap<_, _> =
            stations.flat_map(|station| station.keys(mode).map(|key| (key, station.slot))).collect();
        for (key, bytes) in senders {
            let before = self.counts.udp_before.get(&key).copied().unwrap_or(0);
            if let Some(slot) = slots.get(&key) {
                *self.counts.udp.entry(*slot).or_default() += bytes.saturating_sub(before);
            }
            now.insert(key, bytes);
        }
        self.counts.udp_before = now;
    }

    /// Gives the kernel anew what others took away, and says what only the operator can mend.
    pub(super) fn mend(&mut self) {
        let links = links().map_err(|error| format!("cannot list interfaces: {error}"));
        if let Ok(links) = &links {
            let faults = bridge_faults(self.site.config(), links);
            self.troubles.tell(Trouble::Bridge, all(&faults));
        }
        if self.counts.read.is_none() {
            self.count();
            if self.troubles.has(Trouble::Counters) {
                return;
            }
        }
        let health =
            links.and_then(|links| self.engine.repair(&links, &self.counts.classes).map_err(|error| error.to_string()));
        let Some(health) = self.troubles.watch(Trouble::Repair, health) else { return };
        for mended in health.mended.iter().chain(&health.adopted).chain(&health.retuned) {
            warn!("{mended}");
        }
        self.vouch(&health);
        if !health.retuned.is_empty() {
            self.retuned = Some(std::time::Instant::now());
        }
        // For who looks a moment later.
        let retuned = self.retuned.is_some_and(|at| at.elapsed() < RETUNED);
        let told = "others changed classes or queues of fairair0, or htb_hysteresis (the log has what); they are put right each time: find out who does it";
        self.troubles.tell(Trouble::Classes, retuned.then_some(told));
        self.troubles.tell(Trouble::Interfaces, all(&health.troubles));
    }

    /// Makes the control socket anew, and what a start needs after a kill, if somebody has removed them.
    fn open_socket(&mut self) {
        let directory = self.site.config().state.clone();
        let opened = self.controls.listen_again(&directory).map_err(|error| error.to_string()).and_then(|again| {
            if again {
                self.engine.save_state().map_err(|error| error.to_string())?;
            }
            Ok(again)
        });
        let words = "the control socket was removed and cannot be made anew";
        if self.troubles.attempt(Trouble::Socket, words, opened) == Some(true) {
            warn!("the control socket was removed: made anew");
        }
    }

    /// Keeps what the machines have found while nothing was missing; else they go on with what they had found before. Those of pools
    /// whose traffic passes uncounted stand still.
    fn vouch(&mut self, health: &Health) {
        let (now, seed) = (self.now(), u64::from(std::process::id()));
        let is_whole = health.mended.is_empty() && health.adopted.is_empty();
        let layout = self.engine.layout();
        for pool in &mut self.pools {
            let aps = layout.pools.get(&pool.id).into_iter().flat_map(|own| &own.ap_interfaces);
            let mut interfaces = aps.map(|ap| &ap.interface).chain(&layout.uplinks);
            let is_uncounted = interfaces.any(|name| health.uncounted.contains(name));
            if pool.stand_still(is_uncounted) || !is_whole {
                pool.recount(now, seed);
            } else if !is_uncounted {
                pool.vouch();
            }
        }
        self.act();
        if !health.mended.is_empty() {
            self.removed = Some(std::time::Instant::now());
        }
        let told = "others removed rules, classes or filters of the box (the log says which), and for up to a second traffic passed \
                    undivided: a firewall that is loaded anew should flush its own tables only";
        let removed = self.removed.is_some_and(|at| at.elapsed() < RETUNED);
        self.troubles.tell(Trouble::Removed, removed.then_some(told));
    }

    /// Forgets silent stations, removes empty classes: once a second.
    fn survey(&mut self) {
        self.expire_settings();
        let now_s = self.started.elapsed().as_secs();
        let mut site = self.site.clone();
        let mut changed = false;
        let active: BTreeSet<u16> = site
            .stations()
            .iter()
            .map(|station| station.slot)
            .filter(|slot| {
                let minor = leaf_minor(*slot);
                let sent = self.counts.class(minor).bytes;
                self.counts.sent_before.insert(minor, sent).is_some_and(|before| before != sent)
            })
            .collect();
        self.records.stations.settle(now_s);
        for name in site.age(&active, now_s) {
            if self.records.stations.has_room(now_s) {
                info!(station = name, "forgotten: silent for too long");
            }
            self.records.journal.station(&name, "gone");
            changed = true;
        }
        if changed {
            self.adopt(site);
        } else {
            // When stations were last heard is kept all the same.
            self.site = site;
        }
        if self.site.config().journal.is_some() && !self.troubles.has(Trouble::JournalFile) {
            let told = "the journal loses lines: the disk is full or slow";
            self.troubles.tell(Trouble::Journal, self.records.journal.has_failed().then_some(told));
        }
        if self.records.log.is_on() {
            let told = "the control log has a gap: the disk is full or slow";
            self.troubles.tell(Trouble::ControlLog, self.records.log.has_failed().then_some(told));
        }
        if self.ticks_done.is_multiple_of(SECOND * MINUTE) {
            self.note_goodput();
            self.open_again();
        }
        self.sweep();
    }

    /// Removes classes that nobody needs any more and that are empty.
    pub(super) fn sweep(&mut self) {
        let gone = self.engine.sweep(&self.counts.classes);
        for minor in self.troubles.attempt(Trouble::Sweep, "cannot remove a class", gone).unwrap_or_default() {
            self.counts.sent_before.remove(&minor);
            self.site.release_minor(minor);
        }
    }

    /// Tries again to open what could not be opened.
    fn open_again(&mut self) {
        if self.troubles.has(Trouble::JournalFile) {
            let opened = Journal::open(self.site.config().journal.as_ref());
            if let Some(journal) = self.troubles.watch(Trouble::JournalFile, opened) {
                self.records.journal = journal;
            }
        }
        if self.troubles.has(Trouble::ControlLogFile) {
            let opened = open_log(&self.site);
            if let Some(log) = self.troubles.watch(Trouble::ControlLogFile, opened) {
                self.records.log = log;
                self.begin_log();
            }
        }
    }

    /// Writes what the journal lacks at a stop, whoever asked for it.
    pub(super) fn end_journal(&mut self) {
        self.count();
        self.note_goodput();
        self.records.journal.change(&Ask::Stop);
    }

    /// What each station got since the last such line, for the journal.
    fn note_goodput(&mut self) {
        for station in self.site.stations() {
            let class = self.counts.class(leaf_minor(station.slot));
            let (bytes, drops) =
                self.records.noted.insert(station.slot, (class.bytes, class.drops)).unwrap_or_default();
            let bytes = class.bytes.checked_sub(bytes).unwrap_or(class.bytes);
            if bytes > 0 {
                self.records.journal.goodput(&station.name, bytes, u64::from(class.drops.wrapping_sub(drops)));
            }
        }
    }
}

/// What is wrong, in one text; `None`: nothing.
fn all(wrong: &[String]) -> Option<String> {
    (!wrong.is_empty()).then(|| wrong.join("; "))
}
