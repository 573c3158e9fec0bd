//! HTB classes over netlink: counters and backlogs ten times a second, and changes of C, without starting a process.

use std::collections::BTreeMap;
use std::io;

use fairair_core::units::Bitrate;
use libc::{RTM_GETQDISC, RTM_GETTCLASS, RTM_NEWQDISC, RTM_NEWTCLASS, TCA_KIND, TCA_OPTIONS, TCA_STATS2};
use netlink_sys::constants::NETLINK_ROUTE;

use super::layout::pool_minor;
use super::wire::{Requests, attribute, attributes, put, put_nested, traffic_control};
use crate::enforce::octets::word;

/// HTB is qdisc 1: of the IFB.
const MAJOR: u32 = 1 << 16;

const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
/// `struct tc_htb_xstats`.
const STATS_HTB: u16 = 4;
const HTB_PARMS: u16 = 1;
const HTB_RATE64: u16 = 6;
const HTB_CEIL64: u16 = 7;
const ETHERNET: u8 = 1;

/// Counters of a class since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStats {
    /// IP bytes sent, both directions.
    pub bytes: u64,
    /// Packets sent; wraps.
    pub packets: u32,
    /// Packets waiting now.
    pub backlog: u32,
    /// IP bytes waiting now.
    pub backlog_bytes: u32,
    /// Packets dropped since the queue was full; wraps.
    pub drops: u32,
    /// What waits, waits for the ceiling of the class, its cap: it had spent that when it sent last.
    pub is_at_ceiling: bool,
    /// What the class may do.
    pub parameters: ClassParameters,
}

/// Parameters of a class as the kernel has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassParameters {
    /// Guaranteed, bytes a second.
    pub rate: u64,
    /// At most, bytes a second.
    pub ceil: u64,
    /// Bytes a round.
    pub quantum: u32,
}

/// A queue below a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeafQueue {
    /// Its discipline.
    pub(super) kind: String,
    /// The first word of its options: the limit of FIFOs.
    pub(super) limit: u32,
}

/// The classes of the IFB.
#[derive(Debug)]
pub struct Classes {
    requests: Requests,
    /// Number of the IFB.
    pub(super) interface: u32,
}

impl Classes {
    /// For the IFB with index `interface`.
    ///
    /// # Errors
    /// The system has no netlink socket left.
    pub fn new(interface: u32) -> io::Result<Self> {
        Ok(Classes { requests: Requests::new(NETLINK_ROUTE)?, interface })
    }

    /// Counters of all classes, by minor number: none if the IFB is gone.
    ///
    /// # Errors
    /// Netlink's; `into` is as it was.
    pub fn read(&mut self, into: &mut BTreeMap<u16, ClassStats>) -> io::Result<()> {
        // With a parent only the classes of that qdisc are told, not those of the leaves' queues.
        let request = traffic_control(self.interface, 0, MAJOR);
        *into = self.requests.list(RTM_GETTCLASS, &request, class)?.into_iter().collect();
        Ok(())
    }

    /// Gives pool `id` the capacity `rate`, of which it may send `burst` bytes at once. Packets stay where they are.
    ///
    /// # Errors
    /// There is no such pool.
    pub fn set_capacity(&mut self, id: u16, rate: Bitrate, burst: u64) -> io::Result<()> {
        let bytes_per_second = (rate.as_bps() / 8).min(u64::from(u32::MAX)) as u32;
        // The kernel counts a burst as time, in units of 64 ns.
        let ticks = (burst * 1_000_000_000 / u64::from(bytes_per_second.max(1))) >> 6;
        let mut rate = [0; 12];
        rate[1] = ETHERNET;
        rate[8..].copy_from_slice(&bytes_per_second.to_ne_bytes());
        let mut parameters = Vec::with_capacity(44);
        parameters.extend(rate);
        parameters.extend(rate);
        for word in [ticks as u32, ticks as u32, 1500, 0, 0] {
            parameters.extend(u32::to_ne_bytes(word));
        }
        let mut options = Vec::new();
        put(&mut options, HTB_PARMS, &parameters);
        let mut request = traffic_control(self.interface, MAJOR | u32::from(pool_minor(id)), MAJOR);
        put(&mut request, TCA_KIND, b"htb\0");
        put_nested(&mut request, TCA_OPTIONS, &options);
        self.requests.change(RTM_NEWTCLASS, &request)
    }

