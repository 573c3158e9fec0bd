//! `[journal]` of the configuration.

use std::path::{Path, PathBuf};

use fairair_core::scenario::reader::{Checked, Reason, Table};
use fairair_core::units::{Bytes, Duration};

use super::value::path;
use super::{Config, Journal};
use crate::enforce::log::files;
use crate::enforce::state::{Learned, State};

pub(super) const KEYS: &[&str] = &["file", "keep", "log", "log_limit"];

pub(super) fn read(root: &Table) -> Checked<Option<Journal>> {
    if !root.has("journal") {
        return Ok(None);
    }
    let table = root.table("journal", "[journal]")?;
    let file = path(&table, "file")?.ok_or_else(|| table.lacks("file", "file = \"/var/lib/fairair/journal.db\""))?;
    let keep = Duration::from_secs(60)..=Duration::from_secs(3650 * 86_400);
    let keep = table.within("keep", keep, Duration::from_secs(30 * 86_400))?;
    let log_limit = table.within("log_limit", Bytes(1_000_000)..=Bytes(1_000_000_000_000), Bytes(256_000_000))?;
    let log = path(&table, "log")?;
    // With the names that a full log gets.
    if log.as_ref().is_some_and(|log| files(log).any(|log| canonical(&log) == canonical(&file))) {
        return Err(table.blame("log", Reason::new("this is `file`", "name another file: there are two")));
    }
    Ok(Some(Journal { file, keep, log, log_limit }))
}

/// Refuses the configuration itself, which is at `at`: the box would write into it, and never start again. So it refuses the
/// files of the box in `state`.
pub(super) fn apart_from(root: &Table, config: &Config, at: &Path) -> Checked<()> {
    let Some(journal) = &config.journal else { return Ok(()) };
    let table = root.table("journal", "[journal]")?;
    let own = [State::file(&config.state), State::socket(&config.state), Learned::file(&config.state)]
        .map(|file| canonical(&file));
    for (key, file) in [("file", Some(&journal.file)), ("log", journal.log.as_ref())] {
        let Some(file) = file.map(|file| canonical(file)) else { continue };
        let is = if file == canonical(at) {
            "this is the configuration file"
        } else if own.contains(&file) {
            "the box keeps its state there"
        } else {
            continue;
        };
        return Err(table.blame(key, Reason::new(is, "name another file")));
    }
    Ok(())
}

/// `file` without links; it need not be there yet.
fn canonical(file: &Path) -> PathBuf {
    let in_directory = || Some(file.parent()?.canonicalize().ok()?.join(file.file_name()?));
    file.canonicalize().ok().or_else(in_directory).unwrap_or_else(|| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    /// JSON in the configuration: the box could not start again.
    #[test]
    fn a_journal_is_neither_the_configuration_nor_its_own_log() {
        let directory = tempfile::tempdir().unwrap();
        let (at, path) = (directory.path().display(), directory.path().join("vsb.toml"));
        std::os::unix::fs::symlink(directory.path(), directory.path().join("link")).unwrap();
        let told = |journal: &str| {
            let text = format!(
                "name = \"x\"\nuplink = \"wan\"\nstate = \"{at}\"\n[[ap]]\nname = \"a\"\ninterface = \"lan\"\ncapacity = \"8 Mbit/s\"\n[journal]\n{journal}\n"
            );
            std::fs::write(&path, text).unwrap();
            Config::load(&path).map_or_else(|error| error.to_string(), |_| String::new())
        };
        assert_eq!(told(&format!("file = \"{at}/a.db\"\nlog = \"{at}/a.log\"")), "");
        for (journal, wanted) in [
            (format!("file = \"{at}/vsb.toml\""), "vsb.toml:9:8: `file` in [journal]: this is the configuration file"),
            (
                format!("file = \"{at}/a.db\"\nlog = \"{at}/link/vsb.toml\""),
                "vsb.toml:10:7: `log` in [journal]: this is the configuration file",
            ),
            (format!("file = \"{at}/a.db\"\nlog = \"{at}/link/a.db\""), "`log` in [journal]: this is `file`"),
            (format!("file = \"{at}/a.log.1\"\nlog = \"{at}/a.log\""), "`log` in [journal]: this is `file`"),
            (format!("file = \"{at}/vsb.json\""), "`file` in [journal]: the box keeps its state there"),
            (
                format!("file = \"{at}/a.db\"\nlog = \"{at}/capacity.json\""),
                "`log` in [journal]: the box keeps its state there",
            ),
        ] {
            let told = told(&journal);
            assert!(told.contains(wanted), "{told}");
        }
    }
}
