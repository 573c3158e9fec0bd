//! The kernel's side: what it should hold ([`Layout`]), the commands that bring it there (`script`), and the tools
//! that carry them out.
//!
//! nftables maps an address to a class (`skb->priority`) where packets leave; a filter at the egress of each interface
//! redirects them to one IFB device; HTB there has a class a pool at C, and in it a leaf a station. Nothing of the
//! operator's is replaced: all that is added is a table, a device, and filters behind all others.

mod chains;
mod classes;
mod engine;
mod flows;
mod hysteresis;
mod layout;
mod leaf;
mod links;
mod neighbours;
mod netfilter;
mod preview;
mod queue;
mod repair;
mod script;
mod stages;
#[cfg(test)]
mod tests;
pub(in crate::enforce) mod tools;
mod udp_flows;
mod wan;
mod watch;
mod wire;

pub use classes::{ClassParameters, ClassStats, Classes};
pub use engine::{Engine, Restored};
pub use hysteresis::HysteresisError;
pub(crate) use hysteresis::{HYSTERESIS, Outlook, PARAMETER};
pub use layout::{
    ApInterface, Key, Layout, LeafClass, Pool, WanLink, leaf_minor, newcomers_minor, pool_minor, slot_of,
};
pub use layout::{MOST_LEAVES, MOST_POOLS};
pub(crate) use leaf::largest;
pub use links::{Link, OwnAddress, link_named, links, own_addresses};
pub use neighbours::{Neighbour, NeighbourEvents, neighbours, ports, routes};
pub use netfilter::{Arrivals, Netfilter, UdpFlowsSeen};
pub use preview::Preview;
pub(crate) use queue::INNER;
pub(in crate::enforce) use repair::Health;
pub use script::{FLOW_BUCKETS, Script};
pub use tools::{DatapathError, Dump};
pub use udp_flows::{MOST_COUNTED as MOST_UDP_FLOWS, UdpFlowKey, decide as decide_udp};
pub use wan::{LINK, OTHERS, stage};
pub(crate) use wan::{largest as stage_largest, preferences as stage_preferences};

/// The IFB device that all pools share.
pub const IFB: &str = "fairair0";
/// The device on which the kernel is asked what it has, there for a moment.
const TRIAL: &str = "fairair-try";
/// The nftables table.
pub const TABLE: &str = "fairair";
/// `skb->priority` of the box's own probes: they pass by the shaper. No packet from outside can have it.
pub const BYPASS: u32 = 0xffff_fff0;
/// Preference of the filters: behind all others, so that the operator's come first.
pub(crate) const PREFERENCES: [(&str, u16); 2] = [("ip", 65_100), ("ipv6", 65_101)];
