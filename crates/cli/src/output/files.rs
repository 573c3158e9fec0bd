//! Files that appear whole or not at all.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::CliError;
use crate::sink::new_file;

/// Refuses an output of `option` that would replace the file `scenario`: a slip of the pen must not cost it.
pub(crate) fn spared(scenario: &Path, option: &str, output: &Path, example: &str) -> Result<(), CliError> {
    if !is_same(output, scenario) {
        return Ok(());
    }
    Err(CliError::Usage {
        what: format!("{option} {} is the scenario file, which would be replaced", output.display()),
        help: format!("name another, such as {example}"),
    })
}

/// Whether two paths lead to one place; a file need not be there yet, its directory must.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(dir.canonicalize().ok()?.join(path.file_name()?))
        })
    };
    place(one).is_some_and(|one| Some(one) == place(other))
}

/// A file under a temporary name in the directory where it is to appear.
pub(crate) struct Pending {
    path: PathBuf,
    file: NamedTempFile,
}

impl Pending {
    /// Opens it; this is also the check that `path` can be written.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Pending { path: path.to_owned(), file: new_file(dir)? })
    }

    /// The content goes here.
    pub(crate) fn writer(&mut self) -> &mut impl Write {
        self.file.as_file_mut()
    }

    /// Gives it its name, in place of a file that has it already.
    pub(crate) fn persist(self) -> io::Result<()> {
        self.file.persist(self.path)?;
        Ok(())
    }

    /// Gives it its name if no file has it already.
    #[cfg(target_os = "linux")]
    pub(crate) fn persist_new(self) -> io::Result<()> {
        self.file.persist_noclobber(self.path)?;
        Ok(())
    }
}

/// A directory that is known to be writable.
pub(crate) struct OutDir {
    dir: PathBuf,
    /// Names of the files, the scenario's last.
    names: &'static [&'static str],
    /// The scenario file's text, read before the run.
    scenario: Vec<u8>,
    /// Directories that were made for it.
    _made: Made,
    /// Holds the directory until all files have their names: two runs at once would mix theirs.
    _lock: File,
}

/// Directories that a run made, the deepest first. Those that are empty in the end are removed.
struct Made(Vec<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        for dir in &self.0 {
            // It fails where something is in it, and that is to stay.
            let _ = std::fs::remove_dir(dir);
        }
    }
}

impl OutDir {
    /// Makes sure that files called `names` can be written to `dir`, creating it if it is missing. The last one becomes
    /// a copy of the file `scenario`.
    pub(crate) fn prepare(dir: &Path, scenario: &Path, names: &'static [&'static str]) -> Result<Self, CliError> {
        let unwritable = |path: PathBuf| move |error: io::Error| CliError::unwritable(path, &error);
        let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
        let made: Vec<_> = dir.ancestors().take_while(is_missing).map(Path::to_owned).collect();
        made.iter().rev().for_each(|dir| crate::interrupt::removes(dir));
        let made = Made(made);
        std::fs::create_dir_all(dir).map_err(unwritable(dir.to_owned()))?;
        let lock = File::open(dir).map_err(unwritable(dir.to_owned()))?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            let busy = io::Error::new(io::ErrorKind::ResourceBusy, "another run is going to write there");
            return Err(CliError::unwritable(dir, &busy));
        }
        let (_, results) = names.split_last().unwrap_or((&"", &[]));
        for name in results {
            spared(scenario, "of --out,", &dir.join(name), "--out results")?;
        }
        for name in names {
            let path = dir.join(name);
            Pending::create(&path).map_err(unwritable(path))?;
        }
        let scenario = std::fs::read(scenario).map_err(unwritable(scenario.to_owned()))?;
        Ok(OutDir { dir: dir.to_owned(), names, scenario, _made: made, _lock: lock })
    }

    /// Refuses a file of `option` that a result would replace.
    pub(crate) fn spares(&self, option: &str, file: &Path) -> Result<(), CliError> {
        let Some(name) = self.names.iter().find(|name| is_same(file, &self.dir.join(name))) else { return Ok(()) };
        Err(CliError::Usage {
            what: format!("{option} {} is the {name} of --out, which would replace it", file.display()),
            help: "name another file".to_owned(),
        })
    }

    /// Writes all files, then gives all their names: a full disk leaves none of them half-written.
    pub(crate) fn write(self, mut contents: Vec<Vec<u8>>) -> Result<(), CliError> {
        contents.push(self.scenario);
        let mut written = Vec::new();
        for (name, content) in self.names.iter().zip(contents) {
            let path = self.dir.join(name);
            let pending = Pending::create(&path).and_then(|mut pending| {
                pending.writer().write_all(&content)?;
                Ok(pending)
            });
            written.push(pending.map_err(|error| CliError::write(path, &error))?);
        }
        for pending in written {
            let path = pending.path.clone();
            pending.persist().map_err(|error| CliError::write(path, &error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_complete_and_leave_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let scenario = place.path().join("cell.toml");
        std::fs::write(&scenario, "name = \"x\"").unwrap();
        let dir = place.path().join("new/deep");
        let prepare = || OutDir::prepare(&dir, &scenario, &["result.json", "scenario.toml"]).unwrap();
        let prepared = prepare();
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0, "the check leaves nothing");
        drop(prepared);
        assert!(!place.path().join("new").exists(), "nor does a run without a result");
        for _ in 0..2 {
            prepare().write(vec![b"{}".to_vec()]).unwrap();
            let mut names: Vec<_> = std::fs::read_dir(&dir)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names, ["result.json", "scenario.toml"]);
        }
        assert_eq!(std::fs::read(dir.join("scenario.toml")).unwrap(), b"name = \"x\"");
        assert_eq!(std::fs::read(dir.join("result.json")).unwrap(), b"{}");
    }

    #[test]
    fn no_result_takes_the_place_of_the_scenario() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let prepare = |name: &str| {
            let scenario = dir.join(name);
            std::fs::write(&scenario, "name = \"x\"").unwrap();
            OutDir::prepare(dir, &scenario, &["result.json", "scenario.toml"]).map(drop)
        };
        assert!(prepare("result.json").is_err_and(|error| error.to_string().contains("which would be replaced")));
        prepare("scenario.toml").unwrap();
        let (own, link) = (dir.join("scenario.toml"), dir.join("front.svg"));
        spared(&own, "--svg", &link, "plan.svg").unwrap();
        assert!(spared(&own, "--svg", &dir.join("./scenario.toml"), "front.svg").is_err());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&own, &link).unwrap();
            assert!(spared(&own, "--svg", &link, "plan.svg").is_err(), "nor through a link");
        }
    }

    #[test]
    fn two_runs_at_once_do_not_share_a_directory() {
        let place = tempfile::tempdir().unwrap();
        let scenario = place.path().join("cell.toml");
        std::fs::write(&scenario, "name = \"x\"").unwrap();
        let prepare = || OutDir::prepare(&place.path().join("out"), &scenario, &["result.json", "scenario.toml"]);
        let first = prepare().unwrap();
        assert!(prepare().is_err_and(|error| error.to_string().contains("another run")));
        first.write(vec![b"{}".to_vec()]).unwrap();
        prepare().unwrap();
    }

    #[test]
    fn a_file_that_is_not_persisted_never_was() {
        let place = tempfile::tempdir().unwrap();
        let mut pending = Pending::create(&place.path().join("air.pcap")).unwrap();
        pending.writer().write_all(b"half").unwrap();
        drop(pending);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        assert!(Pending::create(place.path()).is_err(), "a directory in the way");
    }
}
