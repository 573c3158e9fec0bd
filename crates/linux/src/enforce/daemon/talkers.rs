//! What passed of each station where classes are not by station: the machines that set C ask those that have traffic.

use std::collections::{BTreeMap, BTreeSet};

use super::Daemon;
use super::troubles::Trouble;
use crate::enforce::datapath::{ClassStats, Key, leaf_minor, pool_minor};

/// Bytes by station, in proportion to what came for it and from it.
#[derive(Debug, Default)]
pub(super) struct Talkers {
    /// IP bytes that were counted of each address, by pool, and whether the last look missed it: the kernel lists a set while it grows.
    counted: BTreeMap<u16, BTreeMap<Key, (u64, bool)>>,
    /// IP bytes that the class of each pool had sent.
    carried: BTreeMap<u16, u64>,
    /// Whose what arrived last at each pool was, as shares: what is sent while nothing arrives is of that.
    shares: BTreeMap<u16, Vec<(Option<u16>, f64)>>,
    /// IP bytes that have passed of each station, by the minor number that its class would have.
    passed: BTreeMap<u16, u64>,
}

impl Talkers {
    /// A look at the IP bytes `counted` in `pool`, whose class has sent `carried`: `owner` knows whose address it is, by minor number.
    /// Packets are counted where they arrive, so what a pool has sent is divided in proportion, strangers included.
    fn look(&mut self, pool: u16, counted: &[(Key, u64)], owner: impl Fn(&Key) -> Option<u16>, carried: u64) {
        let now = counted.iter().map(|(key, bytes)| (*key, (*bytes, false))).collect();
        let before = self.counted.insert(pool, now).unwrap_or_default();
        // An address that was silent for a while counts from zero.
        let last =
            |key: &Key, bytes: u64| before.get(key).map(|(last, _)| *last).filter(|last| *last <= bytes).unwrap_or(0);
        let arrived: Vec<_> = counted.iter().map(|(key, bytes)| (owner(key), bytes - last(key, *bytes))).collect();
        let known = self.counted.entry(pool).or_default();
        for (key, (bytes, _)) in before.iter().filter(|(_, (_, is_missed))| !is_missed) {
            known.entry(*key).or_insert((*bytes, true));
        }
        let all: u64 = arrived.iter().map(|(_, bytes)| bytes).sum();
        if all > 0 {
            let shares = arrived.into_iter().map(|(owner, bytes)| (owner, bytes as f64 / all as f64)).collect();
            self.shares.insert(pool, shares);
        }
        let last = self.carried.insert(pool, carried).filter(|last| *last <= carried).unwrap_or(carried);
        for (minor, share) in self.shares.get(&pool).into_iter().flatten() {
            if let Some(minor) = minor {
                *self.passed.entry(*minor).or_default() += (share * (carried - last) as f64) as u64;
            }
        }
    }
}

impl Daemon {
    /// Adds to the counters of classes what passed of each station that has none of its own. `None`: it cannot be read; then they have what
    /// was known.
    pub(super) fn count_talkers(&mut self) -> Option<()> {
        if self.site.config().policy.is_by_station() {
            self.counts.talkers = Talkers::default();
            return Some(());
        }
        let mut owners = BTreeMap::new();
        for station in self.site.stations() {
            let own = (station.pool, leaf_minor(station.slot));
            owners.extend(station.keys(self.site.config().mode).map(|key| (key, own)));
        }
        let mut failed = None;
        for id in self.site.pools().values().map(|pool| pool.id) {
            match self.netfilter.talkers(id) {
                Ok(talkers) => {
                    let owner = |key: &Key| owners.get(key).filter(|(pool, _)| *pool == id).map(|(_, minor)| *minor);
                    let carried = self.counts.class(pool_minor(id)).bytes;
                    self.counts.talkers.look(id, &talkers, owner, carried);
                }
                Err(error) => failed = Some(format!("cannot read nftables sets: {error}")),
            }
        }
        // A station that takes the number of one that is gone begins at zero.
        let owned: BTreeSet<_> = owners.into_values().map(|(_, minor)| minor).collect();
        self.counts.talkers.passed.retain(|minor, _| owned.contains(minor));
        for minor in owned {
            let bytes = self.counts.talkers.passed.get(&minor).copied().unwrap_or(0);
            self.counts.classes.insert(minor, ClassStats { bytes, ..ClassStats::default() });
        }
        self.troubles.watch(Trouble::Arrivals, failed.map_or(Ok(()), Err))
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
        let owner = |own: &Key| (*own != key(9)).then_some(if *own == key(1) { 16 } else { 17 });
        talkers.look(0, &[(key(1), 500), (key(2), 500)], owner, 10_000);
        // Twice as much came for the first as for the second, and as much as for both for a stranger; half of all was dropped.
        let seen = [(key(1), 4500), (key(2), 2500), (key(9), 6000)];
        talkers.look(0, &seen, owner, 16_000);
        assert_eq!(talkers.passed, BTreeMap::from([(16, 2000), (17, 1000)]));
        // Another pool's counters are its own.
        talkers.look(1, &[(key(1), 9)], |_| None, 70_000);
        // The second was silent, is forgotten by the kernel, and is back.
        talkers.look(0, &[(key(1), 5500)], owner, 17_000);
        talkers.look(0, &[(key(1), 5500), (key(2), 100)], owner, 17_100);
        assert_eq!(talkers.passed, BTreeMap::from([(16, 3000), (17, 1100)]));
        // What waited goes while nothing arrives: it is the second's, whose it was.
        talkers.look(0, &[(key(1), 5500), (key(2), 100)], owner, 17_400);
        talkers.look(0, &[(key(1), 5800), (key(2), 100)], owner, 17_500);
        assert_eq!(talkers.passed, BTreeMap::from([(16, 3100), (17, 1400)]));
        // A list that missed one address, once.
        talkers.look(0, &[(key(1), 5800)], owner, 17_500);
        talkers.look(0, &[(key(1), 5900), (key(2), 100)], owner, 17_600);
        assert_eq!(talkers.passed, BTreeMap::from([(16, 3200), (17, 1400)]));
    }

    #[test]
    fn a_class_that_was_made_anew_counts_nothing_twice() {
        let mut talkers = Talkers::default();
        talkers.look(0, &[(key(1), 100)], |_| Some(16), 9000);
        talkers.look(0, &[(key(1), 200)], |_| Some(16), 50);
        assert_eq!(talkers.passed.get(&16), Some(&0));
    }
}
