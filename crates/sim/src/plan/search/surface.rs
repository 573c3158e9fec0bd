//! Where the neighbours of a good candidate should be better: what was simulated of its kind says how goodput, goals and the floor follow its
//! parameters (a response surface of first order, by weighted least squares), and points that this expects to meet all with the most
//! goodput are the next to be simulated. Several parameters have to move together along a goal; steps along one of them leave it.

use std::mem::discriminant;

use fairair_core::qdisc::QdiscSpec;
use fairair_core::rng::Rng;

use super::Search;
use super::proposals::unseen;
use super::rung::{FIRST, Rung};
use crate::plan::change::{BoxChange, Change};
use crate::plan::outcome::{Outcome, Proposal, distinct};
use crate::plan::ranges::Ranges;

/// Distance at which a point has 60 % of the weight of one at the centre, in sides of the cube.
const NEAR: f64 = 0.12;
/// Weight of a short look of one replica, against longer ones.
const SHORT_LOOK: f64 = 0.3;
/// What a slope costs in the fit, in points: few points leave it flat.
const RIDGE: f64 = 1e-3;
/// Rounds, kinds, points of each, and how far these may be from the best along each parameter: in the first rung, and in longer looks.
const FIRST_ROUNDS: (usize, usize, usize, f64) = (4, 4, 4, 0.16);
const LONGER_ROUNDS: (usize, usize, usize, f64) = (3, 3, 2, 0.1);
/// Most kinds whose surfaces are laid.
const KINDS: usize = 12;
/// Points of the cube that are reckoned.
const RECKONED: usize = 2000;
/// Points that are as near as this to each other are one.
const SAME: f64 = 0.02;
/// What a miss by one tolerance costs, in logarithms of goodput.
const MISSED: f64 = 1.0;
/// The same of what is simulated: a change of its parameters mends that at about its price in goodput.
const MENDED: f64 = 0.1;

/// Whether steps of parameters lead from one change to the other: queues, rules and policies are the same.
fn is_of_kind(a: &Change, b: &Change) -> bool {
    let turns = |queue: &QdiscSpec| match queue {
        QdiscSpec::Mac80211(own) => Some(own.airtime),
        _ => None,
    };
    let queue = |own: &Change| own.queue.as_ref().map(|queue| (queue.kind(), turns(queue)));
    let cap = |own: &Change| own.window_cap.map(|(rule, _)| rule);
    let limiter = |own: &Change| own.limiter.map(|(share, rate)| (share, rate.is_some()));
    let of_box = |own: &BoxChange| (own.policy, discriminant(&own.capacity), own.queue.is_some(), own.batches);
    queue(a) == queue(b)
        && cap(a) == cap(b)
        && limiter(a) == limiter(b)
        && a.enforce.as_ref().map(of_box) == b.enforce.as_ref().map(of_box)
        && names(a).eq(names(b))
}

/// Whose weights and caps it has.
fn names(of: &Change) -> impl Iterator<Item = &String> {
    of.weights.iter().map(|(name, _)| name).chain(of.caps.iter().map(|(name, _)| name))
}

/// What a candidate promises: its goodput, less what it costs to meet what it misses.
fn promise(outcome: &Outcome) -> f64 {
    outcome.goodput.max(1.0).ln() - MENDED * outcome.shortfall.min(1e3)
}

/// Of each kind what promises most, the best `most` of them.
fn centres<'a>(of: &[&'a Outcome], most: usize) -> Vec<&'a Outcome> {
    let mut ranked: Vec<&Outcome> = of.iter().copied().filter(|own| own.of.is_some()).collect();
    ranked.sort_by(|a, b| promise(b).total_cmp(&promise(a)));
    let mut kept = distinct(ranked, |a, b| a.family == b.family && is_of_kind(&a.change, &b.change));
    kept.truncate(most);
    kept
}

/// Without more than the first `most` of each kind.
pub(super) fn few_of_kind(mut of: Vec<Outcome>, most: usize) -> Vec<Outcome> {
    let mut kept: Vec<Outcome> = Vec::new();
    of.retain(|own| {
        let alike = kept.iter().filter(|other| other.family == own.family && is_of_kind(&other.change, &own.change));
        let is_kept = alike.count() < most;
        kept.extend(is_kept.then(|| own.clone()));
        is_kept
    });
    of
}

