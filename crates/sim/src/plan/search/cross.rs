//! Points between two of a family that miss a goal on opposite sides, or of which one meets all and the other carries more.
//!
//! A goal such as `down/up=2` holds on a thin surface in the cube of a family with several parameters: points that are spread evenly, and
//! children of the best of them, seldom meet it. Between a point on one side and one on the other there is one that does.

use crate::plan::outcome::{Outcome, Proposal};
use crate::plan::ranges::Ranges;

/// What a step of a whole cube's side costs, as a share of goodput: near pairs first, a straight line is right between them.
const FAR: f64 = 0.2;
/// Shortfall, in tolerances, up to which a candidate is near the requirements.
const NEAR: f64 = 12.0;

/// How far apart two points of a family's cube are.
fn far(a: &Outcome, b: &Outcome) -> f64 {
    a.at.iter().zip(&b.at).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The point at this part of the way from one to the other.
fn on_line(from: &Outcome, to: &Outcome, part: f64) -> Vec<f64> {
    from.at.iter().zip(&to.at).map(|(from, to)| from + part * (to - from)).collect()
}

/// Points between what meets the requirements and what carries more than `best` and misses them, of the same family: the most goodput
/// is where a goal or the floor is just kept. At most `most` pairs, those that promise the most first.
pub(super) fn edges(seen: &[Outcome], ranges: &Ranges, best: f64, most: usize) -> Vec<Proposal> {
    let beyond = |o: &&Outcome| !o.meets && o.goodput > best && o.starved.is_nobody() && o.shortfall < NEAR;
    let mut pairs: Vec<(f64, &Outcome, &Outcome)> = Vec::new();
    for more in seen.iter().filter(beyond) {
        let met = seen.iter().filter(|o| o.meets && o.family == more.family && o.at.len() == more.at.len());
        let promise = |o: &Outcome| o.goodput.max(1.0).ln() - FAR * far(o, more);
        if let Some(met) = met.max_by(|a, b| promise(a).total_cmp(&promise(b))) {
            pairs.push((promise(met) + more.goodput.max(1.0).ln(), met, more));
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let between = |(_, met, more): &(f64, &Outcome, &Outcome)| {
        let points = [1.0 / 3.0, 2.0 / 3.0].map(|part| on_line(met, more, part));
        let family = met.of;
        points.into_iter().filter_map(move |at| Some((family, at.clone(), family?.change(ranges, &at))))
    };
    pairs.iter().take(most).flat_map(between).collect()
}

/// At most `most` points between two on opposite sides by `side`, the most promising first, a third of them of one family: where the goodput of
/// the worse end is highest.
pub(super) fn between(
    seen: &[Outcome],
    ranges: &Ranges,
    most: usize,
    side: impl Fn(&Outcome) -> Option<f64>,
) -> Vec<Proposal> {
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    let sided: Vec<(usize, f64)> = (0..seen.len())
        .filter(|index| seen[*index].starved.is_nobody() && !seen[*index].at.is_empty())
        .filter_map(|index| Some((index, side(&seen[index]).filter(|side| side.is_finite())?)))
        .collect();
    for (below, _) in sided.iter().filter(|(_, side)| *side < 0.0) {
        for (above, _) in sided.iter().filter(|(_, side)| *side > 0.0) {
            let (a, b) = (&seen[*below], &seen[*above]);
            if a.family == b.family {
                pairs.push((a.goodput.min(b.goodput).max(1.0).ln() - FAR * far(a, b), *below, *above));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut proposals: Vec<Proposal> = Vec::new();
    for (_, below, above) in pairs {
        let (a, b) = (&seen[below], &seen[above]);
        let (Some(family), Some(from), Some(to)) = (a.of, side(a), side(b)) else { continue };
        let of_family =
            proposals.iter().filter(|(other, _, _)| other.is_some_and(|other| other.name == family.name)).count();
        if proposals.len() >= most || of_family >= most.div_ceil(3) {
            continue;
        }
        let at = on_line(a, b, from / (from - to));
        let change = family.change(ranges, &at);
        if !proposals.iter().any(|(_, _, other)| *other == change) && !seen.iter().any(|other| other.change == change) {
            proposals.push((Some(family), at, change));
        }
    }
    proposals
}
