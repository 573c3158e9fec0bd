//! Goodput of downloads and uploads under a dual queue: ha2009, sections 3.3-3.5.
//!
//! Symbols: `m` downloads and `n` uploads, one a station; `w_r` receive window, `Q_D` and `Q_A` sizes of the AP's data
//! and ACK queue, all in packets; `p` probability of serving the data queue; `R` packets that the AP sends per second;
//! `tau` round-trip time without the AP's queueing, in seconds. Goodputs are in packets per second. No delayed ACKs;
//! losses of the downloads are synchronised, and timeouts are neglected.
//!
//! The first case of Eq. 12 is printed without its `1/p`: from Eqs. 8 and 10 it is `(m/p) (1-p) w_r / Q_A`.

use super::error::{ModelError, within};
use super::root::falling;

/// A cell with a dual queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// `w_r`, at least 1.
    pub window: f64,
    /// `Q_D`, at least 1.
    pub q_d: f64,
    /// `Q_A`, at least 1.
    pub q_a: f64,
    /// `p`, between 0 and 1, both excluded.
    pub p: f64,
    /// `R`, above zero.
    pub rate: f64,
    /// `tau_d,i`, one a download.
    pub tau_d: Vec<f64>,
    /// `tau_u,i`, one an upload.
    pub tau_u: Vec<f64>,
}

impl Cell {
    fn check(&self) -> Result<(), ModelError> {
        within("w_r", self.window, 1.0, 1e9, "1 or more packets")?;
        within("Q_D", self.q_d, 1.0, 1e9, "1 or more packets")?;
        within("Q_A", self.q_a, 1.0, 1e9, "1 or more packets")?;
        within("p", self.p, 1e-9, 1.0 - 1e-9, "above 0 and below 1")?;
        within("R", self.rate, 1e-9, 1e9, "above 0 packets/s")?;
        for tau in self.tau_d.iter().chain(&self.tau_u) {
            within("tau", *tau, 0.0, 1e6, "0 s or more")?;
        }
        if self.tau_d.is_empty() && self.tau_u.is_empty() { Err(ModelError::NoFlows) } else { Ok(()) }
    }

    /// `R_d,i` of each download: Eqs. 1-3 when their windows overflow the data queue, Eq. 4 when they do not.
    ///
    /// # Errors
    /// A parameter outside its range, or no flow in either direction.
    pub fn downloads(&self) -> Result<Vec<f64>, ModelError> {
        self.check()?;
        let m = self.tau_d.len() as f64;
        let served = self.p * self.rate;
        if self.q_d >= m * self.window {
            return Ok(shared(self.window, served, &self.tau_d));
        }
        let t_dq = 0.75 * self.q_d / served;
        let t: Vec<f64> = self.tau_d.iter().map(|tau| tau + t_dq).collect();
        // Eqs. 1 and 2: w_i = T_sync / T_i, and twice their sum fills the queue.
        let t_sync = self.q_d / (2.0 * t.iter().map(|t| 1.0 / t).sum::<f64>());
        Ok(t.iter().map(|t| 1.5 * t_sync / (t * t)).collect())
    }

    /// `R_u,i` of each upload: Eq. 6 when their ACKs overflow the ACK queue, Eq. 7 when they do not.
    ///
    /// # Errors
    /// As [`Cell::downloads`].
    pub fn uploads(&self) -> Result<Vec<f64>, ModelError> {
        self.check()?;
        let n = self.tau_u.len() as f64;
        let served = (1.0 - self.p) * self.rate;
        if self.q_a >= n * self.window {
            return Ok(shared(self.window, served, &self.tau_u));
        }
        Ok(self.tau_u.iter().map(|tau| self.window / (tau + self.q_a / served)).collect())
    }

    /// `gamma` of Eq. 12, mean upload over mean download, with all `tau` neglected.
    ///
    /// # Errors
    /// As [`Cell::downloads`]; also without downloads or without uploads.
    pub fn ratio(&self) -> Result<f64, ModelError> {
        self.check()?;
        if self.tau_d.is_empty() || self.tau_u.is_empty() {
            return Err(ModelError::NoFlows);
        }
        let (m, n) = (self.tau_d.len() as f64, self.tau_u.len() as f64);
        let share = (1.0 - self.p) / self.p;
        Ok(if self.q_a < n * self.window { m * share * self.window / self.q_a } else { m / n * share })
    }
}

