//! What the kernel should hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use fairair_core::packet::Direction;
use fairair_core::shaper::{Policy, UdpRule};
use fairair_core::units::{Bitrate, Bytes};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::enforce::config::{Leaf, Mac, Matcher, Mode};

/// How a packet shows its station: by address when routing, by MAC address when bridging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Key {
    /// Routed mode.
    Ip(IpAddr),
    /// Bridged mode.
    Mac(Mac),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Ip(ip) => ip.fmt(f),
            Key::Mac(mac) => mac.fmt(f),
        }
    }
}

/// Where the stations of an AP are.
#[derive(Clone, Debug, PartialEq)]
pub struct ApInterface {
    /// Interface towards the AP.
    pub interface: String,
    /// Prefixes of its stations; empty: all behind the interface.
    pub prefixes: Vec<IpNet>,
}

/// A pool: the capacity of an AP or of a channel, shared by the leaves in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Number of the pool, below [`MOST_POOLS`]; it stays as long as the pool has its name.
    pub id: u16,
    /// One for each AP.
    pub ap_interfaces: Vec<ApInterface>,
    /// C.
    pub rate: Bitrate,
    /// IP bytes that a class of the least weight sends at once: the quantum, with `batch` more.
    pub turn: Bytes,
    /// Packets that the kernel carries as one are split.
    pub splits: bool,
    /// A capacity machine asks what came for it and from it.
    pub is_counted: bool,
}

/// The class of a station (or of a direction, or of a bucket of flows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafClass {
    /// Its pool.
    pub pool: u16,
    /// IP bytes a round of packets: its weight in units of the configured quantum. A round of batches gives it [`Layout::turn_of`].
    pub quantum: u32,
    /// Most that it gets.
    pub cap: Option<Bitrate>,
    /// Guaranteed rate, whatever the others ask for; above it the class gets only what they leave. `None`: the class shares with them.
    pub floor: Option<Bitrate>,
}

/// The Internet link: a stage before the pools, with an HTB of its own for each direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WanLink {
    /// IP bit/s of each direction that is shaped; none: the link is no bottleneck.
    pub rates: BTreeMap<Direction, Bitrate>,
    /// IP bytes a round of each leaf, by minor number, and of what is no station's ([`OTHERS`](super::wan::OTHERS)).
    pub quanta: BTreeMap<u16, u32>,
    /// Packets that the kernel carries as one are split.
    pub splits: bool,
}

/// Everything that the kernel should hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Routed or bridged.
    pub mode: Mode,
    /// Decides how packets are told apart.
    pub policy: Policy,
    /// Whether uplink UDP passes by.
    pub udp: UdpRule,
    /// Queue of each leaf.
    pub leaf: Leaf,
    /// Interfaces towards the gateway.
    pub uplinks: BTreeSet<String>,
    /// Largest packet with its link header, in bytes.
    pub largest: u32,
    /// Who is not shaped.
    pub exclude: Vec<Matcher>,
    /// By number.
    pub pools: BTreeMap<u16, Pool>,
    /// By minor number of the class.
    pub leaves: BTreeMap<u16, LeafClass>,
    /// Which leaf an address belongs to.
    pub members: BTreeMap<Key, u16>,
    /// The Internet link.
    pub wan: WanLink,
}

impl Layout {
    /// All interfaces that are redirected, each once.
    pub fn interfaces(&self) -> BTreeSet<&str> {
        self.uplinks
            .iter()
            .map(String::as_str)
            .chain(self.ap_interfaces().map(|(_, ap)| ap.interface.as_str()))
            .collect()
    }

    /// Whether classes are to send several packets at once.
    pub const fn sends_batches(&self) -> bool {
        self.leaf.batch.0 > 0
    }

    /// IP bytes that `leaf` sends at once.
    pub fn turn_of(&self, leaf: &LeafClass) -> u32 {
        let turn =
            u128::from(self.pools[&leaf.pool].turn.0) * u128::from(leaf.quantum) / u128::from(self.leaf.quantum.0);
        u32::try_from(turn).unwrap_or(u32::MAX)
    }

    /// All interfaces towards APs with their pools.
    pub fn ap_interfaces(&self) -> impl Iterator<Item = (&Pool, &ApInterface)> {
        self.pools.values().flat_map(|pool| pool.ap_interfaces.iter().map(move |ap| (pool, ap)))
    }

    /// The direction of what leaves `interface` towards or from the Internet, if that direction of the link is shaped.
    pub fn staged(&self, interface: &str) -> Option<Direction> {
        let direction = if self.uplinks.contains(interface) { Direction::Up } else { Direction::Down };
        self.wan.rates.contains_key(&direction).then_some(direction)
    }
}

/// Family of our table.
pub(super) const fn family(mode: Mode) -> &'static str {
    match mode {
        Mode::Routed => "inet",
        Mode::Bridged => "bridge",
    }
}

/// Minor number of a pool's class; never that of a leaf, so no packet can name it.
pub const fn pool_minor(id: u16) -> u16 {
    newcomers_minor(id) | 1
}

/// Minor number of the leaf of a pool's unknown stations.
pub const fn newcomers_minor(id: u16) -> u16 {
    (id + 1) << 4
}

/// Most pools: each has a leaf for newcomers below those of stations.
pub const MOST_POOLS: u16 = 255;

/// Most leaves besides those of newcomers.
pub const MOST_LEAVES: u16 = 3840;

/// Minor number of leaf `slot`, below [`MOST_LEAVES`], for stations. From there on, below twice that, are the numbers of stations without
/// classes: theirs is no class's.
///
/// Leaves are multiples of 16: after the shaper a packet keeps its priority, of which `pfifo_fast` and others read the
/// lowest four bits only. So all stations stay best effort there.
pub const fn leaf_minor(slot: u16) -> u16 {
    if slot < MOST_LEAVES { (slot + 256) << 4 } else { ((slot - MOST_LEAVES + 256) << 4) | 2 }
}

/// The slot of a leaf; `None` if the minor number is that of newcomers or a pool, or of no class.
pub const fn slot_of(minor: u16) -> Option<u16> {
    if minor.is_multiple_of(16) { (minor >> 4).checked_sub(256) } else { None }
}
