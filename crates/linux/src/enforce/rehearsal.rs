//! What a change would make of the kernel, found out by doing it in an empty network namespace, and how that differs from
//! what is there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread;

use fairair_core::packet::Direction;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use similar::TextDiff;
use thiserror::Error;

use super::config::Mode;
use super::datapath::{DatapathError, IFB, INNER, Preview, stage, tools};

/// Why a change could not be tried.
#[derive(Debug, Error)]
pub(super) enum RehearsalError {
    /// This process may not make a namespace.
    #[error("cannot make a network namespace: {0}")]
    Namespace(#[from] Errno),
    /// The kernel or a tool refuses a line.
    #[error(transparent)]
    Datapath(#[from] DatapathError),
    /// A defect of ours.
    #[error("the thread of the rehearsal ended before it was done")]
    Broken,
}

/// Does `preview` in a namespace of its own and compares with what `interfaces` and our table hold here: `+` would be
/// there, `-` would no longer be, the lines between are as they are. Empty: nothing changes.
///
/// # Errors
/// This process may not make a namespace, or the kernel refuses a line.
pub(super) fn differences(preview: &Preview, interfaces: &[String]) -> Result<String, RehearsalError> {
    // Also stages that are there now and then no longer.
    let mut devices = preview.devices.clone();
    devices.extend([Direction::Up, Direction::Down].map(|direction| stage(direction).to_owned()));
    devices.sort();
    devices.dedup();
    let rehearsed = thread::scope(|scope| {
        let rehearsal = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            perform(preview)?;
            Ok(picture(preview.mode, &devices, interfaces)?)
        });
        rehearsal.join().unwrap_or(Err(RehearsalError::Broken))
    })?;
    let here = picture(preview.mode, &devices, interfaces)?;
    let mut text = String::new();
    for ((title, now), (_, then)) in here.iter().zip(&rehearsed) {
        if now != then {
            let diff = TextDiff::from_lines(now, then);
            let _ = write!(text, "{}", diff.unified_diff().context_radius(1).header(&format!("{title} now"), title));
        }
    }
    Ok(text)
}

/// Everything that the engine does at a start, in this thread's namespace.
fn perform(preview: &Preview) -> Result<(), DatapathError> {
    for device in &preview.devices {
        tools::add_ifb(device)?;
    }
    tools::tc(&preview.whole_tc)?;
    for interface in &preview.interfaces {
        // Each namespace has one of its own.
        if interface != "lo" {
            tools::add_stand_in(interface)?;
        }
        tools::add_clsact(interface)?;
    }
    tools::tc(&preview.whole_redirects)?;
    tools::nft(&preview.whole_nft)
}

/// All that is ours in this thread's namespace, by title, without what counts or is numbered by chance.
fn picture(mode: Mode, devices: &[String], interfaces: &[String]) -> Result<Vec<(String, String)>, DatapathError> {
    let mut parts = Vec::new();
    for device in devices {
        let shown = tools::classes(device)?;
        let shown = if device == IFB { plain(&shown) } else { shown };
        parts.push((format!("tc {device}"), lines(shown.lines().map(lasting))));
    }
    for interface in interfaces {
        let shown = tools::redirects(interface).unwrap_or_default();
        parts.push((format!("tc {interface}"), shown.lines().map(|line| lasting(line) + "\n").collect()));
    }
    let family = if mode == Mode::Routed { "inet" } else { "bridge" };
    parts.push(("nft".to_owned(), table(&tools::table(family, &["-s"])?.unwrap_or_default())));
    Ok(parts)
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Classes with one queue each: that some have a queue for each flow is no change, since that comes by itself.
fn plain(text: &str) -> String {
    let handle = |word: &str| u16::from_str_radix(word.split(':').next()?, 16).ok();
    let is_inner = |word: &str| handle(word).is_some_and(|handle| (INNER..INNER + 0x1002).contains(&handle));
    let after = |line: &str, key: &str| {
        line.split_whitespace().skip_while(|word| *word != key).nth(1).unwrap_or_default().to_owned()
    };
    let mut homes = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("qdisc htb")) {
        homes.insert(handle(&after(line, "htb")), after(line, "parent"));
    }
    let mut shown = String::new();
    for line in text.lines() {
        let (own, parent) = (line.split_whitespace().nth(2).unwrap_or_default(), after(line, "parent"));
        if line.starts_with("qdisc") && is_inner(&parent) {
            // One of its queues stands for all.
            if parent.ends_with(":2") {
                let home = homes.get(&handle(&parent)).cloned().unwrap_or_default();
                let _ = writeln!(shown, "{}", line.replace(&format!("parent {parent}"), &format!("parent {home}")));
            }
        } else if !is_inner(own) {
            let leaf = after(line, "leaf");
            let line =
                if is_inner(&leaf) { line.replace(&format!("leaf {leaf}"), "leaf auto:") } else { line.to_owned() };
            let _ = writeln!(shown, "{line}");
        }
    }
    shown
}

