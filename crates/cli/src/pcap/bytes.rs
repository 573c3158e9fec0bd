//! Frames as bytes: IEEE 802.11, LLC/SNAP, IPv4, TCP and UDP.

use std::io;

use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use fairair_core::mac::{AirBody, AirFrame, LLC_SNAP, PpduRules};
use fairair_core::packet::{Direction, Kind, NodeId, Packet, Segment, UDP_IP_HEADER};
use fairair_core::scenario::Radio;
use fairair_core::units::Bytes;
use fairair_linux::emulate::{EthernetFrame, addresses};

const FRAME_DATA: u8 = 0x08;
const FRAME_ACK: u8 = 0xd4;
const FRAME_QOS_DATA: u8 = 0x88;
const FRAME_BLOCK_ACK_REQ: u8 = 0x84;
const FRAME_BLOCK_ACK: u8 = 0x94;
const FRAME_RTS: u8 = 0xb4;
const FRAME_CTS: u8 = 0xc4;
const FRAME_CF_END: u8 = 0xe4;
/// BAR and BA control field: compressed bitmap, TID 0.
const COMPRESSED_BITMAP: u16 = 0x0004;
/// Bytes of a BlockAck with a bitmap of 64 MPDUs.
const SHORT_BLOCK_ACK: u64 = 32;
const BROADCAST: [u8; 6] = [0xff; 6];
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;
/// In the first byte of the QoS control field.
const AMSDU_PRESENT: u8 = 0x80;

/// Any source of payload is as good as any other; discard (RFC 863) has no protocol for Wireshark to look for.
const DATA_RECEIVER_PORT: u16 = 9;
/// First of the 2^14 dynamic ports (RFC 6335).
const DATA_SENDER_PORTS: u16 = 49152;

const TTL: u8 = 64;
/// Window that the data sender advertises: nothing ever fills it.
const UNUSED_WINDOW: u16 = u16::MAX;

/// The payload of any packet, for the checksums to see.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// LLC and SNAP headers (RFC 1042) up to the EtherType.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const _: () = assert!(SNAP.len() + ETHERTYPE_IPV4.len() == LLC_SNAP as usize);
/// Bytes of the two addresses of an Ethernet frame; the EtherType follows.
const ETHERNET_ADDRESSES: usize = 12;

/// A packet that a capture can show.
pub trait Captured {
    /// MAC address of the AP or a station.
    fn mac_of(node: NodeId) -> [u8; 6];

    /// MAC address of the other end, beyond the AP.
    fn beyond_ap(&self) -> [u8; 6];

    /// Appends the LLC/SNAP header and the packet. `flows` is as for [`Writer::new`](super::Writer::new).
    ///
    /// # Errors
    /// `InvalidInput` when the packet cannot be written in its format.
    fn write(&self, out: &mut Vec<u8>, flows: &[Direction]) -> io::Result<()>;
}

impl Captured for Segment {
    fn mac_of(node: NodeId) -> [u8; 6] {
        let [a, b, c, d] = node.0.to_be_bytes();
        [0x02, 0xfa, a, b, c, d]
    }

    fn beyond_ap(&self) -> [u8; 6] {
        WIRED_MAC
    }

    fn write(&self, out: &mut Vec<u8>, flows: &[Direction]) -> io::Result<()> {
        out.extend(SNAP);
        out.extend(ETHERTYPE_IPV4);
        // Probes of the box have flow numbers behind those of the flows.
        ip_packet(out, self, flows.get(self.flow.index()).copied().unwrap_or(self.direction))
    }
}

impl Captured for EthernetFrame {
    fn mac_of(node: NodeId) -> [u8; 6] {
        node.station_index().map_or(addresses::BSSID, addresses::station_mac)
    }

    fn beyond_ap(&self) -> [u8; 6] {
        let at = if self.from_station { 0 } else { 6 };
        self.bytes.get(at..at + 6).and_then(|mac| mac.try_into().ok()).unwrap_or_default()
    }

    fn write(&self, out: &mut Vec<u8>, _flows: &[Direction]) -> io::Result<()> {
        out.extend(SNAP);
        out.extend(self.bytes.get(ETHERNET_ADDRESSES..).unwrap_or_default());
        Ok(())
    }
}

