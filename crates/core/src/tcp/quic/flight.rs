//! Datagrams under way, and which of them are lost: RFC 9002 section 6.1.

use std::collections::VecDeque;

use crate::tcp::linux::{RateEstimator, Snapshot};
use crate::units::{Duration, Instant};

/// So many later numbers that arrived make a datagram lost (`kPacketThreshold`).
const PACKET_THRESHOLD: u64 = 3;

/// Stream data: its first byte and its length.
pub(super) type Chunk = (u64, u32);

/// A datagram that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    data: Chunk,
    /// It has arrived or is lost.
    is_over: bool,
    /// What had been delivered when it was sent.
    snapshot: Snapshot,
}

/// What an ACK frame reports for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acked {
    /// Datagrams.
    pub(super) datagrams: u32,
    /// Of these, those sent after the last reduction of the window.
    pub(super) after: u32,
    /// The highest number among them, and when it was sent.
    pub(super) newest: Option<(u64, Instant)>,
}

/// What is newly lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// Datagrams.
    pub(super) datagrams: u32,
    /// When the last of them was sent.
    pub(super) newest: Instant,
    /// The longest time over which all that was sent is lost (section 7.6).
    pub(super) span: Duration,
}

/// The datagrams of a connection, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
    /// Number of the first of `sent`.
    first: u64,
    /// Datagrams that have neither arrived nor are lost.
    pub(super) under_way: u32,
    largest_acked: Option<u64>,
    /// When the last one was sent.
    pub(super) last_sent: Instant,
    /// When the next datagram becomes lost by time.
    pub(super) loss_at: Option<Instant>,
    /// Data that has to go again.
    again: VecDeque<Chunk>,
    pub(super) rate: RateEstimator,
}

impl Flight {
    /// Whether all that was sent has arrived.
    pub(super) fn is_clear(&self) -> bool {
        self.under_way == 0 && self.again.is_empty()
    }

    /// Lost data that has to go again.
    pub(super) fn take_lost(&mut self) -> Option<Chunk> {
        self.again.pop_front()
    }

    /// The oldest data under way.
    pub(super) fn oldest(&self) -> Option<Chunk> {
        self.sent.iter().find(|sent| !sent.is_over).map(|sent| sent.data)
    }

    /// A datagram with `data` goes; its number.
    pub(super) fn push(&mut self, now: Instant, data: Chunk) -> u64 {
        let snapshot = self.rate.sent(now, self.under_way == 0);
        self.sent.push_back(Sent { at: now, data, is_over: false, snapshot });
        self.under_way += 1;
        self.last_sent = now;
        self.first + self.sent.len() as u64 - 1
    }

    /// The numbers in `ranges` have arrived; `reduced` is when the window was reduced last.
    pub(super) fn acknowledge(&mut self, ranges: &[(u64, u64)], reduced: Option<Instant>) -> Acked {
        let mut acked = Acked::default();
        let next = self.first + self.sent.len() as u64;
        for (start, end) in ranges {
            for number in (*start).max(self.first)..(*end).min(next) {
                let sent = &mut self.sent[(number - self.first) as usize];
                if std::mem::replace(&mut sent.is_over, true) {
                    continue;
                }
                self.under_way -= 1;
                self.rate.arrived(sent.at, number, sent.snapshot);
                acked.datagrams += 1;
                acked.after += u32::from(reduced.is_none_or(|reduced| sent.at > reduced));
                acked.newest = acked.newest.max(Some((number, sent.at)));
            }
        }
        self.largest_acked = self.largest_acked.max(acked.newest.map(|(number, _)| number));
        self.forget();
        acked
    }

    /// Marks what was overtaken by three numbers, or was sent `delay` ago and overtaken by one. Of what was sent before `known` it is not
    /// said how long it lasted.
    pub(super) fn detect(&mut self, now: Instant, delay: Duration, known: Instant) -> Lost {
        self.loss_at = None;
        let Some(largest) = self.largest_acked else { return Lost::default() };
        let mut lost = Lost::default();
        // First of the row of lost ones.
        let mut row: Option<Instant> = None;
        for (number, sent) in (self.first..largest).zip(&mut self.sent) {
            if sent.is_over {
                row = None;
                continue;
            }
            let late = sent.at + delay;
            if late > now && largest < number + PACKET_THRESHOLD {
                row = None;
                self.loss_at = Some(self.loss_at.map_or(late, |other| other.min(late)));
                continue;
            }
            sent.is_over = true;
            self.under_way -= 1;
            self.rate.lose();
            self.again.push_back(sent.data);
            lost.datagrams += 1;
            lost.newest = lost.newest.max(sent.at);
            if sent.at > known {
                lost.span = lost.span.max(sent.at.saturating_since(*row.get_or_insert(sent.at)));
            }
        }
        self.forget();
        lost
    }

    fn forget(&mut self) {
        while self.sent.front().is_some_and(|sent| sent.is_over) {
            self.sent.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Ten datagrams, one a millisecond.
    fn ten() -> Flight {
        let mut flight = Flight::default();
        for number in 0..10 {
            assert_eq!(flight.push(at(number), (number * 1000, 1000)), number);
        }
        flight
    }

    #[test]
    fn three_later_ones_or_time_make_a_datagram_lost() {
        let mut flight = ten();
        let delay = Duration::from_millis(50);
        assert_eq!(flight.acknowledge(&[(2, 4), (0, 1)], None).datagrams, 3);
        assert_eq!(flight.detect(at(20), delay, at(0)).datagrams, 0, "1 is overtaken by two");
        assert_eq!(flight.loss_at, Some(at(51)));
        flight.acknowledge(&[(2, 5)], None);
        let lost = flight.detect(at(21), delay, at(0));
        assert_eq!((lost.datagrams, lost.newest, flight.take_lost()), (1, at(1), Some((1000, 1000))));
        assert_eq!((flight.loss_at, flight.under_way, flight.oldest()), (None, 5, Some((5000, 1000))));
        assert_eq!(flight.acknowledge(&[(1, 2)], None).datagrams, 0, "it is given up");
        flight.acknowledge(&[(6, 7)], None);
        assert_eq!(flight.detect(at(55), delay, at(0)).datagrams, 1, "5 by time");
    }

    #[test]
    fn what_was_sent_before_the_reduction_does_not_count_as_after_it() {
        let mut flight = ten();
        assert_eq!(flight.acknowledge(&[(0, 6)], Some(at(3))).after, 2);
    }

    #[test]
    fn a_row_of_losses_has_a_length() {
        let mut flight = ten();
        flight.acknowledge(&[(9, 10), (5, 6)], None);
        let lost = flight.detect(at(100), Duration::from_millis(1), at(0));
        assert_eq!(
            (lost.datagrams, lost.span),
            (8, Duration::from_millis(3)),
            "1 to 4, 6 to 8; of 0 nothing was known"
        );
    }
}
