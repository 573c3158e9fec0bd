//! Queues as long as a time: what may wait in a class follows the rate that the class has.

use std::collections::BTreeMap;

use fairair_core::shaper::QueueRule;
use fairair_core::shaper::limit::{Demand, fair_level, limit, smoothed};
use fairair_core::units::{Bitrate, Bytes};

use super::Daemon;
use super::troubles::Trouble;
use crate::enforce::datapath::largest;

/// Rates of classes, smoothed, by minor number.
pub(super) type Smoothed = BTreeMap<u16, f64>;

impl Daemon {
    /// Sets the limits of all classes' queues by the rates of the last second, and tells flows of some more classes apart: twice a
    /// second.
    pub(super) fn limit(&mut self) {
        let refined = self.engine.refine(&self.counts.classes);
        self.troubles
            .watch(Trouble::Flows, refined.map_err(|error| format!("the flows of a station share a queue: {error}")));
        let layout = self.engine.layout();
        if layout.leaf.queue != QueueRule::Auto {
            return;
        }
        let quantum = layout.leaf.quantum.0 as f64;
        let mut smooth = Smoothed::new();
        let mut pools: BTreeMap<u16, Vec<(u16, Demand)>> = BTreeMap::new();
        for (minor, leaf) in &layout.leaves {
            let measured = self.counts.rates.of_class(*minor).as_bps() as f64;
            let rate = smoothed(self.counts.smoothed.get(minor).copied().unwrap_or(0.0), measured);
            smooth.insert(*minor, rate);
            let most = layout.pools[&leaf.pool].rate;
            let cap = leaf.cap.map_or(most, |cap: Bitrate| cap.min(most));
            let demand = Demand { weight: f64::from(leaf.quantum) / quantum, rate, cap: Some(cap) };
            pools.entry(leaf.pool).or_default().push((*minor, demand));
        }
        let mut wanted = Vec::new();
        for (id, classes) in &pools {
            let pool = &layout.pools[id];
            let demands: Vec<_> = classes.iter().map(|(_, demand)| *demand).collect();
            let level = fair_level(pool.rate, &demands);
            wanted.extend(classes.iter().map(|(minor, demand)| (*minor, limit(level, demand, largest(pool)))));
        }
        self.counts.smoothed = smooth;
        let held = |minor: u16| self.counts.classes.get(&minor).map_or(0, |class| u64::from(class.backlog_bytes));
        let wanted: Vec<_> = wanted.into_iter().map(|(minor, limit)| (minor, limit, Bytes(held(minor)))).collect();
        let set = wanted.into_iter().try_for_each(|(minor, limit, held)| self.engine.set_limit(minor, limit, held));
        self.troubles.watch(Trouble::Queues, set.map_err(|error| format!("cannot set the limits of queues: {error}")));
    }
}
