//! Which candidates go first, and which are worth a longer look.

use std::cmp::Ordering;

use super::proposals::proposal;
use crate::plan::change::Gear;
use crate::plan::outcome::{Outcome, Proposal, SHORT_S, distinct};

/// What may be worth a longer look: more goodput than the best that passed, by this factor.
pub(super) const WORTH: f64 = 1.02;
/// What carries less than this share of the cell as it is, is no remedy, and nobody's closest below the second: goals
/// are easily met by a cell that carries nothing.
const REMEDY: f64 = 0.1;
pub(super) const CLOSEST: f64 = 0.5;
/// Plans within this share of the best goodput compete by utility, those with a short queue within the second.
const BANDS: (f64, f64) = (0.03, 0.04);

/// Families of which the best candidate's neighbours are looked at.
const LEADERS: usize = 2;

/// Goodput of the best that meets the requirements.
pub(super) fn best_goodput(all: &[Outcome]) -> f64 {
    all.iter().filter(|outcome| outcome.meets).map(|outcome| outcome.goodput).fold(0.0, f64::max)
}

pub(super) fn by_goodput(all: &[Outcome]) -> Vec<&Outcome> {
    let mut ranked: Vec<&Outcome> = all.iter().collect();
    ranked.sort_by(|a, b| b.goodput.total_cmp(&a.goodput));
    ranked
}

/// What is closer to the requirements goes first; what meets it, by its utility. What hardly carries anything goes last.
pub(super) fn rank(all: &mut [Outcome], as_is: f64) {
    for outcome in all.iter_mut() {
        outcome.meets &= outcome.goodput >= REMEDY * as_is;
    }
    let class = |outcome: &Outcome| match outcome.goodput / as_is.max(1e-9) {
        _ if outcome.meets => 0,
        share if share >= CLOSEST => 1,
        share if share >= REMEDY => 2,
        _ => 3,
    };
    all.sort_by(|a, b| -> Ordering {
        let closer = if a.meets && b.meets { Ordering::Equal } else { a.shortfall.total_cmp(&b.shortfall) };
        class(a).cmp(&class(b)).then(closer).then(b.utility().total_cmp(&a.utility()))
    });
}

/// Of those that do not meet the requirements, the nearest under which nobody starves goes first.
pub(super) fn closest_first(all: &mut [Outcome], as_is: f64) {
    let is_remedy = |outcome: &Outcome| outcome.goodput >= REMEDY * as_is;
    let is_bad = |outcome: &Outcome| (!is_remedy(outcome), !outcome.starved.is_nobody());
    all.sort_by(|a, b| is_bad(a).cmp(&is_bad(b)).then(a.shortfall.total_cmp(&b.shortfall)));
}

/// Of what is proved to meet the requirements, the best of each of the best families.
pub(super) fn leaders(proved: &[Outcome]) -> Vec<Outcome> {
    let met = by_goodput(proved).into_iter().filter(|outcome| outcome.meets);
    distinct(met, |a, b| a.family == b.family).into_iter().take(LEADERS).cloned().collect()
}

/// A miss by less than this many tolerances is a near one.
const NEAR_MISS: f64 = 1.5;

/// Of what carries more than `best` and narrowly misses the requirements, the best of the families with most goodput: beside these may be what
/// meets them.
pub(super) fn near_misses(second: &[Outcome], proved: &[Outcome], best: f64) -> Vec<Outcome> {
    let all: Vec<Outcome> = proved.iter().chain(second).cloned().collect();
    let is_near =
        |o: &&Outcome| !o.meets && o.starved.is_nobody() && o.shortfall < NEAR_MISS && o.goodput > WORTH * best;
    let near = by_goodput(&all).into_iter().filter(is_near);
    distinct(near, |a, b| a.family == b.family).into_iter().take(LEADERS).cloned().collect()
}

