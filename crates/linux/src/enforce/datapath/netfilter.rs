//! What nftables has counted and seen, over netlink and without starting a process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use libc::{NFNL_SUBSYS_NFTABLES, NFPROTO_BRIDGE, NFPROTO_INET, NFT_MSG_GETOBJ, NFT_MSG_GETSETELEM};
use netlink_sys::constants::NETLINK_NETFILTER;

use super::TABLE;
use super::chains::fields;
use super::layout::Key;
use super::udp_flows::{UdpFlowKey, key};
use super::wire::{Requests, attribute, attributes, put};
use crate::enforce::config::{Mac, Mode};
use crate::enforce::octets::ip;

/// A request to nftables.
pub(super) const fn nftables(message: libc::c_int) -> u16 {
    (NFNL_SUBSYS_NFTABLES << 8 | message) as u16
}

/// IP bytes that came to the box for or from a pool, before the shaper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Towards the stations.
    pub down: u64,
    /// From the stations, uplink UDP that passes by included.
    pub up: u64,
    /// Uplink UDP that passes by.
    pub udp: u64,
    /// What is not TCP towards the stations: it may not back off.
    pub other_down: u64,
    /// The same from the stations, without UDP that passes by.
    pub other_up: u64,
}

/// What the table holds of flows of UDP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UdpFlowsSeen {
    /// Packets and IP bytes up.
    pub up: BTreeMap<UdpFlowKey, (u64, u64)>,
    /// Packets down.
    pub back: BTreeMap<UdpFlowKey, u64>,
    /// Those that are shaped.
    pub shaped: BTreeSet<UdpFlowKey>,
}

/// Counters and sets of our table.
#[derive(Debug)]
pub struct Netfilter {
    requests: Requests,
    mode: Mode,
}

impl Netfilter {
    /// For the table of `mode`.
    ///
    /// # Errors
    /// The system has no netlink socket left.
    pub fn new(mode: Mode) -> io::Result<Self> {
        Ok(Netfilter { requests: Requests::new(NETLINK_NETFILTER)?, mode })
    }

    fn header(&self) -> Vec<u8> {
        let family = if self.mode == Mode::Routed { NFPROTO_INET } else { NFPROTO_BRIDGE };
        let mut header = vec![family as u8, 0, 0, 0];
        put(&mut header, 1, format!("{TABLE}\0").as_bytes());
        header
    }

    /// Counters of the pools, by their number: none if the table is gone.
    ///
    /// # Errors
    /// Netlink's; `into` is as it was.
    pub fn arrivals(&mut self, into: &mut BTreeMap<u16, Arrivals>) -> io::Result<()> {
        let mut read: BTreeMap<u16, Arrivals> = BTreeMap::new();
        let request = self.header();
        self.requests.dump(nftables(NFT_MSG_GETOBJ), &request, |payload| {
            let Some((pool, direction, bytes)) = counter(payload) else { return };
            let arrivals = read.entry(pool).or_default();
            match direction {
                "down" => arrivals.down = bytes,
                "up" => arrivals.up = bytes,
                "odown" => arrivals.other_down = bytes,
                "oup" => arrivals.other_up = bytes,
                _ => arrivals.udp = bytes,
            }
        })?;
        *into = read;
        Ok(())
    }

    /// Addresses that have no class.
    ///
    /// # Errors
    /// The table is gone.
    pub fn newcomers(&mut self) -> io::Result<Vec<Key>> {
        Ok(self.elements("new")?.into_iter().map(|(key, _)| key).collect())
    }

    /// Addresses that have a class.
    ///
    /// # Errors
    /// The table is gone.
    pub fn members(&mut self) -> io::Result<Vec<Key>> {
        Ok(self.elements("class")?.into_iter().map(|(key, _)| key).collect())
    }

    /// Who sends UDP past the shaper, and how many bytes since it was first seen.
    ///
    /// # Errors
    /// The table is gone.
    pub fn udp_senders(&mut self) -> io::Result<Vec<(Key, u64)>> {
        self.elements("udp")
    }

