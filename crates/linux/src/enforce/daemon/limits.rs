//! Queues as long as a time, and turns that fit into a round: what may wait in a class, and what a class sends at once, follow the rates that
//! the classes have.

use std::collections::BTreeMap;

use fairair_core::shaper::limit::{Demand, fair_level, limit, smoothed};
use fairair_core::shaper::{BATCHES, QueueRule, turn};
use fairair_core::units::{Bitrate, Bytes};

use super::Daemon;
use super::troubles::Trouble;
use crate::enforce::config::Leaf;
use crate::enforce::datapath::largest;

/// Rates of classes, smoothed, by minor number.
pub(super) type Smoothed = BTreeMap<u16, f64>;

/// A class takes its turns while it has this share of what a busy one has.
const BUSY: f64 = 0.5;
/// Turns grow only where they would fit with so many times the classes: who comes and goes must not change them each time.
const SPARE: f64 = 1.25;

impl Daemon {
    /// Sets the limits of all classes' queues by the rates of the last second, and what they send at once, and tells flows of some more
    /// classes apart: twice a second.
    pub(super) fn limit(&mut self) {
        let refined = self.engine.refine(&self.counts.classes);
        self.troubles.attempt(Trouble::Flows, "the flows of a station share a queue", refined);
        let layout = self.engine.layout();
        let own = layout.leaf;
        if own.queue != QueueRule::Auto && own.batch == Bytes(0) {
            return;
        }
        let quantum = own.quantum.0 as f64;
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
        let mut site = None;
        for (id, classes) in &pools {
            let pool = &layout.pools[id];
            let demands: Vec<_> = classes.iter().map(|(_, demand)| *demand).collect();
            let level = fair_level(pool.rate, &demands);
            // Who waits takes turns, too, however little a turn gives.
            let waits = |minor: &u16| self.counts.class(*minor).backlog > 0;
            let is_busy =
                |(minor, demand): &&(u16, Demand)| demand.rate >= BUSY * level * demand.weight || waits(minor);
            let busy = classes.iter().filter(is_busy).count();
            let next = next_turn(own, pool.turn, pool.rate, busy);
            if next != pool.turn {
                site.get_or_insert_with(|| self.site.clone()).set_turn(*id, next);
            }
            for (minor, demand) in classes {
                // While a batch goes the next one gathers.
                let batches = if own.batch == Bytes(0) || layout.leaves[minor].cap.is_some() { 0 } else { BATCHES };
                let least = (batches as f64 * next.0 as f64 * demand.weight) as u64;
                wanted.push((*minor, limit(level, demand, largest(pool)).max(Bytes(least))));
            }
        }
        self.counts.smoothed = smooth;
        if let Some(site) = site {
            self.adopt(site);
        }
        let set = wanted.into_iter().try_for_each(|(minor, limit)| {
            let held = Bytes(u64::from(self.counts.class(minor).backlog_bytes));
            self.engine.set_limit(minor, limit, held)
        });
        self.troubles.attempt(Trouble::Queues, "cannot set the limits of queues", set);
    }
}

/// What a class of the least weight sends at once from now on, where it has been `before`, while `busy` classes take turns: a batch, or its half,
/// quarter and so on, so that a round is not longer than [`ROUND`](fairair_core::shaper::ROUND). It changes in steps, since each change costs a
/// command a class.
fn next_turn(leaf: Leaf, before: Bytes, capacity: Bitrate, busy: usize) -> Bytes {
    let fitting = |busy: usize| {
        let most = turn(leaf.batch, leaf.quantum, capacity, busy);
        let halves = (0..).map(|halves| Bytes(leaf.batch.0 >> halves));
        halves.take_while(|step| *step > leaf.quantum).find(|step| *step <= most).unwrap_or(leaf.quantum)
    };
    let next = fitting(busy);
    if next > before { fitting((busy as f64 * SPARE).ceil() as usize).max(before) } else { next }
}

#[cfg(test)]
mod tests {
    use fairair_core::shaper::ROUND;

    use super::*;
    use crate::enforce::config::LeafKind;

    fn leaf(batch: u64) -> Leaf {
        Leaf { kind: LeafKind::Auto, queue: QueueRule::Auto, quantum: Bytes(1500), batch: Bytes(batch) }
    }

    #[test]
    fn a_round_of_turns_is_no_longer_than_a_tenth_of_a_second_and_turns_do_not_flap() {
        let c = Bitrate::mbps(100);
        assert_eq!(next_turn(leaf(0), Bytes(1500), c, 5), Bytes(1500), "a packet at a time");
        assert_eq!(next_turn(leaf(96_000), Bytes(1500), c, 1), Bytes(96_000));
        let mut own = Bytes(96_000);
        for (busy, wanted) in [(13, 96_000), (14, 48_000), (13, 48_000), (14, 48_000), (11, 48_000), (10, 96_000)] {
            own = next_turn(leaf(96_000), own, c, busy);
            assert!(own.0 * busy as u64 <= c.bytes_in(ROUND).0);
            assert_eq!(own, Bytes(wanted), "{busy}");
        }
        assert_eq!(next_turn(leaf(96_000), own, Bitrate::mbps(1), 40), Bytes(1500));
    }
}
