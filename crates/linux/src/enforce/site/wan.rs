//! Shares of the Internet link.

use std::collections::BTreeMap;

use fairair_core::packet::Direction;
use fairair_core::units::Bitrate;

use super::Site;
use crate::enforce::datapath::{OTHERS, WanLink, leaf_minor, newcomers_minor};

impl Site {
    /// The link with a leaf for each class of the pools: between stations of all pools, and by their plans only, since air
    /// has no part in it.
    pub(super) fn wan_link(&self) -> WanLink {
        let Some(wan) = self.config.wan else { return WanLink::default() };
        let rates: BTreeMap<Direction, Bitrate> = [(Direction::Up, wan.up), (Direction::Down, wan.down)]
            .into_iter()
            .filter_map(|(way, rate)| Some((way, rate?)))
            .collect();
        let mut weights = BTreeMap::from([(OTHERS, 1.0)]);
        weights.extend(self.pools.values().map(|pool| (newcomers_minor(pool.id), 1.0)));
        weights.extend(self.fixed.iter().map(|(_, slot)| (leaf_minor(*slot), 1.0)));
        let with_class = self.stations.iter().filter(|_| self.config.policy.is_by_station());
        weights.extend(with_class.map(|station| (leaf_minor(station.slot), station.plan.weight)));
        let lightest = weights.values().copied().fold(f64::INFINITY, f64::min);
        let quantum = self.config.leaf.quantum.0 as f64;
        // The lightest class gets the user's quantum: below a packet, HTB would divide wrongly.
        let quanta = weights.into_iter().map(|(minor, weight)| (minor, (quantum * weight / lightest).round() as u32));
        let splits = rates.values().any(|rate| self.config.gso.splits(*rate));
        WanLink { quanta: quanta.collect(), rates, splits }
    }
}