/// Those worth a longer look, no two of which behave alike in every packet: by turns the best by utility, the best by
/// goodput of what may meet the requirements, the best by goodput of what meets them (in a search with room for many), and the best of
/// families that are not there yet.
pub(super) fn elites(all: &[Outcome], as_is: f64, most: usize, has_room: bool) -> Vec<Outcome> {
    let mut ranked = all.to_vec();
    rank(&mut ranked, as_is);
    let mut promising: Vec<Outcome> = ranked
        .iter()
        .filter(|o| o.starved.is_nobody() && (o.meets || o.seems_met || o.shortfall < 0.5))
        .cloned()
        .collect();
    // What sits on the floor has much goodput and is never recommended: it takes no turn of others.
    promising.sort_by(|a, b| a.risk.is_some().cmp(&b.risk.is_some()).then(b.goodput.total_cmp(&a.goodput)));
    let certain: Vec<Outcome> = promising.iter().filter(|outcome| has_room && outcome.meets).cloned().collect();
    let others = distinct(ranked.clone(), |a, b| a.family == b.family);
    let mut kept: Vec<Outcome> = Vec::new();
    let mut lists = [ranked, promising, certain, others].map(Vec::into_iter);
    while kept.len() < most {
        let before = kept.len();
        for list in &mut lists {
            let is_known =
                |own: &Outcome| kept.iter().any(|o| o.fingerprint == own.fingerprint || o.change == own.change);
            let next = list.find(|outcome| !is_known(outcome));
            kept.extend(next);
        }
        if kept.len() == before {
            break;
        }
    }
    kept.truncate(most);
    kept
}

/// Among those that meet the requirements, those within the [`BANDS`] of the best goodput go first, by utility; the others by goodput.
fn prefer_useful(ranked: &mut [Outcome]) {
    let met = ranked.iter().take_while(|outcome| outcome.meets).count();
    let best = best_goodput(ranked);
    ranked[..met].sort_by(|a, b| {
        let outside = |outcome: &Outcome| {
            let band = if outcome.delay_s <= SHORT_S { BANDS.1 } else { BANDS.0 };
            outcome.goodput < best * (1.0 - band)
        };
        let better = if outside(a) && outside(b) {
            b.goodput.total_cmp(&a.goodput)
        } else {
            b.utility().total_cmp(&a.utility())
        };
        outside(a).cmp(&outside(b)).then(better)
    });
}

/// A change that brings less than this more goodput, and no short delay, is not worth it where the cell as it is meets the requirements.
const GAIN: f64 = 1.02;

/// The cell as it is goes first where it meets the requirements and nothing brings more.
fn leave_alone(ranked: &mut [Outcome]) {
    let Some(place) = ranked.iter().position(|outcome| outcome.meets && outcome.of.is_none()) else { return };
    let (first, as_is) = (&ranked[0], &ranked[place]);
    let is_shorter = as_is.delay_s > SHORT_S && first.delay_s <= SHORT_S;
    if !is_shorter && first.goodput < GAIN * as_is.goodput {
        ranked[..=place].rotate_right(1);
    }
}

/// What carries less than this share of the cell as it is has to give somebody more.
const COSTLY: f64 = 0.8;

/// What takes much and gives nobody more is no advice where the cell as it is meets the requirements by its means and starves nobody,
/// though other seeds may.
pub(super) fn spare(proved: &mut Vec<Outcome>) {
    let own = |outcome: &&Outcome| outcome.of.is_none() && outcome.seems_met && outcome.starved.is_nobody();
    let Some(as_is) = proved.iter().find(own) else { return };
    let (least, had) = (COSTLY * as_is.goodput, goodputs(as_is));
    let gives = |outcome: &Outcome| goodputs(outcome).iter().zip(&had).any(|(has, had)| has > had);
    proved.retain(|outcome| outcome.goodput >= least || gives(outcome));
}

/// Of stations, bit/s.
fn goodputs(of: &Outcome) -> Vec<f64> {
    of.report.stations.iter().map(|station| station.goodput_bps.mean.unwrap_or(0.0)).collect()
}

/// What can be deployed goes before what exists in simulation only from this share of its goodput on.
const AS_GOOD: f64 = 0.99;

