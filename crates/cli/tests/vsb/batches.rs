//! Several packets of a station at once, for radios that aggregate.

use std::fs::{self, Permissions};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root, needs_tool};
use crate::install::{TWO_CAPABILITIES, for_nobody};
use crate::operator::{datapath, in_box, reaches, reload, stop, troubles, two, until};

const PARAMETER: &str = "/sys/module/sch_htb/parameters/htb_hysteresis";

fn hysteresis() -> String {
    fs::read_to_string(PARAMETER).unwrap_or_else(|_| "0".to_owned()).trim().to_owned()
}

/// The kernel's parameter as it was before a test: it is so again afterwards, also after a failure.
struct Before {
    value: String,
    mode: u32,
}

impl Before {
    /// For who has the machine alone. The kernel loads the module for the first HTB.
    fn of(bench: &Bench) -> Before {
        in_box(bench, "tc qdisc add dev lo root htb");
        in_box(bench, "tc qdisc del dev lo root");
        let mode = fs::metadata(PARAMETER).expect("a parameter").permissions().mode();
        Before { value: hysteresis(), mode }
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        set(&self.value, self.mode);
    }
}

fn set(value: &str, mode: u32) {
    fs::write(PARAMETER, value).expect("written");
    fs::set_permissions(PARAMETER, Permissions::from_mode(mode)).expect("set");
}

fn batches() -> String {
    format!("batch = \"24 kB\"\n{}", two())
}

/// The drop-in for the unit, as the documentation has it.
pub(crate) fn drop_in() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vsb.md");
    let page = fs::read_to_string(page).expect("the page");
    let block = page.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("a block").to_owned()
}

/// What the box says in the end to a user with two capabilities who starts this command in it.
fn nobody(bench: &Bench, binary: &Path, command: &str) -> Output {
    let config = bench.config();
    let own = [binary.to_str().expect("text"), "vsb", command, config.to_str().expect("text")];
    // One that runs after all is ended.
    let words = [&["timeout", "20"], TWO_CAPABILITIES, &own].concat();
    bench.command(Place::Box, &words).output().expect("ip")
}

/// It names the place, and how to mend it.
#[track_caller]
fn names_the_fix(told: &[u8]) {
    let told = String::from_utf8_lossy(told);
    // Its lines are short.
    let plain = |text: &str| text.replace(|sign: char| sign.is_whitespace() || sign == '│', "");
    for words in [PARAMETER, "Permission denied", "chmod a+r", "batch = \"0 B\"", "docs/vsb.md"] {
        assert!(plain(&told).contains(&plain(words)), "{words}: {told}");
    }
}

