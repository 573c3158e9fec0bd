//! Brings the kernel from one layout to the next, and back to what was there before.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use fairair_core::units::{Bitrate, Bytes};
use serde::{Deserialize, Serialize};

use super::IFB;
use super::classes::{ClassStats, Classes};
use super::hysteresis::{HYSTERESIS, PARAMETER};
use super::layout::Layout;
use super::leaf::pool_burst;
use super::links::{Link, link_named, links};
use super::queue::FlowQueues;
use super::script::Script;
use super::stages::{Stages, is_ours};
use super::tools::{self, DatapathError, Dump};
use super::watch::Watch;
use crate::enforce::config::LeafKind;
use crate::enforce::state::{Lost, State, StateError};

/// The datapath while it is up.
#[derive(Debug)]
pub struct Engine {
    pub(super) classes: Classes,
    pub(super) watch: Watch,
    pub(super) layout: Layout,
    /// Leaves that nobody names any more, until they are empty, and pools to go with the last of them.
    leaving: BTreeMap<u16, u16>,
    leaving_pools: Vec<u16>,
    pub(super) stages: Stages,
    /// Limits of queues that were set since their leaves were made.
    pub(super) limits: BTreeMap<u16, Bytes>,
    /// How the flows of a class get queues of their own, if the kernel can do it; the leaves that have such queues; bytes that
    /// each leaf had sent at the last look; pools where packets have waited.
    pub(super) apart: Option<FlowQueues>,
    pub(super) flows: BTreeSet<u16>,
    pub(super) sent: BTreeMap<u16, u64>,
    pub(super) waited: BTreeSet<u16>,
    /// Looks of the repair until now.
    pub(super) looks: u32,
    pub(super) state: State,
    /// The state file has all of it.
    pub(super) is_saved: bool,
    pub(super) directory: PathBuf,
}

/// What differs from the time before, when all that was added is gone again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// One line each.
    pub differences: Vec<String>,
}

impl Engine {
    /// Adds everything to a kernel that has nothing of ours; a failure takes back what was done.
    ///
    /// Everything about to be added is written to `directory` first, so that the next start after a crash can remove it.
    ///
    /// # Errors
    /// A tool's.
    pub fn start(layout: Layout, config: &Path, directory: &Path) -> Result<Engine, DatapathError> {
        let mut state = State::new(config.to_owned(), tools::ruleset()?);
        for interface in layout.interfaces() {
            note(&mut state, interface)?;
        }
        if layout.sends_batches() {
            state.hysteresis = HYSTERESIS.note();
        }
        state.save(directory)?;
        let made = Self::make(layout, state, directory);
        if made.is_err() {
            // The first error is the one to tell.
            let _ = Self::restore(directory);
        }
        made
    }

    fn make(layout: Layout, state: State, directory: &Path) -> Result<Engine, DatapathError> {
        let script = Script::create(&layout);
        tools::add_ifb(IFB)?;
        let apart = if layout.leaf.kind == LeafKind::Auto { FlowQueues::find() } else { None };
        tools::tc(&script.add)?;
        if layout.sends_batches() {
            HYSTERESIS.hold()?;
        }
        tools::nft(&script.nft)?;
        let mut engine = Engine {
            classes: Classes::new(link_named(IFB)?.index)?,
            watch: Watch::new()?,
            layout,
            leaving: BTreeMap::new(),
            leaving_pools: Vec::new(),
            stages: Stages::default(),
            limits: BTreeMap::new(),
            apart,
            flows: BTreeSet::new(),
            sent: BTreeMap::new(),
            waited: BTreeSet::new(),
            looks: 0,
            is_saved: true,
            state,
            directory: directory.to_owned(),
        };
        engine.refine_new(&BTreeMap::new())?;
        engine.note_rules()?;
        for direction in engine.layout.wan.rates.clone().into_keys() {
            engine.add_stage(direction)?;
        }
        for interface in &owned(&engine.layout) {
            engine.redirect(interface)?;
        }
        Ok(engine)
    }

