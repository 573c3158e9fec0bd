//! What the kernel of this box knows: neighbours, by its own telling; and senders of packets that have no class.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use super::{Discovery, DiscoveryError, Sighting};
use crate::enforce::config::{Mac, Mode};
use crate::enforce::datapath::{Key, Neighbour, NeighbourEvents, Netfilter, links, neighbours, ports, routes};

/// How long a look waits for something to happen.
const PATIENCE: Duration = Duration::from_secs(1);

/// Newcomers of whom no MAC address is known that are taken at a look, at most: the others have another turn.
const MOST: usize = 256;

/// The kernel's neighbour table, and in bridged mode the bridges' tables: read once, then by events. When events were
/// lost since they came too fast, the tables are read again.
///
/// A bridge learns any source address: that counts only where no other way ([`FirstSight`]) waits for traffic in both directions. That a device
/// has moved to another port always counts: its packets go there.
#[derive(Debug)]
pub struct Neighbours {
    mode: Mode,
    believes: bool,
    events: Option<NeighbourEvents>,
    /// Ports behind which devices were last.
    behind: BTreeMap<Mac, u32>,
}

/// Most devices of which that is remembered.
const REMEMBERED: usize = 65_536;

impl Neighbours {
    /// For a box in `mode`; `believes` a bridge that has learnt of a device.
    pub const fn new(mode: Mode, believes: bool) -> Self {
        Neighbours { mode, believes, events: None, behind: BTreeMap::new() }
    }

    /// Whether the device is behind another port than before.
    fn has_moved(&mut self, (mac, port): (Mac, u32)) -> bool {
        if self.behind.len() >= REMEMBERED {
            self.behind.clear();
        }
        self.behind.insert(mac, port).is_some_and(|before| before != port)
    }

    fn sightings(&mut self, neighbours: Vec<Neighbour>, ports: Vec<(Mac, u32)>) -> Vec<Sighting> {
        let is_bridged = self.mode == Mode::Bridged;
        let known = neighbours.into_iter().map(|entry| Sighting {
            interface: Some(entry.interface),
            address: Some(entry.address),
            mac: Some(entry.mac),
            // A bridge says itself behind which port a device is.
            is_there: entry.is_confirmed && !is_bridged,
            ..Sighting::default()
        });
        // In routed mode the port of a bridge is none of the configured interfaces.
        let mut behind = Vec::new();
        // Who sends with another's MAC address makes it move many times between two looks: where it is at last counts.
        let last: BTreeMap<Mac, u32> = ports.into_iter().filter(|_| is_bridged).collect();
        for (mac, port) in last {
            let (is_there, is_hearsay) = (self.has_moved((mac, port)), !self.believes);
            if is_there || !is_hearsay {
                let (interface, mac) = (Some(port), Some(mac));
                behind.push(Sighting { interface, mac, is_there, is_hearsay, ..Sighting::default() });
            }
        }
        // Ports first: they say at which AP a device is.
        behind.extend(known);
        behind
    }

    fn read(&mut self) -> io::Result<Vec<Sighting>> {
        let ports = if self.mode == Mode::Bridged { ports()? } else { Vec::new() };
        Ok(self.sightings(neighbours()?, ports))
    }

    fn follow(&mut self) -> io::Result<Vec<Sighting>> {
        let Some(events) = &mut self.events else {
            // Listening comes first, so that nothing falls between.
            self.events = Some(NeighbourEvents::new()?);
            return self.read();
        };
        match events.wait(PATIENCE) {
            Ok(told) => Ok(self.sightings(told.neighbours, told.ports)),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.read(),
            Err(error) => {
                self.events = None;
                Err(error)
            }
        }
    }
}

impl Discovery for Neighbours {
    fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError> {
        self.follow().map_err(|reason| DiscoveryError::System { what: "netlink", reason })
    }
}

/// Addresses that have no class and that spoke after they were spoken to, as nftables saw.
#[derive(Debug)]
pub struct FirstSight(Netfilter);

impl FirstSight {
    /// For a box in `mode`.
    ///
    /// # Errors
    /// The system has no netlink socket left.
    pub fn new(mode: Mode) -> io::Result<Self> {
        Netfilter::new(mode).map(FirstSight)
    }

