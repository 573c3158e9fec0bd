//! The `fairair` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairair::main_with(std::env::args_os())
}
