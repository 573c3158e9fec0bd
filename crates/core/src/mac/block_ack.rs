//! A BlockAck agreement: the MPDUs of one transmitter, receiver and category between queue and delivery.
//!
//! One object for both ends: what the originator keeps until it is acknowledged, and the receiver's reorder buffer. Both
//! windows begin at the oldest MPDU that is not acknowledged.

use std::collections::VecDeque;

use super::phy::LLC_SNAP;
use crate::packet::Packet;
use crate::units::{Bytes, Duration, Instant};

/// QoS header 26 and FCS 4 bytes around a packet with LLC/SNAP, or around an A-MSDU.
pub(super) const HEADER_FCS: u64 = 30;
/// LLC/SNAP 8, QoS header 26 and FCS 4 bytes around an IP packet.
pub(super) const MPDU_OVERHEAD: u64 = LLC_SNAP + HEADER_FCS;
/// Destination, source, length and LLC/SNAP before an IP packet in an A-MSDU (802.11-2020 clause 9.3.2.2.2).
const MSDU_OVERHEAD: u64 = 14 + LLC_SNAP;
/// Delimiter before each MPDU of an A-MPDU.
pub(super) const DELIMITER: u64 = 4;

/// Bytes of the MPDU that carries as many packets of `len` as an A-MSDU of `most` bytes holds, at most `wanted`, and how many these are.
pub(super) fn mpdu_of(len: u64, most: u64, wanted: u64) -> (u64, u64) {
    let subframe = MSDU_OVERHEAD + len;
    let packets = (most.saturating_sub(subframe) / subframe.next_multiple_of(4) + 1).min(wanted);
    let amsdu = (packets.max(1) - 1) * subframe.next_multiple_of(4) + subframe;
    if packets > 1 && amsdu <= most { (amsdu + HEADER_FCS, packets) } else { (len + MPDU_OVERHEAD, 1) }
}

/// What became of an MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// To be sent, for the first time or again.
    Waiting,
    /// In a PPDU whose fate is not known yet to its sender.
    OnAir,
    /// The receiver could not decode it; the sender does not know yet.
    Lost,
    /// The receiver has it.
    Received,
    /// The sender gave it up.
    GivenUp,
}

/// A MAC protocol data unit.
struct Mpdu<P> {
    /// `None` once it was handed up or given up.
    packet: Option<P>,
    entered: Instant,
    /// IP bytes.
    len: u32,
    /// Bytes of its A-MSDU.
    amsdu: u32,
    /// Packets of its A-MSDU behind the first that were not handed up or given up.
    more: u16,
    fails: u16,
    fate: Fate,
}

impl<P> Mpdu<P> {
    fn len(&self) -> u64 {
        u64::from(self.len)
    }

    /// Bytes with MAC header and FCS.
    fn bytes(&self) -> u64 {
        if self.more > 0 { u64::from(self.amsdu) + HEADER_FCS } else { self.len() + MPDU_OVERHEAD }
    }

    /// Bytes of its A-MSDU with one more packet of `len`.
    fn amsdu_with(&self, len: u64) -> u64 {
        u64::from(self.amsdu).next_multiple_of(4) + MSDU_OVERHEAD + len
    }
}

/// What limits the PPDU that is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Longest PSDU of several MPDUs in bytes, and of one.
    pub(super) psdu: u64,
    pub(super) lone_psdu: u64,
    /// BlockAck window.
    pub(super) window: usize,
    /// Most MPDUs.
    pub(super) mpdus: usize,
    /// Longest A-MSDU; 0: each packet is an MPDU.
    pub(super) amsdu: u64,
    /// Bytes before a lone MPDU: a delimiter with VHT and HE, which send an S-MPDU.
    pub(super) alone: u64,
    /// Whether one MPDU may go in spite of `lone_psdu`.
    pub(super) first_always: bool,
    /// Entered before this: given up.
    pub(super) expired: Instant,
}

/// A PPDU's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) mpdus: u32,
    /// Those that were sent before.
    pub(super) retries: u32,
    /// PSDU bytes.
    pub(super) psdu: u64,
}

/// What the originator learned of its PPDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) discarded: u32,
    /// Their IP bytes.
    pub(super) bytes: Bytes,
}

/// The agreement.
pub(super) struct Session<P> {
    /// From the oldest that is not acknowledged on.
    mpdus: VecDeque<Mpdu<P>>,
    /// [`Mpdu::more`] packets of each, in order.
    more: VecDeque<P>,
    /// Sequence number of the first of `mpdus`, 12 bits.
    sequence: u16,
    /// How many of the first `mpdus` the receiver has handed up.
    handed_up: usize,
    /// MPDUs with [`Fate::Waiting`], and their IP bytes.
    waiting: usize,
    waiting_bytes: u64,
    /// MPDUs on the air are among the first `span`.
    span: usize,
    /// Packets that were not handed up or given up yet.
    pub(super) held: usize,
    /// Given up for their age since the last [`Self::take_expired`].
    expired: Settled,
}

