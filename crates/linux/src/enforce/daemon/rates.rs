//! Rates of classes over about the last second.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use fairair_core::units::Bitrate;

use crate::enforce::datapath::{ClassStats, pool_minor};

const SPAN: Duration = Duration::from_secs(1);

/// What the classes had sent at the looks of the last second.
#[derive(Debug, Default)]
pub(super) struct Rates {
    looks: VecDeque<(Instant, BTreeMap<u16, u64>)>,
}

impl Rates {
    /// A look at the counters; those that come too soon are left out.
    pub(super) fn observe(&mut self, now: Instant, counters: &BTreeMap<u16, ClassStats>) {
        if self.looks.back().is_some_and(|(at, _)| now < *at + SPAN / 4) {
            return;
        }
        self.looks.push_back((now, counters.iter().map(|(minor, class)| (*minor, class.bytes)).collect()));
        while self.looks.len() > 2 && self.looks[1].0 + SPAN <= now {
            self.looks.pop_front();
        }
    }

    /// Of a class, by minor number.
    pub(super) fn of_class(&self, minor: u16) -> Bitrate {
        let (Some((from, first)), Some((to, last))) = (self.looks.front(), self.looks.back()) else {
            return Bitrate::from_bps(0);
        };
        let at = |look: &BTreeMap<u16, u64>| look.get(&minor).copied().unwrap_or(0);
        let span = to.duration_since(*from).as_secs_f64();
        let bits = 8.0 * at(last).saturating_sub(at(first)) as f64;
        Bitrate::from_bps(if span > 0.0 { (bits / span) as u64 } else { 0 })
    }

    /// Of a pool, by its number.
    pub(super) fn of_pool(&self, id: u16) -> Bitrate {
        self.of_class(pool_minor(id))
    }
}

/// Packets that the classes of each pool dropped since the start, classes that are gone included: it never falls.
#[derive(Debug, Default)]
pub(super) struct Drops {
    seen: BTreeMap<u16, u32>,
    totals: BTreeMap<u16, u64>,
}

impl Drops {
    /// A look at the counters; `pool_of` says to which pool a class belongs.
    pub(super) fn observe(&mut self, counters: &BTreeMap<u16, ClassStats>, pool_of: impl Fn(u16) -> Option<u16>) {
        for (minor, class) in counters {
            let Some(pool) = pool_of(*minor) else { continue };
            let before = self.seen.insert(*minor, class.drops).unwrap_or(0);
            // A class that was made anew counts from zero.
            let new = class.drops.checked_sub(before).unwrap_or(class.drops);
            *self.totals.entry(pool).or_default() += u64::from(new);
        }
        self.seen.retain(|minor, _| counters.contains_key(minor));
    }

    /// Of a pool, by its number.
    pub(super) fn of_pool(&self, id: u16) -> u64 {
        self.totals.get(&id).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prometheus takes a counter that falls for one that began anew, and would count what is left once more.
    #[test]
    fn drops_of_a_class_that_is_gone_stay_in_its_pools_sum() {
        let look = |drops: &[(u16, u32)]| -> BTreeMap<u16, ClassStats> {
            drops.iter().map(|(minor, drops)| (*minor, ClassStats { drops: *drops, ..ClassStats::default() })).collect()
        };
        let mut drops = Drops::default();
        for (seen, sum) in
            [(&[(16, 5), (32, 7), (99, 3)][..], 12), (&[(32, 8)], 13), (&[(16, 2), (32, 8)], 15), (&[(16, 1)], 16)]
        {
            drops.observe(&look(seen), |minor| (minor != 99).then_some(1));
            assert_eq!((drops.of_pool(1), drops.of_pool(2)), (sum, 0));
        }
    }
}
