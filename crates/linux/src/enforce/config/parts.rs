//! The parts of a configuration.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;
use std::path::PathBuf;

use fairair_core::control::CapacityParams;
use fairair_core::mac::Phy;
use fairair_core::shaper::QueueRule;
use fairair_core::units::{Bitrate, Bytes, Duration};
use ipnet::IpNet;

use super::{Channel, Mac};

/// How packets pass the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The box is the stations' router.
    Routed,
    /// Both interfaces are ports of one bridge.
    Bridged,
}

/// Queue of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Discipline.
    pub kind: LeafKind,
    /// How much waits.
    pub queue: QueueRule,
    /// Bytes that a class of the least weight sends a round.
    pub quantum: Bytes,
    /// Bytes that it may send at once, so that the radio aggregates them; zero: a packet at a time.
    pub batch: Bytes,
}

/// Discipline of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    /// Flows apart where the kernel can, else first-in first-out.
    Auto,
    /// One first-in first-out queue, as in detti2011.
    Fifo,
    /// FQ-CoDel, where the kernel has it.
    FqCodel,
}

/// What happens to packets that the kernel carries as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gso {
    /// Split in pools that may be slower than 1 Gbit/s: there, 64 kB at once hold up all others.
    Auto,
    /// Always split.
    Split,
    /// Never.
    Keep,
}

impl Gso {
    /// Whether such packets are split at `rate`.
    pub fn splits(self, rate: Bitrate) -> bool {
        self == Gso::Split || self == Gso::Auto && rate < Bitrate::mbps(1000)
    }
}

/// One access point. It has a pool of capacity, alone or with the others on its channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Ap {
    /// Name, unique.
    pub name: String,
    /// Interface towards it; several may share one if they have prefixes.
    pub interface: String,
    /// Prefixes of its stations; empty: all behind the interface.
    pub prefixes: Vec<IpNet>,
    /// Its channel; `None`: no other AP shares its air.
    pub channel: Option<Channel>,
    /// What sets its capacity; the same at all APs of a channel.
    pub capacity: CapacityParams,
    /// Its radio, for `airtime`, `air` and the largest capacity.
    pub phy: Option<Phy>,
    /// Rate of its MAC ACKs at most, for `airtime` and `air`.
    pub basic_rate: Option<Bitrate>,
}

impl Ap {
    /// The largest C that its pool may have, and C to begin with.
    pub const fn most(&self) -> Bitrate {
        self.capacity.bounds().1
    }
}

/// A station that is known beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Name, unique.
    pub name: String,
    /// Name of its AP, where the prefixes do not say.
    pub ap: Option<String>,
    /// MAC address: all addresses that the neighbour table has for it belong to the station.
    pub mac: Option<Mac>,
    /// Addresses.
    pub addresses: Vec<IpAddr>,
    /// Weight and cap.
    pub plan: Plan,
    /// PHY rate of its data frames, for `airtime`.
    pub rate: Option<Bitrate>,
}

/// A station's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Share of C against the others' when all have backlog.
    pub weight: f64,
    /// Most that it gets.
    pub cap: Option<Bitrate>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { weight: 1.0, cap: None }
    }
}

/// An address or a set of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matcher {
    /// Addresses.
    Net(IpNet),
    /// One device.
    Mac(Mac),
}

impl Matcher {
    /// Whether a device with these is one of them.
    pub fn has(&self, address: Option<IpAddr>, mac: Option<Mac>) -> bool {
        match self {
            Matcher::Net(net) => address.is_some_and(|address| net.contains(&address)),
            Matcher::Mac(own) => mac == Some(*own),
        }
    }
}

impl Display for Matcher {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Matcher::Net(net) if net.prefix_len() == net.max_prefix_len() => net.addr().fmt(to),
            Matcher::Net(net) => net.fmt(to),
            Matcher::Mac(mac) => mac.fmt(to),
        }
    }
}

/// Where decisions and stations are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// SQLite database.
    pub file: PathBuf,
    /// Rows older than this go.
    pub keep: Duration,
    /// Where what the capacity machines see is kept for replay; `None`: nowhere.
    pub log: Option<PathBuf>,
    /// Most that the files of that log have together.
    pub log_limit: Bytes,
}
