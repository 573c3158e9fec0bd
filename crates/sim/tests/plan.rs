//! The planner as a library: the same answer on any number of threads, and what is known when it is stopped.

use std::sync::atomic::{AtomicBool, Ordering};

use fairair_core::remedy::Deploy;
use fairair_core::scenario::Scenario;
use fairair_sim::plan::{Goal, Requirements, plan};
use fairair_sim::replicas::Pool;
use fairair_sim::{Progress, Watch};

const CELL: &str = r#"
    name = "cell"
    [run]
    duration = "30 s"
    warmup = "5 s"
    [radio]
    rate = "2 Mbit/s"
    [ap]
    queue = { kind = "droptail", limit = 60 }
    [[station]]
    name = "up"
    flows = [{ direction = "up" }]
    [[station]]
    name = "down"
    count = 2
    flows = [{ direction = "down" }]
"#;

fn requirements(goal: &str) -> Requirements {
    let goals: Vec<Goal> = vec![goal.parse().unwrap()];
    Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 0.05 }
}

#[test]
fn the_plan_is_the_same_on_any_number_of_threads_and_starves_nobody() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let answer = |jobs| {
        let pool = Pool::new(jobs).unwrap();
        let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
        let found = plan(&scenario, &requirements("level=1"), &pool, watch);
        found.unwrap().unwrap()
    };
    let (one, three) = (answer(1), answer(3));
    let json = |plan| serde_json::to_string(plan).unwrap();
    assert_eq!(json(&one), json(&three));
    assert!(one.met && one.rows[0].starved.is_empty() && !one.front.is_empty());
    assert!(one.front.iter().all(|point| point.starved == 0));
    assert!(one.families.len() > 15, "{}", one.families.len());
    assert!(one.not_tried.iter().any(|name| name == "box with weights"));
}

/// Two goals about the same are a slip: one of them says nothing, or they contradict each other.
#[test]
fn one_thing_has_one_goal() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let of = |texts: [&str; 2]| {
        let goals = texts.map(|text| text.parse::<Goal>().unwrap()).to_vec();
        Requirements { goals, ..requirements("level=1") }.mistake(&scenario)
    };
    for twice in [["level=1", "level=2"], ["down/up=1", "up/down=1"], ["up >= 1 Mbit/s", "up >= 2 Mbit/s"]] {
        let (problem, fix) = of(twice).expect(twice[0]);
        assert!(problem.starts_with("two goals are about the same: `") && fix == "leave one of them out", "{problem}");
    }
    assert_eq!(of(["up >= 300 kbit/s", "down >= 100 kbit/s"]), None);
    assert_eq!(of(["delay(up) <= 50ms", "delay(down) <= 90ms"]), None);
}

/// What a station has is not refused: datagrams longer than segments that nothing acknowledges, and a link that becomes faster.
#[test]
fn what_can_be_had_is_not_refused() {
    let cell = |link: &str, flow: &str, rest: &str| {
        let text = format!(
            "name = \"lone\"\nrun.duration = \"20 s\"\n[radio]\nphy = \"802.11g\"\n[[station]]\nname = \"a\"\nrate = \"{link}\"\nflows = [{flow}]\n{rest}"
        );
        Scenario::from_toml(&text, "lone.toml").unwrap()
    };
    let udp = "{ direction = \"up\", kind = \"udp\", payload = \"2268 B\" }";
    let event = "[[event]]\nat = \"1 s\"\nkind = \"rate\"\nstation = \"a\"\nrate = \"54 Mbit/s\"\n";
    let datagrams = cell("54 Mbit/s", udp, "");
    assert_eq!(requirements("a >= 34.2 Mbit/s").mistake(&datagrams), None, "it has 35.2");
    assert!(requirements("a >= 55 Mbit/s").mistake(&datagrams).is_some());
    let faster = cell("6 Mbit/s", "{ direction = \"down\" }", event);
    assert_eq!(requirements("a >= 21 Mbit/s").mistake(&faster), None, "it has 22.4");
    let plain = cell("54 Mbit/s", "{ direction = \"down\" }", "");
    assert_eq!(requirements("a >= 24 Mbit/s").mistake(&plain), None);
    assert!(requirements("a >= 33 Mbit/s").mistake(&plain).is_some_and(|(_, fix)| fix.contains("less than 7")));
    let files = "{ direction = \"down\", kind = \"files\", size = \"20 MB\" }";
    let slow = cell("12 Mbit/s", files, "");
    let (problem, fix) = requirements("files(a) <= 13s").mistake(&slow).expect("20 MB in 13 s are 12.3 Mbit/s");
    assert!(problem.contains("exceeds the link of station a") && fix.contains("ask for more than"), "{problem}: {fix}");
    assert_eq!(requirements("files(a) <= 14s").mistake(&slow), None);
    assert_eq!(requirements("files(a) <= 13s").mistake(&cell("12 Mbit/s", files, event)), None, "it becomes faster");
}

