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

    /// Those that may be `station`: by name, MAC address or an address; in the order in which they came.
    pub(super) fn of(&self, station: &config::Station) -> impl Iterator<Item = &'a Station> {
        let addresses = station.addresses.iter().copied().map(Mark::Address);
        let marks = [Mark::Name(&station.name)].into_iter().chain(station.mac.map(Mark::Mac)).chain(addresses);
        let found: BTreeSet<usize> = marks.filter_map(|mark| self.positions.get(&mark)).flatten().copied().collect();
        let stations = self.stations;
        found.into_iter().map(move |position| &stations[position])
    }
}
