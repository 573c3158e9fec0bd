//! `fairair testbed`: real hosts over an emulated cell.

mod args;
mod hosts;
mod program;
mod run;

pub(crate) use args::TestbedCommand;
pub(crate) use run::measure_by_default;

use crate::error::{CliError, Exit};

/// Does what `command` says.
pub(crate) fn testbed_command(command: &TestbedCommand) -> Result<Exit, CliError> {
    match command {
        TestbedCommand::Run(args) => run::run_testbed(args),
        TestbedCommand::Up(args) => hosts::up(args),
        TestbedCommand::Exec(args) => hosts::exec(&args.place, &args.command),
        TestbedCommand::Shell(args) => {
            let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
            hosts::exec(args, &[shell])
        }
        TestbedCommand::List => hosts::list(),
        TestbedCommand::Down(args) => hosts::down(args.id.as_deref()),
        TestbedCommand::Clean => hosts::clean(),
        TestbedCommand::Doctor => hosts::doctor(),
    }
}