impl<P: Packet> Session<P> {
    pub(super) fn new() -> Self {
        Session {
            mpdus: VecDeque::new(),
            more: VecDeque::new(),
            sequence: 0,
            handed_up: 0,
            waiting: 0,
            waiting_bytes: 0,
            span: 0,
            held: 0,
            expired: Settled::default(),
        }
    }

    /// A packet leaves the queue: it joins the last MPDU if that was never sent and an A-MSDU of `most` bytes holds both. Tells whether it joined.
    pub(super) fn push(&mut self, packet: P, most: u64) -> bool {
        let (len, entered) = (packet.ip_len().0, packet.enqueued_at());
        self.waiting_bytes += len;
        self.held += 1;
        if most > 0
            && let Some(last) = self.mpdus.back_mut()
            && (last.fate, last.fails) == (Fate::Waiting, 0)
            && last.amsdu_with(len) <= most
        {
            last.amsdu = last.amsdu_with(len) as u32;
            last.len += len as u32;
            last.more += 1;
            self.more.push_back(packet);
            return true;
        }
        self.waiting += 1;
        let (amsdu, len) = ((MSDU_OVERHEAD + len) as u32, len as u32);
        let fate = Fate::Waiting;
        self.mpdus.push_back(Mpdu { packet: Some(packet), entered, len, amsdu, more: 0, fails: 0, fate });
        false
    }

    /// MPDUs that are not acknowledged.
    pub(super) fn len(&self) -> usize {
        self.mpdus.len()
    }

    /// Whether an MPDU waits to be sent.
    pub(super) fn may_send(&self) -> bool {
        self.waiting > 0
    }

    /// MPDUs that wait, and their IP bytes.
    pub(super) fn waiting(&self) -> (usize, u64) {
        (self.waiting, self.waiting_bytes)
    }

