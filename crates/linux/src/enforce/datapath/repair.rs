//! Brings back what others took away, as far as it can be: a firewall that flushes all rules, a device that was made
//! anew, a qdisc that somebody deleted.

use std::collections::BTreeMap;

use fairair_core::units::plural;

use super::classes::{ClassStats, Classes};
use super::engine::{Engine, owned};
use super::hysteresis::{HYSTERESIS, PARAMETER};
use super::layout::{Key, Layout, family};
use super::links::Link;
use super::netfilter::Netfilter;
use super::script::Script;
use super::tools::{self, DatapathError};
use super::{IFB, pool_minor};

/// What a look at the kernel found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// What was missing and is back.
    pub mended: Vec<String>,
    /// Devices that were made anew and are shaped now.
    pub adopted: Vec<String>,
    /// Classes and queues that others had given other parameters: put right.
    pub retuned: Vec<String>,
    /// What only the operator can mend.
    pub troubles: Vec<String>,
    /// Interfaces that have another name now: the rules do not count what passes there.
    pub uncounted: Vec<String>,
}

impl Health {
    /// Sets a device of ours up if it is down.
    pub(super) fn raise(&mut self, device: &Link) -> Result<(), DatapathError> {
        if !device.is_up {
            tools::raise_ifb(&device.name)?;
            self.mended.push(format!("{} was down", device.name));
        }
        Ok(())
    }
}

/// Our rules without counters and without what the sets hold; `None`: there are none.
fn rules(layout: &Layout) -> Result<Option<String>, DatapathError> {
    tools::table(family(layout.mode), &["-s", "-t"])
}

impl Engine {
    /// Looks whether the kernel still holds what it was given, and gives it anew what is missing. `counters` must have
    /// been read after the last change of the layout.
    ///
    /// # Errors
    /// A tool's or netlink's; the next call tries again.
    pub fn repair(&mut self, links: &[Link], counters: &BTreeMap<u16, ClassStats>) -> Result<Health, DatapathError> {
        let mut health = Health::default();
        self.repair_ifb(links, counters, &mut health)?;
        self.repair_rules(&mut health)?;
        self.repair_hysteresis(&mut health);
        self.repair_stages(links, &mut health)?;
        self.repair_interfaces(links, &mut health)?;
        Ok(health)
    }

    fn repair_hysteresis(&mut self, health: &mut Health) {
        if !self.layout.sends_batches() {
            return;
        }
        match HYSTERESIS.hold() {
            Ok(false) => {}
            Ok(true) => {
                // Such as another box of this machine that has ended: what this one leaves is what they want.
                self.state.hysteresis = Some(0);
                if let Err(error) = self.save_state() {
                    health.troubles.push(error.to_string());
                }
                health.retuned.push(format!("{PARAMETER} was put back to 0 by others: set again for batches"));
            }
            // The box shapes on, a packet at a time.
            Err(error) => health.troubles.push(error.to_string()),
        }
    }

    fn repair_ifb(
        &mut self,
        links: &[Link],
        counters: &BTreeMap<u16, ClassStats>,
        health: &mut Health,
    ) -> Result<(), DatapathError> {
        let named = links.iter().find(|link| link.name == IFB);
        let Some(device) = named.filter(|link| link.index == self.classes.interface) else {
            if named.is_none() {
                tools::add_ifb(IFB)?;
            }
            self.fill_ifb()?;
            self.classes = Classes::new(super::links::link_named(IFB)?.index)?;
            // Filters that lead to the device that is gone drop everything.
            let old: Vec<_> = self.watch.bound.keys().cloned().collect();
            for interface in old.iter().filter(|name| links.iter().any(|link| link.name == **name)) {
                tools::remove_filters(interface)?;
            }
            health.mended.push(format!("{IFB} was gone: made anew"));
            return Ok(());
        };
        health.raise(device)?;
        if self.layout.pools.keys().all(|id| !counters.contains_key(&pool_minor(*id))) {
            tools::clear_ifb(IFB)?;
            self.fill_ifb()?;
            health.mended.push(format!("the classes of {IFB} were gone: made anew"));
            return Ok(());
        }
        self.limits.retain(|minor, _| counters.contains_key(minor));
        self.flows.retain(|minor| counters.contains_key(minor));
        let (commands, missing) = Script::missing(&self.layout, |minor| counters.contains_key(&minor));
        if missing > 0 {
            tools::tc(&commands)?;
            health.mended.push(format!("{} gone: made anew", plural(missing, "class")));
        }
        let (commands, changed) =
            Script::retune(&self.layout, |minor| counters.get(&minor).map(|class| class.parameters));
        if changed > 0 {
            tools::tc(&commands)?;
            health.retuned.push(format!("the parameters of {changed} classes were changed by others: put right"));
        }
        self.repair_queues(health)
    }

