//! `fairair vsb dashboard`: the page of the live box, in a process of its own.
//!
//! It asks the daemon over the control socket and reads the journal. When it dies the daemon and the shaping go on.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use fairair_core::units::Bitrate;
use fairair_linux::enforce::VsbError;
use fairair_linux::enforce::config::Config;
use fairair_linux::enforce::history::history;
use fairair_linux::enforce::protocol::{Answer, Ask};
use fairair_linux::enforce::settings::SetStation;
use fairair_web::{Change, Dashboard, LiveBox, NoAnswer, address_with, new_token};
use serde_json::{Value, json};

use super::args::DashboardArgs;
use super::client::{answer, failed, no_answer};
use crate::error::{CliError, Exit};
use crate::output::{print, say};
use crate::{interrupt, lab};

/// Where it listens unless configuration or command say otherwise.
const USUAL: &str = "127.0.0.1:8080";
/// Pause before a dashboard that ended is started again.
const AGAIN: Duration = Duration::from_secs(5);
/// A server of this machine accepts within this.
const ACCEPTED: Duration = Duration::from_secs(1);
/// Letters of a token at least and at most.
const TOKEN: std::ops::RangeInclusive<usize> = 16..=200;

/// Opens the dashboard that runs beside the daemon, or serves one until a signal comes.
///
/// # Errors
/// The configuration is wrong, or the address cannot be had.
pub(super) fn dashboard_command(args: &DashboardArgs) -> Result<Exit, CliError> {
    let config = Config::load(&args.config).map_err(|error| failed(VsbError::Config(error)))?;
    let usual = || USUAL.parse().expect("an address");
    let listen = args.listen.or(config.dashboard).unwrap_or_else(usual);
    let journal = config.journal.map(|journal| journal.file);
    let live = Arc::new(Socket { state: config.state, journal });
    if args.attached {
        ends_with_parent();
    } else if args.listen.is_none() && config.dashboard == Some(listen) && accepts(listen) {
        return opened(listen, &live, args.no_browser).map(|()| Exit::Success);
    }
    let dashboard = Dashboard::bind(listen, live.clone()).map_err(|error| CliError::Usage {
        what: format!("cannot listen on {listen}: {error}"),
        help: if args.attached {
            "write another `dashboard` into the configuration, or end what listens there".to_owned()
        } else {
            "name another --listen ADDRESS:PORT".to_owned()
        },
    })?;
    if !args.attached {
        opened(dashboard.address(), &live, args.no_browser)?;
        say("Ctrl-C ends it. The daemon and its shaping go on.");
        interrupt::ends_quietly();
    }
    dashboard.serve().map(|()| Exit::Success).map_err(|error| CliError::Threads(error.to_string()))
}

/// Prints the address, with the token where it may be read, and opens a browser.
fn opened(address: SocketAddr, live: &Socket, no_browser: bool) -> Result<(), CliError> {
    let token = live.token();
    if let Err(none) = &token {
        say(&format!("The page is read-only: {}; {}", none.problem, none.fix));
    }
    let url = address_with(address, token.as_deref().ok());
    print(&format!("The dashboard is at {url}\n"))?;
    if !no_browser && !lab::open(&url) {
        say("No browser could be opened: open the address yourself.");
    }
    Ok(())
}

fn accepts(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, ACCEPTED).is_ok()
}

/// Ends this process when the daemon that started it is gone: then nobody holds the other end of its input.
fn ends_with_parent() {
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    });
}

/// Keeps a dashboard running beside the daemon, if the configuration has one.
pub(super) fn attach(config: &Path) {
    // `run` itself reports what is wrong with the configuration.
    if !Config::load(config).is_ok_and(|config| config.dashboard.is_some()) {
        return;
    }
    let config = config.to_owned();
    std::thread::spawn(move || {
        loop {
            let told = match process(&config) {
                Ok(status) => format!("the dashboard ended ({status}) and is started again; the shaping goes on"),
                Err(error) => format!("the dashboard cannot be started: {error}; the shaping goes on"),
            };
            // Ctrl-C and systemd end both: then this process is gone before it could say that the shaping goes on.
            std::thread::sleep(AGAIN);
            say(&told);
        }
    });
}

/// One life of the dashboard.
fn process(config: &Path) -> io::Result<std::process::ExitStatus> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["vsb", "dashboard", "--attached"]).arg(config);
    // Only the daemon says to systemd that it is ready.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).env_remove("NOTIFY_SOCKET");
    let mut child = command.spawn()?;
    // Held until the child ends: `wait` would close it.
    let _alive = child.stdin.take();
    child.wait()
}

