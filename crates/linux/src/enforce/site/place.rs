//! At which AP a station is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Full, Site, Source, Station};
use crate::enforce::config::{self, Ap, Mac};
use crate::enforce::discovery::Sighting;

impl Site {
    /// All APs with the numbers of their pools.
    pub(super) fn aps(&self) -> impl Iterator<Item = (u16, &Ap)> + Clone {
        self.pools.values().flat_map(|pool| pool.aps.iter().map(|ap| (pool.id, ap)))
    }

    /// The pool of the AP named `ap`.
    pub(super) fn pool_with(&self, ap: &str) -> Option<u16> {
        self.aps().find(|(_, own)| own.name == ap).map(|(id, _)| id)
    }

    /// Pool and AP of a station that the file names: those of its AP or prefix, else where it is associated.
    pub(super) fn pool_of(&self, station: &config::Station) -> (u16, String) {
        let named = self.aps().find(|(_, ap)| station.ap.as_ref() == Some(&ap.name));
        let by_prefix = || {
            let has =
                |ap: &Ap| ap.prefixes.iter().any(|prefix| station.addresses.iter().any(|own| prefix.contains(own)));
            self.aps().find(|(_, ap)| has(ap))
        };
        let found = named.or_else(by_prefix).or_else(|| self.associated(station.mac)).or_else(|| self.aps().next());
        found.map_or((0, String::new()), |(id, ap)| (id, ap.name.clone()))
    }

    /// The AP at which `mac` is associated, if it takes stations by association.
    fn associated(&self, mac: Option<Mac>) -> Option<(u16, &Ap)> {
        let name = self.associations.ap_of(mac?)?;
        self.aps().find(|(_, ap)| ap.name == name && ap.prefixes.is_empty())
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
            let Some((to, ap)) = self.associated(station.mac).filter(|(_, to)| to.name != station.ap) else { continue };
            if self.aps().any(|(_, own)| own.name == station.ap && !own.prefixes.is_empty()) || self.is_tied(station) {
                continue;
            }
            let ap = ap.name.clone();
            self.put(position, to, ap)?;
            changed = true;
        }
        Ok(changed)
    }

    /// The station at `position` was seen `there`: it moves to a class of the AP there, unless file, prefix or list says where it is. Answers
    /// whether it has moved.
    ///
    /// # Errors
    /// There is no class left for it.
    pub(super) fn follow(
        &mut self,
        position: usize,
        there: &Sighting,
        source: Source,
        interfaces: &BTreeMap<u32, String>,
    ) -> Result<bool, Full> {
        let station = &self.stations[position];
        let has_prefix = |(_, ap): (u16, &Ap)| {
            ap.name == station.ap && ap.prefixes.iter().any(|own| there.address.is_some_and(|ip| own.contains(&ip)))
        };
        if self.is_tied(station) || self.associated(station.mac).is_some() || self.aps().any(has_prefix) {
            return Ok(false);
        }
        let device = there.interface.and_then(|index| interfaces.get(&index)).map_or("", String::as_str);
        let Some((pool, ap)) = self.pool_at(there.address, station.mac, Some(device), source) else {
            return Ok(false);
        };
        if ap == station.ap {
            return Ok(false);
        }
        self.put(position, pool, ap)?;
        Ok(true)
    }

    /// Whether the file says at which AP the station is.
    fn is_tied(&self, station: &Station) -> bool {
        let is_it = |own: &config::Station| own.name == station.name && own.ap.is_some();
        station.source == Source::Config && self.config.stations.iter().any(is_it)
    }

    /// The station at `position` is at `ap` now. On the same channel it keeps its class: a class never changes its pool.
    fn put(&mut self, position: usize, pool: u16, ap: String) -> Result<(), Full> {
        let slot = if pool == self.stations[position].pool { self.stations[position].slot } else { self.number()? };
        let station = &mut self.stations[position];
        (station.pool, station.ap, station.slot) = (pool, ap, slot);
        Ok(())
    }

    /// Ways that are not among `ways` no longer say who is where.
    pub fn keep_ways(&mut self, ways: &[String]) {
        self.associations.keep(ways);
    }

    /// Pool and AP of a device behind an interface (`None`: not known): by prefix, then by association.
    pub(super) fn pool_at(
        &self,
        address: Option<IpAddr>,
        mac: Option<Mac>,
        interface: Option<&str>,
        source: Source,
    ) -> Option<(u16, String)> {
        let own = |(id, ap): (u16, &Ap)| (id, ap.name.clone());
        let is_there = |ap: &Ap| interface.is_none_or(|own| own == ap.interface);
        let mut fits = self.aps().filter(|(_, ap)| is_there(ap));
        let inside = |ap: &Ap| address.is_some_and(|ip| ap.prefixes.iter().any(|prefix| prefix.contains(&ip)));
        if let Some(found) = fits.clone().find(|(_, ap)| inside(ap)) {
            return Some(own(found));
        }
        if let Some(found) = self.associated(mac).filter(|(_, ap)| is_there(ap)) {
            return Some(own(found));
        }
        // A lease alone does not say where; a packet came by the only way there is.
        let is_sure = interface.is_some() || source == Source::FirstSight;
        let first = fits.find(|(_, ap)| ap.prefixes.is_empty())?;
        (is_sure && fits.next().is_none()).then(|| own(first))
    }
}
