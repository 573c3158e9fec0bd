//! Linux' retransmission timeout: `tcp_rtt_estimator` and `tcp_set_rto` of net/ipv4/tcp_input.c.

use crate::tcp::TcpParams;
use crate::units::Duration;

/// Round-trip estimator of one connection, in microseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct LinuxRto {
    min: i64,
    max: Duration,
    initial: Duration,
    /// Smoothed round-trip time, times 8; zero before the first sample.
    srtt: i64,
    /// Mean deviation, times 4.
    mdev: i64,
    /// Its largest value of this round trip, not below `min`.
    mdev_max: i64,
    /// What the timeout adds to the round-trip time.
    rttvar: i64,
    /// Where the round trip of `mdev_max` ends.
    rtt_seq: u64,
    backoff: u32,
}

impl LinuxRto {
    pub(super) fn new(params: &TcpParams) -> Self {
        LinuxRto {
            min: micros(params.min_rto),
            max: params.max_rto,
            initial: params.initial_rto,
            ..LinuxRto::default()
        }
    }

    /// The timeout to arm now.
    pub(super) fn timeout(&self) -> Duration {
        let base = self.srtt().map_or(self.initial, |srtt| srtt + Duration::from_micros(self.rttvar.unsigned_abs()));
        Duration::from_nanos(base.as_nanos().saturating_mul(1 << self.backoff.min(30))).min(self.max)
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub(super) fn srtt(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| Duration::from_micros((self.srtt >> 3).unsigned_abs()))
    }

    /// A round trip of `rtt`; `una` and `next` are SND.UNA and SND.NXT.
    pub(super) fn sample(&mut self, rtt: Duration, una: u64, next: u64) {
        let mut m = micros(rtt).max(1);
        self.backoff = 0;
        if self.srtt == 0 {
            self.srtt = m << 3;
            self.mdev = m << 1;
            self.rttvar = self.mdev.max(self.min);
            self.mdev_max = self.rttvar;
            self.rtt_seq = next;
            return;
        }
        m -= self.srtt >> 3;
        self.srtt += m;
        if m < 0 {
            // Round trips that shrink must not raise the timeout: an eighth of the gain.
            m = -m - (self.mdev >> 2);
            if m > 0 {
                m >>= 3;
            }
        } else {
            m -= self.mdev >> 2;
        }
        self.mdev += m;
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.rttvar = self.rttvar.max(self.mdev_max);
        if una > self.rtt_seq {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.rtt_seq = next;
            self.mdev_max = self.min;
        }
    }

    /// The timer expired: double the timeout.
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }
}

fn micros(duration: Duration) -> i64 {
    (duration.as_nanos() / 1000) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variation_counts_for_200_ms_at_least_on_top_of_the_round_trip() {
        let mut rto = LinuxRto::new(&TcpParams::default());
        let ms = Duration::from_millis;
        assert_eq!(rto.timeout(), Duration::from_secs(1));
        rto.sample(ms(100), 0, 1);
        assert_eq!(rto.timeout(), ms(300), "first: SRTT 100 ms, 4 RTTVAR 200 ms");
        for seq in 1..400 {
            rto.sample(ms(400), seq, seq);
        }
        let steady = rto.timeout().as_secs_f64();
        assert!((steady - 0.6).abs() < 0.002, "RFC 6298 would say 400 ms: {steady}");
        rto.back_off();
        rto.back_off();
        assert!((rto.timeout().as_secs_f64() / steady - 4.0).abs() < 1e-9);
        rto.sample(ms(400), 500, 500);
        assert!((rto.timeout().as_secs_f64() - 0.6).abs() < 0.002, "a sample ends the back-off");
    }
}
