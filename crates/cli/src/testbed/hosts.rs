//! `fairair testbed up`, `exec`, `shell`, `list`, `down`, `clean`, `doctor`: a cell for the user's own programs.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use fairair_core::scenario::Scenario;
use fairair_core::units::plural;
use fairair_linux::command::entering;
use fairair_linux::emulate::{self, Entry, Options};

use super::args::{ShellArgs, UpArgs};
use super::program::{explained, own_program};
use super::run::options;
use crate::error::{CliError, Exit};
use crate::{interrupt, output};

/// How often `up` looks whether its background process is ready.
const LOOK: Duration = Duration::from_millis(50);

/// Builds a cell and leaves it to a process in the background, or keeps it in the foreground.
pub(super) fn up(args: &UpArgs) -> Result<Exit, CliError> {
    let mut scenario = Scenario::load(&args.scenario)?;
    // Nobody would read the samples of a cell without end.
    scenario.run.sample_interval = None;
    let options = Options { known_neighbours: false, ..options(args.hosts) };
    emulate::check_cell(&scenario).map_err(|error| explained(&error))?;
    if !args.foreground {
        return in_background();
    }
    let cancel = interrupt::flag_saying("taking the cell down");
    emulate::keep(&scenario, options, cancel, |entry| output::say(&standing_text(entry)))
        .map_err(|error| explained(&error))?;
    Ok(if cancel.load(Ordering::SeqCst) { Exit::Success } else { Exit::Failure })
}

/// The same command again, in the background; returns when the cell stands.
fn in_background() -> Result<Exit, CliError> {
    let failed = |error: std::io::Error| CliError::Testbed {
        what: format!("cannot start the cell's process: {error}"),
        help: "keep it in this one with --foreground".to_owned(),
    };
    let log = tempfile::NamedTempFile::new().map_err(failed)?;
    let arguments = std::env::args_os().skip(1).chain([OsString::from("--foreground")]);
    let mut child = Command::new(own_program().map_err(failed)?)
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.reopen().map_err(failed)?)
        .spawn()
        .map_err(failed)?;
    loop {
        if let Some(entry) = emulate::standing().into_iter().find(|entry| entry.pid == child.id() && entry.ready) {
            output::print(&(standing_text(&entry) + "\n"))?;
            return Ok(Exit::Success);
        }
        if let Some(status) = child.try_wait().map_err(failed)? {
            output::say(std::fs::read_to_string(log.path()).unwrap_or_default().trim_end());
            return Ok(Exit::Program(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
        }
        std::thread::sleep(LOOK);
    }
}

fn standing_text(entry: &Entry) -> String {
    let first = entry.stations.first().map_or("STATION", String::as_str);
    format!(
        "cell {id} ({scenario}) is up: hosts {hosts}, host, gw, box\n         fairair testbed exec {first} --id {id} -- ping {address}    # the fixed host\n\
         fairair testbed down {id}",
        id = entry.id,
        scenario = entry.scenario,
        hosts = entry.stations.join(", "),
        address = emulate::addresses::HOST,
    )
}

/// Runs a program on a host.
pub(super) fn exec(place: &ShellArgs, command: &[OsString]) -> Result<Exit, CliError> {
    let (host, entry) = (&place.host, chosen(place.id.as_deref())?);
    let path = entry.namespace_of(host).ok_or_else(|| CliError::Usage {
        what: format!("cell {} has no host `{host}`", entry.id),
        help: format!("write one of {}, host, gw, box", entry.stations.join(", ")),
    })?;
    let (program, arguments) = command.split_first().expect("clap requires a command");
    let failed = |error: std::io::Error| CliError::Testbed {
        what: format!("cannot run {} on {host}: {error}", program.display()),
        help: if fairair_linux::is_root() { "is it installed?" } else { "run it as root" }.to_owned(),
    };
    let mut child = entering(&path, &program.to_string_lossy()).map_err(failed)?;
    // In place of this process: signals and the exit code are the program's.
    Err(failed(child.args(arguments).exec()))
}

/// Lists the cells that are up.
pub(super) fn list() -> Result<Exit, CliError> {
    let lines = ready().into_iter().map(|entry| {
        format!("{}  {}  process {}  hosts {}\n", entry.id, entry.scenario, entry.pid, entry.stations.join(", "))
    });
    output::print(&lines.collect::<Vec<_>>().concat())?;
    Ok(Exit::Success)
}

/// Takes a cell down.
pub(super) fn down(id: Option<&str>) -> Result<Exit, CliError> {
    emulate::take_down(&chosen(id)?).map_err(|error| explained(&error))?;
    Ok(Exit::Success)
}

/// Removes what killed testbeds left behind.
pub(super) fn clean() -> Result<Exit, CliError> {
    let removed = emulate::clean().map_err(|error| explained(&error))?;
    output::print(&match removed.len() {
        0 => "nothing was left behind\n".to_owned(),
        n => format!("removed {}: {}\n", plural(n, "namespace"), removed.join(", ")),
    })?;
    Ok(Exit::Success)
}

/// Says what is missing.
pub(super) fn doctor() -> Result<Exit, CliError> {
    let checks = emulate::examine();
    let lines = checks.iter().map(|check| match &check.remedy {
        None => format!("ok       {}\n", check.what),
        Some(remedy) if check.optional => format!("without  {} (optional): {remedy}\n", check.what),
        Some(remedy) => format!("MISSING  {}: {remedy}\n", check.what),
    });
    output::print(&lines.collect::<Vec<_>>().concat())?;
    let fit = checks.iter().all(|check| check.optional || check.remedy.is_none());
    Ok(if fit { Exit::Success } else { Exit::Failure })
}

fn ready() -> Vec<Entry> {
    emulate::standing().into_iter().filter(|entry| entry.ready).collect()
}

/// The cell that is meant.
fn chosen(id: Option<&str>) -> Result<Entry, CliError> {
    let mut cells = ready();
    let ids = cells.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>().join(", ");
    let wrong = |what: String, help: String| Err(CliError::Usage { what, help });
    match id {
        _ if cells.is_empty() => wrong("no cell is up".to_owned(), "build one: fairair testbed up FILE".to_owned()),
        Some(id) => match cells.into_iter().find(|entry| entry.id == id) {
            Some(entry) => Ok(entry),
            None => wrong(format!("no cell {id} is up"), format!("these are: {ids}")),
        },
        None if cells.len() > 1 => wrong("several cells are up".to_owned(), format!("name one of {ids}")),
        None => Ok(cells.remove(0)),
    }
}