/// A line of `tc` without counters, and without the handles and numbers that the kernel gives out in turn.
fn lasting(line: &str) -> String {
    let mut words = Vec::new();
    let mut all = line.split_whitespace();
    while let Some(word) = all.next() {
        match word {
            "refcnt" | "direct_packets_stat" | "index" | "ref" | "bind" | "fh" | "ht" => drop(all.next()),
            // With `queue = "auto"` it follows the rate.
            "limit" if words.contains(&"bfifo") => drop(all.next()),
            _ if word.ends_with(':') && word.len() == 5 && word >= "8000:" => words.push("auto:"),
            _ => words.push(word),
        }
    }
    words.join(" ")
}

/// The table with a line for each element of its maps; what it has seen of packets is left out.
fn table(text: &str) -> String {
    let mut shown = String::new();
    let (mut name, mut elements) = (String::new(), None::<String>);
    for line in text.lines() {
        let words = line.trim();
        if let Some(list) = &mut elements {
            list.push_str(words);
        } else if let Some(list) = words.strip_prefix("elements = {") {
            elements = Some(list.to_owned());
        } else {
            for kind in ["map", "set"] {
                if let Some(rest) = words.strip_prefix(kind).filter(|_| words.ends_with('{')) {
                    kind.clone_into(&mut name);
                    name.push_str(rest.trim_end_matches('{').trim_end());
                }
            }
            shown.push_str(line);
            shown.push('\n');
        }
        if elements.as_ref().is_some_and(|list| list.ends_with('}')) {
            let list = elements.take().unwrap_or_default();
            if name.starts_with("map") {
                let entries = list.trim_end_matches('}').split(',').map(|entry| format!("\t\t{}", entry.trim()));
                shown += &self::lines(entries);
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_one_by_one_and_what_packets_left_is_gone() {
        let text = "table inet fairair {\n\tmap class4 {\n\t\ttype ipv4_addr : classid\n\t\telements = { 10.1.0.3 : 1:1010, \
            10.1.0.2 : 1:1000,\n\t\t\t     10.1.0.4 : 1:1020 }\n\t}\n\n\tset new4 {\n\t\ttype ipv4_addr\n\t\telements = { \
            10.1.0.9 timeout 10s expires 3s }\n\t}\n}\n";
        let shown = table(text);
        assert_eq!(
            shown,
            "table inet fairair {\n\tmap class4 {\n\t\ttype ipv4_addr : classid\n\t\t10.1.0.2 : 1:1000\n\t\t10.1.0.3 : \
             1:1010\n\t\t10.1.0.4 : 1:1020\n\t}\n\n\tset new4 {\n\t\ttype ipv4_addr\n\t}\n}\n"
        );
    }

    #[test]
    fn counters_and_handles_by_chance_are_no_change() {
        let now = "class htb 1:1000 parent 1:1 leaf 8012: prio 0 quantum 1500 rate 8bit";
        assert_eq!(lasting(now), lasting(&now.replace("8012:", "8003:")));
        assert_ne!(lasting(now), lasting(&now.replace("quantum 1500", "quantum 3000")));
        let now = "qdisc htb 1: root refcnt 2 r2q 10 default 0 direct_packets_stat 0 direct_qlen 32";
        assert_eq!(lasting(now), lasting(&now.replace("stat 0", "stat 77")));
    }
}
