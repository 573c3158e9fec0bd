//! Which stations a goal or a thorough search tells apart: their weights and caps in the box become parameters.

use fairair_core::scenario::Scenario;

use super::family::Classes;
use super::goal::is_meant;
use super::{Goal, Wish};

/// The classes of `scenario` that `wish` makes worth trying.
///
/// A level other than 1 is the first station's, and a least goodput is that of those it names: their weight is a parameter. What a goal
/// names can also be helped by a cap of the others; the first station at a level below 1, by a cap of its own.
pub(super) fn of(scenario: &Scenario, wish: &Wish) -> Classes {
    let all = groups(scenario);
    let first = || scenario.stations.first().map(|station| station.name.clone());
    let (mut weighed, mut capped) = (Vec::new(), Vec::new());
    let others = |who: &str| all.iter().filter(|name| !is_meant(name, who)).cloned().collect::<Vec<_>>();
    for goal in &wish.goals {
        match goal {
            Goal::Level(level) if (level - 1.0).abs() > f64::EPSILON => {
                let Some(first) = first() else { continue };
                capped.extend(if *level < 1.0 { vec![first.clone()] } else { others(&first) });
                weighed.push(first);
            }
            Goal::Goodput { who, .. } => {
                capped.extend(others(who));
                weighed.push(who.clone());
            }
            Goal::Delay { who, .. } | Goal::Files { who, .. } if !who.is_empty() => capped.extend(others(who)),
            _ => {}
        }
    }
    // Several goals that name stations: who is named by one is not to pay for another.
    let is_told = |name: &String| wish.goals.iter().any(|goal| goal.who() == Some(name.as_str()));
    if capped.iter().any(|name| !is_told(name)) {
        capped.retain(|name| !is_told(name));
    }
    let told = !weighed.is_empty() || !capped.is_empty();
    let any = if wish.effort > 1.0 && !told { all.clone() } else { Vec::new() };
    let in_file = |names: Vec<String>| {
        let mut names: Vec<String> = names.into_iter().filter(|name| is_named(scenario, name)).collect();
        names.sort();
        names.dedup();
        names
    };
    Classes { weighed: in_file(weighed), capped: in_file(capped), any: in_file(any) }
}

/// Stations with flows by the names that the file gives them: `web-1` to `web-4` are one, `web`.
fn groups(scenario: &Scenario) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for station in scenario.stations.iter().filter(|station| !station.flows.is_empty()) {
        let stem = station.name.rsplit_once('-').map(|(stem, _)| stem);
        let alike = |stem: &&str| scenario.stations.iter().filter(|other| is_meant(stem, &other.name)).count() > 1;
        let name = stem.filter(alike).unwrap_or(&station.name);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether the file has this name: one station of a group has none of its own.
fn is_named(scenario: &Scenario, name: &str) -> bool {
    let alike = |other: &str| name.rsplit_once('-').is_some_and(|(stem, _)| is_meant(stem, other));
    scenario.stations.iter().all(|station| station.name == name || !alike(&station.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = r#"
        name = "cell"
        [run]
        duration = "10 s"
        [[station]]
        name = "vip"
        flows = [{ direction = "up" }]
        [[station]]
        name = "web"
        count = 3
        flows = [{ direction = "down" }]
        [[station]]
        name = "call"
        flows = [{ direction = "down" }]
        [[station]]
        name = "idle"
    "#;

    #[test]
    fn goals_decide_whose_weights_and_caps_are_tried() {
        let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
        let of = |goals: &[&str], effort: f64| {
            let goals = goals.iter().map(|goal| goal.parse().unwrap()).collect();
            let found = of(&scenario, &Wish { goals, tolerance: 0.1, floor: 0.05, deploy: None, effort });
            [found.weighed, found.capped, found.any].map(|names| names.join(" "))
        };
        assert_eq!(of(&["level=1"], 1.0), ["", "", ""]);
        assert_eq!(of(&["level=1", "delay<=50ms"], 5.0), ["", "", "call vip web"]);
        assert_eq!(of(&["level=2"], 1.0), ["vip", "call web", ""]);
        assert_eq!(of(&["level=0.5"], 1.0), ["vip", "vip", ""]);
        assert_eq!(of(&["web>=1Mbit/s"], 5.0), ["web", "call vip", ""]);
        // One of a group has no name in the file.
        assert_eq!(of(&["web-2>=1Mbit/s"], 1.0), ["", "call vip", ""]);
        assert_eq!(of(&["delay(call)<=20ms"], 1.0), ["", "vip web", ""]);
        assert_eq!(of(&["delay(call)<=20ms", "vip>=1Mbit/s"], 1.0), ["vip", "web", ""]);
    }
}
