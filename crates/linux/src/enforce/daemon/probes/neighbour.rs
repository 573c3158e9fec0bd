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
/// (RFC 5227 section 2.1.1). So the box does not ask that device for the address for this long. The device's own check takes at
/// most 7 s.
const QUIET: Duration = Duration::from_secs(10);
/// Then it is asked for at least this long, whatever it says it checks: else forged checks would silence a station for good.
const ASKED: Duration = Duration::from_mins(5);
/// Addresses that are wanted are kept in mind up to this number.
const ROOM: usize = 4096;

/// Devices that want an address, and when they first asked for it. What one device wants says nothing of another one's address: the
/// box asks a single MAC address.
#[derive(Debug, Default)]
struct Wanted(BTreeMap<(Mac, IpAddr), Instant>);

impl Wanted {
    fn note(&mut self, mac: Mac, address: IpAddr, now: Instant) {
        if self.0.len() < ROOM {
            self.0.entry((mac, address)).or_insert(now);
        }
    }

    fn is_quiet(&self, mac: Mac, address: IpAddr, now: Instant) -> bool {
        self.0.get(&(mac, address)).is_some_and(|at| now < *at + QUIET)
    }

    fn forget(&mut self, now: Instant) {
        self.0.retain(|_, at| now < *at + QUIET + ASKED);
    }
}

/// Sockets and what is known of the interfaces.
#[derive(Debug)]
pub(super) struct Neighbours {
    arp: AsyncFd<PacketSocket>,
    nd: AsyncFd<PacketSocket>,
    mode: Mode,
    links: Vec<Link>,
    addresses: Vec<OwnAddress>,
    looked_up: Option<Instant>,
    wanted: Wanted,
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
        let (links, addresses, wanted) = (Vec::new(), Vec::new(), Wanted::default());
        let (arp, nd) = (open(ARP, &arp)?, open(IPV6, &nd)?);
        Ok(Neighbours { arp, nd, mode, links, addresses, looked_up: None, wanted })
    }

    /// Looks interfaces and addresses up again if that was a while ago.
    pub(super) fn refresh(&mut self, now: Instant) -> io::Result<()> {
        if self.looked_up.is_none_or(|at| at + FRESH <= now) {
            (self.links, self.addresses) = (links()?, own_addresses()?);
            self.looked_up = Some(now);
            self.wanted.forget(now);
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

    /// Whether the station with `mac` may be asked whether it has `address`. Only a question without an address of the asker looks
    /// like a claim of that address.
    pub(super) fn may_ask(&self, interface: &str, mac: Mac, address: IpAddr, now: Instant) -> bool {
        self.ends(interface).is_some_and(|(own, upper)| {
            let is_claim = || address.is_ipv4() && self.near(upper, address).is_none();
            let is_taken_ill = self.wanted.is_quiet(mac, address, now) && is_claim();
            !own.is_without_neighbours && !is_taken_ill
        })
    }

    /// The own address of `link` in the network of `address`.
    fn near(&self, link: &Link, address: IpAddr) -> Option<IpAddr> {
        let own = self.addresses.iter().filter(|own| own.interface == link.index).map(|own| own.net);
        own.filter(|net| net.contains(&address)).map(|net| net.addr()).next()
    }

    /// Asks `mac` behind `interface` whether it has `address`.
    pub(super) fn ask(&self, interface: &str, mac: Mac, address: IpAddr) -> io::Result<()> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{interface} has no MAC address"));
        let (own, upper) = self.ends(interface).ok_or_else(missing)?;
        let from = upper.mac.or(own.mac).ok_or_else(missing)?;
        match address {
            IpAddr::V4(target) => {
                let near = self.near(upper, address);
                let sender = near.and_then(|near| if let IpAddr::V4(near) = near { Some(near) } else { None });
                let frame = arp_request(from, sender.unwrap_or(Ipv4Addr::UNSPECIFIED), mac, target);
                self.arp.get_ref().send(own.index, ARP, mac, &frame)
            }
            IpAddr::V6(target) => {
                let near = self.addresses.iter().filter(|own| own.interface == upper.index).map(|own| own.net);
                let mut locals = near.filter_map(|net| match net.addr() {
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
                Some((mac, AddressUse::Wants(address))) => self.wanted.note(mac, address, Instant::now()),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each two seconds somebody forges a check of a station's address, with a MAC address of its own or with the station's.
    #[test]
    fn forged_checks_of_an_address_do_not_silence_its_station() {
        let (station, other) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        let address = IpAddr::from([10, 1, 0, 2]);
        let (mut wanted, begin) = (Wanted::default(), Instant::now());
        let mut quiet = 0;
        for second in (0..300).step_by(2) {
            let now = begin + Duration::from_secs(second);
            wanted.forget(now);
            wanted.note(other, address, now);
            assert!(second > 100 || !wanted.is_quiet(station, address, now));
            if second >= 100 {
                wanted.note(station, address, now);
                quiet += u32::from(wanted.is_quiet(station, address, now));
            }
        }
        assert_eq!(quiet, 5, "once, for ten seconds");
        let now = begin + Duration::from_mins(7);
        wanted.forget(now);
        wanted.note(station, address, now);
        assert!(wanted.is_quiet(station, address, now), "the device may have come again");
    }
}
