//! At which AP a station is.

use std::net::IpAddr;

use super::{Full, Site, SitePool, Source};
use crate::enforce::config::{self, Mac};
use crate::enforce::discovery::Sighting;

impl Site {
    /// The pool of a station that the file names: that of its AP or prefix, else where it is associated.
    pub(super) fn pool_of(&self, station: &config::Station) -> u16 {
        let named = station.ap.as_ref().and_then(|name| self.pools.get(name));
        let by_prefix = || {
            let has = |pool: &&SitePool| {
                pool.ap.prefixes.iter().any(|prefix| station.addresses.iter().any(|own| prefix.contains(own)))
            };
            self.pools.values().find(has)
        };
        let associated = || self.associated(station.mac).and_then(|id| self.pools.values().find(|pool| pool.id == id));
        let found = named.or_else(by_prefix).or_else(associated).or_else(|| self.pools.values().next());
        found.map_or(0, |pool| pool.id)
    }

    /// The pool of the AP at which `mac` is associated, if it takes stations by association.
    fn associated(&self, mac: Option<Mac>) -> Option<u16> {
        let pool = self.pools.get(self.associations.ap_of(mac?)?)?;
        pool.ap.prefixes.is_empty().then_some(pool.id)
    }

    /// `way` says that `seen` are all stations of `ap`: who came from another AP moves to a class there. Answers whether
    /// anything changed.
    ///
    /// # Errors
    /// There is no class left for one of them.
    pub fn associate(&mut self, way: &str, ap: &str, seen: &[Sighting], now_s: u64) -> Result<bool, Full> {
        self.associations.take(way, ap, seen.iter().filter_map(|sighting| sighting.mac), now_s);
        let mut changed = false;
        for position in 0..self.stations.len() {
            let station = &self.stations[position];
            let Some(to) = self.associated(station.mac).filter(|to| *to != station.pool) else { continue };
            let is_tied = |own: &config::Station| own.name == station.name && own.ap.is_some();
            if self.ap(station.pool).is_some_and(|ap| !ap.prefixes.is_empty())
                || station.source == Source::Config && self.config.stations.iter().any(is_tied)
            {
                continue;
            }
            let slot = self.slot()?;
            let station = &mut self.stations[position];
            (station.pool, station.slot) = (to, slot);
            changed = true;
        }
        Ok(changed)
    }

    /// Ways that are not among `ways` no longer say who is where.
    pub fn keep_ways(&mut self, ways: &[String]) {
        self.associations.keep(ways);
    }

    /// The pool of a device behind an interface (`None`: not known): by prefix, then by association.
    pub(super) fn pool_at(
        &self,
        address: Option<IpAddr>,
        mac: Option<Mac>,
        interface: Option<&str>,
        source: Source,
    ) -> Option<u16> {
        let mut fits = self.pools.values().filter(|pool| match interface {
            Some(own) => own == pool.ap.interface,
            None => true,
        });
        let inside =
            |pool: &&SitePool| address.is_some_and(|ip| pool.ap.prefixes.iter().any(|prefix| prefix.contains(&ip)));
        if let Some(pool) = fits.clone().find(inside) {
            return Some(pool.id);
        }
        if let Some(id) = self.associated(mac).filter(|id| fits.clone().any(|pool| pool.id == *id)) {
            return Some(id);
        }
        // A lease alone does not say where; a packet came by the only way there is.
        let is_sure = interface.is_some() || source == Source::FirstSight;
        let first = fits.find(|pool| pool.ap.prefixes.is_empty())?;
        (is_sure && fits.next().is_none()).then_some(first.id)
    }
}
