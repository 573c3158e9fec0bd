//! Points between two of a family that miss a goal on opposite sides.
//!
//! A goal such as `down/up=2` holds on a thin surface in the cube of a family with several parameters: points that are spread evenly, and
//! children of the best of them, seldom meet it. Between a point on one side and one on the other there is one that does.

use crate::plan::outcome::{Outcome, Proposal};
use crate::plan::ranges::Ranges;

/// What a step of a whole cube's side costs, as a share of goodput: near pairs first, a straight line is right between them.
const FAR: f64 = 0.2;

/// At most `most` points, the most promising first, a third of them of one family: where the goodput of the worse end is highest.
pub(super) fn between(seen: &[Outcome], ranges: &Ranges, most: usize) -> Vec<Proposal> {
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    let sided: Vec<(usize, f64)> = (0..seen.len())
        .filter(|index| seen[*index].starved.is_nobody() && !seen[*index].at.is_empty())
        .filter_map(|index| Some((index, seen[index].side.filter(|side| side.is_finite())?)))
        .collect();
    for (below, _) in sided.iter().filter(|(_, side)| *side < 0.0) {
        for (above, _) in sided.iter().filter(|(_, side)| *side > 0.0) {
            let (a, b) = (&seen[*below], &seen[*above]);
            if a.family == b.family {
                let far: f64 = a.at.iter().zip(&b.at).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                pairs.push((a.goodput.min(b.goodput).max(1.0).ln() - FAR * far, *below, *above));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut proposals: Vec<Proposal> = Vec::new();
    for (_, below, above) in pairs {
        let (a, b) = (&seen[below], &seen[above]);
        let (Some(family), Some(from), Some(to)) = (a.of, a.side, b.side) else { continue };
        let of_family =
            proposals.iter().filter(|(other, _, _)| other.is_some_and(|other| other.name == family.name)).count();
        if proposals.len() >= most || of_family >= most.div_ceil(3) {
            continue;
        }
        let part = from / (from - to);
        let at: Vec<f64> = a.at.iter().zip(&b.at).map(|(a, b)| a + part * (b - a)).collect();
        let change = family.change(ranges, &at);
        if !proposals.iter().any(|(_, _, other)| *other == change) && !seen.iter().any(|other| other.change == change) {
            proposals.push((Some(family), at, change));
        }
    }
    proposals
}
