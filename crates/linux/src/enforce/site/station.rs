//! A station of the site.

use fairair_core::units::Bitrate;

use super::Addresses;
use crate::enforce::config::{Mac, Mode, Plan};
use crate::enforce::datapath::Key;
use crate::enforce::discovery::Source;

/// A station.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Name by the file, else its MAC address or address.
    pub name: String,
    /// Its pool.
    pub pool: u16,
    /// Name of its AP, one of the pool's.
    pub ap: String,
    /// Number of its class, or, where classes are not by station, its own.
    pub slot: u16,
    /// MAC address, if known.
    pub mac: Option<Mac>,
    /// Addresses, for classes in routed mode and for probes.
    pub addresses: Addresses,
    /// Weight and cap.
    pub plan: Plan,
    /// PHY rate of its data frames, if known.
    pub rate: Option<Bitrate>,
    /// How it was found.
    pub source: Source,
    /// When a packet of it last passed, or when it was found, in seconds since the start.
    pub seen_s: u64,
    /// The file, a lease or an AP's list names it: it never makes room for others.
    pub is_listed: bool,
}

impl Station {
    /// By what its packets are told from others'.
    pub fn keys(&self, mode: Mode) -> impl Iterator<Item = Key> {
        let (addresses, mac) = match mode {
            Mode::Routed => (Some(&self.addresses), None),
            Mode::Bridged => (None, self.mac),
        };
        addresses.into_iter().flat_map(Addresses::iter).map(|address| Key::Ip(*address)).chain(mac.map(Key::Mac))
    }

    /// What it is called without a name: its MAC address, else its address.
    pub(super) fn own_name(&self) -> String {
        let mac = self.mac.map(|mac| mac.to_string());
        mac.or_else(|| self.addresses.iter().next().map(ToString::to_string)).unwrap_or_default()
    }
}
