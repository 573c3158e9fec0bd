//! Probes that pass by the shaper: ICMP and ICMPv6 echo requests, or ARP and ND where a station does not answer those.

mod neighbour;
mod register;
mod responder;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tokio::io::unix::AsyncFd;

use self::neighbour::Neighbours;
use self::register::register;
use self::responder::Responder;
use crate::enforce::config::{Mac, Mode};
use crate::enforce::datapath::BYPASS;
use crate::enforce::frames::checksum;
use crate::enforce::protocol::ProbeMethod;
use crate::enforce::site::Station;

const REQUEST: u8 = 8;
const REPLY: u8 = 0;
const REQUEST_V6: u8 = 128;
const REPLY_V6: u8 = 129;
const HEADER: usize = 8;
/// Pool, number, tag.
const PAYLOAD: usize = 24;

/// Number of an echo request that nobody waits for.
const TRIAL: u64 = u64::MAX;
/// How a station answers is kept in mind for so long after it was last asked.
const MEMORY: Duration = Duration::from_mins(10);

/// All ways to ask, and how each station is asked.
#[derive(Debug)]
pub(super) struct Probes {
    echoes: Echoes,
    neighbours: Neighbours,
    /// By number of the class.
    responders: BTreeMap<u16, Asked>,
}

/// A station that is asked.
#[derive(Debug)]
struct Asked {
    pool: u16,
    mac: Option<Mac>,
    responder: Responder,
}

impl Probes {
    /// Needs `CAP_NET_RAW`, and `CAP_NET_ADMIN` for the priority.
    pub(super) fn open(mode: Mode) -> io::Result<Self> {
        let (echoes, neighbours) = (Echoes::open()?, Neighbours::open(mode)?);
        Ok(Probes { echoes, neighbours, responders: BTreeMap::new() })
    }

    /// Asks `station` behind `interface`, in the way that it answers. A station that cannot be asked has a probe lost.
    pub(super) fn ask(&mut self, station: &Station, interface: &str, echo: Echo) -> io::Result<()> {
        let now = Instant::now();
        self.neighbours.refresh(now)?;
        let fresh = || Asked { pool: station.pool, mac: station.mac, responder: Responder::new(now) };
        self.responders.retain(|slot, own| *slot == station.slot || now < own.responder.asked_at + MEMORY);
        let own = self.responders.entry(station.slot).or_insert_with(fresh);
        // Another station has the class.
        if (own.pool, own.mac) != (station.pool, station.mac) {
            *own = fresh();
        }
        let neighbours = &self.neighbours;
        let may = |method, address| match method {
            ProbeMethod::Echo => neighbours.reaches(interface, address),
            ProbeMethod::Neighbour => station.mac.is_some_and(|mac| neighbours.may_ask(interface, mac, address, now)),
        };
        let Some(question) = own.responder.ask(now, echo.id, &station.addresses, may) else { return Ok(()) };
        match (question.method, station.mac) {
            (ProbeMethod::Neighbour, Some(mac)) => {
                if question.is_trial_due {
                    let pool = station.slot;
                    self.echoes.send(question.address, Echo { pool, id: TRIAL })?;
                }
                self.neighbours.ask(interface, mac, question.address)
            }
            _ => self.echoes.send(question.address, echo),
        }
    }

    /// How the station with class `slot` is asked; `None`: it has not answered.
    pub(super) fn method(&self, slot: u16) -> Option<ProbeMethod> {
        self.responders.get(&slot).and_then(|own| own.responder.method())
    }

    /// The next answer to a probe of ours.
    pub(super) async fn next(&mut self) -> Echo {
        loop {
            tokio::select! {
                echo = self.echoes.next() => {
                    let now = Instant::now();
                    if echo.id == TRIAL {
                        if let Some(own) = self.responders.get_mut(&echo.pool) {
                            own.responder.trial_answered();
                        }
                        continue;
                    }
                    for own in self.responders.values_mut().filter(|own| own.pool == echo.pool) {
                        own.responder.echoed(now, echo.id);
                    }
                    return echo;
                }
                (mac, address) = self.neighbours.next() => {
                    let now = Instant::now();
                    for own in self.responders.values_mut().filter(|own| own.mac == Some(mac)) {
                        if let Some(id) = own.responder.advertised(now, address) {
                            return Echo { pool: own.pool, id };
                        }
                    }
                }
            }
        }
    }
}

