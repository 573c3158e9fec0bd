//! Stations that are known already, found by what a line of the file says.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use super::{Source, Station};
use crate::enforce::config::{self, Mac};

#[derive(PartialEq, Eq, Hash)]
enum Mark<'a> {
    /// A station that the file named.
    Name(&'a str),
    Mac(Mac),
    Address(IpAddr),
}

/// Stations, by their marks.
pub(super) struct Known<'a> {
    stations: &'a [Station],
    positions: HashMap<Mark<'a>, Vec<usize>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(stations: &'a [Station]) -> Self {
        let mut positions: HashMap<_, Vec<usize>> = HashMap::new();
        for (position, station) in stations.iter().enumerate() {
            let named = (station.source == Source::Config).then_some(Mark::Name(&station.name));
            let addresses = station.addresses.iter().copied().map(Mark::Address);
            for mark in named.into_iter().chain(station.mac.map(Mark::Mac)).chain(addresses) {
                positions.entry(mark).or_default().push(position);
            }
        }
        Known { stations, positions }
    }

    /// Those that may be `station`, in the order in which it is looked for: who has its MAC address or one of its addresses, and of these who had its
    /// name, then who only had its name.
    pub(super) fn of(&self, station: &config::Station) -> Vec<&'a Station> {
        let addresses = station.addresses.iter().copied().map(Mark::Address);
        let at = |mark| self.positions.get(&mark).into_iter().flatten().copied();
        let devices: BTreeSet<usize> = station.mac.map(Mark::Mac).into_iter().chain(addresses).flat_map(at).collect();
        let named: BTreeSet<usize> = at(Mark::Name(&station.name)).collect();
        let (both, device) = (devices.intersection(&named), devices.difference(&named));
        both.chain(device).chain(named.difference(&devices)).map(|own| &self.stations[*own]).collect()
    }
}
