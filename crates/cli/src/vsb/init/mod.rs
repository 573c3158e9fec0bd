//! `fairair vsb init`: the first configuration of a box, guided.

mod asking;
mod page;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use fairair_linux::enforce::preflight::preflight;
use fairair_linux::enforce::setup::{CONFIRM, Lack, Machine};
use fairair_linux::enforce::state::Lock;

use self::asking::Asking;
use super::args::{InitArgs, RunArgs};
use super::client::failed;
use crate::error::{CliError, Exit};
use crate::interrupt;
use crate::output::files::Pending;
use crate::output::{print, say};

/// What a box that runs already is told to do.
const HELD: &str = "`fairair vsb stop` ends it; if this is its file, `fairair vsb reload` is enough";
/// Where Ctrl-C finds it.
static STAGE: AtomicU8 = AtomicU8::new(ASKING);
const ASKING: u8 = 0;
const WRITTEN: u8 = 1;
/// The daemon listens to signals itself.
const RUNNING: u8 = 2;
const ENDED: u8 = 3;

/// What runs a box.
type Run = fn(&RunArgs) -> Result<Exit, CliError>;

/// Looks, proposes, asks, writes and checks.
///
/// # Errors
/// The machine lacks something, options do not fit it, or the file cannot be written: nothing is written then.
pub(super) fn init_command(args: &InitArgs, run: Run) -> Result<Exit, CliError> {
    can_be_written(&args.config, args.force || args.page)?;
    let may_ask = !args.yes && io::stdin().is_terminal();
    if !may_ask && !args.yes && !args.page {
        enough(args)?;
    }
    interrupt::ends_saying(|| match STAGE.load(Ordering::SeqCst) {
        ASKING => Some("\ninterrupted: nothing was written"),
        WRITTEN => Some("\ninterrupted: the file is written, nothing was started"),
        ENDED => Some("\ninterrupted: the file is written, what was started is taken back"),
        _ => None,
    });
    let machine = Machine::read().map_err(lacking)?;
    if args.page {
        return page::page_command(args, run);
    }
    let mut asking = Asking { answers: io::stdin().lock(), paper: io::stderr(), may_ask };
    let Some(text) = asking.configuration(&machine, args)? else {
        say("nothing was written");
        return Ok(Exit::BadInput);
    };
    written(&args.config, &text, args.force)?;
    started(args, run)
}

/// Checks what was written, and runs it or says how.
fn started(args: &InitArgs, run: Run) -> Result<Exit, CliError> {
    let file = args.config.display();
    say(&format!("{file} is written. What `fairair vsb check` finds:"));
    let preflight = preflight(&args.config).map_err(failed)?;
    for finding in &preflight.findings {
        say(finding);
    }
    if !preflight.is_good {
        say(&format!("Mend what says FAIL, then run `fairair vsb check {file}`. Nothing was started."));
        return Ok(Exit::BadInput);
    }
    if args.start {
        say(&format!(
            "It starts. Run `fairair vsb confirm` in a second terminal within {CONFIRM}: else everything is taken back."
        ));
        return tried(&args.config, run);
    }
    if Lock::is_held() {
        say(&format!("A box runs here already: {HELD}."));
    }
    say(&format!("Try it, as root. It is taken back after {CONFIRM} unless `fairair vsb confirm` is run:"));
    print(&format!("fairair vsb run {file} --confirm-within {}s\n", CONFIRM.as_secs_f64()))?;
    Ok(Exit::Success)
}

/// Runs the box until it ends; it is taken back unless somebody confirms it.
fn tried(config: &Path, run: Run) -> Result<Exit, CliError> {
    STAGE.store(RUNNING, Ordering::SeqCst);
    run(&RunArgs { config: config.to_owned(), confirm_within: Some(CONFIRM), json: false })
}

/// Whether the file can be written is known before anything is asked.
fn can_be_written(path: &Path, force: bool) -> Result<(), CliError> {
    if !force && is_there(path) {
        return Err(CliError::Usage {
            what: format!("{} is there already", path.display()),
            help: "name another file, or replace this one with --force; `fairair vsb check` looks at it".to_owned(),
        });
    }
    Pending::create(path).map(drop).map_err(|error| CliError::unwritable(path, &error))
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The whole file, or none.
fn written(path: &Path, text: &str, force: bool) -> Result<(), CliError> {
    let pending = Pending::create(path).and_then(|mut pending| {
        pending.writer().write_all(text.as_bytes())?;
        if force { pending.persist() } else { pending.persist_new() }
    });
    pending.map_err(|error| CliError::write(path, &error))?;
    STAGE.store(WRITTEN, Ordering::SeqCst);
    Ok(())
}

/// Without a terminal options have to say what would be asked.
fn enough(args: &InitArgs) -> Result<(), CliError> {
    let asked = [
        ("--uplink", args.uplink.is_empty()),
        ("--ap", args.ap.is_empty()),
        ("--max or --capacity", args.max.is_empty() && args.capacity.is_empty()),
    ];
    let missing: Vec<_> = asked.iter().filter(|(_, is_missing)| *is_missing).map(|(option, _)| *option).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::Usage {
        what: format!("there is no terminal to ask in, and no {}", missing.join(", no ")),
        help: "write these options, or take what is proposed with --yes".to_owned(),
    })
}

fn lacking(lack: Lack) -> CliError {
    CliError::Box { what: lack.what, help: lack.fix, is_input: true }
}

#[cfg(test)]
mod tests {
    use fairair_linux::enforce::setup::Interface;

    use super::*;

    /// A router with the uplink `wan` and the network `lan`.
    pub(super) fn router() -> Machine {
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
    fn a_script_is_told_which_options_it_lacks() {
        let what = |args: &InitArgs| enough(args).unwrap_err().to_string();
        let args = InitArgs { uplink: vec!["wan".to_owned()], ..InitArgs::default() };
        assert!(what(&args).ends_with("no --ap, no --max or --capacity"), "{}", what(&args));
        assert!(what(&InitArgs::default()).contains("no --uplink"));
        let args = InitArgs { ap: vec!["lan".parse().unwrap()], max: vec!["1 Mbit/s".parse().unwrap()], ..args };
        assert!(enough(&args).is_ok());
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