/// The one who is asked for gets it, from the others: they are named with what they had and have.
#[test]
fn who_loses_by_a_plan_is_named() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let pool = Pool::new(0).unwrap();
    let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
    // A search of a twentieth of the effort finds only plans that barely reach this, and of them it does not say that they meet it.
    let asked = Requirements { effort: 0.3, ..requirements("down >= 600 kbit/s") };
    let plan = plan(&scenario, &asked, &pool, watch).unwrap().unwrap();
    let [loss] = &plan.losses[..] else { panic!("{:?}", plan.losses) };
    let [was, is] = loss.goodput_bps.unwrap();
    assert!(plan.met && loss.who == "up" && loss.transfer_s.is_none() && was > 2.0 * is, "{loss:?}");
    let least = plan.rows[0].report.stations[0].goodput_bps.mean.unwrap();
    assert!((is / least - 1.0).abs() < 1e-9, "{loss:?}");
}

#[test]
fn what_cannot_be_is_priced_and_what_makes_no_sense_is_refused() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let pool = Pool::new(0).unwrap();
    let ask = |goal: &str, cancelled| {
        plan(&scenario, &requirements(goal), &pool, Watch { cancel: &AtomicBool::new(cancelled), progress: &|_| () })
    };
    let unmet = ask("up >= 1.8 Mbit/s", false).unwrap().unwrap();
    assert!(!unmet.met && unmet.constraints[0].missed_by.unwrap() > 1.0);
    assert!(unmet.constraints[0].goodput_without_bps.unwrap() > 1e6);
    let (problem, fix) = ask("down >= 1.1 Mbit/s", false).unwrap_err();
    assert!(problem.contains("exceeds the capacity") && fix.contains("than about 770 kbit/s"), "{problem}: {fix}");
    let mut both = requirements("up >= 1.5 Mbit/s");
    both.goals.push("down >= 0.9 Mbit/s".parse().unwrap());
    let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
    let (problem, fix) = plan(&scenario, &both, &pool, watch).unwrap_err();
    assert!(
        problem.contains("together exceed") && problem.contains("2.13 times") && fix.contains("47 %"),
        "{problem}: {fix}"
    );
    let (problem, fix) = ask("upp >= 1 Mbit/s", false).unwrap_err();
    assert!(problem.contains("`upp`") && fix.contains("did you mean up?"), "{problem}: {fix}");
    assert!(fix.contains("down (down-1 to down-"), "{fix}");
    assert!(ask("files <= 1s", false).is_err());
    let camera = CELL.replace("[[station]]\n    name = \"up\"", "[[station]]\n    name = \"camera\"\n    flows = [{ kind = \"udp\", rate = \"1 Mbit/s\", direction = \"up\" }]\n    [[station]]\n    name = \"up\"");
    let camera = Scenario::from_toml(&camera, "camera.toml").unwrap();
    let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
    let (problem, fix) = plan(&camera, &requirements("camera >= 2 Mbit/s"), &pool, watch).unwrap_err();
    assert!(problem.contains("station camera asks for: its streams have 1 Mbit/s"), "{problem}: {fix}");
    let (problem, fix) = plan(&camera, &requirements("delay(camera) <= 50ms"), &pool, watch).unwrap_err();
    assert!(
        problem.contains("nobody that it names gets any") && fix.contains("only sends datagrams"),
        "{problem}: {fix}"
    );
    assert!(ask("level=1", true).unwrap().is_none());
}

/// What was known when it was stopped is said: first a short look at a few, in the end rows that were proved.
#[test]
fn a_search_that_is_stopped_says_what_it_knew_by_then() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let stopped = |share: f64, goal: &str| {
        let cancel = AtomicBool::new(false);
        let progress = |progress: Progress| {
            // The first replicas are those of the cell as it is; then there are many of one look.
            let enough = progress.done > 3 && f64::from(progress.done) >= share * f64::from(progress.planned);
            cancel.fetch_or(enough && progress.planned > 10, Ordering::SeqCst);
        };
        let watch = Watch { cancel: &cancel, progress: &progress };
        plan(&scenario, &requirements(goal), &Pool::new(1).unwrap(), watch).unwrap().unwrap()
    };
    let early = stopped(0.5, "level=1");
    assert!(early.interrupted && !early.met && early.rows.is_empty(), "{:?}", early.front);
    assert!(early.tried > 5 && !early.front.is_empty(), "{}", early.tried);
    let easy = stopped(0.5, "up >= 10 kbit/s");
    let as_is = easy.families.iter().find(|point| point.family == "as it is").unwrap();
    assert!(as_is.meets && !easy.already_met, "one look is no proof");
}

