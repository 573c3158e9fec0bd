//! `fairair vsb init`: the first configuration of a box, guided.

mod asking;
mod choose;
mod page;
mod stage;

use std::io::{self, IsTerminal as _};
use std::sync::atomic::Ordering;

use fairair_linux::enforce::preflight::preflight;
use fairair_linux::enforce::setup::{CONFIRM, Machine};
use fairair_linux::enforce::state::Lock;

use self::asking::Asking;
use self::stage::{ASKING, ENDED, HELD, Run, STAGE, WRITTEN, can_be_written, lacking, tried, written};
use super::args::InitArgs;
use super::client::failed;
use crate::error::{CliError, Exit};
use crate::interrupt;
use crate::output::{print, say};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_told_which_options_it_lacks() {
        let what = |args: &InitArgs| enough(args).unwrap_err().to_string();
        let args = InitArgs { uplink: vec!["wan".to_owned()], ..InitArgs::default() };
        assert!(what(&args).ends_with("no --ap, no --max or --capacity"), "{}", what(&args));
        assert!(what(&InitArgs::default()).contains("no --uplink"));
        let args = InitArgs { ap: vec!["lan".parse().unwrap()], max: vec!["1 Mbit/s".parse().unwrap()], ..args };
        assert!(enough(&args).is_ok());
    }
}
