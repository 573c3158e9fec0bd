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

/// Names, with the parts of a weight that are not all of it.
fn told(weighed: Vec<Weighed>) -> String {
    let one = |Weighed { name, part, .. }: Weighed| if part < 1.0 { format!("{name}:{part}") } else { name };
    weighed.into_iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn goals_decide_whose_weights_and_caps_are_tried() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let in_cell = |scenario: &Scenario, goals: &[&str], effort: f64| {
        let goals = goals.iter().map(|goal| goal.parse().unwrap()).collect();
        let found =
            of(scenario, &Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort });
        [told(found.weighed), found.capped.join(" "), found.any.join(" ")]
    };
    let of = |goals: &[&str], effort: f64| in_cell(&scenario, goals, effort);
    assert_eq!(of(&["level=1"], 1.0), ["", "", ""]);
    assert_eq!(of(&["level=1", "delay<=50ms"], 5.0), ["", "", "call vip web"]);
    assert_eq!(of(&["level=2"], 1.0), ["vip", "call web", ""]);
    assert_eq!(of(&["level=0.5"], 1.0), ["vip", "vip", ""]);
    // A ratio of directions: who only sends.
    assert_eq!(of(&["down/up=1"], 1.0), ["vip", "", ""]);
    assert_eq!(of(&["down/up=1", "delay(call)<=20ms"], 1.0), ["vip", "vip web", ""]);
    assert_eq!(of(&["down/up=1", "web>=1Mbit/s"], 1.0), ["web", "call vip", ""]);
    assert_eq!(of(&["down/up=1"], 5.0), ["vip", "", "call vip web"]);
    assert_eq!(of(&["web>=1Mbit/s"], 5.0), ["web", "call vip", ""]);
    // One of a group has no name in the file.
    assert_eq!(of(&["web-2>=1Mbit/s"], 1.0), ["", "call vip", ""]);
    assert_eq!(of(&["delay(call)<=20ms"], 1.0), ["", "vip web", ""]);
    assert_eq!(of(&["files(call)<=1s"], 1.0), ["call", "vip web", ""]);
    assert_eq!(of(&["delay(call)<=20ms", "vip>=1Mbit/s"], 1.0), ["vip", "web", ""]);
    assert_eq!(of(&["call>=1Mbit/s", "vip>=4Mbit/s"], 1.0), ["call:0.25 vip", "web", ""]);
    // Uplink UDP passes by the box: a cap would do nothing.
    let camera = CELL.replace(
        "\"vip\"\n    flows = [{ direction = \"up\" }]",
        "\"vip\"\n    flows = [{ direction = \"up\", kind = \"udp\", rate = \"1 Mbit/s\" }]",
    );
    let shaped = format!("{camera}[enforce]\nudp = \"shape\"\n");
    for (cell, capped) in [(camera, "web"), (shaped, "vip web")] {
        let scenario = Scenario::from_toml(&cell, "cell.toml").unwrap();
        assert_eq!(in_cell(&scenario, &["call>=1Mbit/s"], 1.0)[1], capped);
    }
    // A megabyte in two seconds is 4 Mbit/s.
    let files = "flows = [{ direction = \"down\", kind = \"files\", size = \"1 MB\" }]";
    let fetching = CELL.replace("count = 3\n    flows = [{ direction = \"down\" }]", &format!("count = 3\n{files}"));
    let fetching = Scenario::from_toml(&fetching, "cell.toml").unwrap();
    let of = |goals: &[&str]| in_cell(&fetching, goals, 1.0);
    assert_eq!(of(&["files(web)<=2s"]), ["web", "call vip", ""]);
    assert_eq!(of(&["files(web)<=2s", "call>=1Mbit/s"]), ["call:0.25 web", "vip", ""]);
    assert_eq!(of(&["files(web)<=2s", "call>=8Mbit/s"]), ["call web:0.5", "vip", ""]);
    // A slow one takes as much air for half of the goodput.
    let slow = Scenario::from_toml(&CELL.replace("\"call\"", "\"call\"\nrate = \"5.5 Mbit/s\""), "cell.toml").unwrap();
    let least = |name: &str, mbps: u64| (name.to_owned(), Some(Bitrate::mbps(mbps)));
    let [call, vip] = &in_proportion(&slow, vec![least("vip", 4), least("call", 2)])[..] else { panic!() };
    assert!((call.part - 0.5).abs() < 1e-9 && (call.part_of_air - 1.0).abs() < 1e-9, "{call:?}");
    assert!((vip.part - 1.0).abs() < 1e-9 && (vip.part_of_air - 1.0).abs() < 1e-9, "{vip:?}");
}

#[test]
fn who_is_told_apart_in_a_group_is_named() {
    let of = |cell: &str, goal: &str| {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let goals = vec![goal.parse().unwrap()];
        grouped(
            &scenario,
            &Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 },
        )
    };
    assert_eq!(of(CELL, "web-2 >= 1 Mbit/s"), ["web-2"]);
    assert!(of(CELL, "web >= 1 Mbit/s").is_empty() && of(CELL, "level=2").is_empty());
    let first = CELL.replace("name = \"vip\"", "name = \"vip\"\ncount = 2");
    assert_eq!(of(&first, "level=2"), ["vip-1"]);
    assert!(of(&first, "level=1").is_empty());
}

