//! `fairair testbed` on this kernel: real TCP in namespaces. Needs root, iproute2, iperf3 and ping.
#![cfg(target_os = "linux")]

mod cells;
mod live_box;
mod live_run;
mod run;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
