//! What others may have changed: interfaces, filters and rules, looked at over netlink without starting a process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use libc::{NFT_MSG_GETGEN, RTM_GETTFILTER};
use netlink_sys::constants::{NETLINK_NETFILTER, NETLINK_ROUTE};

use super::netfilter::nftables;
use super::wire::{Requests, attribute, traffic_control};
use crate::enforce::octets::word;

/// Egress of clsact.
pub(super) const EGRESS: u32 = 0xffff_fff3;

/// Looks at the kernel.
#[derive(Debug)]
pub(super) struct Watch {
    route: Requests,
    netfilter: Requests,
    /// Number that an interface had when it was redirected, by name.
    pub(super) bound: BTreeMap<String, u32>,
    /// nftables as it was when last compared.
    pub(super) generation: Option<u32>,
    /// Our rules, as listed after we wrote them.
    pub(super) rules: String,
}

impl Watch {
    /// # Errors
    /// The system has no netlink socket left.
    pub(super) fn new() -> io::Result<Self> {
        let (route, netfilter) = (Requests::new(NETLINK_ROUTE)?, Requests::new(NETLINK_NETFILTER)?);
        Ok(Watch { route, netfilter, bound: BTreeMap::new(), generation: None, rules: String::new() })
    }

    /// Preferences of the filters at `parent` of the interface with number `index`.
    ///
    /// # Errors
    /// Netlink's.
    pub(super) fn filters(&mut self, index: u32, parent: u32) -> io::Result<BTreeSet<u16>> {
        let request = traffic_control(index, 0, parent);
        let preference = |payload: &[u8]| Some((word(payload, 16).unwrap_or(0) >> 16) as u16);
        Ok(self.route.list(RTM_GETTFILTER, &request, preference)?.into_iter().collect())
    }

    /// Grows by one with every change of nftables in this namespace, ours or others'.
    ///
    /// # Errors
    /// Netlink's.
    pub(super) fn generation(&mut self) -> io::Result<u32> {
        let mut generation = None;
        self.netfilter.get(nftables(NFT_MSG_GETGEN), &[0; 4], |payload| {
            let value = payload.get(4..).and_then(|rest| attribute(rest, 1));
            generation = value.and_then(|value| value.first_chunk()).map(|value| u32::from_be_bytes(*value));
        })?;
        generation.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "nftables tells no generation"))
    }
}
