//! The segments that are out, and which of them are lost: net/ipv4/tcp_recovery.c (RACK, RFC 8985).

use std::collections::VecDeque;

use super::rate::{RateEstimator, Snapshot};
use crate::tcp::ranges::Ranges;
use crate::units::{Duration, Instant};

/// A segment that is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // TCPCB_SACKED_ACKED, _LOST, _SACKED_RETRANS, _EVER_RETRANS: they combine.
pub(super) struct Out {
    pub(super) seq: u64,
    pub(super) end: u64,
    /// When it was sent last, and the number of that transmission.
    pub(super) sent: Instant,
    order: u64,
    pub(super) push: bool,
    sacked: bool,
    lost: bool,
    /// A retransmission is in flight.
    again: bool,
    /// It was ever retransmitted.
    repeated: bool,
    /// What had been delivered when it was sent last.
    snapshot: Snapshot,
}

/// What an acknowledgement reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// Segments that are newly known to have arrived.
    pub(super) delivered: u32,
    /// Whether one of them was sent once only and before `high`.
    pub(super) original: bool,
    /// Round trip, of the oldest segment that was acknowledged; of a retransmission only when nothing else was.
    pub(super) rtt: Option<Duration>,
    /// Round trip of the newest segment that was sent once only (`ca_rtt_us`).
    pub(super) newest_rtt: Option<Duration>,
    /// Whether SACK blocks named something new.
    pub(super) sacked: bool,
}

/// What RACK found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Detected {
    /// Segments that are newly lost.
    pub(super) marked: u32,
    /// Those of them that were retransmissions (`FLAG_LOST_RETRANS`).
    pub(super) copies: u32,
    /// How long to wait for those that may only be reordered.
    pub(super) wait: Option<Duration>,
}

/// The retransmission queue with its scoreboard.
///
/// The work of an acknowledgement is in proportion to the segments that it reports: an index finds what SACK blocks name for the first time, a log keeps
/// the order of sending (Linux' `tsorted_sent_queue`), a mark the first segment that may have to go again (`retransmit_skb_hint`).
#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    out: VecDeque<Out>,
    /// Segments that have left `out`: the number of its first one.
    gone: u64,
    /// What of `out` has been sacked.
    sacked_ranges: Ranges,
    /// Transmissions so far.
    sends: u64,
    /// Transmissions in their order: its number, when, and the number of the segment. What is older than the first entry is sacked or lost.
    log: VecDeque<(u64, Instant, u64)>,
    /// No segment with a lower number is lost and waits to go again.
    first_lost: u64,
    sacked: u32,
    lost: u32,
    again: u32,
    /// Of the segment sent last among those that arrived: the number of its transmission and its round trip. The kernel compares times in
    /// microseconds, and sequence numbers where these are equal; here the ACKs of an aggregate arrive at one instant, so that what they release would
    /// seem to be sent in the order of sequence numbers.
    newest: Option<(u64, Duration)>,
    min_rtt: Option<Duration>,
    rate: RateEstimator,
}

impl Board {
    pub(super) fn rate(&mut self) -> &mut RateEstimator {
        &mut self.rate
    }

    pub(super) fn len(&self) -> u32 {
        self.out.len() as u32
    }

    pub(super) fn head(&self) -> Option<&Out> {
        self.out.front()
    }

    pub(super) fn holds_sacked(&self) -> bool {
        self.sacked > 0
    }

    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// `tcp_packets_in_flight`.
    pub(super) fn in_flight(&self) -> u32 {
        self.len() + self.again - self.sacked - self.lost
    }

    /// A new segment goes.
    pub(super) fn push(&mut self, now: Instant, seq: u64, end: u64, push: bool) {
        let snapshot = self.rate.sent(now, self.out.is_empty());
        let (sacked, lost, again, repeated) = (false, false, false, false);
        let order = self.send(now, self.out.len());
        self.out.push_back(Out { seq, end, sent: now, order, push, sacked, lost, again, repeated, snapshot });
    }

