//! The receiving end of a connection: reassembly, cumulative ACKs, delayed ACKs, SACK blocks.

use super::linux::Acks;
use super::params::{Profile, TcpParams};
use super::quic::Receipts;
use super::ranges::Ranges;
use crate::packet::{Ecn, Kind, NO_SACK, SackBlocks};
use crate::units::{Duration, Instant};

/// What the receiver wants sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// `SynAck` or `Ack`; of QUIC `QuicInitial` or `QuicAck`.
    pub kind: Kind,
    /// Next byte expected; of QUIC the highest number received.
    pub ack: u64,
    /// Advertised window in bytes; of QUIC the microseconds that it has waited.
    pub window: u32,
    /// SACK blocks, the most recent first; of QUIC the ranges of numbers received, the highest first.
    pub sack: SackBlocks,
    /// What its headers say of ECN.
    pub ecn: Ecn,
}

/// A TCP receiver whose application reads at once.
///
/// Input is [`handle_segment`](Self::handle_segment) and [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout); after each take [`poll_transmit`](Self::poll_transmit) until it is `None`.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    delay: Option<Duration>,
    /// Linux' choice of when to acknowledge, in place of `delay`.
    linux: Option<Acks>,
    /// What arrived, by number, where acknowledgements are QUIC's.
    quic: Option<Receipts>,
    sack: bool,
    window: u32,
    next: u64,
    out_of_order: Ranges,
    /// The range that the latest out-of-order segment belongs to.
    latest: (u64, u64),
    /// A segment waits to be acknowledged until then.
    ack_deadline: Option<Instant>,
    pending: Option<Kind>,
    /// ECN is in use; a mark arrived, and the sender has not said yet that it has reduced its window.
    ecn: bool,
    echoes: bool,
}

impl Receiver {
    /// A receiver that waits for a SYN.
    pub fn new(params: &TcpParams) -> Self {
        Receiver {
            delay: params.delayed_ack.then_some(params.delayed_ack_timeout),
            linux: (params.profile == Profile::Linux).then(|| Acks::new(params)),
            quic: (params.profile == Profile::Quic).then(|| Receipts::new(params.delayed_ack_timeout)),
            sack: params.sack,
            window: params.window.saturating_mul(params.mss),
            ecn: params.ecn,
            ..Receiver::default()
        }
    }

    /// ECN in the headers of the segment that [`handle_segment`](Self::handle_segment) gets next (RFC 3168 section 6.1.3): the echo of a
    /// mark goes with each ACK until the sender says that it has reduced its window.
    pub fn handle_ecn(&mut self, ecn: Ecn) {
        self.echoes &= !ecn.reduced;
        if self.ecn && ecn.marked {
            if let (Some(linux), false) = (&mut self.linux, self.echoes) {
                linux.marked();
            }
            self.echoes = true;
        }
    }

    /// The number of the QUIC datagram that [`handle_segment`](Self::handle_segment) gets next.
    pub fn handle_number(&mut self, now: Instant, number: u64) {
        let Some(quic) = &mut self.quic else { return };
        let delay = quic.arrived(now, number);
        if delay == Duration::ZERO {
            self.pending = Some(Kind::QuicAck);
            self.ack_deadline = None;
        } else {
            self.ack_deadline.get_or_insert(now + delay);
        }
    }

    /// A SYN or a segment with payload arrived, `push` with PSH. Returns the bytes that became deliverable in order.
    pub fn handle_segment(&mut self, now: Instant, kind: Kind, seq: u64, payload: u32, push: bool) -> u64 {
        if kind == Kind::Syn {
            self.pending = Some(Kind::SynAck);
            if let Some(linux) = &mut self.linux {
                linux.syn(now);
            }
            return 0;
        }
        if kind == Kind::QuicInitial {
            self.pending = Some(kind);
            return 0;
        }
        let end = seq + u64::from(payload);
        if self.quic.is_some() {
            return self.reassemble(seq, end);
        }
        if seq > self.next {
            // A hole: the duplicate ACK goes at once (RFC 5681 section 4.2), or with others (Linux).
            self.latest = self.out_of_order.insert(seq, end);
            let delay = self.linux.as_mut().map_or(Duration::ZERO, |linux| linux.behind_hole(self.next));
            if delay == Duration::ZERO {
                self.acknowledge();
            } else {
                let deadline = now + delay;
                self.ack_deadline = Some(self.ack_deadline.map_or(deadline, |other| other.min(deadline)));
            }
            return 0;
        }
        if end <= self.next {
            if let Some(linux) = &mut self.linux {
                linux.duplicate();
            }
            self.acknowledge();
            return 0;
        }
        let before = self.next;
        let filled_hole = !self.out_of_order.is_empty();
        self.next = if filled_hole { self.out_of_order.advance(end) } else { end };
        let delay = match &mut self.linux {
            Some(linux) => Some(linux.in_order(now, self.next, push)).filter(|delay| *delay > Duration::ZERO),
            None => self.delay,
        };
        match delay {
            Some(delay) if !filled_hole && self.ack_deadline.is_none() => self.ack_deadline = Some(now + delay),
            _ => self.acknowledge(),
        }
        self.next - before
    }

    /// Data whose acknowledgement goes by numbers. Returns the bytes that became deliverable in order.
    fn reassemble(&mut self, seq: u64, end: u64) -> u64 {
        let before = self.next;
        if seq > self.next {
            self.out_of_order.insert(seq, end);
        } else if end > self.next {
            self.next = self.out_of_order.advance(end);
        }
        self.next - before
    }

    /// The delayed-ACK timer.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.ack_deadline
    }

    /// The delayed-ACK timer expired.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.ack_deadline.is_some_and(|deadline| deadline <= now) {
            if let Some(linux) = &mut self.linux {
                linux.in_vain();
            }
            if let Some(quic) = &mut self.quic {
                quic.timed_out(now);
            }
            self.acknowledge();
        }
    }

    /// The segment to send, if there is one.
    pub fn poll_transmit(&mut self) -> Option<Acknowledgement> {
        let kind = self.pending.take()?;
        if let Some(quic) = &mut self.quic {
            let (ack, delay, sack) = if kind == Kind::QuicAck { quic.acknowledge() } else { Default::default() };
            let window = u32::try_from(delay.as_nanos() / 1000).unwrap_or(u32::MAX);
            return Some(Acknowledgement { kind, ack, window, sack, ecn: Ecn::NONE });
        }
        if kind == Kind::Ack
            && let Some(linux) = &mut self.linux
        {
            linux.sent(self.next);
        }
        let echo = if kind == Kind::SynAck { self.ecn } else { self.echoes };
        let ecn = Ecn { echo, ..Ecn::NONE };
        Some(Acknowledgement { kind, ack: self.next, window: self.window, sack: self.sack_blocks(), ecn })
    }

    /// Bytes delivered in order since the connection's start.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    fn acknowledge(&mut self) {
        self.ack_deadline = None;
        self.pending = Some(if self.quic.is_some() { Kind::QuicAck } else { Kind::Ack });
    }

    /// RFC 2018 section 4: the block with the latest segment first, then others.
    fn sack_blocks(&self) -> SackBlocks {
        let mut blocks = NO_SACK;
        if self.sack && !self.out_of_order.is_empty() {
            let latest = self.out_of_order.iter().filter(|range| *range == self.latest);
            let others = self.out_of_order.iter().rev().filter(|range| *range != self.latest);
            for (block, range) in blocks.iter_mut().zip(latest.chain(others)) {
                *block = range;
            }
        }
        blocks
    }
}
