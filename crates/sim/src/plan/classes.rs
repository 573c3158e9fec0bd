//! Which stations a goal or a thorough search tells apart: their weights and caps in the box become parameters.

use fairair_core::packet::Direction;
use fairair_core::remedy::Deploy;
use fairair_core::scenario::{Flow, Scenario, Station, Traffic};
use fairair_core::units::{Bitrate, Duration};

use super::change::flow_passes_by;
use super::goal::{alone, is_meant, rates_change};
use super::ranges::{Classes, Weighed, at_work, carries};
use super::share::is_greedy;
use super::{Goal, Requirements};

/// The classes of `scenario` that `required` makes worth trying, by their names in the file.
///
/// A level other than 1 is the first station's, and a least goodput or a time of files is that of those it names: their weight is a parameter, in
/// proportion to what each needs. What a goal names can also be helped by a cap of the others; the first station at a level below 1, by a cap of
/// its own. A weak station with a least goodput gets a cap near that. A ratio of downloads to uploads names nobody: those that only send have one
/// weight. Unless all are to have the same, weak stations that no goal names may have a cap at a part of an equal share.
pub(super) fn of(scenario: &Scenario, required: &Requirements) -> Classes {
    let all = named_in_file(scenario, |_| true);
    // One of a counted group has no name of its own in the file.
    let first = || scenario.stations.first().filter(|station| station.group.is_none()).map(|own| own.name.clone());
    let (mut weighed, mut capped, mut held, mut fetched) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let others = |is_meant: &dyn Fn(&Station) -> bool| {
        let touched = |name: &String| scenario.stations.iter().any(|own| own.name_in_file() == name && is_meant(own));
        all.iter().filter(|name| !touched(name)).cloned().collect::<Vec<_>>()
    };
    for goal in &required.goals {
        match goal {
            Goal::Level(level) if (level - 1.0).abs() > f64::EPSILON => {
                capped.extend(match first() {
                    Some(first) if *level < 1.0 => vec![first],
                    None if *level < 1.0 => Vec::new(),
                    _ => others(&|own| own.name == scenario.stations[0].name),
                });
                weighed.extend(first().map(|name| (name, None)));
            }
            // Who is slow or often not received is helped by a cap of the others.
            Goal::Level(_) => {
                let Some(weak) = weakest(scenario) else { continue };
                capped.extend(others(&|own| own.name == weak));
            }
            Goal::Goodput { who, least } => {
                let weak = named_in_file(scenario, |own| is_meant(who, &own.name) && is_weak(scenario, own));
                held.extend(weak.into_iter().map(|name| (name, *least)));
                capped.extend(others(&|own| is_meant(who, &own.name)));
                let named = named_in_file(scenario, |own| is_meant(who, &own.name));
                weighed.extend(named.into_iter().map(|name| (name, Some(*least))));
            }
            Goal::Delay { who, .. } | Goal::Files { who, .. } if !who.is_empty() => {
                capped.extend(others(&|own| is_meant(who, &own.name)));
                // A file waits for its turn again and again, a lone packet once.
                if let Goal::Files { most, .. } = goal {
                    let named = named_in_file(scenario, |own| is_meant(who, &own.name));
                    fetched.extend(named.into_iter().map(|name| {
                        let needs = needed(scenario, &name, *most);
                        (name, needs)
                    }));
                }
            }
            _ => {}
        }
    }
    // Several goals that name stations: who is named by one is not to pay for another.
    let goals_name =
        |station: &Station| required.goals.iter().filter_map(Goal::who).any(|who| is_meant(who, &station.name));
    let told = named_in_file(scenario, goals_name);
    if capped.iter().any(|name| !told.contains(name)) {
        capped.retain(|name| !told.contains(name));
    }
    let names_none = weighed.is_empty() && fetched.is_empty() && capped.is_empty();
    let any = if required.effort > 1.0 && names_none { all } else { Vec::new() };
    // What the operator has set stays.
    let has_cap = |name: &String| scenario.stations.iter().any(|own| own.name_in_file() == name && own.cap.is_some());
    held.retain(|(name, _)| !has_cap(name));
    capped.retain(|name| !has_cap(name) && is_shaped(scenario, name));
    let most = weighed.iter().chain(&fetched).filter_map(|(_, needs)| *needs).max();
    let is_lesser = |(name, least): &(String, Option<Bitrate>)| {
        Some((name.clone(), (*least).filter(|least| Some(*least) < most)?))
            .filter(|_| !has_cap(name) && !capped.contains(name))
    };
    let lesser = once(weighed.iter().filter_map(is_lesser).collect());
    weighed.extend(fetched);
    let (alike, mut weak) = (weighed.is_empty(), Vec::new());
    let ratio = required.goals.iter().find_map(|goal| if let Goal::DownUp(ratio) = goal { Some(*ratio) } else { None });
    let senders = ratio.map(|ratio| senders(scenario, ratio)).unwrap_or_default();
    if alike {
        weighed.extend(senders.iter().map(|(name, _)| (name.clone(), None)));
    }
    // Where all are to have the same, nobody can be held to less; and where nothing but time counts, fairness is kept.
    let is_equal = |goal: &Goal| matches!(goal, Goal::Level(level) if (level - 1.0).abs() < f64::EPSILON);
    let is_of_cell = |goal: &Goal| goal.is_time() && goal.who().is_none();
    let keeps = required.goals.iter().all(is_of_cell) && required.deploy != Some(Deploy::Box);
    if !keeps && !required.goals.iter().any(is_equal) {
        let is_free = |own: &Station| own.cap.is_none() && !goals_name(own);
        let is_held = |own: &Station| is_weak(scenario, own) && own.flows.iter().any(is_greedy) && is_free(own);
        let part = part_of_equal(scenario).filter(|_| held.is_empty());
        weak = part
            .map(|part| named_in_file(scenario, is_held).into_iter().map(|name| (name, part)).collect())
            .unwrap_or_default();
    }
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names.dedup();
        names
    };
    Classes {
        lesser,
        alike,
        weak,
        senders: if alike { Vec::new() } else { senders },
        held: once(held),
        weighed: in_proportion(scenario, weighed),
        capped: sorted(capped),
        any: sorted(any),
    }
}

