//! Threads, a bar on stderr and Ctrl-C for what the simulator's crate does.

use fairair_sim::Watch;
use fairair_sim::replicas::Pool;

use crate::error::CliError;
use crate::interrupt;
use crate::progress::Bar;

/// The pool of `--jobs`; without it one thread a processor.
pub(crate) fn pool(jobs: Option<u16>) -> Result<Pool, CliError> {
    Pool::new(jobs.unwrap_or(0).into()).map_err(|error| CliError::Threads(error.to_string()))
}

/// Does `work` with a bar that shows how far it is, until it is done or a signal comes.
pub(crate) fn watched<T>(work: impl FnOnce(Watch) -> T) -> T {
    watched_as("replicas", |watch, _| work(watch))
}

/// As [`watched`], where what is counted has another name, and the work may say a line meanwhile.
pub(crate) fn watched_as<T>(of: &'static str, work: impl FnOnce(Watch, &dyn Fn(&str)) -> T) -> T {
    let bar = Bar::new(of);
    work(Watch { cancel: interrupt::flag(), progress: &|progress| bar.show(progress) }, &|line: &str| bar.say(line))
}
