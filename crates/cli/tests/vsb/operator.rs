//! What an operator has, does and looks at.

use std::time::{Duration, Instant};

use crate::bench::{Bench, Place};

/// A station at an AP of 20 Mbit/s.
pub(crate) const ONE: &str = "
[[ap]]
name = \"ap1\"
interface = \"lan\"
capacity = \"20 Mbit/s\"
[[station]]
name = \"a\"
addresses = [\"10.1.0.2\", \"fd01::2\"]
";

/// The AP alone: whoever comes is found.
pub(crate) fn open() -> &'static str {
    ONE.split("[[station]]").next().expect("a first part")
}

/// The same with a second station.
pub(crate) fn two() -> String {
    format!("{ONE}[[station]]\nname = \"b\"\naddresses = [\"10.1.0.3\", \"fd01::3\"]\n")
}

/// A command in the box, its words in one text; what it prints.
#[track_caller]
pub(crate) fn in_box(bench: &Bench, line: &str) -> String {
    bench.run(Place::Box, &line.split(' ').collect::<Vec<_>>())
}

/// Rules, qdiscs and filters of the operator's own.
pub(crate) fn furnish(bench: &Bench) {
    for line in [
        "tc qdisc add dev lan root handle 7: pfifo limit 77",
        "tc qdisc add dev wan clsact",
        "tc filter add dev wan egress protocol ip pref 10 u32 match ip dst 192.0.2.1/32 action mirred egress mirror dev lo",
        "nft add table ip own",
    ] {
        in_box(bench, line);
    }
    bench.run(Place::Box, &["nft", "add", "chain", "ip", "own", "nat", "{ type nat hook postrouting priority 100; }"]);
    in_box(bench, "nft add rule ip own nat oifname wan masquerade");
}

/// A box that shapes [`ONE`] beside what is the operator's own, and what was on it before.
#[track_caller]
pub(crate) fn furnished() -> (Bench, String) {
    let mut bench = Bench::light(1);
    furnish(&bench);
    let before = bench.dump();
    bench.configure(ONE);
    bench.start(&[]);
    (bench, before)
}

#[track_caller]
pub(crate) fn stop(bench: &Bench) {
    let stopped = bench.vsb(&["stop"]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
}

#[track_caller]
pub(crate) fn reload(bench: &Bench) {
    let reload = bench.vsb(&["reload"]);
    assert!(reload.status.success(), "{}", String::from_utf8_lossy(&reload.stderr));
}

/// Whether a station reaches the host through the box.
pub(crate) fn reaches(bench: &Bench) -> bool {
    // A connection is refused at once, a lost packet is not.
    bench
        .run(Place::Stations, &["bash", "-c", "timeout 2 bash -c '</dev/tcp/10.2.0.2/9' 2>&1 || true"])
        .contains("refused")
}

/// What `status` calls TROUBLE.
#[track_caller]
pub(crate) fn troubles(bench: &Bench) -> String {
    bench.json(&["status"])["status"]["troubles"].to_string()
}

/// Waits for at most `seconds` until `what` holds.
#[track_caller]
pub(crate) fn until(seconds: u64, bench: &Bench, what: impl Fn() -> bool) {
    let begin = Instant::now();
    while !what() {
        assert!(
            begin.elapsed() < Duration::from_secs(seconds),
            "it does not come: {}\n{}",
            troubles(bench),
            bench.log()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// All that makes the box shape, as the kernel tells it, without counters and numbers that are the kernel's.
pub(crate) fn datapath(bench: &Bench) -> String {
    let script = "for d in lan wan; do tc filter show dev $d egress; done 2>&1; tc qdisc show dev fairair0 2>&1; \
        tc class show dev fairair0 2>&1; nft -s -t list table inet fairair 2>&1; nft list map inet fairair class4 2>&1; ip -o link show fairair0 up 2>&1 | grep -c UP";
    let shown = bench.run(Place::Box, &["bash", "-c", &format!("{script}; true")]);
    let mut before = "";
    let words = shown.split_inclusive([' ', '\n']).filter(|word| {
        let is_number = ["fh", "ht", "index", "pfifo", "bfifo", "leaf", "direct_packets_stat"].contains(&before.trim());
        before = word;
        !is_number
    });
    let scrubbed: String = words.collect();
    // The kernel lists in the order of those numbers.
    let mut lines: Vec<_> = scrubbed.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}
