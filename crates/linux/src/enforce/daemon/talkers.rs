//! What passed of each station where classes are not by station: the machines that set C ask those that have traffic.

use std::collections::BTreeMap;

use super::Daemon;
use super::troubles::Trouble;
use crate::enforce::config::Mode;
use crate::enforce::datapath::{ClassStats, Key, leaf_minor, pool_minor};

/// Bytes by station, in proportion to what came for it and from it.
#[derive(Debug, Default)]
pub(super) struct Talkers {
    /// What was counted of each address.
    counted: BTreeMap<Key, u64>,
    /// What the class of each pool had sent.
    carried: BTreeMap<u16, u64>,
    /// What has passed of each station, by the minor number that its class would have.
    passed: BTreeMap<u16, u64>,
}

impl Talkers {
    /// A look at `counted`: whose address it is, `owner` knows (pool, minor number), and what the class of a pool has sent, `carried`.
    /// Packets are counted where they arrive, so what a pool has sent is divided in proportion.
    fn look(
        &mut self,
        counted: &[(Key, u64)],
        owner: impl Fn(&Key) -> Option<(u16, u16)>,
        carried: impl Fn(u16) -> u64,
    ) -> &BTreeMap<u16, u64> {
        let before = std::mem::take(&mut self.counted);
        let mut arrived: BTreeMap<u16, Vec<(u16, u64)>> = BTreeMap::new();
        for (key, bytes) in counted {
            self.counted.insert(*key, *bytes);
            // An address that was silent for a while counts from zero.
            let last = before.get(key).copied().filter(|last| last <= bytes).unwrap_or(0);
            if let Some((pool, minor)) = owner(key) {
                arrived.entry(pool).or_default().push((minor, bytes - last));
            }
        }
        for (pool, arrived) in arrived {
            let all: u64 = arrived.iter().map(|(_, bytes)| bytes).sum();
            let now = carried(pool);
            let last = self.carried.insert(pool, now).filter(|last| *last <= now).unwrap_or(now);
            for (minor, bytes) in arrived.into_iter().filter(|(_, bytes)| *bytes > 0) {
                *self.passed.entry(minor).or_default() += (bytes as f64 / all as f64 * (now - last) as f64) as u64;
            }
        }
        &self.passed
    }
}

impl Daemon {
    /// Adds to the counters of classes what passed of each station that has none of its own. `None`: it cannot be read.
    pub(super) fn count_talkers(&mut self) -> Option<()> {
        if self.site.config().policy.is_by_station() {
            return Some(());
        }
        let talkers = self.netfilter.talkers();
        let talkers = self
            .troubles
            .watch(Trouble::Arrivals, talkers.map_err(|error| format!("cannot read nftables sets: {error}")))?;
        let mut owners = BTreeMap::new();
        for station in self.site.stations() {
            let own = (station.pool, leaf_minor(station.slot));
            match self.site.config().mode {
                Mode::Routed => owners.extend(station.addresses.iter().map(|address| (Key::Ip(*address), own))),
                Mode::Bridged => owners.extend(station.mac.map(|mac| (Key::Mac(mac), own))),
            }
        }
        let classes = &mut self.counts.classes;
        let carried = |pool| classes.get(&pool_minor(pool)).map_or(0, |class| class.bytes);
        let passed = self.counts.talkers.look(&talkers, |key| owners.get(key).copied(), carried);
        let own = owners.values().map(|(_, minor)| *minor);
        let own: Vec<_> = own.map(|minor| (minor, passed.get(&minor).copied().unwrap_or(0))).collect();
        classes.extend(own.into_iter().map(|(minor, bytes)| (minor, ClassStats { bytes, ..ClassStats::default() })));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(host: u8) -> Key {
        Key::Ip([10, 1, 0, host].into())
    }

    #[test]
    fn what_a_pool_sent_is_divided_as_it_arrived() {
        let mut talkers = Talkers::default();
        let owner = |own: &Key| (*own != key(9)).then_some((0, if *own == key(1) { 16 } else { 17 }));
        talkers.look(&[(key(1), 500), (key(2), 500)], owner, |_| 10_000);
        // Twice as much came for the first, half of all that was dropped; nobody knows the third.
        let passed = talkers.look(&[(key(1), 4500), (key(2), 2500), (key(9), 7000)], owner, |_| 13_000).clone();
        assert_eq!(passed, BTreeMap::from([(16, 2000), (17, 1000)]));
        // The second was silent, is forgotten by the kernel, and is back.
        talkers.look(&[(key(1), 5500)], owner, |_| 14_000);
        let passed = talkers.look(&[(key(1), 5500), (key(2), 100)], owner, |_| 14_100);
        assert_eq!(*passed, BTreeMap::from([(16, 3000), (17, 1100)]));
    }

    #[test]
    fn a_class_that_was_made_anew_counts_nothing_twice() {
        let mut talkers = Talkers::default();
        let owner = |_: &Key| Some((0, 16));
        talkers.look(&[(key(1), 100)], owner, |_| 9000);
        let passed = talkers.look(&[(key(1), 200)], owner, |_| 50);
        assert_eq!(passed.get(&16), Some(&0));
    }
}