/// Stations with names like those of a counted group have weights of their own.
#[test]
fn a_station_that_looks_like_one_of_a_group_gets_a_weight() {
    let text = "name = \"two\"\n[run]\nduration = \"30 s\"\nwarmup = \"5 s\"\n[[station]]\nname = \"up-1\"\n\
                flows = [{ direction = \"up\" }]\n[[station]]\nname = \"up-2\"\nflows = [{ direction = \"up\" }]\n\
                [[station]]\nname = \"down\"\nflows = [{ direction = \"down\" }]\n";
    let scenario = Scenario::from_toml(text, "two.toml").unwrap();
    let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
    let required = Requirements { deploy: Some(Deploy::Box), effort: 0.2, ..requirements("up-1 >= 3.5 Mbit/s") };
    let plan = plan(&scenario, &required, &Pool::new(0).unwrap(), watch).unwrap().unwrap();
    let weighed = plan.families.iter().find(|point| point.family == "box with weights").unwrap();
    let snippet = &weighed.snippet;
    assert!(plan.met, "{weighed:?}");
    assert!(snippet.contains("[[station]]\nname = \"up-1\"\nweight = "), "{snippet}");
}

/// A cell in which nothing is delivered has equal shares and no delay: that meets no goal.
#[test]
fn a_cell_that_delivers_nothing_meets_nothing() {
    let text = "name = \"silent\"\n[run]\nduration = \"10 s\"\nwarmup = \"5 s\"\nstart_spread = \"0 s\"\n[[station]]\nname = \"a\"\n\
                count = 2\nflows = [{ direction = \"down\", start = \"1 s\", stop = \"2 s\" }]\n";
    let scenario = Scenario::from_toml(text, "silent.toml").unwrap();
    let of = |required: &Requirements| {
        let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
        plan(&scenario, required, &Pool::new(0).unwrap(), watch).unwrap().unwrap()
    };
    let level = of(&requirements("level=1"));
    assert!(!level.already_met && !level.met && level.rows.iter().all(|row| !row.meets), "{:?}", level.goals);
    // Nor is there a fairness to keep beside a goal that is about time only.
    let time = of(&Requirements { goals: vec!["delay <= 50ms".parse().unwrap()], ..requirements("level=1") });
    let told: Vec<&str> = time.constraints.iter().map(|constraint| constraint.goal.as_str()).collect();
    assert!(!told.is_empty() && told.iter().all(|goal| !goal.starts_with("fairness")), "{told:?}");
}

/// A far station with errors gets little in the first three seconds, which the file measures, and enough in the hundred of a proof.
#[test]
fn who_starves_in_the_time_of_the_file_is_named() {
    let text = "name = \"brief\"\n[run]\nduration = \"3 s\"\nwarmup = \"0.5 s\"\n[[station]]\nname = \"up\"\nflows = [{ direction = \"up\" }]\n\
                [[station]]\nname = \"far\"\nframe_error = 0.5\nflows = [{ direction = \"down\", wire = { delay = \"150 ms\" } }]\n";
    let scenario = Scenario::from_toml(text, "brief.toml").unwrap();
    let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
    let plan = plan(&scenario, &requirements("up >= 10 kbit/s"), &Pool::new(0).unwrap(), watch).unwrap().unwrap();
    assert_eq!((plan.as_is_starved, plan.already_met), (vec!["station far".to_owned()], false));
}

/// No box that shapes uplink UDP is tried, which counts where there is some.
#[test]
fn what_passes_by_the_box_is_said_to_be_untried() {
    let with = CELL.replace("flows = [{ direction = \"up\" }]", "flows = [{ direction = \"up\", kind = \"udp\" }]");
    let says = |text: &str| {
        let scenario = Scenario::from_toml(text, "cell.toml").unwrap();
        let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
        let plan = plan(&scenario, &requirements("level=1"), &Pool::new(0).unwrap(), watch).unwrap().unwrap();
        plan.not_tried.iter().any(|name| name.contains("uplink UDP"))
    };
    assert!(says(&with) && !says(CELL));
}
