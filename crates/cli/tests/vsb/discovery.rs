//! Who gets a class.

use std::time::Duration;

use crate::bench::{Bench, Place, needs_root};
use crate::worker::{down, goodputs, up};

const OPEN: &str = "
[[ap]]
name = \"ap1\"
interface = \"lan\"
capacity = \"20 Mbit/s\"
";

fn names(bench: &Bench) -> Vec<String> {
    let all = bench.json(&["stations"]);
    let list = all["stations"].as_array().expect("a list");
    list.iter().map(|station| station["name"].as_str().expect("text").to_owned()).collect()
}

/// Two devices that nobody named: one with two addresses of each IP version and four connections gets no more than
/// one with a single connection.
#[test]
fn devices_that_nobody_named_share_equally_by_mac_address() {
    needs_root!();
    let mut bench = Bench::new(1);
    bench.configure(OPEN);
    bench.start(&[]);
    let all = [down("10.1.9.9"), down("10.1.9.10"), up("10.1.9.9"), up("10.1.9.10"), down("10.1.0.2")];
    let rates = goodputs(&bench, &all, 4, 4);
    let (other, one): (f64, f64) = (rates[..4].iter().sum(), rates[4]);
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
    let mut bench = Bench::new(1);
    bench.configure(&format!("{OPEN}[discovery]\nneighbours = false\nage = \"3 s\"\n"));
    bench.start(&[]);
    assert!(names(&bench).is_empty());
    goodputs(&bench, &[up("10.1.9.9")], 0, 2);
    assert_eq!(names(&bench).len(), 1);
    std::thread::sleep(Duration::from_secs(12));
    assert!(names(&bench).is_empty(), "{:?}", names(&bench));
    let classes = bench.run(Place::Box, &["tc", "class", "show", "dev", "fairair0"]);
    assert!(!classes.contains("1:1000"), "{classes}");
}

/// Names of devices are anything; none may become a command.
#[test]
fn hostile_names_in_a_lease_file_stay_names() {
    needs_root!();
    let mut bench = Bench::new(1);
    let leases = bench.directory.path().join("leases");
    let touched = bench.directory.path().join("touched");
    let hostile = format!("$(touch${{IFS}}{0});`touch\t{0}`\";}}\u{1b}[2J", touched.display());
    std::fs::write(&leases, format!("0 02:00:5e:10:00:01 10.1.0.77 {hostile} *\n")).unwrap();
    let ap = OPEN.replace("interface", "prefixes = [\"10.1.0.0/16\"]\ninterface");
    bench.configure(&format!("{ap}[discovery]\ndnsmasq = \"{}\"\n", leases.display()));
    bench.start(&[]);
    std::thread::sleep(Duration::from_secs(2));
    let shown = bench.vsb(&["stations"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("10.1.0.77") && !shown.contains('\u{1b}') && !shown.contains('$'), "{shown}");
    assert!(!touched.exists());
}

/// `check` finds what is there, prints what would be done, and does nothing.
#[test]
fn check_changes_nothing() {
    needs_root!();
    let bench = Bench::new(1);
    bench.configure(OPEN);
    let before = bench.dump();
    let check = bench.vsb(&["check"]);
    let (found, commands) = (String::from_utf8_lossy(&check.stderr), String::from_utf8_lossy(&check.stdout));
    assert!(check.status.success(), "{found}");
    assert!(
        found.contains("lan is up") && commands.contains("class add dev fairair0") && commands.contains("table inet")
    );
    assert_eq!(bench.dump(), before);
    bench.configure(&OPEN.replace("\"lan\"", "\"nosuch0\""));
    let check = bench.vsb(&["check"]);
    assert_eq!(check.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&check.stderr).contains("FAIL there is no interface nosuch0"));
}

#[test]
fn who_is_excluded_is_not_shaped_and_told_so() {
    needs_root!();
    let mut bench = Bench::new(1);
    bench.configure(&format!("exclude = [\"10.1.9.9\"]\n{}", OPEN.replace("20 Mbit", "2 Mbit")));
    bench.start(&[]);
    let rates = goodputs(&bench, &[down("10.1.9.9"), down("10.1.0.2")], 1, 2);
    assert!(rates[0] > 20e6 && rates[1] < 2e6, "{rates:?}");
    let explained = bench.vsb(&["explain", "10.1.9.9"]);
    assert!(String::from_utf8_lossy(&explained.stdout).contains("excludes it"));
}
