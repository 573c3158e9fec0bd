//! What the ways of discovery bring becomes classes.

use std::collections::{BTreeMap, BTreeSet};

use tracing::info;

use super::Daemon;
use crate::enforce::datapath::links;
use crate::enforce::discovery::{News, Scouts, ways};
use crate::enforce::site::Site;

impl Daemon {
    /// Sends out the ways that the configuration asks for; those of before end.
    pub(super) fn send_scouts(&mut self) {
        let ways = ways(self.site.config()).map_err(|error| format!("cannot begin discovery: {error}"));
        let ways = self.watch("discovery", ways).unwrap_or_default();
        let names: Vec<_> = ways.iter().map(|way| way.name()).collect();
        self.site.keep_ways(&names);
        self.scouts = Scouts::new(ways);
    }

    /// A way of discovery has looked.
    pub(super) fn found(&mut self, news: &News) {
        self.scouts.note(news);
        let Ok(seen) = &news.seen else { return };
        // An AP's empty list is news, too.
        if seen.is_empty() && news.ap.is_none() {
            return;
        }
        let now_s = self.started.elapsed().as_secs();
        let known: BTreeSet<String> = self.site.stations().iter().map(|station| station.name.clone()).collect();
        let interfaces: BTreeMap<u32, String> =
            links().unwrap_or_default().into_iter().map(|link| (link.index, link.name)).collect();
        let mut site = self.site.clone();
        let (mut changed, mut full) = (false, None);
        if let Some(ap) = &news.ap {
            match site.associate(&news.way, ap, seen, now_s) {
                Ok(moved) => changed |= moved,
                Err(error) => full = Some(error.to_string()),
            }
        }
        for sighting in seen {
            match site.sight(sighting, news.source, &interfaces, now_s) {
                Ok(is_new) => changed |= is_new,
                Err(error) => full = Some(error.to_string()),
            }
        }
        self.watch("classes", full.map_or(Ok(()), Err));
        if !changed {
            // When stations were last seen is kept all the same.
            self.site = site;
        } else if self.adopt(site) {
            let new = self.site.stations().iter().filter(|station| !known.contains(&station.name));
            for station in new {
                info!(station = station.name, by = ?station.source, "found");
                self.journal.station(&station.name, "found");
            }
        }
    }

    /// Brings the kernel to `site`; answers whether it is there.
    pub(super) fn adopt(&mut self, site: Site) -> bool {
        let mtu = super::mtu(site.config()).map_err(|error| error.to_string());
        let changed = mtu.and_then(|mtu| self.engine.change(site.layout(mtu)).map_err(|error| error.to_string()));
        let is_there = self.watch("datapath", changed).is_some();
        if is_there {
            self.site = site;
            self.seat();
        }
        is_there
    }
}