/// Part of an equal goodput that a weak station keeps at least where a cap of it leaves air to the others.
const KEPT_BY_WEAK: f64 = 0.12;

/// That of what stations that send all they can have where all of these have the same, as reckoned; `None` where rates change.
fn part_of_equal(scenario: &Scenario) -> Option<Bitrate> {
    let greedy = scenario.stations.iter().zip(alone(scenario)).filter(|(own, _)| own.flows.iter().any(is_greedy));
    let air: f64 = greedy.map(|(_, alone)| 1.0 / alone.as_bps().max(1) as f64).sum();
    (air > 0.0 && !rates_change(scenario)).then(|| Bitrate::from_bps((KEPT_BY_WEAK / air) as u64))
}

/// Stations that only send, and the weight with which each of their uploads has `1 / ratio` of what a download of others has: a box divides
/// between stations, a ratio compares flows.
fn senders(scenario: &Scenario, ratio: f64) -> Vec<(String, f64)> {
    let greedy = |own: &Station| own.flows.iter().filter(|flow| is_greedy(flow)).count() as f64;
    let others: Vec<f64> = scenario.stations.iter().filter(|own| !only_sends(own)).map(greedy).collect();
    let downloads = others.iter().sum::<f64>() / others.iter().filter(|flows| **flows > 0.0).count().max(1) as f64;
    let weight = |name: String| {
        let own = scenario.stations.iter().find(|own| own.name_in_file() == name).map_or(1.0, greedy);
        (name, own / (downloads.max(1.0) * ratio))
    };
    named_in_file(scenario, only_sends).into_iter().map(weight).collect()
}

/// Whether all that a station has that sends all it can are uploads.
fn only_sends(own: &Station) -> bool {
    let mut greedy = own.flows.iter().filter(|flow| is_greedy(flow)).peekable();
    greedy.peek().is_some() && greedy.all(|flow| flow.direction == Direction::Up)
}

/// Whether a box sees anything of stations of that name.
fn is_shaped(scenario: &Scenario, name: &str) -> bool {
    let mut named = scenario.stations.iter().filter(|own| own.name_in_file() == name);
    named.any(|own| !own.flows.iter().all(|flow| flow_passes_by(scenario, flow)))
}

