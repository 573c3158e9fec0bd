//! Contention windows and backoff draws.

use super::params::MacParams;
use crate::rng::Rng;

/// Fractional bits of the stored ranges.
const FRACTION: u32 = 16;

/// The ranges that a transmitter draws its backoff from, one a retry stage.
///
/// A priority beta divides the contention windows (detti2011 section 3: beta is the ratio of access
/// rates of station and AP). Windows are real numbers inside, so that 31 / 1.2 is not rounded to a slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    /// Number of slots to draw from, fixed-point with [`FRACTION`] bits.
    ranges: Vec<u64>,
}

impl Windows {
    /// The windows from `cw_min` to `cw_max` of a transmitter with access priority `beta` against one with 1.
    pub(super) fn between(params: &MacParams, cw_min: u32, cw_max: u32, beta: f64) -> Self {
        let largest = largest_draws(params, cw_min, cw_max);
        let divisor = divisor_for(beta, &largest, params.retry_limit);
        let range = |largest: &f64| ((largest / divisor + 1.0) * f64::from(1 << FRACTION)).round() as u64;
        Windows { ranges: largest.iter().map(range).collect() }
    }

    /// Slots to wait before attempt number `attempts` + 1 of a frame.
    pub(super) fn draw(&self, attempts: u32, rng: &mut Rng) -> u32 {
        let range = self.ranges[(attempts as usize).min(self.ranges.len() - 1)];
        ((u128::from(rng.next_u32()) * u128::from(range)) >> (32 + FRACTION)) as u32
    }
}

/// The largest draw of each retry stage.
fn largest_draws(params: &MacParams, cw_min: u32, cw_max: u32) -> Vec<f64> {
    let mut largest = Vec::new();
    let mut cw = cw_min;
    loop {
        largest.push(f64::from(params.rules.largest_draw(cw)));
        if cw >= cw_max {
            return largest;
        }
        cw = (2 * cw + 1).min(cw_max);
    }
}

/// By how much to divide a transmitter's windows so that it succeeds `beta` times as often as one with undivided
/// windows when both are saturated, which is how detti2011 measures beta.
///
/// Dividing by beta itself overshoots: a collision takes one attempt from each, and meets the rarer sender more often.
fn divisor_for(beta: f64, largest: &[f64], retry_limit: u32) -> f64 {
    if (beta - 1.0).abs() < f64::EPSILON {
        return 1.0;
    }
    // The ratio grows with the divisor: bisect on a logarithmic scale.
    let (mut low, mut high) = (beta.ln() - 2.0, beta.ln() + 2.0);
    let mut backoffs = FIRST_GUESS;
    while high - low > FINE {
        let middle = f64::midpoint(low, high);
        if success_ratio(middle.exp(), largest, retry_limit, &mut backoffs) < beta {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).exp()
}

/// Mean backoffs of the two transmitters from which [`success_ratio`] starts, in slots.
const FIRST_GUESS: (f64, f64) = (10.0, 10.0);
/// What is closer than that is found: far below what the ranges can hold.
const FINE: f64 = 1e-12;

/// Successes of a saturated transmitter with divided windows over those of one with undivided windows, alone with each
/// other: a two-node fixed point in the manner of Bianchi and Kumar et al., with retry limit. Starts from the mean `backoffs` of both and leaves
/// there those that it finds: every replica of a simulation comes here.
fn success_ratio(divisor: f64, largest: &[f64], retry_limit: u32, backoffs: &mut (f64, f64)) -> f64 {
    // Mean backoff per attempt, in slots, when an attempt fails with probability `p`.
    let mean_backoff = |p: f64, divisor: f64| {
        let (mut attempts, mut slots, mut reach) = (0.0, 0.0, 1.0);
        // Beyond some stages nothing is added that a double could hold.
        for stage in 0..(retry_limit as usize).min(64) {
            attempts += reach;
            slots += reach * largest[stage.min(largest.len() - 1)] / divisor / 2.0;
            reach *= p;
        }
        slots / attempts
    };
    let (mut divided, mut plain) = *backoffs;
    for _ in 0..200 {
        let before = (divided, plain);
        // The other's countdown ends in the same slot with probability 1 / (1 + its mean backoff).
        divided = f64::midpoint(divided, mean_backoff(1.0 / (1.0 + plain), divisor));
        plain = f64::midpoint(plain, mean_backoff(1.0 / (1.0 + divided), 1.0));
        if (divided - before.0).abs() <= FINE * divided && (plain - before.1).abs() <= FINE * plain {
            break;
        }
    }
    *backoffs = (divided, plain);
    // Countdowns run in idle slots only, so attempts are as the inverse of the backoff; the rest of an attempt's slot is
    // not the other's loss. The share 1 - 1 / (1 + b) of them succeeds.
    let successes = |own: f64, other: f64| other / (1.0 + other) / own;
    successes(divided, plain) / successes(plain, divided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::{Phy, Preamble};
    use crate::scenario::{Preset, Radio};
    use crate::units::Bitrate;

    fn windows(preset: Preset, beta: f64) -> Windows {
        let radio = Radio {
            phy: Phy::B,
            rate: Bitrate::mbps(11),
            basic_rate: Bitrate::mbps(2),
            protection_rate: None,
            preamble: Preamble::Long,
            retry_limit: 7,
            eifs: true,
            cw_min: None,
            cw_max: None,
            qos: None,
        };
        let params = MacParams::new(&radio, preset);
        Windows::between(&params, params.cw_min, params.cw_max, beta)
    }

    fn mean_and_max(windows: &Windows, attempts: u32) -> (f64, u32) {
        let mut rng = Rng::fork(1, "backoff");
        let draws: Vec<u32> = (0..200_000).map(|_| windows.draw(attempts, &mut rng)).collect();
        (draws.iter().map(|&d| f64::from(d)).sum::<f64>() / draws.len() as f64, draws.into_iter().max().unwrap())
    }

    #[test]
    fn windows_double_up_to_the_largest() {
        let windows = windows(Preset::Standard, 1.0);
        for (attempts, cw) in [(0, 31), (1, 63), (2, 127), (3, 255), (4, 511), (5, 1023), (6, 1023), (40, 1023)] {
            let (mean, max) = mean_and_max(&windows, attempts);
            assert_eq!(max, cw, "attempt {attempts}");
            assert!((mean / (f64::from(cw) / 2.0) - 1.0).abs() < 0.01, "attempt {attempts}: mean {mean}");
        }
    }

    #[test]
    fn ns2_never_draws_the_window_itself() {
        assert_eq!(mean_and_max(&windows(Preset::Ns2, 1.0), 0).1, 30);
        assert_eq!(mean_and_max(&windows(Preset::Ns2, 1.0), 1).1, 62);
    }

    #[test]
    fn beta_divides_the_mean_wait_by_a_little_less() {
        let (plain, _) = mean_and_max(&windows(Preset::Standard, 1.0), 0);
        for beta in [0.5, 1.2, 2.0] {
            let (scaled, _) = mean_and_max(&windows(Preset::Standard, beta), 0);
            let divisor: f64 = plain / scaled;
            let share = divisor.ln() / f64::ln(beta);
            assert!((0.8..1.0).contains(&share), "beta {beta}: windows divided by {divisor}");
        }
    }
}
