//! `adaptive` against a bottleneck behind the box: a queue of 75 packets at 5 Mbit/s towards the stations.

use std::time::Duration;

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{in_box, until};
use crate::worker::{down, start};

const ADAPTIVE: &str = "
[[ap]]
name = \"ap1\"
interface = \"lan\"
capacity = { kind = \"adaptive\", max = \"20 Mbit/s\" }
[[station]]
name = \"a\"
addresses = [\"10.1.0.2\"]
[[station]]
name = \"b\"
addresses = [\"10.1.0.3\"]
";

/// C in Mbit/s, and the state.
fn pool(bench: &Bench) -> (f64, String) {
    let status = bench.json(&["status"]);
    let pool = &status["status"]["pools"][0];
    let capacity: fairair_core::units::Bitrate = pool["capacity"].as_str().expect("text").parse().expect("a rate");
    (capacity.as_bps() as f64 / 1e6, pool["state"].as_str().expect("text").to_owned())
}

/// C goes from 20 Mbit/s to what the path carries, stays when no probe is answered, and says what it knows. The log of it
/// replays to the same decisions, and to others when one was altered.
#[test]
fn c_finds_the_bottleneck_and_stays_when_all_are_deaf() {
    needs_root!();
    let mut bench = Bench::alone(2);
    let tbf = "tc qdisc add dev lan0 root tbf rate 5mbit burst 3000 limit 113550";
    bench.run(Place::Box, &tbf.split(' ').collect::<Vec<_>>());
    let log = bench.directory.path().join("seen.jsonl");
    let journal = bench.directory.path().join("journal.db");
    bench.configure(&format!("{ADAPTIVE}[journal]\nfile = {journal:?}\nlog = {log:?}\n"));
    bench.start(&[]);
    assert_eq!(pool(&bench), (20.0, "idle".to_owned()));
    let transfers = start(&bench, &[down("10.1.0.2"), down("10.1.0.2"), down("10.1.0.3")], 1, 44);
    std::thread::sleep(Duration::from_secs(10));
    let (typical, found) = bench.typical_c();
    println!("C by adaptive: {found:.2?}, median {typical:.2} Mbit/s; the path carries 4.95");
    assert!((0.85..1.1).contains(&(typical / 4.95)), "{found:?}\n{}", bench.log());
    bench.run(Place::Stations, &["nft", "add", "table", "inet", "deaf"]);
    bench
        .run(Place::Stations, &["nft", "add", "chain", "inet", "deaf", "in", "{ type filter hook input priority 0; }"]);
    bench.run(Place::Stations, &["nft", "add", "rule", "inet", "deaf", "in", "icmp", "type", "echo-request", "drop"]);
    // ARP is not answered either; the box's own table goes on without it.
    bench.run(Place::Stations, &["sysctl", "-qw", "net.ipv4.conf.eth0.arp_ignore=8"]);
    let mac = bench.mac(Place::Stations);
    for own in ["10.1.0.2", "10.1.0.3"] {
        bench.run(Place::Box, &["ip", "neigh", "replace", own, "lladdr", &mac, "dev", "lan", "nud", "permanent"]);
    }
    std::thread::sleep(Duration::from_secs(5));
    // On a busy machine nothing at all may pass for a moment: that is a silence, for three seconds more. A trial of the
    // controller lowers C for a moment, also while nobody answers.
    let is_near = |(c, state): (f64, String)| state == "blind" && (0.85..1.15).contains(&(c / 4.95));
    until(20, &bench, || is_near(pool(&bench)));
    println!("all probes lost for 5 s: C from {typical:.2} to {:.2} Mbit/s", pool(&bench).0);
    drop(transfers);
    assert!(bench.vsb(&["stop"]).status.success());

    let replayed = bench.fairair(&["vsb", "replay", log.to_str().expect("text")]);
    let told = String::from_utf8_lossy(&replayed.stdout);
    assert_eq!(replayed.status.code(), Some(0), "{told}{}", String::from_utf8_lossy(&replayed.stderr));
    assert!(told.contains("all the same") && told.lines().count() > 10, "{told}");
    let recorded = std::fs::read_to_string(&log).expect("the log");
    assert!(recorded.contains("\"blind\""), "{recorded}");
    std::fs::write(&log, recorded.replace("\"blind\"", "\"idle\"")).expect("the log");
    assert_eq!(bench.fairair(&["vsb", "replay", log.to_str().expect("text")]).status.code(), Some(1));
    std::fs::write(&log, "no JSON\n").expect("the log");
    let broken = bench.fairair(&["vsb", "replay", log.to_str().expect("text")]);
    assert_eq!(broken.status.code(), Some(2), "{}", String::from_utf8_lossy(&broken.stderr));
}

/// A station that has IPv6 only is asked over ICMPv6, and C is found all the same.
#[test]
fn a_station_with_ipv6_only_is_probed() {
    needs_root!();
    let mut bench = Bench::alone(1);
    bench.run(Place::Stations, &["ip", "-4", "address", "flush", "dev", "eth0"]);
    let tbf = "tc qdisc add dev lan0 root tbf rate 5mbit burst 3000 limit 113550";
    bench.run(Place::Box, &tbf.split(' ').collect::<Vec<_>>());
    bench.configure(ADAPTIVE.split("[[station]]").next().expect("the AP"));
    bench.start(&[]);
    let transfers = start(&bench, &[down("fd01::2"), down("fd01::2")], 1, 20);
    std::thread::sleep(Duration::from_secs(9));
    let (typical, found) = bench.typical_c();
    until(20, &bench, || pool(&bench).1 == "run");
    let status = bench.json(&["status"]);
    let probes = &status["status"]["pools"][0]["probes"];
    let goodputs = transfers.finish();
    println!(
        "IPv6 only: C {typical:.2} Mbit/s where the path carries 4.95; probes sent, answered, lost: {probes}; {goodputs:.0?}"
    );
    assert!((0.85..1.1).contains(&(typical / 4.95)), "{found:?}\n{}", bench.log());
    let [sent, answered] = [0, 1].map(|which| probes[which].as_u64().expect("a number"));
    assert!(sent > 20 && answered * 2 > sent, "{probes}");
}

/// A firewall is loaded anew under load: for up to a second all passes and nothing is counted. C stays what it was, and `status` names
/// what was removed.
#[test]
fn a_flushed_ruleset_does_not_lower_c() {
    needs_root!();
    let mut bench = Bench::alone(2);
    let tbf = "tc qdisc add dev lan0 root tbf rate 20mbit burst 5000 limit 454200";
    bench.run(Place::Box, &tbf.split(' ').collect::<Vec<_>>());
    let log = bench.directory.path().join("seen.jsonl");
    let journal = bench.directory.path().join("journal.db");
    bench.configure(&format!("{}[journal]\nfile = {journal:?}\nlog = {log:?}\n", ADAPTIVE.replace("20 M", "80 M")));
    bench.start(&[]);
    let transfers = start(&bench, &[down("10.1.0.2"), down("10.1.0.2"), down("10.1.0.3")], 1, 44);
    std::thread::sleep(Duration::from_secs(10));
    let before = bench.typical_c().0;
    let mut least = f64::INFINITY;
    for deed in
        ["nft flush ruleset", "nft delete table inet fairair", "nft flush ruleset", "tc qdisc del dev fairair0 root"]
    {
        in_box(&bench, deed);
        let mended = bench.log().matches("made anew").count();
        until(8, &bench, || bench.log().matches("made anew").count() > mended);
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(200));
            least = least.min(pool(&bench).0);
        }
    }
    let told = bench.json(&["status"])["status"]["troubles"].to_string();
    println!("C {before:.2} Mbit/s before, at least {least:.2} after four removals; {told}");
    assert!(least > 0.7 * before, "{least} of {before}\n{}", bench.log());
    assert!(told.contains("others removed"), "{told}");
    drop(transfers);
    assert!(bench.vsb(&["stop"]).status.success());
    let replayed = bench.fairair(&["vsb", "replay", log.to_str().expect("text")]);
    assert_eq!(replayed.status.code(), Some(0), "{}", String::from_utf8_lossy(&replayed.stdout));
}
