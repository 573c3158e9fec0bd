//! What the daemon counts, and what follows from it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fairair_core::packet::Direction;

use super::limits::Smoothed;
use super::rates::{Drops, Rates};
use super::station_log::StationLog;
use super::wan::LinkCounts;
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
    /// What classes had sent at the last look for silent stations.
    pub(super) sent_before: BTreeMap<u16, u64>,
    /// When the classes were read, and how long that took; `None`: the last time failed.
    pub(super) read: Option<(Instant, Duration)>,
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
    /// What the journal knows of each slot: bytes, drops.
    pub(super) noted: BTreeMap<u16, (u64, u32)>,
}
