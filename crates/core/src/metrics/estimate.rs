//! A mean over replicas and how sure it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A quantity over the replicas: mean, 95 % confidence half-width, count. Unit: that of the key it stands under.
///
/// A replica in which the quantity does not exist (Jain index of a cell that delivered nothing, say) is left out and not counted in `n`.
/// Quotients (ratios, fairness levels, probabilities, times per packet) are the quotient of the
/// sums over the replicas, not the mean of the replicas' quotients: one replica in which a direction starves would
/// decide the mean alone, or make it infinite. For them `n` counts the replicas that have both
/// sides, those with a zero denominator included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Mean over `n` replicas; null when the quantity exists in none.
    pub mean: Option<f64>,
    /// Half-width of the 95 % confidence interval, Student's t with `n - 1` degrees of freedom; null when `n < 2`.
    pub ci95: Option<f64>,
    /// Replicas that count.
    pub n: u32,
}

impl Estimate {
    /// Mean of the values that exist, one a replica.
    pub fn of_mean(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let values: Vec<f64> = values.into_iter().flatten().filter(|value| value.is_finite()).collect();
        let n = values.len() as u32;
        if n == 0 {
            return Estimate::default();
        }
        if values.iter().all(|value| value.to_bits() == values[0].to_bits()) {
            return Estimate::constant(values[0], n);
        }
        let mean = values.iter().sum::<f64>() / f64::from(n);
        let squares = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        Estimate { mean: Some(mean), ci95: half_width(squares, n), n }
    }

    /// Quotient of the sums of numerators and denominators, one pair a replica.
    ///
    /// The interval is the delta method's for the ratio estimator: `s^2 = sum (x - R y)^2 / (n-1)`,
    /// half-width `t s / (sqrt(n) mean(y))` (W. Cochran, Sampling Techniques, 3rd ed., Eq. 6.13).
    pub fn of_ratio(pairs: impl IntoIterator<Item = Option<(f64, f64)>>) -> Self {
        let pairs: Vec<(f64, f64)> =
            pairs.into_iter().flatten().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        let n = pairs.len() as u32;
        let denominator: f64 = pairs.iter().map(|(_, y)| y).sum();
        if denominator <= 0.0 {
            return Estimate { n, ..Estimate::default() };
        }
        if pairs.iter().all(|pair| *pair == pairs[0]) {
            return Estimate::constant(pairs[0].0 / pairs[0].1, n);
        }
        let ratio = pairs.iter().map(|(x, _)| x).sum::<f64>() / denominator;
        let squares = pairs.iter().map(|(x, y)| (x - ratio * y) * (x - ratio * y)).sum();
        let mean_denominator = denominator / f64::from(n);
        Estimate { mean: Some(ratio), ci95: half_width(squares, n).map(|width| width / mean_denominator), n }
    }

    /// The same in all of `n` replicas: rounding must not pretend a spread.
    fn constant(mean: f64, n: u32) -> Self {
        Estimate { mean: Some(mean), ci95: (n > 1).then_some(0.0), n }
    }

    /// Half-width over mean, dimensionless; `None` when either is unknown or the mean is not positive.
    pub fn relative_half_width(&self) -> Option<f64> {
        let mean = self.mean.filter(|mean| *mean > 0.0)?;
        Some(self.ci95? / mean)
    }
}

/// `t sqrt(squares / (n-1)) / sqrt(n)`, with `squares` the sum of squared deviations.
fn half_width(squares: f64, n: u32) -> Option<f64> {
    let freedom = n.checked_sub(1).filter(|freedom| *freedom > 0)?;
    Some(student_t_975(freedom) * (squares / f64::from(freedom) / f64::from(n)).sqrt())
}

/// 0.975 quantile of Student's t distribution: half-widths of two-sided 95 % intervals. `freedom` is at least 1.
///
/// Tabulated up to 30; beyond, the Cornish-Fisher expansion is right to 1e-6.
pub fn student_t_975(freedom: u32) -> f64 {
    const TABLE: [f64; 30] = [
        12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157, 2.228_139,
        2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905, 2.109_816, 2.100_922, 2.093_024, 2.085_963,
        2.079_614, 2.073_873, 2.068_658, 2.063_899, 2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
    ];
    TABLE.get(freedom.max(1) as usize - 1).copied().unwrap_or_else(|| about_normal(1.959_963_985, freedom))
}

