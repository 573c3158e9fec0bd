//! What others may have changed: interfaces, filters and rules, looked at over netlink without starting a process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::wire::{Requests, attribute};

const ROUTE: isize = 0;
const NETFILTER: isize = 12;
const GET_FILTER: u16 = 46;
/// `NFNL_SUBSYS_NFTABLES` and `NFT_MSG_GETGEN`.
const GET_GENERATION: u16 = 0x0a10;
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
        let (route, netfilter) = (Requests::new(ROUTE)?, Requests::new(NETFILTER)?);
        Ok(Watch { route, netfilter, bound: BTreeMap::new(), generation: None, rules: String::new() })
    }

    /// Preferences of the filters at `parent` of the interface with number `index`.
    ///
    /// # Errors
    /// Netlink's.
    pub(super) fn filters(&mut self, index: u32, parent: u32) -> io::Result<BTreeSet<u16>> {
        let mut request = vec![0; 4];
        request.extend((index as i32).to_ne_bytes());
        request.extend(0_u32.to_ne_bytes());
        request.extend(parent.to_ne_bytes());
        request.extend(0_u32.to_ne_bytes());
        let mut found = BTreeSet::new();
        self.route.dump(GET_FILTER, &request, |payload| {
            let info =
                payload.get(16..).and_then(|rest| rest.first_chunk()).map_or(0, |info| u32::from_ne_bytes(*info));
            found.insert((info >> 16) as u16);
        })?;
        Ok(found)
    }

    /// Grows by one with every change of nftables in this namespace, ours or others'.
    ///
    /// # Errors
    /// Netlink's.
    pub(super) fn generation(&mut self) -> io::Result<u32> {
        let mut generation = None;
        self.netfilter.get(GET_GENERATION, &[0; 4], |payload| {
            let value = payload.get(4..).and_then(|rest| attribute(rest, 1));
            generation = value.and_then(|value| value.first_chunk()).map(|value| u32::from_be_bytes(*value));
        })?;
        generation.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "nftables tells no generation"))
    }
}
