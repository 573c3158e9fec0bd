//! TCP Reno in steady state: J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno performance: a simple
//! model and its empirical validation", IEEE/ACM Trans. Networking 8(2), 2000 ("PFTK").
//!
//! Symbols: `p` loss probability of the first packet of a loss event, 0 to 1; `b` packets that an ACK acknowledges, at
//! least 1; `W_m` receive window in packets; `RTT` round-trip time and `T_0` first timeout in seconds. Rates are in
//! packets per second.
//!
//! Where the paper leaves a limit open: `p = 0` gives the receive window per round trip, and `Q(w)` is 1 for windows of
//! at most three packets, too few for three duplicate ACKs.

use super::error::{ModelError, within};

/// A path and the receiver at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// `b`, packets per ACK: 1, or 2 with delayed ACKs.
    pub b: f64,
    /// `W_m`, receive window in packets.
    pub window: f64,
    /// `RTT` in seconds, above zero.
    pub rtt: f64,
    /// `T_0`, the timeout that a sequence of timeouts begins with, in seconds.
    pub t0: f64,
}

impl Path {
    /// Refuses paths on which the formulas have no meaning.
    ///
    /// # Errors
    /// `b` below 1, `W_m` below 1, `RTT` not above zero, `T_0` negative, or anything not finite.
    pub fn check(&self) -> Result<(), ModelError> {
        within("b", self.b, 1.0, 1e9, "1 or more packets an ACK")?;
        within("W_m", self.window, 1.0, 1e9, "1 or more packets")?;
        within("RTT", self.rtt, 1e-9, 1e9, "above 0 s")?;
        within("T_0", self.t0, 0.0, 1e9, "0 s or more")?;
        Ok(())
    }

    /// Send rate `B(p)`, Eq. 32: packets sent per second, retransmissions included.
    pub fn send_rate(&self, p: f64) -> f64 {
        self.rate(p, |w, q| w + q / (1.0 - p))
    }

    /// Throughput `T(p)`, Eq. 37: packets received per second, each once.
    pub fn throughput(&self, p: f64) -> f64 {
        self.rate(p, |w, q| w / 2.0 + q)
    }

    /// Eqs. 32 and 37 differ in the packets that they count in the last round and in timeouts, `tail(w, Q(w))`.
    fn rate(&self, p: f64, tail: impl Fn(f64, f64) -> f64) -> f64 {
        if p <= 0.0 {
            return self.window / self.rtt;
        }
        if p >= 1.0 {
            return 0.0;
        }
        let unconstrained = expected_window(p, self.b);
        let w = unconstrained.min(self.window);
        let rounds = if unconstrained < self.window {
            self.b / 2.0 * w + 1.0
        } else {
            self.b / 8.0 * w + (1.0 - p) / (p * w) + 2.0
        };
        let q = timeout_probability(p, w);
        let packets = (1.0 - p) / p + tail(w, q);
        packets / (self.rtt * rounds + q * self.t0 * backoff(p) / (1.0 - p))
    }