    fn see(&mut self) -> io::Result<Vec<Sighting>> {
        let newcomers = self.0.newcomers()?;
        if newcomers.is_empty() {
            return Ok(Vec::new());
        }
        let ports: BTreeMap<Mac, u32> = ports()?.into_iter().collect();
        let table: BTreeMap<IpAddr, Neighbour> =
            neighbours()?.into_iter().map(|entry| (entry.address, entry)).collect();
        let (mut seen, mut unknown) = (Vec::new(), Vec::new());
        for key in newcomers {
            match key {
                Key::Mac(mac) if seen.len() < MOST => {
                    let interface = ports.get(&mac).copied();
                    seen.push(Sighting { mac: Some(mac), interface, ..Sighting::default() });
                }
                Key::Mac(_) => {}
                Key::Ip(address) => match table.get(&address) {
                    Some(Neighbour { interface, mac, is_confirmed: is_there, .. }) => {
                        let (interface, mac, address) = (Some(*interface), Some(*mac), Some(address));
                        seen.push(Sighting { interface, address, mac, is_there: *is_there, ..Sighting::default() });
                    }
                    None if unknown.len() < MOST => unknown.push(address),
                    None => {}
                },
            }
        }
        seen.extend(behind_routers(&unknown)?);
        Ok(seen)
    }
}

/// Who of `addresses` is behind a router, or on a link where nobody has a MAC address. An address of another link without an entry in
/// the neighbour table is made up, or will have one soon.
fn behind_routers(addresses: &[IpAddr]) -> io::Result<Vec<Sighting>> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let links = links()?;
    let is_bare = |index| links.iter().any(|link| link.index == index && link.is_without_neighbours);
    let ways = routes(addresses)?.into_iter().zip(addresses);
    let there = ways.filter_map(|(way, address)| {
        let way = way.filter(|way| way.is_behind_router || is_bare(way.interface))?;
        Some(Sighting { address: Some(*address), interface: Some(way.interface), ..Sighting::default() })
    });
    Ok(there.collect())
}

impl Discovery for FirstSight {
    fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError> {
        self.see().map_err(|reason| DiscoveryError::System { what: "cannot read nftables sets", reason })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::enforce::testing::{in_namespace, ip};

    fn addresses(seen: &[Sighting]) -> BTreeSet<String> {
        seen.iter().filter_map(|sighting| Some(sighting.address?.to_string())).collect()
    }

    /// In a namespace of its own: what was there, what comes, and what came too fast for the socket.
    #[test]
    fn neighbours_are_told_as_they_come_and_read_again_when_too_many_came() {
        in_namespace(|| {
            let neighbour = |low: usize| {
                let (high, low) = (low >> 8, low & 255);
                format!("neigh add 10.1.{high}.{low} lladdr 02:00:00:01:{high:02x}:{low:02x} dev lan nud reachable\n")
            };
            ip(&format!("link add lan type ifb\nlink set lan up\n{}", neighbour(2)));
            let mut way = Neighbours::new(Mode::Routed, true);
            assert_eq!(addresses(&way.look().unwrap()), ["10.1.0.2".to_owned()].into());
            assert_eq!(way.look().unwrap(), [], "nothing happened");
            ip(&neighbour(3));
            let seen = way.look().unwrap();
            assert_eq!(addresses(&seen), ["10.1.0.3".to_owned()].into(), "one event");
            assert_eq!(seen[0].mac, Some("02:00:00:01:00:03".parse().unwrap()));
            assert!(seen[0].is_there, "it is reachable");
            ip("neigh replace 10.1.0.3 lladdr 02:00:00:01:00:03 dev lan nud stale\n");
            assert!(way.look().unwrap().iter().all(|own| !own.is_there), "an entry that grows old is no sign of it");
            ip("neigh del 10.1.0.3 dev lan\n");
            assert_eq!(way.look().unwrap(), [], "who is gone is not seen");
            way.events.as_ref().expect("open").narrow().unwrap();
            ip(&(4..604).map(neighbour).collect::<String>());
            let seen = addresses(&way.look().unwrap());
            assert_eq!(seen.len(), 601, "all of the table, since events were lost");
            let later = addresses(&way.look().unwrap());
            assert!(later.len() < 600, "and then events again: {}", later.len());
        });
    }

    /// A bridge learns any source address, so it is no ground for a class; that a device has moved to another port is news of it.
    #[test]
    fn who_moves_to_another_port_is_there() {
        let mut way = Neighbours::new(Mode::Bridged, false);
        let mac = |low: u8| Mac([2, 0, 0, 0, 0, low]);
        let mut told = |ports: &[(Mac, u32)]| {
            let seen = way.sightings(Vec::new(), ports.to_vec());
            assert!(seen.iter().all(|own| own.is_there && own.is_hearsay));
            seen.into_iter().map(|own| (own.mac.expect("known"), own.interface.expect("known"))).collect::<Vec<_>>()
        };
        assert_eq!(told(&[(mac(1), 7), (mac(2), 7)]), []);
        assert_eq!(told(&[(mac(1), 7), (mac(2), 8)]), [(mac(2), 8)]);
        let flapping: Vec<_> = (0..5000).map(|n| (mac(1), 7 + n % 2)).collect();
        assert_eq!(told(&flapping), [(mac(1), 8)], "once a look, however often it moved");
    }
}
