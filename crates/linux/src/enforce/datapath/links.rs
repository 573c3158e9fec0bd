//! Interfaces as the kernel has them.

use std::io;

use ipnet::IpNet;
use libc::{
    IFA_ADDRESS, IFA_LOCAL, IFF_NOARP, IFF_POINTOPOINT, IFF_UP, IFLA_ADDRESS, IFLA_IFNAME, IFLA_INFO_KIND,
    IFLA_LINKINFO, IFLA_MASTER, IFLA_MTU, RTM_GETADDR, RTM_GETLINK,
};
use netlink_sys::constants::NETLINK_ROUTE;

use super::wire::{Requests, attribute, attributes};
use crate::enforce::config::Mac;
use crate::enforce::octets::{ip, word};

/// Flags of interfaces behind which nobody is found by ARP or ND.
const WITHOUT_NEIGHBOURS: u32 = (IFF_POINTOPOINT | IFF_NOARP) as u32;
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
    Requests::new(NETLINK_ROUTE)?.list(RTM_GETADDR, &[0; 8], own_address)
}

/// `struct ifaddrmsg` and its attributes.
fn own_address(payload: &[u8]) -> Option<OwnAddress> {
    let (length, rest) = (*payload.get(1)?, payload.get(8..)?);
    // They differ at the ends of a point-to-point link only.
    let octets = attribute(rest, IFA_LOCAL).or_else(|| attribute(rest, IFA_ADDRESS))?;
    Some(OwnAddress { interface: word(payload, 4)?, net: IpNet::new(ip(octets)?, length).ok()? })
}

/// All interfaces of this network namespace.
///
/// # Errors
/// The system has no netlink socket left.
pub fn links() -> io::Result<Vec<Link>> {
    Requests::new(NETLINK_ROUTE)?.list(RTM_GETLINK, &[0; 16], link)
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
    let flags = word(payload, 8)?;
    let mut link = Link { index: word(payload, 4)?, is_up: flags & IFF_UP as u32 != 0, ..Link::default() };
    link.is_without_neighbours = flags & WITHOUT_NEIGHBOURS != 0;
    for (kind, value) in attributes(payload.get(16..)?) {
        match kind {
            IFLA_IFNAME => link.name = String::from_utf8_lossy(value.strip_suffix(b"\0").unwrap_or(value)).into_owned(),
            IFLA_MTU => link.mtu = word(value, 0)?,
            IFLA_ADDRESS if value.len() == 6 => link.mac = value.first_chunk().map(|octets| Mac(*octets)),
            IFLA_MASTER => link.master = word(value, 0),
            IFLA_LINKINFO => {
                let kind = attribute(value, IFLA_INFO_KIND);
                link.is_bridge = kind.is_some_and(|kind| kind.starts_with(b"bridge"));
            }
            _ => {}
        }
    }
    Some(link)
}
