//! Who gets a class.

use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{in_box, until};
use crate::worker::{down, goodputs, share, start, up};

const OPEN: &str = "
[[ap]]
name = \"ap1\"
interface = \"lan\"
capacity = \"20 Mbit/s\"
";

fn names(bench: &Bench) -> Vec<String> {
    let all = bench.json(&["stations"]);
    let list = all["stations"].as_array().expect("a list");
    let own = list.iter().filter(|station| station["source"] != "newcomers");
    own.map(|station| station["name"].as_str().expect("text").to_owned()).collect()
}

/// Two devices that nobody named: one with two addresses of each IP version and four connections gets no more than
/// one with a single connection.
#[test]
fn devices_that_nobody_named_share_equally_by_mac_address() {
    needs_root!();
    let bench = Bench::shaping(1, OPEN);
    let four = [down("10.1.9.9"), down("10.1.9.10"), up("10.1.9.9"), up("10.1.9.10")];
    let (other, one) = share(&bench, &four, &[down("10.1.0.2")]);
    println!("two addresses and four connections against one: {:.2} and {:.2} Mbit/s", other / 1e6, one / 1e6);
    assert!((other / one - 1.0).abs() < 0.05, "{other} against {one}");
    assert_eq!(names(&bench).len(), 2, "{:?}", names(&bench));
    let explained = bench.vsb(&["explain", "10.1.9.10"]);
    assert!(String::from_utf8_lossy(&explained.stdout).contains("class 1:"));
}

/// Without neighbour discovery an address has a class from its first packet on, and loses it when it is silent.
#[test]
fn an_address_is_found_by_its_first_packet_and_forgotten_when_silent() {
    needs_root!();
    let age = Duration::from_secs(5);
    let bench = Bench::shaping(1, &format!("{OPEN}[discovery]\nneighbours = false\nage = \"5 s\"\n"));
    assert!(names(&bench).is_empty());
    let upload = start(&bench, &[up("10.1.9.9")], 0, 8);
    until(20, &bench, || names(&bench).len() == 1);
    // It is silent only from when it last was not.
    std::thread::sleep(2 * age);
    assert!(names(&bench).len() == 1 && !bench.log().contains("forgotten"), "{}", bench.log());
    let begin = Instant::now();
    upload.finish();
    until(40, &bench, || names(&bench).is_empty());
    // When a station was last heard is looked at once a second, and kept in whole seconds.
    let after = begin.elapsed();
    assert!(after + Duration::from_secs(2) >= age, "forgotten {after:?} after its last packet");
    until(20, &bench, || !in_box(&bench, "tc class show dev fairair0").contains("1:1000"));
}

#[test]
fn who_is_excluded_is_not_shaped_and_told_so() {
    needs_root!();
    let bench = Bench::shaping(1, &format!("exclude = [\"10.1.9.9\"]\n{}", OPEN.replace("20 Mbit", "2 Mbit")));
    let rates = goodputs(&bench, &[down("10.1.9.9"), down("10.1.0.2")], 2, 4);
    // A hole that is filled lets pass at once what waited behind it: all that the class queues, at most.
    let queue = 200.0 * 1514.0 * 8.0;
    assert!(rates[0] > 20e6 && rates[1] < 2e6 + queue / 4.0, "{rates:?}");
    let explained = bench.vsb(&["explain", "10.1.9.9"]);
    assert!(String::from_utf8_lossy(&explained.stdout).contains("excludes it"));
}

/// A station that the configuration names, too.
#[test]
fn a_named_station_that_is_excluded_is_told_so() {
    needs_root!();
    let station = |own: &str| format!("[[station]]\nname = \"s\"\naddresses = [\"10.1.9.9\"{own}]\n");
    let mut bench = Bench::light(1);
    for (own, words, is_all) in [
        ("", "the configuration excludes it: it is not shaped", true),
        (", \"fd01::9\"", "the configuration excludes 10.1.9.9 of it: that is not shaped", false),
    ] {
        bench.configure(&format!("exclude = [\"10.1.9.9\"]\n{OPEN}{}", station(own)));
        bench.start(&[]);
        let because = bench.json(&["explain", "s"])["explain"]["because"].clone();
        assert!(because[0] == words && (because.as_array().map(Vec::len) == Some(1)) == is_all, "{because}");
        assert!(bench.vsb(&["stop"]).status.success());
        bench.daemon().wait().expect("ended");
    }
}

