//! The air of a cell, PPDU by PPDU: what a strip chart draws.
//!
//! A [`Trace`] is made of the frames that a monitor sees, the same [`AirFrame`]s that captures are made of, whoever
//! drives the cell.

use super::air::{AirBody, AirFrame, Reception};
use crate::packet::{Class, NodeId, Packet};
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// What a PPDU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PpduKind {
    /// Data frames with payload or a SYN, or datagrams.
    Data = 0,
    /// Data frames that carry TCP ACKs only.
    TcpAck = 1,
    /// A MAC ACK.
    Ack = 2,
    /// A BlockAck.
    BlockAck = 3,
    /// RTS, CTS, BlockAckReq or CF-End.
    Control = 4,
}

impl PpduKind {
    /// As tables name it.
    pub const fn name(self) -> &'static str {
        match self {
            PpduKind::Data => "data",
            PpduKind::TcpAck => "TCP ACK",
            PpduKind::Ack => "ACK",
            PpduKind::BlockAck => "BlockAck",
            PpduKind::Control => "control",
        }
    }
}

/// One PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ppdu {
    /// Start of the preamble.
    pub at: Instant,
    /// How long it is on the air.
    pub duration: Duration,
    /// Who sends.
    pub transmitter: NodeId,
    /// The receiver.
    pub receiver: NodeId,
    /// What it is.
    pub kind: PpduKind,
    /// Data rate.
    pub rate: Bitrate,
    /// Data frames in it; 0 in control frames.
    pub mpdus: u16,
    /// Data frames that did not arrive.
    pub lost: u16,
    /// Data frames that the MAC sends once more.
    pub retries: u16,
    /// IP bytes in it.
    pub bytes: u32,
    /// Whether it overlapped with another.
    pub collided: bool,
}

/// What a [`Trace`] looks at in a packet.
pub trait Traced {
    /// IP packet length.
    fn traced_len(&self) -> Bytes;
    /// DATA, ACK or not TCP.
    fn traced_class(&self) -> Class;
}

impl<P: Packet> Traced for P {
    fn traced_len(&self) -> Bytes {
        self.ip_len()
    }

    fn traced_class(&self) -> Class {
        self.class()
    }
}

/// The PPDUs of a part of a run, in the order of their start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// What was on the air.
    pub ppdus: Vec<Ppdu>,
    /// Whether there were more than the trace may hold.
    pub is_cut: bool,
    from: Instant,
    most: usize,
}

impl Trace {
    /// An empty trace of what starts at `from` or later: at most `most` PPDUs.
    pub fn new(from: Instant, most: usize) -> Self {
        Trace { ppdus: Vec::new(), is_cut: false, from, most }
    }

    /// Takes the next frame that a monitor sees.
    pub fn see<P: Traced>(&mut self, frame: &AirFrame<P>) {
        if frame.at < self.from {
            return;
        }
        let kind = kind(frame);
        let is_data = matches!(frame.body, AirBody::Data { .. });
        let is_full = self.ppdus.len() >= self.most;
        let more = self
            .ppdus
            .last_mut()
            .filter(|last| is_data && last.mpdus > 0 && (last.at, last.transmitter) == (frame.at, frame.transmitter));
        match more {
            Some(ppdu) => ppdu.add(frame, kind),
            None if is_full => self.is_cut = true,
            None => {
                let &AirFrame { at, duration, transmitter, receiver, tx, .. } = frame;
                let rate = tx.rate();
                let (mpdus, lost, retries, bytes, collided) = (0, 0, 0, 0, false);
                let mut ppdu =
                    Ppdu { at, duration, transmitter, receiver, kind, rate, mpdus, lost, retries, bytes, collided };
                ppdu.add(frame, kind);
                self.ppdus.push(ppdu);
            }
        }
    }

    /// Takes out what is complete: all but the last PPDU, to which a frame may still be added.
    pub fn drain_complete(&mut self) -> std::vec::Drain<'_, Ppdu> {
        let complete = self.ppdus.len().saturating_sub(1);
        self.ppdus.drain(..complete)
    }
}

impl Ppdu {
    fn add<P: Traced>(&mut self, frame: &AirFrame<P>, kind: PpduKind) {
        self.collided |= frame.reception == Reception::Collided;
        if let AirBody::Data { packet, more, retry, .. } = &frame.body {
            self.mpdus += 1;
            self.lost += u16::from(frame.reception != Reception::Decoded);
            self.retries += u16::from(*retry);
            self.bytes += std::iter::once(packet).chain(more).map(|packet| packet.traced_len().0 as u32).sum::<u32>();
            // One segment with payload makes it data.
            self.kind = if self.kind == PpduKind::TcpAck { kind } else { self.kind };
        }
    }
}

fn kind<P: Traced>(frame: &AirFrame<P>) -> PpduKind {
    match &frame.body {
        AirBody::Data { packet, .. } if packet.traced_class() == Class::Ack => PpduKind::TcpAck,
        AirBody::Data { .. } => PpduKind::Data,
        AirBody::Ack => PpduKind::Ack,
        AirBody::BlockAck { .. } => PpduKind::BlockAck,
        AirBody::Rts | AirBody::Cts | AirBody::CtsToSelf | AirBody::BlockAckReq { .. } | AirBody::CfEnd => {
            PpduKind::Control
        }
    }
}
