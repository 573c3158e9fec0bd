//! Good files, and what is said of bad ones.

use fairair_core::control::CapacityParams;
use fairair_core::units::Bitrate;

use super::{Config, Gso, Mode};

const GOOD: &str = r#"
name = "lobby"
uplink = "eth0"
exclude = ["10.1.0.9"]

[[ap]]
name = "ap1"
interface = "eth1"
prefixes = ["10.1.0.0/16", "fd00:1::/64"]
capacity = "5 Mbit/s"

[[ap]]
name = "ap2"
interface = "eth1"
prefixes = ["10.2.0.0/16"]
capacity = { kind = "adaptive", max = "6 Mbit/s" }

[[plan]]
name = "gold"
weight = 2
cap = "4 Mbit/s"

[[station]]
name = "desk"
addresses = ["10.1.0.2", "fd00:1::2"]
plan = "gold"
weight = 3
"#;

#[test]
fn a_good_file_is_read_with_its_defaults() {
    let config = Config::from_toml(GOOD, "vsb.toml").unwrap();
    assert_eq!((config.mode, config.gso, config.leaf.limit), (Mode::Routed, Gso::Auto, 200));
    assert_eq!(config.aps[0].capacity, CapacityParams::Fixed { rate: Bitrate::mbps(5) });
    assert_eq!(config.aps[1].most(), Bitrate::mbps(6));
    let desk = &config.stations[0];
    assert_eq!((desk.plan.weight, desk.plan.cap), (3.0, Some(Bitrate::mbps(4))));
    assert!(config.metrics.is_none() && config.journal.is_none());
}

#[test]
fn mistakes_name_place_and_remedy() {
    let swap = |from: &str, to: &str| GOOD.replace(from, to);
    let cases = [
        (swap("uplink =", "uplnk ="), "3:1: unknown key", "did you mean `uplink`?"),
        (swap("\"eth0\"", "\"eth0; reboot\""), "3:10", "at most 15 letters"),
        (swap("\"eth0\"", "\"eth1\""), "this is an uplink", "towards its stations"),
        (swap("10.2.0.0/16", "10.1.8.0/24"), "14:13", "do not overlap"),
        (swap("10.2.0.0/16", "10.2.0.0/33"), "is not a prefix", "10.1.0.0/16"),
        (swap("capacity = \"5 Mbit/s\"", ""), "how much the cell may carry", "802.11b"),
        (swap("\"adaptive\", max = \"6 Mbit/s\"", "\"adaptive\""), "`max` is missing", "the most that"),
        (swap("plan = \"gold\"", "plan = \"silver\""), "no such plan", "gold"),
        (swap("\"10.1.0.2\", ", "\"10.9.0.2\", "), "`ap` is missing", "no prefix"),
        (swap("weight = 2", "weight = 0"), "outside the range", "0.01"),
        (swap("\"5 Mbit/s\"", "\"1 bit/s\""), "outside the range", "between"),
        (swap("[[station]]", "policy = \"airtime\"\n[[station]]"), "unknown key", "top of the file"),
        (swap("name = \"lobby\"", "name = \"lobby\"\npolicy = \"per-flow\""), "no meaning", "policy by station"),
        (swap("name = \"lobby\"", "name = \"lobby\"\nmetrics = \"9477\""), "metrics", "127.0.0.1:9477"),
        (swap("name = \"lobby\"", "name = \"lobby\"\nstate = \"run\""), "absolute", "begins with /"),
        (swap("name = \"lobby\"", "name = \"a/../b\""), "'/'", "letters"),
    ];
    for (text, problem, fix) in cases {
        let error = Config::from_toml(&text, "vsb.toml").expect_err(problem);
        assert!(error.to_string().starts_with("vsb.toml:"), "{error}");
        assert!(error.to_string().contains(problem), "{error} lacks {problem}");
        assert!(error.fix().contains(fix), "{} lacks {fix}", error.fix());
    }
}
