//! `fairair vsb replay`: the capacity machines on a recorded log.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fairair_core::control::log::{Replayed, replay};
use fairair_core::control::{CapacityParams, Decision};
use fairair_core::units::{Instant, plural, word};
use fairair_linux::enforce::config::Config;
use fairair_linux::enforce::log::read;

use super::args::ReplayArgs;
use crate::error::{CliError, Exit};
use crate::output::{print, say};

/// Replays each AP's events and prints the decisions.
pub(super) fn replay_command(args: &ReplayArgs) -> Result<Exit, CliError> {
    let bad = |what: String| CliError::Box {
        what: format!("{}: {what}", args.log.display()),
        help: "name a log that `fairair vsb run` wrote: `[journal] log` of its configuration".to_owned(),
        is_input: true,
    };
    let others: BTreeMap<String, CapacityParams> = match &args.config {
        None => BTreeMap::new(),
        Some(path) => Config::load(path)?.pools().into_iter().map(|(name, aps)| (name, aps[0].capacity)).collect(),
    };
    let logs = read(&args.log).map_err(|error| bad(error.to_string()))?;
    if logs.is_empty() {
        return Err(bad("there are no events in it".to_owned()));
    }
    let mut is_same = true;
    for (ap, events) in &logs {
        let other = others.get(ap);
        if other.is_none() && args.config.is_some() {
            say(&format!("{ap:?} is not in the other configuration: replayed as recorded"));
        }
        let told = replay(ap, events, other).map_err(|error| bad(format!("AP {ap:?}: {error}")))?;
        print(&beside(ap, &told))?;
        is_same &= other.is_some() || told.recorded == told.replayed;
    }
    Ok(if is_same { Exit::Success } else { Exit::Failure })
}

/// Both lists of decisions, those of one moment in one line.
fn beside(ap: &str, told: &Replayed) -> String {
    let same = if told.recorded == told.replayed { "all the same" } else { "not the same" };
    let (recorded, replayed) = (told.recorded.len(), told.replayed.len());
    let mut text = format!("{ap:?}: {} recorded, {replayed} replayed, {same}\n", plural(recorded, "decision"));
    let _ = writeln!(text, "{:>10}  {:40}  replayed", "s", "recorded");
    let (mut then, mut now) = (told.recorded.iter().peekable(), told.replayed.iter().peekable());
    loop {
        let at = match (then.peek(), now.peek()) {
            (None, None) => return text,
            (Some(only), None) | (None, Some(only)) => only.at,
            (Some(then), Some(now)) => then.at.min(now.at),
        };
        let (left, right) = (then.next_if(|own| own.at == at), now.next_if(|own| own.at == at));
        let mark = if left == right { "" } else { "  *" };
        let (left, right) = (left.map_or_else(String::new, shown), right.map_or_else(String::new, shown));
        let at = at.saturating_since(Instant::ZERO).as_secs_f64();
        let _ = writeln!(text, "{at:10.3}  {left:40}  {right}{mark}");
    }
}

fn shown(decision: &Decision) -> String {
    let mbps = decision.capacity.as_bps() as f64 / 1e6;
    format!("{mbps:8.3} Mbit/s {} {}", word(&decision.state), word(&decision.reason))
}