    /// All queues of the IFB that have a parent, by that.
    ///
    /// # Errors
    /// Netlink's.
    pub(super) fn queues(&mut self) -> io::Result<BTreeMap<(u16, u16), LeafQueue>> {
        let own = self.interface;
        // The kernel tells those of all devices.
        let queue = |payload: &[u8]| leaf_queue(payload).filter(|_| word(payload, 4) == Some(own));
        let queues = self.requests.list(RTM_GETQDISC, &traffic_control(own, 0, 0), queue)?;
        Ok(queues.into_iter().collect())
    }

    /// Changes the options of the queues under `parents`, up to the first that is gone; answers whether all are there. Packets
    /// stay where they are.
    ///
    /// # Errors
    /// A queue is of another kind.
    pub(super) fn change_queues(
        &mut self,
        parents: impl IntoIterator<Item = (u16, u16)>,
        kind: &str,
        options: &[u8],
    ) -> io::Result<bool> {
        for (major, minor) in parents {
            let mut request = traffic_control(self.interface, 0, u32::from(major) << 16 | u32::from(minor));
            put(&mut request, TCA_KIND, format!("{kind}\0").as_bytes());
            put(&mut request, TCA_OPTIONS, options);
            match self.requests.change(RTM_NEWQDISC, &request) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                changed => changed?,
            }
        }
        Ok(true)
    }
}

fn leaf_queue(payload: &[u8]) -> Option<((u16, u16), LeafQueue)> {
    let (parent, rest) = (word(payload, 12)?, payload.get(20..)?);
    let kind = String::from_utf8_lossy(attribute(rest, TCA_KIND)?).trim_end_matches('\0').to_owned();
    let limit = attribute(rest, TCA_OPTIONS).and_then(|options| word(options, 0)).unwrap_or(0);
    Some((((parent >> 16) as u16, parent as u16), LeafQueue { kind, limit }))
}

/// Of `struct tc_htb_opt` and what stands beside it where 32 bits are too few.
fn parameters(options: &[u8]) -> Option<ClassParameters> {
    let all = attribute(options, HTB_PARMS)?;
    let wide =
        |kind| attribute(options, kind).and_then(|rate| rate.first_chunk()).map(|rate| u64::from_ne_bytes(*rate));
    Some(ClassParameters {
        rate: wide(HTB_RATE64).unwrap_or(u64::from(word(all, 8)?)),
        ceil: wide(HTB_CEIL64).unwrap_or(u64::from(word(all, 20)?)),
        quantum: word(all, 32)?,
    })
}

fn class(payload: &[u8]) -> Option<(u16, ClassStats)> {
    let handle = word(payload, 8)?;
    let own = payload.get(20..)?;
    let parameters = attribute(own, TCA_OPTIONS).and_then(parameters).unwrap_or_default();
    let mut stats = ClassStats { parameters, ..ClassStats::default() };
    for (kind, value) in attributes(attribute(own, TCA_STATS2)?) {
        match kind {
            STATS_BASIC => {
                stats.bytes = u64::from_ne_bytes(*value.first_chunk()?);
                stats.packets = word(value, 8)?;
            }
            STATS_QUEUE => {
                stats.backlog = word(value, 0)?;
                stats.backlog_bytes = word(value, 4)?;
                stats.drops = word(value, 8)?;
            }
            STATS_HTB => stats.is_at_ceiling = word(value, 16)?.cast_signed() < 0,
            _ => {}
        }
    }
    (handle & 0xffff_0000 == MAJOR).then_some((handle as u16, stats))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not known has not become nothing: the next look would take all since the start for new.
    #[test]
    fn counters_that_cannot_be_read_stay() {
        let before = BTreeMap::from([(0x1000, ClassStats { bytes: 7, ..ClassStats::default() })]);
        // nftables' family knows no classes.
        let mut classes = Classes { requests: Requests::new(12).unwrap(), interface: 1 };
        let mut now = before.clone();
        assert!(classes.read(&mut now).is_err());
        assert_eq!(now, before);
    }
}
