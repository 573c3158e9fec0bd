//! The Virtual Shared Bottleneck (detti2011 section 4): a shaper between gateway and AP.
//!
//! The radio is half-duplex, so the box is too: both directions of a station wait in one queue, and all queues share
//! one capacity C, in IP bytes of both directions. With C a little below what the cell can carry the queue of the path
//! stands here, where it can be divided at will, and not in the AP.

pub mod limit;
mod pacer;
mod stats;
mod udp;
mod vsb;
#[cfg(test)]
mod vsb_tests;
mod waiting;
mod weights;

pub use limit::QueueRule;
pub use pacer::Pacer;
pub use stats::{StationStats, Totals};
pub use udp::{UdpChange, UdpFlow, UdpSeen, Verdict};
pub use vsb::Vsb;
pub use weights::{airtime_per_byte, phy_rate_weight};

use serde::{Deserialize, Serialize};

use crate::units::{Bitrate, Bytes, Duration};

/// What an equal share is equal between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Stations, in IP bytes of both directions (detti2011 section 4.1).
    #[default]
    PerStation,
    /// Stations, in air: bytes weighted by the inverse of a station's airtime per IP byte, ACK share included.
    Airtime,
    /// Stations, in the paper's approximation of air: bytes weighted by the PHY rate.
    AirtimePhy,
    /// All packets up and all packets down (detti2011 App. V, Fig. 13).
    PerDirection,
    /// Connections, both directions of each together (detti2011 App. V, Fig. 14, without its hash collisions).
    PerFlow,
}

impl Policy {
    /// Whether a station is one class: weights and caps mean something.
    pub const fn is_by_station(self) -> bool {
        matches!(self, Policy::PerStation | Policy::Airtime | Policy::AirtimePhy)
    }
}

/// What has a C of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolRule {
    /// The channel: its access points share one C.
    #[default]
    Channel,
    /// Each access point, whatever else is on its channel.
    Ap,
}

/// What to do with uplink UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UdpRule {
    /// It passes by the box: it has used the air already, and nobody would slow down (detti2011 App. IV).
    #[default]
    BypassUplink,
    /// It is shaped as TCP is.
    Shape,
    /// It is shaped where its sender answers congestion, as QUIC's does, and passes by where not ([`Verdict`]).
    Auto,
}

/// How the flows of a class wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeafRule {
    /// In one queue (detti2011).
    #[default]
    Fifo,
    /// Apart: TCP without data first, connections in eight buckets by hash, as the live box does without FQ-CoDel.
    Auto,
}

/// Most that a round of batches lasts: who has one packet waits no longer for its turn.
pub const ROUND: Duration = Duration::from_millis(100);
/// Least queue of a class with [`QueueRule::Auto`], in batches: while one goes the next one gathers, and TCP may lose some of it.
pub const BATCHES: u64 = 4;

/// Bytes that a round gives the lightest class while `active` classes have packets; `quantum` without a `batch`.
pub fn turn(batch: Bytes, quantum: Bytes, capacity: Bitrate, active: usize) -> Bytes {
    if batch == Bytes(0) {
        return quantum;
    }
    let fits = Bytes(capacity.bytes_in(ROUND).0 / active.max(1) as u64);
    batch.min(fits).max(quantum)
}

/// What the user chose for the box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VsbParams {
    /// Who shares equally.
    pub policy: Policy,
    /// Whether access points share their channel. [`Vsb`] is one pool in any case.
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub pool: PoolRule,
    /// How much waits in one class (detti2011: 200 packets).
    pub queue: QueueRule,
    /// Whether the flows of a class wait for each other.
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub leaf: LeafRule,
    /// Bytes that a class of weight 1 sends a round, at least 1.
    pub quantum: Bytes,
    /// Bytes that leave at once, before C has paid for them, so that the radio aggregates them; a round then gives a class as much, but
    /// lasts no longer than [`ROUND`]. Zero: a packet at a time.
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub batch: Bytes,
    /// Whether uplink UDP is shaped.
    pub udp: UdpRule,
}

impl Default for VsbParams {
    fn default() -> Self {
        VsbParams {
            policy: Policy::PerStation,
            pool: PoolRule::Channel,
            queue: QueueRule::Packets(200),
            leaf: LeafRule::Fifo,
            quantum: Bytes(1500),
            batch: Bytes(0),
            udp: UdpRule::BypassUplink,
        }
    }
}

/// A station's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Its share of C against the others' when both have backlog; above 0.
    pub weight: f64,
    /// Most that it gets, in IP bytes of both directions.
    pub cap: Option<Bitrate>,
}

impl Default for Share {
    fn default() -> Self {
        Share { weight: 1.0, cap: None }
    }
}
