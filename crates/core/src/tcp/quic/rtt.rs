//! Round trips: RFC 9002 section 5.

use crate::units::{Duration, Instant};

/// Before the first sample (`kInitialRtt`).
const INITIAL: Duration = Duration::from_millis(333);
/// Least of what a timer waits (`kGranularity`).
const GRANULARITY: Duration = Duration::from_millis(1);

/// The estimator of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rtt {
    latest: Duration,
    /// The smoothed round trip; `None` before the first sample.
    pub(super) smoothed: Option<Duration>,
    variation: Duration,
    least: Duration,
    /// When the first sample was taken.
    pub(super) first_at: Instant,
}

impl Rtt {
    /// A datagram was acknowledged after `sample`, of which the receiver says that it waited for `delay`.
    pub(super) fn sample(&mut self, now: Instant, sample: Duration, delay: Duration) {
        self.latest = sample;
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(sample);
            self.variation = part(sample, 1, 2);
            self.least = sample;
            self.first_at = now;
            return;
        };
        self.least = self.least.min(sample);
        let adjusted = if sample >= self.least + delay { sample.saturating_sub(delay) } else { sample };
        let differs = smoothed.saturating_sub(adjusted).max(adjusted.saturating_sub(smoothed));
        self.variation = part(self.variation, 3, 4) + part(differs, 1, 4);
        self.smoothed = Some(part(smoothed, 7, 8) + part(adjusted, 1, 8));
    }

    /// For how long a datagram may be overtaken before it counts as lost (section 6.1.2).
    pub(super) fn loss_delay(&self) -> Duration {
        part(self.latest.max(self.smoothed.unwrap_or(INITIAL)), 9, 8).max(GRANULARITY)
    }

    /// The probe timeout without back-off (section 6.2.1); `max_ack_delay` is the receiver's.
    pub(super) fn probe_timeout(&self, max_ack_delay: Duration) -> Duration {
        match self.smoothed {
            Some(smoothed) => smoothed + (self.variation * 4).max(GRANULARITY) + max_ack_delay,
            None => INITIAL + part(INITIAL, 1, 2) * 4,
        }
    }
}

fn part(duration: Duration, times: u64, of: u64) -> Duration {
    Duration::from_nanos(duration.as_nanos() * times / of)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_receivers_delay_is_taken_off_but_not_below_the_shortest_round_trip() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.probe_timeout(ms(25)), ms(999), "333 ms + 4 * 166.5 ms");
        rtt.sample(Instant::ZERO, ms(80), ms(0));
        assert_eq!((rtt.smoothed, rtt.probe_timeout(ms(25))), (Some(ms(80)), ms(80 + 160 + 25)));
        rtt.sample(Instant::ZERO, ms(104), ms(24));
        assert_eq!(rtt.smoothed, Some(ms(80)), "24 ms of it were the receiver's");
        rtt.sample(Instant::ZERO, ms(88), ms(24));
        assert_eq!(rtt.smoothed, Some(ms(81)), "64 ms would be too short for this path");
        assert_eq!(rtt.loss_delay(), ms(99), "9/8 of 88 ms");
    }
}
