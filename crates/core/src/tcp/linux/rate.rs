//! How fast the path delivers: net/ipv4/tcp_rate.c.

use crate::tcp::congestion::Rate;
use crate::units::{Duration, Instant};

/// What a segment remembers of the time when it was sent last (`tcp_rate_skb_sent`).
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Snapshot {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    limited: bool,
}

/// The segment sent last among those that an acknowledgement reports.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent: Instant,
    order: u64,
    snapshot: Snapshot,
}

/// Counts deliveries and measures their rate.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp) struct RateEstimator {
    delivered: u64,
    lost: u64,
    delivered_at: Instant,
    /// When the first segment of the flight that is being measured was sent.
    first_sent: Instant,
    /// Until so many are delivered, samples show what the sender wanted and not what the path can (`app_limited`).
    limited_until: Option<u64>,
    newest: Option<Newest>,
    min_rtt: Option<Duration>,
}

impl RateEstimator {
    pub(in crate::tcp) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(in crate::tcp) fn lost(&self) -> u64 {
        self.lost
    }

    pub(in crate::tcp) fn delivered_at(&self) -> Instant {
        self.delivered_at
    }

    /// The shortest round trip (`tcp_min_rtt`).
    pub(in crate::tcp) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// A segment goes; `idle`: none was out.
    pub(in crate::tcp) fn sent(&mut self, now: Instant, idle: bool) -> Snapshot {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let (delivered, delivered_at, first_sent) = (self.delivered, self.delivered_at, self.first_sent);
        Snapshot { delivered, delivered_at, first_sent, limited: self.limited_until.is_some() }
    }

    /// The SYN was answered after `rtt`, if it was sent once only.
    pub(in crate::tcp) fn established(&mut self, now: Instant, rtt: Option<Duration>) {
        self.delivered = 1;
        self.delivered_at = now;
        self.min_rtt = rtt;
    }

    /// What was sent as the transmission with the number `order` has arrived (`tcp_rate_skb_delivered`).
    pub(in crate::tcp) fn arrived(&mut self, sent: Instant, order: u64, snapshot: Snapshot) {
        self.delivered += 1;
        if self.newest.is_none_or(|newest| order > newest.order) {
            self.newest = Some(Newest { sent, order, snapshot });
        }
    }

    /// A segment is given up for lost.
    pub(in crate::tcp) fn lose(&mut self) {
        self.lost += 1;
    }

    /// The rate up to `now` (`tcp_rate_gen`); `news`: something was delivered, `rtt`: the newest segment's round trip.
    pub(in crate::tcp) fn sample(&mut self, now: Instant, news: bool, rtt: Option<Duration>) -> Option<Rate> {
        self.limited_until.take_if(|until| self.delivered > *until);
        self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
        if news {
            self.delivered_at = now;
        }
        let Newest { sent, snapshot, .. } = self.newest.take()?;
        self.first_sent = sent;
        // Sending may have taken longer than receiving, when acknowledgements arrive together.
        let sending = sent.saturating_since(snapshot.first_sent);
        let interval = sending.max(now.saturating_since(snapshot.delivered_at));
        // A copy that was not needed is answered too early.
        if interval == Duration::ZERO || self.min_rtt.is_some_and(|min| interval < min) {
            return None;
        }
        let prior_delivered = snapshot.delivered;
        Some(Rate { delivered: self.delivered - prior_delivered, interval, prior_delivered, limited: snapshot.limited })
    }

    /// Samples of what is in flight now say nothing about the path.
    pub(in crate::tcp) fn limit(&mut self, in_flight: u32) {
        self.limited_until = Some(self.delivered + u64::from(in_flight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn established() -> RateEstimator {
        let mut rate = RateEstimator::default();
        rate.established(at(0), Some(Duration::from_millis(100)));
        rate
    }

    #[test]
    fn the_rate_is_that_of_the_longer_of_sending_and_receiving() {
        let mut rate = established();
        // Four segments, 10 ms apart; their acknowledgements arrive together.
        let sent = [0, 10, 20, 30].map(|ms| (at(ms), rate.sent(at(ms), ms == 0)));
        for (index, (at, snapshot)) in sent.into_iter().enumerate() {
            rate.arrived(at, index as u64, snapshot);
        }
        let sample = rate.sample(at(130), true, Some(Duration::from_millis(100))).unwrap();
        assert_eq!((sample.delivered, sample.interval), (4, Duration::from_millis(130)), "no delivery before");
        // The next flight: acknowledgements 1 ms apart, but sent 50 ms apart.
        let first = rate.sent(at(130), false);
        let second = rate.sent(at(300), false);
        rate.arrived(at(130), 5, first);
        rate.sample(at(330), true, None);
        rate.arrived(at(300), 6, second);
        let sample = rate.sample(at(331), true, None).unwrap();
        assert_eq!((sample.delivered, sample.interval), (2, Duration::from_millis(270)), "30 ms to 300 ms");
        assert_eq!(sample.prior_delivered, 5);
    }

    #[test]
    fn a_sample_shorter_than_a_round_trip_does_not_count() {
        let mut rate = established();
        let snapshot = rate.sent(at(0), true);
        rate.arrived(at(0), 1, snapshot);
        assert_eq!(rate.sample(at(99), true, None), None);
        let snapshot = rate.sent(at(100), true);
        rate.arrived(at(100), 2, snapshot);
        assert!(rate.sample(at(200), true, None).is_some());
        assert_eq!(rate.sample(at(201), false, None), None, "nothing new");
    }

    #[test]
    fn what_was_in_flight_when_the_sender_held_back_is_marked() {
        let mut rate = established();
        rate.limit(2);
        let marked = [0, 1].map(|ms| rate.sent(at(ms), ms == 0));
        for (index, snapshot) in marked.into_iter().enumerate() {
            rate.arrived(at(index as u64), index as u64, snapshot);
            let now = at(100 + index as u64);
            assert!(rate.sample(now, true, None).unwrap().limited);
        }
        let still = rate.sent(at(102), false);
        rate.arrived(at(102), 3, still);
        assert!(rate.sample(at(202), true, None).unwrap().limited);
        assert!(!rate.sent(at(203), false).limited, "more than what was in flight has arrived");
    }
}