    /// Sends what leaves `interface` to the IFB, through its stage of the Internet link where it has one.
    pub(super) fn redirect(&mut self, interface: &str) -> Result<(), DatapathError> {
        let link = link_named(interface)?;
        tools::add_clsact(interface)?;
        self.add_relay(interface)?;
        let uplinks = self.uplinks(&links()?);
        let names: Vec<_> = uplinks.iter().map(|(name, _)| name.as_str()).collect();
        tools::tc(&Script::redirect(&self.layout, interface, &names))?;
        self.stages.hooked.insert(interface.to_owned(), uplinks);
        self.watch.bound.insert(link.name, link.index);
        Ok(())
    }

    /// Keeps in mind what is on `interface` before it is redirected. The state is still to be saved.
    pub(super) fn adopt(&mut self, interface: &str) -> Result<(), DatapathError> {
        note(&mut self.state, interface)
    }

    /// What the kernel holds.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Brings the kernel to `layout`. No packet is lost or reordered, but for those of a class that gains a floor: classes that are no longer named stay until
    /// [`Self::sweep`] finds them empty. An interface that is missing is left to [`Self::repair`].
    ///
    /// # Errors
    /// A tool's, or the state file's; shaping is then as it was.
    pub fn change(&mut self, layout: Layout) -> Result<(), DatapathError> {
        // First: where the kernel lacks what it takes, or batches cannot be sent, nothing else may have changed. Later they are `repair`'s.
        self.try_leaves(&layout)?;
        if layout.sends_batches() && !self.layout.sends_batches() {
            self.begin_batches()?;
        }
        let script = Script::between(&self.layout, &layout);
        let links = links()?;
        let (old, new) = (owned(&self.layout), owned(&layout));
        let there = |name: &&String| links.iter().any(|link| link.name == **name);
        let added: Vec<_> = new.difference(&old).filter(there).collect();
        // First on disk: whoever comes after a crash must know what to take back.
        for interface in &added {
            // Shaped until now under another name.
            if self.watch.bound.values().any(|bound| links.iter().any(|l| l.name == **interface && l.index == *bound)) {
                self.leave(interface)?;
            }
            self.adopt(interface)?;
        }
        if !added.is_empty() {
            self.state.save(&self.directory)?;
        }
        let added_lines = tools::tc(&script.add).and_then(|()| self.change_stages(&layout));
        if let Err(error) = added_lines.and_then(|()| tools::nft(&script.nft)) {
            self.undo(&layout);
            return Err(error);
        }
        // What left a moment ago may be back.
        self.leaving.retain(|minor, _| !layout.leaves.contains_key(minor));
        self.leaving_pools.retain(|id| !layout.pools.contains_key(id));
        self.forget_limits(&layout);
        self.leaving.extend(script.remove.iter().map(|minor| (*minor, self.layout.leaves[minor].pool)));
        self.leaving_pools.extend(self.layout.pools.keys().filter(|id| !layout.pools.contains_key(id)));
        let before = std::mem::replace(&mut self.layout, layout);
        self.refine_new(&before.leaves)?;
        if !script.nft.is_empty() {
            self.note_rules()?;
        }
        self.hook_again(&before, &links)?;
        for interface in added {
            self.redirect(interface)?;
        }
        for interface in old.difference(&new).filter(there) {
            self.leave(interface)?;
        }
        self.end_batches()?;
        Ok(())
    }

    /// Makes HTB ready for batches.
    fn begin_batches(&mut self) -> Result<(), DatapathError> {
        HYSTERESIS.outlook()?;
        if self.state.hysteresis.is_none() {
            self.state.hysteresis = HYSTERESIS.note();
            self.state.save(&self.directory)?;
        }
        HYSTERESIS.hold()?;
        Ok(())
    }

    /// Puts back what batches changed, where there are none any more. What cannot be put back stays noted: the next change tries again, and
    /// `stop` tells it.
    fn end_batches(&mut self) -> Result<(), StateError> {
        let noted = self.state.hysteresis;
        if !self.layout.sends_batches() && noted.is_some() && HYSTERESIS.put_back(noted).is_ok() {
            self.state.hysteresis = None;
            self.state.save(&self.directory)?;
        }
        Ok(())
    }

