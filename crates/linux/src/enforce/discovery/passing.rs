//! Addresses of devices by what passes: a box that bridges without an address of its own has no neighbour table.
//!
//! Packet sockets on the interfaces towards the APs receive ARP, ND and one of sixteen other packets; a filter in the kernel
//! drops all else, at a few nanoseconds a packet, and none of it wakes the daemon. The other way would be a dynamic set of MAC
//! address and address in nftables: each packet would look itself up there, one sender of many addresses would fill the set for all,
//! and ARP would need a packet socket all the same.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use socket2::SockFilter;

use super::{Discovery, DiscoveryError, Sighting};
use crate::enforce::config::Mac;
use crate::enforce::datapath::links;
use crate::enforce::frames::{ADVERTISEMENT, ARP, AddressUse, ICMPV6, IPV4, IPV6, SOLICITATION, address_use};
use crate::enforce::packets::{HEAD, PacketSocket, bpf};

/// Time between two looks.
const REST: Duration = Duration::from_millis(100);
/// Frames that are read at a look, at most, from an interface.
const MOST: usize = 512;
/// A sighting is not reported again for so long. After that a device without a class may get one.
const MEMORY: Duration = Duration::from_secs(1);
/// Most sightings that are remembered for that time; above it all are reported again.
const ROOM: usize = 8192;
/// How often the interfaces are looked up again: one may be made anew.
const LOOKED_UP: Duration = Duration::from_secs(1);

/// ARP, ND, and one of sixteen other packets.
fn filter() -> [SockFilter; 14] {
    let [random, masked] = bpf::random(15);
    [
        bpf::half(12),
        bpf::is(u32::from(ARP), 10, 0),
        bpf::is(u32::from(IPV4), 6, 0),
        bpf::is(u32::from(IPV6), 0, 9),
        bpf::byte(20),
        bpf::is(u32::from(ICMPV6), 0, 3),
        bpf::byte(54),
        bpf::is(u32::from(SOLICITATION), 4, 0),
        bpf::is(u32::from(ADVERTISEMENT), 3, 0),
        random,
        masked,
        bpf::is(0, 0, 1),
        bpf::keep(HEAD as u32),
        bpf::keep(0),
    ]
}

/// What passes from the APs.
#[derive(Debug)]
pub struct Passing {
    interfaces: Vec<String>,
    /// By interface: its number.
    sockets: Vec<(String, u32, PacketSocket)>,
    looked_up: Option<Instant>,
    told: BTreeSet<(Mac, IpAddr)>,
    told_since: Instant,
}

impl Passing {
    /// For `interfaces` towards APs.
    pub fn new(interfaces: Vec<String>) -> Passing {
        let (sockets, told) = (Vec::new(), BTreeSet::new());
        Passing { interfaces, sockets, looked_up: None, told, told_since: Instant::now() }
    }

    /// Opens a socket on each interface that is there, and closes those of interfaces that are gone.
    fn look_up(&mut self) -> io::Result<()> {
        let links = links()?;
        let there = |name: &String, index| links.iter().any(|link| link.name == *name && link.index == index);
        self.sockets.retain(|(name, index, _)| there(name, *index));
        for link in links.iter().filter(|link| self.interfaces.contains(&link.name)) {
            if !self.sockets.iter().any(|(_, index, _)| *index == link.index) {
                let socket = PacketSocket::on_interface(link.index, &filter())?;
                self.sockets.push((link.name.clone(), link.index, socket));
            }
        }
        Ok(())
    }

    fn hear(&mut self) -> io::Result<Vec<Sighting>> {
        if self.looked_up.is_none_or(|at| at.elapsed() >= LOOKED_UP) {
            self.look_up()?;
            self.looked_up = Some(Instant::now());
        }
        if self.told_since.elapsed() >= MEMORY || self.told.len() >= ROOM {
            self.told.clear();
            self.told_since = Instant::now();
        }
        let mut seen = Vec::new();
        let mut head = [0; HEAD];
        for (_, index, socket) in &self.sockets {
            for _ in 0..MOST {
                let length = match socket.receive(&mut head) {
                    Ok(length) => length,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // The interface is down or gone: the next look-up sees to it.
                    Err(_) => break,
                };
                let Some((mac, AddressUse::Answers(address) | AddressUse::Uses(address))) =
                    address_use(&head[..length])
                else {
                    continue;
                };
                if self.told.insert((mac, address)) {
                    let (mac, address) = (Some(mac), Some(address));
                    let interface = Some(*index);
                    seen.push(Sighting { mac, address, interface, is_hearsay: true, ..Sighting::default() });
                }
            }
        }
        Ok(seen)
    }
}

impl Discovery for Passing {
    fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError> {
        sleep(REST);
        self.hear()
            .map_err(|reason| DiscoveryError::System { what: "cannot capture packets on the interfaces", reason })
    }
}