    /// Whom packets of pool `id` came from and went to, and their IP bytes since it was first seen: where classes are not by station.
    ///
    /// # Errors
    /// The table is gone.
    pub fn talkers(&mut self, id: u16) -> io::Result<Vec<(Key, u64)>> {
        self.elements(&format!("talk{id}_"))
    }

    /// Flows of UDP that went up lately, what came back for them, and which are shaped; packets and IP bytes since a flow was first seen.
    ///
    /// # Errors
    /// The table is gone.
    pub fn udp_flows(&mut self) -> io::Result<UdpFlowsSeen> {
        let mut seen = UdpFlowsSeen::default();
        let flow = |item: &[u8]| Some((key(value(item)?)?, counted(item)));
        for suffix in ["4", "6"] {
            self.dump(&format!("fup{suffix}"), |item| seen.up.extend(flow(item)))?;
            self.dump(&format!("fback{suffix}"), |item| {
                seen.back.extend(flow(item).map(|(key, count)| (key, count.0)));
            })?;
            self.dump(&format!("answers{suffix}"), |item| seen.shaped.extend(flow(item).map(|(key, _)| key)))?;
        }
        Ok(seen)
    }

    fn elements(&mut self, set: &str) -> io::Result<Vec<(Key, u64)>> {
        let mut elements = Vec::new();
        for (_, suffix, _) in fields(self.mode) {
            self.dump(&format!("{set}{suffix}"), |item| elements.extend(element(item)))?;
        }
        Ok(elements)
    }

    fn dump(&mut self, set: &str, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let mut request = self.header();
        put(&mut request, 2, format!("{set}\0").as_bytes());
        self.requests.dump(nftables(NFT_MSG_GETSETELEM), &request, |payload| {
            let list = payload.get(4..).and_then(|rest| attribute(rest, 3)).unwrap_or_default();
            attributes(list).for_each(|(_, item)| each(item));
        })
    }
}

/// A counter of the table: pool, direction, bytes.
fn counter(payload: &[u8]) -> Option<(u16, &str, u64)> {
    let rest = payload.get(4..)?;
    let name = std::str::from_utf8(attribute(rest, 2)?).ok()?.trim_end_matches('\0');
    let (pool, direction) = name.strip_prefix('p')?.split_once('_')?;
    let bytes = attribute(attribute(rest, 4)?, 1)?;
    Some((pool.parse().ok()?, direction, u64::from_be_bytes(*bytes.first_chunk()?)))
}

/// An element of a set: its key, and what its counter says.
fn element(item: &[u8]) -> Option<(Key, u64)> {
    let value = value(item)?;
    let key = match value.len() {
        // Padded to eight.
        6 | 8 => Key::Mac(Mac(*value.first_chunk()?)),
        _ => Key::Ip(ip(value)?),
    };
    Some((key, counted(item).1))
}

/// The key of an element.
fn value(item: &[u8]) -> Option<&[u8]> {
    attribute(attribute(item, 1)?, 1)
}

/// Packets and bytes of an element's counter.
fn counted(item: &[u8]) -> (u64, u64) {
    let counter = attribute(item, 7).and_then(|expression| attribute(expression, 2));
    let number = |kind| {
        counter.and_then(|counter| attribute(counter, kind)?.first_chunk()).map_or(0, |n| u64::from_be_bytes(*n))
    };
    (number(2), number(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_cannot_be_read_stay() {
        let before = BTreeMap::from([(1, Arrivals { up: 7, ..Arrivals::default() })]);
        // The family of interfaces knows no tables.
        let mut netfilter = Netfilter { requests: Requests::new(0).unwrap(), mode: Mode::Routed };
        let mut now = before.clone();
        assert!(netfilter.arrivals(&mut now).is_err());
        assert_eq!(now, before);
    }
}
