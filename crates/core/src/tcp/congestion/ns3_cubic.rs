//! CUBIC as ns-3.44 has it (`TcpCubic`): `HyStart`, whole windows, the smallest round trip, at most one segment more an ACK.

use super::cubic::BETA;
use crate::units::{Duration, Instant};

/// Scaling constant in segments/s^3.
const C: f64 = 0.4;
/// Acknowledged segments that open the window by one at the latest before the first loss and after a timeout (`CntClamp`).
const CLAMP: u32 = 20;
/// `HyStart` looks at windows from here on (`HyStartLowWindow`), in segments.
const LOW_WINDOW: f64 = 16.0;
/// Round trips at a round's beginning that count (`HyStartMinSamples`).
const SAMPLES: u32 = 8;
/// ACKs of a train are not farther apart (`HyStartAckDelta`).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// By how much a round trip must be above the smallest, within these bounds as much as that itself (`HyStartDelayMin`, `HyStartDelayMax`).
const DELAYS: (Duration, Duration) = (Duration::from_millis(4), Duration::from_secs(1));
/// Round trips so soon after a recovery do not count (`CubicDelta`).
const AFTER_RECOVERY: Duration = Duration::from_millis(10);

/// What it remembers between congestion events; names in parentheses are ns-3's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ns3Cubic {
    /// Window before the last reduction (`m_lastMaxCwnd`); zero: none since the start or the last timeout.
    last_max: u32,
    /// Top of the curve (`m_bicOriginPoint`).
    origin: u32,
    /// Start of the current stage (`m_epochStart`).
    epoch: Option<Instant>,
    /// Seconds from `epoch` to the top.
    k: f64,
    /// Acknowledged segments that have not opened the window yet (`m_cWndCnt`).
    credit: u32,
    /// The same for `reno` (`m_ackCnt`).
    reno_credit: u32,
    /// The window that Reno with the same decrease would have (`m_tcpCwnd`).
    reno: u32,
    /// The smallest round trip since the last timeout (`m_delayMin`).
    least_rtt: Option<Duration>,
    slow_start: Rounds,
}

/// Slow start by rounds: each ends when all that was out at its beginning is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    /// It has been far enough once since the start or the last timeout (`m_found`).
    found: bool,
    start: Instant,
    last_ack: Instant,
    end: u64,
    least_rtt: Option<Duration>,
    samples: u32,
}

impl Rounds {
    /// Whether slow start has been far enough: a train of ACKs as long as the smallest round trip, or a round trip far above it.
    fn look(&mut self, now: Instant, rtt: Duration, smallest: Duration) -> bool {
        if self.found {
            return false;
        }
        if now.saturating_since(self.last_ack) <= ACK_DELTA {
            self.last_ack = now;
            self.found = now.saturating_since(self.start) > smallest;
        }
        if self.samples < SAMPLES {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        } else if self.least_rtt.is_some_and(|least| least > smallest + smallest.clamp(DELAYS.0, DELAYS.1)) {
            self.found = true;
        }
        self.found
    }
}

impl Ns3Cubic {
    /// Congestion with the window `cwnd` (the window, not what is in flight); the threshold that it leaves.
    pub(super) fn on_congestion(&mut self, cwnd: u32) -> u32 {
        self.last_max = if cwnd < self.last_max { (f64::from(cwnd) * (1.0 + BETA)) as u32 / 2 } else { cwnd };
        self.epoch = None;
        ((f64::from(cwnd) * BETA) as u32).max(2)
    }

    /// A timeout with the window `cwnd`: the curve is forgotten. The threshold that it leaves.
    pub(super) fn on_timeout(&mut self, cwnd: u32) -> u32 {
        let threshold = self.on_congestion(cwnd);
        self.last_max = 0;
        self.least_rtt = None;
        self.slow_start.found = false;
        threshold
    }

    /// The smoothed round trip after an ACK, with the window `cwnd`; whether slow start, if it is on, is to end.
    pub(super) fn sample(&mut self, now: Instant, rtt: Duration, cwnd: f64, slow_start: bool) -> bool {
        if self.epoch.is_some_and(|epoch| now.saturating_since(epoch) < AFTER_RECOVERY) {
            return false;
        }
        let smallest = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(smallest);
        slow_start && cwnd >= LOW_WINDOW && self.slow_start.look(now, rtt, smallest)
    }

