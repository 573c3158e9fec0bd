use fairair_core::remedy::Deploy;
use fairair_core::scenario::Scenario;

use super::*;
use crate::plan::families;
use crate::plan::ranges::{Classes, Weighed};

const CELL: &str = r#"
    name = "cell"
    run.duration = "10 s"
    [tcp]
    window = 30
    [[station]]
    name = "sta"
    count = 3
    flows = [{ direction = "up" }, { direction = "down" }]
    [[station]]
    name = "other"
    flows = [{ direction = "down" }]
"#;

/// The cell with a snippet: its keys of a station stand with the station, its tables at the end.
fn pasted(snippet: &str) -> Scenario {
    let (tables, stations) = snippet.split_at(snippet.find("[[station]]").unwrap_or(snippet.len()));
    let mut text = CELL.to_owned();
    for station in stations.split("[[station]]\n").filter(|station| !station.is_empty()) {
        let (name, keys) = station.split_once('\n').unwrap();
        text = text.replace(name, &format!("{name}\n{keys}"));
    }
    Scenario::from_toml(&format!("{text}\n{tables}"), "pasted.toml").unwrap_or_else(|e| panic!("{e:?}\n{snippet}"))
}

#[test]
fn a_snippet_pasted_into_the_file_is_what_was_simulated() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let sta = || vec!["sta".to_owned(), "other".to_owned()];
    let held = vec![("other".to_owned(), Bitrate::mbps(1))];
    let weighed = |(name, part)| Weighed { name, part, part_of_air: 1.0 };
    let weighed = sta().into_iter().zip([1.0, 0.4]).map(weighed).collect();
    let classes = Classes {
        weighed,
        capped: sta()[..1].to_vec(),
        lesser: held.clone(),
        weak: held.clone(),
        senders: Vec::new(),
        held,
        alike: false,
        any: sta(),
    };
    let left_out = families(None, &Ranges::new(&scenario, 800.0, Classes::default())).1;
    assert_eq!(
        left_out,
        [
            "box, capacity = wce",
            "box with weights",
            "box with caps",
            "box, the weak capped",
            "box with weights, the weak capped",
            "box, one weighted",
            "box, some capped",
            "box, a class weighted",
            "box, a class capped"
        ]
    );
    let ranges = Ranges { thorough: true, ..Ranges::new(&scenario, 800.0, classes) };
    let (families, left_out) = families(None, &ranges);
    assert_eq!(left_out, [""; 0]);
    for family in families {
        for n in 0..50 {
            let at: Vec<f64> = (0..family.dims).map(|d| f64::from(n * (2 * d as u32 + 3) % 50) / 49.0).collect();
            let change = family.change(&ranges, &at);
            let snippet = change.snippet(&scenario);
            assert_eq!(pasted(&snippet), change.applied(&scenario), "{snippet}");
        }
    }
}

#[test]
fn queues_of_linux_are_for_all_cells_and_edca_for_those_that_aggregate() {
    let cell = CELL.replace("[tcp]", "[radio]\nphy = \"802.11ac\"\n[tcp]");
    let tried = |cell: &str| {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let ranges = Ranges::new(&scenario, 800.0, Classes::default());
        let (families, left_out) = families(None, &ranges);
        assert!(!left_out.contains(&"mac80211"));
        for family in families.iter().filter(|_| ranges.gear.aggregates) {
            let change = family.change(&ranges, &vec![0.7; family.dims]);
            let snippet = change.snippet(&scenario);
            let pasted = Scenario::from_toml(&format!("{cell}\n{snippet}"), "pasted.toml").unwrap();
            assert_eq!(pasted, change.applied(&scenario), "{snippet}");
            let of_linux = ["mac80211", "edca", "mac80211 + edca"].contains(&family.name);
            assert!(!of_linux || change.not_today(ranges.gear).is_none(), "{}", family.name);
            assert!(!family.name.starts_with("tlas") || change.not_today(ranges.gear).is_some());
            // The live box reckons with no aggregates.
            let told =
                |x: f64| family.change(&ranges, &vec![x; family.dims]).not_today(ranges.gear).unwrap_or_default();
            let own = ["box, capacity fixed", "box, capacity = auto", "box, capacity = wce"].contains(&family.name);
            assert!(!own || told(0.1).is_empty() && told(0.2).is_empty(), "{}", family.name);
            assert_eq!(told(0.1).contains("the air of"), family.name == "box, capacity = air", "{}", family.name);
        }
        ["mac80211", "edca"].map(|name| families.iter().any(|family| family.name == name))
    };
    assert_eq!((tried(&cell), tried(CELL)), ([true, true], [true, false]));
}

