//! What a sender answers.

use crate::packet::{Ecn, Kind};
use crate::units::Duration;

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// `Syn` or `Data`; of QUIC `QuicInitial` or `Quic`.
    pub kind: Kind,
    /// First payload byte.
    pub seq: u64,
    /// Payload bytes.
    pub payload: u32,
    /// The number of a QUIC datagram; 0 in TCP.
    pub number: u64,
    /// Congestion window in segments, for queue disciplines that read it from the packet.
    pub cwnd: u32,
    /// PSH: the receiver is to read at once. Only Linux sets it in the middle of a transfer.
    pub push: bool,
    /// What its headers say of ECN.
    pub ecn: Ecn,
}

/// Counters of one connection's sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments with payload sent, retransmissions included.
    pub sent: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts, the SYN's included; of QUIC probe timeouts.
    pub timeouts: u64,
    /// Fast retransmits; of QUIC reductions of the window.
    pub fast_retransmits: u64,
    /// The longest retransmission timeout that expired.
    pub longest_timeout: Duration,
}