/// Eqs. 4 and 7: flows whose windows `w` fit into a queue with M/M/1 delay `1 / (served - sum of R_i)`.
fn shared(w: f64, served: f64, tau: &[f64]) -> Vec<f64> {
    if tau.is_empty() {
        return Vec::new();
    }
    let rate = |tau: f64, total: f64| {
        let left = (served - total).max(0.0);
        // w / (tau + 1 / left), without the division by zero.
        w * left / (tau * left + 1.0)
    };
    let total =
        falling(0.0, served, served * 1e-13, |total| tau.iter().map(|tau| rate(*tau, total)).sum::<f64>() - total);
    tau.iter().map(|tau| rate(*tau, total)).collect()
}

/// The fair `p` of Eq. 13. At least one flow each way; windows and queue at least 1 packet.
///
/// # Errors
/// No flow in a direction, or a window or queue below 1.
pub fn optimal_p(m: u32, n: u32, window: f64, q_a: f64) -> Result<f64, ModelError> {
    within("w_r", window, 1.0, 1e9, "1 or more packets")?;
    within("Q_A", q_a, 1.0, 1e9, "1 or more packets")?;
    if m == 0 || n == 0 {
        return Err(ModelError::NoFlows);
    }
    let (m, n) = (f64::from(m), f64::from(n));
    Ok(if q_a < n * window { m * window / (m * window + q_a) } else { m / (m + n) })
}

