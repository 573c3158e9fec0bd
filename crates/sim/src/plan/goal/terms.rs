//! Goals as numbers that a model can follow: with a sign, where a miss ends at zero.

use fairair_core::metrics::Estimate;

use super::Goal;
use crate::plan::look::Sample;

/// Beyond this many tolerances a distance says nothing of what is near a goal.
const FAR: f64 = 40.0;
/// What a model may expect of a ratio, in tolerances, and the room that it leaves below a bound: proofs have intervals.
const RATIO: f64 = 0.4;
const ROOM: f64 = 0.3;

/// How far something is from what is wanted, in tolerances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Term {
    /// The logarithm of a ratio over the wanted one, or of a bounded quantity over its bound: above zero it is missed.
    pub(crate) value: f64,
    /// Whether it is missed on either side.
    pub(crate) is_ratio: bool,
}

impl Term {
    /// Of `value` over `most`, a bound.
    pub(crate) fn bound(value: f64, most: f64, tolerance: f64) -> Self {
        Term { value: scaled(value / most, tolerance), is_ratio: false }
    }

    /// How far `value`, expected in its place, is from what a proof would find met; 0: it would.
    pub(crate) fn miss(self, value: f64) -> f64 {
        if self.is_ratio { (value.abs() - RATIO).max(0.0) } else { (value + ROOM).max(0.0) }
    }
}

/// A ratio's logarithm in tolerances; the furthest where there is none.
fn scaled(ratio: f64, tolerance: f64) -> f64 {
    let value = ratio.ln() / tolerance.ln_1p();
    if value.is_nan() { FAR } else { value.clamp(-FAR, FAR) }
}

impl Goal {
    /// Its terms in `sample`: one, or one of each station that it is about.
    pub(crate) fn terms(&self, sample: &Sample, tolerance: f64) -> Vec<Term> {
        let ratio = |estimate: Estimate, wanted: f64| Term {
            value: scaled(estimate.mean.unwrap_or(f64::NAN) / wanted, tolerance),
            is_ratio: true,
        };
        let bound = |estimate: Estimate, most: f64| Term::bound(estimate.mean.unwrap_or(f64::NAN), most, tolerance);
        match self {
            Goal::Level(level) if (level - 1.0).abs() < f64::EPSILON => {
                sample.levels().into_iter().map(|(_, level)| ratio(level, 1.0)).collect()
            }
            Goal::Level(level) => vec![ratio(sample.first_level(), *level)],
            Goal::DownUp(wanted) => vec![ratio(sample.down_up(), *wanted)],
            Goal::Goodput { least, .. } => {
                let least = least.as_bps() as f64;
                let missing = |index: usize| Term::bound(least, sample.station(index).mean.unwrap_or(0.0), tolerance);
                self.stations(sample.scenario).into_iter().map(missing).collect()
            }
            Goal::Delay { most, .. } => vec![bound(self.delay(sample), most.as_secs_f64())],
            Goal::Files { most, .. } => vec![bound(self.files(sample), most.as_secs_f64())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_have_a_sign_and_proofs_need_room() {
        let late = Term::bound(110.0, 100.0, 0.1);
        assert!((late.value - 1.0).abs() < 1e-9 && late.miss(late.value) > 1.0);
        assert!(Term::bound(90.0, 100.0, 0.1).miss(-1.1) <= 0.0);
        assert!(late.miss(-0.01) > 0.0, "just met is not met in every replica");
        let ratio = Term { value: scaled(0.5, 0.1), is_ratio: true };
        assert!(ratio.value < -7.0 && ratio.miss(ratio.value) > 6.0 && ratio.miss(-0.2) <= 0.0);
        assert_eq!((scaled(0.0, 0.1), scaled(f64::NAN, 0.1)), (-FAR, FAR));
    }
}
