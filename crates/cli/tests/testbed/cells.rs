//! Cells that stand: any program on their hosts, and nothing left behind however they end.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{await_listener, fairair, scenario, turn, wait_until};

/// Two stations, one of them slow.
const TWO_STATIONS: &str = r#"
name = "two"
[run]
duration = "60 s"
[wire]
delay = "20 ms"
[[station]]
name = "near"
flows = [{ direction = "down" }]
[[station]]
name = "far"
rate = "2 Mbit/s"
"#;

/// Runs `fairair testbed` with arguments, which must succeed.
#[track_caller]
fn testbed(arguments: &[&str]) -> String {
    let output = fairair().arg("testbed").args(arguments).output().unwrap();
    said(&output)
}

#[track_caller]
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Builds a cell and tells its id.
#[track_caller]
fn up(file: &Path) -> String {
    let text = testbed(&["up", file.to_str().unwrap()]);
    text.split_whitespace().nth(1).expect("cell ID (NAME) is up").to_owned()
}

/// Names of a cell's namespaces.
fn namespaces_of(id: &str) -> Vec<String> {
    fairair_linux::netns::names(&format!("fairair-tb-{id}-"))
}

/// The process of a cell.
fn process_of(id: &str) -> Pid {
    let entry = fairair_linux::emulate::standing().into_iter().find(|entry| entry.id == id).expect("it stands");
    Pid::from_raw(i32::try_from(entry.pid).unwrap())
}

/// Claim: any program runs on any host over ARP, ND, IPv4, IPv6 and the wire's delay; stations reach each other through
/// the AP; the exit code is the program's; two cells do not see each other; `down` leaves nothing.
#[test]
fn programs_run_on_the_hosts_of_two_cells_at_once() {
    let Some(_turn) = turn("programs_run_on_the_hosts_of_two_cells_at_once") else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = scenario(&directory, TWO_STATIONS);
    let (first, second) = (up(&file), up(&file));
    for id in [&first, &second] {
        for (host, to) in [
            ("near", "10.1.0.2"),
            ("near", "fd00:fa:0:1::2"),
            ("near", "10.0.0.12"),
            ("far", "fd00:fa::b"),
            ("host", "10.0.0.12"),
        ] {
            testbed(&["exec", host, "--id", id, "--", "ping", "-n", "-c", "3", "-i", "0.2", to]);
        }
        let neighbours = testbed(&["exec", "near", "--id", id, "--", "ip", "neighbour"]);
        assert!(neighbours.contains("10.0.0.12") && neighbours.contains("fd00:fa::1"), "{neighbours}");
        let text = testbed(&["exec", "near", "--id", id, "--", "ping", "-n", "-c", "3", "-i", "0.2", "10.1.0.2"]);
        let shortest = text.rsplit("= ").next().and_then(|sums| sums.split('/').next()).unwrap();
        let shortest: f64 = shortest.parse().unwrap();
        assert!(shortest >= 40.0, "the wire alone takes 2 x 20 ms, but a ping took {shortest} ms");
    }
    let output =
        fairair().args(["testbed", "exec", "near", "--id", &first, "--", "sh", "-c", "exit 7"]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    testbed(&["down", &first]);
    assert_eq!(namespaces_of(&first), Vec::<String>::new());
    testbed(&["exec", "near", "--id", &second, "--", "ping", "-n", "-c", "1", "10.1.0.2"]);
    testbed(&["down", &second]);
    assert_eq!(namespaces_of(&second), Vec::<String>::new());
}

/// Claim: SIGINT and SIGTERM take a cell down, `clean` removes what SIGKILL left, and neither touches another's cell.
#[test]
fn a_cell_that_ends_in_any_way_leaves_nothing_behind() {
    let Some(_turn) = turn("a_cell_that_ends_in_any_way_leaves_nothing_behind") else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = scenario(&directory, TWO_STATIONS);
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let id = up(&file);
        assert_eq!(namespaces_of(&id).len(), 5, "host, gw, box and two stations");
        kill(process_of(&id), signal).unwrap();
        wait_until("the cell goes", || namespaces_of(&id).is_empty());
    }
    let (killed, other) = (up(&file), up(&file));
    kill(process_of(&killed), Signal::SIGKILL).unwrap();
    wait_until("the process is gone", || !fairair_linux::emulate::standing().iter().any(|entry| entry.id == killed));
    assert_eq!(namespaces_of(&killed).len(), 5, "nobody took it down");
    testbed(&["clean"]);
    assert_eq!(namespaces_of(&killed), Vec::<String>::new());
    testbed(&["exec", "near", "--id", &other, "--", "ping", "-n", "-c", "1", "10.1.0.2"]);
    testbed(&["down", &other]);
}