/// Sends twice what the pool carries to both stations for three seconds; packets that each got in the last two, and the mean number that came in a
/// row.
fn in_rows(bench: &Bench) -> ([u32; 2], f64) {
    let to = bench.inside(Place::Stations, || UdpSocket::bind("0.0.0.0:7001").expect("bound"));
    to.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    let from = bench.inside(Place::Host, || UdpSocket::bind("10.2.0.2:0").expect("bound"));
    let begin = Instant::now();
    let sender = std::thread::spawn(move || {
        let mut payload = [0; 1472];
        for sent in 0_u64.. {
            let due = begin + Duration::from_micros(sent * 300);
            if begin.elapsed() > Duration::from_secs(3) {
                return;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let station = (sent % 2) as u8;
            payload[0] = station;
            // What the box drops is not an error here.
            let _ = from.send_to(&payload, (std::net::Ipv4Addr::new(10, 1, 0, 2 + station), 7001));
        }
    });
    let (mut counts, mut rows, mut before) = ([0; 2], 0, None);
    let mut packet = [0; 2000];
    while begin.elapsed() < Duration::from_secs(3) {
        if to.recv(&mut packet).is_err() || begin.elapsed() < Duration::from_secs(1) {
            continue;
        }
        let station = usize::from(packet[0]);
        counts[station] += 1;
        rows += u32::from(before.replace(station) != Some(station));
    }
    sender.join().expect("sent");
    (counts, f64::from(counts[0] + counts[1]) / f64::from(rows.max(1)))
}

/// The kernel's HTB sends batches where its parameter is set: the box sets it, keeps it set, and puts it back.
#[test]
fn a_station_sends_several_packets_in_a_row_and_the_kernel_is_as_before_afterwards() {
    needs_root!();
    // The parameter is the machine's.
    let mut bench = Bench::alone(2);
    let own = Before::of(&bench);
    let before = own.value.clone();
    bench.configure(&two());
    bench.start(&[]);
    bench.settle();
    let (counts, row) = in_rows(&bench);
    println!("a packet at a time: {counts:?} packets, {row:.1} in a row");
    assert!(row < 3.0, "{row}");
    bench.configure(&batches());
    reload(&bench);
    let (counts, row) = in_rows(&bench);
    println!("batches of 24 kB: {counts:?} packets, {row:.1} in a row");
    assert!(row > 12.0, "{row}");
    let [a, b] = counts.map(f64::from);
    assert!((a / b - 1.0).abs() < 0.05, "{counts:?}");
    // 20 Mbit/s of packets of 1500 B for two seconds.
    assert!(((a + b) / 3333.0 - 1.0).abs() < 0.03, "{counts:?}");
    // Somebody else puts it back.
    fs::write(PARAMETER, "0").expect("written");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(hysteresis(), "1");
    bench.configure(&two());
    reload(&bench);
    assert_eq!(hysteresis(), before);
    // After a kill the next one knows what was there before.
    bench.configure(&batches());
    reload(&bench);
    bench.daemon().kill().expect("killed");
    bench.daemon().wait().expect("gone");
    assert_eq!(hysteresis(), "1");
    bench.start(&[]);
    stop(&bench);
    assert_eq!(hysteresis(), before);
}

/// A turn follows how many stations are busy: the box changes its own classes, and nobody else does.
#[test]
fn turns_of_another_length_are_not_taken_for_changes_by_others() {
    needs_root!();
    let mut bench = Bench::alone(2);
    let _own = Before::of(&bench);
    bench.configure(&format!("batch = \"200 kB\"\n{}", two()));
    bench.start(&[]);
    bench.settle();
    let mut turns = std::collections::BTreeSet::new();
    let mut turn = || turns.insert(bench.json(&["status"])["status"]["pools"][0]["turn_bytes"].as_u64());
    for _ in 0..3 {
        turn();
        in_rows(&bench);
        turn();
        // Idle again.
        std::thread::sleep(Duration::from_millis(1300));
    }
    assert!(turns.len() > 1, "{turns:?}");
    assert_eq!(troubles(&bench), "[]", "{}", bench.log());
}

/// Two boxes of one machine: the first has set the parameter and ends, the second goes on and ends later.
#[test]
fn a_parameter_that_another_box_has_put_back_is_not_left_set() {
    needs_root!();
    let mut bench = Bench::alone(2);
    let own = Before::of(&bench);
    set("1", own.mode);
    bench.configure(&batches());
    bench.start(&[]);
    set("0", own.mode);
    until(5, &bench, || hysteresis() == "1");
    stop(&bench);
    assert_eq!(hysteresis(), "0");
    // Nobody knows what there was before.
    set("0", own.mode);
    bench.start(&[]);
    bench.daemon().kill().expect("killed");
    bench.daemon().wait().expect("gone");
    fs::write(bench.state.join("vsb.json"), "damaged").expect("written");
    let stopped = bench.vsb(&["stop"]);
    let told = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert!(
        !stopped.status.success()
            && told.replace(|sign: char| sign.is_whitespace() || sign == '│', "").contains(PARAMETER),
        "{told}"
    );
}

/// The unit's daemon may not set the parameter, and not even read it: it does not start with batches, and does not begin them.
#[test]
fn who_may_not_set_what_batches_need_refuses_and_changes_nothing() {
    needs_root!();
    needs_tool!("setpriv");
    let mut bench = Bench::alone(2);
    let _own = Before::of(&bench);
    let before = bench.dump();
    let binary = for_nobody(&bench);
    bench.configure(&batches());
    // It cannot be read, and it can, and is not set; who cannot read it does not know that it is set.
    for (value, mode) in [("0", 0o640), ("0", 0o644), ("1", 0o640)] {
        set(value, mode);
        for (command, code) in [("run", 1), ("check", 2)] {
            let refused = nobody(&bench, &binary, command);
            assert_eq!(refused.status.code(), Some(code), "{command}, {value}, {mode:o}");
            names_the_fix(&refused.stderr);
        }
        assert_eq!((bench.dump(), hysteresis().as_str()), (before.clone(), value), "{mode:o}");
    }
    set("0", 0o640);
    bench.configure(&two());
    bench.start_as(&binary, TWO_CAPABILITIES, &[]);
    let shaping = datapath(&bench);
    for mode in [0o640, 0o644] {
        set("0", mode);
        bench.configure(&batches());
        for command in ["reload", "check"] {
            let refused = bench.vsb(&[command]);
            assert!(!refused.status.success(), "{command}, {mode:o}");
            names_the_fix(&refused.stderr);
        }
        assert_eq!(datapath(&bench), shaping, "{mode:o}");
        bench.configure(&two());
        reload(&bench);
    }
    assert!(reaches(&bench));
    stop(&bench);
    assert_eq!((bench.dump(), hysteresis().as_str()), (before, "0"));
}

/// With the drop-in of the documentation the unit's daemon sends batches; the parameter stays as the drop-in has set it.
#[test]
fn who_finds_it_set_and_readable_sends_batches_and_leaves_it_set() {
    needs_root!();
    needs_tool!("setpriv");
    let mut bench = Bench::alone(2);
    let _own = Before::of(&bench);
    let binary = for_nobody(&bench);
    set("0", 0o640);
    let drop_in = drop_in();
    let script = drop_in.lines().find_map(|line| line.strip_prefix("ExecStartPre=+/bin/sh -c '")?.strip_suffix('\''));
    assert!(Command::new("sh").args(["-c", script.expect("a script")]).status().expect("sh").success());
    bench.configure(&batches());
    let check = nobody(&bench, &binary, "check");
    let found = String::from_utf8_lossy(&check.stderr);
    assert!(found.contains(&format!("ok   {PARAMETER} is set")), "{found}");
    bench.start_as(&binary, TWO_CAPABILITIES, &[]);
    let turn = || bench.json(&["status"])["status"]["pools"][0]["turn_bytes"].clone();
    until(5, &bench, || turn() == 24_000);
    assert_eq!(bench.json(&["stations"])["stations"][0]["quantum"], 24_000);
    // Others put it back, and set it again: the box shapes on, and says so meanwhile.
    set("0", 0o644);
    until(5, &bench, || troubles(&bench).contains(PARAMETER));
    assert!(reaches(&bench));
    set("1", 0o644);
    until(5, &bench, || troubles(&bench) == "[]");
    // Without batches it is not the daemon's to put back.
    bench.configure(&two());
    reload(&bench);
    assert_eq!((hysteresis().as_str(), turn()), ("1", 1500.into()));
    bench.configure(&batches());
    reload(&bench);
    stop(&bench);
    assert_eq!(hysteresis(), "1");
}
