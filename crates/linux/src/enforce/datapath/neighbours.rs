//! The kernel's neighbour table: which address is at which MAC address; and bridges' tables: which MAC address is
//! behind which port.

use std::io;
use std::net::IpAddr;

use super::wire::{Requests, attribute, attributes};
use crate::enforce::config::Mac;

const ROUTE: isize = 0;
const GET_NEIGHBOUR: u16 = 30;
const DESTINATION: u16 = 1;
const LINK_ADDRESS: u16 = 2;
/// REACHABLE, STALE, DELAY, PROBE and PERMANENT: all but those that never answered, or no longer do.
const VALID: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Index of the interface.
    pub interface: u32,
    /// Its address.
    pub address: IpAddr,
    /// Who has it.
    pub mac: Mac,
}

/// All entries that are or were good.
///
/// # Errors
/// The system has no netlink socket left.
pub fn neighbours() -> io::Result<Vec<Neighbour>> {
    let mut neighbours = Vec::new();
    Requests::new(ROUTE)?.dump(GET_NEIGHBOUR, &[0; 12], |payload| neighbours.extend(neighbour(payload)))?;
    Ok(neighbours)
}

/// MAC addresses and the bridge ports behind which they are, by index.
///
/// # Errors
/// The system has no netlink socket left.
pub fn ports() -> io::Result<Vec<(Mac, u32)>> {
    const AF_BRIDGE: u8 = 7;
    let mut request = [0; 12];
    request[0] = AF_BRIDGE;
    let mut ports = Vec::new();
    Requests::new(ROUTE)?.dump(GET_NEIGHBOUR, &request, |payload| {
        let port = payload.get(4..).and_then(|rest| rest.first_chunk()).map(|index| u32::from_ne_bytes(*index));
        let mac = payload.get(12..).and_then(|rest| attribute(rest, LINK_ADDRESS)?.first_chunk().copied());
        ports.extend(mac.map(Mac).zip(port));
    })?;
    Ok(ports)
}

/// `struct ndmsg` and its attributes.
fn neighbour(payload: &[u8]) -> Option<Neighbour> {
    let interface = u32::from_ne_bytes(*payload.get(4..)?.first_chunk()?);
    let state = u16::from_ne_bytes(*payload.get(8..)?.first_chunk()?);
    let (mut address, mut mac) = (None, None);
    for (kind, value) in attributes(payload.get(12..)?) {
        match (kind, value.len()) {
            (DESTINATION, 4) => address = value.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
            (DESTINATION, 16) => address = value.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
            (LINK_ADDRESS, 6) => mac = value.first_chunk::<6>().map(|octets| Mac(*octets)),
            _ => {}
        }
    }
    let mac = mac.filter(|mac| !mac.is_multicast() && mac.0 != [0; 6])?;
    (state & VALID != 0).then_some(Neighbour { interface, address: address?, mac })
}
