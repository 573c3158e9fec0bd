//! What a running daemon leaves for the next one: what it added, and what was there before.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::datapath::Dump;

const VERSION: u32 = 1;

/// Contents of the state file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Of this format.
    pub version: u32,
    /// The configuration's path.
    pub config: PathBuf,
    /// What was on each interface before.
    pub before: Vec<Dump>,
    /// Interfaces whose clsact qdisc is ours.
    pub clsact: Vec<String>,
    /// nftables before.
    pub ruleset: String,
}

impl State {
    /// Nothing added yet.
    pub fn new(config: PathBuf, ruleset: String) -> State {
        State { version: VERSION, config, before: Vec::new(), clsact: Vec::new(), ruleset }
    }

    /// Where the file is in `directory`.
    pub fn file(directory: &Path) -> PathBuf {
        directory.join("vsb.json")
    }

    /// Where the control socket is in `directory`.
    pub fn socket(directory: &Path) -> PathBuf {
        directory.join("vsb.sock")
    }

    /// Reads it; `None`: there is none.
    ///
    /// # Errors
    /// It cannot be read, or is none of this version.
    pub fn load(directory: &Path) -> io::Result<Option<State>> {
        let text = match fs::read(Self::file(directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let state: State = serde_json::from_slice(&text)?;
        if state.version != VERSION {
            let words = format!("{} has version {}, not {VERSION}", Self::file(directory).display(), state.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        Ok(Some(state))
    }

    /// Writes it, whole or not at all; the directory is made, for this user only.
    ///
    /// # Errors
    /// The system's.
    pub fn save(&self, directory: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o750).create(directory)?;
        let temporary = directory.join(".vsb.json.new");
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(temporary, Self::file(directory))?;
        File::open(directory)?.sync_all()
    }

    /// Removes it.
    ///
    /// # Errors
    /// The system's; no file is fine.
    pub fn remove(directory: &Path) -> io::Result<()> {
        match fs::remove_file(Self::file(directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// Held by the one daemon of a network namespace; the kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _name: UnixListener,
}

impl Lock {
    /// Takes it; `None`: another process has it.
    ///
    /// # Errors
    /// The system has no sockets left.
    pub fn take() -> io::Result<Option<Lock>> {
        match UnixListener::bind_addr(&SocketAddr::from_abstract_name("fairair-vsb")?) {
            Ok(name) => Ok(Some(Lock { _name: name })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }
}
