//! What stands beside the recommended plan.

use fairair_core::scenario::Scenario;

use super::change::Gear;
use super::outcome::{self, Outcome, SHORT_S};
use super::requirements::Requirements;
use super::search::{Found, KEPT};

/// More goodput by this factor is reported; by the second, also where it is not proved.
const MORE: f64 = 1.01;
const MUCH_MORE: f64 = 1.1;
/// Less than this share of the goodput of the cell as it is, is not worth one.
const USEFUL: f64 = 0.5;
/// Where nothing has a short delay, this part of a long one is told.
const SHORTER: f64 = 0.5;
/// Fewer replicas than those of this rung say too little.
const LOOKED_AT: u64 = 2;
/// What is fairer by less is no alternative.
const FAIRER: f64 = 1.1;

/// The other side of the trade of goodput for a short delay.
pub(super) fn alternative(found: &Found) -> Option<&Outcome> {
    let chosen = found.proved.first().filter(|first| first.meets)?;
    let others = found.all.iter().filter(|other| other.meets && other.rung > 0);
    let most = |a: &&Outcome, b: &&Outcome| a.goodput.total_cmp(&b.goodput);
    if chosen.delay_s > SHORT_S {
        let within = |most_s: f64| others.clone().filter(move |other| other.delay_s <= most_s).max_by(most);
        within(SHORT_S).or_else(|| within(SHORTER * chosen.delay_s))
    } else {
        let more = others.filter(|o| o.rung >= chosen.rung && o.delay_s > chosen.delay_s);
        more.max_by(most).filter(|other| other.goodput > MORE * chosen.goodput)
    }
}

/// What is fairer, where the recommended plan takes from others what the cell as it is gives them.
pub(super) fn fairer(found: &Found) -> Option<&Outcome> {
    let (chosen, as_is) = (found.proved.first().filter(|first| first.meets)?, &found.all[0]);
    if chosen.fairness >= KEPT * as_is.fairness {
        return None;
    }
    let is_fairer = |o: &&Outcome| o.meets && o.rung > 0 && o.fairness > FAIRER * chosen.fairness;
    found.all.iter().filter(is_fairer).max_by(|a, b| a.utility().total_cmp(&b.utility()))
}

/// What seems to meet the requirements and has more than what is proved, or can be deployed where nothing that is proved can.
pub(super) fn doubtful<'a>(scenario: &Scenario, required: &Requirements, found: &'a Found) -> Option<&'a Outcome> {
    let can_be_had = |outcome: &Outcome| not_today(scenario, outcome).is_none();
    let first = found.proved.first().filter(|first| first.meets);
    let none_to_be_had = first.is_some_and(|first| !can_be_had(first)) && deployable(scenario, found).is_none();
    let proved = first.filter(|_| !none_to_be_had).map_or(0.0, |first| first.goodput);
    let least = (MUCH_MORE * proved).max(USEFUL * found.all[0].goodput);
    let seems = |o: &&Outcome| {
        o.seems_met
            && o.starved.is_nobody()
            && (!none_to_be_had || can_be_had(o))
            && o.misses.iter().skip(required.goals.len()).all(|miss| *miss <= 0.0)
    };
    // A short look flatters the best of many.
    let looked_at = || found.all.iter().filter(|o| o.rung >= LOOKED_AT);
    let in_doubt = |o: &&Outcome| seems(o) && !o.meets && o.goodput > least;
    let most = |a: &&Outcome, b: &&Outcome| a.goodput.total_cmp(&b.goodput);
    // What leaves somebody close to the floor is named where there is nothing better.
    let much = |at_risk: bool| looked_at().filter(in_doubt).filter(|o| o.risk.is_some() == at_risk).max_by(most);
    much(false)
        .or_else(|| much(true))
        .or_else(|| looked_at().filter(|o| proved <= 0.0 && o.goodput > 0.0 && seems(o)).max_by(most))
}

/// What of a candidate exists in simulation only.
pub(super) fn not_today(scenario: &Scenario, outcome: &Outcome) -> Option<String> {
    outcome.change.not_today(Gear::of(scenario))
}

/// What can be deployed today, where the recommended one cannot.
pub(super) fn deployable<'a>(scenario: &Scenario, found: &'a Found) -> Option<&'a Outcome> {
    outcome::deployable(found.proved.first()?, &found.proved, Gear::of(scenario))
}
