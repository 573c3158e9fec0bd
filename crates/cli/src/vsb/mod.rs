//! `fairair vsb`: the live box.

mod args;
mod client;
mod dashboard;
mod init;
mod replay;
mod text;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use fairair_linux::enforce::daemon::{self, Options};
use fairair_linux::enforce::datapath::{Engine, Restored};
use fairair_linux::enforce::preflight::preflight;
use fairair_linux::enforce::protocol::{Answer, Ask, ask};
use fairair_linux::enforce::settings::SetStation;
use fairair_linux::enforce::state::{Lock, State};
use serde_json::json;

pub use args::VsbCommand;
use args::{ClientArgs, RunArgs, SetArgs, StationCommand};
use client::{answer, failed, silent};

use crate::error::{CliError, Exit};
use crate::output::{json, print, say};

/// How long [`top`] waits for a daemon that is gone.
const AWAY: Duration = Duration::from_secs(10);

/// Runs `fairair vsb`.
///
/// # Errors
/// The configuration is wrong, no daemon answers, or the kernel refuses.
pub fn vsb_command(command: &VsbCommand) -> Result<Exit, CliError> {
    match command {
        VsbCommand::Init(args) => init::init_command(args, run),
        VsbCommand::Check(args) => check(&args.config),
        VsbCommand::Run(args) => run(args),
        VsbCommand::Status(args) => show(args, Ask::Status),
        VsbCommand::Stations(args) => show(args, Ask::Stations),
        VsbCommand::Top(args) => top(args),
        VsbCommand::Explain(args) => show(&args.client, Ask::Explain(args.station.clone())),
        VsbCommand::Station(command) => station(command),
        VsbCommand::Dashboard(args) => dashboard::dashboard_command(args),
        VsbCommand::Reload(args) => show(args, Ask::Reload),
        VsbCommand::Confirm(args) => show(args, Ask::Confirm),
        VsbCommand::Replay(args) => replay::replay_command(args),
        VsbCommand::Man(args) => crate::manual::man_of_vsb(args),
        VsbCommand::Stop(args) => stop(args),
    }
}

fn station(command: &StationCommand) -> Result<Exit, CliError> {
    match command {
        StationCommand::List(args) => show(args, Ask::StationList),
        StationCommand::Unset(args) => show(&args.client, Ask::UnsetStation(args.station.clone())),
        StationCommand::Set(args) => {
            let SetArgs { station, plan, weight, cap, until, client } = args.clone();
            show(&client, Ask::SetStation(SetStation { station, plan, weight, cap, until }))
        }
    }
}