/// What a station of that name needs while it waits for a file, so that this takes at most `most`: the bytes of a file of each of its flows in that time.
fn needed(scenario: &Scenario, name: &str, most: Duration) -> Option<Bitrate> {
    let bits = |own: &Station| {
        let of = |flow: &Flow| if let Traffic::Files { size, .. } = flow.traffic { size.as_bits() } else { 0 };
        own.flows.iter().map(of).sum::<u64>()
    };
    let largest = scenario.stations.iter().filter(|own| own.name_in_file() == name).map(bits).max();
    largest.filter(|bits| *bits > 0).map(|bits| Bitrate::from_bps((bits as f64 / most.as_secs_f64().max(1e-3)) as u64))
}

/// Each name once, with the largest of its rates.
fn once(mut named: Vec<(String, Bitrate)>) -> Vec<(String, Bitrate)> {
    named.sort_by(|(a, least), (b, other)| a.cmp(b).then(other.cmp(least)));
    named.dedup_by(|(a, _), (b, _)| a == b);
    named
}

/// Names with their parts of a weight, each once: by the least goodput that it needs by a goal, or by the air that this takes, and all of it
/// where none says so.
fn in_proportion(scenario: &Scenario, mut named: Vec<(String, Option<Bitrate>)>) -> Vec<Weighed> {
    named.sort_by(|(a, least), (b, other)| a.cmp(b).then(other.cmp(least)));
    named.dedup_by(|(a, _), (b, _)| a == b);
    let air = |name: &str, bps: f64| {
        let own = scenario.stations.iter().find(|own| own.name_in_file() == name);
        bps / own.map_or(1.0, |own| carries(own).max(1.0))
    };
    let wanted: Vec<(String, Option<(f64, f64)>)> = named
        .into_iter()
        .map(|(name, least)| {
            let bps = least.map(|least| least.as_bps() as f64);
            let both = bps.map(|bps| (bps, air(&name, bps)));
            (name, both)
        })
        .collect();
    let most =
        |of: fn(&(f64, f64)) -> f64| wanted.iter().filter_map(|(_, both)| both.as_ref().map(of)).fold(0.0, f64::max);
    let (most_bps, most_air) = (most(|both| both.0), most(|both| both.1));
    let part = |(name, both): (String, Option<(f64, f64)>)| match both {
        Some((bps, air)) => Weighed { name, part: bps / most_bps.max(1e-9), part_of_air: air / most_air.max(1e-12) },
        None => Weighed { name, part: 1.0, part_of_air: 1.0 },
    };
    wanted.into_iter().map(part).collect()
}

/// Stations of counted groups that goals of `required` tell apart from others of their group: the file has no table for their weight or cap.
pub(super) fn grouped(scenario: &Scenario, required: &Requirements) -> Vec<String> {
    let is_told = |index: usize, own: &Station| {
        required.goals.iter().any(|goal| match goal {
            Goal::Level(level) => index == 0 && (level - 1.0).abs() > f64::EPSILON,
            _ => goal.who() == Some(own.name.as_str()),
        })
    };
    let stations = scenario.stations.iter().enumerate().filter(|(_, own)| own.group.is_some());
    stations.filter(|(index, own)| is_told(*index, own)).map(|(_, own)| own.name.clone()).collect()
}

/// Share of the mean below which a link is weak.
const WEAK: f64 = 0.7;

/// Whether a station's link carries clearly less than the others'.
fn is_weak(scenario: &Scenario, own: &Station) -> bool {
    let mean = at_work(scenario).map(carries).sum::<f64>() / at_work(scenario).count().max(1) as f64;
    carries(own) < WEAK * mean
}

/// The station with flows whose link carries least, where it is weak.
fn weakest(scenario: &Scenario) -> Option<&str> {
    let least = at_work(scenario).min_by(|a, b| carries(a).total_cmp(&carries(b)))?;
    is_weak(scenario, least).then_some(least.name.as_str())
}

/// Names in the file of those with flows of which `is_meant` holds; of a counted group it has to hold of each station.
fn named_in_file(scenario: &Scenario, is_meant: impl Fn(&Station) -> bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for station in at_work(scenario) {
        let name = station.name_in_file();
        let mut table = scenario.stations.iter().filter(|other| other.name_in_file() == name);
        if !names.iter().any(|known| known == name) && table.all(&is_meant) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests;
