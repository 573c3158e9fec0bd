//! Why the daemon does not run.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;

use fairair_core::scenario::ScenarioError;
use thiserror::Error;

use super::datapath::DatapathError;
use super::site::Full;
use super::state::StateError;

/// Why the daemon does not run, or ended.
#[derive(Debug, Error)]
pub enum VsbError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ScenarioError),
    /// Another one runs here.
    #[error("another fairair vsb runs in this network namespace")]
    Taken,
    /// More classes than there can be.
    #[error(transparent)]
    Full(#[from] Full),
    /// The kernel or a tool.
    #[error(transparent)]
    Datapath(#[from] DatapathError),
    /// An interface of the configuration is missing.
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// Interfaces that are not ports of one bridge.
    #[error("{0}")]
    NoBridge(String),
    /// The control socket in the state directory.
    #[error("control socket {}: {reason}", path.display())]
    Socket {
        /// The file or directory.
        path: PathBuf,
        /// The system's words.
        reason: Error,
    },
    /// The address of `metrics`.
    #[error("metrics at {address}: {reason}")]
    Metrics {
        /// The address to listen on.
        address: SocketAddr,
        /// The system's words.
        reason: Error,
    },
    /// Something of the system that is no file.
    #[error("{what}: {reason}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's words.
        reason: Error,
    },
    /// Nobody confirmed in time.
    #[error("nobody confirmed within {0:?}; everything is as before")]
    Unconfirmed(std::time::Duration),
}

impl VsbError {
    /// What to do about it.
    pub fn fix(&self) -> &'static str {
        match self {
            VsbError::Config(_) => "mend the configuration",
            VsbError::Taken => {
                "stop it with `fairair vsb stop`, or give it the configuration with `fairair vsb reload`"
            }
            VsbError::Full(Full::Stations) => "fewer stations a box",
            VsbError::Full(Full::Pools) => "two reloads in place of one",
            VsbError::Datapath(DatapathError::NoTool { .. }) => "install the package that is named",
            VsbError::Datapath(DatapathError::State(StateError { reason, .. })) | VsbError::Socket { reason, .. } => {
                directory(reason)
            }
            VsbError::Datapath(DatapathError::Hysteresis(_)) => BATCHES,
            VsbError::Datapath(DatapathError::Refused { words, .. }) if is_forbidden(words) => PRIVILEGES,
            VsbError::Datapath(DatapathError::Refused { .. }) => {
                "`fairair vsb check CONFIG` shows what this kernel lacks"
            }
            VsbError::Datapath(DatapathError::Netlink(reason)) | VsbError::System { reason, .. } => system(reason),
            VsbError::NoBridge(_) => "`fairair vsb check` shows what is there",
            VsbError::NoInterface(_) => "name interfaces that `ip link` shows",
            VsbError::Metrics { reason, .. } => port(reason),
            VsbError::Unconfirmed(_) => "run `fairair vsb confirm` in time if all is well",
        }
    }
}

const PRIVILEGES: &str = "run as root, or with CAP_NET_ADMIN and CAP_NET_RAW";

/// What to do where HTB cannot be made to send batches.
pub(super) const BATCHES: &str = "before the start, as root, `echo 1` to that file and `chmod a+r` it (docs/vsb.md has a drop-in for systemd); \
     or run as root with /sys writable; or write `batch = \"0 B\"`";

/// Whether a tool's words say that this process may not.
fn is_forbidden(words: &str) -> bool {
    words.contains("Operation not permitted")
        || words.contains("Permission denied")
        || words.contains("you must be root")
}

/// What to do when the state directory does not take a file or socket.
fn directory(reason: &Error) -> &'static str {
    match reason.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room on that file system, or name a directory on another one with `state`"
        }
        ErrorKind::PermissionDenied => "run as root, or name a directory that this user may write with `state`",
        ErrorKind::ReadOnlyFilesystem => "name a directory on a file system that can be written with `state`",
        ErrorKind::InvalidInput => {
            "name a directory with a shorter path with `state`: a socket's path has at most 107 bytes"
        }
        _ => "name a directory that this user may write with `state`",
    }
}

/// What to do when nothing can listen at the address of `metrics`.
fn port(reason: &Error) -> &'static str {
    match reason.kind() {
        ErrorKind::AddrInUse => {
            "name another port with `metrics`, or end the program that has it: `ss -ltnp` shows which"
        }
        ErrorKind::AddrNotAvailable => "name an address of this box with `metrics`: `ip address` shows them",
        ErrorKind::PermissionDenied => "name a port from 1024 on with `metrics`; lower ones need CAP_NET_BIND_SERVICE",
        _ => "name another address with `metrics`",
    }
}

/// What to do when the system refuses something else.
fn system(reason: &Error) -> &'static str {
    match reason.kind() {
        ErrorKind::PermissionDenied => PRIVILEGES,
        _ if matches!(reason.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
            "this process may open too few files: raise `ulimit -n`, or LimitNOFILE= of the unit"
        }
        _ => "`fairair vsb check CONFIG` shows what is missing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforce::datapath::HysteresisError;

    fn fix_of(error: DatapathError) -> &'static str {
        VsbError::from(error).fix()
    }

    /// Who has another trouble is not sent to become root.
    #[test]
    fn each_cause_has_its_own_fix() {
        let path = || PathBuf::from("/run/fairair/vsb.json");
        let state = |code| fix_of(StateError { path: path(), reason: Error::from_raw_os_error(code) }.into());
        assert!(state(libc::ENOSPC).contains("make room") && state(libc::EDQUOT).contains("make room"));
        assert!(state(libc::EACCES).contains("run as root") && state(libc::EROFS).contains("can be written"));
        let address = "127.0.0.1:9477".parse().unwrap();
        let metrics = |code| VsbError::Metrics { address, reason: Error::from_raw_os_error(code) }.fix();
        assert!(metrics(libc::EADDRINUSE).contains("ss -ltnp") && metrics(libc::EADDRNOTAVAIL).contains("ip address"));
        assert!(metrics(libc::EACCES).contains("1024"));
        let refused = |words: &str| {
            fix_of(DatapathError::Refused { tool: "tc", command: String::new(), words: words.to_owned() })
        };
        assert!(refused("RTNETLINK answers: Operation not permitted").contains("run as root"));
        assert!(refused("Error: Specified qdisc kind is unknown.").contains("vsb check"));
        let batches = fix_of(HysteresisError::Unset(Error::from_raw_os_error(libc::EACCES)).into());
        assert!(batches.contains("chmod a+r") && batches.contains("batch = \"0 B\""));
        let what = "cannot open a socket for probes";
        let system = |code| VsbError::System { what, reason: Error::from_raw_os_error(code) }.fix();
        assert!(system(libc::EPERM).contains("run as root") && system(libc::EMFILE).contains("ulimit"));
    }
}
