//! Which families a plan tries: those that may be deployed, and of boxes that treat stations in different ways those that goals call for.

use fairair_core::remedy::Deploy;

use super::family::{
    ANY, AP, BESIDE_LINUX, BOX, CAPS, FRAGILE, Family, HELD, LEFT, LEFT_BESIDE_LINUX, MODERN_AP, MODERN_CAPS,
    MODERN_PAIRS, MODERN_WEIGHTS, ONE_WEIGHTED, PAIRS, SENDERS_AND_HELD, SOME_CAPPED, WEIGHED_AND_HELD,
    WEIGHED_AND_LEFT, WEIGHED_AND_LEFT_BESIDE_LINUX, WEIGHTS, WEIGHTS_BESIDE_LINUX,
};
use super::outcome::distinct;
use super::ranges::Ranges;

/// Points of a family along each diagonal of its cube that are looked at for one that can be deployed.
const STEPS: usize = 20;

/// Whether any change of a family can be deployed today.
fn can_be_had(family: &Family, ranges: &Ranges) -> bool {
    let ends = [0.0, 0.5, 1.0].into_iter();
    ends.flat_map(|last| (0..=STEPS).map(move |n| (n as f64 / STEPS as f64, last))).any(|(x, last)| {
        let mut at = vec![x; family.dims];
        at[family.dims - 1] = if family.dims > 1 { last } else { x };
        family.change(ranges, &at).not_today(ranges.gear).is_none()
    })
}

/// What `deploy` allows (`None`: anything), and the names of what it does not; what cannot be deployed is left out where only the rest is asked
/// for.
pub(crate) fn families(deploy: Option<Deploy>, ranges: &Ranges) -> (Vec<&'static Family>, Vec<&'static str>) {
    let (ap, of_box) = (deploy.is_none_or(|d| d == Deploy::Ap), deploy.is_none_or(|d| d == Deploy::Box));
    let classes = &ranges.classes;
    let weights = of_box && !classes.weighed.is_empty();
    let caps = of_box && !classes.capped.is_empty();
    let any = of_box && classes.any.len() > 1;
    let (held, weak) = (of_box && !classes.held.is_empty(), of_box && !classes.weak.is_empty());
    let weighed_alone = classes.weighed.iter().any(|own| !classes.is_held(&own.name));
    let senders = of_box && !weighed_alone && classes.senders.iter().any(|(name, _)| !classes.is_held(name));
    let (of_weights, of_caps) = if ranges.gear.aggregates { (MODERN_WEIGHTS, MODERN_CAPS) } else { (WEIGHTS, CAPS) };
    let fragile = of_box && ranges.thorough;
    let mut sets = vec![
        (AP, ap),
        (BOX, of_box),
        (FRAGILE, fragile),
        (PAIRS, ap && of_box),
        (of_weights, weights),
        (of_caps, caps),
        (HELD, held && !senders),
        (WEIGHED_AND_HELD, weights && held && weighed_alone),
        (SENDERS_AND_HELD, held && senders),
        (LEFT, weak),
        (WEIGHED_AND_LEFT, weights && weak),
    ];
    let names_some = !classes.weighed.is_empty() && (classes.capped.len() > 1 || !classes.lesser.is_empty());
    let one_weighted = weights && classes.weighed.len() > 1 && !classes.alike;
    sets.extend([(ONE_WEIGHTED, one_weighted), (SOME_CAPPED, caps && names_some), (ANY, any)]);
    if ranges.gear.aggregates {
        sets.extend([(MODERN_AP, ap), (MODERN_PAIRS, ap && of_box)]);
        let beside = ap && of_box && !ranges.gear.has_linux;
        sets.extend([
            (BESIDE_LINUX, beside),
            (WEIGHTS_BESIDE_LINUX, beside && weights),
            (LEFT_BESIDE_LINUX, beside && weak),
            (WEIGHED_AND_LEFT_BESIDE_LINUX, beside && weights && weak),
        ]);
    }
    let (mut tried, mut left_out) = (Vec::new(), Vec::new());
    for (set, allowed) in sets {
        for family in set {
            let allowed = allowed && (!ranges.today || can_be_had(family, ranges));
            if allowed { tried.push(family) } else { left_out.push(family.name) }
        }
    }
    // Two families have one name: of what a goal wants for the weak, and of what they keep without.
    left_out.retain(|name| !tried.iter().any(|family: &&Family| family.name == *name));
    (tried, distinct(left_out, |a, b| a == b))
}