/// The box, reached by the control socket in `state`.
struct Socket {
    state: PathBuf,
    journal: Option<PathBuf>,
}

impl Socket {
    fn ask(&self, ask: Ask) -> Result<Answer, NoAnswer> {
        answer(&self.state, ask).map_err(|error| no_answer(&error))
    }

    fn asked(&self, ask: Ask) -> Result<Value, NoAnswer> {
        self.ask(ask).map(|answer| json!(answer))
    }
}

impl LiveBox for Socket {
    fn look(&self) -> Result<Value, NoAnswer> {
        let (Answer::Status(status), Answer::StationList(list)) = (self.ask(Ask::Status)?, self.ask(Ask::StationList)?)
        else {
            return Err(unlike());
        };
        Ok(json!({ "status": status, "stations": list.stations, "absent": list.absent }))
    }

    fn explain(&self, station: &str) -> Result<Value, NoAnswer> {
        match self.ask(Ask::Explain(station.to_owned()))? {
            Answer::Explain(explanation) => Ok(json!(explanation)),
            _ => Err(unlike()),
        }
    }

    fn history(&self, seconds: u32) -> Result<Value, NoAnswer> {
        let none = || NoAnswer {
            problem: "this box keeps no journal".to_owned(),
            fix: "add `[journal]` with `file` to the configuration, then restart the daemon".to_owned(),
        };
        let file = self.journal.as_ref().ok_or_else(none)?;
        history(file, seconds).map(|history| json!(history)).map_err(|error| NoAnswer {
            problem: format!("the journal {} cannot be read: {error}", file.display()),
            fix: "start the daemon, which makes it, and run the dashboard as the daemon's user or as root".to_owned(),
        })
    }

    fn change(&self, change: &Change) -> Result<Value, NoAnswer> {
        self.asked(match change {
            Change::Set { station, plan, weight, cap, until } => {
                let cap = cap.as_ref().map(|cap| cap.parse::<Bitrate>()).transpose();
                let cap = cap.map_err(|error| NoAnswer {
                    problem: format!("the cap is no rate: {error}"),
                    fix: "write for example 4 Mbit/s".to_owned(),
                })?;
                let (station, plan, until) = (station.clone(), plan.clone(), until.clone());
                Ask::SetStation(SetStation { station, plan, weight: *weight, cap, until })
            }
            Change::Unset { station } => Ask::UnsetStation(station.clone()),
            Change::Confirm => Ask::Confirm,
            Change::Stop => Ask::Stop,
        })
    }

    /// The token is made when nobody has made it. A file that others may read gives none.
    fn token(&self) -> Result<String, NoAnswer> {
        let path = self.state.join("dashboard.token");
        token(&path).map_err(|reason| NoAnswer {
            problem: format!("no change is possible, for the token in {} cannot be used: {reason}", path.display()),
            fix: "run the dashboard as root or as the daemon's user; remove a file that others may read".to_owned(),
        })
    }
}

fn unlike() -> NoAnswer {
    NoAnswer {
        problem: "the daemon is of another version than the dashboard".to_owned(),
        fix: "restart the daemon".to_owned(),
    }
}

fn token(path: &Path) -> io::Result<String> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let token = new_token()?;
            file.write_all(token.as_bytes())?;
            return Ok(token);
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let file = File::open(path)?;
    let kept = file.metadata()?;
    if !kept.is_file() || kept.mode() & 0o077 != 0 {
        return Err(io::Error::other("others may read it (its mode has to be 0600)"));
    }
    let mut text = String::new();
    file.take(1000).read_to_string(&mut text)?;
    let text = text.trim();
    if !TOKEN.contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(io::Error::other("it is not 16 to 200 letters and digits"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_one_that_others_may_read_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dashboard.token");
        let first = token(&path).unwrap();
        assert_eq!((first.len(), path.metadata().unwrap().mode() & 0o777), (32, 0o600));
        assert_eq!(token(&path).unwrap(), first);
        std::fs::write(&path, "short").unwrap();
        assert!(token(&path).is_err());
        std::fs::write(&path, &first).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(token(&path).unwrap_err().to_string().contains("0600"));
        assert!(token(&directory.path().join("none/dashboard.token")).is_err());
    }
}
