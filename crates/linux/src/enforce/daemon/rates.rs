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
