//! `fairair lab`: starts the server and opens a browser.

use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use fairair_core::scenario::{Scenario, ScenarioError};
use fairair_web::{Lab, Options, Scenario as First};

use crate::args::LabArgs;
use crate::error::{CliError, Exit};
use crate::{interrupt, output};

/// Bytes of a scenario file at most.
const LARGEST: u64 = 400_000;

/// Serves the laboratory until a signal comes.
///
/// # Errors
/// For a file that cannot be read and an address that cannot be had, before anything runs.
pub fn lab_command(args: &LabArgs) -> Result<Exit, CliError> {
    let scenario = args.scenario.as_deref().map(first).transpose()?;
    let listen = SocketAddr::new(args.listen, args.port);
    let lab = Lab::bind(Options { listen, scenario }).map_err(|error| CliError::Usage {
        what: format!("cannot listen on {listen}: {error}"),
        help: "name another --port, or 0 for one that is free".to_owned(),
    })?;
    let url = lab.url();
    output::print(&format!("The lab is at {url}\n"))?;
    output::say("Ctrl-C ends it.");
    if !args.no_browser && !open(&url) {
        output::say("No browser could be opened: open the address yourself.");
    }
    interrupt::ends_quietly();
    lab.serve().map(|()| Exit::Success).map_err(|error| CliError::Threads(error.to_string()))
}

/// The file as it is: the page shows its mistakes. Only a file that cannot be read is an error.
fn first(path: &Path) -> Result<First, CliError> {
    if let Err(unreadable @ ScenarioError::Unreadable { .. }) = Scenario::load(path) {
        return Err(unreadable.into());
    }
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text));
    let refuse = |what| CliError::Usage { what, help: "name a scenario file that you may read".to_owned() };
    read.map_err(|error| refuse(format!("cannot read {}: {error}", path.display())))?;
    if text.len() as u64 > LARGEST {
        return Err(refuse(format!("{} has more than the {} kB that the lab takes", path.display(), LARGEST / 1000)));
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(First { name, toml: String::from_utf8_lossy(&text).into_owned() })
}

/// Opens `url` with what the system has for that; false when there is nothing.
pub(crate) fn open(url: &str) -> bool {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    match command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
        Ok(mut child) => {
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}
