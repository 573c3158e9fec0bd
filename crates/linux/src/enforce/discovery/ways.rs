//! The ways that a configuration asks for.

use std::time::Duration;

use super::{FirstSight, Hostapd, Iw, Leases, Neighbours, Passing, Snmp, Source, Way};
use crate::enforce::config::{Config, Mode};

/// The ways that `config` asks for. Stations that it names itself are in the site from the start.
///
/// # Errors
/// The system has no socket left.
pub fn ways(config: &Config) -> std::io::Result<Vec<Way>> {
    let wanted = &config.discovery;
    let mut ways = Vec::new();
    if wanted.neighbours {
        let neighbours = Neighbours::new(config.mode, !wanted.first_sight);
        ways.push(Way { rest: Duration::ZERO, ..Way::new("neighbours", Source::Neighbours, neighbours) });
        if config.mode == Mode::Bridged {
            let mut interfaces: Vec<_> = config.aps.iter().map(|ap| ap.interface.clone()).collect();
            interfaces.dedup();
            let passing = Passing::new(interfaces);
            ways.push(Way { rest: Duration::ZERO, ..Way::new("passing packets", Source::Neighbours, passing) });
        }
    }
    if wanted.first_sight {
        ways.push(Way::new("newcomers", Source::FirstSight, FirstSight::new(config.mode)?));
    }
    let dnsmasq = wanted.dnsmasq.iter().map(|file| (file, Leases::dnsmasq(file.clone())));
    let kea = wanted.kea.iter().map(|file| (file, Leases::kea(file.clone())));
    for (file, leases) in dnsmasq.chain(kea) {
        ways.push(Way::new(format!("leases {}", file.display()), Source::Leases, leases));
    }
    for interface in &wanted.iw {
        let ap = config.aps.iter().find(|ap| ap.interface == *interface).map(|ap| ap.name.clone());
        let iw = Iw { interface: interface.clone() };
        ways.push(Way { ap, ..Way::new(format!("iw {interface}"), Source::Association, iw) });
    }
    for wanted in &wanted.hostapd {
        let (name, ap) = (format!("hostapd {}", wanted.socket.display()), Some(wanted.ap.clone()));
        ways.push(Way { ap, ..Way::new(name, Source::Association, Hostapd::new(wanted.socket.clone())) });
    }
    for wanted in &wanted.snmp {
        let (name, ap) = (format!("snmp {}", wanted.agent), Some(wanted.ap.clone()));
        let rest = Duration::from_nanos(wanted.every.as_nanos());
        ways.push(Way { ap, rest, ..Way::new(name, Source::Association, Snmp::new(wanted.clone())) });
    }
    Ok(ways)
}
