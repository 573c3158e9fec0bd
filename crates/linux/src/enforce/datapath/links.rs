//! Interfaces as the kernel has them.

use std::io;
use std::net::IpAddr;

use ipnet::IpNet;

use super::wire::{Requests, attribute, attributes};
use crate::enforce::config::Mac;

const ROUTE: isize = 0;
const GET_LINK: u16 = 18;
const GET_ADDRESS: u16 = 22;
const UP: u32 = 1;
/// `IFF_POINTOPOINT` and `IFF_NOARP`.
const WITHOUT_NEIGHBOURS: u32 = 0x10 | 0x80;
const LINK_ADDRESS: u16 = 1;
const NAME: u16 = 3;
const MTU: u16 = 4;
const MASTER: u16 = 10;
const INFO: u16 = 18;
const KIND: u16 = 1;
/// `IFA_ADDRESS` and `IFA_LOCAL`; they differ at the ends of a point-to-point link only.
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Number; a new interface has a new one, a renamed one keeps it.
    pub index: u32,
    /// Name.
    pub name: String,
    /// Largest packet without its link header, in bytes.
    pub mtu: u32,
    /// Whether it is administratively up.
    pub is_up: bool,
    /// Its MAC address.
    pub mac: Option<Mac>,
    /// Number of the bridge (or bond) whose port it is.
    pub master: Option<u32>,
    /// Whether it is a bridge.
    pub is_bridge: bool,
    /// Whether nobody is found by ARP or ND behind it.
    pub is_without_neighbours: bool,
}

/// An address of this box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnAddress {
    /// Number of the interface.
    pub interface: u32,
    /// The address with the length of its prefix.
    pub net: IpNet,
}

/// All addresses of this box.
///
/// # Errors
/// The system has no netlink socket left.
pub fn own_addresses() -> io::Result<Vec<OwnAddress>> {
    let mut addresses = Vec::new();
    Requests::new(ROUTE)?.dump(GET_ADDRESS, &[0; 8], |payload| addresses.extend(own_address(payload)))?;
    Ok(addresses)
}

/// `struct ifaddrmsg` and its attributes.
fn own_address(payload: &[u8]) -> Option<OwnAddress> {
    let length = *payload.get(1)?;
    let interface = u32::from_ne_bytes(*payload.get(4..)?.first_chunk()?);
    let rest = payload.get(8..)?;
    let octets = attribute(rest, LOCAL).or_else(|| attribute(rest, ADDRESS))?;
    let address = match octets.len() {
        4 => IpAddr::from(*octets.first_chunk::<4>()?),
        _ => IpAddr::from(*octets.first_chunk::<16>()?),
    };
    Some(OwnAddress { interface, net: IpNet::new(address, length).ok()? })
}

/// All interfaces of this network namespace.
///
/// # Errors
/// The system has no netlink socket left.
pub fn links() -> io::Result<Vec<Link>> {
    let mut links = Vec::new();
    Requests::new(ROUTE)?.dump(GET_LINK, &[0; 16], |payload| links.extend(link(payload)))?;
    Ok(links)
}

/// The interface `name`.
///
/// # Errors
/// There is no such interface.
pub fn link_named(name: &str) -> io::Result<Link> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("there is no interface {name}"));
    links()?.into_iter().find(|link| link.name == name).ok_or_else(missing)
}

/// `struct ifinfomsg` and its attributes.
fn link(payload: &[u8]) -> Option<Link> {
    let word = |bytes: &[u8]| bytes.first_chunk().map(|word| u32::from_ne_bytes(*word));
    let flags = word(payload.get(8..)?)?;
    let mut link = Link { index: word(payload.get(4..)?)?, is_up: flags & UP != 0, ..Link::default() };
    link.is_without_neighbours = flags & WITHOUT_NEIGHBOURS != 0;
    for (kind, value) in attributes(payload.get(16..)?) {
        match kind {
            NAME => link.name = String::from_utf8_lossy(value.strip_suffix(b"\0").unwrap_or(value)).into_owned(),
            MTU => link.mtu = word(value)?,
            LINK_ADDRESS if value.len() == 6 => link.mac = value.first_chunk().map(|octets| Mac(*octets)),
            MASTER => link.master = word(value),
            INFO => link.is_bridge = attribute(value, KIND).is_some_and(|kind| kind.starts_with(b"bridge")),
            _ => {}
        }
    }
    Some(link)
}