#[test]
fn only_what_can_be_deployed_today_is_tried_where_that_is_asked_for() {
    let ac = CELL.replace("[tcp]", "[radio]\nphy = \"802.11ac\"\n[tcp]");
    for cell in [CELL, &ac] {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let ranges = Ranges { today: true, ..Ranges::new(&scenario, 800.0, Classes::default()) };
        let (tried, left_out) = families(None, &ranges);
        let names: Vec<&str> = tried.iter().map(|family| family.name).collect();
        for name in ["droptail", "mac80211", "uplink-limiter", "box, capacity = auto", "box, capacity fixed"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        assert!(["tlas", "window-cap", "admission", "queue + window-cap"].iter().all(|name| left_out.contains(name)));
        assert_eq!(names.contains(&"box, capacity = air"), !ranges.gear.aggregates);
    }
}

/// A plan that charged received air was one of today for an access point of which the file says that it cannot.
#[test]
fn another_driver_is_nothing_of_today() {
    let text = CELL.replace(
        "[tcp]",
        "[radio]\nphy = \"802.11ac\"\n[ap]\nqueue = { kind = \"mac80211\", rx_airtime = false }\n[tcp]",
    );
    let scenario = Scenario::from_toml(&text, "cell.toml").unwrap();
    let ranges = Ranges::new(&scenario, 800.0, Classes::default());
    let change = |ranges: &Ranges, airtime: f64| {
        let mac80211 = AP.iter().find(|family| family.name == "mac80211").unwrap();
        mac80211.change(ranges, &[airtime; 2])
    };
    let told = |ranges: &Ranges, airtime: f64| change(ranges, airtime).not_today(ranges.gear);
    assert!(told(&ranges, 0.2).unwrap().contains("rx_airtime = false"));
    assert_eq!(told(&ranges, 0.8), None, "turns by packets charge nothing");
    let today = Ranges { today: true, ..ranges };
    assert_eq!(told(&today, 0.2), None);
    assert!(change(&today, 0.2).snippet(&scenario).contains("rx_airtime = false"));
}

#[test]
fn deployment_is_respected() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let classes = Classes {
        weighed: vec![Weighed { name: "sta".to_owned(), part: 1.0, part_of_air: 1.0 }],
        ..Classes::default()
    };
    let ranges = Ranges::new(&scenario, 800.0, classes);
    let deploys = |deploy| -> Vec<&str> {
        let (families, _) = families(deploy, &ranges);
        families.iter().map(|family| family.change(&ranges, &vec![0.5; family.dims]).deploy()).collect()
    };
    assert!(deploys(Some(Deploy::Box)).iter().all(|deploy| *deploy == "box"));
    assert!(deploys(Some(Deploy::Ap)).iter().all(|deploy| *deploy == "AP"));
    assert!(deploys(None).contains(&"AP+box"));
}

#[test]
fn weights_and_caps_reach_all_of_a_group() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let cap = Bitrate::mbps(1);
    let change =
        Change { weights: vec![("sta".to_owned(), 2.5)], caps: vec![("other".to_owned(), cap)], ..Change::default() };
    let changed = change.applied(&scenario).stations;
    assert!(changed[..3].iter().all(|station| station.weight.to_bits() == 2.5_f64.to_bits()));
    assert!(changed[..3].iter().all(|station| station.cap.is_none()));
    assert_eq!((changed[3].cap, changed[3].weight.to_bits()), (Some(cap), 1.0_f64.to_bits()));
    let weight = "[[station]]\nname = \"sta\"\nweight = 2.5";
    assert_eq!(change.snippet(&scenario), format!("{weight}\n[[station]]\nname = \"other\"\ncap = \"1 Mbit/s\""));
}

/// A policy that knows no stations would drop what their operator has set.
#[test]
fn weights_and_caps_that_are_there_stay() {
    for (with, stays) in [("", false), ("cap = \"1 Mbit/s\"", true), ("weight = 2", true)] {
        let cell = CELL.replace("name = \"other\"", &format!("name = \"other\"\n{with}"));
        let ranges = Ranges::new(&Scenario::from_toml(&cell, "cell.toml").unwrap(), 800.0, Classes::default());
        let tried = families(None, &ranges).0;
        let points = (0..=20).map(|n| f64::from(n) / 20.0);
        let changes = points
            .flat_map(|x| tried.iter().map(|family| family.change(&ranges, &vec![x; family.dims])).collect::<Vec<_>>());
        let policies: Vec<Policy> = changes.filter_map(|change| Some(change.enforce?.policy)).collect();
        assert!(policies.len() > 20);
        assert_eq!(policies.iter().all(|policy| policy.is_by_station()), stays, "{with}");
    }
}

