//! What the operator chose: the checked configuration file.
//!
//! [`Config::load`] reads it with the reader of scenario files, so that errors have line, column and fix
//! (docs/vsb.md has all keys).

mod channel;
mod discovery;
mod journal;
mod mac;
mod parts;
mod read;
mod stations;
#[cfg(test)]
mod tests;
mod value;
mod wan;

pub use channel::Channel;
pub use discovery::{Discovery, HostapdConfig, MacPlace, RateColumn, Secret, SnmpConfig, SnmpTable};
pub use mac::Mac;
pub use parts::{Ap, Gso, Journal, Leaf, LeafKind, Matcher, Mode, Plan, Station};
pub(in crate::enforce) use read::excludes_all;
pub(in crate::enforce) use value::{PHY_RATES, RATES, WEIGHTS, is_interface, is_one_host, names};
pub use wan::Wan;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use fairair_core::shaper::{Policy, UdpRule};

/// A checked configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Name of the site, for logs.
    pub name: String,
    /// Whether the box routes or bridges.
    pub mode: Mode,
    /// Interfaces towards the gateway, at least one.
    pub uplinks: Vec<String>,
    /// What equal shares are equal between.
    pub policy: Policy,
    /// Uplink UDP.
    pub udp: UdpRule,
    /// Queue of a class.
    pub leaf: Leaf,
    /// What happens to packets that the kernel carries as one (GSO, GRO).
    pub gso: Gso,
    /// Traffic that is not shaped: addresses of stations (routed mode) or MAC addresses (bridged mode).
    pub exclude: Vec<Matcher>,
    /// The access points, at least one.
    pub aps: Vec<Ap>,
    /// Plans by name.
    pub plans: BTreeMap<String, Plan>,
    /// Stations that are known beforehand.
    pub stations: Vec<Station>,
    /// How other stations are found.
    pub discovery: Discovery,
    /// Where Prometheus asks; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
    /// Where the dashboard listens that `fairair vsb run` starts; `None`: none is started.
    pub dashboard: Option<SocketAddr>,
    /// Directory of the control socket and the state of the running daemon.
    pub state: PathBuf,
    /// The journal's file; `None`: no journal.
    pub journal: Option<Journal>,
    /// The Internet link; `None`: it is no bottleneck.
    pub wan: Option<Wan>,
}
