//! `[[access_point]]`, and who names one.

use super::{bad, good, refuses};
use crate::qdisc::QdiscSpec;
use crate::scenario::Scenario;
use crate::shaper::PoolRule;

const TWO: &str = r#"
    name = "two"
    [run]
    duration = "60 s"
    [ap]
    queue = { kind = "droptail", limit = 30 }
    uplink_queue = 40
    [[access_point]]
    name = "hall"
    [[access_point]]
    name = "cafe"
    queue = { kind = "fq-codel" }
    uplink_queue = 7
    [enforce]
    pool = "ap"
    [[station]]
    name = "a"
    [[station]]
    name = "b"
    count = 2
    ap = "cafe"
    [[station]]
    name = "c"
    ap = "hall"
    [[station]]
    name = "d"
    ap = "ap"
"#;

#[test]
fn access_points_are_as_that_of_ap_unless_they_say_otherwise() {
    let scenario = good(TWO);
    assert_eq!(scenario.access_point_names().collect::<Vec<_>>(), ["ap", "hall", "cafe"]);
    assert_eq!(scenario.node_names().collect::<Vec<_>>(), ["AP", "a", "b-1", "b-2", "c", "d", "AP hall", "AP cafe"]);
    let [hall, cafe] = &scenario.access_points[..] else { panic!("two") };
    assert_eq!((hall.queue, hall.uplink_queue), (QdiscSpec::Droptail { limit: 30 }, 40));
    assert_eq!((cafe.queue.kind(), cafe.uplink_queue), ("fq-codel", 7));
    assert_eq!(scenario.stations.iter().map(|station| station.ap).collect::<Vec<_>>(), [0, 2, 2, 1, 0]);
    assert_eq!(scenario.enforce.unwrap().vsb.pool, PoolRule::Ap);
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
}

/// Results hold the scenario: those of one access point are the same bytes as before there were several.
#[test]
fn a_scenario_with_one_says_nothing_of_others() {
    let alone = good("name = \"t\"\n[run]\nduration = \"60 s\"\n[enforce]\n[[station]]\nname = \"a\"\nap = \"ap\"\n");
    assert!(alone.with_one_access_point("it").is_ok());
    let json = serde_json::to_value(&alone).unwrap();
    assert!(json.get("access_points").is_none() && json["stations"][0].get("ap").is_none());
    assert!(json["enforce"]["vsb"].get("pool").is_none());
    let (what, fix) = good(TWO).with_one_access_point("the planner does not know").unwrap_err();
    assert!(
        what.contains("the planner does not know several access points")
            && what.contains("hall")
            && fix.contains("fairair run")
    );
}

#[test]
fn mistakes_about_access_points_have_a_place_and_a_remedy() {
    const HALL: &str = "[[access_point]]\nname = \"hall\"\n[[station]]\nname = \"b\"\nap = \"hall\"\n";
    for (text, problem, fix) in [
        ("$N$R$S[[access_point]]\nname = ~\"ap\"\n", "access point of [ap] is called `ap`", "name of its own"),
        (
            "$N$R$S[[access_point]]\nname = \"hall\"\n[[access_point]]\nname = ~\"hall\"\n",
            "two access points have the name `hall`",
            "name of its own",
        ),
        ("$N$R$S~[[access_point]]\nqueue = { kind = \"las\" }\n", "`name` is missing in [[access_point]]", "ap2"),
        ("$N$R$S[[access_point]]\nname = ~\"a/b\"\n", "has the character '/'", "file names"),
        (
            "$N$R$S[[access_point]]\nname = \"hall\"\n~channel = 36\n",
            "unknown key `channel`",
            "name, queue, uplink_queue",
        ),
        ("$N$R$S[[access_point]]\nname = \"hall\"\n~window_cap = \"lossless\"\n", "`window_cap`", "belongs in [ap]"),
        ("$N$R$Sap = ~\"hall\"\n", "there is no access point `hall`", "leave `ap` out"),
        ("$N$R$S[[access_point]]\nname = ~\"hall\"\n", "no station belongs to `hall`", "ap = \"hall\""),
        (
            "$N$R[[access_point]]\nname = ~\"hall\"\n[[station]]\nname = \"a\"\nap = \"hall\"\n",
            "no station belongs to the access point of [ap]",
            "leave `ap` out",
        ),
        ("$N$R$S$H[enforce]\npool = ~\"chanel\"\n", "not known", "\"channel\""),
        ("$N$R$S$H[ap]\nwindow_cap = ~\"lossless\"\n", "one access point only", "remove it"),
        ("$N$R$S$H[ap]\nuplink_limiter = ~{ capacity = \"auto\" }\n", "one access point only", "remove it"),
        (
            "$N$R$S$H[enforce]\npool = ~\"ap\"\ncapacity = { kind = \"air\" }\n",
            "air of a channel",
            "pool = \"channel\"",
        ),
    ] {
        refuses(&text.replace("$H", HALL), problem, fix);
    }
    refuses(
        "$N$R$S[[access_point]]\nname = \"hall\"\n[[station]]\nname = \"b\"\nap = ~\"hal\"\n",
        "there is no access point `hal`",
        "did you mean `hall`?",
    );
    let many = (0..16).map(|n| format!("[[access_point]]\nname = \"ap{n}\"\n")).collect::<Vec<_>>().concat();
    let mistake = bad(&format!("name = \"t\"\n[run]\nduration = \"60 s\"\n[[station]]\nname = \"a\"\n{many}"));
    assert!(mistake.problem.contains("17 access points, more than 16"), "{}", mistake.problem);
}