    /// Takes back a change to `layout` that failed half-way. No packet has been sent to its new classes yet.
    fn undo(&mut self, layout: &Layout) {
        let back = Script::between(layout, &self.layout);
        let pools = layout.pools.keys().filter(|id| !self.layout.pools.contains_key(id));
        let lines = back.remove.iter().map(|minor| Script::remove_leaf(*minor));
        let lines: String = lines.chain(pools.map(|id| Script::remove_pool(*id))).collect();
        tools::tc_all(&(back.add + &lines));
        self.undo_stages(layout);
        // Queues that were made anew.
        self.forget_limits(layout);
        // The first error is the one to tell.
        let _ = self.end_batches();
    }

    pub(super) fn leave(&mut self, interface: &str) -> Result<(), DatapathError> {
        tools::remove_filters(interface)?;
        self.part(interface);
        let index = link_named(interface)?.index;
        let own = self.state.before.iter().find(|dump| dump.index == index).map(|dump| dump.interface.clone());
        if own.is_some_and(|own| self.state.clsact.contains(&own)) {
            tools::remove_clsact(interface)?;
        }
        self.state.before.retain(|dump| dump.index != index);
        self.watch.bound.retain(|_, bound| *bound != index);
        Ok(())
    }

    /// Gives pool `id` the capacity `rate`. If the kernel refuses, [`Self::repair`] tries again.
    ///
    /// # Errors
    /// Netlink's.
    pub fn set_capacity(&mut self, id: u16, rate: Bitrate) -> io::Result<()> {
        let quantum = self.layout.leaf.quantum;
        let Some(pool) = self.layout.pools.get_mut(&id) else { return Ok(()) };
        pool.rate = rate;
        self.classes.set_capacity(id, rate, pool_burst(pool, quantum))
    }

    /// Counters of all classes, by minor number.
    ///
    /// # Errors
    /// Netlink's; `into` is as it was.
    pub fn read(&mut self, into: &mut BTreeMap<u16, ClassStats>) -> io::Result<()> {
        self.classes.read(into)
    }

    /// Removes classes that nobody names and that are empty; answers their minor numbers.
    ///
    /// # Errors
    /// A tool's.
    pub fn sweep(&mut self, now: &BTreeMap<u16, ClassStats>) -> Result<Vec<u16>, DatapathError> {
        let empty = |minor: &u16| now.get(minor).is_none_or(|class| class.backlog == 0);
        let gone: Vec<_> = self.leaving.keys().copied().filter(empty).collect();
        let gone = self.sweep_stages(gone)?;
        // One that others removed cannot be removed again.
        let there = gone.iter().filter(|minor| now.contains_key(minor));
        let lines: String = there.map(|minor| Script::remove_leaf(*minor)).collect();
        tools::tc(&lines)?;
        for minor in &gone {
            self.leaving.remove(minor);
            self.flows.remove(minor);
        }
        let pools = std::mem::take(&mut self.leaving_pools);
        let (waiting, free) = pools.into_iter().partition(|id| self.leaving.values().any(|pool| pool == id));
        self.leaving_pools = waiting;
        let lines: String = free.into_iter().map(Script::remove_pool).collect();
        tools::tc(&lines)?;
        Ok(gone)
    }

    /// Writes the state file anew: somebody has removed it.
    ///
    /// # Errors
    /// The system's.
    pub fn save_state(&self) -> Result<(), StateError> {
        self.state.save(&self.directory)
    }

    /// Takes back everything.
    ///
    /// # Errors
    /// A tool's.
    pub fn stop(self) -> Result<Restored, DatapathError> {
        Self::take_back(&self.state, &self.directory)
    }

    /// Takes back what the state file in `directory` says was added, and compares with what was there before. Where the
    /// file is missing or damaged, what the kernel holds by our names is removed.
    ///
    /// # Errors
    /// A tool's; the state file then stays for another try.
    pub fn restore(directory: &Path) -> Result<Restored, DatapathError> {
        match State::recover(directory)? {
            Ok(state) => Self::take_back(&state, directory),
            Err(why) => Self::take_back_by_name(&why),
        }
    }

