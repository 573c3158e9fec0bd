//! Round trips as ns-3.44 measures them: of the oldest segment that an ACK covers, unless it was sent twice (`TcpSocketBase::EstimateRtt`).

use std::collections::VecDeque;

use crate::units::Instant;

/// A segment that is out.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Instant,
    twice: bool,
}

/// Segments that are out, in the order of their sequence numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<Sent>);

impl History {
    /// New data up to `end` go out.
    pub(super) fn sent(&mut self, end: u64, at: Instant) {
        self.0.push_back(Sent { end, at, twice: false });
    }

    /// The segment that begins at `seq` goes out again.
    pub(super) fn sent_again(&mut self, seq: u64) {
        let index = self.0.partition_point(|sent| sent.end <= seq);
        if let Some(sent) = self.0.get_mut(index) {
            sent.twice = true;
        }
    }

    /// All bytes below `ack` have arrived. Returns when the segment was sent that gives the round-trip time.
    pub(super) fn acknowledged(&mut self, ack: u64) -> Option<Instant> {
        let oldest = self.0.front().filter(|sent| sent.end <= ack && !sent.twice).map(|sent| sent.at);
        let gone = self.0.partition_point(|sent| sent.end <= ack);
        self.0.drain(..gone);
        oldest
    }

    /// The timer expired.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_segment_tells_unless_it_was_sent_twice() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut history = History::default();
        for nth in 1..=5 {
            history.sent(nth * 1000, at(nth));
        }
        assert_eq!(history.acknowledged(2000), Some(at(1)));
        history.sent_again(2000);
        assert_eq!(history.acknowledged(4000), None);
        assert_eq!(history.acknowledged(4500), None);
        assert_eq!(history.acknowledged(5000), Some(at(5)));
        history.sent(6000, at(6));
        history.clear();
        assert_eq!(history.acknowledged(6000), None);
    }
}