    /// The approximate send rate, Eq. 33.
    pub fn approximate_send_rate(&self, p: f64) -> f64 {
        let most = self.window / self.rtt;
        if p <= 0.0 {
            return most;
        }
        let fast = self.rtt * (2.0 * self.b * p / 3.0).sqrt();
        let slow = self.t0 * (3.0 * (3.0 * self.b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
        most.min(1.0 / (fast + slow))
    }
}

/// `E[W_u]`, Eq. 13: the unconstrained window when a loss ends its growth, in packets. Infinite at `p = 0`.
pub fn expected_window(p: f64, b: f64) -> f64 {
    let c = (2.0 + b) / (3.0 * b);
    c + (8.0 * (1.0 - p) / (3.0 * b * p) + c * c).sqrt()
}

/// `Q(w)`, Eq. 24: the probability that a loss in a window of `w` packets leads to a timeout.
pub fn timeout_probability(p: f64, w: f64) -> f64 {
    if w <= 3.0 || p >= 1.0 {
        return 1.0;
    }
    let kept = 1.0 - p;
    let three = kept.powi(3);
    // (1-p)^w once: powf is the dearest operation of the formula.
    let all = kept.powf(w);
    // As p goes to zero both sides do; their quotient goes to 3/w.
    if 1.0 - all < 1e-12 {
        return (3.0 / w).min(1.0);
    }
    ((1.0 - three) * (1.0 + three - all) / (1.0 - all)).min(1.0)
}

/// `f(p)`, Eq. 29: mean length of a sequence of timeouts over `T_0`, times `1 - p`; the sixth doubling is the last.
pub fn backoff(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these are exact")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(b: f64) -> Path {
        Path { b, window: 1e9, rtt: 0.1, t0: 0.4 }
    }

    /// Padhye et al.'s formula: MSS 1460 B, RTT 100 ms, T0 = 4 RTT, no window cap; Mbit/s at b = 1 and b = 2.
    #[test]
    fn the_approximate_form_gives_the_published_rates() {
        let rows = [
            (1e-4, 14.292, 10.106),
            (1e-3, 4.483, 3.170),
            (1e-2, 1.312, 0.928),
            (0.05, 0.4305, 0.3044),
            (0.1, 0.2067, 0.1462),
        ];
        for (p, one, two) in rows {
            for (b, expected) in [(1.0, one), (2.0, two)] {
                let mbps = path(b).approximate_send_rate(p) * 1460.0 * 8.0 / 1e6;
                assert!((mbps / expected - 1.0).abs() < 1e-3, "p = {p}, b = {b}: {mbps} for {expected}");
            }
        }
    }

    #[test]
    fn the_full_form_approaches_the_approximate_one_for_small_losses() {
        for b in [1.0, 2.0] {
            for p in [1e-5, 1e-4, 1e-3] {
                let (full, approximate) = (path(b).send_rate(p), path(b).approximate_send_rate(p));
                assert!((full / approximate - 1.0).abs() < 0.08, "p = {p}, b = {b}: {full} and {approximate}");
            }
        }
    }

    #[test]
    fn the_window_of_eq_13() {
        // b = 1: c = 1; p = 8/11: 8 * (3/11) / (3 * 8/11) = 1, so 1 + sqrt(1 + 1).
        assert!((expected_window(8.0 / 11.0, 1.0) - (1.0 + 2.0_f64.sqrt())).abs() < 1e-12);
        assert!(expected_window(0.0, 2.0).is_infinite());
    }

    #[test]
    fn without_loss_the_receive_window_goes_once_a_round_trip() {
        let path = Path { b: 2.0, window: 42.0, rtt: 0.2, t0: 0.2 };
        assert_eq!(path.send_rate(0.0), 210.0);
        assert!((path.throughput(1e-9) - 210.0).abs() < 0.01);
        assert_eq!(path.throughput(1.0), 0.0);
    }

    #[test]
    fn paths_without_meaning_are_refused() {
        for wrong in [
            Path { b: 0.5, ..path(1.0) },
            Path { window: 0.0, ..path(1.0) },
            Path { rtt: 0.0, ..path(1.0) },
            Path { t0: f64::NAN, ..path(1.0) },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        assert!(path(1.0).check().is_ok());
    }

    proptest! {
        #[test]
        fn rates_are_finite_and_throughput_is_the_lower(
            p in 0.0..=1.0_f64, b in 1.0..10.0_f64, window in 1.0..1e6_f64, rtt in 1e-4..10.0_f64, t0 in 0.0..60.0_f64,
        ) {
            let path = Path { b, window, rtt, t0 };
            let (sent, received) = (path.send_rate(p), path.throughput(p));
            prop_assert!(sent.is_finite() && received.is_finite() && received >= 0.0);
            prop_assert!(received <= sent * (1.0 + 1e-12), "{received} of {sent}");
            // Eq. 32 counts the last round of a capped connection as a full one: up to a window more.
            prop_assert!(received <= window / rtt * 1.5 + 2.0 / rtt, "{received}");
        }

        #[test]
        fn the_timeout_probability_is_one(p in 0.0..=1.0_f64, w in 1.0..1e6_f64) {
            let q = timeout_probability(p, w);
            prop_assert!((0.0..=1.0).contains(&q), "{q}");
        }
    }
}
