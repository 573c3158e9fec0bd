//! `adaptive` where echo requests find nobody: a bridge without an address, and stations that ignore ping.

use std::time::Duration;

use crate::bench::{Bench, Place, needs_root};
use crate::worker::{down, start};

const PATH: &str = "tc qdisc add dev lan0 root tbf rate 5mbit burst 3000 limit 113550";
const ADAPTIVE: &str = "
[[ap]]
name = \"ap1\"
interface = \"lan0\"
capacity = { kind = \"adaptive\", max = \"20 Mbit/s\" }
";

/// Two downloads to `station` over a path of 5 Mbit/s from the start: how `adaptive` finds C, and how the station answers.
#[track_caller]
fn finds_c(bench: &Bench, what: &str, station: &str, answers: &str) {
    let transfers = start(bench, &[down(station), down(station)], 1, 20);
    std::thread::sleep(Duration::from_secs(10));
    let (typical, found) = bench.typical_c();
    let status = bench.json(&["status"]);
    let pool = &status["status"]["pools"][0];
    let stations = bench.json(&["stations"]);
    drop(transfers);
    let [sent, answered] = [0, 1].map(|which| pool["probes"][which].as_u64().expect("a number"));
    println!("{what}: C {typical:.2} Mbit/s where the path carries 4.95; {answered} of {sent} probes answered");
    assert!((0.85..1.1).contains(&(typical / 4.95)), "{what}: {found:?} {stations}\n{}", bench.log());
    assert!(answered * 2 > sent && sent > 20, "{what}: {pool}");
    let shown = &stations["stations"][0]["answers"];
    assert_eq!(shown, answers, "{what}: {stations}");
}

fn bridged() -> Bench {
    let mut bench = Bench::new(1);
    bench.bridge_without_address();
    bench.run(Place::Box, &PATH.split(' ').collect::<Vec<_>>());
    bench.configure(&format!("mode = \"bridged\"\n{ADAPTIVE}"));
    bench.start(&[]);
    bench
}

/// Addresses come from what passes, and ARP answers.
#[test]
fn a_bridge_without_address_asks_by_arp() {
    needs_root!();
    finds_c(&bridged(), "bridged without address", "10.1.0.2", "neighbour");
}

/// The same with stations that have IPv6 only.
#[test]
fn a_bridge_without_address_asks_by_nd() {
    needs_root!();
    let bench = bridged();
    bench.run(Place::Stations, &["ip", "-4", "address", "flush", "dev", "eth0"]);
    finds_c(&bench, "bridged without address, IPv6", "fd01::2", "neighbour");
}

/// A station that ignores echo requests from the start.
#[track_caller]
fn deaf_to_ping(is_bridged: bool, station: &str) {
    let mut bench = Bench::new(1);
    let silent = ["net.ipv4.icmp_echo_ignore_all=1", "net.ipv6.icmp.echo_ignore_all=1"];
    bench.run(Place::Stations, &["sysctl", "-qw", silent[0], silent[1]]);
    bench.run(Place::Box, &PATH.split(' ').collect::<Vec<_>>());
    if station.contains(':') {
        bench.run(Place::Stations, &["ip", "-4", "address", "flush", "dev", "eth0"]);
    }
    if is_bridged {
        bench.bridge();
        bench.configure(&format!("mode = \"bridged\"\n{ADAPTIVE}"));
    } else {
        bench.configure(&ADAPTIVE.replace("lan0", "lan"));
    }
    bench.start(&[]);
    finds_c(&bench, &format!("deaf to ping, bridged {is_bridged}, {station}"), station, "neighbour");
}

#[test]
fn stations_that_ignore_ping_are_asked_by_arp() {
    needs_root!();
    deaf_to_ping(false, "10.1.0.2");
}

#[test]
fn stations_of_a_bridge_that_ignore_ping_are_asked_by_arp() {
    needs_root!();
    deaf_to_ping(true, "10.1.0.2");
}

#[test]
fn stations_that_ignore_ping_are_asked_by_nd() {
    needs_root!();
    deaf_to_ping(false, "fd01::2");
}
