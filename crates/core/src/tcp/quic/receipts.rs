//! Which datagrams have arrived, and when that is told: RFC 9000 section 13.2.

use crate::packet::{NO_SACK, SackBlocks};
use crate::tcp::ranges::Ranges;
use crate::units::{Duration, Instant};

/// An ACK frame goes for so many datagrams (section 13.2.2).
const EVERY: u32 = 2;

/// What the receiver knows of datagrams.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Receipts {
    received: Ranges,
    /// The highest number, and when it arrived.
    largest: Option<(u64, Instant)>,
    /// Datagrams since the last ACK frame.
    unacknowledged: u32,
    max_delay: Duration,
    /// When something happened last: ACK frames go at that time.
    now: Instant,
}

impl Receipts {
    /// ACK frames wait for `max_delay` at most.
    pub(in crate::tcp) fn new(max_delay: Duration) -> Self {
        Receipts { received: Ranges::default(), largest: None, unacknowledged: 0, max_delay, now: Instant::ZERO }
    }

    /// Datagram `number` arrived: how long its ACK frame may wait.
    pub(in crate::tcp) fn arrived(&mut self, now: Instant, number: u64) -> Duration {
        self.now = now;
        self.received.insert(number, number + 1);
        self.received.keep_last(NO_SACK.len());
        self.unacknowledged += 1;
        let expected = self.largest.map_or(0, |(largest, _)| largest + 1);
        if number >= expected {
            self.largest = Some((number, now));
        }
        // Out of order, or behind a gap (section 13.2.1): the sender may have a loss to learn of.
        if number != expected || self.unacknowledged >= EVERY { Duration::ZERO } else { self.max_delay }
    }

    /// The ACK frame has waited long enough.
    pub(in crate::tcp) fn timed_out(&mut self, now: Instant) {
        self.now = now;
    }

    /// The ACK frame that goes: the highest number, how long it has waited, and the ranges received, the highest first.
    pub(in crate::tcp) fn acknowledge(&mut self) -> (u64, Duration, SackBlocks) {
        self.unacknowledged = 0;
        let (largest, at) = self.largest.unwrap_or_default();
        let mut ranges = NO_SACK;
        for (slot, range) in ranges.iter_mut().zip(self.received.iter().rev()) {
            *slot = range;
        }
        (largest, self.now.saturating_since(at), ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_datagram_is_acknowledged_and_a_gap_at_once() {
        let mut receipts = Receipts::new(Duration::from_millis(25));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert_eq!(receipts.arrived(at(0), 0), Duration::from_millis(25));
        assert_eq!(receipts.arrived(at(1), 1), Duration::ZERO);
        assert_eq!(receipts.acknowledge(), (1, Duration::ZERO, [(0, 2), (0, 0), (0, 0)]));
        assert_eq!(receipts.arrived(at(5), 3), Duration::ZERO, "2 is missing");
        receipts.timed_out(at(9));
        assert_eq!(receipts.acknowledge(), (3, Duration::from_millis(4), [(3, 4), (0, 2), (0, 0)]));
        assert_eq!(receipts.arrived(at(10), 4), Duration::from_millis(25), "the gap has been told");
        for number in [6, 8, 10] {
            receipts.arrived(at(11), number);
        }
        assert_eq!(receipts.acknowledge().2, [(10, 11), (8, 9), (6, 7)], "the latest three");
    }
}
