//! FairAir on a Linux kernel.
//!
//! - [`emulate`]: the testbed, real TCP stacks in network namespaces over an emulated 802.11 cell;
//! - [`enforce`]: the live Virtual Shared Bottleneck (detti2011 section 4).

#![cfg(target_os = "linux")]

pub mod command;
pub mod emulate;
pub mod enforce;
pub mod netns;
pub mod realtime;
pub mod tap;

/// Whether this process may do as root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Release of the running kernel.
pub fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}
