//! `fairair testbed`: real hosts over an emulated cell.

mod args;
mod run;

pub(crate) use args::TestbedCommand;

use fairair_linux::emulate::TestbedError;

use crate::error::{CliError, Exit};

/// Does what `command` says.
pub(crate) fn testbed_command(command: &TestbedCommand) -> Result<Exit, CliError> {
    match command {
        TestbedCommand::Run(args) => run::run_testbed(args),
    }
}

/// The error with what to do about it.
fn explained(error: &TestbedError) -> CliError {
    let help = match error {
        TestbedError::Cannot { fix, .. } => {
            return CliError::Usage { what: error.to_string(), help: fix.clone() };
        }
        _ if !nix_is_root() => "run it as root: sudo fairair testbed ...",
        _ => "`fairair testbed doctor` looks for what is missing",
    };
    CliError::Testbed { what: error.to_string(), help: help.to_owned() }
}

fn nix_is_root() -> bool {
    fairair_linux::is_root()
}
