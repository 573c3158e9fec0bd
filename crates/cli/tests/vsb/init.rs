//! `fairair vsb init` on boxes of namespaces: what it writes is what `check` accepts and `run` runs.

use std::process::Output;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root};

/// What `init` prints for people, and its exit code.
fn init(bench: &Bench, words: &[&str]) -> (String, Option<i32>) {
    let config = bench.config();
    let output: Output = bench.fairair(&[&["vsb", "init", config.to_str().expect("text")], words].concat());
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

fn written(bench: &Bench) -> String {
    std::fs::read_to_string(bench.config()).unwrap_or_default()
}

#[test]
fn what_init_writes_on_a_router_is_what_check_accepts() {
    needs_root!();
    let bench = Bench::light(1);
    let before = bench.dump();
    bench.run(Place::Box, &["ip", "route", "add", "default", "via", "10.2.0.2"]);
    let (told, code) = init(&bench, &["--yes", "--name", "pier"]);
    assert_eq!(code, Some(0), "{told}");
    let text = written(&bench);
    assert!(text.contains("uplink = \"wan\"") && text.contains("interface = \"lan\""), "{text}");
    assert!(text.contains("mode = \"routed\"") && text.contains("its ports: lan0, lan1"), "{text}");
    assert!(told.contains("a port of lan") && told.contains("ok   lan is up"), "{told}");
    let check = bench.vsb(&["check"]);
    assert_eq!(check.status.code(), Some(0), "{}", String::from_utf8_lossy(&check.stderr));
    assert_eq!(bench.dump(), before, "nothing is shaped yet");
    // Once more it refuses, and so with options that do not fit; the file stays.
    for (words, why) in [
        (&["--yes"][..], "is there already"),
        (&["--force"], "no terminal to ask in"),
        (&["--force", "--yes", "--ap", "hall=wan"], "wan is towards the gateway"),
        (&["--force", "--yes", "--ap", "hall=lan0"], "lan0 is a port of the bridge lan"),
        (&["--force", "--yes", "--ap", "hall=nosuch0"], "there is no interface nosuch0"),
        (&["--force", "--yes", "--uplink", "$(reboot)"], "there is no interface $(reboot)"),
        (&["--force", "--yes", "--name", "a/b"], "the name `a/b` has the character"),
    ] {
        let (told, code) = init(&bench, words);
        assert!(code == Some(2) && told.replace("\n  │ ", " ").contains(why), "{words:?}: {told}");
        assert_eq!(written(&bench), text);
    }
    bench.run(Place::Box, &["ip", "route", "del", "default"]);
    let (told, code) = init(&bench, &["--force", "--yes"]);
    assert!(code == Some(2) && told.contains("no default route"), "{told}");
    let words = ["--force", "--uplink", "wan", "--ap", "hall=lan", "--capacity", "5 Mbit/s"];
    let (told, code) = init(&bench, &words);
    assert!(code == Some(0) && written(&bench).contains("capacity = \"5 Mbit/s\""), "{told}");
    assert_eq!(std::fs::read_dir(bench.directory.path()).unwrap().count(), 1, "no part of a file is left");
}

#[test]
fn on_a_bridge_the_port_of_the_gateway_is_the_uplink() {
    needs_root!();
    let bench = Bench::light(1);
    bench.bridge();
    bench.run(Place::Box, &["ip", "route", "add", "default", "via", "10.1.0.2"]);
    let (told, code) = init(&bench, &["--yes"]);
    assert!(code == Some(2) && told.contains("nothing tells"), "{told}");
    bench.run(Place::Box, &["ping", "-q", "-c", "1", "-W", "5", "10.1.0.2"]);
    let (told, code) = init(&bench, &["--yes"]);
    let text = written(&bench);
    assert_eq!(code, Some(0), "{told}");
    // The stations' namespace plays the gateway.
    assert!(text.contains("mode = \"bridged\"") && text.contains("uplink = \"lan0\""), "{text}");
    assert!(text.contains("interface = \"lan1\"") && text.contains("interface = \"wan\""), "{text}");
    assert_eq!(bench.vsb(&["check"]).status.code(), Some(0));
}

/// `--start` shapes, and nothing is left when nobody wants it any more. Ctrl-C while it asks leaves nothing, too.
#[test]
fn what_init_starts_waits_for_confirmation() {
    needs_root!();
    let bench = Bench::light(1);
    let before = bench.dump();
    let config = bench.config();
    let own = format!(
        "mount -t tmpfs none /run && exec {} vsb init {} --uplink wan --ap lan --max '9 Mbit/s' --start",
        env!("CARGO_BIN_EXE_fairair"),
        config.display()
    );
    let log = std::fs::File::create(bench.directory.path().join("log")).unwrap();
    let words = ["unshare", "--mount", "sh", "-c", &own];
    let mut child = bench.command(Place::Box, &words).stdin(std::process::Stdio::null()).stderr(log).spawn().unwrap();
    let state = format!("/proc/{}/root/run/fairair", child.id());
    let ask = |what: &str| bench.fairair(&["vsb", what, "--state", &state]);
    let begin = Instant::now();
    while !ask("status").status.success() {
        assert!(begin.elapsed() < Duration::from_secs(20), "no answer: {}", bench.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(bench.log().contains("fairair vsb confirm") && bench.dump().contains("fairair0"), "{}", bench.log());
    assert!(ask("confirm").status.success(), "it waits for that: {}", bench.log());
    bench.run(Place::Box, &["kill", "-INT", &child.id().to_string()]);
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", bench.log());
    assert_eq!(bench.dump(), before);
}
