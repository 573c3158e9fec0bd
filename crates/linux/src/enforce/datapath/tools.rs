//! `ip`, `tc` and `nft`: run without a shell, in batches, in the namespace of this process, with their words in the error.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::hysteresis::HysteresisError;
use super::links::link_named;
use super::wan::preferences;
use super::{PREFERENCES, TABLE, TRIAL};
use crate::command;
use crate::enforce::state::StateError;

/// Why the kernel could not be brought to what it should hold.
#[derive(Debug, Error)]
pub enum DatapathError {
    /// A tool is not there.
    #[error("cannot run {tool}: {reason}. Install {package}")]
    NoTool {
        /// Its name.
        tool: &'static str,
        /// The package that has it, on Debian.
        package: &'static str,
        /// The system's words.
        reason: String,
    },
    /// A tool refused.
    #[error("{tool} refused `{command}`: {words}")]
    Refused {
        /// Its name.
        tool: &'static str,
        /// What it was asked for, cut.
        command: String,
        /// What it said.
        words: String,
    },
    /// HTB cannot be made to send batches.
    #[error(transparent)]
    Hysteresis(#[from] HysteresisError),
    /// What was there before cannot be kept, or read again.
    #[error(transparent)]
    State(#[from] StateError),
    /// Netlink failed.
    #[error("netlink: {0}")]
    Netlink(#[from] std::io::Error),
}

/// What was on an interface before, as `tc` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dump {
    /// Its name then.
    pub interface: String,
    /// Its number, which it keeps when it is renamed; 0: not known.
    #[serde(default)]
    pub index: u32,
    /// `tc qdisc show`.
    pub qdiscs: String,
    /// `tc filter show` at ingress and egress.
    pub filters: String,
}

/// Makes the IFB `device`, without queues.
///
/// # Errors
/// The kernel has no IFB, there is such a device already, or this process may not.
pub(in crate::enforce) fn add_ifb(device: &str) -> Result<(), DatapathError> {
    run("ip", &["link", "add", device, "type", "ifb"], "")?;
    raise_ifb(device)
}

/// Sets the IFB `device` up.
///
/// # Errors
/// There is none, or this process may not.
pub(in crate::enforce) fn raise_ifb(device: &str) -> Result<(), DatapathError> {
    run("ip", &["link", "set", device, "up"], "").map(drop)
}

/// Removes whatever is at the root of the IFB `device`; nothing is fine.
///
/// # Errors
/// This process may not.
pub(in crate::enforce) fn clear_ifb(device: &str) -> Result<(), DatapathError> {
    forgive(run("tc", &["qdisc", "del", "dev", device, "root"], ""), &["Cannot delete qdisc with handle of zero"])
}

/// Removes the IFB `device` with all its classes; packets in them are lost. No such device is fine.
///
/// # Errors
/// This process may not.
pub(in crate::enforce) fn remove_ifb(device: &str) -> Result<(), DatapathError> {
    forgive(run("ip", &["link", "del", device], ""), &["Cannot find device"])
}

/// What `tool` prints: a look that changes nothing.
///
/// # Errors
/// It is not there, or does not know these words.
pub(in crate::enforce) fn show(tool: &'static str, words: &[&str]) -> Result<String, DatapathError> {
    run(tool, words, "")
}

/// Does `lines`, all or up to the first that fails.
///
/// # Errors
/// The line that failed, in the tool's words.
pub(in crate::enforce) fn tc(lines: &str) -> Result<(), DatapathError> {
    if lines.is_empty() { Ok(()) } else { run("tc", &["-batch", "-"], lines).map(drop) }
}

/// Does `lines`, which are for a device that is there for this alone.
///
/// # Errors
/// The first line that the kernel refuses.
pub(in crate::enforce) fn tries(lines: &str) -> Result<(), DatapathError> {
    // One that a kill left.
    remove_ifb(TRIAL)?;
    add_ifb(TRIAL)?;
    let tried = tc(lines);
    remove_ifb(TRIAL)?;
    tried
}

/// Does those of `lines` that can be done.
pub(in crate::enforce) fn tc_all(lines: &str) {
    if !lines.is_empty() {
        let _ = run("tc", &["-force", "-batch", "-"], lines);
    }
}

/// Does the transaction `lines`, whole or not at all.
///
/// # Errors
/// The line that failed, in the tool's words.
pub(in crate::enforce) fn nft(lines: &str) -> Result<(), DatapathError> {
    if lines.is_empty() { Ok(()) } else { run("nft", &["-f", "-"], lines).map(drop) }
}

/// Whether `nft` would accept `lines`.
///
/// # Errors
/// The line that it would not, in its words.
pub(in crate::enforce) fn nft_check(lines: &str) -> Result<(), DatapathError> {
    run("nft", &["-c", "-f", "-"], lines).map(drop)
}

/// Adds the clsact qdisc to `interface` unless it is there; answers whether it was added.
///
/// # Errors
/// There is no such interface, or this process may not.
pub(in crate::enforce) fn add_clsact(interface: &str) -> Result<bool, DatapathError> {
    if has_clsact(interface)? {
        return Ok(false);
    }
    run("tc", &["qdisc", "add", "dev", interface, "clsact"], "").map(|_| true)
}

/// Whether `interface` has a clsact qdisc.
///
/// # Errors
/// There is no such interface.
pub(in crate::enforce) fn has_clsact(interface: &str) -> Result<bool, DatapathError> {
    let shown = run("tc", &["qdisc", "show", "dev", interface], "")?;
    Ok(shown.lines().any(|line| line.starts_with("qdisc clsact")))
}

/// Removes the clsact qdisc of `interface` if no filter is left in it; answers whether it is gone.
///
/// # Errors
/// This process may not.
pub(in crate::enforce) fn remove_clsact(interface: &str) -> Result<bool, DatapathError> {
    if !has_clsact(interface)? {
        return Ok(true);
    }
    if !dump(interface)?.filters.trim().is_empty() {
        return Ok(false);
    }
    run("tc", &["qdisc", "del", "dev", interface, "clsact"], "").map(|_| true)
}

/// Removes our filters from `interface`; none is fine.
///
/// # Errors
/// This process may not.
pub(in crate::enforce) fn remove_filters(interface: &str) -> Result<(), DatapathError> {
    remove_hooks(interface);
    for (protocol, preference) in PREFERENCES {
        let preference = preference.to_string();
        let command = ["filter", "del", "dev", interface, "egress", "protocol", protocol, "pref", preference.as_str()];
        forgive(
            run("tc", &command, ""),
            &["Cannot find", "Invalid handle", "No such file", "not found", "doesn't exist"],
        )?;
    }
    Ok(())
}

/// Removes the filters that lead from `interface` to the stage of the Internet link; none is fine.
pub(in crate::enforce) fn remove_hooks(interface: &str) {
    let mut lines = String::new();
    for (protocol, preference) in preferences() {
        let _ = writeln!(lines, "filter del dev {interface} egress protocol {protocol} pref {preference}");
    }
    tc_all(&lines);
}

/// Removes our table; none is fine.
///
/// # Errors
/// This process may not.
pub(in crate::enforce) fn remove_table() -> Result<(), DatapathError> {
    for family in ["inet", "bridge"] {
        forgive(run("nft", &["delete", "table", family, TABLE], ""), &["No such file", "does not exist"])?;
    }
    Ok(())
}

/// Interfaces with filters of ours.
///
/// # Errors
/// `tc` is not there.
pub(in crate::enforce) fn redirected() -> Result<Vec<String>, DatapathError> {
    let mut redirected = Vec::new();
    for line in run("tc", &["qdisc", "show"], "")?.lines().filter(|line| line.starts_with("qdisc clsact")) {
        let mut words = line.split(' ').skip_while(|word| *word != "dev");
        let Some(interface) = words.nth(1) else { continue };
        if redirects(interface)?.contains("\nfilter") {
            redirected.push(interface.to_owned());
        }
    }
    Ok(redirected)
}

/// What is on `interface`.
///
/// # Errors
/// There is no such interface.
pub(in crate::enforce) fn dump(interface: &str) -> Result<Dump, DatapathError> {
    let mut filters = String::new();
    for side in ["ingress", "egress"] {
        filters += &filters_at(interface, side)?;
    }
    let qdiscs = run("tc", &["qdisc", "show", "dev", interface], "")?;
    let index = link_named(interface).map_or(0, |link| link.index);
    Ok(Dump { interface: interface.to_owned(), index, qdiscs, filters })
}

/// All of nftables without counters, ours left out.
///
/// # Errors
/// This process may not.
pub(in crate::enforce) fn ruleset() -> Result<String, DatapathError> {
    let mut others = String::new();
    let mut is_ours = false;
    // Top-level blocks begin and end in the first column.
    for line in run("nft", &["-s", "list", "ruleset"], "")?.lines() {
        is_ours |= line == format!("table inet {TABLE} {{") || line == format!("table bridge {TABLE} {{");
        if !is_ours {
            others.push_str(line);
            others.push('\n');
        }
        is_ours &= line != "}";
    }
    Ok(others)
}

/// Makes an interface of that name, to rehearse on.
///
/// # Errors
/// There is one already, or this process may not.
pub(in crate::enforce) fn add_stand_in(interface: &str) -> Result<(), DatapathError> {
    run("ip", &["link", "add", interface, "type", "ifb"], "").map(drop)
}

/// Queue disciplines and classes of `interface`; none if there is no such interface.
///
/// # Errors
/// `tc` is not there.
pub(in crate::enforce) fn classes(interface: &str) -> Result<String, DatapathError> {
    // With details: quanta are weights.
    let show = |what| forgive_text(run("tc", &["-d", what, "show", "dev", interface], ""), &["Cannot find device"]);
    Ok(show("qdisc")? + &show("class")?)
}

/// Where our filters of `interface` are, and what they say.
///
/// # Errors
/// There is no such interface.
pub(in crate::enforce) fn redirects(interface: &str) -> Result<String, DatapathError> {
    let qdiscs = run("tc", &["qdisc", "show", "dev", interface], "")?;
    let filters = filters_at(interface, "egress")?;
    let mut ours: String = qdiscs.lines().filter(|line| line.starts_with("qdisc clsact")).collect();
    let mut is_ours = false;
    for line in filters.lines() {
        // What belongs to a filter is indented below it.
        if line.starts_with("filter") {
            is_ours =
                PREFERENCES.into_iter().chain(preferences()).any(|(_, own)| line.contains(&format!(" pref {own} ")));
        }
        if is_ours {
            ours.push('\n');
            ours.push_str(line);
        }
    }
    Ok(ours)
}

/// Our table of `family` as the kernel has it; `None`: there is none. With the `options` of `nft` it is told without counters (`-s`)
/// and without what the sets hold (`-t`).
///
/// # Errors
/// `nft` is not there.
pub(in crate::enforce) fn table(family: &str, options: &[&str]) -> Result<Option<String>, DatapathError> {
    match run("nft", &[options, &["list", "table", family, TABLE]].concat(), "") {
        Ok(text) => Ok(Some(text)),
        Err(DatapathError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The filters of `interface` at `side`; none where there is no clsact qdisc.
fn filters_at(interface: &str, side: &str) -> Result<String, DatapathError> {
    let shown = run("tc", &["filter", "show", "dev", interface, side], "");
    forgive_text(shown, &["Parent Qdisc doesn't exists", "not found"])
}

fn forgive(result: Result<String, DatapathError>, words: &[&str]) -> Result<(), DatapathError> {
    forgive_text(result, words).map(drop)
}

/// A refusal with one of `words` means that there was nothing to do.
fn forgive_text(result: Result<String, DatapathError>, fine: &[&str]) -> Result<String, DatapathError> {
    match result {
        Err(DatapathError::Refused { words, .. }) if fine.iter().any(|word| words.contains(word)) => Ok(String::new()),
        other => other,
    }
}

/// Runs `tool`; `input` is its standard input.
fn run(tool: &'static str, arguments: &[&str], input: &str) -> Result<String, DatapathError> {
    let package = if tool == "nft" { "nftables" } else { "iproute2" };
    let missing = |error: std::io::Error| DatapathError::NoTool { tool, package, reason: error.to_string() };
    let mut command = command::tool(tool);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(missing)?;
    let mut stdin = child.stdin.take().expect("piped");
    let output = std::thread::scope(|scope| {
        // A tool that gives up early closes its input; its own words say why.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output()
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let mut words: Vec<_> = words.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    if words.iter().any(|line| line.contains("qdisc kind is unknown")) {
        words.push("this kernel lacks that queue discipline: load its module, or write leaf = \"auto\"");
    }
    let command: String = format!("{tool} {}", arguments.join(" ")).chars().take(200).collect();
    Err(DatapathError::Refused { tool, command, words: words.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The terminal sends Ctrl-C to the box's process group: a tool in it would fail, and shaping would stay.
    #[test]
    fn ctrl_c_reaches_no_tool() {
        let told =
            run("sh", &["-c", "kill -INT $$; kill -TERM $$; echo $$ $(cut -d ' ' -f 5 /proc/$$/stat)"], "").unwrap();
        let (process, group) = told.trim().split_once(' ').unwrap();
        assert_eq!(process, group, "the tool leads a group of its own");
    }
}
