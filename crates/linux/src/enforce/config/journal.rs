//! `[journal]` of the configuration.

use std::path::{Path, PathBuf};

use fairair_core::scenario::reader::{Checked, Reason, Table};
use fairair_core::units::{Bytes, Duration};

use super::Journal;
use super::value::path;

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
    if log.as_ref().is_some_and(|log| canonical(log) == canonical(&file)) {
        return Err(table.blame("log", Reason::new("this is `file`", "name another file: there are two")));
    }
    Ok(Some(Journal { file, keep, log, log_limit }))
}

/// Refuses the configuration itself, which is at `config`: the box would write into it, and never start again.
pub(super) fn apart_from(root: &Table, config: &Path) -> Checked<()> {
    let Some(journal) = read(root)? else { return Ok(()) };
    let (table, config) = (root.table("journal", "[journal]")?, canonical(config));
    for (key, file) in [("file", Some(&journal.file)), ("log", journal.log.as_ref())] {
        if file.is_some_and(|file| canonical(file) == config) {
            return Err(table.blame(key, Reason::new("this is the configuration file", "name another file")));
        }
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
                "name = \"x\"\nuplink = \"wan\"\n[[ap]]\nname = \"a\"\ninterface = \"lan\"\ncapacity = \"8 Mbit/s\"\n[journal]\n{journal}\n"
            );
            std::fs::write(&path, text).unwrap();
            Config::load(&path).map_or_else(|error| error.to_string(), |_| String::new())
        };
        assert_eq!(told(&format!("file = \"{at}/a.db\"\nlog = \"{at}/a.log\"")), "");
        for (journal, wanted) in [
            (format!("file = \"{at}/vsb.toml\""), "vsb.toml:8:8: `file` in [journal]: this is the configuration file"),
            (
                format!("file = \"{at}/a.db\"\nlog = \"{at}/link/vsb.toml\""),
                "vsb.toml:9:7: `log` in [journal]: this is the configuration file",
            ),
            (format!("file = \"{at}/a.db\"\nlog = \"{at}/link/a.db\""), "`log` in [journal]: this is `file`"),
        ] {
            let told = told(&journal);
            assert!(told.contains(wanted), "{told}");
        }
    }
}
