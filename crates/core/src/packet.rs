//! What the cell carries: the view that queues and MAC have of a packet, and the simulator's byteless segment.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Instant};

/// Bytes of an IPv4 and a TCP header without options.
pub const TCP_IP_HEADER: u64 = 40;
/// Bytes of an IPv4 and a UDP header, or of an IPv4 and an ICMP echo header.
pub const UDP_IP_HEADER: u64 = 28;
/// Bytes of a QUIC datagram with data besides the data: IPv4 and UDP; a short header with a connection ID of 8 bytes and a number of 2
/// (RFC 9000 section 17.3.1); a STREAM frame's header of 6; the tag of 16 (RFC 9001 section 5.3).
pub const QUIC_IP_HEADER: u64 = UDP_IP_HEADER + 11 + 6 + 16;
/// Bytes of a QUIC datagram with nothing but an ACK frame, which has 9 with its first range.
pub const QUIC_ACK: u64 = UDP_IP_HEADER + 11 + 9 + 16;
/// Bytes of the datagram that opens a QUIC connection, and of its answer (RFC 9000 section 14.1).
pub const QUIC_INITIAL: u64 = UDP_IP_HEADER + 1200;

/// A transmitter of the cell: 0 is the AP, `1..` are the stations in the scenario's order. Further APs on the channel have numbers
/// beyond those of all stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The access point, the first where there are several.
    pub const AP: NodeId = NodeId(0);
    /// Further access points count from here.
    const MORE: u32 = 1 << 31;

    /// The access point at position `index` of the scenario's: 0 is that of `[ap]`.
    pub const fn access_point(index: usize) -> Self {
        if index == 0 { NodeId::AP } else { NodeId(NodeId::MORE + index as u32) }
    }

    /// Whether it is an access point.
    #[inline]
    pub const fn is_ap(self) -> bool {
        // One comparison for both kinds: zero, and numbers with the highest bit.
        self.0.cast_signed() <= 0
    }

    /// Position among the scenario's access points; `None` for a station.
    pub const fn access_point_index(self) -> Option<usize> {
        if self.is_ap() { Some((self.0 & !NodeId::MORE) as usize) } else { None }
    }

    /// The station at position `index` of the scenario.
    pub const fn station(index: usize) -> Self {
        NodeId(index as u32 + 1)
    }

    /// Position in lists of the first AP, so many stations, and further APs.
    #[inline]
    pub fn position(self, stations: usize) -> usize {
        if self.0 < NodeId::MORE { self.0 as usize } else { stations + (self.0 - NodeId::MORE) as usize }
    }

    /// The node at a position of such a list.
    #[inline]
    pub const fn at_position(position: usize, stations: usize) -> Self {
        if position <= stations { NodeId(position as u32) } else { NodeId::access_point(position - stations) }
    }

    /// Position in arrays that hold the only AP first and then the stations.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Position in the scenario's list of stations; `None` for an AP.
    #[inline]
    pub fn station_index(self) -> Option<usize> {
        (!self.is_ap()).then(|| self.0 as usize - 1)
    }
}

/// A transport connection (or UDP stream), both directions of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FlowId(pub u32);

impl FlowId {
    /// Position in the run's list of flows.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which way a packet crosses the radio, and which way a flow's data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From a station to the AP.
    Up,
    /// From the AP to a station.
    Down,
}

impl Direction {
    /// The other way.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        }
    }
}

/// What a queue can tell packets apart by without keeping state of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A TCP segment with payload, or the SYN that opens a flow's data direction.
    Data,
    /// A TCP segment without payload: ACK, SYN-ACK.
    Ack,
    /// Anything that is not TCP.
    Other,
}

impl Class {
    /// All classes, in the order of the arrays that are indexed by class.
    pub const ALL: [Class; 3] = [Class::Data, Class::Ack, Class::Other];

    /// Position in arrays by class.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Access category of EDCA (IEEE 802.11-2020 clause 10.2.3.2), the most urgent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Category {
    /// AC_VO.
    #[serde(rename = "vo")]
    Voice,
    /// AC_VI.
    #[serde(rename = "vi")]
    Video,
    /// AC_BE.
    #[default]
    #[serde(rename = "be")]
    BestEffort,
    /// AC_BK.
    #[serde(rename = "bk")]
    Background,
}

