//! Questions by ARP and ND over packet sockets: they leave by the AP's interface for the station's MAC address, past the shaper and
//! through the AP's queue as an echo request does, also from a bridge that has no address.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use tokio::io::unix::AsyncFd;

use super::register::register;
use crate::enforce::config::{Mac, Mode};
use crate::enforce::datapath::{BYPASS, Link, OwnAddress, links, own_addresses};
use crate::enforce::frames::{
    ADVERTISEMENT, ARP, AddressUse, ICMPV6, IPV6, address_use, arp_request, link_local, solicitation,
};
use crate::enforce::packets::{HEAD, PacketSocket, bpf};

/// For how long what is known of the interfaces counts.
const FRESH: Duration = Duration::from_secs(1);
/// A device that checks whether its new address is free would take an ARP probe of ours for a conflict and give the address up
/// (RFC 5227 section 2.1.1). So the box does not probe such an address for this long. The device's own check takes at most 7 s.
const QUIET: Duration = Duration::from_secs(10);
/// Addresses that are wanted are kept in mind up to this number.
const ROOM: usize = 4096;

/// Sockets and what is known of the interfaces.
#[derive(Debug)]
pub(super) struct Neighbours {
    arp: AsyncFd<PacketSocket>,
    nd: AsyncFd<PacketSocket>,
    mode: Mode,
    links: Vec<Link>,
    addresses: Vec<OwnAddress>,
    looked_up: Option<Instant>,
    /// Addresses that other devices want to take, and when they last asked for them: the box stays quiet about these.
    wanted: BTreeMap<IpAddr, Instant>,
}

impl Neighbours {
    /// Needs `CAP_NET_RAW`, and `CAP_NET_ADMIN` for the priority.
    pub(super) fn open(mode: Mode) -> io::Result<Self> {
        let arp = [bpf::half(12), bpf::is(u32::from(ARP), 0, 1), bpf::keep(HEAD as u32), bpf::keep(0)];
        let nd = [
            bpf::byte(20),
            bpf::is(u32::from(ICMPV6), 0, 3),
            bpf::byte(54),
            bpf::is(u32::from(ADVERTISEMENT), 0, 1),
            bpf::keep(HEAD as u32),
            bpf::keep(0),
        ];
        let open = |protocol, filter: &[_]| {
            let socket = PacketSocket::of_protocol(protocol, filter)?;
            socket.set_priority(BYPASS)?;
            register(socket)
        };
        let (links, addresses, wanted) = (Vec::new(), Vec::new(), BTreeMap::new());
        let (arp, nd) = (open(ARP, &arp)?, open(IPV6, &nd)?);
        Ok(Neighbours { arp, nd, mode, links, addresses, looked_up: None, wanted })
    }

    /// Looks interfaces and addresses up again if that was a while ago.
    pub(super) fn refresh(&mut self, now: Instant) -> io::Result<()> {
        if self.looked_up.is_none_or(|at| at + FRESH <= now) {
            (self.links, self.addresses) = (links()?, own_addresses()?);
            self.looked_up = Some(now);
            self.wanted.retain(|_, at| now < *at + QUIET);
        }
        Ok(())
    }

    /// The interface itself, and the one that has the addresses: its bridge in bridged mode.
    fn ends(&self, interface: &str) -> Option<(&Link, &Link)> {
        let own = self.links.iter().find(|link| link.name == interface)?;
        let master = own.master.filter(|_| self.mode == Mode::Bridged);
        let addressed = master.map_or(Some(own), |master| self.links.iter().find(|link| link.index == master));
        Some((own, addressed?))
    }

    /// Whether an echo request to `address` goes by `interface`: in bridged mode the box may have no address there, and another
    /// way to the address that leads elsewhere.
    pub(super) fn reaches(&self, interface: &str, address: IpAddr) -> bool {
        let near = |own: &OwnAddress, link: &Link| own.interface == link.index && own.net.contains(&address);
        self.mode == Mode::Routed
            || self.ends(interface).is_some_and(|(_, link)| self.addresses.iter().any(|own| near(own, link)))
    }

    /// Whether the station with `mac` may be asked whether it has `address`.
    pub(super) fn may_ask(&self, interface: &str, address: IpAddr, now: Instant) -> bool {
        let has_neighbours = self.ends(interface).is_some_and(|(own, _)| !own.is_without_neighbours);
        has_neighbours && self.wanted.get(&address).is_none_or(|at| *at + QUIET <= now)
    }

    /// Asks `mac` behind `interface` whether it has `address`.
    pub(super) fn ask(&self, interface: &str, mac: Mac, address: IpAddr) -> io::Result<()> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{interface} has no MAC address"));
        let (own, upper) = self.ends(interface).ok_or_else(missing)?;
        let from = upper.mac.or(own.mac).ok_or_else(missing)?;
        let addresses = self.addresses.iter().filter(|own| own.interface == upper.index).map(|own| own.net);
        match address {
            IpAddr::V4(target) => {
                let near = addresses.filter(|net| net.contains(&address)).map(|net| net.addr()).next();
                let sender = near.and_then(|near| if let IpAddr::V4(near) = near { Some(near) } else { None });
                let frame = arp_request(from, sender.unwrap_or(Ipv4Addr::UNSPECIFIED), mac, target);
                self.arp.get_ref().send(own.index, ARP, mac, &frame)
            }
            IpAddr::V6(target) => {
                let mut locals = addresses.filter_map(|net| match net.addr() {
                    IpAddr::V6(own) if own.is_unicast_link_local() => Some(own),
                    _ => None,
                });
                let sender: Ipv6Addr = locals.next().unwrap_or_else(|| link_local(from));
                self.nd.get_ref().send(own.index, IPV6, mac, &solicitation(from, sender, mac, target))
            }
        }
    }

    /// The next answer: who has which address.
    pub(super) async fn next(&mut self) -> (Mac, IpAddr) {
        loop {
            let told = tokio::select! {
                told = receive(&self.arp) => told,
                told = receive(&self.nd) => told,
            };
            match told {
                Some((mac, AddressUse::Answers(address))) => return (mac, address),
                Some((_, AddressUse::Wants(address))) if self.wanted.len() < ROOM => {
                    self.wanted.insert(address, Instant::now());
                }
                _ => {}
            }
        }
    }
}

async fn receive(socket: &AsyncFd<PacketSocket>) -> Option<(Mac, AddressUse)> {
    let mut head = [0; HEAD];
    let mut ready = socket.readable().await.ok()?;
    match ready.try_io(|socket| socket.get_ref().receive(&mut head)) {
        Ok(read) => address_use(&head[..read.ok()?]),
        Err(_) => None,
    }
}