impl Search<'_> {
    /// Looks in `rung` at points that should be better than what is in `of`, several times, each time as that and `others` tell then. With more
    /// effort more often and at more of them.
    pub(super) fn better(
        &mut self,
        rung: Rung,
        of: &mut Vec<Outcome>,
        others: &[Outcome],
        random: &mut Rng,
    ) -> Option<()> {
        let (rounds, kinds, count, radius) = if rung.number == FIRST.number { FIRST_ROUNDS } else { LONGER_ROUNDS };
        let more = |count: usize| (count as f64 * self.effort.sqrt()).round() as usize;
        let (rounds, count) = (more(rounds), more(count));
        for _ in 0..rounds {
            let all: Vec<&Outcome> = of.iter().chain(others).collect();
            let own: Vec<&Outcome> = of.iter().collect();
            let surfaces = centres(&own, KINDS).into_iter().filter_map(|centre| Surface::around(centre, &all));
            let mut best: Vec<(f64, Vec<Proposal>)> =
                surfaces.filter_map(|surface| surface.best(&self.ranges, count, radius, random)).collect();
            // What no step of a kind mends makes others go first.
            best.sort_by(|a, b| b.0.total_cmp(&a.0));
            let proposals = best.into_iter().take(kinds).flat_map(|(_, proposals)| proposals).collect();
            let known: Vec<Outcome> = all.into_iter().cloned().collect();
            self.look(&unseen(proposals, &known), rung, of)?;
        }
        Some(())
    }
}

/// What was simulated of a kind, as a function of its parameters.
struct Surface<'a> {
    centre: &'a Outcome,
    /// Parameters that differ.
    axes: Vec<usize>,
    /// Coefficients of the logarithm of goodput, and of each term.
    fits: Vec<Vec<f64>>,
}

impl<'a> Surface<'a> {
    /// `None` where too little was simulated.
    fn around(centre: &'a Outcome, all: &[&Outcome]) -> Option<Self> {
        let is_like = |own: &&&Outcome| {
            own.family == centre.family
                && own.terms.len() == centre.terms.len()
                && own.goodput > 0.0
                && is_of_kind(&own.change, &centre.change)
        };
        let alike: Vec<&Outcome> = all.iter().filter(is_like).copied().collect();
        let differs = |axis: &usize| alike.iter().any(|own| (own.at[*axis] - centre.at[*axis]).abs() > 1e-9);
        let axes: Vec<usize> = (0..centre.at.len()).filter(differs).collect();
        if axes.is_empty() || alike.len() < axes.len() + 2 {
            return None;
        }
        let mut surface = Surface { centre, axes, fits: Vec::new() };
        let rows: Vec<(f64, Vec<f64>)> = alike
            .iter()
            .map(|own| {
                let far: f64 = surface.axes.iter().map(|axis| (own.at[*axis] - centre.at[*axis]).powi(2)).sum();
                let is_short = own.rung == FIRST.number;
                let weight = (-far / (2.0 * NEAR * NEAR)).exp() * if is_short { SHORT_LOOK } else { 1.0 };
                (weight, surface.features(&own.at, is_short))
            })
            .collect();
        let fits = (0..=centre.terms.len()).map(|term| {
            let values = alike.iter().map(|own| match term {
                0 => own.goodput.ln(),
                term => own.terms[term - 1].value,
            });
            least_squares(&rows, &values.collect::<Vec<_>>())
        });
        surface.fits = fits.collect::<Option<Vec<_>>>()?;
        Some(surface)
    }

    /// A constant, what a short look differs by, and lines.
    fn features(&self, at: &[f64], is_short: bool) -> Vec<f64> {
        let moved = || self.axes.iter().map(|axis| at[*axis] - self.centre.at[*axis]);
        let constants = [1.0, f64::from(u8::from(is_short))];
        constants.into_iter().chain(moved()).collect()
    }

    /// The logarithm of the goodput that is expected at a point, less what it costs to miss what is required.
    fn expected(&self, at: &[f64]) -> f64 {
        let features = self.features(at, false);
        let value = |fit: &Vec<f64>| fit.iter().zip(&features).map(|(a, x)| a * x).sum::<f64>();
        let terms = self.centre.terms.iter().zip(&self.fits[1..]);
        value(&self.fits[0]) - MISSED * terms.map(|(term, fit)| term.miss(value(fit))).sum::<f64>()
    }

