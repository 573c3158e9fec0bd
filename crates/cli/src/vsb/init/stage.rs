//! How far a set-up has come: the file, which is written whole or not at all, and the trial.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use fairair_linux::enforce::setup::{CONFIRM, Lack};

use crate::error::{CliError, Exit};
use crate::output::files::Pending;
use crate::vsb::args::RunArgs;

/// What a box that runs already is told to do.
pub(super) const HELD: &str = "`fairair vsb stop` ends it; if this is its file, `fairair vsb reload` is enough";
/// Where Ctrl-C finds it.
pub(super) static STAGE: AtomicU8 = AtomicU8::new(ASKING);
pub(super) const ASKING: u8 = 0;
pub(super) const WRITTEN: u8 = 1;
/// The daemon listens to signals itself.
pub(super) const RUNNING: u8 = 2;
pub(super) const ENDED: u8 = 3;

/// What runs a box.
pub(super) type Run = fn(&RunArgs) -> Result<Exit, CliError>;

/// Runs the box until it ends; it is taken back unless somebody confirms it.
pub(super) fn tried(config: &Path, run: Run) -> Result<Exit, CliError> {
    STAGE.store(RUNNING, Ordering::SeqCst);
    run(&RunArgs { config: config.to_owned(), confirm_within: Some(CONFIRM), json: false })
}

/// Whether the file can be written is known before anything is asked.
pub(super) fn can_be_written(path: &Path, force: bool) -> Result<(), CliError> {
    if !force && is_there(path) {
        return Err(CliError::Usage {
            what: format!("{} is there already", path.display()),
            help: "name another file, or replace this one with --force; `fairair vsb check` looks at it".to_owned(),
        });
    }
    Pending::create(path).map(drop).map_err(|error| CliError::unwritable(path, &error))
}

pub(super) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The whole file, or none.
pub(super) fn written(path: &Path, text: &str, force: bool) -> Result<(), CliError> {
    let pending = Pending::create(path).and_then(|mut pending| {
        pending.writer().write_all(text.as_bytes())?;
        if force { pending.persist() } else { pending.persist_new() }
    });
    pending.map_err(|error| CliError::write(path, &error))?;
    STAGE.store(WRITTEN, Ordering::SeqCst);
    Ok(())
}

pub(super) fn lacking(lack: Lack) -> CliError {
    CliError::Box { what: lack.what, help: lack.fix, is_input: true }
}

#[cfg(test)]
pub(super) mod tests {
    use fairair_linux::enforce::setup::{Interface, Machine};

    use super::*;

    /// A router with the uplink `wan` and the network `lan`.
    pub(in crate::vsb::init) fn router() -> Machine {
        let own = |name: &str, net: &str| Interface {
            name: name.to_owned(),
            is_up: true,
            has_carrier: true,
            addresses: vec![net.parse().unwrap()],
            ..Interface::default()
        };
        Machine {
            interfaces: vec![own("wan", "203.0.113.2/30"), own("lan", "10.1.0.1/24"), own("office", "10.2.0.1/24")],
            defaults: vec![("wan".to_owned(), Some("203.0.113.1".parse().unwrap()))],
            host: "hotel".to_owned(),
            ..Machine::default()
        }
    }

    #[test]
    fn a_file_is_whole_or_not_there_and_is_replaced_by_force_only() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("vsb.toml");
        can_be_written(&file, false).unwrap();
        written(&file, "one", false).unwrap();
        assert!(can_be_written(&file, false).unwrap_err().to_string().contains("is there already"));
        assert!(written(&file, "two", false).is_err(), "somebody was faster");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
        can_be_written(&file, true).and_then(|()| written(&file, "two", true)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
        let nowhere = place.path().join("none/vsb.toml");
        assert!(can_be_written(&nowhere, true).unwrap_err().to_string().contains("cannot write"));
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left");
    }
}