/// Appends the MAC frame with its FCS and returns the position in `out` after the MAC header.
pub(super) fn mac_frame<P: Captured>(
    out: &mut Vec<u8>,
    frame: &AirFrame<P>,
    radio: &Radio,
    flows: &[Direction],
) -> io::Result<usize> {
    let start = out.len();
    let header_end = match &frame.body {
        AirBody::Ack => control(out, FRAME_ACK, frame, false),
        AirBody::Cts | AirBody::CtsToSelf => control(out, FRAME_CTS, frame, false),
        AirBody::Rts => control(out, FRAME_RTS, frame, true),
        AirBody::CfEnd => {
            out.extend([FRAME_CF_END, 0, 0, 0]);
            out.extend([BROADCAST, P::mac_of(ap_of(frame))].as_flattened());
            out.len()
        }
        AirBody::BlockAckReq { start } => {
            control(out, FRAME_BLOCK_ACK_REQ, frame, true);
            out.extend((COMPRESSED_BITMAP | tid_info(frame)).to_le_bytes());
            out.extend((start << 4).to_le_bytes());
            out.len()
        }
        AirBody::BlockAck { start, received } => {
            control(out, FRAME_BLOCK_ACK, frame, true);
            out.extend((COMPRESSED_BITMAP | tid_info(frame)).to_le_bytes());
            // The fragment number says how long the bitmap is (802.11-2020 Table 9-30: 0 is 64 bits; 802.11ax: 4 is 256).
            let rules = PpduRules::standard(radio.band(), radio.preamble);
            let long = frame.duration > frame.tx.ppdu_time(Bytes(SHORT_BLOCK_ACK), &rules);
            out.extend((start << 4 | if long { 4 } else { 0 }).to_le_bytes());
            received.iter().take(if long { 4 } else { 1 }).for_each(|word| out.extend(word.to_le_bytes()));
            out.len()
        }
        AirBody::Data { packet, more, sequence, retry } => {
            let beyond_ap = if more.is_empty() { packet.beyond_ap() } else { P::mac_of(ap_of(frame)) };
            data_header(out, frame, beyond_ap, *sequence, *retry);
            let header_end = out.len();
            if more.is_empty() {
                packet.write(out, flows)?;
            } else {
                out[header_end - 2] |= AMSDU_PRESENT;
                amsdu(out, frame, std::iter::once(packet).chain(more), flows)?;
            }
            header_end
        }
    };
    let fcs = crc32fast::hash(&out[start..]);
    out.extend(fcs.to_le_bytes());
    Ok(header_end)
}

/// The AP at one of the frame's ends: its address is the BSSID.
fn ap_of<P>(frame: &AirFrame<P>) -> NodeId {
    if frame.transmitter.is_ap() { frame.transmitter } else { frame.receiver }
}

/// Appends the header of a control frame: the address of its receiver and, where `names_sender`, that of its transmitter.
fn control<P: Captured>(out: &mut Vec<u8>, kind: u8, frame: &AirFrame<P>, names_sender: bool) -> usize {
    out.extend([kind, 0]);
    out.extend(nav_micros(frame).to_le_bytes());
    out.extend(P::mac_of(frame.receiver));
    if names_sender {
        out.extend(P::mac_of(frame.transmitter));
    }
    out.len()
}

/// The TID in the control field of a BlockAckReq or BlockAck (802.11-2020 clause 9.3.1.7.1).
fn tid_info<P>(frame: &AirFrame<P>) -> u16 {
    frame.category.map_or(0, |category| u16::from(category.tid()) << 12)
}

fn data_header<P: Captured>(out: &mut Vec<u8>, frame: &AirFrame<P>, beyond_ap: [u8; 6], sequence: u16, retry: bool) {
    let ds = if frame.transmitter.is_ap() { FROM_DS } else { TO_DS };
    out.extend([
        if frame.category.is_some() { FRAME_QOS_DATA } else { FRAME_DATA },
        ds | if retry { RETRY } else { 0 },
    ]);
    out.extend(nav_micros(frame).to_le_bytes());
    // To the DS: BSSID, source, destination; from it: destination, BSSID, source.
    out.extend([P::mac_of(frame.receiver), P::mac_of(frame.transmitter), beyond_ap].as_flattened());
    out.extend((sequence << 4).to_le_bytes()); // fragment 0
    if let Some(category) = frame.category {
        out.extend([category.tid(), 0]); // answered by ACK or BlockAck as the PPDU demands
    }
}

/// Appends an A-MSDU: each packet behind its destination, source and length, all but the last padded to four bytes.
fn amsdu<'a, P: Captured + 'a>(
    out: &mut Vec<u8>,
    frame: &AirFrame<P>,
    packets: impl Iterator<Item = &'a P>,
    flows: &[Direction],
) -> io::Result<()> {
    let start = out.len();
    for packet in packets {
        out.resize(start + (out.len() - start).next_multiple_of(4), 0);
        let (beyond, to_station) = (packet.beyond_ap(), frame.transmitter.is_ap());
        let (destination, source) =
            if to_station { (P::mac_of(frame.receiver), beyond) } else { (beyond, P::mac_of(frame.transmitter)) };
        out.extend([destination, source].as_flattened());
        let length = out.len();
        out.extend([0, 0]);
        packet.write(out, flows)?;
        let len = u16::try_from(out.len() - length - 2)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a packet is too long for an A-MSDU"))?;
        out[length..length + 2].copy_from_slice(&len.to_be_bytes());
    }
    Ok(())
}

