//! Tells the command which commit it is built from, for `fairair --version`.
//!
//! `FAIRAIR_COMMIT` in the environment wins; empty, it says that the commit is unknown. Without it git is asked, in release builds only:
//! a commit must not compile this crate again in a developer's loop. Outside a checkout of FairAir no commit is named.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=FAIRAIR_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = match env::var("FAIRAIR_COMMIT") {
        Ok(commit) => Some(commit.trim().to_owned()).filter(|commit| !commit.is_empty()),
        Err(_) if env::var("PROFILE").is_ok_and(|profile| profile == "release") => checked_out(),
        Err(_) => None,
    };
    let long = commit.map_or_else(|| version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=FAIRAIR_LONG_VERSION={long}");
}

/// The commit of the checkout that this file belongs to, with `+changed` if files differ from it.
fn checked_out() -> Option<String> {
    // An unpacked source archive may stand in somebody else's checkout.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let head = git(&["rev-parse", "--short=12", "HEAD"])?;
    let moves = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    for path in [moves.as_str(), "../../crates", "../../Cargo.lock"] {
        // Cargo takes a missing file for a changed one.
        if Path::new(path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { head } else { format!("{head}+changed") })
}

fn git(words: &[&str]) -> Option<String> {
    let done = Command::new("git").args(words).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}
