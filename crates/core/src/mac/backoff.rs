//! Contention windows and backoff draws.

use super::params::MacParams;
use crate::rng::Rng;
use crate::scenario::Preset;

/// Fractional bits of the stored ranges.
const FRACTION: u32 = 16;

/// The ranges that a transmitter draws its backoff from, one a retry stage.
///
/// A priority beta divides the contention window (detti2011 section 3: beta is the ratio of access
/// rates of station and AP). Windows are real numbers inside, so that 31 / 1.2 is not rounded to a slot.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// Number of slots to draw from, fixed-point with [`FRACTION`] bits.
    ranges: Vec<u64>,
}

impl Windows {
    /// The windows of a transmitter with access priority `beta` against one with 1.
    pub(super) fn new(params: &MacParams, beta: f64) -> Self {
        let mut ranges = Vec::new();
        let mut cw = params.cw_min;
        loop {
            let largest = match params.preset {
                Preset::Standard => cw,
                // ns-2 draws `random % cw`.
                Preset::Ns2 => cw.saturating_sub(1),
            };
            ranges.push(((f64::from(largest) / beta + 1.0) * f64::from(1 << FRACTION)).round() as u64);
            if cw >= params.cw_max {
                return Windows { ranges };
            }
            cw = (2 * cw + 1).min(params.cw_max);
        }
    }

    /// Slots to wait before attempt number `attempts` + 1 of a frame.
    pub(super) fn draw(&self, attempts: u32, rng: &mut Rng) -> u32 {
        let range = self.ranges[(attempts as usize).min(self.ranges.len() - 1)];
        ((u128::from(rng.next_u32()) * u128::from(range)) >> (32 + FRACTION)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::{Phy, Preamble};
    use crate::scenario::Radio;
    use crate::units::Bitrate;

    fn windows(preset: Preset, beta: f64) -> Windows {
        let radio = Radio {
            phy: Phy::B,
            rate: Bitrate::mbps(11),
            basic_rate: Bitrate::mbps(2),
            preamble: Preamble::Long,
            retry_limit: 7,
            eifs: true,
            cw_min: None,
            cw_max: None,
        };
        Windows::new(&MacParams::new(&radio, preset), beta)
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
    fn beta_divides_the_mean_wait() {
        let (plain, _) = mean_and_max(&windows(Preset::Standard, 1.0), 0);
        let (eager, _) = mean_and_max(&windows(Preset::Standard, 1.2), 0);
        assert!((plain / eager / 1.2 - 1.0).abs() < 0.01, "{}", plain / eager);
    }
}