    /// All below `una` is acknowledged of what was sent up to `max`, in slow start.
    pub(super) fn round(&mut self, now: Instant, una: u64, max: u64) {
        if una > self.slow_start.end {
            let found = self.slow_start.found;
            self.slow_start = Rounds { found, start: now, last_ack: now, end: max, least_rtt: None, samples: 0 };
        }
    }

    /// The window after `segments` were acknowledged in congestion avoidance.
    pub(super) fn grow(&mut self, now: Instant, cwnd: u32, segments: u32) -> u32 {
        self.credit += segments;
        let wanted = self.segments_per_step(now, cwnd, segments);
        if self.credit < wanted {
            return cwnd;
        }
        self.credit -= wanted;
        cwnd + 1
    }

    /// Acknowledged segments that open the window by one.
    fn segments_per_step(&mut self, now: Instant, cwnd: u32, segments: u32) -> u32 {
        self.reno_credit += segments;
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.reno_credit = segments;
            self.reno = cwnd;
            self.origin = self.last_max.max(cwnd);
            self.k = (f64::from(self.origin - cwnd) / C).cbrt();
            now
        });
        let t = now.saturating_since(epoch).as_secs_f64() + self.least_rtt.map_or(0.0, Duration::as_secs_f64);
        let delta = (C * (t - self.k).abs().powi(3)) as u32;
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        let mut steps = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            steps = steps.min(CLAMP);
        }
        // Reno with this decrease opens its window by one for 15/8 windows.
        let reno_step = (cwnd * 15 / 8).max(1);
        while self.reno_credit > reno_step {
            self.reno_credit -= reno_step;
            self.reno += 1;
        }
        if self.reno > cwnd {
            steps = steps.min(cwnd / (self.reno - cwnd));
        }
        steps.max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ns-3.44 prints for this loss: `Loss at cWnd=230`, `SsThresh = 235060`, which are 161 segments of 1460.
    #[test]
    fn congestion_leaves_seven_tenths_of_the_window() {
        assert_eq!(Ns3Cubic::default().on_congestion(230), 161);
        assert_eq!(Ns3Cubic::default().on_timeout(1), 2);
    }

    #[test]
    fn a_timeout_is_followed_by_a_segment_for_twenty_acknowledged() {
        let mut cubic = Ns3Cubic::default();
        cubic.on_congestion(300);
        cubic.on_timeout(300);
        let windows = [(); 20].map(|()| cubic.grow(Instant::ZERO, 100, 2));
        assert_eq!(windows.iter().filter(|window| **window == 101).count(), 2, "{windows:?}");
    }

    #[test]
    fn the_window_comes_back_to_its_maximum_after_k() {
        let mut cubic = Ns3Cubic::default();
        cubic.on_congestion(400);
        let (mut cwnd, mut now) = (280, Instant::ZERO);
        let k = (120.0_f64 / C).cbrt();
        while now.as_secs_f64() < k {
            for _ in 0..cwnd / 2 {
                cwnd = cubic.grow(now, cwnd, 2);
            }
            now += Duration::from_millis(100);
        }
        assert!((398..=400).contains(&cwnd), "{cwnd}");
    }

    /// ns-3.44 left slow start of a lone download over 802.11n when eight smoothed round trips of a round were above 9.1 ms, twice the
    /// smallest of 4.55 ms.
    #[test]
    fn slow_start_ends_when_round_trips_have_doubled() {
        let (mut cubic, us) = (Ns3Cubic::default(), Duration::from_micros);
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        assert!(!cubic.sample(at(0), us(4550), 10.0, true));
        cubic.round(at(0), 1000, 20_000);
        assert!((1..=20).all(|ms| !cubic.sample(at(100 * ms), us(9000), 30.0, true)), "not twice as long");
        cubic.round(at(3000), 21_000, 50_000);
        let found: Vec<bool> = (1..=10).map(|ms| cubic.sample(at(3000 + 100 * ms), us(9200), 50.0, true)).collect();
        assert_eq!(found.iter().position(|found| *found), Some(8), "{found:?}");
        assert!(!cubic.sample(at(9000), us(9200), 50.0, true), "once");
    }

    #[test]
    fn slow_start_ends_when_acks_come_without_a_pause_for_the_smallest_round_trip() {
        let (mut cubic, ms) = (Ns3Cubic::default(), Duration::from_millis);
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        cubic.sample(at(0), ms(5), 10.0, true);
        cubic.round(at(0), 1000, 20_000);
        let first = (1..20).find(|t| cubic.sample(at(*t), ms(5), 20.0, true));
        assert_eq!(first, Some(6));
    }
}
