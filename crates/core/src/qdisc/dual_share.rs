//! How often the dual queue serves data rather than ACKs: by number, by ha2009's formula, or by feedback.

use serde::{Deserialize, Serialize};

use super::census::Count;

/// p of ha2009: the probability that the data queue is served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Share {
    /// A number in `[0, 1]`.
    Fixed(f64),
    /// A rule.
    Rule(ShareRule),
}

/// A rule for p from what the AP observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareRule {
    /// ha2009 Eq. 13.
    Optimal,
    /// ha2009 section 4.1: Eq. 13 less 10 % for more than 4 uploads, less 20 % for more than 7.
    Modified,
    /// Ours: Eq. 13 trimmed by feedback until uploads and downloads get the same goodput a flow.
    Auto,
}

/// p before any flow was counted: the round robin of ha2009 section 3.4.
const P_UNKNOWN: f64 = 0.5;

/// ha2009 Eq. 13 for `m` downloads and `n` uploads, window `w_r` and ACK queue `q_a` in packets.
fn optimal(m: f64, n: f64, w_r: f64, q_a: f64) -> f64 {
    if q_a < n * w_r { m * w_r / (m * w_r + q_a) } else { m / (m + n) }
}

/// The share in force.
#[derive(Debug)]
pub(super) struct ShareControl {
    share: Share,
    w_r: f64,
    q_a: f64,
    p: f64,
    feedback: Feedback,
}

impl ShareControl {
    pub(super) fn new(share: Share, w_r: u32, q_a: usize) -> Self {
        let p = match share {
            Share::Fixed(p) => p,
            Share::Rule(_) => P_UNKNOWN,
        };
        ShareControl { share, w_r: f64::from(w_r), q_a: q_a as f64, p, feedback: Feedback::default() }
    }

    /// p.
    pub(super) fn p(&self) -> f64 {
        self.p
    }

    /// Follows the census.
    pub(super) fn update(&mut self, count: &Count) {
        let Share::Rule(rule) = self.share else { return };
        let (m, n) = (count.downloads as f64, count.uploads as f64);
        if m == 0.0 || n == 0.0 {
            // One queue stays empty and the other is served whatever is drawn; keep p for when the class returns.
            return;
        }
        let p = optimal(m, n, self.w_r, self.q_a);
        self.p = match rule {
            ShareRule::Modified if n > 7.0 => p * 0.8,
            ShareRule::Modified if n > 4.0 => p * 0.9,
            ShareRule::Optimal | ShareRule::Modified => p,
            ShareRule::Auto => logistic(logit(p) + self.feedback.trim(count)),
        };
    }
}

/// Integral control of the ratio of goodputs.
///
/// The error is the logarithm of up over down, so that twice too much and half too little weigh alike; the actuator
/// is the odds p / (1 - p), to which by ha2009 Eq. 12 the ratio is inversely proportional, so that one gain fits all
/// (m, n). Eq. 13 is the feed-forward and the trim what it gets wrong: timeouts of uploads, round-trip times, errors.
#[derive(Debug, Default)]
struct Feedback {
    /// Smoothed goodput of a download and of an upload, in bytes a report.
    down: f64,
    up: f64,
    trim: f64,
}

/// Weight of a new report in the smoothed goodputs: a memory of some 20 reports, a few sawteeth of TCP.
const SMOOTHING: f64 = 0.05;
/// Share of the error that a report corrects; slower than the smoothing, or the loop would ring.
const GAIN: f64 = 0.02;
/// The trim stays within the odds that Eq. 12 can be wrong by.
const MAX_TRIM: f64 = 4.0;

impl Feedback {
    fn trim(&mut self, count: &Count) -> f64 {
        let down = count.down_bytes as f64 / count.downloads as f64;
        let up = count.up_bytes as f64 / count.uploads as f64;
        self.down += SMOOTHING * (down - self.down);
        self.up += SMOOTHING * (up - self.up);
        // A packet more on either side keeps the logarithm finite when a class moves nothing.
        let error = ((self.up + 1460.0) / (self.down + 1460.0)).ln();
        self.trim = (self.trim + GAIN * error).clamp(-MAX_TRIM, MAX_TRIM);
        self.trim
    }
}

fn logit(p: f64) -> f64 {
    let p = p.clamp(0.01, 0.99);
    (p / (1.0 - p)).ln()
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(downloads: usize, uploads: usize) -> Count {
        Count { downloads, uploads, ..Count::default() }
    }

    fn p(rule: ShareRule, q_a: usize, count: &Count) -> f64 {
        let mut control = ShareControl::new(Share::Rule(rule), 42, q_a);
        control.update(count);
        control.p()
    }

    /// ha2009 Eq. 13 and Fig. 7 (Q_A = 100): the number of uploads counts only while their ACKs fit.
    #[test]
    fn optimal_is_eq_13() {
        assert!((p(ShareRule::Optimal, 100, &count(4, 4)) - 168.0 / 268.0).abs() < 1e-12);
        assert!((p(ShareRule::Optimal, 100, &count(4, 9)) - 168.0 / 268.0).abs() < 1e-12);
        assert!((p(ShareRule::Optimal, 100, &count(4, 2)) - 4.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn modified_takes_off_a_tenth_and_a_fifth() {
        let optimal = p(ShareRule::Optimal, 50, &count(2, 4));
        for (uploads, factor) in [(4, 1.0), (5, 0.9), (7, 0.9), (8, 0.8)] {
            assert!((p(ShareRule::Modified, 50, &count(2, uploads)) - optimal * factor).abs() < 1e-12);
        }
    }

    #[test]
    fn p_stays_while_one_direction_is_silent() {
        assert!((p(ShareRule::Optimal, 50, &count(3, 0)) - P_UNKNOWN).abs() < 1e-12);
    }

    /// A cell that obeys Eq. 12 with a factor of its own that Eq. 13 does not know: feedback finds it.
    #[test]
    fn auto_finds_what_eq_13_does_not_know() {
        for unknown in [0.3, 1.0, 4.0] {
            let mut control = ShareControl::new(Share::Rule(ShareRule::Auto), 42, 50);
            let mut ratio = 0.0;
            for _ in 0..1_000 {
                let odds = control.p() / (1.0 - control.p());
                ratio = unknown * 3.0 * 42.0 / 50.0 / odds;
                let up_bytes = (10_000.0 * ratio) as u64 * 2;
                control.update(&Count { down_bytes: 30_000, up_bytes, ..count(3, 2) });
            }
            assert!((ratio - 1.0).abs() < 0.05, "{ratio} with {unknown}");
        }
    }
}
