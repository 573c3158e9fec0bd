//! Where a search looks: points spread over the cubes of families, and children of good ones.

use fairair_core::rng::Rng;

use crate::plan::change::Change;
use crate::plan::family::Family;
use crate::plan::outcome::{Outcome, Proposal, SHORT_S, distinct};
use crate::plan::ranges::Ranges;

/// The cell as it is, and `many` of each family's first number of points: one of each family, then the next of each.
pub(super) fn first(families: &[&'static Family], ranges: &Ranges, many: impl Fn(usize) -> usize) -> Vec<Proposal> {
    let mut spread: Vec<_> =
        families.iter().map(|family| design(family, looks(family, &many), ranges).into_iter()).collect();
    let mut proposals: Vec<Proposal> = as_is().to_vec();
    loop {
        let before = proposals.len();
        proposals.extend(spread.iter_mut().filter_map(Iterator::next));
        if proposals.len() == before {
            return proposals;
        }
    }
}

/// Points of a family's first look: all of few kinds, between which no step leads.
fn looks(family: &Family, many: &impl Fn(usize) -> usize) -> usize {
    const FEW: usize = 36;
    let all = family.kinds.iter().product();
    if (2..=FEW).contains(&all) { many(family.first).max(all) } else { many(family.first) }
}

/// What was simulated, to be simulated again.
pub(super) fn proposal(outcome: &Outcome) -> Proposal {
    (outcome.of, outcome.at.clone(), outcome.change.clone())
}

/// The cell as it is.
pub(super) fn as_is() -> [Proposal; 1] {
    [(None, Vec::new(), Change::default())]
}

/// Points beside the parents along each coordinate, near and not so near; `fine`: nearer than that, where the best is between.
pub(super) fn beside(parents: &[Outcome], ranges: &Ranges, fine: bool) -> Vec<Proposal> {
    let steps = if fine { [0.02, -0.02, 0.01, -0.01] } else { [0.04, -0.04, 0.1, -0.1] };
    moved(parents.iter(), ranges, |x| steps.map(|step| (x + step).clamp(0.0, 1.0)))
}

/// Points that differ from the parents in one coordinate, which is anywhere: kinds of queues and policies have no near ones.
pub(super) fn across(parents: &[Outcome], ranges: &Ranges) -> Vec<Proposal> {
    moved(parents.iter(), ranges, |_| [0.1, 0.35, 0.6, 0.9])
}

/// Points that differ from the parents in one coordinate, each in turn, with what `places` makes of it.
fn moved<'a, const N: usize>(
    parents: impl Iterator<Item = &'a Outcome>,
    ranges: &Ranges,
    places: impl Fn(f64) -> [f64; N],
) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for parent in parents {
        let Some(family) = parent.of else { continue };
        for axis in 0..parent.at.len() {
            for place in places(parent.at[axis]) {
                let mut at = parent.at.clone();
                at[axis] = place;
                let change = family.change(ranges, &at);
                proposals.push((Some(family), at, change));
            }
        }
    }
    proposals
}

/// Points near the parents, each with one coordinate moved, or all.
pub(super) fn children(parents: &[Outcome], ranges: &Ranges, count: usize, step: f64, rng: &mut Rng) -> Vec<Proposal> {
    let parents: Vec<&Outcome> = parents.iter().filter(|parent| !parent.at.is_empty()).collect();
    let mut proposals = Vec::new();
    for n in 0..count * usize::from(!parents.is_empty()) {
        let parent = parents[n % parents.len()];
        let (Some(family), mut at) = (parent.of, parent.at.clone()) else { continue };
        let own = (rng.next_u64() % at.len() as u64) as usize;
        let all = rng.uniform() < 0.3;
        for (index, x) in at.iter_mut().enumerate() {
            let moved = (rng.uniform() + rng.uniform() + rng.uniform() - 1.5) * 2.0 * step;
            if all || index == own {
                *x = (*x + moved).clamp(0.0, 1.0);
            }
        }
        let change = family.change(ranges, &at);
        proposals.push((Some(family), at, change));
    }
    proposals
}

