//! The planner as a library: the same answer on any number of threads, and nothing when it is cancelled.

use std::sync::atomic::AtomicBool;

use fairair_core::scenario::Scenario;
use fairair_sim::Watch;
use fairair_sim::plan::{Goal, Wish, plan};
use fairair_sim::replicas::Pool;

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

fn wish(goal: &str) -> Wish {
    let goals: Vec<Goal> = vec![goal.parse().unwrap()];
    Wish { goals, tolerance: 0.1, floor: 0.05, deploy: None, effort: 0.05 }
}

#[test]
fn the_plan_is_the_same_on_any_number_of_threads_and_starves_nobody() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let answer = |jobs| {
        let pool = Pool::new(jobs).unwrap();
        let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
        let found = plan(&scenario, &wish("level=1"), &pool, watch);
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

#[test]
fn what_cannot_be_is_priced_and_what_makes_no_sense_is_refused() {
    let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
    let pool = Pool::new(0).unwrap();
    let ask = |goal: &str, cancelled| {
        plan(&scenario, &wish(goal), &pool, Watch { cancel: &AtomicBool::new(cancelled), progress: &|_| () })
    };
    let unmet = ask("up >= 5 Mbit/s", false).unwrap().unwrap();
    assert!(!unmet.met && unmet.constraints[0].missed_by.unwrap() > 1.0);
    assert!(unmet.constraints[0].goodput_without_bps.unwrap() > 1e6);
    let (problem, fix) = ask("upp >= 1 Mbit/s", false).unwrap_err();
    assert!(problem.contains("`upp`") && fix.contains("down-1"), "{problem}: {fix}");
    assert!(ask("files <= 1s", false).is_err());
    assert!(ask("level=1", true).unwrap().is_none());
}

/// A cell in which nothing is delivered has equal shares and no delay: that meets no goal.
#[test]
fn a_cell_that_delivers_nothing_meets_nothing() {
    let text = "name = \"silent\"\n[run]\nduration = \"10 s\"\nwarmup = \"5 s\"\nstart_spread = \"0 s\"\n[[station]]\nname = \"a\"\n\
                count = 2\nflows = [{ direction = \"down\", start = \"1 s\", stop = \"2 s\" }]\n";
    let scenario = Scenario::from_toml(text, "silent.toml").unwrap();
    let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
    let plan = plan(&scenario, &wish("level=1"), &Pool::new(0).unwrap(), watch).unwrap().unwrap();
    assert!(!plan.already_met && !plan.met && plan.rows.iter().all(|row| !row.meets), "{:?}", plan.goals);
}
