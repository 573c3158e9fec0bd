//! What a monitor on the channel sees.

use super::tx_vector::TxVector;
use crate::packet::{Category, NodeId};
use crate::units::{Duration, Instant};

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// Its receiver decoded it.
    Decoded,
    /// It overlapped with another frame.
    Collided,
    /// The channel spoilt it.
    Corrupted,
}

/// Where a frame stands in its PPDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// It is the PSDU.
    #[default]
    Alone,
    /// Others follow it in the A-MPDU.
    Within,
    /// It ends the A-MPDU, which it may be alone (S-MPDU).
    Last,
}

/// The frame's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AirBody<P> {
    /// A data frame with an IP packet, or with several as an A-MSDU.
    Data {
        /// The packet, or the first.
        packet: P,
        /// Those behind it in the A-MSDU.
        more: Vec<P>,
        /// 802.11 sequence number, 12 bits, counted by the transmitter; a retry repeats it.
        sequence: u16,
        /// Whether it is a retransmission by the MAC.
        retry: bool,
    },
    /// A MAC ACK.
    Ack,
    /// A BlockAck: what the receiver has of the MPDUs from `start` on, a bit each, the lowest first.
    BlockAck {
        /// Sequence number of the first bit.
        start: u16,
        /// The bitmap.
        received: [u64; 4],
    },
    /// A BlockAckReq: what of the MPDUs from `start` on arrived?
    BlockAckReq {
        /// Sequence number of the oldest MPDU that is not acknowledged.
        start: u16,
    },
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// A CTS that its sender addresses to itself: protection of the frame that follows.
    CtsToSelf,
    /// The end of a TXOP before its time.
    CfEnd,
}

/// A frame on the air. The MPDUs of an A-MPDU are frames with the same start, transmitter and duration: that of the PPDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AirFrame<P> {
    /// Start of the preamble.
    pub at: Instant,
    /// PPDU duration, PLCP included.
    pub duration: Duration,
    /// How long it announces that the medium is taken beyond its end: what the Duration field says.
    pub nav: Duration,
    /// Its place in the PPDU.
    pub place: Place,
    /// Who sends.
    pub transmitter: NodeId,
    /// The receiver.
    pub receiver: NodeId,
    /// How it is sent.
    pub tx: TxVector,
    /// The access category of the exchange; `None` without EDCA: its data frames have no QoS header.
    pub category: Option<Category>,
    /// What came of it.
    pub reception: Reception,
    /// What it carries.
    pub body: AirBody<P>,
}

impl<P> AirFrame<P> {
    /// A frame without EDCA, from one to the other, that is a PPDU by itself and that its receiver decodes.
    pub(super) const fn alone(
        at: Instant,
        duration: Duration,
        nav: Duration,
        [transmitter, receiver]: [NodeId; 2],
        tx: TxVector,
        body: AirBody<P>,
    ) -> Self {
        let (place, category, reception) = (Place::Alone, None, Reception::Decoded);
        AirFrame { at, duration, nav, place, transmitter, receiver, tx, category, reception, body }
    }

    /// The same frame with the packets as `show` makes them.
    pub fn map<Q>(self, show: impl FnMut(P) -> Q) -> AirFrame<Q> {
        let AirFrame { at, duration, nav, place, transmitter, receiver, tx, category, reception, body } = self;
        AirFrame { at, duration, nav, place, transmitter, receiver, tx, category, reception, body: body.map(show) }
    }
}

impl<P> AirBody<P> {
    fn map<Q>(self, mut show: impl FnMut(P) -> Q) -> AirBody<Q> {
        match self {
            AirBody::Data { packet, more, sequence, retry } => {
                AirBody::Data { packet: show(packet), more: more.into_iter().map(show).collect(), sequence, retry }
            }
            AirBody::Ack => AirBody::Ack,
            AirBody::Rts => AirBody::Rts,
            AirBody::Cts => AirBody::Cts,
            AirBody::CtsToSelf => AirBody::CtsToSelf,
            AirBody::CfEnd => AirBody::CfEnd,
            AirBody::BlockAckReq { start } => AirBody::BlockAckReq { start },
            AirBody::BlockAck { start, received } => AirBody::BlockAck { start, received },
        }
    }
}
