//! What the stages of the Internet link do.

use std::collections::{BTreeMap, VecDeque};

use fairair_core::packet::Direction;
use fairair_core::shaper::limit::{Demand, fair_level, limit, smoothed};
use fairair_core::units::Bitrate;

use super::Daemon;
use super::rates::Rates;
use super::troubles::Trouble;
use crate::enforce::datapath::{ClassStats, LINK, OTHERS, stage_largest};
use crate::enforce::protocol::WanReport;

/// Samples (two a second) that decide whether the link is the bottleneck.
const LOOKS: usize = 4;

/// What was counted in one direction of the link.
#[derive(Debug, Default)]
pub(super) struct LinkCounts {
    classes: BTreeMap<u16, ClassStats>,
    rates: Rates,
    /// Rates of the leaves, smoothed, by which their queues are as long as a time.
    smoothed: BTreeMap<u16, f64>,
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

/// A class on the link, both directions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnWan {
    /// Packets that wait.
    pub(super) waiting: u32,
    /// Packets dropped.
    pub(super) drops: u64,
    /// The rate of the faster of the directions in which something waits.
    pub(super) rate: Bitrate,
}

impl Daemon {
    /// Reads the counters of the link's stages.
    pub(super) fn look_at_wan(&mut self) {
        let read = self.engine.read_stages();
        let Some(read) = self.troubles.attempt(Trouble::Wan, "cannot read the counters of [wan]", read) else { return };
        self.counts.links.retain(|direction, _| read.contains_key(direction));
        for (direction, classes) in read {
            self.counts.links.entry(direction).or_default().observe(classes);
        }
    }

    /// Sets the limits of what waits for the link, by the rates of the last second: twice a second.
    pub(super) fn limit_wan(&mut self) {
        let layout = self.engine.layout();
        let largest = stage_largest(layout);
        let quantum = layout.leaf.quantum.0 as f64;
        let mut wanted = Vec::new();
        for (direction, rate) in &layout.wan.rates {
            let Some(link) = self.counts.links.get_mut(direction) else { continue };
            let before = std::mem::take(&mut link.smoothed);
            let demand = |(minor, own): (&u16, &u32)| {
                let measured = link.rates.of_class(*minor).as_bps() as f64;
                let smooth = smoothed(before.get(minor).copied().unwrap_or(0.0), measured);
                let cap = layout.leaves.get(minor).and_then(|leaf| leaf.cap).map_or(*rate, |cap| cap.min(*rate));
                (*minor, Demand { weight: f64::from(*own) / quantum, rate: smooth, cap: Some(cap) })
            };
            let demands: Vec<(u16, Demand)> = layout.wan.quanta.iter().map(demand).collect();
            let all: Vec<Demand> = demands.iter().map(|(_, demand)| *demand).collect();
            let level = fair_level(*rate, &all);
            wanted.extend(demands.iter().map(|(minor, own)| (*direction, *minor, limit(level, own, largest))));
            link.smoothed = demands.into_iter().map(|(minor, demand)| (minor, demand.rate)).collect();
        }
        let engine = &mut self.engine;
        let set = wanted.into_iter().try_for_each(|(way, minor, limit)| engine.set_stage_limit(way, minor, limit));
        self.troubles.attempt(Trouble::WanQueues, "cannot set the limits of queues of [wan]", set);
    }

    /// Whether a direction of the Internet link is the bottleneck now: packets wait for it in the box, so pools may be
    /// less than full for that reason alone.
    pub(super) fn wan_binds(&self) -> bool {
        self.counts.links.values().any(LinkCounts::binds)
    }

    /// What class `minor` has on the link.
    pub(super) fn on_wan(&self, minor: u16) -> OnWan {
        let mut own = OnWan::default();
        for link in self.counts.links.values() {
            let class = link.classes.get(&minor).copied().unwrap_or_default();
            own.waiting += class.backlog;
            own.drops += u64::from(class.drops);
            if class.backlog > 0 {
                own.rate = own.rate.max(link.rates.of_class(minor));
            }
        }
        own
    }

    pub(super) fn wan_reports(&self) -> Vec<WanReport> {
        let rates = &self.engine.layout().wan.rates;
        let report = |(direction, rate): (&Direction, &Bitrate)| {
            let none = LinkCounts::default();
            let link = self.counts.links.get(direction).unwrap_or(&none);
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
