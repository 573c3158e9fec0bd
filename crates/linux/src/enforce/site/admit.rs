//! Who gets a class, and which addresses belong to it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Full, Site, Source, Station};
use crate::enforce::config::{Mac, Matcher, Mode, Plan};
use crate::enforce::datapath::Key;
use crate::enforce::discovery::Sighting;

/// Addresses that a station may have besides those that the file names: privacy extensions (RFC 8981) make some ten.
const MOST_ADDRESSES: usize = 64;

impl Site {
    /// A station that was not known gets a class, if it is clear which AP it is at.
    pub(super) fn admit(
        &mut self,
        sighting: &Sighting,
        address: Option<IpAddr>,
        source: Source,
        interfaces: &BTreeMap<u32, String>,
        now_s: u64,
    ) -> Result<bool, Full> {
        let key = match self.config.mode {
            Mode::Routed => address.map(Key::Ip),
            Mode::Bridged => sighting.mac.map(Key::Mac),
        };
        // An index that is unknown is none of ours.
        let device = sighting.interface.map(|index| interfaces.get(&index).map_or("", String::as_str));
        let Some(pool) = self.pool_at(address, sighting.mac, device, source) else {
            return Ok(false);
        };
        let Some(key) = key else { return Ok(false) };
        if let Some(address) = address {
            if self.stations.iter().any(|own| own.source == Source::Config && own.addresses.contains(&address)) {
                return Ok(false);
            }
            self.vacate(address);
        }
        let own = sighting.mac.map_or_else(|| key.to_string(), |mac| mac.to_string());
        let free = |name: &&String| !self.stations.iter().any(|other| other.name == **name);
        let name = sighting.name.as_ref().filter(free).cloned().unwrap_or(own);
        let slot = self.slot()?;
        self.stations.push(Station {
            name,
            pool,
            slot,
            mac: sighting.mac,
            addresses: address.into_iter().collect(),
            plan: Plan::default(),
            rate: sighting.rate,
            source,
            seen_s: now_s,
        });
        Ok(true)
    }

    pub(super) fn is_excluded(&self, address: Option<IpAddr>, mac: Option<Mac>) -> bool {
        self.config.exclude.iter().any(|matcher| match matcher {
            Matcher::Net(net) => address.is_some_and(|address| net.contains(&address)),
            Matcher::Mac(own) => mac == Some(*own),
        })
    }

    /// Leaves station `position` as many addresses as a device may have, `newest` among them.
    pub(super) fn shorten(&mut self, position: usize, newest: IpAddr) {
        let station = &self.stations[position];
        let named =
            self.config.stations.iter().find(|own| own.name == station.name && station.source == Source::Config);
        let named = named.map_or(&[][..], |own| &own.addresses);
        if station.addresses.len() > MOST_ADDRESSES + named.len() {
            let other = |own: &&IpAddr| **own != newest && !named.contains(own);
            let last = station.addresses.iter().rev().find(other).copied();
            last.map(|last| self.stations[position].addresses.remove(&last));
        }
    }

    /// Takes `address` from whoever has it.
    pub(super) fn vacate(&mut self, address: IpAddr) {
        for station in &mut self.stations {
            station.addresses.remove(&address);
        }
    }
}