/// Claim: a run that is interrupted takes its namespaces and programs with it and says so with its exit code; when nothing was
/// measured yet, an earlier result stays.
#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let Some(_turn) = turn("an_interrupted_run_leaves_nothing_behind") else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = scenario(&directory, TWO_STATIONS);
    let out = directory.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("table.txt"), "an earlier result").unwrap();
    let mut command = fairair();
    command.args(["testbed", "run", "--out"]).arg(&out).arg(file).stdout(std::process::Stdio::null());
    let mut run = command.spawn().unwrap();
    let prefix = format!("{:x}", run.id());
    wait_until("it stands", || namespaces_of(&prefix).len() == 5);
    std::thread::sleep(Duration::from_secs(2));
    kill(Pid::from_raw(i32::try_from(run.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(namespaces_of(&prefix), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(out.join("table.txt")).unwrap(), "an earlier result");
    let pids = Command::new("pgrep").args(["-P", &run.id().to_string()]).output();
    assert!(pids.is_ok_and(|output| output.stdout.is_empty()), "no program is left");
}

/// Claim: with `--uplink driver` a sender's socket owns what waits for the radio, so that TCP small queues holds it
/// back; with `deep` it owns nothing of that and the whole window waits in the station's queue.
#[test]
fn back_pressure_reaches_the_socket_in_driver_mode_only() {
    let Some(_turn) = turn("back_pressure_reaches_the_socket_in_driver_mode_only") else { return };
    let directory = tempfile::tempdir().unwrap();
    let text = TWO_STATIONS.replace(
        "[[station]]\nname = \"near\"",
        "[radio]\nrate = \"1 Mbit/s\"\nbasic_rate = \"1 Mbit/s\"\n[[station]]\nname = \"near\"",
    );
    let file = scenario(&directory, &text);
    let owned = |mode: &str| -> u64 {
        let text = testbed(&["up", file.to_str().unwrap(), "--uplink", mode]);
        let id = text.split_whitespace().nth(1).unwrap().to_owned();
        let host = |host: &str, command: &[&str]| {
            fairair().args(["testbed", "exec", host, "--id", &id, "--"]).args(command).spawn().unwrap()
        };
        let mut server = host("host", &["iperf3", "-s", "-1", "-p", "5201"]);
        await_listener(&id, "5201");
        let mut client = host("near", &["iperf3", "-c", "10.1.0.2", "-p", "5201", "-t", "30", "-C", "reno"]);
        let (mut most, mut looks) = (0, 0);
        let deadline = Instant::now() + Duration::from_secs(20);
        while looks < 10 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(500));
            let sockets = testbed(&["exec", "near", "--id", &id, "--", "ss", "-tnmH", "dport", "=", "5201"]);
            // iperf3's control connection, and that of the data.
            looks += u32::from(sockets.matches("ESTAB").count() == 2);
            // skmem:(r0,rb131072,t4608,...): t is what the socket owns in the layers below TCP.
            let owns = sockets.split(",t").skip(1).filter_map(|rest| rest.split(',').next()?.parse::<u64>().ok());
            most = most.max(owns.max().unwrap_or_default());
        }
        let _ = (client.kill(), server.kill());
        let _ = (client.wait(), server.wait());
        testbed(&["down", &id]);
        assert!(looks > 5, "the upload was at work in {looks} looks only");
        most
    };
    let (deep, driver) = (owned("deep"), owned("driver"));
    assert_eq!(deep, 0, "a TAP takes frames off their socket");
    assert!(driver > 0 && driver < 40_000, "a few frames of about 2300 bytes of memory each, not {driver} bytes");
}

/// Claim: iperf3's own count agrees with the simulator: the goodput of a lone upload, for which the emulation is one of two
/// witnesses only.
#[test]
fn iperf3_measures_by_itself_what_the_simulator_says() {
    let Some(_turn) = turn("iperf3_measures_by_itself_what_the_simulator_says") else { return };
    let directory = tempfile::tempdir().unwrap();
    let lone = "name = \"lone\"\n[run]\nduration = \"20 s\"\nreplicas = 2\n[[station]]\nname = \"near\"\n\
                flows = [{ direction = \"up\" }]\n";
    let file = scenario(&directory, lone);
    let output = fairair().args(["run", "--format", "json"]).arg(&file).output().unwrap();
    let simulated: fairair_core::metrics::Report = serde_json::from_str(&said(&output)).unwrap();
    let id = up(&file);
    let mut server = fairair();
    server
        .args(["testbed", "exec", "host", "--id", &id, "--", "nice", "-n", "-15", "iperf3", "-s", "-1", "-p", "5999"]);
    let mut server = server.stdout(std::process::Stdio::null()).spawn().unwrap();
    await_listener(&id, "5999");
    // Ahead of the machine's other work, as in a run: who computes late is not what is measured.
    let client =
        ["nice", "-n", "-15", "iperf3", "-c", "10.1.0.2", "-p", "5999", "-t", "6", "-O", "1", "-w", "60K", "-J"];
    let text = testbed(&[&["exec", "near", "--id", &id, "--"][..], &client[..]].concat());
    let _ = (server.kill(), server.wait());
    testbed(&["down", &id]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let measured = json["end"]["sum_received"]["bits_per_second"].as_f64().expect("iperf3's sum");
    let error = measured / simulated.totals.goodput_bps.mean.unwrap() - 1.0;
    assert!(error.abs() < 0.08, "iperf3 and the simulator differ by {:.1} %", error * 100.0);
}