/// Equal goodput beside a station that is slow or often not received: a cap of the others is tried.
#[test]
fn a_weak_link_is_helped_by_a_cap_of_the_others() {
    let of = |cell: &str| {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let goals = vec!["level=1".parse().unwrap()];
        let found = of(
            &scenario,
            &Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 },
        );
        [told(found.weighed), found.capped.join(" ")]
    };
    assert_eq!(of(&CELL.replace("\"call\"", "\"call\"\nrate = \"2 Mbit/s\"")), ["", "vip web"]);
    assert_eq!(of(&CELL.replace("\"vip\"", "\"vip\"\nframe_error = 0.5")), ["", "call web"]);
    assert_eq!(of(&CELL.replace("\"vip\"", "\"vip\"\nframe_error = 0.1")), ["", ""]);
    // Who has no traffic needs no help.
    assert_eq!(of(&CELL.replace("\"idle\"", "\"idle\"\nrate = \"1 Mbit/s\"")), ["", ""]);
}

/// Who is to have something, but less than others, may be capped near that.
#[test]
fn a_lesser_goal_is_told_from_the_largest() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let lesser = |goals: &[&str]| {
        let goals = goals.iter().map(|goal| goal.parse().unwrap()).collect();
        let required = Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 };
        of(&scenario, &required).lesser
    };
    assert_eq!(lesser(&["vip >= 4 Mbit/s", "web >= 1 Mbit/s"]), [("web".to_owned(), Bitrate::mbps(1))]);
    assert_eq!(lesser(&["vip >= 4 Mbit/s"]), []);
    // Where goals name all, all may have to leave something to each other, and are capped alike.
    assert_eq!(lesser(&["vip >= 4 Mbit/s", "web >= 1 Mbit/s", "call >= 1 Mbit/s"]), []);
}

/// Who is weak and has to have something gets a cap near that.
#[test]
fn a_weak_station_with_a_least_goodput_is_held_to_it() {
    let slow = CELL.replace("\"call\"", "\"call\"\nrate = \"2 Mbit/s\"");
    let of = |cell: &str, goals: &[&str]| {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let goals = goals.iter().map(|goal| goal.parse().unwrap()).collect();
        of(&scenario, &Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 })
            .held
    };
    let held = |kbps: u64| vec![("call".to_owned(), Bitrate::from_bps(kbps * 1000))];
    assert_eq!(of(&slow, &["call >= 200 kbit/s"]), held(200));
    assert_eq!(of(&slow, &["call >= 200 kbit/s", "call >= 300 kbit/s", "web >= 1 Mbit/s"]), held(300));
    assert_eq!(of(&slow, &["level=1"]), []);
    assert_eq!(of(CELL, &["call >= 200 kbit/s"]), []);
    assert_eq!(of(&slow, &["down/up=1", "call >= 200 kbit/s"]), held(200));
}

/// A box divides between stations, a ratio compares flows.
#[test]
fn who_sends_has_the_weight_of_its_flows_where_a_ratio_stands_beside_a_named_station() {
    let of = |cell: &str, goals: &[&str]| {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let goals = goals.iter().map(|goal| goal.parse().unwrap()).collect();
        of(&scenario, &Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 })
            .senders
    };
    let vip = |weight: f64| vec![("vip".to_owned(), weight)];
    assert_eq!(of(CELL, &["down/up=1", "call >= 200 kbit/s"]), vip(1.0));
    assert_eq!(of(CELL, &["down/up=2", "call >= 200 kbit/s"]), vip(0.5));
    let four = CELL.replace("direction = \"up\"", "direction = \"up\", count = 4");
    assert_eq!(of(&four, &["up/down=1", "call >= 200 kbit/s"]), vip(4.0));
    assert_eq!(of(CELL, &["down/up=1"]), [], "its weight is looked for without");
    assert_eq!(of(CELL, &["call >= 200 kbit/s"]), []);
}

/// Who is weak and named by nobody may be capped at a part of what all could have, unless all are to have the same.
#[test]
fn a_weak_station_that_no_goal_names_keeps_a_part_of_an_equal_share() {
    let slow = CELL.replace("\"call\"", "\"call\"\nrate = \"2 Mbit/s\"");
    let of = |cell: &str, goals: &[&str]| {
        let scenario = Scenario::from_toml(cell, "cell.toml").unwrap();
        let goals = goals.iter().map(|goal| goal.parse().unwrap()).collect();
        of(&scenario, &Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 })
            .weak
    };
    for goal in ["down/up=1", "vip >= 1 Mbit/s", "delay(web) <= 50ms"] {
        // About 0.7 Mbit/s, five stations, one of which is slow.
        let [(name, part)] = &of(&slow, &[goal])[..] else { panic!() };
        assert!(name == "call" && (60e3..100e3).contains(&(part.as_bps() as f64)), "{part}");
    }
    assert_eq!(of(CELL, &["down/up=1"]), []);
    assert_eq!(of(&slow, &["level=1"]), []);
    assert_eq!(of(&slow, &["call >= 200 kbit/s"]), []);
    assert_eq!(of(&slow.replace("\"call\"", "\"call\"\ncap = \"1 Mbit/s\""), &["down/up=1"]), []);
}

/// Stations with names like those of a counted group, each with a table of its own.
#[test]
fn stations_that_look_like_a_group_have_weights_of_their_own() {
    let cell = CELL.replace("\"vip\"", "\"up-1\"").replace("\"call\"", "\"up-2\"");
    let scenario = Scenario::from_toml(&cell, "cell.toml").unwrap();
    let of = |goal: &str| {
        let goals = vec![goal.parse().unwrap()];
        let found = of(
            &scenario,
            &Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 },
        );
        [told(found.weighed), found.capped.join(" ")]
    };
    assert_eq!(of("up-1 >= 3.5 Mbit/s"), ["up-1", "up-2 web"]);
    assert_eq!(of("up >= 1 Mbit/s"), ["up-1 up-2", "web"]);
    assert_eq!(of("web >= 1 Mbit/s"), ["web", "up-1 up-2"]);
    assert_eq!(of("level=3"), ["up-1", "up-2 web"]);
}
