//! ARP and IPv6 neighbour discovery (ND) as frames: requests for the device that has an address, and their answers
//! (RFC 826, RFC 4861).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::PacketBuilder;

use super::config::{Mac, is_one_host};

pub(super) const ARP: u16 = 0x0806;
pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
/// Length of an Ethernet header without tag, in bytes.
const LINK: usize = 14;
const REQUEST: u16 = 1;
const REPLY: u16 = 2;
pub(super) const ICMPV6: u8 = 58;
pub(super) const SOLICITATION: u8 = 135;
pub(super) const ADVERTISEMENT: u8 = 136;
/// Flag of an advertisement that answers a solicitation.
const SOLICITED: u8 = 0x40;
const SOURCE_LINK_ADDRESS: u8 = 1;

/// How the sender of a frame uses an IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressUse {
    /// It has this address: it answers for it.
    Answers(IpAddr),
    /// It has this address: it sends from it.
    Uses(IpAddr),
    /// It wants this address and asks whether somebody has it (RFC 5227 section 2.1.1, RFC 4862 section 5.4).
    Wants(IpAddr),
}

/// A request for the MAC address of `target`, to `to` alone. The sender's address `own` is 0.0.0.0 where the asker has none, as
/// in a probe of RFC 5227: who is asked then learns nothing and answers all the same (RFC 826).
pub(super) fn arp_request(from: Mac, own: Ipv4Addr, to: Mac, target: Ipv4Addr) -> Vec<u8> {
    let mut frame = [to.0, from.0].concat();
    frame.extend(ARP.to_be_bytes());
    // Ethernet, IPv4, and the lengths of their addresses.
    frame.extend([0, 1, 8, 0, 6, 4]);
    frame.extend(REQUEST.to_be_bytes());
    frame.extend(from.0);
    frame.extend(own.octets());
    frame.extend([0; 6]);
    frame.extend(target.octets());
    frame.resize(60, 0);
    frame
}

/// A neighbour solicitation for `target`, to `to` alone (RFC 4861 section 7.2.2, as for a neighbour that may be unreachable).
/// `own` is a link-local address of the asker: the unspecified address would mean that the asker wants `target` for itself.
pub(super) fn solicitation(from: Mac, own: Ipv6Addr, to: Mac, target: Ipv6Addr) -> Vec<u8> {
    let mut rest = target.octets().to_vec();
    rest.extend([SOURCE_LINK_ADDRESS, 1]);
    rest.extend(from.0);
    // Only a hop limit of 255 proves that it comes from this link.
    let packet = PacketBuilder::ethernet2(from.0, to.0).ipv6(own.octets(), target.octets(), 255);
    let packet = packet.icmpv6_raw(SOLICITATION, 0, [0; 4]);
    let mut frame = Vec::with_capacity(packet.size(rest.len()));
    packet.write(&mut frame, &rest).expect("a short message, written to memory");
    frame
}

/// The link-local address that `mac` stands for (RFC 4291, appendix A).
pub(super) fn link_local(mac: Mac) -> Ipv6Addr {
    let mut octets = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 0];
    octets[8..11].copy_from_slice(&mac.0[..3]);
    octets[13..].copy_from_slice(&mac.0[3..]);
    octets[8] ^= 2;
    Ipv6Addr::from(octets)
}

/// The sender of `frame`, and how it uses an IP address. `None`: the frame names none.
pub(super) fn address_use(frame: &[u8]) -> Option<(Mac, AddressUse)> {
    let from = Mac(*frame.get(6..)?.first_chunk()?);
    if from.is_multicast() || from.0 == [0; 6] {
        return None;
    }
    let body = frame.get(LINK..)?;
    let usage = match u16::from_be_bytes(*frame.get(12..)?.first_chunk()?) {
        ARP => match arp(body, from)? {
            // To all, or of itself to itself: nobody asked.
            AddressUse::Answers(own) if frame[0] & 1 == 1 || v4(&body[24..]) == Some(own) => AddressUse::Uses(own),
            usage => usage,
        },
        IPV4 => AddressUse::Uses(v4(body.get(12..)?)?),
        IPV6 => ipv6(body)?,
        _ => return None,
    };
    let (AddressUse::Answers(address) | AddressUse::Uses(address) | AddressUse::Wants(address)) = usage;
    is_one_host(&address).then_some((from, usage))
}

fn arp(body: &[u8], from: Mac) -> Option<AddressUse> {
    if *body.first_chunk()? != [0, 1, 8, 0, 6, 4] || body.get(8..14)? != from.0.as_slice() {
        return None;
    }
    let (sender, target) = (v4(body.get(14..)?)?, v4(body.get(24..)?)?);
    match u16::from_be_bytes(*body.get(6..)?.first_chunk()?) {
        REPLY => Some(AddressUse::Answers(sender)),
        REQUEST if sender.is_unspecified() => Some(AddressUse::Wants(target)),
        REQUEST => Some(AddressUse::Uses(sender)),
        _ => None,
    }
}

