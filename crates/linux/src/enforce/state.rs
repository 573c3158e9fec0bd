//! What a running daemon leaves for the next one: what it added, and what was there before.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use fairair_core::control::Kept;

use super::datapath::Dump;

mod error;

pub use self::error::{Lost, StateError};

const VERSION: u32 = 1;
/// Name of [`Lock`], in the abstract namespace of sockets.
const LOCK: &str = "fairair-vsb";

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
    /// `htb_hysteresis` before, where batches changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<u32>,
    /// Inode of the network namespace that it is about; 0: not known.
    #[serde(default)]
    pub namespace: u64,
}

impl State {
    /// Nothing added yet.
    pub fn new(config: PathBuf, ruleset: String) -> State {
        let namespace = namespace().unwrap_or_default();
        State { version: VERSION, config, before: Vec::new(), clsact: Vec::new(), ruleset, hysteresis: None, namespace }
    }

    /// Whether it is about the network namespace of this process, as far as is known.
    pub fn is_here(&self) -> bool {
        self.namespace == 0 || namespace().is_ok_and(|own| own == self.namespace)
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
    pub fn load(directory: &Path) -> Result<Option<State>, StateError> {
        Self::read(directory).map_err(|reason| StateError { path: Self::file(directory), reason })
    }

    /// Reads it to take back what it names. A damaged file is renamed to `vsb.json.damaged`, so that it blocks nothing.
    /// Without contents comes the reason why they are missing.
    ///
    /// # Errors
    /// The system's. A file that may not be read is not damaged.
    pub fn recover(directory: &Path) -> Result<Result<State, Lost>, StateError> {
        let path = Self::file(directory);
        match Self::load(directory) {
            Ok(Some(state)) => Ok(Ok(state)),
            Ok(None) => Ok(Err(Lost::Missing(path))),
            Err(error) if matches!(error.reason.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
                let aside = directory.join("vsb.json.damaged");
                fs::rename(&path, &aside).map_err(|reason| StateError { path, reason })?;
                Ok(Err(Lost::Damaged { error, aside }))
            }
            Err(error) => Err(error),
        }
    }

    fn read(directory: &Path) -> io::Result<Option<State>> {
        let text = match read(&Self::file(directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let state: State = serde_json::from_slice(&text)?;
        if state.version != VERSION {
            let words = format!("it has version {}, not {VERSION}", state.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        Ok(Some(state))
    }

    /// Writes it, whole or not at all; the directory is made, for this user and group only.
    ///
    /// # Errors
    /// The system's.
    pub fn save(&self, directory: &Path) -> Result<(), StateError> {
        self.write(directory).map_err(|reason| StateError { path: Self::file(directory), reason })
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o750).create(directory)?;
        write(&Self::file(directory), self, true)?;
        File::open(directory)?.sync_all()
    }

    /// Removes it.
    ///
    /// # Errors
    /// The system's; no file is fine.
    pub fn remove(directory: &Path) -> Result<(), StateError> {
        let path = Self::file(directory);
        match fs::remove_file(&path) {
            Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(StateError { path, reason }),
            _ => Ok(()),
        }
    }
}

/// Number of this process's network namespace.
fn namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/net")?.ino())
}

/// What the machines have learned, by name of the AP: `capacity.json` beside the state file. It outlives the daemon, also an
/// ordered stop, so that the next one does not begin at the largest C under load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    version: u32,
    /// By name of the AP.
    pub pools: BTreeMap<String, Kept>,
}

impl Learned {
    /// Of these pools.
    pub const fn new(pools: BTreeMap<String, Kept>) -> Learned {
        Learned { version: VERSION, pools }
    }

    /// Where the file is in `directory`.
    pub fn file(directory: &Path) -> PathBuf {
        directory.join("capacity.json")
    }

    /// Reads it. Without a file, or with that of another version, nothing is known: the machines learn again.
    ///
    /// # Errors
    /// The file is damaged, and was renamed to `capacity.json.damaged`; or the system's.
    pub fn load(directory: &Path) -> Result<Learned, StateError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let path = Self::file(directory);
        let text = match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Learned::default()),
            Err(reason) if reason.kind() != io::ErrorKind::InvalidData => return Err(StateError { path, reason }),
            text => text.unwrap_or_default(),
        };
        let learned = match serde_json::from_slice(&text) {
            Ok(Version { version }) if version != VERSION => return Ok(Learned::default()),
            Ok(_) => serde_json::from_slice(&text),
            Err(error) => Err(error),
        };
        learned.map_err(|reason| {
            // If it cannot be renamed, the next write replaces it.
            let _ = fs::rename(&path, directory.join("capacity.json.damaged"));
            StateError { path, reason: reason.into() }
        })
    }

    /// Writes it, whole or not at all. After a power cut it may be an old one.
    ///
    /// # Errors
    /// The system's.
    pub fn save(&self, directory: &Path) -> io::Result<()> {
        write(&Self::file(directory), self, false)
    }
}

