//! `fairair vsb`: the live box.

mod args;
mod replay;
mod text;

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use fairair_linux::enforce::VsbError;
use fairair_linux::enforce::daemon::{self, Options};
use fairair_linux::enforce::datapath::{Engine, Restored};
use fairair_linux::enforce::preflight::preflight;
use fairair_linux::enforce::protocol::{Answer, Ask, ask};
use fairair_linux::enforce::state::Lock;

use args::{ClientArgs, RunArgs};
pub use args::{VsbArgs, VsbCommand};

use crate::error::{CliError, Exit};
use crate::output::{print, say};

/// Runs `fairair vsb`.
///
/// # Errors
/// The configuration is wrong, no daemon answers, or the kernel refuses.
pub fn vsb_command(args: &VsbArgs) -> Result<Exit, CliError> {
    match &args.command {
        VsbCommand::Check(args) => check(&args.config),
        VsbCommand::Run(args) => run(args),
        VsbCommand::Status(args) => show(args, Ask::Status),
        VsbCommand::Stations(args) => show(args, Ask::Stations),
        VsbCommand::Top(args) => top(args),
        VsbCommand::Explain(args) => show(&args.client, Ask::Explain(args.station.clone())),
        VsbCommand::Reload(args) => show(args, Ask::Reload),
        VsbCommand::Confirm(args) => show(args, Ask::Confirm),
        VsbCommand::Replay(args) => replay::replay_command(args),
        VsbCommand::Man(args) => man(&args.directory),
        VsbCommand::Stop(args) => stop(args),
    }
}

fn run(args: &RunArgs) -> Result<Exit, CliError> {
    let filter = tracing_subscriber::fmt().with_writer(io::stderr).with_target(false);
    // A host program may have a subscriber of its own.
    let _ = if args.json { filter.json().try_init() } else { filter.with_ansi(false).try_init() };
    let confirm_within = args.confirm_within.map(|time| Duration::from_nanos(time.as_nanos()));
    let options = Options { config: args.config.clone(), confirm_within };
    match daemon::run(&options) {
        Ok(restored) => Ok(told(&restored)),
        Err(error) => Err(failed(error)),
    }
}

/// What `run` would find and do.
fn check(config: &Path) -> Result<Exit, CliError> {
    let preflight = preflight(config).map_err(failed)?;
    for finding in &preflight.findings {
        say(finding);
    }
    let none = |text: &str| if text.is_empty() { "# nothing\n".to_owned() } else { text.to_owned() };
    if preflight.is_good {
        let title = "# What that changes: + would be added, - would be removed";
        print(&format!("{}\n{title}\n{}", none(&preflight.commands), none(&preflight.changes)))?;
    } else {
        print(&preflight.commands)?;
    }
    Ok(if preflight.is_good { Exit::Success } else { Exit::BadInput })
}

/// One page a subcommand, from the same words as `--help`.
fn man(directory: &Path) -> Result<Exit, CliError> {
    use clap::CommandFactory as _;
    let mut all = crate::Cli::command();
    all.build();
    let vsb = all.find_subcommand("vsb").expect("it is one of ours").clone().name("fairair-vsb");
    clap_mangen::generate_to(vsb, directory).map_err(|error| CliError::write(directory, &error))?;
    Ok(Exit::Success)
}

/// Shows the busiest stations each second.
fn top(args: &ClientArgs) -> Result<Exit, CliError> {
    let interrupted = crate::interrupt::flag();
    while !interrupted.load(std::sync::atomic::Ordering::SeqCst) {
        let wanted = |what| ask(&args.state, what).map_err(|error| silent(&args.state, &error));
        if let (Ok(status), Ok(Answer::Stations(mut stations))) = (wanted(Ask::Status)?, wanted(Ask::Stations)?) {
            stations.sort_by_key(|station| std::cmp::Reverse((station.rate, station.backlog)));
            stations.truncate(30);
            // To the upper left, and the rest of the screen cleared.
            print(&format!("\u{1b}[H\u{1b}[J{}\n{}", text::of(&status), text::of(&Answer::Stations(stations))))?;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(Exit::Success)
}

/// Asks the daemon and prints its answer.
fn show(args: &ClientArgs, what: Ask) -> Result<Exit, CliError> {
    let answer = ask(&args.state, what).map_err(|error| silent(&args.state, &error))?;
    let answer =
        answer.map_err(|what| CliError::Box { what, help: "see the daemon's log".to_owned(), is_input: false })?;
    print(&if args.json { text::json(&answer) } else { text::of(&answer) })?;
    Ok(Exit::Success)
}

/// Stops the daemon, or cleans up after one that was killed.
fn stop(args: &ClientArgs) -> Result<Exit, CliError> {
    match ask(&args.state, Ask::Stop) {
        Ok(Ok(Answer::Done(_))) => {
            wait_until_it_ended()?;
            if let Ok(true) = Engine::is_present() {
                let what = "the daemon ended, but could not take everything back".to_owned();
                return Err(CliError::Box {
                    what,
                    help: "see its log, then run `fairair vsb stop` again".to_owned(),
                    is_input: false,
                });
            }
            say("stopped: everything is as before");
            Ok(Exit::Success)
        }
        Ok(other) => {
            let what = format!("the daemon does not stop: {other:?}");
            Err(CliError::Box { what, help: "send it SIGTERM".to_owned(), is_input: false })
        }
        Err(error) => {
            let Ok(Some(_lock)) = Lock::take() else { return Err(silent(&args.state, &error)) };
            if !Engine::is_present().map_err(|error| failed(error.into()))? {
                say("nothing runs, and there is nothing to take back");
                return Ok(Exit::Success);
            }
            let restored = Engine::restore(&args.state).map_err(|error| failed(error.into()))?;
            say("no daemon ran; what it had left is gone");
            Ok(told(&restored))
        }
    }
}

/// The daemon lets go of its lock when everything is as before.
fn wait_until_it_ended() -> Result<(), CliError> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        if let Ok(Some(_)) = Lock::take() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let what = "the daemon said that it stops, but still runs after 30 s".to_owned();
    Err(CliError::Box { what, help: "see its log".to_owned(), is_input: false })
}

fn told(restored: &Restored) -> Exit {
    for difference in &restored.differences {
        say(&format!("not as before: {difference}"));
    }
    if restored.differences.is_empty() { Exit::Success } else { Exit::Failure }
}

fn silent(directory: &Path, error: &io::Error) -> CliError {
    CliError::Box {
        what: format!("no daemon answers at {}/vsb.sock: {error}", directory.display()),
        help: "start it with `fairair vsb run CONFIG`; if its configuration has another `state`, name it with --state"
            .to_owned(),
        is_input: false,
    }
}

fn failed(error: VsbError) -> CliError {
    let is_input = matches!(error, VsbError::NoInterface(_) | VsbError::Full(_));
    match error {
        VsbError::Config(error) => CliError::Scenario(error),
        error => CliError::Box { what: error.to_string(), help: error.fix().to_owned(), is_input },
    }
}