/// The `p` of section 4.1: Eq. 13 less 10 % for more than 4 uploads and less 20 % for more than 7, because of their
/// timeouts.
///
/// # Errors
/// As [`optimal_p`].
pub fn modified_p(m: u32, n: u32, window: f64, q_a: f64) -> Result<f64, ModelError> {
    let reduction = match n {
        0..=4 => 1.0,
        5..=7 => 0.9,
        _ => 0.8,
    };
    Ok(optimal_p(m, n, window, q_a)? * reduction)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these are exact")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(m: usize, n: usize, p: f64) -> Cell {
        Cell { window: 42.0, q_d: 50.0, q_a: 50.0, p, rate: 116.0, tau_d: vec![0.0; m], tau_u: vec![0.0; n] }
    }

    /// Fig. 7: `Q_A` = 100, window 42, so that the surface has an edge between 2 and 3 uploads.
    #[test]
    fn the_surface_of_fig_7() {
        for m in 1..=10 {
            for n in 1..=10 {
                let p = optimal_p(m, n, 42.0, 100.0).unwrap();
                let (m_, n_) = (f64::from(m), f64::from(n));
                let expected = if n <= 2 { m_ / (m_ + n_) } else { 42.0 * m_ / (42.0 * m_ + 100.0) };
                assert!((p - expected).abs() < 1e-12, "m = {m}, n = {n}");
            }
        }
        assert!((optimal_p(4, 4, 42.0, 100.0).unwrap() - 0.6269).abs() < 1e-4);
        assert!((optimal_p(4, 4, 42.0, 50.0).unwrap() - 0.7706).abs() < 1e-4);
        assert!((modified_p(2, 10, 42.0, 50.0).unwrap() / optimal_p(2, 10, 42.0, 50.0).unwrap() - 0.8).abs() < 1e-12);
    }

    /// Section 3.5: the first round trip 20 ms, the second 1-500 ms, `Q_D` = 50, p = 0.667. R is Table 1's first row,
    /// 1395 kb/s of 1500-byte packets. Downloads: 0.9 to 3.8. Uploads by Eq. 6: 0.99 to 1.36; the printed 0.95 to 1.95
    /// is the square root of the former, that is with the data queue's delay.
    #[test]
    fn the_effect_of_round_trip_times() {
        let ratios = |tau_2: f64| {
            let cell = Cell {
                tau_d: vec![0.02, tau_2],
                tau_u: vec![0.02, tau_2],
                p: 0.667,
                rate: 1395e3 / 12e3,
                ..cell(2, 2, 0.5)
            };
            let (down, up) = (cell.downloads().unwrap(), cell.uploads().unwrap());
            (down[0] / down[1], up[0] / up[1])
        };
        let ((d_low, u_low), (d_high, u_high)) = (ratios(0.001), ratios(0.5));
        println!("R_d1/R_d2 {d_low:.3}-{d_high:.3} for 0.9-3.8, R_u1/R_u2 {u_low:.3}-{u_high:.3} for 0.99-1.36");
        assert!((d_low - 0.9).abs() < 0.05 && (d_high - 3.8).abs() < 0.05, "{d_low} {d_high}");
        assert!((u_low - 0.99).abs() < 0.005 && (u_high - 1.36).abs() < 0.01, "{u_low} {u_high}");
        assert!((d_low.sqrt() - 0.95).abs() < 0.02 && (d_high.sqrt() - 1.95).abs() < 0.01);
    }

    #[test]
    fn the_ratio_is_that_of_the_rates_without_round_trip_times() {
        // Overflowing and fitting ACK queues. Eq. 9 rounds 1 + m w_r to m w_r, hence the slack.
        for (m, n, q_d, q_a) in [(4, 4, 50.0, 50.0), (4, 1, 50.0, 50.0), (2, 3, 1000.0, 1000.0)] {
            let cell = Cell { q_d, q_a, ..cell(m, n, 0.6) };
            let ratio = cell.uploads().unwrap()[0] / cell.downloads().unwrap()[0];
            assert!((ratio / cell.ratio().unwrap() - 1.0).abs() < 0.03, "{ratio} for {:?}", cell.ratio());
        }
    }

    /// Fig. 8: Eq. 12 gives 8.4 at m = 10, n = 2, p = 0.5 (and `Q_A` = 50).
    #[test]
    fn fig_8_at_equal_service() {
        assert!((cell(10, 2, 0.5).ratio().unwrap() - 8.4).abs() < 1e-9);
    }

    #[test]
    fn the_optimal_p_makes_the_ratio_one() {
        for (m, n) in [(1, 1), (2, 10), (10, 2), (7, 7)] {
            for q_a in [10.0, 50.0, 500.0] {
                let p = optimal_p(m, n, 42.0, q_a).unwrap();
                let cell = Cell { q_a, ..cell(m as usize, n as usize, p) };
                assert!((cell.ratio().unwrap() - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_missing_direction_is_no_disaster() {
        assert_eq!(cell(0, 3, 0.5).downloads().unwrap(), Vec::<f64>::new());
        assert_eq!(cell(0, 3, 0.5).ratio(), Err(ModelError::NoFlows));
        assert_eq!(cell(0, 0, 0.5).uploads(), Err(ModelError::NoFlows));
        assert!(optimal_p(0, 3, 42.0, 50.0).is_err());
        assert!(cell(1, 1, 1.0).ratio().is_err());
    }

    proptest! {
        #[test]
        fn no_flow_is_served_faster_than_its_queue(
            m in 0_usize..200, n in 1_usize..200, window in 1.0..1000.0_f64, q_d in 1.0..1e4_f64, q_a in 1.0..1e4_f64,
            p in 0.001..0.999_f64, tau in 0.0..2.0_f64,
        ) {
            let cell = Cell { window, q_d, q_a, p, rate: 400.0, tau_d: vec![tau; m], tau_u: vec![tau / 2.0; n] };
            let down: f64 = cell.downloads().unwrap().iter().sum();
            prop_assert!(down >= 0.0 && down <= p * 400.0 * (1.0 + 1e-9), "{down}");
            for rate in cell.uploads().unwrap() {
                // Above the queue's own rate where ACKs are lost: an ACK acknowledges many packets.
                prop_assert!(rate.is_finite() && rate >= 0.0 && rate <= window.max(1.0) * 400.0);
            }
        }
    }
}
