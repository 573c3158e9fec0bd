//! Numbers with confidence and unit, rounded for people.

use fairair_core::metrics::Estimate;

/// What stands for a quantity that does not exist.
pub(crate) const NONE: &str = "-";

/// A number for a table: the parts align in columns of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quantity {
    /// The mean.
    pub(crate) mean: String,
    /// `± x` or `[min … max]`; empty when unknown.
    pub(crate) spread: String,
    /// The unit; empty when dimensionless.
    pub(crate) unit: &'static str,
}

impl Quantity {
    /// Does not exist.
    pub(crate) fn none() -> Self {
        Quantity { mean: NONE.to_owned(), ..Quantity::default() }
    }

    /// A mean and its confidence, both multiplied by `scale`.
    pub(crate) fn scaled(estimate: Estimate, scale: f64, unit: &'static str) -> Self {
        let Some(mean) = estimate.mean.map(|mean| mean * scale) else {
            return Quantity::none();
        };
        let decimals = match estimate.ci95 {
            Some(width) => decimals(mean).min(decimals_of_spread(width * scale)),
            None => decimals(mean),
        };
        let spread = estimate.ci95.map(|width| format!("± {:.decimals$}", width * scale)).unwrap_or_default();
        Quantity { mean: format!("{mean:.decimals$}"), spread, unit }
    }

    /// A bit rate in the unit that its size asks for.
    pub(crate) fn rate(estimate: Estimate) -> Self {
        let (scale, unit) = rate_unit(estimate.mean.unwrap_or_default());
        Quantity::scaled(estimate, scale, unit)
    }

    /// A bit rate with the least and the most of a group.
    pub(crate) fn rate_between(mean: f64, least: f64, most: f64) -> Self {
        let (scale, unit) = rate_unit(most);
        let decimals = decimals(most * scale);
        let number = |bps: f64| format!("{:.decimals$}", bps * scale);
        Quantity { mean: number(mean), spread: format!("[{} … {}]", number(least), number(most)), unit }
    }

    /// A share or probability in per cent.
    pub(crate) fn percent(estimate: Estimate) -> Self {
        Quantity::scaled(estimate, 100.0, "%")
    }

    /// A dimensionless number.
    pub(crate) fn plain(estimate: Estimate) -> Self {
        Quantity::scaled(estimate, 1.0, "")
    }

    /// In running text.
    pub(crate) fn text(&self) -> String {
        let parts = [self.mean.as_str(), self.spread.as_str(), self.unit];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Unit in which a bit rate is between 1 and 1000, and its factor.
fn rate_unit(bps: f64) -> (f64, &'static str) {
    match bps {
        bps if bps >= 999.5e3 => (1e-6, "Mb/s"),
        bps if bps >= 999.5 => (1e-3, "kb/s"),
        _ => (1.0, "b/s"),
    }
}

/// Decimals that give a number three digits, at most three decimals.
fn decimals(number: f64) -> usize {
    match number.abs() {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    }
}

/// Decimals that give a half-width two digits: further digits of its mean say nothing (GUM, clause 7.2.6).
fn decimals_of_spread(width: f64) -> usize {
    match width.abs() {
        0.0 => usize::MAX,
        size if size >= 9.95 => 0,
        size if size >= 0.995 => 1,
        size if size >= 0.0995 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use fairair_core::metrics::{per_cent, times};

    use super::*;

    fn estimate(mean: f64, ci95: f64) -> Estimate {
        Estimate { mean: Some(mean), ci95: Some(ci95), n: 3 }
    }

    #[test]
    fn rates_choose_their_unit_and_keep_three_digits() {
        assert_eq!(Quantity::rate(estimate(4_912_345.0, 51_000.0)).text(), "4.91 ± 0.05 Mb/s");
        assert_eq!(Quantity::rate(estimate(999_600.0, 1_000.0)).text(), "1.00 ± 0.00 Mb/s");
        assert_eq!(Quantity::rate(estimate(112_300.0, 30_400.0)).text(), "112 ± 30 kb/s");
        assert_eq!(Quantity::rate(estimate(85.0, 300.0)).text(), "85 ± 300 b/s");
        assert_eq!(Quantity::plain(estimate(0.7803, 0.6431)).text(), "0.78 ± 0.64");
        assert_eq!(Quantity::rate(estimate(0.0, 0.0)).text(), "0 ± 0 b/s");
        assert_eq!(Quantity::rate(Estimate { mean: Some(2e6), ci95: None, n: 1 }).text(), "2.00 Mb/s");
        assert_eq!(Quantity::rate(Estimate::default()).text(), "-");
    }

    #[test]
    fn other_quantities_carry_their_unit_too() {
        assert_eq!(Quantity::percent(estimate(0.241, 0.003)).text(), "24.1 ± 0.3 %");
        assert_eq!(Quantity::plain(estimate(4111.0, 99.0)).text(), "4111 ± 99");
        assert_eq!(Quantity::rate_between(112e3, 80e3, 1.4e6).text(), "0.11 [0.08 … 1.40] Mb/s");
        assert_eq!(times(16.7), "17x");
        assert_eq!(times(2.04), "2.0x");
        assert_eq!(per_cent(0.241), "24 %");
        assert_eq!(per_cent(0.021), "2.1 %");
    }
}
