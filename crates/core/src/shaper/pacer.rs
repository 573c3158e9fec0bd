//! A token bucket on IP bytes.

use crate::units::{Bitrate, Bytes, Duration, Instant};

/// Lets packets pass at `rate` on average and up to `burst` bytes ahead of it.
///
/// Ask [`ready_at`](Self::ready_at) before each packet, then [`charge`](Self::charge) it. A packet may go as soon as
/// the bucket is not overdrawn, whatever its length, so that no packet is too long to pass.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    rate: Bitrate,
    burst: Bytes,
    /// The burst as a time at the rate.
    ahead: Duration,
    /// When everything charged so far would have been sent at `rate`.
    paid_until: Instant,
}

impl Pacer {
    /// A full bucket.
    pub const fn new(rate: Bitrate, burst: Bytes) -> Self {
        Pacer { rate, burst, ahead: burst.time_at(rate), paid_until: Instant::ZERO }
    }

    /// The rate.
    pub const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// When the next packet may pass; an instant in the past means now.
    pub fn ready_at(&self) -> Instant {
        Instant::from_nanos(self.paid_until.as_nanos().saturating_sub(self.ahead.as_nanos()))
    }

    /// A packet of `len` passes at `now`.
    pub fn charge(&mut self, now: Instant, len: Bytes) {
        self.paid_until = self.paid_until.max(now) + len.time_at(self.rate);
    }

    /// Bytes that are charged and not yet paid off at `now`.
    pub fn owed(&self, now: Instant) -> Bytes {
        self.rate.bytes_in(self.paid_until.saturating_since(now))
    }

    /// Changes the rate. Bytes that are already charged stay charged, and are paid off at the new rate.
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        let owed = self.owed(now);
        self.rate = rate;
        self.ahead = self.burst.time_at(rate);
        self.paid_until = now + if owed == Bytes(0) { Duration::ZERO } else { owed.time_at(rate) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn packets_leave_at_the_rate_and_idle_time_is_not_saved_up() {
        // 1000 B at 1 Mbit/s last 8 ms.
        let mut pacer = Pacer::new(Bitrate::mbps(1), Bytes(0));
        assert_eq!(pacer.ready_at(), ms(0));
        pacer.charge(ms(0), Bytes(1000));
        assert_eq!(pacer.ready_at(), ms(8));
        pacer.charge(ms(20), Bytes(1000));
        assert_eq!(pacer.ready_at(), ms(28));
    }

    #[test]
    fn a_burst_goes_ahead_of_the_rate() {
        let mut pacer = Pacer::new(Bitrate::mbps(1), Bytes(2000));
        for _ in 0..3 {
            assert!(pacer.ready_at() <= ms(50));
            pacer.charge(ms(50), Bytes(1000));
        }
        assert_eq!(pacer.ready_at(), ms(58));
    }

    #[test]
    fn what_is_owed_is_paid_at_the_new_rate() {
        let mut pacer = Pacer::new(Bitrate::mbps(1), Bytes(0));
        pacer.charge(ms(0), Bytes(1000));
        pacer.set_rate(ms(4), Bitrate::mbps(4));
        assert_eq!(pacer.ready_at(), ms(5));
        pacer.set_rate(ms(10), Bitrate::mbps(1));
        assert_eq!(pacer.ready_at(), ms(10));
    }
}
