//! `fairair vsb check`: what it says is what `run` and `reload` then do.

use std::collections::BTreeSet;

use crate::bench::{Bench, Place, needs_root};
use crate::operator::until;

const OPEN: &str = "
[[ap]]
name = \"ap1\"
interface = \"lan\"
capacity = \"20 Mbit/s\"
[discovery]
neighbours = false
first_sight = false
";
const DESK: &str = "[[station]]\nname = \"desk\"\naddresses = [\"10.1.0.2\", \"fd01::2\"]\n";
const NOTHING: &str = "# nothing\n\n# What that changes: + would be added, - would be removed\n# nothing\n";

/// What it found, and the commands and differences that it prints.
fn check(bench: &Bench) -> (String, String, Option<i32>) {
    let check = bench.vsb(&["check"]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&check.stderr), text(&check.stdout), check.status.code())
}

/// Lines of the differences that begin with `sign`, but for titles.
fn lines(printed: &str, sign: char) -> Vec<&str> {
    let changes = printed.split("# What that changes").nth(1).expect("differences");
    changes
        .lines()
        .skip(1)
        .filter(|line| line.starts_with(sign) && !line.starts_with(&sign.to_string().repeat(3)))
        .collect()
}

/// `check` finds what is there, prints what would be done, and does nothing.
#[test]
fn check_changes_nothing() {
    needs_root!();
    let bench = Bench::light(1);
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
    let found = String::from_utf8_lossy(&check.stderr);
    assert!(found.contains("FAIL there is no interface nosuch0: name interfaces that `ip link` shows"), "{found}");
    assert_eq!(found.matches("FAIL").count(), 1, "{found}");
    bench.configure(&OPEN.replace("\"lan\"", "\"lo\""));
    let check = bench.vsb(&["check"]);
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn what_run_would_add_is_all_new_and_then_nothing_is() {
    needs_root!();
    let mut bench = Bench::light(1);
    bench.configure(&format!("{OPEN}{DESK}"));
    // Filters of the operator's own shift the numbers of ours.
    bench.run(Place::Box, &["tc", "qdisc", "add", "dev", "wan", "clsact"]);
    let own = "tc filter add dev wan egress protocol ip pref 10 u32 match ip dst 192.0.2.1/32 action mirred egress mirror dev lo";
    bench.run(Place::Box, &own.split(' ').collect::<Vec<_>>());
    let before = bench.dump();
    let (found, printed, code) = check(&bench);
    assert_eq!(code, Some(0), "{found}");
    assert!(
        found.contains("in an empty network namespace") && found.contains("nothing of ours is in the kernel"),
        "{found}"
    );
    assert!(printed.contains("+\t\t10.1.0.2 : 1:1000") && printed.contains("rate 20Mbit"), "{printed}");
    assert_eq!(lines(&printed, '-'), [""; 0], "{printed}");
    assert_eq!(bench.dump(), before);
    bench.start(&[]);
    let (found, printed, code) = check(&bench);
    assert!(code == Some(0) && found.contains("a daemon runs"), "{found}");
    assert_eq!(printed, NOTHING);
}

#[test]
fn what_reload_would_change_is_shown_and_then_done() {
    needs_root!();
    let bench = Bench::shaping_light(1, &format!("{OPEN}{DESK}"));
    let before = bench.dump();
    let guest = "[[station]]\nname = \"guest\"\naddresses = [\"10.1.9.9\"]\ncap = \"1 Mbit/s\"\n";
    bench.configure(&format!("{}{}{guest}", OPEN.replace("20 Mbit", "3 Mbit"), DESK.replace(", \"fd01::2\"", "")));
    let (found, printed, code) = check(&bench);
    assert_eq!(code, Some(0), "{found}");
    assert!(printed.contains("class change dev fairair0 parent 1: classid 1:11 htb rate 3000000bit"), "{printed}");
    let (gone, new) = (lines(&printed, '-'), lines(&printed, '+'));
    assert!(
        gone.iter().any(|line| line.contains("rate 20Mbit")) && gone.contains(&"-\t\tfd01::2 : 1:1000"),
        "{gone:#?}"
    );
    assert!(new.iter().any(|line| line.contains("rate 3Mbit")) && new.contains(&"+\t\t10.1.9.9 : 1:1010"), "{new:#?}");
    assert!(!printed.contains("+class htb 1:1000"), "the desk's class stays\n{printed}");
    assert_eq!(bench.dump(), before, "nothing was done");
    assert!(bench.vsb(&["reload"]).status.success());
    assert_eq!(check(&bench).1, NOTHING, "what was shown is what was done");
    // What others took away is seen, too, unless the daemon was faster: it mends that within a second.
    let is_seen = |_| {
        bench.run(Place::Box, &["nft", "delete", "element", "inet", "fairair", "class4", "{ 10.1.9.9 : 1:1010 }"]);
        lines(&check(&bench).1, '+') == ["+\t\t10.1.9.9 : 1:1010"]
    };
    assert!((0..20).any(is_seen));
}

#[test]
fn what_a_daemon_would_refuse_is_told_and_what_a_killed_one_left_is_compared() {
    needs_root!();
    let mut bench = Bench::shaping_light(1, &format!("{OPEN}{DESK}"));
    bench.configure(&format!("metrics = \"127.0.0.1:9477\"\n{OPEN}{DESK}"));
    let (found, _, code) = check(&bench);
    assert!(code == Some(2) && found.contains("would refuse to reload: `metrics` cannot change"), "{found}");
    bench.daemon().kill().unwrap();
    bench.daemon().wait().unwrap();
    let (found, printed, code) = check(&bench);
    assert!(code == Some(0) && found.contains("no daemon answers"), "{found}");
    assert!(lines(&printed, '+').is_empty() && lines(&printed, '-').is_empty(), "{printed}");
    bench.configure(&OPEN.replace("20 Mbit", "2 Mbit"));
    let (_, printed, _) = check(&bench);
    assert!(lines(&printed, '-').contains(&"-\t\t10.1.0.2 : 1:1000"), "{printed}");
}

/// What the kernel would refuse is found before: here a queue discipline that it lacks.
#[test]
fn what_the_kernel_refuses_is_found() {
    needs_root!();
    let bench = Bench::light(1);
    bench.configure(&format!("leaf = \"fq_codel\"\n{OPEN}"));
    let probe = ["tc", "qdisc", "add", "dev", "lan", "root", "fq_codel"];
    let has_it = bench.command(Place::Box, &probe).output().expect("tc").status.success();
    let (found, _, code) = check(&bench);
    assert_eq!(code, Some(if has_it { 0 } else { 2 }), "{found}");
    assert_eq!(found.contains("FAIL rehearsal in an empty network namespace: tc refused"), !has_it, "{found}");
    assert_eq!(found.contains("write leaf = \"auto\""), !has_it, "{found}");
}

/// A reload that the kernel refuses is found out before anything changes: no queue is lost, and nobody else is blamed.
#[test]
fn a_reload_that_the_kernel_refuses_takes_no_queue() {
    needs_root!();
    let mut bench = Bench::light(1);
    bench.configure(&format!("{OPEN}{DESK}"));
    bench.start(&[]);
    // The kernel numbers those that are made anew.
    let queues = || {
        let shown = bench.run(Place::Box, &["tc", "qdisc", "show", "dev", "fairair0"]);
        shown.lines().filter(|line| line.contains("bfifo")).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    until(8, &bench, || [" 2002:17", " 2101:17"].iter().all(|own| queues().iter().any(|line| line.contains(own))));
    let before = queues();
    bench.configure(&format!("leaf = \"fq_codel\"\n{OPEN}{DESK}"));
    let probe = ["tc", "qdisc", "add", "dev", "lan", "root", "fq_codel"];
    let has_it = bench.command(Place::Box, &probe).output().expect("tc").status.success();
    let reload = bench.vsb(&["reload"]);
    let told = String::from_utf8_lossy(&reload.stderr).into_owned();
    assert_eq!(reload.status.success(), has_it, "{told}");
    assert_eq!(told.contains("leaf = \"auto\""), !has_it, "{told}");
    assert_eq!(queues() == before, !has_it, "{:?}", queues());
    std::thread::sleep(std::time::Duration::from_secs(12));
    assert!(!bench.log().contains("by others"), "{}", bench.log());
    assert!(!bench.dump().contains("fairair-try"));
}

/// In routed mode a port of a bridge carries what is bridged unseen: `check` fails, and `run` refuses.
#[test]
fn a_port_in_routed_mode_is_told_with_both_remedies() {
    needs_root!();
    let bench = Bench::light(1);
    bench.configure(&OPEN.replace("\"lan\"", "\"lan0\""));
    let (found, _, code) = check(&bench);
    assert!(
        code == Some(2) && found.contains("FAIL lan0 is a port of lan") && found.contains("name lan in place of lan0"),
        "{found}"
    );
    let run = bench.vsb(&["run"]);
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && told.contains("write `mode = \"bridged\"`"), "{told}");
}

/// In bridged mode interfaces of no bridge, or of two, carry nothing that could be shaped: `check` fails, `run` refuses, and a port that
/// leaves its bridge is told.
#[test]
fn ports_that_are_not_of_one_bridge_are_told_with_the_remedy() {
    needs_root!();
    let mut bench = Bench::light(1);
    bench.configure(&format!("mode = \"bridged\"\n{}", OPEN.replace("\"lan\"", "\"lan0\"")));
    let faults = [
        ("wan is a port of no bridge", "`ip link set wan master lan`"),
        ("lan0 is a port of lan", "`ip link set lan0 master br9`"),
    ];
    for (fault, remedy) in faults {
        let (found, _, code) = check(&bench);
        assert!(code == Some(2) && found.contains(&format!("FAIL {fault}")) && found.contains(remedy), "{found}");
        let run = bench.vsb(&["run"]);
        let told = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && told.contains(remedy), "{told}");
        // The second time it is a port of another bridge.
        bench.run(Place::Box, &["bash", "-c", "ip link add br9 type bridge 2>/dev/null; ip link set wan master br9"]);
    }
    bench.bridge();
    assert_eq!(check(&bench).2, Some(0), "{}", check(&bench).0);
    bench.start(&[]);
    let told = || bench.json(&["status"])["status"]["troubles"].to_string();
    assert_eq!(told(), "[]");
    bench.run(Place::Box, &["ip", "link", "set", "lan0", "nomaster"]);
    crate::operator::until(20, &bench, || told().contains("lan0 is a port of no bridge"));
    bench.run(Place::Box, &["ip", "link", "set", "lan0", "master", "lan"]);
    crate::operator::until(20, &bench, || told() == "[]");
}