impl Category {
    /// All categories, the most urgent first: the order of arrays that are indexed by category.
    pub const ALL: [Category; 4] = [Category::Voice, Category::Video, Category::BestEffort, Category::Background];

    /// The traffic identifier of its packets (802.11-2020 Table 10-1: the user priority that Linux' `cfg80211_classify8021d` gives them).
    pub const fn tid(self) -> u8 {
        match self {
            Category::Voice => 6,
            Category::Video => 5,
            Category::BestEffort => 0,
            Category::Background => 1,
        }
    }

    /// Position in arrays by category.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Why a packet was lost. Every loss has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// No room in the queue for the packet that arrives.
    QueueFull,
    /// It waited and gave way to a packet that the discipline prefers.
    PushedOut,
    /// An ACK that waited when a newer ACK of its flow arrived (TLAS-SAF).
    Superseded,
    /// CoDel signals a standing queue to the sender (RFC 8289).
    Codel,
    /// Refused at random before the queue is full (pokhrel2016 section 5).
    Admission,
    /// The MAC gave it up: its attempts are used up, or its lifetime is over.
    RetryLimit,
    /// The buffer of a wired link was full.
    WireFull,
}

impl DropReason {
    /// All reasons, in the order of the arrays that are indexed by reason.
    pub const ALL: [DropReason; 7] = [
        DropReason::QueueFull,
        DropReason::PushedOut,
        DropReason::Superseded,
        DropReason::Codel,
        DropReason::Admission,
        DropReason::RetryLimit,
        DropReason::WireFull,
    ];

    /// Position in arrays by reason.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The TCP header fields that a discipline may look at. Sequence numbers are bytes since the connection's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpView {
    /// First payload byte.
    pub seq: u64,
    /// Payload bytes.
    pub payload: u32,
    /// Next byte that the receiver of the other direction expects.
    pub ack: u64,
    /// The connection opens with this segment.
    pub syn: bool,
    /// The sender's congestion window in segments where the host reveals it (khademi2010 section 3), else `None`.
    pub cwnd: Option<u32>,
}

/// A packet as queue disciplines and MAC see it: a byteless [`Segment`] in simulation, a frame on the live path.
pub trait Packet {
    /// IP packet length.
    fn ip_len(&self) -> Bytes;
    /// The station that sends or receives it.
    fn station(&self) -> NodeId;
    /// The connection that it belongs to; equal for both directions.
    fn flow(&self) -> FlowId;
    /// Towards the AP or towards the station.
    fn direction(&self) -> Direction;
    /// DATA, ACK or not TCP.
    fn class(&self) -> Class;
    /// Its access category under EDCA.
    fn category(&self) -> Category {
        Category::BestEffort
    }
    /// TCP fields; `None` when it is not TCP.
    fn tcp(&self) -> Option<TcpView>;
    /// Lower the advertised receive window to `window` bytes; no effect when it is not TCP or already lower.
    fn clamp_window(&mut self, window: Bytes);
    /// When it entered the queue that holds it.
    fn enqueued_at(&self) -> Instant;
    /// Stamp the entry into a queue.
    fn set_enqueued_at(&mut self, now: Instant);
    /// Marks that it met congestion, if its ends know such marks (ECN); otherwise it has to be dropped.
    fn mark(&mut self) -> bool {
        false
    }
    /// The packet is dropped or has arrived: its maker may reuse its storage.
    fn discard(self)
    where
        Self: Sized,
    {
    }
}

/// Up to three SACK blocks (RFC 2018) as `[start, end)` in bytes, the most recent first; an empty block ends the list.
pub type SackBlocks = [(u64, u64); 3];

/// Explicit congestion notification in the headers of a TCP segment (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Bits of headers: any may be set.
pub struct Ecn {
    /// ECT: a queue may mark the packet where it would drop it.
    pub capable: bool,
    /// CE: a queue did.
    pub marked: bool,
    /// ECE: the receiver has got a marked packet.
    pub echo: bool,
    /// CWR: the sender has reduced its window.
    pub reduced: bool,
}

impl Ecn {
    /// Both ends do without.
    pub const NONE: Ecn = Ecn { capable: false, marked: false, echo: false, reduced: false };
}