    /// The best of points at random around the centre, no two of them close together, and what the first is expected to be worth.
    fn best(&self, ranges: &Ranges, count: usize, radius: f64, rng: &mut Rng) -> Option<(f64, Vec<Proposal>)> {
        let centre = self.centre;
        let family = centre.of?;
        let mut reckoned: Vec<(f64, Vec<f64>)> = (0..RECKONED)
            .map(|_| {
                let mut at = centre.at.clone();
                for axis in &self.axes {
                    at[*axis] = (at[*axis] + (2.0 * rng.uniform() - 1.0) * radius).clamp(0.0, 1.0);
                }
                (self.expected(&at), at)
            })
            .collect();
        reckoned.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (worth, mut kept) = (reckoned.first()?.0, Vec::<Proposal>::new());
        for (_, at) in reckoned {
            if kept.len() == count {
                break;
            }
            let is_near = |other: &Proposal| other.1.iter().zip(&at).all(|(a, b)| (a - b).abs() < SAME);
            let change = family.change(ranges, &at);
            if is_of_kind(&change, &centre.change) && !kept.iter().any(is_near) {
                kept.push((Some(family), at, change));
            }
        }
        Some((worth, kept))
    }
}

/// Coefficients of `rows`, each a weight and features, that come closest to `values`; `None` where the rows do not decide them.
fn least_squares(rows: &[(f64, Vec<f64>)], values: &[f64]) -> Option<Vec<f64>> {
    let size = rows.first()?.1.len();
    let mut matrix = vec![vec![0.0; size + 1]; size];
    for ((weight, features), value) in rows.iter().zip(values) {
        for i in 0..size {
            for j in 0..size {
                matrix[i][j] += weight * features[i] * features[j];
            }
            matrix[i][size] += weight * features[i] * value;
        }
    }
    // The constant has no price; one short look's may be undecided.
    for (index, row) in matrix.iter_mut().enumerate().skip(1) {
        row[index] += if index == 1 { 1e-6 } else { RIDGE };
    }
    // Gauss with pivots on the diagonal: the matrix is positive.
    for pivot in 0..size {
        let own = matrix[pivot].clone();
        if own[pivot] <= 1e-12 {
            return None;
        }
        for (index, row) in matrix.iter_mut().enumerate() {
            let factor = row[pivot] / own[pivot];
            if index != pivot && factor != 0.0 {
                row.iter_mut().zip(&own).for_each(|(a, b)| *a -= factor * b);
            }
        }
    }
    Some((0..size).map(|index| matrix[index][size] / matrix[index][index]).collect())
}

#[cfg(test)]
mod tests {
    use fairair_core::control::CapacityParams;
    use fairair_core::shaper::Policy;
    use fairair_core::units::Bitrate;

    use super::*;

    #[test]
    fn a_line_is_found_through_points_that_are_near() {
        // 3 + 2 x - y at the near points, anything at one that hardly counts.
        let near = [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.1, 0.1), (-0.1, 0.05)];
        let mut rows: Vec<(f64, Vec<f64>)> = near.iter().map(|(x, y)| (1.0, vec![1.0, 0.0, *x, *y])).collect();
        let mut values: Vec<f64> = near.iter().map(|(x, y)| 3.0 + 2.0 * x - y).collect();
        rows.push((1e-9, vec![1.0, 1.0, 0.9, 0.9]));
        values.push(-50.0);
        let fit = least_squares(&rows, &values).unwrap();
        for (found, own) in fit.iter().zip([3.0, 0.0, 2.0, -1.0]) {
            assert!((found - own).abs() < 0.15, "{fit:?}");
        }
        assert!(least_squares(&[(0.0, vec![1.0, 0.0])], &[1.0]).is_none(), "nothing has a weight");
    }

    #[test]
    fn steps_lead_to_other_numbers_and_not_to_other_rules() {
        let of_box = |policy, queue| Change {
            enforce: Some(BoxChange {
                policy,
                capacity: CapacityParams::Fixed { rate: Bitrate::mbps(5) },
                queue,
                batches: false,
            }),
            weights: vec![("up".to_owned(), 2.0)],
            ..Change::default()
        };
        let own = of_box(Policy::PerStation, Some(5));
        let heavier = Change { weights: vec![("up".to_owned(), 3.0)], ..of_box(Policy::PerStation, Some(9)) };
        assert!(is_of_kind(&own, &heavier));
        assert!(!is_of_kind(&own, &of_box(Policy::PerStation, None)));
        assert!(!is_of_kind(&own, &of_box(Policy::Airtime, Some(5))));
        assert!(!is_of_kind(&own, &Change { weights: Vec::new(), ..own.clone() }));
    }
}
