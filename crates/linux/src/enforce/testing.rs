//! Tests in a network namespace of their own.

use std::io::Write as _;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};

/// Runs `test` on a thread in a new network namespace; without root it is skipped, and that is told.
pub(super) fn in_namespace(test: impl FnOnce() + Send + 'static) {
    if !crate::is_root() {
        assert!(std::env::var_os("CI").is_none(), "CI must run this as root");
        let thread = std::thread::current();
        eprintln!("*** SKIPPED (needs root, ip, tc and nft): {} ***", thread.name().unwrap_or_default());
        return;
    }
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a namespace");
        test();
    };
    std::thread::spawn(inside).join().expect("no panic");
}

/// Commands of `ip -batch` in the namespace of this thread.
pub(super) fn ip(lines: &str) {
    let mut ip = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().expect("ip");
    ip.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("written");
    assert!(ip.wait().expect("ip").success());
}