    /// The first lost segment that is not on its way again; it is from now on.
    pub(super) fn retransmit(&mut self, now: Instant) -> Option<Out> {
        let from = (self.first_lost.saturating_sub(self.gone) as usize).min(self.out.len());
        let ahead = self.out.range(from..).position(|out| out.lost && !out.again);
        let index = from + ahead.unwrap_or(self.out.len() - from);
        self.first_lost = self.gone + index as u64;
        ahead.map(|_| self.repeat(now, index))
    }

    /// The last segment, sent again as a probe.
    pub(super) fn retransmit_tail(&mut self, now: Instant) -> Option<Out> {
        let index = self.out.len().checked_sub(1)?;
        (!self.out[index].sacked && !self.out[index].again).then(|| self.repeat(now, index))
    }

    fn repeat(&mut self, now: Instant, index: usize) -> Out {
        let out = &mut self.out[index];
        out.again = true;
        out.repeated = true;
        out.sent = now;
        out.snapshot = self.rate.sent(now, false);
        self.again += 1;
        self.out[index].order = self.send(now, index);
        self.out[index]
    }

    /// Notes a transmission of the segment at `index`; its number.
    fn send(&mut self, now: Instant, index: usize) -> u64 {
        self.sends += 1;
        self.log.push_back((self.sends, now, self.gone + index as u64));
        self.sends
    }

    /// Everything below `ack` and in `blocks` has arrived; `high` is the end of what was out at the last timeout.
    pub(super) fn acknowledge(&mut self, now: Instant, ack: u64, blocks: &[(u64, u64)], high: u64) -> Acknowledged {
        let mut acknowledged = Acknowledged::default();
        let mut repeated_rtt = None;
        for (start, end) in blocks.iter().filter(|(start, end)| start < end && *end > ack) {
            let mut index = self.first_at(self.sacked_ranges.skip(*start));
            let mut named = None;
            while let Some(out) = self.out.get(index).copied().filter(|out| out.end <= *end) {
                if out.sacked {
                    index = self.first_at(self.sacked_ranges.skip(out.seq)).max(index + 1);
                    continue;
                }
                acknowledged.sacked = true;
                if !out.repeated {
                    acknowledged.newest_rtt = Some(now.saturating_since(out.sent));
                }
                self.arrived(now, out, high, &mut acknowledged, &mut repeated_rtt);
                self.forget(index);
                self.out[index].sacked = true;
                self.sacked += 1;
                named = Some((named.map_or(out.seq, |(first, _)| first), out.end));
                index += 1;
            }
            if let Some((first, last)) = named {
                self.sacked_ranges.insert(first, last);
            }
        }
        let by_sack = acknowledged.rtt.take();
        let (mut newest_rtt, mut copies) = (None, false);
        while self.out.front().is_some_and(|out| out.end <= ack) {
            let out = self.out[0];
            if out.sacked {
                self.sacked -= 1;
            } else {
                newest_rtt = Some(now.saturating_since(out.sent));
                copies |= out.repeated;
                self.arrived(now, out, high, &mut acknowledged, &mut repeated_rtt);
                self.forget(0);
            }
            self.out.pop_front();
            self.gone += 1;
        }
        if !self.sacked_ranges.is_empty() {
            self.sacked_ranges.advance(ack);
        }
        acknowledged.newest_rtt = acknowledged.newest_rtt.or(newest_rtt.filter(|_| !copies));
        acknowledged.rtt = acknowledged.rtt.or(by_sack);
        if let Some(rtt) = acknowledged.rtt {
            self.round_trip(rtt);
        }
        acknowledged.rtt = acknowledged.rtt.or(repeated_rtt);
        acknowledged
    }

    /// Position of the first segment that begins at `seq` or behind it.
    fn first_at(&self, seq: u64) -> usize {
        self.out.partition_point(|out| out.seq < seq)
    }

