//! What can be had: candidates that no other beats in goodput, fairness and delay at once.

use std::cmp::Ordering;

use super::outcome::{Outcome, distinct};

/// Differences below this share are none: simulation is not that sure.
const ALIKE: f64 = 0.01;
/// Most points of a front.
const POINTS: usize = 12;

/// Those that nobody starves under and no other beats, the one with the most goodput first. Of many the most different
/// ones are kept.
pub(crate) fn front(all: &[Outcome]) -> Vec<&Outcome> {
    // A short look flatters; it counts where there was no longer one, in a search that was stopped.
    let least = u64::from(all.iter().any(|outcome| outcome.rung > 0 && outcome.of.is_some()));
    let looked: Vec<&Outcome> =
        all.iter().filter(|outcome| outcome.rung >= least && outcome.starved.is_nobody()).collect();
    let mut sorted: Vec<&Outcome> =
        looked.iter().copied().filter(|own| !looked.iter().any(|other| beats(of(other), of(own)))).collect();
    sorted.sort_by(|a, b| b.rung.cmp(&a.rung).then(b.utility().total_cmp(&a.utility())));
    let mut front = distinct(sorted, |a, b| distance(of(a), of(b)) < ALIKE);
    while front.len() > POINTS {
        let crowded = |index: &usize| {
            let others = front.iter().enumerate().filter(|(other, _)| other != index);
            others.map(|(_, other)| distance(of(front[*index]), of(other))).fold(f64::INFINITY, f64::min)
        };
        // The first one is the most useful: it stays.
        let Some(least) = (1..front.len()).min_by(|a, b| crowded(a).total_cmp(&crowded(b))) else { break };
        front.remove(least);
    }
    front.sort_by(|a, b| b.goodput.total_cmp(&a.goodput));
    front
}

/// Goodput, fairness and delay to the digits that a table shows: those behind them are chance. What shows as zero counts as one of the
/// last digit, and delays below a millisecond are alike.
fn shown(goodput: f64, fairness: f64, delay_s: f64) -> [f64; 3] {
    let to = |digit: f64, value: f64| (value / digit).round().max(1.0) * digit;
    [to(1e4, goodput), to(1e-3, fairness), to(1e-4, delay_s).max(1e-3)]
}

fn of(outcome: &Outcome) -> [f64; 3] {
    shown(outcome.goodput, outcome.fairness, outcome.delay_s)
}

/// What `a` has over `b` in each, on a logarithmic scale.
fn gains(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] / b[0], a[1] / b[1], b[2] / a[2]].map(f64::ln)
}

/// Better in one respect by more than simulation may err, and worse in none.
fn beats(a: [f64; 3], b: [f64; 3]) -> bool {
    let gains = gains(a, b);
    gains.iter().all(|gain| *gain >= 0.0) && gains.iter().any(|gain| *gain > ALIKE)
}

/// How different two are: the largest difference, delays at a tenth.
fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    let [goodput, fairness, delay] = gains(a, b).map(f64::abs);
    goodput.max(fairness).max(0.1 * delay)
}

/// The best of each family, the best family first: what meets the requirements, then what is nearest, by utility.
pub(crate) fn best_of_families(all: &[Outcome]) -> Vec<&Outcome> {
    let mut ranked: Vec<&Outcome> = all.iter().collect();
    ranked.sort_by(|a, b| better_first(a, b));
    distinct(ranked, |a, b| a.family == b.family)
}

/// A longer look counts before a short one, which flatters.
fn better_first(a: &Outcome, b: &Outcome) -> Ordering {
    let class = |outcome: &Outcome| (!outcome.meets, !outcome.starved.is_nobody(), outcome.rung == 0);
    let nearer = || if a.meets && b.meets { Ordering::Equal } else { a.shortfall.total_cmp(&b.shortfall) };
    class(a).cmp(&class(b)).then_with(nearer).then(b.utility().total_cmp(&a.utility()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As interrupted plans showed them.
    #[test]
    fn what_no_table_shows_keeps_no_point() {
        let fair_and_fast = shown(3.412e6, 0.999_61, 0.062);
        assert!(beats(fair_and_fast, shown(0.612e6, 0.999_97, 0.349)));
        let (one, other) = (shown(0.304e6, 0.9, 0.004_01), shown(0.2996e6, 0.9, 0.004_04));
        assert!(distance(one, other) < ALIKE);
        // What is shown counts.
        assert!(!beats(fair_and_fast, shown(0.612e6, 1.0, 0.061)));
        assert!(!beats(shown(3.4e6, 0.998, 0.01), shown(1e6, 0.999, 0.02)));
        // What delivers nothing is beaten by what delivers something.
        assert!(
            beats(shown(1e6, 1.0, 0.01), shown(0.0, 1.0, 0.01)) && beats(shown(1e6, 0.5, 0.0), shown(0.0, 0.0, 0.0))
        );
    }
}