#[test]
fn every_box_has_one_with_the_live_queue_beside_it() {
    let ac = CELL.replace("[tcp]", "[radio]\nphy = \"802.11ac\"\n[tcp]");
    for cell in [CELL, &ac] {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let weighed = vec![Weighed { name: "sta".to_owned(), part: 1.0, part_of_air: 1.0 }];
        let held = vec![("other".to_owned(), Bitrate::mbps(1))];
        let capped = vec!["other".to_owned()];
        let ranges = Ranges::new(&scenario, 800.0, Classes { weighed, capped, held, ..Classes::default() });
        let mut found = 0;
        for family in families(None, &ranges).0 {
            for n in 0..50 {
                let at: Vec<f64> = (0..family.dims).map(|d| f64::from(n * (2 * d as u32 + 3) % 50) / 49.0).collect();
                let own = family.change(&ranges, &at);
                let Some(before) = own.enforce.filter(|own| own.queue.is_some()) else { continue };
                let (_, beside) = family.with_a_queue_of_time(&ranges, &at).expect(family.name);
                let enforce = Some(BoxChange { queue: None, ..before });
                assert_eq!(beside, Change { enforce, ..own }, "{}", family.name);
                found += 1;
            }
        }
        assert!(found > 100, "{found}");
    }
}

#[test]
fn of_several_classes_that_goals_name_one_has_a_weight() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let weighed = |name: &str| Weighed { name: name.to_owned(), part: 1.0, part_of_air: 1.0 };
    let of = |weighed: Vec<Weighed>| Ranges::new(&scenario, 800.0, Classes { weighed, ..Classes::default() });
    let named = |ranges: &Ranges, x: f64| {
        let families = families(None, ranges).0;
        let family = families.into_iter().find(|family| family.name == "box, one weighted")?;
        Some(family.change(ranges, &[0.1, 0.2, 0.5, 0.5, x]).weights.into_iter().map(|(name, _)| name).collect())
    };
    let both = of(vec![weighed("sta"), weighed("other")]);
    assert_eq!((named(&both, 0.0), named(&both, 1.0)), (Some(vec!["sta".to_owned()]), Some(vec!["other".to_owned()])));
    assert_eq!(named(&of(vec![weighed("sta")]), 0.0), None, "`box with weights` has it");
}

#[test]
fn where_only_weak_stations_are_named_those_that_send_have_weights_for_a_ratio() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let held = vec![("other".to_owned(), Bitrate::mbps(1))];
    let weighed = vec![Weighed { name: "other".to_owned(), part: 1.0, part_of_air: 1.0 }];
    let senders = vec![("sta".to_owned(), 2.0), ("other".to_owned(), 1.0)];
    let ranges = Ranges::new(&scenario, 800.0, Classes { weighed, held, senders, ..Classes::default() });
    let families = families(None, &ranges).0;
    assert!(families.iter().all(|family| family.name != "box, the weak capped"));
    let family = families.into_iter().find(|family| family.name == "box with weights, the weak capped").unwrap();
    let change = family.change(&ranges, &[0.0, 0.5, 0.2, 0.5, 0.1]);
    assert_eq!(change.weights, [("sta".to_owned(), 2.0)], "equal shares of flows, and none for the weak");
    assert_eq!(change.caps, [("other".to_owned(), Bitrate::from_bps(1_030_000))]);
    assert_eq!(change.enforce.unwrap().policy, Policy::PerStation);
}

#[test]
fn windows_of_aggregates_have_room_in_a_long_queue() {
    let ac = CELL.replace("[tcp]", "[radio]\nphy = \"802.11ac\"\n[tcp]").replace("window = ", "window = 2730 #");
    let longest = |cell: &str| {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let ranges = Ranges::new(&scenario, 800.0, Classes::default());
        let family = families(None, &ranges).0.into_iter().find(|family| family.name == "long queue + window-cap");
        let change = family.unwrap().change(&ranges, &[0.0, 1.0]);
        (change.queue.unwrap().limit(), change.window_cap.unwrap().1, ranges.packets(1.0))
    };
    let (queue, buffer, largest) = longest(&ac);
    assert_eq!((queue, buffer), (2 * largest, 4 * largest));
    let (queue, buffer, largest) = longest(CELL);
    assert!(queue < largest && buffer == largest);
}