    /// When the oldest MPDU entered the queue.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.mpdus.front().map(|mpdu| mpdu.entered)
    }

    /// Puts as many MPDUs on the air as `limits` admit: first those that wait here, then what `pull` gives.
    pub(super) fn load(&mut self, limits: &Limits, mut pull: impl FnMut() -> Option<P>) -> Load {
        let mut load = Load::default();
        // Bytes of the MPDUs so far as subframes, padded to four.
        let mut subframes = 0;
        let mut index = 0;
        while index < limits.window && (load.mpdus as usize) < limits.mpdus {
            if index == self.mpdus.len() {
                let Some(packet) = self.next(limits, &mut pull) else { break };
                self.push(packet, 0);
            }
            if limits.amsdu > 0 && index + 1 == self.mpdus.len() {
                while let Some(packet) = self.next(limits, &mut pull) {
                    if !self.push(packet, limits.amsdu) {
                        break;
                    }
                }
            }
            let mpdu = &mut self.mpdus[index];
            if mpdu.fate != Fate::Waiting {
                index += 1;
                continue;
            }
            if mpdu.entered < limits.expired {
                self.waiting -= 1;
                self.waiting_bytes -= mpdu.len();
                let gone = self.give_up(index);
                self.expired.discarded += gone.discarded;
                self.expired.bytes += gone.bytes;
                index += 1;
                continue;
            }
            let bytes = mpdu.bytes();
            let (psdu, fits) = if load.mpdus == 0 {
                let psdu = limits.alone + bytes;
                (psdu, psdu <= limits.lone_psdu || limits.first_always)
            } else {
                let psdu = subframes + DELIMITER + bytes;
                (psdu, psdu <= limits.psdu)
            };
            if !fits {
                break;
            }
            mpdu.fate = Fate::OnAir;
            load.mpdus += 1;
            load.retries += u32::from(mpdu.fails > 0);
            load.psdu = psdu;
            subframes += (DELIMITER + bytes).next_multiple_of(4);
            self.waiting -= 1;
            self.waiting_bytes -= mpdu.len();
            index += 1;
        }
        self.span = index;
        load
    }

    /// The next packet of the queue that has not outlived its time.
    fn next(&mut self, limits: &Limits, pull: &mut impl FnMut() -> Option<P>) -> Option<P> {
        loop {
            let packet = pull()?;
            if packet.enqueued_at() >= limits.expired {
                return Some(packet);
            }
            self.expired.discarded += 1;
            self.expired.bytes += packet.ip_len();
            packet.discard();
        }
    }

    /// Gives the packets of an MPDU up.
    fn give_up(&mut self, index: usize) -> Settled {
        let before: usize = self.mpdus.range(..index).map(|mpdu| usize::from(mpdu.more)).sum();
        let mpdu = &mut self.mpdus[index];
        mpdu.fate = Fate::GivenUp;
        let bytes = Bytes(mpdu.len());
        let more = usize::from(std::mem::take(&mut mpdu.more));
        let mut discarded = 0;
        for packet in mpdu.packet.take().into_iter().chain(self.more.drain(before..before + more)) {
            packet.discard();
            discarded += 1;
        }
        self.held -= discarded;
        Settled { discarded: discarded as u32, bytes }
    }

    /// The MPDUs that were loaded did not go: they wait again.
    pub(super) fn unload(&mut self) {
        for mpdu in self.mpdus.iter_mut().take(self.span).filter(|mpdu| mpdu.fate == Fate::OnAir) {
            mpdu.fate = Fate::Waiting;
            self.waiting += 1;
            self.waiting_bytes += mpdu.len();
        }
        self.span = 0;
    }

    /// Decides for each MPDU on the air whether it is lost: `lose` gets its bytes. Calls `received` for each that is not with
    /// the bytes of the PSDU up to its end, and the session. Tells how many packets are received and their IP bytes.
    pub(super) fn receive(
        &mut self,
        mut lose: impl FnMut(u64) -> bool,
        mut received: impl FnMut(&mut Self, u64),
    ) -> (u32, Bytes) {
        let (mut count, mut bytes, mut ip) = (0, 0, 0);
        for index in 0..self.span {
            let mpdu = &mut self.mpdus[index];
            if mpdu.fate != Fate::OnAir {
                continue;
            }
            let (len, own) = (mpdu.len(), mpdu.bytes());
            bytes += (DELIMITER + own).next_multiple_of(4);
            if lose(own) {
                mpdu.fate = Fate::Lost;
            } else {
                mpdu.fate = Fate::Received;
                count += 1 + u32::from(mpdu.more);
                ip += len;
                received(self, bytes);
            }
        }
        (count, Bytes(ip))
    }

    /// Visits the MPDUs on the air: the first packet, those behind it in its A-MSDU, the sequence number, whether it is a retry.
    pub(super) fn on_air(&self) -> impl Iterator<Item = (&P, impl Iterator<Item = &P>, u16, bool)> {
        let mut behind = 0;
        self.mpdus.iter().take(self.span).enumerate().filter_map(move |(index, mpdu)| {
            let more = behind..behind + usize::from(mpdu.more);
            behind = more.end;
            let sequence = (self.sequence + index as u16) % 4096;
            let packet = mpdu.packet.as_ref().filter(|_| mpdu.fate == Fate::OnAir)?;
            Some((packet, self.more.range(more), sequence, mpdu.fails > 0))
        })
    }

    /// Hands the next packet up that the receiver has in order.
    pub(super) fn hand_up(&mut self) -> Option<P> {
        while let Some(mpdu) = self.mpdus.get_mut(self.handed_up) {
            if !matches!(mpdu.fate, Fate::Received | Fate::GivenUp) {
                return None;
            }
            if let Some(packet) = mpdu.packet.take() {
                self.held -= 1;
                return Some(packet);
            }
            if mpdu.more > 0 {
                mpdu.more -= 1;
                self.held -= 1;
                return self.more.pop_front();
            }
            self.handed_up += 1;
        }
        None
    }

    /// What [`Self::load`] found to have outlived its time since the last call.
    pub(super) fn take_expired(&mut self) -> Settled {
        std::mem::take(&mut self.expired)
    }

    /// Sequence number of the oldest MPDU that is not acknowledged.
    pub(super) fn start(&self) -> u16 {
        self.sequence
    }

    /// Sequence number of the oldest MPDU that is not acknowledged, and which from it on the receiver has.
    pub(super) fn scoreboard(&self) -> (u16, [u64; 4]) {
        let mut received = [0; 4];
        for (index, mpdu) in self.mpdus.iter().enumerate().take(256) {
            received[index / 64] |= u64::from(mpdu.fate == Fate::Received) << (index % 64);
        }
        (self.sequence, received)
    }

    /// The originator knows the fate of the PPDU. What was lost waits again, or is given up after `limit` attempts.
    ///
    /// Packets behind one that is given up may be handed up at once: the BlockAckReq that moves the receiver's window takes no air here.
    pub(super) fn settle(&mut self, limit: u32) -> Settled {
        let mut settled = Settled::default();
        for index in 0..self.span {
            let mpdu = &mut self.mpdus[index];
            if mpdu.fate != Fate::Lost {
                continue;
            }
            mpdu.fails = mpdu.fails.saturating_add(1);
            if u32::from(mpdu.fails) < limit {
                mpdu.fate = Fate::Waiting;
                self.waiting += 1;
                self.waiting_bytes += mpdu.len();
            } else {
                let gone = self.give_up(index);
                settled.discarded += gone.discarded;
                settled.bytes += gone.bytes;
            }
        }
        self.span = 0;
        settled
    }

    /// Removes MPDUs that are acknowledged, or given up and handed up, and moves the window on.
    pub(super) fn advance(&mut self) {
        let gone = std::mem::take(&mut self.handed_up);
        self.mpdus.drain(..gone);
        self.span = self.span.saturating_sub(gone);
        self.sequence = ((usize::from(self.sequence) + gone) % 4096) as u16;
    }

    /// Instant before which packets have outlived `lifetime`.
    pub(super) fn expiry(now: Instant, lifetime: Option<Duration>) -> Instant {
        let nanos = lifetime.map_or(0, |lifetime| now.as_nanos().saturating_sub(lifetime.as_nanos()));
        Instant::from_nanos(nanos)
    }
}