/// What a simulated packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP SYN of the data sender.
    Syn,
    /// TCP SYN-ACK of the data receiver.
    SynAck,
    /// TCP segment with payload.
    Data,
    /// TCP segment without payload.
    Ack,
    /// UDP datagram.
    Udp,
    /// QUIC datagram that opens a connection, or answers one that does.
    QuicInitial,
    /// QUIC datagram with data; `ack` is its number.
    Quic,
    /// QUIC datagram with an ACK frame: `ack` is the highest number received, `window` the microseconds that the frame has waited, `sack` the
    /// ranges of numbers received.
    QuicAck,
    /// ICMP echo request: the box asks a station; `seq` is the number of the probe.
    Echo,
    /// ICMP echo reply, with the number of the request.
    EchoReply,
}

impl Kind {
    /// Whether it is a TCP segment.
    pub const fn is_tcp(self) -> bool {
        matches!(self, Kind::Syn | Kind::SynAck | Kind::Data | Kind::Ack)
    }

    /// Whether it is a UDP datagram, QUIC's too.
    pub const fn is_udp(self) -> bool {
        matches!(self, Kind::Udp | Kind::QuicInitial | Kind::Quic | Kind::QuicAck)
    }

    /// Bytes of the IP packet besides the payload.
    const fn header(self) -> u64 {
        match self {
            Kind::Syn | Kind::SynAck | Kind::Data | Kind::Ack => TCP_IP_HEADER,
            Kind::Udp | Kind::Echo | Kind::EchoReply => UDP_IP_HEADER,
            Kind::QuicInitial => QUIC_INITIAL,
            Kind::Quic => QUIC_IP_HEADER,
            Kind::QuicAck => QUIC_ACK,
        }
    }
}

/// A packet without bytes: headers and lengths only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Connection.
    pub flow: FlowId,
    /// Station at the radio end.
    pub station: NodeId,
    /// Way over the radio.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
    /// Access category under EDCA.
    pub category: Category,
    /// Counts a flow's connections: a late segment of a closed one is not taken for the next one's.
    pub incarnation: u32,
    /// First payload byte.
    pub seq: u64,
    /// Payload bytes.
    pub payload: u32,
    /// Cumulative acknowledgement (next byte expected); of QUIC see [`Kind`].
    pub ack: u64,
    /// Advertised receive window in bytes.
    pub window: u32,
    /// Congestion window of the sender in segments, for disciplines that need it.
    pub cwnd: u32,
    /// PSH: the receiver is to read at once.
    pub push: bool,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Entry into the queue that holds it.
    pub enqueued_at: Instant,
}

/// No SACK information.
pub const NO_SACK: SackBlocks = [(0, 0); 3];

impl Packet for Segment {
    #[inline]
    fn ip_len(&self) -> Bytes {
        Bytes(self.kind.header() + u64::from(self.payload))
    }

    #[inline]
    fn station(&self) -> NodeId {
        self.station
    }

    #[inline]
    fn flow(&self) -> FlowId {
        self.flow
    }

    #[inline]
    fn direction(&self) -> Direction {
        self.direction
    }

    #[inline]
    fn class(&self) -> Class {
        match self.kind {
            Kind::Data | Kind::Syn => Class::Data,
            Kind::Ack | Kind::SynAck => Class::Ack,
            Kind::Udp | Kind::QuicInitial | Kind::Quic | Kind::QuicAck | Kind::Echo | Kind::EchoReply => Class::Other,
        }
    }

    #[inline]
    fn category(&self) -> Category {
        self.category
    }

    #[inline]
    fn tcp(&self) -> Option<TcpView> {
        self.kind.is_tcp().then_some(TcpView {
            seq: self.seq,
            payload: self.payload,
            ack: self.ack,
            syn: matches!(self.kind, Kind::Syn | Kind::SynAck),
            cwnd: (self.cwnd > 0).then_some(self.cwnd),
        })
    }

    #[inline]
    fn clamp_window(&mut self, window: Bytes) {
        if self.kind.is_tcp() {
            self.window = self.window.min(u32::try_from(window.0).unwrap_or(u32::MAX));
        }
    }

    #[inline]
    fn mark(&mut self) -> bool {
        self.ecn.marked |= self.ecn.capable;
        self.ecn.capable
    }

    #[inline]
    fn enqueued_at(&self) -> Instant {
        self.enqueued_at
    }

    #[inline]
    fn set_enqueued_at(&mut self, now: Instant) {
        self.enqueued_at = now;
    }
}
