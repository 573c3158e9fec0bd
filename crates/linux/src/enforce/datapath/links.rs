//! Interfaces as the kernel has them.

use std::io;

use super::wire::{Requests, attributes};

const ROUTE: isize = 0;
const GET_LINK: u16 = 18;
const UP: u32 = 1;
const NAME: u16 = 3;
const MTU: u16 = 4;

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
    let mut link =
        Link { index: word(payload.get(4..)?)?, is_up: word(payload.get(8..)?)? & UP != 0, ..Link::default() };
    for (kind, value) in attributes(payload.get(16..)?) {
        match kind {
            NAME => link.name = String::from_utf8_lossy(value.strip_suffix(b"\0").unwrap_or(value)).into_owned(),
            MTU => link.mtu = word(value)?,
            _ => {}
        }
    }
    Some(link)
}