    fn fill_ifb(&mut self) -> Result<(), DatapathError> {
        self.limits.clear();
        self.flows.clear();
        tools::tc(&Script::create(&self.layout).add)
    }

    fn repair_rules(&mut self, health: &mut Health) -> Result<(), DatapathError> {
        let generation = self.watch.generation()?;
        if self.watch.generation == Some(generation) {
            return Ok(());
        }
        let is_whole = rules(&self.layout)?.is_some_and(|rules| rules == self.watch.rules)
            && self.has_all_members().unwrap_or(false);
        if is_whole {
            self.watch.generation = Some(generation);
            return Ok(());
        }
        tools::nft(&Script::create(&self.layout).nft)?;
        self.note_rules()?;
        health.mended.push("the nftables table was changed by others: made anew".to_owned());
        Ok(())
    }

    /// Whether the maps of the table know all addresses that they should.
    fn has_all_members(&self) -> std::io::Result<bool> {
        let known = Netfilter::new(self.layout.mode)?.members()?;
        Ok(known.len() == self.layout.members.len()
            && known.iter().all(|key: &Key| self.layout.members.contains_key(key)))
    }

    /// Keeps in mind how our rules look now, just after they were written. If others took them away in between, the next
    /// look is to find that.
    pub(super) fn note_rules(&mut self) -> Result<(), DatapathError> {
        self.watch.generation = None;
        let generation = self.watch.generation()?;
        let rules = rules(&self.layout)?;
        if rules.is_some() && self.has_all_members().unwrap_or(false) {
            self.watch.generation = Some(generation);
        }
        self.watch.rules = rules.unwrap_or_default();
        Ok(())
    }

    fn repair_interfaces(&mut self, links: &[Link], health: &mut Health) -> Result<(), DatapathError> {
        for name in &owned(&self.layout) {
            let bound = self.watch.bound.get(name).copied();
            let Some(link) = links.iter().find(|link| link.name == *name) else {
                let renamed = links.iter().find(|link| Some(link.index) == bound);
                health.uncounted.extend(renamed.map(|_| name.clone()));
                health.troubles.push(match renamed {
                    Some(link) => format!(
                        "{name} is called {} now and is not shaped: rename it back, or write the new name and reload",
                        link.name
                    ),
                    None => format!("{name} is gone; it is shaped again when there is one of that name"),
                });
                continue;
            };
            if !link.is_up {
                health.troubles.push(format!("{name} is down"));
            }
            if bound == Some(link.index) {
                if !self.is_redirected(link, links)? {
                    tools::remove_filters(name)?;
                    self.redirect(name)?;
                    health.mended.push(format!("filters of {name} were gone: made anew"));
                }
                continue;
            }
            // Another device has the name now; the one that had it is not ours to shape any more.
            if let Some(other) = links.iter().find(|link| Some(link.index) == bound) {
                self.leave(&other.name.clone())?;
            }
            self.adopt(name)?;
            self.is_saved = false;
            self.save_late(health);
            self.redirect(name)?;
            health.adopted.push(format!("{name} is another device than before: it is shaped now"));
        }
        if health.adopted.is_empty() {
            self.save_late(health);
        }
        Ok(())
    }

    /// Writes the state file if it lacks something. Where that fails the device is shaped all the same: the file names it already, and
    /// only what the new one held before is missing.
    fn save_late(&mut self, health: &mut Health) {
        if self.is_saved {
            return;
        }
        match self.state.save(&self.directory) {
            Ok(()) => self.is_saved = true,
            Err(error) => health.troubles.push(format!("what is to be taken back cannot be written: {error}")),
        }
    }
}
