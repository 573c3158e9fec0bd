//! The stages of the Internet link while they are up: their devices, the relays to them, and the filters that lead there.

use std::collections::BTreeMap;
use std::io;

use fairair_core::packet::Direction;
use fairair_core::shaper::QueueRule;
use fairair_core::shaper::limit::is_news;
use fairair_core::units::Bytes;

use super::classes::{ClassStats, Classes};
use super::engine::Engine;
use super::layout::Layout;
use super::leaf::small_first_handle;
use super::links::{Link, link_named};
use super::repair::Health;
use super::script::Script;
use super::tools::{self, DatapathError};
use super::wan::{self, LINK, PREFIXES, RELAY_PREFERENCE, relay, stage};
use super::watch::EGRESS;
use super::{IFB, TRIAL};
use crate::enforce::config::LeafKind;

/// Sweeps (one a second) until a device that nothing is sent to any more is empty for certain: longer than its queue.
const SWEEPS: u8 = 5;
/// Qdisc 1: of a relay.
const ROOT: u32 = 1 << 16;

/// What of the stages is in the kernel.
#[derive(Debug, Default)]
pub(super) struct Stages {
    classes: BTreeMap<Direction, Classes>,
    /// Number of the relay of each interface.
    relays: BTreeMap<String, u32>,
    /// The uplinks, with their numbers, that the filters of an interface were made for.
    pub(super) hooked: BTreeMap<String, Vec<(String, u32)>>,
    /// Limits of queues that were set since the leaves were made.
    limits: BTreeMap<(Direction, u16), Bytes>,
    /// Devices that nothing is sent to any more, and the sweeps until they go.
    leaving: Vec<(String, u8)>,
}

