//! `fairair testbed` on this kernel: real TCP in namespaces. Needs root, iproute2, iperf3 and ping.
#![cfg(target_os = "linux")]

mod cells;
mod live_box;
mod live_run;
mod run;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tests take turns: two emulations on one small machine would make each other late.
static TURN: Mutex<()> = Mutex::new(());

/// This test's turn; `None`, after saying so loudly, where there is no root or a tool is missing. In CI that is a failure.
pub(crate) fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    let tool = |name: &str| Command::new(name).arg("--version").output().is_ok();
    let missing = if !fairair_linux::is_root() {
        Some("root")
    } else if !tool("ip") {
        Some("iproute2")
    } else if !tool("iperf3") {
        Some("iperf3")
    } else if !tool("ping") {
        Some("ping")
    } else if !Path::new("/dev/net/tun").exists() {
        Some("/dev/net/tun")
    } else {
        None
    };
    if let Some(missing) = missing {
        println!("*** SKIPPED (needs {missing}): {test} ***");
        eprintln!("*** SKIPPED (needs {missing}): {test} ***");
        assert!(std::env::var_os("CI").is_none(), "CI must not skip {test}: it lacks {missing}");
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether the live box can be run here; says loudly if not. In CI that is a failure.
pub(crate) fn has_datapath(test: &str) -> bool {
    let has = |tool: &str| Command::new(tool).arg("-V").output().is_ok();
    let there = has("tc") && has("nft");
    if !there {
        println!("*** SKIPPED (needs tc and nft): {test} ***");
        eprintln!("*** SKIPPED (needs tc and nft): {test} ***");
        assert!(std::env::var_os("CI").is_none(), "CI must not skip {test}: it lacks tc or nft");
    }
    there
}

/// The command.
pub(crate) fn fairair() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fairair"))
}

/// Writes a scenario file and tells where.
pub(crate) fn scenario(directory: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = directory.path().join("scenario.toml");
    std::fs::write(&path, text).expect("a temporary directory is writable");
    path
}

/// Namespaces of testbeds on this machine, which a concurrent run by somebody else may also have.
pub(crate) fn namespaces() -> Vec<String> {
    fairair_linux::netns::names("fairair-tb-")
}

/// Waits until a condition holds: how long programs take to start or to end is up to the machine.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// TCP sockets on the fixed host of a cell, a line each.
#[track_caller]
pub(crate) fn sockets(id: &str, options: &str) -> Vec<String> {
    let output =
        fairair().args(["testbed", "exec", "host", "--id", id, "--", "ss", options]).output().expect("started");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Whether a line of [`sockets`] is about a port of the fixed host.
pub(crate) fn is_at(socket: &str, port: &str) -> bool {
    socket.split_whitespace().nth(3).is_some_and(|local| local.rsplit(':').next() == Some(port))
}

/// Waits until a program of the fixed host listens.
#[track_caller]
pub(crate) fn await_listener(id: &str, port: &str) {
    let listens = || sockets(id, "-tlnH").iter().any(|socket| is_at(socket, port));
    wait_until(&format!("something listens at port {port}"), listens);
}
