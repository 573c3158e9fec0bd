//! What can be had: candidates that no other beats in goodput, fairness and delay at once.

use std::cmp::Ordering;

use super::outcome::Outcome;

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
    let mut front: Vec<&Outcome> = Vec::new();
    let mut sorted: Vec<&Outcome> =
        looked.iter().copied().filter(|own| !looked.iter().any(|other| beats(other, own))).collect();
    sorted.sort_by(|a, b| b.rung.cmp(&a.rung).then(b.utility().total_cmp(&a.utility())));
    for outcome in sorted {
        if !front.iter().any(|other| distance(other, outcome) < ALIKE) {
            front.push(outcome);
        }
    }
    while front.len() > POINTS {
        let crowded = |index: &usize| {
            let others = front.iter().enumerate().filter(|(other, _)| other != index);
            others.map(|(_, other)| distance(front[*index], other)).fold(f64::INFINITY, f64::min)
        };
        // The first one is the most useful: it stays.
        let Some(least) = (1..front.len()).min_by(|a, b| crowded(a).total_cmp(&crowded(b))) else { break };
        front.remove(least);
    }
    front.sort_by(|a, b| b.goodput.total_cmp(&a.goodput));
    front
}

/// Better in one respect by more than simulation may err, and worse in none.
fn beats(a: &Outcome, b: &Outcome) -> bool {
    let gains = [(a.goodput / b.goodput).ln(), (a.fairness / b.fairness).ln(), (delay(b) / delay(a)).ln()];
    gains.iter().all(|gain| *gain >= 0.0) && gains.iter().any(|gain| *gain > ALIKE)
}

/// Delays below a millisecond are alike.
fn delay(outcome: &Outcome) -> f64 {
    outcome.delay_s.max(1e-3)
}

/// How different two are: the largest difference on a logarithmic scale, delays at a tenth.
fn distance(a: &Outcome, b: &Outcome) -> f64 {
    let goodput = (a.goodput / b.goodput).ln().abs();
    let fairness = (a.fairness / b.fairness).ln().abs();
    goodput.max(fairness).max(0.1 * (delay(a) / delay(b)).ln().abs())
}

/// The best of each family, the best family first: what meets the requirements, then what is nearest, by utility.
pub(crate) fn best_of_families(all: &[Outcome]) -> Vec<&Outcome> {
    let mut ranked: Vec<&Outcome> = all.iter().collect();
    ranked.sort_by(|a, b| better_first(a, b));
    let mut families: Vec<&str> = Vec::new();
    ranked.retain(|outcome| {
        let is_first = !families.contains(&outcome.family);
        families.push(outcome.family);
        is_first
    });
    ranked
}

/// A longer look counts before a short one, which flatters.
fn better_first(a: &Outcome, b: &Outcome) -> Ordering {
    let class = |outcome: &Outcome| (!outcome.meets, !outcome.starved.is_nobody(), outcome.rung == 0);
    let nearer = || if a.meets && b.meets { Ordering::Equal } else { a.shortfall().total_cmp(&b.shortfall()) };
    class(a).cmp(&class(b)).then_with(nearer).then(b.utility().total_cmp(&a.utility()))
}
