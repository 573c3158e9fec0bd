//! An Ethernet frame of a real host, as queues, MAC and box see a packet.

use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use fairair_core::cell::CellPacket;
use fairair_core::packet::{Class, Direction, FlowId, NodeId, Packet, TcpView};
use fairair_core::units::{Bytes, Instant};
use std::net::IpAddr;

/// Bytes of an Ethernet header.
pub(super) const ETHERNET: usize = 14;
/// Where a TCP header has its window and its checksum.
const WINDOW_AT: usize = 14;
const CHECKSUM_AT: usize = 16;

/// What the headers of a frame say, before it is known whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) destination: [u8; 6],
    pub(super) source: [u8; 6],
    /// Sender and receiver; `None` when it is not IP.
    pub(super) addresses: Option<(IpAddr, IpAddr)>,
    /// Whom an ARP request or a neighbour solicitation asks for.
    pub(super) asks_for: Option<IpAddr>,
    pub(super) transport: Transport,
}

/// The transport header, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// TCP.
    Tcp(TcpHeader),
    /// UDP with its ports and payload bytes.
    Udp { ports: (u16, u16), payload: u32 },
    /// An ICMP echo request.
    EchoRequest,
    /// An ICMP echo reply with its identifier and sequence number.
    EchoReply { id: u16, seq: u16 },
    /// Anything else.
    Other,
}

/// Fields of a TCP header as they are on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpHeader {
    /// Where it begins in the frame.
    pub(super) at: usize,
    pub(super) ports: (u16, u16),
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) payload: u32,
    pub(super) syn: bool,
    pub(super) acks: bool,
    /// Shift of the window scale option, in SYNs.
    pub(super) scale: Option<u8>,
    pub(super) timestamps: bool,
}

/// Reads the headers; `None` when the frame is too short for Ethernet.
pub(super) fn headers(bytes: &[u8]) -> Option<Headers> {
    let destination = bytes.get(..6)?.try_into().ok()?;
    let source = bytes.get(6..12)?.try_into().ok()?;
    bytes.get(ETHERNET - 1)?;
    let blank = Headers { destination, source, addresses: None, asks_for: None, transport: Transport::Other };
    let Ok(packet) = SlicedPacket::from_ethernet(bytes) else { return Some(blank) };
    let addresses = match &packet.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header();
            Some((header.source_addr().into(), header.destination_addr().into()))
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header();
            Some((header.source_addr().into(), header.destination_addr().into()))
        }
        Some(NetSlice::Arp(arp)) => {
            let target = <[u8; 4]>::try_from(arp.target_protocol_addr()).ok().map(IpAddr::from);
            let request = arp.operation() == etherparse::ArpOperation::REQUEST;
            return Some(Headers { asks_for: target.filter(|_| request), ..blank });
        }
        None => None,
    };
    let mut asks_for = None;
    let transport = match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            let at = tcp.slice().as_ptr().addr() - bytes.as_ptr().addr();
            let mut header = TcpHeader {
                at,
                ports: (tcp.source_port(), tcp.destination_port()),
                seq: tcp.sequence_number(),
                ack: tcp.acknowledgment_number(),
                payload: tcp.payload().len() as u32,
                syn: tcp.syn(),
                acks: tcp.ack(),
                scale: None,
                timestamps: false,
            };
            for option in tcp.options_iterator().flatten() {
                match option {
                    TcpOptionElement::WindowScale(shift) => header.scale = Some(shift.min(14)),
                    TcpOptionElement::Timestamp(..) => header.timestamps = true,
                    _ => {}
                }
            }
            Transport::Tcp(header)
        }
        Some(TransportSlice::Udp(udp)) => {
            Transport::Udp { ports: (udp.source_port(), udp.destination_port()), payload: udp.payload().len() as u32 }
        }
        Some(TransportSlice::Icmpv4(icmp)) => match icmp.icmp_type() {
            etherparse::Icmpv4Type::EchoReply(echo) => Transport::EchoReply { id: echo.id, seq: echo.seq },
            etherparse::Icmpv4Type::EchoRequest(_) => Transport::EchoRequest,
            _ => Transport::Other,
        },
        Some(TransportSlice::Icmpv6(icmp)) => {
            // Neighbour solicitation, RFC 4861 section 4.3: the target follows four reserved bytes.
            let slice = icmp.slice();
            if slice[0] == 135
                && let Some(target) = slice.get(8..24).and_then(|target| <[u8; 16]>::try_from(target).ok())
            {
                asks_for = Some(target.into());
            }
            Transport::Other
        }
        None => Transport::Other,
    };
    Some(Headers { addresses, asks_for, transport, ..blank })
}

/// A frame on its way through the cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) station: NodeId,
    pub(super) flow: FlowId,
    pub(super) direction: Direction,
    pub(super) tcp: Option<Tcp>,
    /// Position of its flow in the scenario, if it belongs to one.
    pub(super) of_scenario: Option<usize>,
    /// Which of the box's own probes it is, or the reply to it; a live box knows by itself which.
    pub(super) probe: Option<u64>,
    /// Whether a frame from a station is for other stations too.
    pub(super) relayed: bool,
    /// Payload of UDP.
    pub(super) datagram: u32,
    pub(super) enqueued_at: Instant,
}

/// TCP of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tcp {
    pub(super) view: TcpView,
    pub(super) acks: bool,
    /// Where its header begins.
    pub(super) at: usize,
    /// Shift that its window field is to be read with.
    pub(super) scale: u8,
}

