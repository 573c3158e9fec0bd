//! Golden bytes, and the numbers in them.

use std::collections::BTreeSet;

use etherparse::{Ipv4Header, TcpHeader};
use fairair::pcap::Writer;
use fairair_core::mac::{AirBody, AirFrame, LLC_SNAP, Phy, Place, Preamble, Reception};
use fairair_core::packet::{Direction, Kind, NodeId, Segment};
use fairair_core::units::{Bitrate, Duration, Instant};

use crate::air::{Air, FLOWS, MSS, RADIOTAP_LEN, radio, segment, write};

/// The IPv4 and TCP headers of the only record in `capture`.
fn ip_and_tcp(capture: &[u8]) -> (Ipv4Header, TcpHeader) {
    const FILE_HEADER: usize = 24;
    const RECORD_HEADER: usize = 16;
    const MAC_HEADER: usize = 24;
    let packet = &capture[FILE_HEADER + RECORD_HEADER + RADIOTAP_LEN as usize + MAC_HEADER + LLC_SNAP as usize..];
    let (ip, rest) = Ipv4Header::from_slice(packet).unwrap();
    (ip, TcpHeader::from_slice(rest).unwrap().0)
}

/// A frame with `packet` alone.
fn frame(packet: Segment) -> AirFrame<Segment> {
    let mut air = Air::new(Phy::B);
    air.attempt(packet, false, Reception::Decoded);
    air.frames[0].clone()
}

#[test]
fn golden_bytes_of_a_syn() {
    let mut syn = frame(segment(0, Direction::Up, Kind::Syn));
    syn.at = Instant::from_nanos(1_000_002_003);
    if let AirBody::Data { sequence, retry, .. } = &mut syn.body {
        (*sequence, *retry) = (0xabc, true);
    }
    let capture = write(&radio(Phy::B), &FLOWS, &[syn]);
    let expected = [
        "4d3cb2a1 0200 0400 00000000 00000000 80000000 7f000000", // nanoseconds, 2.4, snaplen 128, radiotap
        "01000000 d3070000 62000000 62000000",                    // 1 s + 2003 ns, 98 of 98 bytes
        "00 00 1600 0f000000 a2420f0000000000 12 16 8509 a000",   // TSFT 1,000,098 us, 11 Mbit/s, channel 6
        "08 09 a200",                                             // data, to DS, retry, NAV 162 us
        "02fa00000000 02fa00000001 02fb00000000 c0ab",            // BSSID, station, wired side, sequence 0xabc
        "aaaa03 000000 0800",                                     // LLC/SNAP: IPv4
        "45000028 00004000 40062650 0a000001 0a800000",           // 10.0.0.1 to 10.128.0.0
        "c0000009 00000000 00000000 5002ffff db580000",           // 49152 to 9, SYN
        "9154814f",                                               // FCS
    ];
    assert_eq!(hex(&capture), expected.concat().replace(' ', ""));
}

/// A CTS-to-self of 802.11b before an OFDM frame: the address is the sender's own, the Duration lasts to the end of the ACK.
#[test]
fn golden_bytes_of_a_cts_to_self() {
    let mut mixed = radio(Phy::G);
    (mixed.protection_rate, mixed.preamble) = (Some(Bitrate::mbps(2)), Preamble::Long);
    let station = NodeId(1);
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let cts = AirFrame {
        at: at(1_000),
        duration: Duration::from_micros(248),
        nav: Duration::from_micros(308),
        place: Place::Alone,
        transmitter: station,
        receiver: station,
        tx: mixed.tx(Bitrate::mbps(2)),
        category: None,
        reception: Reception::Decoded,
        body: AirBody::CtsToSelf,
    };
    let data = Segment { payload: MSS, ..segment(0, Direction::Up, Kind::Data) };
    let body = AirBody::Data { packet: data, more: Vec::new(), sequence: 1, retry: false };
    let tx = mixed.tx(Bitrate::mbps(54));
    let (duration, nav) = (Duration::from_micros(254), Duration::from_micros(44));
    let data = AirFrame { at: at(1_258), duration, nav, receiver: NodeId::AP, tx, body, ..cts };
    let capture = write(&mixed, &FLOWS, &[cts, data]);
    let first = [
        "00000000 40420f00 24000000 24000000",                  // 1 ms, 36 bytes
        "00 00 1600 0f000000 a804000000000000 10 04 8509 a000", // 1192 us, after the long preamble; 2 Mbit/s, CCK
        "c4 00 3401 02fa00000001",                              // CTS, NAV 308 us, its own address
    ];
    assert!(hex(&capture[24..]).starts_with(&first.concat().replace(' ', "")), "{}", hex(&capture[24..100]));
    // The data: 1258 + 20 us, 54 Mbit/s, OFDM; NAV of SIFS and an ACK of 34 us.
    let second = hex(&capture[24 + 16 + 36 + 16..]);
    assert!(second.starts_with("000016000f000000fe04000000000000106c8509c00008012c00"), "{second}");
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn tcp_numbers_wrap_at_32_bits_and_windows_do_not() {
    let numbers = |packet| {
        let (_, tcp) = ip_and_tcp(&write(&radio(Phy::B), &FLOWS, &[frame(packet)]));
        (tcp.sequence_number, tcp.acknowledgment_number, tcp.window_size)
    };
    let last_number = u64::from(u32::MAX) - 1;
    let data = |seq| Segment { seq, payload: MSS, ..segment(0, Direction::Up, Kind::Data) };
    assert_eq!(numbers(data(last_number)), (u32::MAX, 1, u16::MAX));
    assert_eq!(numbers(data(last_number + 1)), (0, 1, u16::MAX));
    let ack = |ack, window| Segment { ack, window, ..segment(0, Direction::Down, Kind::Ack) };
    assert_eq!(numbers(ack(last_number + 1, 4380)), (1, 0, 4380));
    assert_eq!(numbers(ack(last_number + 2, 1 << 20)), (1, 1, u16::MAX));
}

#[test]
fn no_two_connections_of_a_station_share_addresses_and_ports() {
    let flows = vec![Direction::Up; 70_000];
    let tuple = |flow, incarnation| {
        let packet = Segment { incarnation, ..segment(flow, Direction::Up, Kind::Syn) };
        let (ip, tcp) = ip_and_tcp(&write(&radio(Phy::B), &flows, &[frame(packet)]));
        (ip.source, ip.destination, tcp.source_port, tcp.destination_port)
    };
    let tuples: BTreeSet<_> = [0, 1, 255, 256, 65_535, 65_536, 69_999]
        .into_iter()
        .flat_map(|flow| [0, 1, 9, 16_383].map(|incarnation| tuple(flow, incarnation)))
        .collect();
    assert_eq!(tuples.len(), 7 * 4);
}

#[test]
fn a_packet_that_ipv4_cannot_carry_is_refused() {
    let mut writer = Writer::new(Vec::new(), &radio(Phy::B), FLOWS).unwrap();
    let giant = frame(Segment { payload: 65_496, ..segment(0, Direction::Up, Kind::Data) });
    assert_eq!(writer.write(&giant).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}
