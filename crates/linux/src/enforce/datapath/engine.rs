//! Brings the kernel from one layout to the next, and back to what was there before.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fairair_core::units::Bitrate;

use super::IFB;
use super::classes::{ClassStats, Classes};
use super::layout::{Layout, Pool};
use super::links::link_named;
use super::script::Script;
use super::tools::{DatapathError, Dump, Tools};
use crate::enforce::state::State;

/// The datapath while it is up.
#[derive(Debug)]
pub struct Engine {
    tools: Tools,
    classes: Classes,
    layout: Layout,
    /// Leaves that nobody names any more, until they are empty, and pools to go with the last of them.
    leaving: BTreeMap<u16, u16>,
    leaving_pools: Vec<u16>,
    state: State,
    directory: PathBuf,
}

/// What differs from the time before, when all that was added is gone again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// One line each.
    pub differences: Vec<String>,
}

impl Engine {
    /// Adds everything to a kernel that has nothing of ours; a failure takes back what was done.
    ///
    /// What is about to be added is written to `directory` first, so that whoever comes after a crash can take it back.
    ///
    /// # Errors
    /// A tool's.
    pub fn start(layout: Layout, config: &Path, directory: &Path) -> Result<Engine, DatapathError> {
        let tools = Tools;
        let before = layout.interfaces().into_iter().map(|interface| tools.dump(interface));
        let mut state = State::new(config.to_owned(), before.collect::<Result<_, _>>()?, tools.ruleset()?);
        for interface in layout.interfaces() {
            if !tools.has_clsact(interface)? {
                state.clsact.push(interface.to_owned());
            }
        }
        state.save(directory)?;
        let made = Self::make(tools, &layout);
        match made {
            Ok(classes) => Ok(Engine {
                tools,
                classes,
                layout,
                leaving: BTreeMap::new(),
                leaving_pools: Vec::new(),
                state,
                directory: directory.to_owned(),
            }),
            Err(error) => {
                // The first error is the one to tell.
                let _ = Self::restore(directory);
                Err(error)
            }
        }
    }

    fn make(tools: Tools, layout: &Layout) -> Result<Classes, DatapathError> {
        let script = Script::create(layout);
        tools.add_ifb()?;
        tools.tc(&script.add)?;
        tools.nft(&script.nft)?;
        for interface in layout.interfaces() {
            tools.add_clsact(interface)?;
            tools.tc(&Script::redirect(interface))?;
        }
        Ok(Classes::new(index(IFB)?)?)
    }

    /// What the kernel holds.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Brings the kernel to `layout`. Nothing is lost and nobody overtaken: classes that are no longer named stay until
    /// [`Self::sweep`] finds them empty.
    ///
    /// # Errors
    /// A tool's; classes may then be half changed, addresses not at all.
    pub fn change(&mut self, layout: Layout) -> Result<(), DatapathError> {
        let script = Script::between(&self.layout, &layout);
        let (old, new) = (self.layout.interfaces(), layout.interfaces());
        self.tools.tc(&script.add)?;
        for interface in new.difference(&old) {
            self.state.before.push(self.tools.dump(interface)?);
            if !self.tools.has_clsact(interface)? {
                self.state.clsact.push((*interface).to_owned());
            }
        }
        if new != old {
            self.state.save(&self.directory)?;
        }
        self.tools.nft(&script.nft)?;
        for interface in new.difference(&old) {
            self.tools.add_clsact(interface)?;
            self.tools.tc(&Script::redirect(interface))?;
        }
        for interface in old.difference(&new) {
            self.leave(interface)?;
        }
        self.leaving.extend(script.remove.iter().map(|minor| (*minor, self.layout.leaves[minor].pool)));
        self.leaving_pools.extend(self.layout.pools.keys().filter(|id| !layout.pools.contains_key(id)));
        self.layout = layout;
        Ok(())
    }

    fn leave(&self, interface: &str) -> Result<(), DatapathError> {
        self.tools.remove_filters(interface)?;
        if self.state.clsact.iter().any(|own| own == interface) {
            self.tools.remove_clsact(interface)?;
        }
        Ok(())
    }

    /// Gives pool `id` the capacity `rate`.
    ///
    /// # Errors
    /// Netlink's.
    pub fn set_capacity(&mut self, id: u16, rate: Bitrate) -> io::Result<()> {
        self.classes.set_capacity(id, rate)?;
        if let Some(Pool { rate: own, .. }) = self.layout.pools.get_mut(&id) {
            *own = rate;
        }
        Ok(())
    }

    /// Counters of all classes, by minor number.
    ///
    /// # Errors
    /// Netlink's.
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
        let lines: String = gone.iter().map(|minor| Script::remove_leaf(*minor)).collect();
        self.tools.tc(&lines)?;
        for minor in &gone {
            self.leaving.remove(minor);
        }
        let pools = std::mem::take(&mut self.leaving_pools);
        let (waiting, free) = pools.into_iter().partition(|id| self.leaving.values().any(|pool| pool == id));
        self.leaving_pools = waiting;
        let lines: String = free.into_iter().map(Script::remove_pool).collect();
        self.tools.tc(&lines)?;
        Ok(gone)
    }

    /// Takes back everything.
    ///
    /// # Errors
    /// A tool's.
    pub fn stop(self) -> Result<Restored, DatapathError> {
        Self::restore(&self.directory)
    }

    /// Takes back what the state file in `directory` says was added, and compares with what was there before. Without
    /// a file what goes by our names is removed all the same.
    ///
    /// # Errors
    /// A tool's; the state file then stays for another try.
    pub fn restore(directory: &Path) -> Result<Restored, DatapathError> {
        let tools = Tools;
        let state = State::load(directory)?;
        let mut restored = Restored::default();
        // First the filters: from then on packets pass as before. Then what is in the IFB has a moment to leave.
        for Dump { interface, .. } in state.iter().flat_map(|state| &state.before) {
            if index(interface).is_ok() {
                tools.remove_filters(interface)?;
            }
        }
        tools.remove_table()?;
        drain();
        tools.remove_ifb()?;
        let Some(state) = state else { return Ok(restored) };
        for before in &state.before {
            let interface = &before.interface;
            if index(interface).is_err() {
                restored.differences.push(format!("{interface} is gone"));
                continue;
            }
            if state.clsact.contains(interface) && !tools.remove_clsact(interface)? {
                restored.differences.push(format!("{interface} has filters of others in our clsact qdisc; it stays"));
            }
            if tools.dump(interface)? != *before {
                restored.differences.push(format!("qdiscs or filters of {interface} were changed meanwhile"));
            }
        }
        if tools.ruleset()? != state.ruleset {
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
        let tools = Tools;
        Ok(index(IFB).is_ok() || tools.table("inet")?.is_some() || tools.table("bridge")?.is_some())
    }
}

/// Waits until the IFB is empty, for at most two seconds.
fn drain() {
    let Ok(index) = index(IFB) else { return };
    let Ok(mut classes) = Classes::new(index) else { return };
    let mut now = BTreeMap::new();
    for _ in 0..40 {
        if classes.read(&mut now).is_err() || now.values().all(|class| class.backlog == 0) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

fn index(interface: &str) -> io::Result<u32> {
    link_named(interface).map(|link| link.index)
}