/// Reads a file of the state directory. Another kind of file is damaged: a pipe in its place would block whoever opens it.
///
/// # Errors
/// The system's.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file"));
    }
    fs::read(path)
}

/// Writes a file of the state directory, whole or not at all; `lasting`: so that a power cut does not take it, which a slow disk makes long.
///
/// # Errors
/// The system's.
pub(super) fn write(path: &Path, value: &impl Serialize, lasting: bool) -> io::Result<()> {
    let temporary = path.with_file_name(format!(".{}.new", path.file_name().unwrap_or_default().display()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(value)?)?;
    if lasting {
        file.sync_all()?;
    }
    fs::rename(temporary, path)
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
        match UnixListener::bind_addr(&SocketAddr::from_abstract_name(LOCK)?) {
            Ok(name) => Ok(Some(Lock { _name: name })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a process has it. Who asks by [`Self::take`] would keep a daemon from starting at that moment.
    pub fn is_held() -> bool {
        let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
        sockets.lines().any(|line| line.ends_with(&format!(" @{LOCK}")))
    }
}

#[cfg(test)]
mod tests {
    use fairair_core::units::{Bitrate, Duration};

    use super::*;

    /// What a power failure or a full disk leaves of the file blocks nobody, and is not thrown away.
    #[test]
    fn a_damaged_file_is_put_aside_and_told() {
        for (damaged, told) in [("", "EOF"), ("{\"version\": 1", "EOF"), ("{}", "missing field"), ("\0\0", "expected")]
        {
            let directory = tempfile::tempdir().unwrap();
            fs::write(State::file(directory.path()), damaged).unwrap();
            let lost = || State::recover(directory.path()).unwrap().unwrap_err().to_string();
            let why = lost();
            assert!(why.contains(told) && why.contains("vsb.json.damaged"), "{why}");
            assert_eq!(fs::read_to_string(directory.path().join("vsb.json.damaged")).unwrap(), damaged);
            assert!(lost().contains("is missing"));
        }
    }

    /// A pipe in place of a file blocks whoever opens it.
    #[test]
    fn a_pipe_in_place_of_a_file_blocks_nobody() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["vsb.json", "capacity.json", "settings.json"] {
            let made = std::process::Command::new("mkfifo").arg(directory.path().join(name)).status().unwrap();
            assert!(made.success());
        }
        let why = Learned::load(directory.path()).unwrap_err().to_string();
        assert!(why.contains("capacity.json"), "{why}");
        let why = State::recover(directory.path()).unwrap().unwrap_err().to_string();
        assert!(why.contains("regular file"), "{why}");
        let why = crate::enforce::settings::Settings::load(directory.path()).unwrap_err().to_string();
        assert!(why.contains("settings.json.damaged"), "{why}");
    }

    #[test]
    fn what_is_saved_is_recovered() {
        let directory = tempfile::tempdir().unwrap();
        let state = State::new("vsb.toml".into(), "table ip own {\n}\n".to_owned());
        state.save(directory.path()).unwrap();
        assert_eq!(State::recover(directory.path()).unwrap().unwrap(), state);
    }

    #[test]
    fn errors_name_the_file() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(State::file(directory.path())).unwrap();
        let error = State::recover(directory.path()).unwrap_err().to_string();
        assert!(error.starts_with("state file ") && error.contains("vsb.json: "), "{error}");
    }

    #[test]
    fn what_was_learned_reads_back_and_a_damaged_file_is_none() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Learned::load(directory.path()).unwrap(), Learned::default());
        let kept = Kept {
            capacity: Bitrate::mbps(5),
            ceiling: Some((Bitrate::from_bps(5_100_000), Some(Duration::from_millis(2)))),
        };
        let learned = Learned::new(BTreeMap::from([("ap 1".to_owned(), kept)]));
        learned.save(directory.path()).unwrap();
        assert_eq!(Learned::load(directory.path()).unwrap(), learned);
        fs::write(directory.path().join("capacity.json"), "{\"version\":1,").unwrap();
        let why = Learned::load(directory.path()).unwrap_err().to_string();
        assert!(why.contains("capacity.json") && directory.path().join("capacity.json.damaged").exists(), "{why}");
        fs::write(directory.path().join("capacity.json"), "{\"version\":0, \"cells\": 3}").unwrap();
        assert_eq!(Learned::load(directory.path()).unwrap(), Learned::default(), "another version is no damage");
    }
}
