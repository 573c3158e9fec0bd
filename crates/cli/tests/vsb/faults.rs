//! What goes wrong, and what must hold all the same.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root, needs_tool};
use crate::operator::{ONE, furnished, in_box, reaches, stop, troubles, until};
use crate::worker::{down, goodputs};

#[test]
fn stop_restores_byte_for_byte() {
    needs_root!();
    let (mut bench, before) = furnished();
    assert!(bench.dump().contains("table inet fairair") && bench.dump().contains("fairair0"));
    assert!(reaches(&bench));
    stop(&bench);
    assert_eq!(bench.dump(), before);
    assert!(bench.daemon().wait().unwrap().success());
}

#[test]
fn sigterm_restores_too() {
    needs_root!();
    let (mut bench, before) = furnished();
    let id = bench.daemon().id().to_string();
    bench.run(Place::Box, &["kill", "-TERM", &id]);
    assert!(bench.daemon().wait().unwrap().success(), "{}", bench.log());
    assert_eq!(bench.dump(), before);
}

#[test]
fn a_second_instance_refuses_and_changes_nothing() {
    needs_root!();
    let bench = Bench::shaping_light(1, ONE);
    let before = bench.dump();
    let second = bench.vsb(&["run"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another fairair vsb"));
    assert_eq!(bench.dump(), before);
}

#[test]
fn after_kill_9_traffic_goes_on_and_the_next_run_or_stop_cleans_up() {
    needs_root!();
    let (mut bench, before) = furnished();
    bench.daemon().kill().unwrap();
    bench.daemon().wait().unwrap();
    assert!(bench.dump().contains("fairair0"), "what was there stays");
    assert!(reaches(&bench), "and passes packets");
    let status = bench.vsb(&["status"]);
    let told = String::from_utf8_lossy(&status.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status.status.code() == Some(1) && told.contains("the kernel still shapes"), "{told}");
    bench.start(&[]);
    assert!(bench.log().contains("without cleaning up"), "{}", bench.log());
    assert!(reaches(&bench));
    bench.daemon().kill().unwrap();
    bench.daemon().wait().unwrap();
    stop(&bench);
    assert_eq!(bench.dump(), before);
    assert!(!bench.state.join("vsb.sock").exists());
}

#[test]
fn a_broken_configuration_on_reload_changes_nothing_and_is_told() {
    needs_root!();
    let bench = Bench::shaping_light(1, ONE);
    let before = bench.dump();
    for (broken, told) in [
        (ONE.replace("capacity", "capasity"), "did you mean `capacity`"),
        (ONE.replace("\"lan\"", "\"nosuch0\""), "no interface nosuch0"),
        (
            format!(
                "mode = \"bridged\"\n{}",
                ONE.replace("addresses = [\"10.1.0.2\", \"fd01::2\"]", "mac = \"02:00:5e:10:00:01\"")
            ),
            "cannot change",
        ),
    ] {
        bench.configure(&broken);
        let reload = bench.vsb(&["reload"]);
        let words = String::from_utf8_lossy(&reload.stderr).replace('│', "");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!reload.status.success() && words.contains(told), "{words}");
        // Who asks learns what runs now, and the log keeps that it was tried.
        assert!(words.contains("goes on with the configuration that it had"), "{words}");
        let logged = bench.log();
        assert!(logged.lines().any(|line| line.contains("stays as it was") && line.contains(told)), "{logged}");
        assert_eq!(bench.dump(), before);
    }
    bench.configure(&ONE.replace("20 Mbit/s", "3 Mbit/s"));
    assert!(bench.vsb(&["reload"]).status.success());
    assert!(in_box(&bench, "tc class show dev fairair0").contains("rate 3Mbit"));
}

#[test]
fn what_nobody_confirms_is_taken_back() {
    needs_root!();
    let mut bench = Bench::light(1);
    let before = bench.dump();
    bench.configure(ONE);
    // Long enough for the daemon to answer before.
    bench.start(&["--confirm-within", "5s"]);
    let ended = bench.daemon().wait().unwrap();
    assert_eq!(ended.code(), Some(1), "{}", bench.log());
    assert_eq!(bench.dump(), before);
    bench.start(&["--confirm-within", "5s"]);
    assert!(bench.vsb(&["confirm"]).status.success());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(8) {
        assert!(bench.daemon().try_wait().unwrap().is_none(), "it was confirmed");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The terminal is closed, or `head` has read enough: the case for which there is `--confirm-within`.
#[test]
fn what_nobody_confirms_is_taken_back_though_nobody_reads_the_log() {
    needs_root!();
    let mut bench = Bench::light(1);
    let before = bench.dump();
    bench.configure(ONE);
    bench.start_by(&["bash", "-c", r#"exec "$0" "$@" 2> >(exit)"#], &["--confirm-within", "5s"]);
    let id = bench.daemon().id().to_string();
    bench.run(Place::Box, &["kill", "-HUP", &id]);
    let ended = bench.daemon().wait().unwrap();
    assert_eq!(ended.code(), Some(1));
    assert_eq!(bench.dump(), before);
}

#[test]
fn a_start_that_fails_leaves_nothing() {
    needs_root!();
    let bench = Bench::light(1);
    bench.configure(&ONE.replace("\"lan\"", "\"nosuch0\""));
    let before = bench.dump();
    let run = bench.vsb(&["run"]);
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(bench.dump(), before);
    assert!(bench.vsb(&["status"]).status.code() == Some(1), "nobody is there");
}

#[test]
fn without_a_journal_shaping_goes_on_and_the_trouble_is_told() {
    needs_root!();
    let bench = Bench::shaping_light(1, &format!("{ONE}[journal]\nfile = \"/nonexistent/journal.db\"\n"));
    assert!(reaches(&bench));
    let status = bench.vsb(&["status"]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("TROUBLE: journal /nonexistent/journal.db"));
}

/// The socket is for its owner and group, and rubbish on it neither stops nor changes anything.
#[test]
fn the_control_socket_bears_strangers() {
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::PermissionsExt as _;
    needs_root!();
    let bench = Bench::shaping_light(1, ONE);
    let socket = bench.directory.path().join("state/vsb.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o660);
    let long = vec![b'x'; 100_000];
    for rubbish in
        [&b"\n"[..], b"{\"version\":9}\n", b"\xff\xfe\n", &long, b"{\"version\":1,\"ask\":{\"explain\":7}}\n"]
    {
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        // The daemon may close before it has read all.
        let _ = stream.write_all(rubbish);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.is_empty() || answer.contains("Err"), "{answer}");
    }
    assert!(bench.vsb(&["status"]).status.success());
}

#[test]
fn metrics_are_told_where_the_configuration_says_and_nowhere_else() {
    needs_root!();
    let bench = Bench::shaping_light(1, &format!("metrics = \"127.0.0.1:9477\"\n{ONE}"));
    let get = "exec 3<>/dev/tcp/127.0.0.1/9477; printf 'GET /metrics HTTP/1.1\\r\\n\\r\\n' >&3; timeout 5 cat <&3";
    let text = bench.run(Place::Box, &["bash", "-c", get]);
    assert!(
        text.starts_with("HTTP/1.1 200 OK") && text.contains("fairair_capacity_bps{ap=\"ap1\"} 20000000"),
        "{text}"
    );
    let listens = bench.run(Place::Box, &["cat", "/proc/net/tcp", "/proc/net/tcp6"]);
    // State 0A listens; 9477 is 2505 in hexadecimal, 127.0.0.1 is 0100007F.
    let sockets: Vec<_> = listens.lines().filter(|line| line.contains(" 0A ")).collect();
    assert!(sockets.len() == 1 && sockets[0].contains("0100007F:2505"), "{sockets:?}");
}

/// For a while the kernel answers with errors only (put in by strace): what passed before is not counted anew afterwards.
#[test]
fn counters_that_cannot_be_read_do_not_begin_anew() {
    use fairair_core::control::log::Event;
    needs_root!();
    needs_tool!("strace");
    let mut bench = Bench::light(1);
    let [journal, log] = ["journal.db", "seen.jsonl"].map(|name| bench.directory.path().join(name));
    let ap = ONE.replace("\"20 Mbit/s\"", "{ kind = \"adaptive\", max = \"20 Mbit/s\" }");
    bench.configure(&format!("{ap}[journal]\nfile = {journal:?}\nlog = {log:?}\n"));
    bench.start(&[]);
    goodputs(&bench, &[down("10.1.0.2")], 0, 2);
    let id = bench.daemon().id().to_string();
    let errors = ["-f", "-p", &id, "-o", "/dev/null", "-e", "trace=recvfrom", "-e", "inject=recvfrom:error=ENOBUFS"];
    let mut strace = Command::new("strace").args(errors).stderr(Stdio::null()).spawn().expect("strace");
    // The daemon answers nobody meanwhile.
    let begin = Instant::now();
    while !bench.log().contains("cannot read the counters: No buffer space available") {
        assert!(begin.elapsed() < Duration::from_secs(8), "{}", bench.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    // It detaches when it is told to end.
    let ended = Command::new("kill").args(["-TERM", &strace.id().to_string()]).status().expect("kill");
    assert!(ended.success() && strace.wait().is_ok());
    until(8, &bench, || troubles(&bench) == "[]");
    std::thread::sleep(Duration::from_secs(1));
    let passed = bench.json(&["stations"])["stations"][0]["bytes"].as_u64().expect("a number");
    stop(&bench);
    let mut events = fairair_linux::enforce::log::read(&log).expect("a log");
    let events = events.remove("ap1").expect("its events");
    let seen = events.iter().rev().find_map(|event| match event {
        Event::Look { seen, .. } => seen.last().map(|seen| seen.down + seen.up),
        _ => None,
    });
    let seen = seen.expect("a look");
    println!("the class sent {passed} bytes, the machine saw {seen}");
    // The share that goes down begins at a half.
    assert!((0.7..1.2).contains(&(seen as f64 / passed as f64)), "{seen} of {passed}");
}