/// What stations mislead by sleeping goes behind what has this share of its goodput.
const AS_SOUND: f64 = 0.9;

/// Where what goes first is not wanted, what is and has the share `enough` of its goodput does.
fn prefer(ranked: &mut [Outcome], is_wanted: impl Fn(&Outcome) -> bool, enough: f64) {
    let Some(first) = ranked.first().filter(|first| first.meets && !is_wanted(first)) else { return };
    let is_as_good = |o: &Outcome| {
        o.meets && is_wanted(o) && o.goodput >= enough * first.goodput && o.delay_s <= first.delay_s.max(SHORT_S)
    };
    if let Some(place) = ranked.iter().position(is_as_good) {
        ranked[..=place].rotate_right(1);
    }
}

/// What meets the requirements first, in the order of recommendation.
pub(super) fn recommend(ranked: &mut [Outcome], as_is: f64, gear: Gear) {
    rank(ranked, as_is);
    prefer_useful(ranked);
    prefer(ranked, |outcome| outcome.change.not_today(gear).is_none(), AS_GOOD);
    prefer(ranked, |outcome| !outcome.is_fragile(), AS_SOUND);
    leave_alone(ranked);
}

/// What meets the requirements and goes first.
pub(super) fn recommended(proved: &[Outcome], as_is: f64, gear: Gear) -> Option<Outcome> {
    let mut ranked = proved.to_vec();
    spare(&mut ranked);
    recommend(&mut ranked, as_is, gear);
    ranked.into_iter().next().filter(|outcome| outcome.meets)
}

/// Puts `anew` in the place of what was known of the same changes.
pub(super) fn replace(proved: &mut Vec<Outcome>, anew: Vec<Outcome>) {
    proved.retain(|outcome| !anew.iter().any(|other| other.change == outcome.change));
    proved.extend(anew);
}

/// Without those that carry much less than what seems to meet the requirements.
pub(super) fn hopeful(mut of: Vec<Outcome>) -> Vec<Outcome> {
    let best = of.iter().filter(|own| own.seems_met && own.starved.is_nobody() && own.risk.is_none());
    let best = best.map(|own| own.goodput).fold(0.0, f64::max);
    of.retain(|own| own.goodput >= CLOSEST * best);
    of
}

/// In turns what carries most, and the next of `order`.
pub(super) fn most_goodput_between(order: Vec<Outcome>) -> Vec<Outcome> {
    let most: Vec<Outcome> = by_goodput(&order).into_iter().cloned().collect();
    distinct(most.into_iter().zip(order).flat_map(|(most, next)| [most, next]), |a, b| a.change == b.change)
}

/// `kept`, and of `from` the best of every family that is not among them, and the cell as it is.
pub(super) fn promoted(from: &[Outcome], mut kept: Vec<Outcome>, as_is: f64) -> Vec<Proposal> {
    let mut ranked = from.to_vec();
    rank(&mut ranked, as_is);
    for outcome in ranked {
        let is_new = !kept.iter().any(|other| other.family == outcome.family);
        if is_new && (outcome.starved.is_nobody() || outcome.of.is_none()) {
            kept.push(outcome);
        }
    }
    kept.iter().map(proposal).collect()
}

/// Most that are proved for their fairness when nothing passed.
const SAFE: usize = 2;

/// What met the requirements in short looks and is fairest: who is far from starving starves in no replica.
pub(super) fn safest<'a>(looked: impl Iterator<Item = &'a Outcome>, proved: &[Outcome]) -> Vec<Proposal> {
    let is_new = |outcome: &&Outcome| !proved.iter().any(|known| known.change == outcome.change);
    let met = looked.filter(|outcome| outcome.meets && outcome.of.is_some()).filter(is_new);
    let mut safe = distinct(met, |a, b| a.change == b.change);
    safe.sort_by(|a, b| b.fairness.total_cmp(&a.fairness));
    safe.into_iter().take(SAFE).map(proposal).collect()
}
