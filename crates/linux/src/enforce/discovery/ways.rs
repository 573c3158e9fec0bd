//! The ways that a configuration asks for.

use super::{Discovery, Dnsmasq, FirstSight, Hostapd, Iw, Kea, Neighbours, Passing, Snmp};
use crate::enforce::config::{Config, Mode};

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
