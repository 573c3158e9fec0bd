//! `fairair vsb station`: settings of single stations, as a captive portal makes them.

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{open, reload, two, until};
use crate::worker::{start, up};

fn plans() -> String {
    format!("{}[[plan]]\nname = \"gold\"\nweight = 3\n", two())
}

#[track_caller]
fn station(bench: &Bench, words: &[&str]) -> (bool, String) {
    let output = bench.vsb(&[&["station"], words].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Weight of the class of station `name`, and what is set for it.
fn of(bench: &Bench, name: &str) -> (String, serde_json::Value) {
    let list = bench.json(&["station", "list"])["station-list"].clone();
    let stations = list["stations"].as_array().expect("stations").clone();
    let own = stations.into_iter().find(|own| own["name"] == name).expect("it is there");
    (own["weight"].to_string(), own["setting"].clone())
}

/// Set, kept over a killed daemon and a reload, ended in time, by `unset`, or by a configuration that says otherwise.
#[test]
fn a_setting_lasts_as_long_as_it_was_meant_to() {
    needs_root!();
    let mut bench = Bench::shaping_light(2, &plans());
    let (done, told) = station(&bench, &["set", "10.1.0.2", "--plan", "gold", "--cap", "4 Mbit/s"]);
    assert!(done && told.contains("plan gold cap 4 Mbit/s"), "{told}");
    assert_eq!(of(&bench, "a").0, "3.0");
    let shown = crate::operator::in_box(&bench, "tc class show dev fairair0");
    assert!(shown.contains("ceil 4Mbit"), "{shown}");
    bench.daemon().kill().unwrap();
    bench.daemon().wait().unwrap();
    bench.start(&[]);
    assert_eq!(of(&bench, "a").0, "3.0", "it outlives the daemon");
    reload(&bench);
    assert_eq!(of(&bench, "a").0, "3.0", "and a reload that says nothing new of the station");
    bench.configure(&plans().replace("name = \"a\"", "name = \"a\"\nweight = 2"));
    reload(&bench);
    assert_eq!(of(&bench, "a"), ("2.0".to_owned(), serde_json::Value::Null), "the configuration has the last word");
    let (done, told) = station(&bench, &["set", "b", "--weight", "5", "--until", "2 s"]);
    assert!(done, "{told}");
    assert_eq!(of(&bench, "b").0, "5.0");
    until(8, &bench, || of(&bench, "b").0 == "1.0");
    assert!(bench.log().contains("expired"), "{}", bench.log());
    let (done, told) = station(&bench, &["set", "10.1.0.77", "--weight", "2"]);
    assert!(done && told.contains("kept until it appears"), "{told}");
    let list = bench.json(&["station", "list"])["station-list"].clone();
    assert_eq!(list["absent"][0]["station"], "10.1.0.77");
    assert!(station(&bench, &["list"]).1.contains("10.1.0.77: weight 2 until it is removed"));
    let explain = |own: &str| String::from_utf8_lossy(&bench.vsb(&["explain", own]).stdout).into_owned();
    let told = explain("10.1.0.77");
    assert!(told.contains("set for it as soon as it is there: weight 2 until it is removed"), "{told}");
    assert!(station(&bench, &["set", "a", "--weight", "2"]).0);
    let told = explain("a");
    assert!(told.contains("set for it: weight 2 until it is removed"), "{told}");
    let wrong = bench.vsb(&["explain", "nosuch"]);
    let words = String::from_utf8_lossy(&wrong.stderr);
    assert!(wrong.status.code() == Some(2) && words.contains("no station has the name \"nosuch\""), "{words}");
    let told = explain("10.9.9.9");
    assert!(told.contains("class of its own\n- no station has this address"), "{told}");
    assert!(station(&bench, &["unset", "a"]).0);
    assert!(station(&bench, &["unset", "10.1.0.77"]).0);
    let (done, told) = station(&bench, &["unset", "10.1.0.77"]);
    assert!(!done && told.contains("nothing is set for it"), "{told}");
    for (words, fix) in [
        (&["set", "a", "--plan", "tin"][..], "write one of gold"),
        (&["set", "a", "--weight", "2", "--until", "2001-01-01T00:00:00Z"], "has passed"),
        (&["set", "a", "--weight", "1000"], "from 0.01 to 100"),
        (&["set", "a"], "--plan"),
    ] {
        let (done, told) = station(&bench, words);
        let words = told.replace('│', "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!done && words.contains(fix), "{words}");
    }
}

/// Set before the station is there, by address and by MAC address: it has the weight from its first class on.
#[test]
fn a_setting_waits_for_a_station_that_appears_later() {
    needs_root!();
    for (is_by_mac, discovery) in [(false, "neighbours = false"), (true, "first_sight = false")] {
        let bench = Bench::shaping_light(1, &format!("{}[discovery]\n{discovery}\n", open()));
        let own = if is_by_mac { bench.mac(Place::Other) } else { "10.1.9.9".to_owned() };
        let (done, told) = station(&bench, &["set", &own, "--weight", "3"]);
        assert!(done && told.contains("kept until it appears"), "{told}");
        let upload = start(&bench, &[up("10.1.9.9")], 0, 3);
        let there = || bench.json(&["station", "list"])["station-list"].clone();
        until(20, &bench, || there()["stations"].as_array().is_some_and(|all| !all.is_empty()));
        let list = there();
        assert_eq!(list["stations"][0]["weight"], 3.0, "{list}");
        assert_eq!(list["absent"].as_array().map(Vec::len), Some(0), "{list}");
        upload.finish();
    }
}
