//! The daemon as its clients reach it, and why it does not answer.

use std::io;
use std::path::Path;

use fairair_linux::enforce::VsbError;
use fairair_linux::enforce::datapath::Engine;
use fairair_linux::enforce::protocol::{Answer, Ask, PATIENCE, ask};
use fairair_linux::enforce::state::{Lock, State};
use fairair_web::NoAnswer;
use miette::Diagnostic as _;

use crate::error::CliError;

/// The daemon's answer; that it refuses is an error, too.
pub(super) fn answer(state: &Path, what: Ask) -> Result<Answer, CliError> {
    let help = match &what {
        Ask::Reload => "the daemon goes on with the configuration that it had: mend the file and reload again",
        Ask::Explain(_) => "name a station or an address",
        _ => "nothing was changed",
    };
    let is_input = matches!(what, Ask::Explain(_));
    let answer = ask(state, what).map_err(|error| silent(state, &error))?;
    answer.map_err(|refusal| CliError::Box { what: refusal.to_string(), help: help.to_owned(), is_input })
}

/// Why there is no answer.
pub(super) fn silent(directory: &Path, error: &io::Error) -> CliError {
    let socket = State::socket(directory);
    let (place, start) = (socket.display(), "start it with `fairair vsb run CONFIG`");
    let (what, help) = match error.kind() {
        io::ErrorKind::PermissionDenied => (
            format!("may not open the control socket {place}: {error}"),
            format!("run this as root, as the daemon's user, or as a member of the group of {}", directory.display()),
        ),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let help = "it is stopped (SIGSTOP) or hangs: see its log, `systemctl status fairair-vsb`".to_owned();
            (format!("the daemon at {place} has not answered within {} s", PATIENCE.as_secs()), help)
        }
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => (
            format!("the daemon at {place} gave no answer that this version reads: {error}"),
            "see its log; after an upgrade restart it".to_owned(),
        ),
        io::ErrorKind::NotFound if Lock::is_held() && !socket.exists() => (
            format!("a daemon runs in this network namespace, but its socket is not at {place}"),
            format!(
                "name the `state` of its configuration with --state; if that is {} somebody removed the socket: restart the daemon",
                directory.display()
            ),
        ),
        _ if Lock::is_held() => (
            format!("a daemon runs in this network namespace, but none answers at {place}: {error}"),
            "wait a moment if it has just been started, else name the `state` of its configuration with --state"
                .to_owned(),
        ),
        // After kill -9 or a crash the kernel shapes on: who reads "no daemon" must not take the site for unshaped.
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused if Engine::is_present().is_ok_and(|there| there) => {
            (
                format!(
                    "no daemon runs, but the kernel still shapes with the last rates it was given: {place}: {error}"
                ),
                format!("{start}, which replaces that shaping; or end it with `fairair vsb stop`"),
            )
        }
        io::ErrorKind::NotFound => (
            format!("no daemon runs: {place}: {error}"),
            format!("{start}; a daemon in another network namespace answers where its `state` is (--state)"),
        ),
        _ => (format!("no daemon answers at {place}: {error}"), start.to_owned()),
    };
    CliError::Box { what, help, is_input: false }
}

/// An error for a page.
pub(super) fn no_answer(error: &CliError) -> NoAnswer {
    let fix = error.help().map_or_else(|| "mend that, then try again".to_owned(), |help| help.to_string());
    NoAnswer { problem: error.to_string(), fix }
}

/// An error of the box as the command reports it.
pub(super) fn failed(error: VsbError) -> CliError {
    let is_input = matches!(error, VsbError::NoInterface(_) | VsbError::Full(_));
    match error {
        VsbError::Config(error) => CliError::Scenario(error),
        error => CliError::Box { what: error.to_string(), help: error.fix().to_owned(), is_input },
    }
}