    /// Removes what goes by our names. `why` says why nothing else is known.
    fn take_back_by_name(why: &Lost) -> Result<Restored, DatapathError> {
        let redirected = tools::redirected()?;
        for interface in &redirected {
            tools::remove_filters(interface)?;
        }
        tools::remove_table()?;
        remove_devices(&links()?)?;
        // An empty one is most likely ours.
        for interface in &redirected {
            tools::remove_clsact(interface)?;
        }
        let unknown = "everything with FairAir's names is removed; nothing is known of what else was there before";
        let mut differences = vec![why.to_string(), unknown.to_owned()];
        if HYSTERESIS.note() > Some(0) {
            differences.push(format!(
                "{PARAMETER} is set, perhaps for batches: write 0 into it unless something else needs it"
            ));
        }
        Ok(Restored { differences })
    }

    fn take_back(state: &State, directory: &Path) -> Result<Restored, DatapathError> {
        let mut restored = Restored::default();
        let links = links()?;
        // First the filters: from then on packets pass as before. Then what is in the IFB has a moment to leave.
        for before in &state.before {
            if let Some(link) = now(before, &links) {
                tools::remove_filters(&link.name)?;
            }
        }
        tools::remove_table()?;
        remove_devices(&links)?;
        if let Err(error) = HYSTERESIS.put_back(state.hysteresis) {
            restored.differences.push(error.to_string());
        }
        for before in &state.before {
            let interface = &before.interface;
            let Some(link) = now(before, &links) else {
                restored.differences.push(format!("{interface} is gone, or another device"));
                continue;
            };
            if state.clsact.contains(interface) && !tools::remove_clsact(&link.name)? {
                restored.differences.push(format!("{interface} has filters of others in our clsact qdisc; it stays"));
            }
            if link.name != *interface {
                restored.differences.push(format!("{interface} is called {} now", link.name));
            } else if tools::dump(interface)? != *before {
                restored.differences.push(format!("qdiscs or filters of {interface} were changed meanwhile"));
            }
        }
        if tools::ruleset()? != state.ruleset {
            restored.differences.push("nftables rules were changed meanwhile".to_owned());
        }
        State::remove(directory)?;
        Ok(restored)
    }

    /// Whether anything of ours is in the kernel.
    ///
    /// # Errors
    /// A tool's.
    pub fn is_present() -> Result<bool, DatapathError> {
        Ok(links()?.iter().any(|link| is_ours(&link.name))
            || tools::table("inet", &[])?.is_some()
            || tools::table("bridge", &[])?.is_some())
    }

    /// Whether an earlier run left anything to take back: its datapath, or a state file in `directory` of one that was killed while it
    /// began or ended.
    ///
    /// # Errors
    /// A tool's.
    pub fn has_left(directory: &Path) -> Result<bool, DatapathError> {
        Ok(State::load(directory).ok().flatten().is_some_and(|state| state.is_here()) || Self::is_present()?)
    }
}

/// Adds what is on `interface` to the state.
fn note(state: &mut State, interface: &str) -> Result<(), DatapathError> {
    state.before.retain(|dump| dump.interface != interface);
    state.clsact.retain(|own| own != interface);
    state.before.push(tools::dump(interface)?);
    if !tools::has_clsact(interface)? {
        state.clsact.push(interface.to_owned());
    }
    Ok(())
}

/// The device that `before` is about, by its number if that is known.
fn now<'a>(before: &Dump, links: &'a [Link]) -> Option<&'a Link> {
    let same =
        |link: &&Link| if before.index == 0 { link.name == before.interface } else { link.index == before.index };
    links.iter().find(same)
}

pub(super) fn owned(layout: &Layout) -> BTreeSet<String> {
    layout.interfaces().into_iter().map(str::to_owned).collect()
}

/// Removes our devices, after what waits in them had a moment to leave.
fn remove_devices(links: &[Link]) -> Result<(), DatapathError> {
    let mut devices: Vec<_> = links.iter().map(|link| link.name.as_str()).filter(|name| is_ours(name)).collect();
    // Stages first: what leaves them may wait in a pool.
    devices.sort_by_key(|name| *name == IFB);
    for device in &devices {
        drain(device);
    }
    devices.iter().try_for_each(|device| tools::remove_ifb(device))
}

/// Waits until the IFB `device` is empty, for at most two seconds.
fn drain(device: &str) {
    let Ok(link) = link_named(device) else { return };
    let Ok(mut classes) = Classes::new(link.index) else { return };
    let mut now = BTreeMap::new();
    for _ in 0..40 {
        if classes.read(&mut now).is_err() || now.values().all(|class| class.backlog == 0) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
