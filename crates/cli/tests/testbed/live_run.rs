//! `fairair testbed run --box live`: the daemon is the scenario's box.

use std::process::{Command, Stdio};
use std::time::Duration;

use fairair_core::metrics::Report;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{fairair, has_datapath, namespaces, scenario, turn, wait_until};

/// detti2011 Fig. 5, k = 3, shortened; the box comes on after four seconds.
const UPLOADS_AGAINST_DOWNLOADS: &str = r#"
name = "live"
[run]
duration = "32 s"
warmup = "10 s"
replicas = 1
[radio]
rate = "11 Mbit/s"
basic_rate = "2 Mbit/s"
[ap]
queue = { kind = "droptail", limit = 75 }
[tcp]
variant = "reno"
window = 42
[[station]]
name = "one"
beta = 1.2
flows = [{ direction = "up", count = 3 }]
[[station]]
name = "other"
count = 2
beta = 1.2
flows = [{ direction = "down" }]
[enforce]
capacity = "auto"
[[event]]
at = "4 s"
kind = "enforce"
"#;

/// Bytes that an interface has received and sent.
fn counters(namespace: &str, device: &str) -> Option<(u64, u64)> {
    let output = Command::new("ip").args(["netns", "exec", namespace, "cat", "/proc/net/dev"]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'))?;
    let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    Some((*fields.first()?, *fields.get(8)?))
}

/// Whether the testbed of a process has gone.
fn is_gone(process: u32) -> bool {
    let prefix = format!("fairair-tb-{process:x}-");
    !namespaces().iter().any(|name| name.starts_with(&prefix))
}

/// Claim: the daemon makes three uploads of one station equal to a download each of others, which they are by far not
/// without it; its decisions come back with the scenario's times; and goodput is what the stations' interfaces count.
#[test]
fn the_live_box_shapes_a_run_and_its_decisions_come_back() {
    let Some(_turn) = turn("the_live_box_shapes_a_run_and_its_decisions_come_back") else { return };
    if !has_datapath("the_live_box_shapes_a_run_and_its_decisions_come_back") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = scenario(&directory, UPLOADS_AGAINST_DOWNLOADS);
    let run = fairair()
        .args(["testbed", "run", "--box", "live", "--ping", "0 s", "--format", "json"])
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let id = run.id();
    let own = |station: usize| format!("fairair-tb-{id:x}-s{station}");
    wait_until("all flows are at work", || {
        [1, 2, 3].iter().all(|station| {
            counters(&own(*station), "wlan0").is_some_and(|(received, sent)| received.max(sent) > 50_000)
        })
    });
    // Interfaces are looked at twice within the measured time: it began seconds before, and ends seconds later.
    std::thread::sleep(Duration::from_secs(12));
    let look = || [1, 2, 3].map(|station| counters(&own(station), "wlan0").expect("the run is not over"));
    let (first, begin) = (look(), std::time::Instant::now());
    std::thread::sleep(Duration::from_secs(10));
    let (second, seconds) = (look(), begin.elapsed().as_secs_f64());
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success());
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    let level = report.indices.fairness_level_first_station.mean.unwrap();
    assert!((0.9..1.1).contains(&level), "level {level:.3}");
    let testbed = report.testbed.unwrap();
    assert_eq!(testbed.which_box.as_deref(), Some("live"));
    let trace = report.enforce.unwrap().trace;
    assert!(trace.at_s.len() > 5 && trace.at_s.is_sorted(), "{:?}", trace.at_s);
    assert!(trace.at_s[0] >= 4.0 && *trace.at_s.last().unwrap() <= 32.0, "{:?}", trace.at_s);
    assert!(trace.state.iter().any(|state| state == "run"), "{:?}", trace.state);
    let c = *trace.capacity_bps.last().unwrap() as f64 / 1e6;
    assert!((4.0..6.0).contains(&c), "C = {c:.2} Mbit/s of about 5.2");
    let probes = testbed.probes.unwrap();
    assert!(probes.answered > 20 && probes.p95_s.unwrap() < 0.1, "{probes:?}");
    // Data of the station with uploads leave it, data of the others reach them; 1448 of 1514 bytes of a frame are data.
    for (index, station) in report.stations.iter().enumerate() {
        let (received, sent) = (second[index].0 - first[index].0, second[index].1 - first[index].1);
        let data = if index == 0 { sent } else { received };
        let counted = data as f64 * 8.0 / seconds * 1448.0 / 1514.0;
        let goodput = station.goodput_bps.mean.unwrap();
        println!("{}: {goodput:.0} bit/s acknowledged, {counted:.0} by its interface", station.name);
        assert!((counted / goodput - 1.0).abs() < 0.08, "{}: {goodput:.0} against {counted:.0}", station.name);
    }
    assert!(is_gone(id), "nothing is left behind");
}

