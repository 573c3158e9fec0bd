//! Roots of falling functions.

/// Steps after which a bracket has shrunk below what a double can tell apart.
const MOST_STEPS: u32 = 200;

/// Where `f`, positive below its root and negative above, crosses zero between `low` and `high`; the nearer end if
/// it does not. Regula falsi with the Illinois correction, falling back on bisection: it ends after [`MOST_STEPS`]
/// whatever `f` is, and usually after ten.
pub(super) fn falling(low: f64, high: f64, tolerance: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let (mut a, mut b) = (low, high);
    let (mut fa, mut fb) = (f(a), f(b));
    if fa <= 0.0 {
        return a;
    }
    if fb >= 0.0 {
        return b;
    }
    let mut last_side = 0;
    for step in 0..MOST_STEPS {
        if b - a <= tolerance {
            break;
        }
        let secant = a + (b - a) * (fa / (fa - fb));
        // Every fourth step halves the bracket, so that a function with a bend cannot hold one end for ever.
        let x = if step % 4 == 3 || !(a < secant && secant < b) { f64::midpoint(a, b) } else { secant };
        let fx = f(x);
        if fx > 0.0 {
            (a, fa) = (x, fx);
            if last_side == 1 {
                fb /= 2.0;
            }
            last_side = 1;
        } else if fx < 0.0 {
            (b, fb) = (x, fx);
            if last_side == -1 {
                fa /= 2.0;
            }
            last_side = -1;
        } else {
            // Zero, or not a number, which no search can improve.
            return x;
        }
    }
    f64::midpoint(a, b)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these are exact")]
mod tests {
    use super::*;

    #[test]
    fn finds_the_root_or_the_nearer_end() {
        let root = falling(0.0, 10.0, 1e-12, |x| 2.0 - x * x);
        assert!((root - 2.0_f64.sqrt()).abs() < 1e-11, "{root}");
        assert_eq!(falling(0.0, 1.0, 1e-12, |x| 2.0 - x), 1.0);
        assert_eq!(falling(3.0, 5.0, 1e-12, |x| 2.0 - x), 3.0);
    }

    #[test]
    fn ends_on_steps_bends_and_nonsense() {
        let step = falling(0.0, 1.0, 1e-12, |x| if x < 0.3 { 1e9 } else { -1e-9 });
        assert!((step - 0.3).abs() < 1e-9, "{step}");
        let bend = falling(0.0, 1e6, 1e-9, |x| if x < 1.0 { 1.0 - x } else { -1e-12 * x });
        assert!((bend - 1.0).abs() < 1e-6, "{bend}");
        let mut calls = 0;
        falling(0.0, 1.0, -1.0, |x| {
            calls += 1;
            0.5 - x + 1e-17
        });
        assert!(calls <= MOST_STEPS + 2);
    }
}
