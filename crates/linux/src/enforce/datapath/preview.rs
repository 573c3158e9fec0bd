//! What a change of the layout would do, in words that can be read and rehearsed.

use std::fmt::Write as _;

use fairair_core::packet::Direction;
use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::script::Script;
use super::{IFB, PREFERENCES, wan};
use crate::enforce::config::Mode;

/// What `run` or `reload` would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// Routed or bridged.
    pub mode: Mode,
    /// The commands, under a line that names their tool; none: nothing changes.
    pub commands: String,
    /// Lines for `tc -batch` that make all classes on a fresh device.
    pub whole_tc: String,
    /// Lines for `nft -f` that make the table.
    pub whole_nft: String,
    /// Interfaces that are redirected then.
    pub interfaces: Vec<String>,
    /// Devices that are made for it.
    pub devices: Vec<String>,
    /// Lines for `tc -batch` that redirect the interfaces.
    pub whole_redirects: String,
}

impl Preview {
    /// From `old`, if something runs, to `new`.
    pub fn new(old: Option<&Layout>, new: &Layout) -> Preview {
        let whole = Script::create(new);
        let script = old.map_or_else(|| whole.clone(), |old| Script::between(old, new));
        let (before, after) = (old.map(devices).unwrap_or_default(), devices(new));
        let mut commands = String::new();
        let mut part = |title: &str, lines: &str| {
            if !lines.is_empty() {
                let _ = write!(commands, "# {title}\n{lines}");
            }
        };
        let mut made = String::new();
        for device in after.iter().filter(|device| !before.contains(*device)) {
            let _ = writeln!(made, "link add {device} type ifb\nlink set {device} up");
        }
        part("ip -batch", &made);
        let stage = |direction: &Direction| match old {
            Some(old) if old.wan.rates.contains_key(direction) => wan::between(old, new, *direction),
            _ => wan::create(new, *direction),
        };
        part("tc -batch", &(script.add + &new.wan.rates.keys().map(stage).collect::<String>()));
        part("nft -f", &script.nft);
        part("tc -batch", &redirects(old, new));
        let removed: String = script.remove.iter().map(|minor| removal(old, *minor)).collect();
        let gone = old.iter().flat_map(|old| old.pools.keys()).filter(|id| !new.pools.contains_key(id));
        let removed = removed + &gone.map(|id| Script::remove_pool(*id)).collect::<String>();
        part("tc -batch, when these classes are empty", &removed);
        let mut gone = String::new();
        for device in before.iter().filter(|device| !after.contains(*device)) {
            let _ = writeln!(gone, "link del {device}");
        }
        part("ip -batch, when these devices are empty", &gone);
        let stages: String = new.wan.rates.keys().map(|direction| wan::create(new, *direction)).collect();
        let whole_redirects = new.interfaces().into_iter().map(|interface| redirect(new, interface)).collect();
        Preview {
            mode: new.mode,
            commands,
            whole_tc: whole.add + &stages,
            whole_nft: whole.nft,
            interfaces: new.interfaces().into_iter().map(str::to_owned).collect(),
            devices: after,
            whole_redirects,
        }
    }
}

/// Devices that are made for `layout`.
fn devices(layout: &Layout) -> Vec<String> {
    let stages = layout.wan.rates.keys().map(|direction| wan::stage(*direction).to_owned());
    let interfaces = layout.interfaces().into_iter().filter(|interface| layout.staged(interface).is_some());
    [IFB.to_owned()].into_iter().chain(stages).chain(interfaces.map(wan::relay)).collect()
}

/// All lines that redirect `interface`, whose uplinks are all there.
fn redirect(layout: &Layout, interface: &str) -> String {
    let uplinks: Vec<_> = layout.uplinks.iter().map(String::as_str).collect();
    let relay = layout.staged(interface).map(|direction| wan::relay_lines(interface, direction));
    relay.unwrap_or_default() + &Script::redirect(layout, interface, &uplinks)
}

/// What removes leaf `minor` wherever `layout` has it.
fn removal(layout: Option<&Layout>, minor: u16) -> String {
    let stages = layout.iter().flat_map(|layout| layout.wan.rates.keys());
    stages.fold(Script::remove_leaf(minor), |lines, direction| {
        lines + &Script::remove_leaf_of(wan::stage(*direction), minor)
    })
}

/// What changes at interfaces that are redirected from now on, otherwise than before, or no longer.
fn redirects(old: Option<&Layout>, new: &Layout) -> String {
    let mut lines = String::new();
    let (before, after) = (old.map(Layout::interfaces).unwrap_or_default(), new.interfaces());
    let had = |interface: &str| old.filter(|_| before.contains(interface)).map(|old| redirect(old, interface));
    let delete = |lines: &mut String, interface: &str, (protocol, preference): (&str, u16)| {
        let _ = writeln!(lines, "filter del dev {interface} egress protocol {protocol} pref {preference}");
    };
    for interface in after {
        let own = redirect(new, interface);
        match had(interface) {
            None => {
                let _ = writeln!(lines, "qdisc add dev {interface} clsact   # unless it is there");
                lines += &own;
            }
            Some(then) if then != own => {
                for filter in wan::preferences().filter(|(_, number)| then.contains(&format!(" pref {number} "))) {
                    delete(&mut lines, interface, filter);
                }
                let ours =
                    |line: &&str| PREFERENCES.iter().all(|(_, number)| !line.contains(&format!(" pref {number} ")));
                lines.extend(own.lines().filter(ours).flat_map(|line| [line, "\n"]));
            }
            Some(_) => {}
        }
    }
    for interface in before.difference(&new.interfaces()) {
        for filter in PREFERENCES {
            delete(&mut lines, interface, filter);
        }
    }
    lines
}