/// Whether a device of that name was made by us.
pub(super) fn is_ours(name: &str) -> bool {
    name == IFB || name == TRIAL || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

impl Engine {
    /// Counters of the stages' classes: none of one that is gone.
    ///
    /// # Errors
    /// Netlink's.
    pub fn read_stages(&mut self) -> io::Result<BTreeMap<Direction, BTreeMap<u16, ClassStats>>> {
        let mut all = BTreeMap::new();
        for (direction, classes) in &mut self.stages.classes {
            classes.read(all.entry(*direction).or_default())?;
        }
        Ok(all)
    }

    /// Makes the stage of `direction`, on a new device.
    pub(super) fn add_stage(&mut self, direction: Direction) -> Result<(), DatapathError> {
        self.fill_stage(&self.layout.clone(), direction)
    }

    fn fill_stage(&mut self, layout: &Layout, direction: Direction) -> Result<(), DatapathError> {
        let device = stage(direction);
        self.drop_device(device)?;
        self.stages.limits.clear();
        tools::add_ifb(device)?;
        tools::tc(&wan::create(layout, direction))?;
        self.stages.classes.insert(direction, Classes::new(link_named(device)?.index)?);
        Ok(())
    }

    /// Removes a device of ours now, whatever waits there.
    fn drop_device(&mut self, device: &str) -> Result<(), DatapathError> {
        self.stages.leaving.retain(|(name, _)| name != device);
        tools::remove_ifb(device)
    }

    /// Makes the relay of `interface`, if it has a stage.
    pub(super) fn add_relay(&mut self, interface: &str) -> Result<(), DatapathError> {
        let Some(direction) = self.layout.staged(interface) else { return Ok(()) };
        let device = relay(interface);
        self.drop_device(&device)?;
        tools::add_ifb(&device)?;
        tools::tc(&wan::relay_lines(interface, direction))?;
        self.stages.relays.insert(interface.to_owned(), link_named(&device)?.index);
        Ok(())
    }

    /// The uplinks that are there, with their numbers.
    pub(super) fn uplinks(&self, links: &[Link]) -> Vec<(String, u32)> {
        let there = links.iter().filter(|link| self.layout.uplinks.contains(&link.name));
        there.map(|link| (link.name.clone(), link.index)).collect()
    }

    /// Lets at most `limit` of leaf `minor` wait for a direction of the link; nothing is done for a change that is too small to
    /// matter.
    ///
    /// # Errors
    /// Netlink's, other than that the queue is gone: [`Engine::repair`] sees to that.
    pub fn set_stage_limit(&mut self, direction: Direction, minor: u16, limit: Bytes) -> io::Result<()> {
        let leaf = self.layout.leaf;
        let before = self.stages.limits.get(&(direction, minor)).copied();
        let is_told = leaf.queue != QueueRule::Auto || leaf.kind == LeafKind::FqCodel;
        if is_told || !before.is_none_or(|before| is_news(before, limit)) {
            return Ok(());
        }
        let Some(classes) = self.stages.classes.get_mut(&direction) else { return Ok(()) };
        let options = u32::try_from(limit.0).unwrap_or(u32::MAX).to_ne_bytes();
        if classes.change_queues([1, 2].map(|class| (small_first_handle(minor), class)), "bfifo", &options)? {
            self.stages.limits.insert((direction, minor), limit);
        }
        Ok(())
    }

    /// Brings the classes of the stages to `layout`, before anything is sent to those that are new.
    pub(super) fn change_stages(&mut self, layout: &Layout) -> Result<(), DatapathError> {
        let there = self.read_stages()?;
        self.stages.limits.clear();
        for direction in layout.wan.rates.keys() {
            if self.layout.wan.rates.contains_key(direction) {
                // One that is leaving and comes back, or is left from a change that failed.
                let known = |minor: &&u16| !self.layout.wan.quanta.contains_key(minor);
                let old = there.get(direction).into_iter().flat_map(BTreeMap::keys).filter(known);
                let old = old.filter(|minor| layout.wan.quanta.contains_key(minor));
                let removed: String = old.map(|minor| Script::remove_leaf_of(stage(*direction), *minor)).collect();
                tools::tc(&(removed + &wan::between(&self.layout, layout, *direction)))?;
            } else {
                self.fill_stage(layout, *direction)?;
            }
        }
        Ok(())
    }

    /// Takes back [`Self::change_stages`]. Classes that were added stay, without packets, until the layout has them.
    pub(super) fn undo_stages(&mut self, layout: &Layout) {
        for direction in layout.wan.rates.keys() {
            if self.layout.wan.rates.contains_key(direction) {
                tools::tc_all(&wan::between(layout, &self.layout, *direction));
            } else {
                self.stages.classes.remove(direction);
                // What cannot be removed now is removed by `stop`.
                let _ = self.drop_device(stage(*direction));
            }
        }
    }

    /// Leads interfaces that stay through the stages that they have now. Stages that nobody uses any more go when they
    /// are empty.
    pub(super) fn hook_again(&mut self, before: &Layout, links: &[Link]) -> Result<(), DatapathError> {
        let mut bound: Vec<_> = self.watch.bound.keys().cloned().collect();
        bound.retain(|name| self.layout.interfaces().contains(name.as_str()));
        for interface in &bound {
            let uplinks = self.uplinks(links);
            let names: Vec<_> = uplinks.iter().map(|(name, _)| name.as_str()).collect();
            let hooks = wan::hooks(&self.layout, interface, &names);
            if hooks != wan::hooks(before, interface, &names) || before.uplinks != self.layout.uplinks {
                self.hook(interface, &hooks, uplinks)?;
            }
        }
        let gone = self.stages.relays.keys().filter(|name| !self.layout.interfaces().contains(name.as_str()));
        for interface in gone.cloned().collect::<Vec<_>>() {
            self.part(&interface);
        }
        for direction in before.wan.rates.keys().filter(|direction| !self.layout.wan.rates.contains_key(direction)) {
            self.stages.classes.remove(direction);
            self.stages.leaving.push((stage(*direction).to_owned(), SWEEPS));
        }
        Ok(())
    }

    /// Gives `interface` these filters to its stage. In between its packets go on to their pools.
    fn hook(&mut self, interface: &str, hooks: &str, uplinks: Vec<(String, u32)>) -> Result<(), DatapathError> {
        tools::remove_hooks(interface);
        if hooks.is_empty() {
            self.part(interface);
        } else if !self.stages.relays.contains_key(interface) {
            self.add_relay(interface)?;
        }
        tools::tc(hooks)?;
        self.stages.hooked.insert(interface.to_owned(), uplinks);
        Ok(())
    }

    /// The relay of `interface` goes when what waits in its stage has passed.
    pub(super) fn part(&mut self, interface: &str) {
        self.stages.hooked.remove(interface);
        if self.stages.relays.remove(interface).is_some() {
            self.stages.leaving.push((relay(interface), SWEEPS));
        }
    }

    /// Removes devices whose time has come, and of `leaves` those that are empty in the stages, too; answers these.
    pub(super) fn sweep_stages(&mut self, mut leaves: Vec<u16>) -> Result<Vec<u16>, DatapathError> {
        for (_, sweeps) in &mut self.stages.leaving {
            *sweeps = sweeps.saturating_sub(1);
        }
        let due: Vec<_> = self.stages.leaving.iter().filter(|(_, sweeps)| *sweeps == 0).cloned().collect();
        for (device, _) in due {
            self.drop_device(&device)?;
        }
        if leaves.is_empty() {
            return Ok(leaves);
        }
        let now = self.read_stages()?;
        leaves.retain(|minor| now.values().all(|stage| stage.get(minor).is_none_or(|class| class.backlog == 0)));
        for (direction, classes) in &now {
            let there = leaves.iter().filter(|minor| classes.contains_key(minor));
            tools::tc(&there.map(|minor| Script::remove_leaf_of(stage(*direction), *minor)).collect::<String>())?;
        }
        Ok(leaves)
    }

    /// Whether `interface` has all filters of ours, made for the uplinks that are there.
    pub(super) fn is_redirected(&mut self, interface: &Link, links: &[Link]) -> Result<bool, DatapathError> {
        let uplinks = self.uplinks(links);
        let names: Vec<_> = uplinks.iter().map(|(name, _)| name.as_str()).collect();
        let commands = Script::redirect(&self.layout, &interface.name, &names);
        let there = self.watch.filters(interface.index, EGRESS)?;
        let is_there = |line: &str| {
            let preference = line.split(" pref ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
            preference.is_some_and(|preference: u16| there.contains(&preference))
        };
        let is_current = self.layout.staged(&interface.name).is_none()
            || self.stages.hooked.get(&interface.name).is_some_and(|then| *then == uplinks);
        Ok(is_current && commands.lines().all(is_there))
    }

    /// Brings back what others took of the stages.
    pub(super) fn repair_stages(&mut self, links: &[Link], health: &mut Health) -> Result<(), DatapathError> {
        let named = |name: &str| links.iter().find(|link| link.name == name);
        for direction in self.layout.wan.rates.clone().into_keys() {
            let device = stage(direction);
            let own = self.stages.classes.get(&direction).map(|classes| classes.interface);
            let Some(found) = named(device).filter(|link| Some(link.index) == own) else {
                self.add_stage(direction)?;
                // Relays that lead to the device that is gone drop everything.
                self.stages.relays.retain(|interface, _| self.layout.staged(interface) != Some(direction));
                health.mended.push(format!("{device} was gone: made anew"));
                continue;
            };
            health.raise(found)?;
            let mut counters = BTreeMap::new();
            if let Some(classes) = self.stages.classes.get_mut(&direction) {
                classes.read(&mut counters)?;
            }
            if !counters.contains_key(&LINK) {
                self.stages.limits.clear();
                tools::clear_ifb(device)?;
                tools::tc(&wan::create(&self.layout, direction))?;
                health.mended.push(format!("the classes of {device} were gone: made anew"));
                continue;
            }
            let (commands, missing) = wan::missing(&self.layout, direction, |minor| counters.contains_key(&minor));
            if missing > 0 {
                self.stages.limits.clear();
                tools::tc(&commands)?;
                health.mended.push(format!("{missing} classes of {device} were gone: made anew"));
            }
        }
        let bound: Vec<_> = self.watch.bound.clone().into_iter().collect();
        for (interface, index) in bound {
            let is_there = named(&interface).is_some_and(|link| link.index == index);
            if !is_there || self.layout.staged(&interface).is_none() {
                continue;
            }
            let device = relay(&interface);
            let own = self.stages.relays.get(&interface).copied();
            match named(&device) {
                Some(link) if Some(link.index) == own && self.relays(link.index)? => health.raise(link)?,
                _ => {
                    tools::remove_filters(&interface)?;
                    self.redirect(&interface)?;
                    health.mended.push(format!("{device} was changed by others: made anew"));
                }
            }
        }
        Ok(())
    }

    /// Whether the relay with number `index` has both of its filters.
    fn relays(&mut self, index: u32) -> io::Result<bool> {
        let mut has = |parent| Ok::<_, io::Error>(self.watch.filters(index, parent)?.contains(&RELAY_PREFERENCE));
        Ok(has(EGRESS)? && has(ROOT)?)
    }
}
