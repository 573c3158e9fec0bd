//! Retransmission timeout: RFC 6298 over a coarse clock, in the fixed-point form of BSD and ns-2.

use super::params::TcpParams;
use crate::units::{Duration, Instant};

/// Fractional bits of the smoothed round-trip time (gain 1/8).
const SRTT_BITS: u32 = 3;
/// Fractional bits of the round-trip variation (gain 1/4).
const RTTVAR_BITS: u32 = 2;
/// Backed off beyond this, the smoothed round-trip time is stale and dropped (RFC 6298 section 5 allows it, BSD does it).
const STALE_BACKOFF: u64 = 8;
/// First timeout for data when the SYN's expired.
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// Round-trip estimator and timeout of one connection. Times are counted in ticks of `granularity`.
#[derive(Clone, Debug, Default)]
pub(super) struct Rto {
    tick: Duration,
    initial: Duration,
    min: Duration,
    max: Duration,
    /// Offset of the host's clock ticks.
    phase: Duration,
    /// Smoothed round-trip time, `<< SRTT_BITS`; zero before the first sample.
    srtt: i64,
    /// Mean deviation, `<< RTTVAR_BITS`.
    rttvar: i64,
    /// `srtt + 4 rttvar` in ticks; `None` before the first sample.
    base: Option<i64>,
    backoff: u64,
}

impl Rto {
    /// `phase` in `[0, 1)` places the ticks of the host's clock.
    pub(super) fn new(params: &TcpParams, phase: f64) -> Self {
        Rto {
            tick: params.granularity,
            initial: params.initial_rto,
            min: params.min_rto,
            max: params.max_rto,
            phase: Duration::from_nanos((params.granularity.as_nanos() as f64 * phase) as u64),
            backoff: 1,
            ..Rto::default()
        }
    }

    /// The timeout to arm now.
    pub(super) fn timeout(&self) -> Duration {
        let base = self.base.map_or(self.initial, |ticks| (self.tick * ticks as u64).max(self.min));
        let nanos = base.as_nanos().saturating_mul(self.backoff);
        Duration::from_nanos(nanos).min(self.max).max(self.tick * 2)
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub(super) fn srtt(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| Duration::from_nanos((self.tick * self.srtt as u64).as_nanos() >> SRTT_BITS))
    }

    /// A segment sent at `sent` and never retransmitted was acknowledged at `now` (Karn's rule).
    pub(super) fn sample(&mut self, sent: Instant, now: Instant) {
        let ticks = |at: Instant| (at + self.phase).as_nanos() / self.tick.as_nanos();
        let rtt = ((ticks(now) - ticks(sent)) as i64).max(1);
        if self.srtt == 0 {
            self.srtt = rtt << SRTT_BITS;
            self.rttvar = rtt << (RTTVAR_BITS - 1);
        } else {
            let error = rtt - (self.srtt >> SRTT_BITS);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> RTTVAR_BITS)).max(1);
        }
        self.base = Some(((self.rttvar << (2 + SRTT_BITS - RTTVAR_BITS)) + self.srtt) >> SRTT_BITS);
        self.backoff = 1;
    }

    /// Data sent after the last timeout was acknowledged: the path works, end the back-off.
    pub(super) fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// The handshake is over, but its timer expired once: data starts with 3 s (RFC 6298 (5.7)).
    pub(super) fn syn_timed_out(&mut self) {
        self.initial = self.initial.max(AFTER_LOST_SYN);
        self.backoff = 1;
    }

    /// The timer expired: double the timeout.
    pub(super) fn back_off(&mut self) {
        if self.backoff < 64 || self.timeout() < self.max {
            self.backoff *= 2;
        }
        if self.backoff > STALE_BACKOFF {
            self.rttvar += self.srtt >> SRTT_BITS;
            self.srtt = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rto(granularity_ms: u64) -> Rto {
        let granularity = Duration::from_millis(granularity_ms);
        Rto::new(&TcpParams { granularity, ..TcpParams::default() }, 0.0)
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn first_sample_gives_three_round_trips() {
        // RFC 6298 (2.2): SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR = 3 R.
        let mut rto = rto(1);
        assert_eq!(rto.timeout(), Duration::from_secs(1));
        rto.sample(at(0), at(100));
        assert_eq!(rto.timeout(), Duration::from_millis(300));
    }

    #[test]
    fn steady_round_trips_sink_to_the_minimum() {
        let mut rto = rto(1);
        for i in 0..100 {
            rto.sample(at(i * 100), at(i * 100 + 50));
        }
        assert_eq!(rto.timeout(), Duration::from_millis(200));
    }

    #[test]
    fn coarse_clock_measures_whole_ticks() {
        let mut rto = rto(10);
        // 14 ms that cross one tick boundary count as one tick: RTO = 3 ticks, under the 200 ms floor.
        rto.sample(at(5), at(19));
        assert_eq!(rto.srtt(), Some(Duration::from_millis(10)));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut rto = rto(1);
        rto.sample(at(0), at(100));
        let mut seen = Vec::new();
        for _ in 0..9 {
            rto.back_off();
            seen.push(rto.timeout().as_nanos() / 1_000_000);
        }
        assert_eq!(seen, [600, 1200, 2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000]);
        rto.sample(at(1000), at(1100));
        assert_eq!(rto.timeout(), Duration::from_millis(300));
    }
}
