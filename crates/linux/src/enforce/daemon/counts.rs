//! What the daemon counts, and what follows from it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use fairair_core::packet::Direction;

use super::limits::Smoothed;
use super::rates::{Drops, Rates};
use super::station_log::StationLog;
use super::talkers::Talkers;
use super::wan::LinkCounts;
use crate::enforce::config::Mac;
use crate::enforce::datapath::{Arrivals, ClassStats, Key};
use crate::enforce::journal::Journal;
use crate::enforce::log::ControlLog;

/// Counters of kernel classes and packet filter as they were read last, and what has to be known of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Of classes, by minor number.
    pub(super) classes: BTreeMap<u16, ClassStats>,
    /// Rates of the last second.
    pub(super) rates: Rates,
    /// Drops since the start.
    pub(super) drops: Drops,
    /// Of the stages of the Internet link.
    pub(super) links: BTreeMap<Direction, LinkCounts>,
    /// Rates that limits of queues follow.
    pub(super) smoothed: Smoothed,
    /// What came from the APs, by pool.
    pub(super) arrivals: BTreeMap<u16, Arrivals>,
    /// Slots of stations that send UDP past the shaper, and the bytes in the last second.
    pub(super) udp: BTreeMap<u16, u64>,
    /// Bytes of UDP by sender a second ago.
    pub(super) udp_before: BTreeMap<Key, u64>,
    /// What passed of each station that has no class.
    pub(super) talkers: Talkers,
    /// What classes had sent at the last look for silent stations.
    pub(super) sent_before: BTreeMap<u16, u64>,
    /// When a station of each pool answered a probe last.
    pub(super) answered: BTreeMap<u16, Instant>,
    /// When the classes were read, and how long that took; `None`: the last time failed.
    pub(super) read: Option<(Instant, Duration)>,
}

/// A round-trip time is shown for so long: a fixed C is probed in trials only, and what was measured before says nothing of now.
const SHOWN: Duration = Duration::from_secs(10);

impl Counts {
    /// What class `minor` has counted; nothing if there is none.
    pub(super) fn class(&self, minor: u16) -> ClassStats {
        self.classes.get(&minor).copied().unwrap_or_default()
    }

    /// Whether a station of `pool` answered a probe so recently that its round-trip time is that of now.
    pub(super) fn is_heard(&self, pool: u16, now: Instant) -> bool {
        self.answered.get(&pool).is_some_and(|at| now < *at + SHOWN)
    }
}

/// What the daemon writes down.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// For people.
    pub(super) journal: Journal,
    /// For the system's log.
    pub(super) stations: StationLog,
    /// For `replay`.
    pub(super) log: ControlLog,
    /// Addresses that moved to a MAC address.
    pub(super) claims: BTreeMap<(IpAddr, Mac), Claim>,
    /// What the journal knows of each slot: bytes, drops.
    pub(super) noted: BTreeMap<u16, (u64, u32)>,
}

/// That an address moved.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    /// When that was told, in seconds of the daemon.
    pub(super) told_s: u64,
    /// The MAC address that had it before.
    pub(super) before: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_round_trip_time_is_not_that_of_now() {
        let (mut counts, now) = (Counts::default(), Instant::now());
        assert!(!counts.is_heard(0, now));
        counts.answered.insert(0, now);
        assert!(counts.is_heard(0, now + SHOWN / 2) && !counts.is_heard(1, now) && !counts.is_heard(0, now + SHOWN));
    }
}
