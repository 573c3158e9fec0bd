//! The `fairair` command as a library: a thin `main` and the Python package run the same code.

mod args;
mod capture;
mod check;
mod compare;
mod engines;
mod error;
mod interrupt;
mod lab;
mod manual;
mod model;
mod output;
pub mod pcap;
mod plan;
mod progress;
mod run;
mod sink;
#[cfg(target_os = "linux")]
mod testbed;
mod trace;
#[cfg(target_os = "linux")]
mod vsb;
mod work;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

pub use args::{
    CaptureArgs, CheckArgs, Cli, Command, CompareArgs, CompletionsArgs, Deployment, Engine, Format, LabArgs, ManArgs,
    ModelArgs, Percent, PlanArgs, RunArgs, SortKey,
};
pub use capture::simulate_captured;
pub use check::check_command;
pub use compare::compare_command;
pub use error::{CliError, Exit};
pub use lab::lab_command;
pub use manual::{completions_command, man_command};
pub use model::model_command;
pub use plan::plan_command;
pub use run::run_command;
#[cfg(target_os = "linux")]
pub use vsb::{VsbCommand, vsb_command};

/// Runs the command line `args`, program name first. Errors go to stderr; nothing panics on a closed stdout.
pub fn main_with(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    exit_with(args).into()
}

/// As [`main_with`], for programs that end in their own way, such as the Python package's command.
pub fn exit_with(args: impl IntoIterator<Item = OsString>) -> Exit {
    match Cli::try_parse_from(args) {
        Ok(cli) => match cli.command {
            Command::Run(args) => exit_of(run_command(&args)),
            Command::Compare(args) => exit_of(compare_command(&args)),
            Command::Plan(args) => exit_of(plan_command(&args)),
            Command::Model(args) => exit_of(model_command(&args)),
            Command::Check(args) => exit_of(check_command(&args)),
            Command::Lab(args) => exit_of(lab_command(&args)),
            #[cfg(target_os = "linux")]
            Command::Testbed(command) => exit_of(testbed::testbed_command(&command)),
            #[cfg(target_os = "linux")]
            Command::Vsb(command) => exit_of(vsb_command(&command)),
            Command::Completions(args) => exit_of(completions_command(&args)),
            Command::Man(args) => exit_of(man_command(&args)),
        },
        Err(error) => {
            let text = error.to_string();
            let clipped = clipped(&text);
            let printed = if clipped == text {
                error.print().and_then(|()| std::io::stdout().flush())
            } else {
                output::say(clipped.trim_end());
                Ok(())
            };
            match printed {
                _ if error.use_stderr() => Exit::BadInput,
                // A closed stdout leaves nobody to tell.
                Err(lost) if lost.kind() != ErrorKind::BrokenPipe => {
                    exit_of(Err(CliError::write("standard output", &lost)))
                }
                _ => Exit::Success,
            }
        }
    }
}

/// `text` with words of more than 100 letters cut: what was typed is not echoed by the page.
fn clipped(text: &str) -> String {
    const LONGEST: usize = 100;
    let cut = |word: &str| match word.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...{}", &word[..at], if word.ends_with(char::is_whitespace) { " " } else { "" }),
        None => word.to_owned(),
    };
    text.split_inclusive(char::is_whitespace).map(cut).collect()
}

fn exit_of(result: Result<Exit, CliError>) -> Exit {
    result.unwrap_or_else(|error| {
        let exit = error.exit();
        let error = match error {
            CliError::Usage { what, help } => CliError::Usage { what: clipped(&what), help },
            other => other,
        };
        output::say(&format!("{:?}", miette::Report::new(error)));
        exit
    })
}

#[cfg(test)]
mod tests {
    use super::clipped;

    #[test]
    fn what_was_typed_is_not_echoed_by_the_page() {
        let long = "q".repeat(3000);
        let text = clipped(&format!("error: `{long}` is no goal\nsee `{long}`"));
        assert!(text.len() < 250 && text.contains("... is no goal\nsee `qqq"), "{text}");
        assert_eq!(clipped("error: short\n  and so on"), "error: short\n  and so on");
    }
}
