//! Policies without a class for each station: whom the box asks all the same, and what it says.

use std::time::Duration;

use crate::bench::{Bench, Place, needs_root};
use crate::operator::until;
use crate::worker::{down, start};

const POLICIES: [&str; 2] = ["per-flow", "per-direction"];

/// A path of 20 Mbit/s behind the box, on interface `lan`, and a box of `policy` and `capacity` that names no station.
fn boxed(bench: &mut Bench, lan: &str, policy: &str, capacity: &str) {
    let tbf = "tc qdisc replace dev lan0 root tbf rate 20mbit burst 6000 limit 113550";
    bench.run(Place::Box, &tbf.split(' ').collect::<Vec<_>>());
    let mode = if lan == "lan" { "routed" } else { "bridged" };
    bench.configure(&format!(
        "mode = \"{mode}\"\npolicy = \"{policy}\"\n[[ap]]\nname = \"ap1\"\ninterface = \"{lan}\"\ncapacity = {capacity}\n"
    ));
}

/// Three downloads of one station against one of another that are under way when the box comes.
#[track_caller]
fn finds_c(mut bench: Bench, lan: &str, policy: &str) {
    boxed(&mut bench, lan, policy, "{ kind = \"adaptive\", max = \"60 Mbit/s\" }");
    let transfers = start(&bench, &[down("10.1.0.2"), down("10.1.0.2"), down("10.1.0.2"), down("10.1.0.3")], 8, 12);
    std::thread::sleep(Duration::from_secs(3));
    bench.start(&[]);
    std::thread::sleep(Duration::from_secs(12));
    let (typical, found) = bench.typical_c();
    let status = bench.json(&["status"])["status"].clone();
    let stations = bench.json(&["stations"]);
    let goodputs = transfers.finish();
    let [sent, answered] = [0, 1].map(|which| status["pools"][0]["probes"][which].as_u64().expect("a number"));
    println!(
        "{lan}, {policy}: C {typical:.2} Mbit/s where the path carries 19.8, {answered} of {sent} probes answered, {goodputs:.0?}"
    );
    assert!((0.85..1.1).contains(&(typical / 19.8)), "{policy}: {found:?} {status}\n{}", bench.log());
    assert!(answered * 2 > sent && sent > 20, "{policy}: {status} {stations}");
    assert_eq!(status["troubles"].as_array().map(Vec::len), Some(0), "{status}");
    if policy == "per-flow" {
        let mut own = goodputs.clone();
        own.sort_by(f64::total_cmp);
        let near = |a: f64, b: f64| (0.8..1.25).contains(&(a / b));
        // Two of four connections share one of 256 buckets in 2 % of the runs.
        let share_one = near(own[0] + own[1], own[3]) && near(own[2], own[3]);
        assert!(near(own[0], own[3]) || share_one, "{goodputs:?}");
    }
}

#[test]
fn adaptive_finds_c_where_flows_or_directions_share() {
    needs_root!();
    for policy in POLICIES {
        finds_c(Bench::alone(2), "lan", policy);
    }
}

#[test]
fn adaptive_finds_c_where_flows_share_behind_a_bridge_without_address() {
    needs_root!();
    let bench = Bench::new(2);
    bench.bridge_without_address();
    finds_c(bench, "lan0", "per-flow");
}

#[test]
fn a_fixed_c_that_is_too_high_is_told_whatever_shares() {
    needs_root!();
    for policy in POLICIES {
        let mut bench = Bench::alone(2);
        // All addresses of the bench have one MAC address, and where one station has all traffic its own link may limit it.
        let named = |name: &str, host: u8| format!("[[station]]\nname = \"{name}\"\naddresses = [\"10.1.0.{host}\"]\n");
        boxed(&mut bench, "lan", policy, &format!("\"26 Mbit/s\"\n{}{}", named("a", 2), named("b", 3)));
        let transfers = start(&bench, &[down("10.1.0.2"), down("10.1.0.2"), down("10.1.0.3")], 1, 40);
        bench.start(&[]);
        until(30, &bench, || {
            bench.json(&["status"])["status"]["troubles"].to_string().contains("above what the cell carries")
        });
        let told = bench.json(&["explain", "10.1.0.2"]).to_string();
        assert!(told.contains("no classes of their own") && told.contains("above what the cell carries"), "{told}");
        drop(transfers);
    }
}

