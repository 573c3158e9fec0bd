//! The dashboard beside a live box.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{ONE, datapath, until};

const AT: &str = "127.0.0.1:8080";

/// The status line, and the body, of the answer to a request from within the box; empty when nobody answers.
fn told(bench: &Bench, head: &str, body: &str) -> (String, String) {
    let text = format!(
        "{head}\r\nHost: {AT}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = bench.inside(Place::Box, || {
        let Ok(mut stream) = TcpStream::connect(AT) else { return String::new() };
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        let mut answer = String::new();
        // A dashboard that is killed in between takes no request.
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
        answer
    });
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

fn look(bench: &Bench) -> String {
    told(bench, "GET /api/look HTTP/1.1", "").1
}

/// Process ids of the dashboards that serve this bench.
fn dashboards(bench: &Bench) -> Vec<i32> {
    let listed = bench
        .run(Place::Box, &["pgrep", "-f", &format!("vsb dashboard --attached {}", bench.directory.path().display())]);
    listed.lines().filter_map(|line| line.parse().ok()).collect()
}

/// `dashboard = ...` starts it; it shows the box; with the token it sets a cap, which the kernel has and the journal
/// names; killed with -9 it leaves the datapath as it is and comes again.
#[test]
fn the_dashboard_shows_and_changes_the_box_and_its_death_changes_nothing() {
    needs_root!();
    let mut bench = Bench::light(1);
    let journal = bench.directory.path().join("journal.db");
    bench.configure(&format!("dashboard = \"{AT}\"\n{ONE}[journal]\nfile = \"{}\"\n", journal.display()));
    bench.start(&[]);
    until(20, &bench, || look(&bench).contains("\"name\":\"a\""));
    let before = datapath(&bench);
    let id = dashboards(&bench)[0];
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGKILL).expect("killed");
    until(5, &bench, || look(&bench).is_empty());
    assert_eq!(datapath(&bench), before);
    assert!(bench.vsb(&["status"]).status.success());
    until(20, &bench, || look(&bench).contains("\"name\":\"a\""));

    let cap = r#"{"do":"set","station":"a","cap":"4 Mbit/s"}"#;
    let (refused, _) = told(&bench, "POST /api/change HTTP/1.1", cap);
    assert!(refused.contains("403"), "{refused}");
    let token = std::fs::read_to_string(bench.state.join("dashboard.token")).expect("a token");
    let (done, body) = told(&bench, &format!("POST /api/change HTTP/1.1\r\nX-FairAir-Token: {token}"), cap);
    assert!(done.contains("200"), "{done} {body}");
    assert_eq!(bench.json(&["stations"])["stations"][0]["cap"], "4 Mbit/s");
    let past = || told(&bench, "GET /api/history/hour HTTP/1.1", "").1;
    // The journal writes every ten seconds.
    until(20, &bench, || past().contains("set-station") && past().contains("4 Mbit/s"));

    let (stopped, _) =
        told(&bench, &format!("POST /api/change HTTP/1.1\r\nX-FairAir-Token: {token}"), r#"{"do":"stop"}"#);
    assert!(stopped.contains("200"), "{stopped}");
    // The page ends with its daemon.
    until(10, &bench, || told(&bench, "GET / HTTP/1.1", "").0.is_empty());
}

/// Ctrl-C and systemd end the dashboard with the box: the log does not say that the shaping goes on.
#[test]
fn a_stop_of_both_is_no_end_of_the_dashboard_alone() {
    needs_root!();
    let mut bench = Bench::light(1);
    bench.configure(&format!("dashboard = \"{AT}\"\n{ONE}"));
    bench.start(&[]);
    until(20, &bench, || look(&bench).contains("\"name\":\"a\""));
    for id in [dashboards(&bench)[0], bench.daemon().id() as i32] {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGTERM).expect("ended");
        // It is seen to have ended before the box stops.
        std::thread::sleep(Duration::from_millis(100));
    }
    bench.daemon().wait().expect("ended");
    let log = bench.log();
    assert!(log.contains("stopped; everything") && !log.contains("the dashboard ended"), "{log}");
}

/// The page of the first one has the address: that is not why the second one does not run.
#[test]
fn a_second_run_blames_the_first_one_alone() {
    needs_root!();
    let mut bench = Bench::light(1);
    bench.configure(&format!("dashboard = \"{AT}\"\n{ONE}"));
    bench.start(&[]);
    until(20, &bench, || look(&bench).contains("\"name\":\"a\""));
    let second = bench.vsb(&["run"]);
    let told = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.code() == Some(1) && told.contains("another fairair vsb runs"), "{told}");
    assert!(!told.contains("cannot listen") && !told.contains("dashboard"), "{told}");
}

/// A dashboard in a process that nobody attached to the daemon says when there is none.
#[test]
fn without_a_daemon_it_says_so() {
    needs_root!();
    let bench = Bench::light(1);
    bench.configure(ONE);
    let config = bench.config();
    let words = [env!("CARGO_BIN_EXE_fairair"), "vsb", "dashboard", "--no-browser", config.to_str().expect("text")];
    let mut command = bench.command(Place::Box, &words);
    let mut dashboard: Child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until_answers(&bench);
    let (status, body) = told(&bench, "GET /api/look HTTP/1.1", "");
    dashboard.kill().expect("killed");
    dashboard.wait().expect("ended");
    assert!(status.contains("503") && body.contains("no daemon runs"), "{status} {body}");
}

#[track_caller]
fn until_answers(bench: &Bench) {
    for _ in 0..100 {
        if told(bench, "GET / HTTP/1.1", "").0.contains("200") {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the dashboard does not answer");
}
