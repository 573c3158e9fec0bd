//! `fairair man` and `fairair completions`: what packages install beside the command, from the same words as `--help`.

use clap::{Command, CommandFactory as _};

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::error::{CliError, Exit};
use crate::output::print;

/// Writes one man page a command, those of subcommands included.
///
/// # Errors
/// The directory cannot be written to.
pub fn man_command(args: &ManArgs) -> Result<Exit, CliError> {
    write_pages(whole(), args)
}

/// Writes the pages of `fairair vsb` alone.
///
/// # Errors
/// The directory cannot be written to.
#[cfg(target_os = "linux")]
pub(crate) fn man_of_vsb(args: &ManArgs) -> Result<Exit, CliError> {
    let vsb = whole().find_subcommand("vsb").expect("it is one of ours").clone().name("fairair-vsb");
    write_pages(vsb, args)
}

/// Prints a shell's script of completions.
///
/// # Errors
/// Standard output is closed.
pub fn completions_command(args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fairair", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

fn write_pages(command: Command, args: &ManArgs) -> Result<Exit, CliError> {
    clap_mangen::generate_to(command, &args.directory).map_err(|error| CliError::write(&args.directory, &error))?;
    Ok(Exit::Success)
}

/// The command with all its subcommands, without `help`, which would have a page for each of the others.
fn whole() -> Command {
    let mut command = without_help(Cli::command());
    command.build();
    command
}

fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn every_command_has_a_page_and_completions() {
        fn pages(command: &Command, name: &str) -> Vec<String> {
            let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
            let below = shown.flat_map(|sub| pages(sub, &format!("{name}-{}", sub.get_name())));
            std::iter::once(format!("{name}.1")).chain(below).collect()
        }
        let place = tempfile::tempdir().unwrap();
        man_command(&ManArgs { directory: place.path().to_owned() }).unwrap();
        let files = std::fs::read_dir(place.path()).unwrap();
        let mut there: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let mut wanted = pages(&whole(), "fairair");
        there.sort();
        wanted.sort();
        assert_eq!(there, wanted);
        assert!(wanted.iter().any(|page| page == "fairair-run.1"), "{wanted:?}");

        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "fairair", &mut script);
            let script = String::from_utf8(script).unwrap();
            for word in ["compare", "until-ci", "completions"] {
                assert!(script.contains(word), "{shell} without {word}");
            }
        }
    }
}