/// Whoever turns discovery off and names nobody is told that C cannot be found.
#[test]
fn a_box_that_knows_no_station_says_so() {
    needs_root!();
    let mut bench = Bench::alone(2);
    let blind = "\"26 Mbit/s\"\n[discovery]\nneighbours = false\nfirst_sight = false\n";
    for capacity in [blind.to_owned(), blind.replace("\"26 Mbit/s\"", "{ kind = \"adaptive\", max = \"60 Mbit/s\" }")] {
        boxed(&mut bench, "lan", "per-station", &capacity);
        let transfers = start(&bench, &[down("10.1.0.2"), down("10.1.0.3")], 1, 20);
        bench.start(&[]);
        until(18, &bench, || bench.json(&["status"])["status"]["troubles"].to_string().contains("no station is known"));
        drop(transfers);
        crate::operator::stop(&bench);
        bench.daemon().wait().expect("it ended");
    }
}

/// What passed of a station is its own where another is not known, and a setting that is not in force is not shown.
#[test]
fn a_station_is_not_credited_with_what_strangers_had() {
    needs_root!();
    let mut bench = Bench::alone(2);
    let known = "\"18 Mbit/s\"\n[discovery]\nneighbours = false\nfirst_sight = false\n[[station]]\nname = \"a\"\naddresses = [\"10.1.0.2\"]\n";
    boxed(&mut bench, "lan", "per-station", known);
    bench.start(&[]);
    assert!(bench.vsb(&["station", "set", "10.1.0.2", "--cap", "1 Mbit/s"]).status.success());
    for policy in POLICIES {
        boxed(&mut bench, "lan", policy, known);
        assert!(bench.vsb(&["reload"]).status.success());
        let transfers = start(&bench, &[down("10.1.0.2"), down("10.1.0.3")], 1, 8);
        std::thread::sleep(Duration::from_secs(3));
        // A trial lowers C for a moment: the median of what is shown.
        let look = |_| {
            std::thread::sleep(Duration::from_millis(500));
            let shown = bench.json(&["stations"])["stations"].clone();
            let rate: fairair_core::units::Bitrate = shown[0]["rate"].as_str().expect("text").parse().expect("a rate");
            (rate, shown)
        };
        let mut looks: Vec<_> = (0..9).map(look).collect();
        looks.sort_by_key(|(rate, _)| *rate);
        let (rate, shown) = looks.swap_remove(4);
        let list = bench.json(&["station", "list"])["station-list"].clone();
        let goodputs = transfers.finish();
        let truly = goodputs[0] / goodputs.iter().sum::<f64>() * 18e6;
        println!("{policy}: shown {rate}, truly about {:.1} Mbit/s", truly / 1e6);
        assert!((0.8..1.25).contains(&(rate.as_bps() as f64 / truly)), "{policy}: {rate} {goodputs:?}");
        assert!(shown[0]["cap"].is_null() && shown.as_array().map(Vec::len) == Some(1), "{shown}");
        assert_eq!(list["absent"][0]["cap"], "1 Mbit/s", "kept, but not in force: {list}");
    }
}

/// A class that all shared becomes the newcomers': what it borrowed until then is not held against who comes next.
#[test]
fn a_newcomer_has_its_class_at_once_after_a_reload_to_classes_by_station() {
    needs_root!();
    let mut bench = Bench::alone(3);
    boxed(&mut bench, "lan", "per-direction", "\"10 Mbit/s\"\n[discovery]\nneighbours = false\n");
    bench.start(&[]);
    let transfers = start(&bench, &[down("10.1.0.2"), down("10.1.0.2"), down("10.1.0.3")], 4, 10);
    std::thread::sleep(Duration::from_secs(5));
    boxed(&mut bench, "lan", "per-station", "\"10 Mbit/s\"\n[discovery]\nneighbours = false\n");
    assert!(bench.vsb(&["reload"]).status.success());
    std::thread::sleep(Duration::from_secs(3));
    let begin = std::time::Instant::now();
    let shown = bench.run(crate::bench::Place::Host, &["sh", "-c", "ping -c 15 -i 0.2 -W 1 10.1.0.4 || true"]);
    let rates = transfers.finish();
    println!(
        "{} Mbit/s of two downloads; {} in {:?}",
        rates.iter().sum::<f64>() / 1e6,
        shown.lines().last().unwrap_or(""),
        begin.elapsed()
    );
    let answered = shown.lines().filter(|line| line.contains("time=")).count();
    assert!(
        answered >= 12,
        "{shown}\n{}",
        bench.run(crate::bench::Place::Box, &["tc", "-s", "class", "show", "dev", "fairair0"])
    );
}
