//! Who is there: several ways to find out, behind one trait.

mod associations;
mod hostapd;
mod kernel;
mod leases;
mod passing;
mod scouts;
mod snmp;
mod survey;

use std::net::IpAddr;
use std::time::Duration;

use fairair_core::units::Bitrate;

use super::config::{Config, Mac, Mode};
use super::site::Source;

pub use associations::Associations;
pub use hostapd::Hostapd;
pub use kernel::{FirstSight, Neighbours};
pub use leases::{Dnsmasq, Kea};
pub use passing::Passing;
pub use scouts::{News, Scouts};
pub use snmp::Snmp;
pub use survey::{Iw, parse_iw};

/// Rates of data frames in 802.11, from the first to 802.11be with sixteen streams; others are errors of who told them.
pub(crate) const RATES: std::ops::RangeInclusive<Bitrate> = Bitrate::mbps(1)..=Bitrate::mbps(50_000);

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
    /// The device alone says so, and anybody may say so of any address: no ground for a class.
    pub is_hearsay: bool,
}

/// A way to find stations. Each has a thread of its own ([`Scouts`]), so it may wait.
pub trait Discovery: std::fmt::Debug + Send {
    /// What kind of way it is.
    fn source(&self) -> Source;

    /// What it is called in `status`.
    fn name(&self) -> String;

    /// AP whose whole list of associated stations every look gives; `None`: it gives no such list.
    fn ap(&self) -> Option<&str> {
        None
    }

    /// Whom it knows now, or whom it has seen since the last look. It must end within some seconds.
    ///
    /// # Errors
    /// In words, for `status`; the others go on.
    fn look(&mut self) -> Result<Vec<Sighting>, String>;

    /// Time between two looks; zero for one that waits by itself until something happens.
    fn rest(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// The ways that `config` asks for. Stations that it names itself are in the site from the start.
///
/// # Errors
/// The system has no socket left.
pub fn ways(config: &Config) -> std::io::Result<Vec<Box<dyn Discovery>>> {
    let wanted = &config.discovery;
    let mut ways: Vec<Box<dyn Discovery>> = Vec::new();
    if wanted.neighbours {
        ways.push(Box::new(Neighbours::new(config.mode, !wanted.first_sight)));
        if config.mode == Mode::Bridged {
            let mut interfaces: Vec<_> = config.aps.iter().map(|ap| ap.interface.clone()).collect();
            interfaces.dedup();
            ways.push(Box::new(Passing::new(interfaces)));
        }
    }
    if wanted.first_sight {
        ways.push(Box::new(FirstSight::new(config.mode)?));
    }
    let (dnsmasq, kea) = (wanted.dnsmasq.clone(), wanted.kea.clone());
    ways.extend(dnsmasq.map(|file| Box::new(Dnsmasq::new(file)) as Box<dyn Discovery>));
    ways.extend(kea.map(|file| Box::new(Kea::new(file)) as Box<dyn Discovery>));
    for interface in &wanted.iw {
        let ap = config.aps.iter().find(|ap| ap.interface == *interface).map(|ap| ap.name.clone());
        ways.push(Box::new(Iw { interface: interface.clone(), ap }));
    }
    for wanted in &wanted.hostapd {
        ways.push(Box::new(Hostapd::new(wanted.clone())));
    }
    for wanted in &wanted.snmp {
        ways.push(Box::new(Snmp::new(wanted.clone())));
    }
    Ok(ways)
}

/// A name from outside as it may stand in logs and tables.
pub(super) fn tame(name: &str) -> Option<String> {
    let tame: String = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')).take(64).collect();
    (!tame.is_empty()).then_some(tame)
}

/// A line from outside as it may stand in logs and `status`: without what a terminal obeys, and short.
pub(super) fn tame_line(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}
