//! What the stages of the Internet link do.

use std::collections::{BTreeMap, VecDeque};

use fairair_core::packet::Direction;
use fairair_core::units::Bitrate;

use super::Daemon;
use super::rates::Rates;
use crate::enforce::datapath::{ClassStats, LINK, OTHERS};
use crate::enforce::protocol::WanReport;

/// Looks (two a second) by which it is told whether the link is the bottleneck.
const LOOKS: usize = 4;

/// What was counted in one direction of the link.
#[derive(Debug, Default)]
pub(super) struct LinkCounts {
    classes: BTreeMap<u16, ClassStats>,
    rates: Rates,
    /// Whether something waited, look by look.
    waited: VecDeque<bool>,
}

impl LinkCounts {
    fn observe(&mut self, classes: BTreeMap<u16, ClassStats>) {
        self.rates.observe(std::time::Instant::now(), &classes);
        self.waited.push_back(classes.values().any(|class| class.backlog > 0));
        while self.waited.len() > LOOKS {
            self.waited.pop_front();
        }
        self.classes = classes;
    }

    /// Whether packets waited for this direction in at least half of the last looks.
    fn binds(&self) -> bool {
        2 * self.waited.iter().filter(|waited| **waited).count() >= LOOKS
    }

    /// All leaves: stations, newcomers, others.
    fn leaves(&self) -> impl Iterator<Item = &ClassStats> {
        self.classes.iter().filter(|(minor, _)| **minor != LINK).map(|(_, class)| class)
    }
}

impl Daemon {
    /// Reads the counters of the link's stages.
    pub(super) fn look_at_wan(&mut self) {
        let read = self.engine.read_stages().map_err(|error| format!("cannot read the counters of [wan]: {error}"));
        let Some(read) = self.watch("wan", read) else { return };
        self.links.retain(|direction, _| read.contains_key(direction));
        for (direction, classes) in read {
            self.links.entry(direction).or_default().observe(classes);
        }
    }

    /// Whether a direction of the Internet link is the bottleneck now: packets wait for it in the box, so pools may be
    /// less than full for that reason alone.
    pub(super) fn wan_binds(&self) -> bool {
        self.links.values().any(LinkCounts::binds)
    }

    /// Packets of class `minor` that wait for the link.
    pub(super) fn waits_for_wan(&self, minor: u16) -> u32 {
        let own = self.links.values().filter_map(|link| link.classes.get(&minor));
        own.map(|class| class.backlog).sum()
    }

    pub(super) fn wan_reports(&self) -> Vec<WanReport> {
        let rates = &self.engine.layout().wan.rates;
        let report = |(direction, rate): (&Direction, &Bitrate)| {
            let none = LinkCounts::default();
            let link = self.links.get(direction).unwrap_or(&none);
            let others = link.classes.get(&OTHERS).copied().unwrap_or_default();
            WanReport {
                direction: *direction,
                capacity: *rate,
                rate: link.rates.of_class(LINK),
                binds: link.binds(),
                waiting: link.leaves().filter(|class| class.backlog > 0).count(),
                backlog: link.leaves().map(|class| u64::from(class.backlog)).sum(),
                drops: link.leaves().map(|class| u64::from(class.drops)).sum(),
                others_bytes: others.bytes,
            }
        };
        rates.iter().map(report).collect()
    }
}
