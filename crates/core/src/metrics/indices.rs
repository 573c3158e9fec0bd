//! The field's measures of who gets the air, as functions of plain numbers.
//!
//! Each is `None` where it does not exist (no values, a zero denominator); none is ever infinite or NaN for
//! finite input.

/// Arithmetic mean, in the unit of the values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Jain's fairness index, dimensionless: `(sum x)^2 / (n sum x^2)`, 1 when all get the same, `1/n` when one gets all.
///
/// R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984; khademi2010 Eq. 10.
pub fn jain_index(goodputs: &[f64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

/// Fairness level of station i against station j, dimensionless: `eta_ij = goodput_i / goodput_j` (detti2011 section 2).
pub fn fairness_level(goodput_i: f64, goodput_j: f64) -> Option<f64> {
    (goodput_j > 0.0).then(|| goodput_i / goodput_j)
}

/// Fairness level of the first station against the mean of the others, dimensionless (detti2011, figures 5-11).
pub fn fairness_level_of_first(station_goodputs: &[f64]) -> Option<f64> {
    let (first, others) = station_goodputs.split_first()?;
    fairness_level(*first, mean(others)?)
}

/// R, dimensionless: mean goodput of the up flows over that of the down flows (ha2009 section 3, `R_u/R_d` of detti2005).
pub fn up_down_ratio(up_flow_goodputs: &[f64], down_flow_goodputs: &[f64]) -> Option<f64> {
    fairness_level(mean(up_flow_goodputs)?, mean(down_flow_goodputs)?)
}

/// Spread among the flows of a direction, dimensionless: population standard deviation over mean (detti2005 Table 1).
pub fn sigma_over_mean(flow_goodputs: &[f64]) -> Option<f64> {
    deviation_over_mean(flow_goodputs, 0)
}

/// CoV of transfer times, dimensionless: sample standard deviation over mean (khademi2010 Figs. 4-9). Needs two values.
pub fn coefficient_of_variation(transfer_times: &[f64]) -> Option<f64> {
    deviation_over_mean(transfer_times, 1)
}

/// `lost_freedom` is 0 for a whole population and 1 for a sample of one.
fn deviation_over_mean(values: &[f64], lost_freedom: usize) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean > 0.0)?;
    let freedom = values.len().checked_sub(lost_freedom).filter(|freedom| *freedom > 0)?;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some((squares / freedom as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(got: Option<f64>, expected: f64) {
        let got = got.expect("exists");
        assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
    }

    #[test]
    fn jain_is_one_for_equals_and_one_in_n_for_a_monopoly() {
        close(jain_index(&[3.0, 3.0, 3.0]), 1.0);
        close(jain_index(&[5.0, 0.0, 0.0, 0.0]), 0.25);
        // (1+2+3)^2 / (3 * (1+4+9)) = 36/42.
        close(jain_index(&[1.0, 2.0, 3.0]), 36.0 / 42.0);
        assert_eq!(jain_index(&[0.0, 0.0]), None);
        assert_eq!(jain_index(&[]), None);
    }

    #[test]
    fn fairness_levels_compare_with_one_or_with_the_mean_of_the_others() {
        close(fairness_level(3.2, 1.6), 2.0);
        assert_eq!(fairness_level(1.0, 0.0), None);
        // Others: (1 + 3) / 2 = 2.
        close(fairness_level_of_first(&[8.0, 1.0, 3.0]), 4.0);
        assert_eq!(fairness_level_of_first(&[8.0]), None);
        assert_eq!(fairness_level_of_first(&[8.0, 0.0]), None);
    }

    #[test]
    fn up_down_ratio_compares_means_per_flow() {
        // Two uploads of 3 and 5 against four downloads of 1 each: 4/1, not 8/4.
        close(up_down_ratio(&[3.0, 5.0], &[1.0; 4]), 4.0);
        assert_eq!(up_down_ratio(&[3.0], &[]), None);
        assert_eq!(up_down_ratio(&[], &[1.0]), None);
    }

    #[test]
    fn flows_are_a_population_and_transfers_a_sample() {
        // Mean 2, squares 1 + 0 + 1: population variance 2/3, sample variance 1.
        close(sigma_over_mean(&[1.0, 2.0, 3.0]), (2.0_f64 / 3.0).sqrt() / 2.0);
        close(coefficient_of_variation(&[1.0, 2.0, 3.0]), 0.5);
        close(sigma_over_mean(&[7.0]), 0.0);
        assert_eq!(coefficient_of_variation(&[7.0]), None);
        assert_eq!(sigma_over_mean(&[0.0, 0.0]), None);
    }
}
