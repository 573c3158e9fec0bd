//! What all ways to find stations have in common.

use std::net::IpAddr;
use std::time::Duration;

use fairair_core::units::Bitrate;

use super::error::DiscoveryError;
use crate::enforce::config::Mac;

/// Name of the class that stations without one share; no station may have it.
pub const NEWCOMERS: &str = "newcomers";

/// How a station was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The configuration names it.
    Config,
    /// The kernel's neighbour table.
    Neighbours,
    /// A packet of an unknown address.
    FirstSight,
    /// A DHCP lease.
    Leases,
    /// The AP's association table.
    Association,
    /// It was not: this is the class of all that have none of their own.
    Newcomers,
}

/// A sign of life of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sighting {
    /// Index of the interface, where known.
    pub interface: Option<u32>,
    /// Its address.
    pub address: Option<IpAddr>,
    /// Its MAC address.
    pub mac: Option<Mac>,
    /// What it calls itself; anything at all may stand here.
    pub name: Option<String>,
    /// PHY rate of its data frames.
    pub rate: Option<Bitrate>,
    /// It answers there now, or the bridge has just seen it move there: who was at another AP is at this one.
    pub is_there: bool,
    /// The device alone says so, and anybody may say so of any address: no ground for a class.
    pub is_hearsay: bool,
}

/// A source of sightings.
pub trait Discovery: std::fmt::Debug + Send {
    /// Whom it knows now, or whom it has seen since the last look. It must end within some seconds.
    ///
    /// # Errors
    /// Whom it asks does not answer, or not well; the others go on.
    fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError>;
}

/// A way to find stations. Each has a thread of its own ([`Workers`](super::Workers)), so it may wait.
#[derive(Debug)]
pub struct Way {
    /// What it is called in `status`.
    pub name: String,
    /// What kind of way it is.
    pub source: Source,
    /// AP whose whole list of associated stations every look gives; `None`: it gives no such list.
    pub ap: Option<String>,
    /// Time between two looks; zero for one that waits by itself until something happens.
    pub rest: Duration,
    /// Who looks.
    pub discovery: Box<dyn Discovery>,
}

impl Way {
    /// One that gives no list of an AP, and looks once a second.
    pub fn new(name: impl Into<String>, source: Source, discovery: impl Discovery + 'static) -> Way {
        let (name, discovery) = (name.into(), Box::new(discovery));
        Way { name, source, ap: None, rest: Duration::from_secs(1), discovery }
    }
}

/// A name from outside as it may stand in logs, tables and command lines: ASCII, so that no two names look the same, no option, and
/// not that of the class which stations without one share.
pub(in crate::enforce) fn sanitized(name: &str) -> Option<String> {
    let good = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sanitized: String = name.chars().filter(good).skip_while(|c| *c == '-').take(64).collect();
    (!sanitized.is_empty() && !sanitized.eq_ignore_ascii_case(NEWCOMERS)).then_some(sanitized)
}

/// A line from outside as it may stand in logs and `status`: without what a terminal obeys, and short.
pub(in crate::enforce) fn sanitized_line(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}
