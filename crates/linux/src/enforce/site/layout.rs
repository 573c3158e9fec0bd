//! What the kernel should hold for a site.

use std::collections::BTreeMap;

use fairair_core::control::CapacityParams;

use super::{Site, SitePool};
use crate::enforce::datapath::{ApInterface, Layout, LeafClass, Pool, leaf_minor, newcomers_minor};

/// Link header with a VLAN tag, and some room.
const LINK: u32 = 64;

impl Site {
    /// What the kernel should hold; `mtu` is the largest of the interfaces'.
    pub fn layout(&self, mtu: u32) -> Layout {
        let config = &self.config;
        let quantum = config.leaf.quantum.0 as f64;
        let newcomers = self.pools.values().map(|pool| (pool.id, self.newcomers_weight(pool.id)));
        let mut lightest: BTreeMap<u16, f64> = newcomers.collect();
        let with_class = || self.stations.iter().filter(|_| config.policy.is_by_station());
        for station in with_class() {
            lightest.entry(station.pool).and_modify(|least| *least = least.min(self.weight(station)));
        }
        let mut layout = Layout {
            mode: config.mode,
            policy: config.policy,
            udp: config.udp,
            leaf: config.leaf,
            uplinks: config.uplinks.iter().cloned().collect(),
            largest: mtu + LINK,
            exclude: config.exclude.clone(),
            pools: BTreeMap::new(),
            leaves: BTreeMap::new(),
            members: BTreeMap::new(),
            wan: self.wan_link(),
        };
        for SitePool { id, aps, rate, turn, .. } in self.pools.values() {
            let splits = config.gso.splits(aps[0].most());
            let is_counted = !matches!(aps[0].capacity, CapacityParams::Fixed { .. });
            let ap_interfaces =
                aps.iter().map(|ap| ApInterface { interface: ap.interface.clone(), prefixes: ap.prefixes.clone() });
            layout.pools.insert(
                *id,
                Pool { id: *id, ap_interfaces: ap_interfaces.collect(), rate: *rate, turn: *turn, splits, is_counted },
            );
            let own = self.newcomers_weight(*id) / lightest[id] * quantum;
            layout.leaves.insert(
                newcomers_minor(*id),
                LeafClass { pool: *id, quantum: own as u32, cap: None, floor: self.newcomers_floor(*rate, aps) },
            );
        }
        for (pool, slot) in &self.fixed {
            let leaf = LeafClass { pool: *pool, quantum: quantum as u32, cap: None, floor: None };
            layout.leaves.insert(leaf_minor(*slot), leaf);
        }
        for station in with_class() {
            // The lightest class gets the user's quantum: below a packet, HTB would divide wrongly.
            let own = (quantum * self.weight(station) / lightest[&station.pool]).round() as u32;
            let minor = leaf_minor(station.slot);
            layout
                .leaves
                .insert(minor, LeafClass { pool: station.pool, quantum: own, cap: station.plan.cap, floor: None });
            layout.members.extend(station.keys(config.mode).map(|key| (key, minor)));
        }
        layout
    }
}