fn run(args: &RunArgs) -> Result<Exit, CliError> {
    // A terminal that goes away must not end the box: its errors would go to the same place, and a panic aborts.
    let filter = tracing_subscriber::fmt().with_writer(io::stderr).with_target(false).log_internal_errors(false);
    // A host program may have a subscriber of its own.
    let _ = if args.json { filter.json().try_init() } else { filter.with_ansi(false).try_init() };
    let confirm_within = args.confirm_within.map(|time| Duration::from_nanos(time.as_nanos()));
    let options = Options { config: args.config.clone(), confirm_within };
    // Not before: a second `run` would find the first one's page, and blame its address beside the true cause.
    match daemon::run(&options, || dashboard::attach(&args.config)) {
        // Its log has said what differs. The unit takes this code for no reason to restart.
        Ok(restored) => Ok(if restored.differences.is_empty() { Exit::Success } else { Exit::Unmet }),
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

/// Shows the busiest stations each second. A daemon that is started anew meanwhile is shown again.
fn top(args: &ClientArgs) -> Result<Exit, CliError> {
    crate::interrupt::ends_quietly();
    let mut answered = None;
    loop {
        match look(args) {
            Ok(shown) => {
                answered = Some(Instant::now());
                print(&shown)?;
            }
            Err(error) => match answered {
                None => return Err(error),
                Some(at) if at.elapsed() > AWAY => {
                    let what = format!("the daemon has not answered for {} s: {error}", AWAY.as_secs());
                    let help = "it was stopped, or its log says why it ended".to_owned();
                    return Err(CliError::Box { what, help, is_input: false });
                }
                Some(_) if args.json => {}
                Some(_) => print("\u{1b}[H\u{1b}[Kthe daemon does not answer; Ctrl-C ends\n")?,
            },
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// One screen of [`top`], or one line of JSON.
fn look(args: &ClientArgs) -> Result<String, CliError> {
    let status = answer(&args.state, Ask::Status)?;
    let stations = match answer(&args.state, Ask::Stations)? {
        Answer::Stations(mut stations) => {
            stations.sort_by_key(|station| std::cmp::Reverse(station.load()));
            stations.truncate(30);
            Answer::Stations(stations)
        }
        other => other,
    };
    if args.json {
        let (Answer::Status(status), Answer::Stations(stations)) = (&status, &stations) else {
            return Ok(String::new());
        };
        return Ok(format!("{}\n", json!({ "status": status, "stations": stations })));
    }
    // To the upper left, and the rest of the screen cleared.
    Ok(format!("\u{1b}[H\u{1b}[J{}\n{}", text::of(&status), text::of(&stations)))
}

/// Asks the daemon and prints its answer.
fn show(args: &ClientArgs, what: Ask) -> Result<Exit, CliError> {
    let answer = answer(&args.state, what)?;
    print(&if args.json { json(&answer) } else { text::of(&answer) })?;
    Ok(Exit::Success)
}

/// Stops the daemon, or cleans up after one that was killed.
fn stop(args: &ClientArgs) -> Result<Exit, CliError> {
    let asked = ask(&args.state, Ask::Stop);
    if asked.is_ok() {
        wait_until_it_ended(&args.state)?;
    }
    match asked {
        Ok(Ok(Answer::Stopped(restored))) => told("stopped", args, restored),
        Ok(Ok(_)) => {
            say("stopped; that daemon is of another version: its log says whether everything is as before");
            Ok(Exit::Success)
        }
        Ok(Err(error)) => {
            let what = format!("the daemon ended, but could not take everything back: {error}");
            let help = "mend that, then run `fairair vsb stop` again".to_owned();
            Err(CliError::Box { what, help, is_input: false })
        }
        Err(error) => {
            // Whoever may not ask has not found out that nothing runs: the daemon may be in another network namespace.
            let may_not = error.kind() == io::ErrorKind::PermissionDenied;
            let Some(_lock) = Lock::take().ok().flatten().filter(|_| !may_not) else {
                return Err(silent(&args.state, &error));
            };
            if error.kind() == io::ErrorKind::ConnectionRefused {
                // What a killed daemon listened at.
                let _ = std::fs::remove_file(State::socket(&args.state));
            }
            if !Engine::has_left(&args.state).map_err(|error| failed(error.into()))? {
                // What a killed daemon left stays with its namespace, and its state file with the file system.
                let file = State::file(&args.state);
                let elsewhere = format!(
                    "; {} is of a box in another network namespace (run `fairair vsb stop` there) or before a restart",
                    file.display()
                );
                let rest = if file.exists() { elsewhere } else { String::new() };
                say(&format!("nothing runs here, and there is nothing to take back{rest}"));
                return Ok(Exit::Success);
            }
            let restored = Engine::restore(&args.state).map_err(|error| failed(error.into()))?;
            told("no daemon ran; what it had left is gone", args, restored)
        }
    }
}

/// Says whether everything is as before; if not, that is a failure.
fn told(what: &str, args: &ClientArgs, restored: Restored) -> Result<Exit, CliError> {
    let exit = if restored.differences.is_empty() { Exit::Success } else { Exit::Failure };
    let answer = Answer::Stopped(restored);
    if args.json {
        print(&json(&answer))?;
    } else {
        say(&format!("{what}: {}", text::of(&answer).trim_end()));
    }
    Ok(exit)
}

/// The daemon lets go of its lock when everything is as before.
fn wait_until_it_ended(state: &Path) -> Result<(), CliError> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        // In another network namespace the lock says nothing: whoever listens at the socket still runs.
        if UnixStream::connect(State::socket(state)).is_err() && matches!(Lock::take(), Ok(Some(_))) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let what = "the daemon said that it stops, but still runs after 30 s".to_owned();
    Err(CliError::Box { what, help: "see its log".to_owned(), is_input: false })
}
