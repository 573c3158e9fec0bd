//! Which testbeds stand, whose they are, and what dead ones left behind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration as Wait, Instant as Clock};

use fairair_core::scenario::Scenario;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::error::TestbedError;
use crate::netns;

/// Where testbeds are noted: a tmpfs, gone with the namespaces when the machine restarts.
const DIRECTORY: &str = "/run/fairair";
/// How long a testbed may take to go.
const PATIENCE: Wait = Wait::from_secs(10);
/// The names of all namespaces of testbeds begin so.
pub const PREFIX: &str = "fairair-tb-";

/// What is noted about a testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Names its namespaces: `fairair-tb-ID-host` and so on.
    pub id: String,
    /// The process that emulates its radio.
    pub pid: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Names of the stations; the namespace of the first ends with `s1`.
    pub stations: Vec<String>,
    /// Whether programs can be run in it.
    pub ready: bool,
}

impl Entry {
    /// The namespace of a station, or of `host`, `gw` or `box`.
    pub fn namespace_of(&self, name: &str) -> Option<PathBuf> {
        let station = self.stations.iter().position(|station| station == name);
        let role = match (station, name) {
            (Some(index), _) => format!("s{}", index + 1),
            (None, "host" | "gw" | "box") => name.to_owned(),
            _ => return None,
        };
        Some(netns::path_of(&namespace(&self.id, &role)))
    }
}

fn namespace(id: &str, role: &str) -> String {
    format!("{PREFIX}{id}-{role}")
}

/// The right to a testbed's names for as long as this process lives: the kernel lets go of the lock in any case.
pub(super) struct Claim {
    entry: Entry,
    path: PathBuf,
    _lock: Flock<File>,
}

impl Claim {
    /// Notes a new testbed.
    ///
    /// # Errors
    /// When /run cannot be written, that is without privilege.
    pub(super) fn new(scenario: &Scenario) -> Result<Claim, TestbedError> {
        fs::create_dir_all(DIRECTORY)?;
        let pid = std::process::id();
        for number in 0_u32.. {
            let id = if number == 0 { format!("{pid:x}") } else { format!("{pid:x}x{number:x}") };
            let path = Path::new(DIRECTORY).join(format!("{id}.json"));
            let file = match File::options().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            let lock =
                Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| io::Error::from(error))?;
            let stations = scenario.stations.iter().map(|station| station.name.clone()).collect();
            let entry = Entry { id, pid, scenario: scenario.name.clone(), stations, ready: false };
            let mut claim = Claim { entry, path, _lock: lock };
            claim.note(false)?;
            return Ok(claim);
        }
        unreachable!("some number is free")
    }

    /// Notes whether programs can be run in it.
    pub(super) fn note(&mut self, ready: bool) -> io::Result<()> {
        self.entry.ready = ready;
        fs::write(&self.path, serde_json::to_vec(&self.entry).unwrap_or_default())
    }

    /// What is noted.
    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The name of a namespace.
    pub(super) fn namespace(&self, role: &str) -> String {
        namespace(&self.entry.id, role)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The testbeds that stand, by process and id.
pub fn standing() -> Vec<Entry> {
    noted().into_iter().filter(|(path, _)| !is_orphan(path)).filter_map(|(_, entry)| entry).collect()
}

/// Asks the process of a testbed to take it down and waits until it has.
///
/// # Errors
/// When it is another user's, or has not ended after ten seconds.
pub fn take_down(entry: &Entry) -> Result<(), TestbedError> {
    kill(Pid::from_raw(entry.pid as i32), Signal::SIGTERM).map_err(io::Error::from)?;
    let begin = Clock::now();
    while standing().iter().any(|other| other.id == entry.id) {
        if begin.elapsed() > PATIENCE {
            return Err(TestbedError::NotThere(format!("process {} does not end", entry.pid)));
        }
        std::thread::sleep(Wait::from_millis(20));
    }
    Ok(())
}

/// Takes away what testbeds left behind whose process is gone. Tells the names of their namespaces.
///
/// # Errors
/// Without privilege.
pub fn clean() -> Result<Vec<String>, TestbedError> {
    let mut cleaned = Vec::new();
    let alive: Vec<String> = standing().iter().map(|entry| namespace(&entry.id, "")).collect();
    for name in netns::names(PREFIX) {
        if !alive.iter().any(|prefix| name.starts_with(prefix)) {
            netns::delete(&name)?;
            cleaned.push(name);
        }
    }
    for (path, _) in noted() {
        if is_orphan(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(cleaned)
}

fn noted() -> Vec<(PathBuf, Option<Entry>)> {
    let files = fs::read_dir(DIRECTORY).into_iter().flatten().flatten().map(|file| file.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    let read = |path: &PathBuf| fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    files.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// Whether nobody holds the lock.
fn is_orphan(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok())
}
