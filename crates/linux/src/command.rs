//! Programs that do the work in namespaces: `ip`, iperf3, ping, the user's own.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, setns};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, Signal, signal};
use thiserror::Error;

/// A program that could not be started or failed.
#[derive(Debug, Error)]
pub enum CommandError {
    /// It is not there, or may not be run.
    #[error("cannot run `{program}`: {error}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        error: io::Error,
    },
    /// It said no.
    #[error("`{command}` failed: {message}")]
    Failed {
        /// The command line.
        command: String,
        /// What it printed.
        message: String,
    },
}

/// `program` in a process group of its own: a terminal's Ctrl-C is for us, and must not end the tools that take things back.
pub(crate) fn tool(program: &str) -> Command {
    let mut command = Command::new(program);
    // Messages are compared: they must not be translated.
    command.process_group(0).env("LC_ALL", "C");
    // Ctrl-C may come before it has its group, and systemd's SIGTERM comes to the whole unit.
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; signal(2) is one, and nothing of ours handles these.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            for ending in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
                signal(ending, SigHandler::SigIgn)?;
            }
            Ok(())
        });
    }
    command
}

/// Does lines of `ip -batch`, in a namespace or in this process's own.
pub(crate) fn ip_batch(namespace: Option<&str>, lines: &str) -> Result<(), CommandError> {
    let mut ip = tool("ip");
    if let Some(namespace) = namespace {
        ip.args(["-n", namespace]);
    }
    ip.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = |error| CommandError::Start { program: "ip".to_owned(), error };
    let mut child = ip.spawn().map_err(start)?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().map_err(start)?;
    if output.status.success() && written.is_ok() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let mut message = message.trim().replace('\n', "; ");
    // "Command failed -:3" counts the lines.
    let failed = message.rsplit(':').next().and_then(|number| number.trim().parse::<usize>().ok());
    let line = failed.and_then(|number| lines.lines().nth(number.saturating_sub(1))).unwrap_or("-batch");
    if message.is_empty() {
        message = output.status.to_string();
    }
    let of = namespace.map(|name| format!("-n {name} ")).unwrap_or_default();
    Err(CommandError::Failed { command: format!("ip {of}{line}"), message })
}

/// `program`, to be run in the namespace at `path`. Ctrl-C does not reach it, and it dies with the thread that starts it.
///
/// # Errors
/// When there is no such namespace.
pub fn in_namespace(path: &Path, program: &str) -> io::Result<Command> {
    let mut command = entering(path, program)?;
    command.process_group(0).stdin(Stdio::null());
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; prctl(2) is a plain system call.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGKILL)?));
    }
    Ok(command)
}

/// `program`, to be run in the namespace at `path`, otherwise as its user started it.
///
/// # Errors
/// When there is no such namespace.
pub fn entering(path: &Path, program: &str) -> io::Result<Command> {
    let namespace = File::open(path)?;
    let mut command = Command::new(program);
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; setns(2) is a plain system call.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || Ok(setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET)?));
    }
    Ok(command)
}