/// The kernel's own telling alone: a device has a class soon after its first packet, in routed mode by its address, in
/// bridged mode by its MAC address behind the AP's port.
#[test]
fn neighbours_are_found_as_the_kernel_tells_them() {
    needs_root!();
    let only = "[discovery]\nfirst_sight = false\n";
    for is_bridged in [false, true] {
        let mut bench = Bench::new(1);
        let (head, ap) = if is_bridged {
            bench.bridge();
            ("mode = \"bridged\"\n", OPEN.replace("\"lan\"", "\"lan0\""))
        } else {
            ("", OPEN.to_owned())
        };
        bench.configure(&format!("{head}{ap}{only}"));
        bench.start(&[]);
        let mac = bench.mac(Place::Stations);
        let to = if is_bridged { "10.2.0.2" } else { "10.1.0.1" };
        let port = format!("timeout 2 bash -c '</dev/tcp/{to}/9' 2>&1 || true");
        bench.run(Place::Stations, &["bash", "-c", &port]);
        let begin = Instant::now();
        let found = || bench.json(&["stations"])["stations"].to_string().contains(&mac);
        while !found() {
            assert!(begin.elapsed() < Duration::from_secs(5), "{is_bridged}: {}", bench.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        println!("bridged {is_bridged}: a class {:.2} s after the first packet", begin.elapsed().as_secs_f64());
    }
}

/// Who claims a station's address takes its class: whoever asks for the status is told.
#[test]
fn an_address_that_moves_to_another_device_is_in_the_notes() {
    needs_root!();
    let bench = Bench::shaping(1, OPEN);
    in_box(&bench, "ping -c 1 -W 1 10.1.0.2");
    let mac = bench.mac(Place::Stations);
    until(10, &bench, || bench.json(&["stations"])["stations"].to_string().contains(&mac));
    let notes = || bench.json(&["status"])["status"]["notes"].to_string();
    assert_eq!(notes(), "[]");
    in_box(&bench, "ip neigh replace 10.1.0.2 lladdr 02:00:5e:00:00:99 dev lan nud reachable");
    until(10, &bench, || notes().contains("02:00:5e:00:00:99: a class goes by address"));
}

/// Neighbours that somebody makes up come by hundreds in a second, and a change of the kernel for each takes its time: the machine that
/// finds C goes on beside it.
#[test]
fn made_up_neighbours_do_not_hold_up_the_controller() {
    needs_root!();
    // Others hold the kernel's lock of netlink for longer than what is measured here.
    let mut bench = Bench::alone(1);
    let (log, journal) = (bench.directory.path().join("seen.jsonl"), bench.directory.path().join("journal.db"));
    let adaptive = OPEN.replace("\"20 Mbit/s\"", "{ kind = \"adaptive\", max = \"20 Mbit/s\" }");
    bench.configure(&format!("{adaptive}[journal]\nfile = {journal:?}\nlog = {log:?}\n"));
    bench.start(&[]);
    // The kernel's table has room for 1024 neighbours of all namespaces together: each of these goes when the next comes.
    let lines = |forged: u32| {
        let address = format!("10.1.{}.{}", 20 + forged / 200, 1 + forged % 200);
        let mac = format!("02:66:00:00:{:02x}:{:02x}", forged >> 8, forged & 255);
        format!("neigh replace {address} lladdr {mac} dev lan nud reachable\nneigh del {address} dev lan\n")
    };
    let batch = bench.directory.path().join("neighbours");
    let begin = Instant::now();
    let mut forged = 0;
    while begin.elapsed() < Duration::from_secs(8) {
        std::fs::write(&batch, (forged..forged + 50).map(lines).collect::<String>()).expect("a file");
        forged += 50;
        bench.run(Place::Box, &["ip", "-force", "-batch", batch.to_str().expect("text")]);
        std::thread::sleep(Duration::from_millis(60));
    }
    let found = names(&bench).len();
    let text = std::fs::read_to_string(&log).expect("a log");
    let looks: Vec<f64> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|line| line["event"] == "timeout")
        .filter_map(|line| Some(line["at"].as_f64()? / 1e9))
        .collect();
    let longest = looks.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    println!("{forged} neighbours, {found} with a class, {} looks, the longest pause {longest:.2} s", looks.len());
    assert!(found > 100 && looks.len() > 20 && longest < 1.5, "{found}, {}, {longest}", looks.len());
}
