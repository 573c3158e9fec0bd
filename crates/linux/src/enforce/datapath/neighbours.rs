//! The kernel's neighbour table: which address is at which MAC address; and bridges' tables: which MAC address is
//! behind which port.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use super::wire::{Events, Requests, attribute, attributes, put};
use crate::enforce::config::Mac;

const ROUTE: isize = 0;
const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;
/// `RTNLGRP_NEIGH`.
const GROUP: u32 = 3;
const AF_BRIDGE: u8 = 7;
/// Of a port itself, not of a device behind it.
const PERMANENT: u16 = 0x80;
const DESTINATION: u16 = 1;
const LINK_ADDRESS: u16 = 2;
/// `struct nda_cacheinfo`: first the ticks since the entry was confirmed.
const CACHE_INFO: u16 = 3;
/// `NUD_REACHABLE`.
const REACHABLE: u16 = 0x02;
/// REACHABLE, STALE, DELAY, PROBE and PERMANENT: all but those that never answered, or no longer do.
const VALID: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

const GET_ROUTE: u16 = 26;
const OUT_INTERFACE: u16 = 4;
const GATEWAY: u16 = 5;
/// A gateway of the other IP version.
const VIA: u16 = 18;
/// `RTN_UNICAST`.
const UNICAST: u8 = 1;

/// Where packets to an address go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Index of the interface.
    pub interface: u32,
    /// A router forwards them.
    pub is_behind_router: bool,
}

/// The way to `address`; `None`: there is none, or it ends in this box.
///
/// # Errors
/// The system has no netlink socket left.
pub fn routes(addresses: &[IpAddr]) -> io::Result<Vec<Option<Route>>> {
    let mut requests = Requests::new(ROUTE)?;
    let mut ways = Vec::with_capacity(addresses.len());
    for address in addresses {
        // `struct rtmsg`: AF_INET or AF_INET6, and the length of the destination.
        let mut request = vec![if address.is_ipv4() { 2 } else { 10 }, if address.is_ipv4() { 32 } else { 128 }];
        request.resize(12, 0);
        match address {
            IpAddr::V4(address) => put(&mut request, DESTINATION, &address.octets()),
            IpAddr::V6(address) => put(&mut request, DESTINATION, &address.octets()),
        }
        let mut way = None;
        // What cannot be reached is an error here.
        let _ = requests.get(GET_ROUTE, &request, |payload| way = route(payload));
        ways.push(way);
    }
    Ok(ways)
}

/// `struct rtmsg` and its attributes.
fn route(payload: &[u8]) -> Option<Route> {
    let rest = payload.get(12..)?;
    let interface = u32::from_ne_bytes(*attribute(rest, OUT_INTERFACE)?.first_chunk()?);
    let is_behind_router = attribute(rest, GATEWAY).or_else(|| attribute(rest, VIA)).is_some();
    (payload[7] == UNICAST).then_some(Route { interface, is_behind_router })
}

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Index of the interface.
    pub interface: u32,
    /// Its address.
    pub address: IpAddr,
    /// Who has it.
    pub mac: Mac,
    /// It has answered a moment ago (`NUD_REACHABLE`).
    pub is_confirmed: bool,
    /// Since when nothing has confirmed the entry, in hundredths of a second.
    age: u32,
}

/// All entries that are or were good, those last that were confirmed last.
///
/// # Errors
/// The system has no netlink socket left.
pub fn neighbours() -> io::Result<Vec<Neighbour>> {
    let mut neighbours = Vec::new();
    Requests::new(ROUTE)?.dump(GET_NEIGHBOUR, &[0; 12], |payload| neighbours.extend(neighbour(payload)))?;
    neighbours.sort_by_key(|own: &Neighbour| (own.is_confirmed, std::cmp::Reverse(own.age)));
    Ok(neighbours)
}

/// MAC addresses and the bridge ports behind which they are, by index.
///
/// # Errors
/// The system has no netlink socket left.
pub fn ports() -> io::Result<Vec<(Mac, u32)>> {
    let mut request = [0; 12];
    request[0] = AF_BRIDGE;
    let mut ports = Vec::new();
    Requests::new(ROUTE)?.dump(GET_NEIGHBOUR, &request, |payload| ports.extend(port(payload)))?;
    Ok(ports)
}

/// Changes of the kernel's tables.
#[derive(Debug, Default)]
pub struct NeighbourChanges {
    /// Good entries of the neighbour table.
    pub neighbours: Vec<Neighbour>,
    /// Devices behind ports of bridges, by index.
    pub ports: Vec<(Mac, u32)>,
}

/// The kernel tells when an entry of either table is new or has changed.
#[derive(Debug)]
pub struct NeighbourEvents(Events);

impl NeighbourEvents {
    /// Listens from now on.
    ///
    /// # Errors
    /// The system has no netlink socket left.
    pub fn new() -> io::Result<Self> {
        Events::new(ROUTE, GROUP).map(NeighbourEvents)
    }

    #[cfg(test)]
    pub(in crate::enforce) fn narrow(&self) -> io::Result<()> {
        self.0.narrow()
    }

    /// Waits at most for `patience`; entries that are new or have changed.
    ///
    /// # Errors
    /// `ENOBUFS`: some were lost, and the tables must be read.
    pub fn wait(&mut self, patience: Duration) -> io::Result<NeighbourChanges> {
        let mut changes = NeighbourChanges::default();
        self.0.wait(patience, |kind, payload| {
            if kind != NEW_NEIGHBOUR {
            } else if payload.first() == Some(&AF_BRIDGE) {
                changes.ports.extend(port(payload));
            } else {
                changes.neighbours.extend(neighbour(payload));
            }
        })?;
        Ok(changes)
    }
}

/// A device behind a port: `struct ndmsg` of a bridge's table.
fn port(payload: &[u8]) -> Option<(Mac, u32)> {
    let port = u32::from_ne_bytes(*payload.get(4..)?.first_chunk()?);
    let state = u16::from_ne_bytes(*payload.get(8..)?.first_chunk()?);
    let mac = Mac(*attribute(payload.get(12..)?, LINK_ADDRESS)?.first_chunk()?);
    (state & PERMANENT == 0 && !mac.is_multicast()).then_some((mac, port))
}

/// `struct ndmsg` and its attributes.
fn neighbour(payload: &[u8]) -> Option<Neighbour> {
    let interface = u32::from_ne_bytes(*payload.get(4..)?.first_chunk()?);
    let state = u16::from_ne_bytes(*payload.get(8..)?.first_chunk()?);
    let (mut address, mut mac, mut age) = (None, None, 0);
    for (kind, value) in attributes(payload.get(12..)?) {
        match (kind, value.len()) {
            (DESTINATION, 4) => address = value.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
            (DESTINATION, 16) => address = value.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
            (CACHE_INFO, 16..) => age = value.first_chunk().map_or(0, |ticks| u32::from_ne_bytes(*ticks)),
            (LINK_ADDRESS, 6) => mac = value.first_chunk::<6>().map(|octets| Mac(*octets)),
            _ => {}
        }
    }
    let mac = mac.filter(|mac| !mac.is_multicast() && mac.0 != [0; 6])?;
    let is_confirmed = state & REACHABLE != 0;
    (state & VALID != 0).then_some(Neighbour { interface, address: address?, mac, is_confirmed, age })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// Any bytes are an entry or none.
        #[test]
        fn any_bytes_are_an_entry_or_none(bytes in proptest::collection::vec(0_u8.., 0..80)) {
            let _ = (neighbour(&bytes), port(&bytes), route(&bytes));
        }
    }
}
