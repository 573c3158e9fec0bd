//! Who is there: several ways to find out, behind one trait.

mod leases;
mod survey;

use std::net::IpAddr;

use fairair_core::units::Bitrate;

use super::config::Mac;
use super::datapath::{Neighbour, neighbours};
use super::site::Source;

pub use leases::{Dnsmasq, Kea};
pub use survey::{Iw, parse_iw};

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
}

/// A way to find stations.
pub trait Discovery: std::fmt::Debug + Send {
    /// What it is called.
    fn source(&self) -> Source;

    /// Whom it knows now.
    ///
    /// # Errors
    /// In words, for the log; the others go on.
    fn look(&mut self) -> Result<Vec<Sighting>, String>;
}

/// The kernel's neighbour table.
#[derive(Debug)]
pub struct Neighbours;

impl Discovery for Neighbours {
    fn source(&self) -> Source {
        Source::Neighbours
    }

    fn look(&mut self) -> Result<Vec<Sighting>, String> {
        let sighting = |Neighbour { interface, address, mac }: Neighbour| Sighting {
            interface: Some(interface),
            address: Some(address),
            mac: Some(mac),
            ..Sighting::default()
        };
        Ok(neighbours().map_err(|error| error.to_string())?.into_iter().map(sighting).collect())
    }
}

/// A name from outside as it may stand in logs and tables.
pub(super) fn tame(name: &str) -> Option<String> {
    let tame: String = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')).take(64).collect();
    (!tame.is_empty()).then_some(tame)
}