/// Claim: a run that is killed leaves no daemon, and `clean` removes its namespaces with what the daemon had added.
#[test]
fn a_killed_run_takes_its_daemon_with_it() {
    let Some(_turn) = turn("a_killed_run_takes_its_daemon_with_it") else { return };
    if !has_datapath("a_killed_run_takes_its_daemon_with_it") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = scenario(&directory, &UPLOADS_AGAINST_DOWNLOADS.replace("at = \"4 s\"", "at = \"1 s\""));
    let mut run = fairair().args(["testbed", "run", "--box", "live"]).arg(&file).stdout(Stdio::null()).spawn().unwrap();
    let daemons = || {
        let output = Command::new("pgrep").args(["-P", &run.id().to_string(), "-f", "vsb run"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    wait_until("the daemon comes", || !daemons().is_empty());
    let daemon = daemons().remove(0);
    let id = run.id();
    kill(Pid::from_raw(i32::try_from(id).unwrap()), Signal::SIGKILL).unwrap();
    run.wait().unwrap();
    // A dead process has a name until somebody asks how it ended.
    let state = || std::fs::read_to_string(format!("/proc/{daemon}/stat")).unwrap_or_default();
    wait_until("the daemon goes with the run", || {
        let now = state();
        now.is_empty() || now.contains(") Z ")
    });
    assert!(fairair().args(["testbed", "clean"]).output().unwrap().status.success());
    assert!(is_gone(id), "nothing is left behind");
}

/// A C that does not fit the cell is a result, and the run does not fail for it.
#[test]
fn what_the_live_box_reports_of_its_capacity_comes_back() {
    let Some(_turn) = turn("what_the_live_box_reports_of_its_capacity_comes_back") else { return };
    if !has_datapath("what_the_live_box_reports_of_its_capacity_comes_back") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let text = "name = \"high\"\n[run]\nduration = \"22 s\"\nwarmup = \"5 s\"\nreplicas = 1\n[ap]\n\
                queue = { kind = \"droptail\", limit = 75 }\n[enforce]\ncapacity = \"8 Mbit/s\"\n[[station]]\nname = \"a\"\ncount = 3\n\
                flows = [{ direction = \"down\" }]\n";
    let file = scenario(&directory, text);
    let mut command = fairair();
    command.args(["testbed", "run", "--box", "live", "--ping", "0 s", "--format", "json"]).arg(&file);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report.testbed.unwrap().findings;
    assert!(findings.len() == 1 && findings[0].contains("above what the cell carries"), "{findings:?}");
}

/// Claim: what the kernel's box cannot be is refused before anything is built.
#[test]
fn a_live_box_needs_a_box_in_the_scenario() {
    let directory = tempfile::tempdir().unwrap();
    let (bare, _) = UPLOADS_AGAINST_DOWNLOADS.split_once("[enforce]").unwrap();
    let output = fairair().args(["testbed", "run", "--box", "live"]).arg(scenario(&directory, bare)).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("add [enforce] to the scenario"), "{message}");
}
