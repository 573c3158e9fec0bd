//! What a change of the layout would do, in words that can be read and rehearsed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::script::Script;
use super::{IFB, PREFERENCES};
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
}

impl Preview {
    /// From `old`, if something runs, to `new`.
    pub fn new(old: Option<&Layout>, new: &Layout) -> Preview {
        let whole = Script::create(new);
        let script = old.map_or_else(|| whole.clone(), |old| Script::between(old, new));
        let before = old.map(Layout::interfaces).unwrap_or_default();
        let after = new.interfaces();
        let mut commands = String::new();
        let mut part = |title: &str, lines: &str| {
            if !lines.is_empty() {
                let _ = write!(commands, "# {title}\n{lines}");
            }
        };
        if old.is_none() {
            part("ip -batch", &format!("link add {IFB} type ifb\nlink set {IFB} up\n"));
        }
        part("tc -batch", &script.add);
        part("nft -f", &script.nft);
        part("tc -batch", &redirects(&before, &after));
        let removed: String = script.remove.iter().map(|minor| Script::remove_leaf(*minor)).collect();
        let gone = old.iter().flat_map(|old| old.pools.keys()).filter(|id| !new.pools.contains_key(id));
        let removed = removed + &gone.map(|id| Script::remove_pool(*id)).collect::<String>();
        part("tc -batch, when these classes are empty", &removed);
        let interfaces = after.into_iter().map(str::to_owned).collect();
        Preview { mode: new.mode, commands, whole_tc: whole.add, whole_nft: whole.nft, interfaces }
    }
}

/// Interfaces that are redirected from now on, and those that no longer are.
fn redirects(before: &BTreeSet<&str>, after: &BTreeSet<&str>) -> String {
    let mut lines = String::new();
    for interface in after.difference(before) {
        let _ = writeln!(lines, "qdisc add dev {interface} clsact   # unless it is there");
        lines += &Script::redirect(interface);
    }
    for interface in before.difference(after) {
        for (protocol, preference) in PREFERENCES {
            let _ = writeln!(lines, "filter del dev {interface} egress protocol {protocol} pref {preference}");
        }
    }
    lines
}
