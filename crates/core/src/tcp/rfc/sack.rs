//! Repair by selective acknowledgements: RFC 6675, and with the preset `ns3` the rate of RFC 6937.

use super::prr::Arrival;
use super::{DUP_THRESH, RfcSender};
use crate::packet::SackBlocks;
use crate::tcp::Transmission;
use crate::units::Instant;

impl RfcSender {
    /// RFC 6675 section 4, `Update`; whether `blocks` name anything new.
    pub(super) fn update_scoreboard(&mut self, blocks: &SackBlocks) -> bool {
        let mut news = false;
        for (start, end) in blocks.iter().filter(|(start, end)| start < end && *end <= self.max) {
            news |= self.sacked.skip(*start) < *end;
            self.sacked.insert(*start, *end);
        }
        news
    }

    /// RFC 6675 section 4, `IsLost`: enough was received beyond `seq`.
    pub(super) fn is_lost(&self, seq: u64) -> bool {
        self.sacked.bytes_above(seq) > u64::from((DUP_THRESH - 1) * self.params.mss)
    }

    /// RFC 6675 section 4, `SetPipe`: bytes that are in the network.
    pub(super) fn pipe(&self) -> u64 {
        let mut pipe = 0;
        let mut hole = self.una;
        for (start, end) in self.sacked.iter() {
            if start > hole {
                if !self.is_lost(hole) {
                    pipe += start - hole;
                }
                pipe += self.high_rxt.clamp(hole, start) - hole;
            }
            hole = end;
        }
        pipe + (self.max - hole)
    }

    /// RFC 6675 section 5 step C: what to send during SACK recovery.
    pub(super) fn sack_transmit(&mut self, now: Instant) -> Option<Transmission> {
        let mss = u64::from(self.params.mss);
        if self.pipe() + mss > self.control.cwnd() as u64 * mss {
            return None;
        }
        let hole = self.sacked.skip(self.high_rxt.max(self.una));
        let in_holes = self.sacked.end().is_some_and(|end| hole < end);
        let new_allowed = self.max < self.size && self.max - self.una < self.peer_window as u64 * mss;
        if in_holes && (self.is_lost(hole) || !new_allowed) {
            let segment = self.segment(now, hole);
            self.high_rxt = hole + u64::from(segment.payload);
            return Some(segment);
        }
        if !new_allowed {
            return None;
        }
        let segment = self.segment(now, self.max);
        self.next = self.max;
        Some(segment)
    }

    /// Bytes that the peer is known to have once `ack` has arrived.
    pub(super) fn delivered_by(&self, ack: u64) -> u64 {
        ack + self.sacked.bytes_above(ack)
    }

    /// An acknowledgement in recovery moves the window under the preset `ns3`: as a duplicate, as a partial one, or as both.
    pub(super) fn reduce(&mut self, arrival: Arrival) {
        let mss = u64::from(self.params.mss);
        let (pipe, threshold) = (self.pipe(), self.control.ssthresh() as u64 * mss);
        if let Some(window) = self.prr.window(arrival, pipe, threshold, mss) {
            self.control.set_cwnd(window as f64 / mss as f64);
        }
    }
}