/// Points from which long queues may have gone: of those that would do but for their delay, each coordinate smaller by three steps.
/// Sizes, rates and targets grow with their coordinates.
pub(super) fn shorter(parents: &[Outcome], ranges: &Ranges) -> Vec<Proposal> {
    const PARENTS: usize = 4;
    const STEPS: [f64; 3] = [0.06, 0.12, 0.2];
    let long = |o: &&Outcome| o.delay_s > SHORT_S && (o.meets || o.seems_met) && o.starved.is_nobody();
    moved(parents.iter().filter(long).take(PARENTS), ranges, |x| STEPS.map(|step| (x - step).max(0.0)))
}

/// One point for each combination of kinds, `count` of them at most, spread over all.
fn combinations(family: &'static Family, count: usize) -> Vec<Vec<f64>> {
    let all: usize = family.kinds.iter().product();
    let of = |mut n: usize| -> Vec<f64> {
        let place = |kinds: &usize| {
            let own = n % kinds;
            n /= kinds;
            (own as f64 + 0.5) / *kinds as f64
        };
        family.kinds.iter().map(place).collect()
    };
    let count = count.min(all);
    (0..count).map(|n| of(n * all / count)).collect()
}

/// Points spread evenly over a family's cube: an additive recurrence with the generalised golden ratio of its dimension.
fn design(family: &'static Family, count: usize, ranges: &Ranges) -> Vec<Proposal> {
    let mut golden = 1.5_f64;
    for _ in 0..40 {
        golden = (1.0 + golden).powf(1.0 / (family.dims as f64 + 1.0));
    }
    let point = |n: usize| -> Vec<f64> {
        if family.dims == 1 {
            return vec![n as f64 / (count.max(2) - 1) as f64];
        }
        (1..=family.dims as i32).map(|k| (0.5 + (n as f64 + 1.0) / golden.powi(k)).fract()).collect()
    };
    let fixed = family.usual.len();
    let usual = |n: usize| -> Vec<f64> {
        let mut at = point(n / 2);
        at.iter_mut().zip(family.usual).filter(|(_, usual)| !usual.is_nan()).for_each(|(own, usual)| *own = *usual);
        if family.dims == fixed + 1 {
            at[fixed] = (n / 2) as f64 / (count / 2).max(2) as f64 + 0.5 / count as f64;
        }
        at
    };
    let at = |n: usize| if fixed > 0 && n.is_multiple_of(2) { usual(n) } else { point(n) };
    let points: Vec<Vec<f64>> =
        if family.kinds.is_empty() { (0..count).map(at).collect() } else { combinations(family, count) };
    points.into_iter().map(|at| (Some(family), at.clone(), family.change(ranges, &at))).collect()
}

/// Proposals that differ from each other and from all that were simulated before.
pub(super) fn unseen(proposals: Vec<Proposal>, seen: &[Outcome]) -> Vec<Proposal> {
    let mut new = distinct(proposals, |a, b| a.2 == b.2);
    new.retain(|proposal| !seen.iter().any(|other| other.change == proposal.2));
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::families;
    use crate::plan::ranges::Classes;

    fn ranges() -> Ranges {
        let text = "name = \"x\"\nrun.duration = \"9 s\"\nradio.phy = \"802.11ac\"\n[[station]]\nname = \"a\"\n\
                    flows = [{ direction = \"up\" }]\n";
        let scenario = fairair_core::scenario::Scenario::from_toml(text, "x.toml").unwrap();
        Ranges::new(&scenario, 8000.0, Classes::default())
    }

    #[test]
    fn every_combination_of_kinds_is_looked_at_once() {
        let ranges = ranges();
        let family = families(None, &ranges).0.into_iter().find(|own| own.name == "mac80211 + edca").unwrap();
        let count = |most: usize| unseen(design(family, most, &ranges), &[]).len();
        assert_eq!((count(36), count(90), count(10)), (36, 36, 10), "two queues, six windows, three AIFSNs");
        let alone = families(None, &ranges).0.into_iter().find(|own| own.name == "edca").unwrap();
        assert_eq!((looks(alone, &|n| n / 2), looks(family, &|n| n / 2)), (18, 36), "all of each");
        let few = design(family, 10, &ranges);
        assert!(few.iter().any(|own| own.1[0] < 0.5) && few.iter().any(|own| own.1[0] > 0.5), "of all kinds");
    }
}
