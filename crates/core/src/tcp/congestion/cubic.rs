//! CUBIC window growth (RFC 9438), in segments. `HyStart` is left out.

use crate::units::{Duration, Instant};

/// Multiplicative decrease factor (section 4.6).
pub(super) const BETA: f64 = 0.7;
/// Scaling constant in segments/s^3 (section 4.1).
const C: f64 = 0.4;

/// What CUBIC remembers between congestion events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cubic {
    /// Window before the last reduction, after fast convergence.
    w_max: f64,
    /// Window before the last reduction (section 4.3).
    cwnd_prior: f64,
    /// Start of the current congestion-avoidance stage.
    epoch: Option<Instant>,
    /// Time from `epoch` until the curve reaches `w_max` again, in seconds.
    k: f64,
    /// The window that Reno with the same decrease would have (section 4.3).
    w_est: f64,
    /// The window with its fraction, where whole ones are used.
    smooth: f64,
}

impl Cubic {
    /// A congestion event at window `cwnd`; the new window is `BETA * cwnd`.
    pub(super) fn on_congestion(&mut self, cwnd: f64) {
        // Fast convergence (section 4.7): a flow that did not get back to its last maximum releases more.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = None;
    }

    /// A timeout at window `cwnd` (section 4.8): the next stage starts with K = 0 at the window that it finds.
    pub(super) fn on_timeout(&mut self, cwnd: f64) {
        self.w_max = 0.0;
        self.cwnd_prior = cwnd;
        self.epoch = None;
    }

    /// The window after an ACK of `acked` segments in congestion avoidance.
    pub(super) fn grow(&mut self, now: Instant, cwnd: f64, acked: f64, srtt: Option<Duration>) -> f64 {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.w_max = self.w_max.max(cwnd);
            self.k = ((self.w_max - cwnd) / C).cbrt();
            self.w_est = cwnd;
            now
        });
        let t = now.saturating_since(epoch).as_secs_f64() + srtt.map_or(0.0, Duration::as_secs_f64);
        let target = (C * (t - self.k).powi(3) + self.w_max).clamp(cwnd, 1.5 * cwnd);
        // Section 4.3: Reno-friendly with alpha = 3 (1 - beta) / (1 + beta), 1 once the old window is reached.
        let alpha = if self.w_est < self.cwnd_prior { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        self.w_est += alpha * acked / cwnd;
        (cwnd + (target - cwnd) / cwnd * acked).max(self.w_est)
    }

    /// As [`grow`](Self::grow) where windows are whole: the fraction is kept for the next ACK.
    pub(super) fn grow_whole(&mut self, now: Instant, cwnd: f64, acked: u32, srtt: Option<Duration>) -> f64 {
        let base = if self.smooth as u32 == cwnd as u32 { self.smooth } else { cwnd };
        self.smooth = self.grow(now, base, f64::from(acked), srtt);
        self.smooth.floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9438 section 4.2: K = cbrt(`W_max` (1 - beta) / C); the curve is back at `W_max` after K.
    #[test]
    fn window_returns_to_the_old_maximum_after_k() {
        let mut cubic = Cubic::default();
        cubic.on_congestion(100.0);
        let mut cwnd = 70.0;
        let k = (100.0_f64 * 0.3 / C).cbrt();
        let rtt = Duration::from_millis(100);
        let mut now = Instant::ZERO;
        while now.as_secs_f64() < k {
            cwnd = cubic.grow(now, cwnd, cwnd, Some(rtt));
            now += rtt;
        }
        assert!((cwnd - 100.0).abs() < 1.0, "{cwnd}");
    }

    /// RFC 9438 section 4.8: after a timeout the curve starts flat at the window that slow start reached.
    #[test]
    fn a_timeout_forgets_the_old_maximum() {
        let mut cubic = Cubic::default();
        cubic.on_congestion(100.0);
        cubic.on_timeout(100.0);
        let rtt = Duration::from_millis(100);
        let first = cubic.grow(Instant::ZERO, 70.0, 1.0, Some(rtt));
        assert!((70.0..70.1).contains(&first), "{first}");
        let after = cubic.grow(Instant::ZERO + rtt * 20, first, first, Some(rtt));
        assert!((after - (70.0 + C * 2.1_f64.powi(3))).abs() < 0.1, "{after}");
    }

    /// RFC 9438 section 4.3: alpha is 1 from `cwnd_prior` on, which fast convergence leaves alone.
    #[test]
    fn fast_convergence_does_not_hasten_the_reno_friendly_window() {
        let mut cubic = Cubic::default();
        cubic.on_congestion(100.0);
        cubic.on_congestion(40.0);
        let (mut cwnd, rtt) = (28.0, Duration::from_micros(1));
        // Slower than Reno's: 10 round trips add 10 * 0.53 up to 34 = 0.85 * 40, and not 1 a round trip from there.
        for _ in 0..20 {
            cwnd = cubic.grow(Instant::ZERO, cwnd, cwnd, Some(rtt));
        }
        assert!((cwnd - (28.0 + 20.0 * 9.0 / 17.0)).abs() < 0.2, "{cwnd}");
    }

    #[test]
    fn never_slower_than_reno_on_short_paths() {
        let mut cubic = Cubic::default();
        cubic.on_congestion(10.0);
        let mut cwnd = 7.0;
        let rtt = Duration::from_millis(1);
        let mut now = Instant::ZERO;
        for _ in 0..100 {
            cwnd = cubic.grow(now, cwnd, cwnd, Some(rtt));
            now += rtt;
        }
        // 100 round trips at alpha 0.53, then 1 a round trip beyond the old maximum.
        assert!(cwnd > 60.0, "{cwnd}");
    }
}