fn ipv6(body: &[u8]) -> Option<AddressUse> {
    let sender = v6(body.get(8..)?)?;
    let is_neighbour_discovery = body.get(6..8)? == [ICMPV6, 255];
    match body.get(40).filter(|_| is_neighbour_discovery) {
        Some(&ADVERTISEMENT) => {
            let own = v6(body.get(48..)?)?;
            Some(if body[44] & SOLICITED == 0 { AddressUse::Uses(own) } else { AddressUse::Answers(own) })
        }
        Some(&SOLICITATION) if sender.is_unspecified() => Some(AddressUse::Wants(v6(body.get(48..)?)?)),
        _ => Some(AddressUse::Uses(sender)),
    }
}

fn v4(bytes: &[u8]) -> Option<IpAddr> {
    bytes.first_chunk::<4>().map(|octets| IpAddr::from(*octets))
}

fn v6(bytes: &[u8]) -> Option<IpAddr> {
    bytes.first_chunk::<16>().map(|octets| IpAddr::from(*octets))
}

/// Of RFC 1071, over an even number of bytes.
pub(super) fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const STATION: Mac = Mac([2, 0, 0, 0, 0, 9]);

    #[test]
    fn a_request_without_sender_claims_nothing_and_a_reply_answers() {
        let target = Ipv4Addr::new(10, 1, 0, 2);
        let asked = arp_request(BOX, Ipv4Addr::UNSPECIFIED, STATION, target);
        assert_eq!(address_use(&asked), Some((BOX, AddressUse::Wants(target.into()))));
        let from = Ipv4Addr::new(10, 1, 0, 1);
        assert_eq!(address_use(&arp_request(BOX, from, STATION, target)), Some((BOX, AddressUse::Uses(from.into()))));
        // As the station answers: its own addresses first.
        let mut reply = arp_request(STATION, target, BOX, Ipv4Addr::UNSPECIFIED);
        reply[21] = 2;
        assert_eq!(address_use(&reply), Some((STATION, AddressUse::Answers(target.into()))));
        let mut told = reply.clone();
        told.copy_within(28..32, 38);
        assert_eq!(address_use(&told), Some((STATION, AddressUse::Uses(target.into()))), "gratuitous");
        told = reply.clone();
        told[..6].fill(0xff);
        assert_eq!(address_use(&told), Some((STATION, AddressUse::Uses(target.into()))), "to all");
        reply[24] = 7;
        assert_eq!(address_use(&reply), None, "the frame is another device's than the ARP packet in it");
    }

    #[test]
    fn a_solicitation_is_whole() {
        let own = link_local(BOX);
        assert_eq!(own.to_string(), "fe80::ff:fe00:1");
        let frame = solicitation(BOX, own, STATION, "fd01::2".parse().unwrap());
        assert_eq!(frame.len(), 86);
        // The checksum over pseudo-header and message is right when their sum is 0 (RFC 4443 section 2.3).
        let mut pseudo = frame[22..54].to_vec();
        pseudo.extend([0, 0, 0, 32, 0, 0, 0, ICMPV6]);
        pseudo.extend(&frame[54..]);
        assert_eq!(checksum(&pseudo), 0);
        assert_eq!(address_use(&frame), Some((BOX, AddressUse::Uses(own.into()))));
        let wants = solicitation(BOX, Ipv6Addr::UNSPECIFIED, STATION, "fd01::2".parse().unwrap());
        assert_eq!(address_use(&wants), Some((BOX, AddressUse::Wants("fd01::2".parse().unwrap()))));
        let mut advertised = frame.clone();
        advertised[54] = ADVERTISEMENT;
        let station = "fd01::2".parse().unwrap();
        assert_eq!(address_use(&advertised), Some((BOX, AddressUse::Uses(station))), "unasked");
        advertised[58] = SOLICITED;
        assert_eq!(address_use(&advertised), Some((BOX, AddressUse::Answers(station))));
    }

    proptest::proptest! {
        /// Any bytes are an address use or none, however they are cut.
        #[test]
        fn any_frame_is_a_word_or_none(mut bytes in proptest::collection::vec(0_u8.., 0..120), kind in 0_usize..4) {
            if bytes.len() > 14 {
                bytes[12..14].copy_from_slice(&[[8, 6], [8, 0], [0x86, 0xdd], [0, 0]][kind]);
            }
            if let Some((mac, _)) = address_use(&bytes) {
                proptest::prop_assert!(!mac.is_multicast());
            }
        }
    }
}