    /// A round trip of something that was sent once only.
    pub(super) fn round_trip(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    /// Takes the marks of a segment off.
    fn forget(&mut self, index: usize) {
        let out = &mut self.out[index];
        self.lost -= u32::from(std::mem::take(&mut out.lost));
        self.again -= u32::from(std::mem::take(&mut out.again));
    }

    /// `tcp_rack_advance`, and the samples of round trips.
    fn arrived(
        &mut self,
        now: Instant,
        out: Out,
        high: u64,
        acknowledged: &mut Acknowledged,
        repeated_rtt: &mut Option<Duration>,
    ) {
        acknowledged.delivered += 1;
        self.rate.arrived(out.sent, out.order, out.snapshot);
        let rtt = now.saturating_since(out.sent);
        if out.repeated {
            // Shorter than any round trip: it was the original that arrived.
            if self.min_rtt.is_some_and(|min| rtt < min) {
                return;
            }
            *repeated_rtt = repeated_rtt.or(Some(rtt));
        } else {
            acknowledged.original |= out.end <= high;
            acknowledged.rtt = acknowledged.rtt.or(Some(rtt));
        }
        if self.newest.is_none_or(|(order, _)| out.order > order) {
            self.newest = Some((out.order, rtt));
        }
    }

    /// `tcp_rack_detect_loss`: marks what was sent long enough before the newest that arrived. `aggressive`: a loss is being
    /// repaired already.
    pub(super) fn detect(&mut self, now: Instant, srtt: Duration, aggressive: bool) -> Detected {
        let mut detected = Detected::default();
        let Some((newest, rtt)) = self.newest else { return detected };
        let patience = rtt + self.reordering(srtt, aggressive);
        // Entries of the log that were looked at, and how many of the first are over for good.
        let (mut position, mut over) = (0, 0);
        while let Some((order, sent, number)) = self.log.get(position).copied()
            && order < newest
        {
            let index = number.checked_sub(self.gone).map_or(usize::MAX, |index| index as usize);
            let out = self.out.get(index).filter(|out| out.order == order && !out.sacked && (!out.lost || out.again));
            let is_over = match out.map(|_| now.saturating_since(sent)) {
                None => true,
                Some(age) if age >= patience => {
                    detected.marked += 1;
                    detected.copies += u32::from(self.out[index].again);
                    self.mark_lost(index);
                    true
                }
                Some(age) => {
                    detected.wait = detected.wait.max(Some(patience.saturating_sub(age)));
                    false
                }
            };
            over += usize::from(is_over && over == position);
            position += 1;
        }
        self.log.drain(..over);
        detected
    }

    /// `tcp_rack_reo_wnd`: nothing once three later segments have arrived, else a quarter of the shortest round trip.
    fn reordering(&self, srtt: Duration, aggressive: bool) -> Duration {
        if aggressive || self.sacked >= 3 {
            return Duration::ZERO;
        }
        let quarter = Duration::from_nanos(self.min_rtt.unwrap_or(srtt).as_nanos() / 4);
        quarter.min(srtt)
    }

    fn mark_lost(&mut self, index: usize) {
        let out = &mut self.out[index];
        if !out.lost || out.again {
            self.rate.lose();
        }
        self.again -= u32::from(std::mem::take(&mut out.again));
        self.lost += u32::from(!std::mem::replace(&mut out.lost, true));
        self.first_lost = self.first_lost.min(self.gone + index as u64);
    }

    /// `tcp_timeout_mark_lost`: the head, and what was sent as long ago as a round trip lasts.
    pub(super) fn time_out(&mut self, now: Instant, srtt: Duration, aggressive: bool) {
        let patience = self.newest.map_or(Duration::ZERO, |(_, rtt)| rtt) + self.reordering(srtt, aggressive);
        for index in 0..self.out.len() {
            let out = self.out[index];
            if !out.sacked && (index == 0 || now.saturating_since(out.sent) >= patience) {
                self.mark_lost(index);
            }
        }
    }

    /// Nothing is lost after all.
    pub(super) fn unmark(&mut self) {
        self.out.iter_mut().for_each(|out| out.lost = false);
        self.lost = 0;
        self.log.clear();
        self.log.extend(self.out.iter().zip(self.gone..).map(|(out, number)| (out.order, out.sent, number)));
        self.log.make_contiguous().sort_unstable();
    }
}
