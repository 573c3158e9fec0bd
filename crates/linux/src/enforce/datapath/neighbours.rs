//! The kernel's neighbour table: which address is at which MAC address; and bridges' tables: which MAC address is
//! behind which port.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use libc::{
    AF_INET, AF_INET6, NDA_CACHEINFO, NDA_DST, NDA_LLADDR, NUD_DELAY, NUD_PERMANENT, NUD_PROBE, NUD_REACHABLE,
    NUD_STALE, RTA_DST, RTA_GATEWAY, RTA_OIF, RTA_VIA, RTM_GETNEIGH, RTM_GETROUTE, RTM_NEWNEIGH, RTN_UNICAST,
    RTNLGRP_NEIGH,
};
use netlink_sys::constants::NETLINK_ROUTE;

use super::wire::{Events, Requests, attribute, attributes, put};
use crate::enforce::config::Mac;
use crate::enforce::octets::{ip, word};

const AF_BRIDGE: u8 = libc::AF_BRIDGE as u8;

/// REACHABLE, STALE, DELAY, PROBE and PERMANENT: all but those that never answered, or no longer do.
const VALID: u16 = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT;

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
    let mut requests = Requests::new(NETLINK_ROUTE)?;
    let mut ways = Vec::with_capacity(addresses.len());
    for address in addresses {
        // `struct rtmsg`: the family, and the length of the destination.
        let (family, octets) = match address {
            IpAddr::V4(address) => (AF_INET, address.octets().to_vec()),
            IpAddr::V6(address) => (AF_INET6, address.octets().to_vec()),
        };
        let mut request = vec![family as u8, 8 * octets.len() as u8];
        request.resize(12, 0);
        put(&mut request, RTA_DST, &octets);
        let mut way = None;
        // What cannot be reached is an error here.
        let _ = requests.get(RTM_GETROUTE, &request, |payload| way = route(payload));
        ways.push(way);
    }
    Ok(ways)
}

/// `struct rtmsg` and its attributes.
fn route(payload: &[u8]) -> Option<Route> {
    let rest = payload.get(12..)?;
    let interface = word(attribute(rest, RTA_OIF)?, 0)?;
    // A gateway of the other IP version has an attribute of its own.
    let is_behind_router = attribute(rest, RTA_GATEWAY).or_else(|| attribute(rest, RTA_VIA)).is_some();
    (payload[7] == RTN_UNICAST).then_some(Route { interface, is_behind_router })
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
    let mut neighbours = Requests::new(NETLINK_ROUTE)?.list(RTM_GETNEIGH, &[0; 12], neighbour)?;
    neighbours.sort_by_key(|own| (own.is_confirmed, std::cmp::Reverse(own.age)));
    Ok(neighbours)
}

/// MAC addresses and the bridge ports behind which they are, by index.
///
/// # Errors
/// The system has no netlink socket left.
pub fn ports() -> io::Result<Vec<(Mac, u32)>> {
    let mut request = [0; 12];
    request[0] = AF_BRIDGE;
    Requests::new(NETLINK_ROUTE)?.list(RTM_GETNEIGH, &request, port)
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
        Events::new(NETLINK_ROUTE, RTNLGRP_NEIGH).map(NeighbourEvents)
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
            if kind != RTM_NEWNEIGH {
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
    let state = u16::from_ne_bytes(*payload.get(8..)?.first_chunk()?);
    let mac = Mac(*attribute(payload.get(12..)?, NDA_LLADDR)?.first_chunk()?);
    // A permanent one is the port's own.
    (state & NUD_PERMANENT == 0 && !mac.is_multicast()).then_some((mac, word(payload, 4)?))
}

/// `struct ndmsg` and its attributes.
fn neighbour(payload: &[u8]) -> Option<Neighbour> {
    let interface = word(payload, 4)?;
    let state = u16::from_ne_bytes(*payload.get(8..)?.first_chunk()?);
    let (mut address, mut mac, mut age) = (None, None, 0);
    for (kind, value) in attributes(payload.get(12..)?) {
        match kind {
            NDA_DST => address = ip(value),
            // First the ticks since the entry was confirmed.
            NDA_CACHEINFO => age = word(value, 0).unwrap_or(0),
            NDA_LLADDR => mac = value.try_into().ok().map(Mac),
            _ => {}
        }
    }
    let mac = mac.filter(|mac| !mac.is_multicast() && mac.0 != [0; 6])?;
    let is_confirmed = state & NUD_REACHABLE != 0;
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
