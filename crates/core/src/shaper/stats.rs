//! What the box counts.

use serde::{Deserialize, Serialize};

use crate::qdisc::QueueStats;
use crate::units::Bytes;

/// Counters of one station since the last [`Vsb::reset_stats`](super::Vsb::reset_stats).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StationStats {
    /// Packets of the station that went through the box, whatever the policy.
    pub queue: QueueStats,
    /// IP bytes that the box let pass, by [`Direction`](crate::packet::Direction).
    pub passed: [Bytes; 2],
    /// IP bytes of uplink traffic that the box was not asked about.
    pub bypassed: Bytes,
}

/// IP bytes of a station since the box was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Let pass towards the radio.
    pub down: Bytes,
    /// Arrived from the radio.
    pub up: Bytes,
    /// Of `up`, those that passed by the box: UDP.
    pub up_bypassing: Bytes,
}