impl Packet for Frame {
    fn ip_len(&self) -> Bytes {
        Bytes(self.bytes.len().saturating_sub(ETHERNET) as u64)
    }

    fn station(&self) -> NodeId {
        self.station
    }

    fn flow(&self) -> FlowId {
        self.flow
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn class(&self) -> Class {
        match self.tcp {
            None => Class::Other,
            // The SYN of a flow's data sender; a SYN-ACK is its receiver's.
            Some(tcp) if tcp.view.payload > 0 || (tcp.view.syn && !tcp.acks) => Class::Data,
            Some(_) => Class::Ack,
        }
    }

    fn tcp(&self) -> Option<TcpView> {
        self.tcp.map(|tcp| tcp.view)
    }

    /// Rounds up to what the window field can say: the part of a segment that this adds admits no further segment.
    fn clamp_window(&mut self, window: Bytes) {
        let Some(Tcp { at, scale, .. }) = self.tcp else { return };
        let field = at + WINDOW_AT;
        let old = u16::from_be_bytes([self.bytes[field], self.bytes[field + 1]]);
        let Ok(new) = u16::try_from(window.0.div_ceil(1 << scale)) else { return };
        if new < old {
            self.bytes[field..field + 2].copy_from_slice(&new.to_be_bytes());
            let sum = at + CHECKSUM_AT;
            let checksum = u16::from_be_bytes([self.bytes[sum], self.bytes[sum + 1]]);
            self.bytes[sum..sum + 2].copy_from_slice(&updated(checksum, old, new).to_be_bytes());
        }
    }

    fn enqueued_at(&self) -> Instant {
        self.enqueued_at
    }

    fn set_enqueued_at(&mut self, now: Instant) {
        self.enqueued_at = now;
    }
}

impl CellPacket for Frame {
    fn scenario_flow(&self) -> Option<usize> {
        self.of_scenario
    }

    fn probe(&self) -> Option<u64> {
        self.probe
    }

    fn is_traffic(&self) -> bool {
        self.tcp.is_some() || self.datagram > 0
    }

    fn is_for_stations(&self) -> bool {
        self.relayed
    }
}

/// The Internet checksum after a 16-bit word changed from `old` to `new`: RFC 1624 Eq. 3.
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn tcp_frame(window: u16, scale: Option<u8>, payload: usize) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 2], [10, 1, 0, 2], 64);
        let builder = builder.tcp(1000, 5001, 77, window).ack(99);
        let builder = match scale {
            Some(shift) => builder.syn().options(&[TcpOptionElement::WindowScale(shift)]).unwrap(),
            None => builder,
        };
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![7; payload]).unwrap();
        bytes
    }

    fn frame(bytes: Vec<u8>, scale: u8) -> Frame {
        let Some(Headers { transport: Transport::Tcp(header), .. }) = headers(&bytes) else { panic!("it is TCP") };
        let view = TcpView { seq: 0, payload: header.payload, ack: 0, syn: header.syn, cwnd: None };
        Frame {
            bytes,
            station: NodeId(1),
            flow: FlowId(0),
            direction: Direction::Up,
            tcp: Some(Tcp { view, acks: header.acks, at: header.at, scale }),
            of_scenario: None,
            probe: None,
            relayed: false,
            datagram: 0,
            enqueued_at: Instant::ZERO,
        }
    }

    /// The window field, when the checksum is right.
    #[track_caller]
    fn window(frame: &Frame) -> u16 {
        let packet = SlicedPacket::from_ethernet(&frame.bytes).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (packet.net, packet.transport) else {
            panic!("it is TCP over IPv4")
        };
        let right = tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()).unwrap();
        assert_eq!(tcp.checksum(), right, "checksum");
        tcp.window_size()
    }

    #[test]
    fn windows_are_lowered_never_raised_and_the_checksum_stays_right() {
        for (before, scale, cap, after) in [
            (65535, 0, 42 * 1460, 61320),
            (1000, 7, 42 * 1460, 480), // 479.06 units of 128 bytes, rounded up: 42 segments and 120 bytes
            (100, 7, 42 * 1460, 100),
            (65535, 0, 100_000, 65535),
            (512, 14, 1460, 1),
        ] {
            let mut frame = frame(tcp_frame(before, None, 3), scale);
            frame.clamp_window(Bytes(cap));
            assert_eq!(window(&frame), after, "{before} << {scale} down to {cap}");
        }
    }

    #[test]
    fn a_frame_of_1500_ip_bytes_costs_what_the_simulators_full_segment_costs() {
        let frame = frame(tcp_frame(500, None, 1460), 0);
        assert_eq!(frame.ip_len(), Bytes(1500));
        assert_eq!(frame.class(), Class::Data);
    }

    #[test]
    fn headers_tell_options_of_a_syn_and_whom_an_arp_request_asks_for() {
        let bytes = tcp_frame(500, Some(7), 0);
        let Some(Headers { transport: Transport::Tcp(header), .. }) = headers(&bytes) else { panic!("it is TCP") };
        assert_eq!((header.scale, header.syn, header.payload), (Some(7), true, 0));
        let mut arp = [vec![0xff; 6], vec![2; 6], vec![8, 6, 0, 1, 8, 0, 6, 4, 0, 1]].concat();
        arp.extend([2, 2, 2, 2, 2, 2, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 9]);
        assert_eq!(headers(&arp).unwrap().asks_for, Some([10, 0, 0, 9].into()));
        assert_eq!(headers(&[0; 9]), None, "shorter than Ethernet");
    }
}