/// One raw socket an IP version.
#[derive(Debug)]
struct Echoes {
    v4: AsyncFd<Socket>,
    v6: Option<AsyncFd<Socket>>,
    /// Makes tags that no station can guess, so that it answers for itself and only what it was asked.
    secret: RandomState,
}

/// A reply: pool and number of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Echo {
    pub(super) pool: u16,
    pub(super) id: u64,
}

impl Echoes {
    /// Without IPv6 in the kernel there is one socket.
    fn open() -> io::Result<Self> {
        let open = |domain, protocol| {
            let socket = Socket::new_raw(domain, Type::RAW, Some(protocol))?;
            socket.set_nonblocking(true)?;
            socket.set_priority(BYPASS)?;
            register(socket)
        };
        let v6 = open(Domain::IPV6, Protocol::ICMPV6).ok();
        Ok(Echoes { v4: open(Domain::IPV4, Protocol::ICMPV4)?, v6, secret: RandomState::new() })
    }

    /// Asks `to`.
    fn send(&self, to: IpAddr, echo: Echo) -> io::Result<()> {
        let socket = match to {
            IpAddr::V4(_) => &self.v4,
            IpAddr::V6(_) => self.v6.as_ref().ok_or(io::ErrorKind::Unsupported)?,
        };
        let kind = if to.is_ipv4() { REQUEST } else { REQUEST_V6 };
        let packet = request(kind, &self.payload(echo));
        socket.get_ref().send_to(&packet, &SockAddr::from(SocketAddr::new(to, 0))).map(drop)
    }

    /// The next reply to an echo request of ours.
    async fn next(&self) -> Echo {
        let mut four = [0; 2048];
        let mut six = [0; 2048];
        loop {
            let echo = tokio::select! {
                read = receive(&self.v4, &mut four) => read.and_then(|length| reply_v4(&four[..length])),
                read = async {
                    match &self.v6 {
                        Some(socket) => receive(socket, &mut six).await,
                        None => std::future::pending().await,
                    }
                } => read.and_then(|length| reply(REPLY_V6, &six[..length])),
            };
            if let Some(payload) = echo
                && let Some(echo) = self.known(payload)
            {
                return echo;
            }
        }
    }

    fn payload(&self, echo: Echo) -> [u8; PAYLOAD] {
        let mut payload = [0; PAYLOAD];
        payload[..8].copy_from_slice(&u64::from(echo.pool).to_be_bytes());
        payload[8..16].copy_from_slice(&echo.id.to_be_bytes());
        payload[16..].copy_from_slice(&self.secret.hash_one((echo.pool, echo.id)).to_be_bytes());
        payload
    }

    fn known(&self, payload: [u8; PAYLOAD]) -> Option<Echo> {
        let pool = u16::try_from(u64::from_be_bytes(*payload.first_chunk()?)).ok()?;
        let echo = Echo { pool, id: u64::from_be_bytes(*payload[8..].first_chunk()?) };
        (self.payload(echo) == payload).then_some(echo)
    }
}

async fn receive(socket: &AsyncFd<Socket>, buffer: &mut [u8]) -> Option<usize> {
    let mut ready = socket.readable().await.ok()?;
    match ready.try_io(|socket| socket.get_ref().read(buffer)) {
        Ok(read) => read.ok(),
        Err(_) => None,
    }
}

/// An echo request. The kernel fills in the checksum of ICMPv6.
fn request(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![kind, 0, 0, 0, 0xfa, 0x1a, 0, 1];
    packet.extend(payload);
    let checksum = checksum(&packet);
    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// The payload of a reply with its IPv4 header.
fn reply_v4(packet: &[u8]) -> Option<[u8; PAYLOAD]> {
    let header = usize::from(packet.first()? & 15) * 4;
    reply(REPLY, packet.get(header..)?)
}

fn reply(kind: u8, packet: &[u8]) -> Option<[u8; PAYLOAD]> {
    (*packet.first()? == kind).then_some(())?;
    packet.get(HEADER..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        let packet = request(REQUEST, &[1; PAYLOAD]);
        let sum = packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn any_bytes_are_a_reply_or_none() {
        let mut packet = vec![0x45; 20];
        packet.extend([REPLY, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend([7; PAYLOAD]);
        assert_eq!(reply_v4(&packet), Some([7; PAYLOAD]));
        for cut in 0..packet.len() {
            assert_eq!(reply_v4(&packet[..cut]), None);
        }
        packet[0] = 0x4f;
        assert_eq!(reply_v4(&packet), None);
    }
}
