//! Who gets what.

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{in_box, open, reload, two};
use crate::worker::{down, goodputs, share, up};

/// The claim of the whole box: equal shares of one capacity, whatever the number and direction of connections.
#[test]
fn four_uploads_get_no_more_than_a_download() {
    needs_root!();
    let bench = Bench::shaping(2, &two());
    let (a, b) = share(&bench, &[up("10.1.0.2"); 4], &[down("10.1.0.3")]);
    println!("4 up against 1 down: {:.2} and {:.2} Mbit/s", a / 1e6, b / 1e6);
    assert!((a / b - 1.0).abs() < 0.05, "{a} against {b}");
    // 20 Mbit/s of IP bytes of both directions, of which ACKs and headers take about 6 %.
    assert!((0.9..1.0).contains(&((a + b) / 20e6)), "{a} and {b}");
}

#[test]
fn both_ip_versions_of_a_station_are_one_class() {
    needs_root!();
    let bench = Bench::shaping(2, &two());
    let (a, b) = share(&bench, &[down("10.1.0.2"), down("fd01::2"), up("fd01::2")], &[up("10.1.0.3")]);
    println!("IPv4 and IPv6 against IPv4: {:.2} and {:.2} Mbit/s", a / 1e6, b / 1e6);
    assert!((a / b - 1.0).abs() < 0.05, "{a} against {b}");
}

#[test]
fn weights_divide_and_caps_hold() {
    needs_root!();
    let bench = Bench::shaping(2, &two().replace("name = \"a\"", "name = \"a\"\nweight = 3"));
    let (a, b) = share(&bench, &[down("10.1.0.2")], &[down("10.1.0.3")]);
    println!("weights 3 and 1: {:.2} and {:.2} Mbit/s", a / 1e6, b / 1e6);
    assert!((a / b / 3.0 - 1.0).abs() < 0.05, "{a} against {b}");
    bench.configure(&two().replace("name = \"a\"", "name = \"a\"\ncap = \"4 Mbit/s\""));
    reload(&bench);
    let (a, b) = share(&bench, &[down("10.1.0.2")], &[down("10.1.0.3")]);
    println!("a cap of 4 Mbit/s: {:.2} and {:.2} Mbit/s", a / 1e6, b / 1e6);
    assert!((0.9..1.0).contains(&(a / 4e6)), "{a}");
    assert!((0.9..1.0).contains(&(b / 16e6)), "{b}");
}

/// Bridged mode tells stations apart by MAC address, named or not; each port's pool has its own C for both directions.
#[test]
fn a_bridge_shapes_by_mac_address() {
    needs_root!();
    let mut bench = Bench::new(1);
    bench.bridge();
    let mac = bench.mac(Place::Stations);
    bench.configure(&format!(
        "mode = \"bridged\"\n[[ap]]\nname = \"ap1\"\ninterface = \"lan0\"\ncapacity = \"8 Mbit/s\"\n\
         [[ap]]\nname = \"ap2\"\ninterface = \"lan1\"\ncapacity = \"4 Mbit/s\"\n\
         [[station]]\nname = \"a\"\nap = \"ap1\"\nmac = \"{mac}\"\n"
    ));
    bench.start(&[]);
    let all = [up("10.1.0.2"), down("10.1.0.2"), up("10.1.9.9"), down("10.1.9.9")];
    let rates = goodputs(&bench, &all, 5, 5);
    let (one, other) = (rates[0] + rates[1], rates[2] + rates[3]);
    println!("pools of 8 and 4 Mbit/s: {:.2} and {:.2} Mbit/s", one / 1e6, other / 1e6);
    assert!((0.85..1.0).contains(&(one / 8e6)) && (0.85..1.0).contains(&(other / 4e6)), "{rates:?}");
    let stations = bench.json(&["stations"]);
    let names: Vec<_> = stations["stations"].as_array().unwrap().iter().map(|own| own["name"].clone()).collect();
    assert!(names.contains(&bench.mac(Place::Other).into()), "{names:?}");
}

/// IP bytes that class `class` has sent.
fn sent(bench: &Bench, class: &str) -> f64 {
    let shown = in_box(bench, "tc -s class show dev fairair0");
    let own = shown.split("class htb ").find(|part| part.starts_with(&format!("{class} "))).expect("a class");
    own.split("Sent ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("bytes")
}

/// `per-direction` has a class for each direction's data and the ACKs to it, so that neither direction waits for the other
/// and both always have backlog.
#[test]
fn directions_share_equally() {
    needs_root!();
    let bench = Bench::shaping(2, &format!("policy = \"per-direction\"\n{}", open()));
    let ups = goodputs(&bench, &[up("10.1.0.2"), up("10.1.0.3")], 0, 3);
    let (down_class, up_class) = (sent(&bench, "1:10"), sent(&bench, "1:1000"));
    println!("{ups:?} bit/s up: {down_class} B in the class down, {up_class} B in the class up");
    assert!(up_class > 2e6 && down_class < 0.01 * up_class, "the ACKs are in the class of their data");
    let (a, b) = share(&bench, &[up("10.1.0.2"); 4], &[down("10.1.0.3"); 4]);
    println!("per-direction, 4 up against 4 down: {:.2} and {:.2} Mbit/s", a / 1e6, b / 1e6);
    assert!((a / b - 1.0).abs() < 0.1, "{a} against {b}");
    assert!((0.9..1.0).contains(&((a + b) / 20e6)), "{a} and {b}");
}

#[test]
fn connections_share_per_flow() {
    needs_root!();
    let bench = Bench::shaping(2, &format!("policy = \"per-flow\"\n{}", open()));
    let (a, b) = share(&bench, &[up("10.1.0.2"); 3], &[down("10.1.0.3")]);
    println!("per-flow, 3 up against 1 down: {:.2} and {:.2} Mbit/s", a / 1e6, b / 1e6);
    // Four connections in 256 buckets: two of them share one in 2 % of the runs, so only the order is asserted.
    assert!(a > 1.5 * b, "{a} against {b}");
}