/// 0.995 quantile of the same: half-widths of 99 % intervals, right to 0.1 % from `freedom` 5 on.
pub fn student_t_995(freedom: u32) -> f64 {
    about_normal(2.575_829_304, freedom.max(1))
}

/// Student's quantile from the normal one: the Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5).
fn about_normal(z: f64, freedom: u32) -> f64 {
    let (v, z2) = (f64::from(freedom), z * z);
    let g1 = z * (z2 + 1.0) / 4.0;
    let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let g4 = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92_160.0;
    z + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(got: Option<f64>, expected: f64) {
        let got = got.expect("exists");
        assert!((got - expected).abs() < 1e-6, "{got} is not {expected}");
    }

    #[test]
    fn the_half_width_is_students() {
        // Mean 3, deviations -1, 0, 1: s = 1, t(2) = 4.302653, / sqrt(3).
        let estimate = Estimate::of_mean([Some(2.0), Some(3.0), Some(4.0)]);
        close(estimate.mean, 3.0);
        close(estimate.ci95, 4.302_653 / 3.0_f64.sqrt());
        assert_eq!(estimate.n, 3);
    }

    #[test]
    fn one_replica_has_no_interval_and_none_has_no_mean() {
        assert_eq!(Estimate::of_mean([Some(2.0)]), Estimate { mean: Some(2.0), ci95: None, n: 1 });
        assert_eq!(Estimate::of_mean([None, None]), Estimate::default());
        assert_eq!(Estimate::of_mean([None, Some(2.0)]).n, 1);
    }

    #[test]
    fn what_never_varies_is_certain() {
        let tenth = Estimate { mean: Some(0.1), ci95: Some(0.0), n: 3 };
        assert_eq!(Estimate::of_mean([Some(0.1); 3]), tenth);
        assert_eq!(Estimate::of_ratio([Some((0.3, 3.0)); 3]).ci95, Some(0.0));
    }

    #[test]
    fn a_starved_replica_does_not_decide_a_ratio() {
        // Per replica 10/1 and 10/0; of the sums 20/1. Residuals 10 - 20 and 10 - 0: s = sqrt(200).
        let estimate = Estimate::of_ratio([Some((10.0, 1.0)), Some((10.0, 0.0))]);
        close(estimate.mean, 20.0);
        close(estimate.ci95, 12.706_205 * 200.0_f64.sqrt() / 2.0_f64.sqrt() / 0.5);
        assert_eq!(estimate.n, 2);
    }

    #[test]
    fn a_ratio_without_denominator_is_null_but_counts_its_replicas() {
        let starved = Estimate::of_ratio([Some((10.0, 0.0)), Some((9.0, 0.0))]);
        assert_eq!(starved, Estimate { mean: None, ci95: None, n: 2 });
        assert_eq!(Estimate::of_ratio([None]), Estimate::default());
    }

    #[test]
    fn quantiles_beyond_the_table_meet_it_and_the_normal() {
        // R: qt(.975, 31) = 2.039513, qt(.975, 100) = 1.983972.
        close(Some(student_t_975(31)), 2.039_513_4);
        close(Some(student_t_975(100)), 1.983_971_5);
        assert!((student_t_975(1_000_000) - 1.959_966).abs() < 1e-6);
        assert!((1..200).all(|freedom| student_t_975(freedom) > student_t_975(freedom + 1)));
        // R: qt(.995, c(5, 23, 63)) = 4.032143, 2.807336, 2.656145.
        for (freedom, expected) in [(5, 4.032_143), (23, 2.807_336), (63, 2.656_145)] {
            assert!((student_t_995(freedom) / expected - 1.0).abs() < 1e-3, "{freedom}");
        }
    }
}