/// What the Duration field holds.
fn nav_micros<P>(frame: &AirFrame<P>) -> u16 {
    frame.nav.as_nanos().div_ceil(1_000).min(0x7fff) as u16
}

fn ip_packet(out: &mut Vec<u8>, packet: &Segment, data_direction: Direction) -> io::Result<()> {
    let (station, host) = (station_ip(packet.station), host_ip(packet));
    let (source, destination) = match packet.direction {
        Direction::Up => (station, host),
        Direction::Down => (host, station),
    };
    let protocol = match packet.kind {
        Kind::Udp | Kind::QuicInitial | Kind::Quic | Kind::QuicAck => IpNumber::UDP,
        Kind::Echo | Kind::EchoReply => IpNumber::ICMP,
        Kind::Syn | Kind::SynAck | Kind::Data | Kind::Ack => IpNumber::TCP,
    };
    let too_long = || io::Error::new(io::ErrorKind::InvalidInput, "a packet is too long for IPv4");
    let transport_len = u16::try_from(packet.ip_len().0).map_err(|_| too_long())? - Ipv4Header::MIN_LEN_U16;
    let mut ip = Ipv4Header::new(transport_len, TTL, protocol, source, destination).map_err(|_| too_long())?;
    if packet.ecn.capable {
        ip.ecn = if packet.ecn.marked { IpEcn::CongestionExperienced } else { IpEcn::Ect0 };
    }
    // What QUIC has between UDP's header and its data is encrypted; zeros stand for it.
    let length = if packet.kind.is_udp() { packet.ip_len().0 - UDP_IP_HEADER } else { packet.payload.into() };
    let payload = &ZEROS[..length as usize];

    ip.write(out)?;
    if packet.kind.is_udp() {
        let (source_port, destination_port) = ports(packet, data_direction);
        let udp = UdpHeader::with_ipv4_checksum(source_port, destination_port, &ip, payload).map_err(|_| too_long())?;
        udp.write(out)?;
    } else if !packet.kind.is_tcp() {
        let echo = IcmpEchoHeader { id: packet.station.0 as u16, seq: packet.seq as u16 };
        let kind = if packet.kind == Kind::Echo { Icmpv4Type::EchoRequest(echo) } else { Icmpv4Type::EchoReply(echo) };
        Icmpv4Header::with_checksum(kind, payload).write(out)?;
    } else {
        let mut tcp = tcp_header(packet, data_direction);
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).map_err(|_| too_long())?;
        tcp.write(out)?;
    }
    out.extend(payload);
    Ok(())
}

/// The data sender owns the numbers `seq + 1`; the receiver sends nothing but its SYN, number 0.
fn tcp_header(packet: &Segment, data_direction: Direction) -> TcpHeader {
    let number = |byte: u64| (byte as u32).wrapping_add(1);
    let (source_port, destination_port) = ports(packet, data_direction);
    let mut tcp = TcpHeader::new(source_port, destination_port, 0, 0);
    tcp.syn = matches!(packet.kind, Kind::Syn | Kind::SynAck);
    tcp.ack = packet.kind != Kind::Syn;
    (tcp.ece, tcp.cwr) = (packet.ecn.echo, packet.ecn.reduced);
    if packet.direction == data_direction {
        tcp.window_size = UNUSED_WINDOW;
        if !tcp.syn {
            tcp.sequence_number = number(packet.seq);
            tcp.acknowledgment_number = 1;
        }
    } else {
        tcp.window_size = u16::try_from(packet.window).unwrap_or(u16::MAX);
        tcp.sequence_number = u32::from(!tcp.syn);
        tcp.acknowledgment_number = number(packet.ack);
    }
    tcp
}

/// Source and destination port.
fn ports(packet: &Segment, data_direction: Direction) -> (u16, u16) {
    let sender_port = DATA_SENDER_PORTS | (packet.incarnation % (1 << 14)) as u16;
    if packet.direction == data_direction {
        (sender_port, DATA_RECEIVER_PORT)
    } else {
        (DATA_RECEIVER_PORT, sender_port)
    }
}

/// The wired side of the AP: locally administered, apart from all nodes.
const WIRED_MAC: [u8; 6] = [0x02, 0xfb, 0, 0, 0, 0];

/// In the lower half of 10.0.0.0/8.
fn station_ip(station: NodeId) -> [u8; 4] {
    (0x0a00_0000 | (station.0 & 0x007f_ffff)).to_be_bytes()
}

/// In the upper half of 10.0.0.0/8.
fn host_ip(packet: &Segment) -> [u8; 4] {
    (0x0a80_0000 | (packet.flow.0 & 0x007f_ffff)).to_be_bytes()
}
