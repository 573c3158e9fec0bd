//! From one [`Layout`] to another: lines for `tc -batch` and `nft -f`.
//!
//! Lines are made of numbers, addresses and checked names of interfaces only; names of stations never appear in them.

use std::fmt::Write as _;
use std::net::IpAddr;

use fairair_core::shaper::UdpRule;

use super::chains::{bypass, fields, members, pool_chains};
use super::classes::ClassParameters;
use super::layout::{ApInterface, Key, Layout, Pool, family, pool_minor};
use super::leaf::{LeafLines, leaf_ceil, pool_burst, whole};
use super::{BYPASS, IFB, PREFERENCES, TABLE};
use super::{udp_flows, wan};
use crate::enforce::config::{Matcher, Mode};

/// Buckets of connections with `per-flow`.
pub const FLOW_BUCKETS: u16 = 256;

/// Commands, in the order in which they must be done: `add`, then `nft`, then `remove`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// For `tc -batch`: classes that packets will be sent to, and changes of those that stay.
    pub add: String,
    /// For `nft -f`: one transaction.
    pub nft: String,
    /// Leaves that nobody names any more; they go when they are empty.
    pub remove: Vec<u16>,
}

impl Script {
    /// What makes all of `layout` on a fresh IFB.
    pub fn create(layout: &Layout) -> Script {
        // The stab takes the link header off: HTB counts IP bytes. Packets of no class pass at once (default 0).
        let mut add = format!("qdisc add dev {IFB} root handle 1: stab overhead -14 htb default 0\n");
        for pool in layout.pools.values() {
            add_pool(&mut add, "add", layout, pool);
        }
        for (minor, leaf) in &layout.leaves {
            LeafLines::of_pool(layout, *minor, leaf).add(&mut add, "add", layout);
        }
        Script { add, nft: table(layout), remove: Vec::new() }
    }

    /// What makes the classes of `layout` anew that are not `there`, for `tc -batch`; and how many they are.
    pub fn missing(layout: &Layout, there: impl Fn(u16) -> bool) -> (String, usize) {
        let (mut lines, mut count) = (String::new(), 0);
        for pool in layout.pools.values().filter(|pool| !there(pool_minor(pool.id))) {
            add_pool(&mut lines, "replace", layout, pool);
            count += 1;
        }
        for (minor, leaf) in layout.leaves.iter().filter(|(minor, _)| !there(**minor)) {
            LeafLines::of_pool(layout, *minor, leaf).add(&mut lines, "replace", layout);
            count += 1;
        }
        (lines, count)
    }

    /// Lines for `tc -batch` that correct the parameters of the classes of `layout`, and the number of classes to correct. `there` returns the
    /// parameters in the kernel.
    pub fn retune(layout: &Layout, there: impl Fn(u16) -> Option<ClassParameters>) -> (String, usize) {
        let (mut lines, mut count) = (String::new(), 0);
        for pool in layout.pools.values() {
            let rate = pool.rate.as_bps() / 8;
            if there(pool_minor(pool.id)).is_some_and(|own| (own.rate, own.ceil) != (rate, rate)) {
                add_pool(&mut lines, "change", layout, pool);
                count += 1;
            }
        }
        for (minor, leaf) in &layout.leaves {
            let wanted = ClassParameters {
                rate: leaf.floor.map_or(8, fairair_core::units::Bitrate::as_bps) / 8,
                ceil: leaf_ceil(leaf.cap).as_bps() / 8,
                quantum: layout.turn_of(leaf),
            };
            if there(*minor).is_some_and(|own| own != wanted) {
                LeafLines::of_pool(layout, *minor, leaf).class(&mut lines, "change");
                count += 1;
            }
        }
        (lines, count)
    }

    /// What makes the queue of leaf `minor` anew, for `tc -batch`.
    pub(super) fn queue_anew(layout: &Layout, minor: u16) -> String {
        let mut lines = String::new();
        LeafLines::of_pool(layout, minor, &layout.leaves[&minor]).qdisc(&mut lines, "replace", layout);
        lines
    }

    /// What redirects `interface` to the IFB, and through its stage of the Internet link, for `tc -batch`. Those of
    /// `uplinks` are there.
    pub fn redirect(layout: &Layout, interface: &str, uplinks: &[&str]) -> String {
        let hooks = wan::hooks(layout, interface, uplinks);
        PREFERENCES.iter().fold(hooks, |mut lines, (protocol, preference)| {
            let _ = writeln!(
                lines,
                "filter add dev {interface} egress protocol {protocol} pref {preference} u32 match u32 0 0 action mirred \
                 egress redirect dev {IFB}"
            );
            lines
        })
    }

    /// What leads from `old` to `new` without losing or overtaking a packet; what waits in a class that gains a floor is lost.
    pub fn between(old: &Layout, new: &Layout) -> Script {
        let mut script = Script::default();
        let rebuilt = |pool: &Pool| old.pools.get(&pool.id).is_none_or(|before| before.splits != pool.splits);
        let tuned = |pool: &Pool| (pool.rate, pool.turn);
        for pool in new.pools.values() {
            match old.pools.get(&pool.id) {
                None => add_pool(&mut script.add, "replace", new, pool),
                Some(before) if tuned(before) != tuned(pool) => add_pool(&mut script.add, "change", new, pool),
                Some(_) => {}
            }
        }
        for (minor, leaf) in &new.leaves {
            match old.leaves.get(minor) {
                None => LeafLines::of_pool(new, *minor, leaf).add(&mut script.add, "replace", new),
                Some(before) if before.pool != leaf.pool => unreachable!("a leaf never changes its pool"),
                Some(_) if gains_floor(old, new, *minor) => {
                    script.add.push_str(&Script::remove_leaf(*minor));
                    LeafLines::of_pool(new, *minor, leaf).add(&mut script.add, "add", new);
                }
                Some(before) => {
                    if before != leaf || old.turn_of(before) != new.turn_of(leaf) {
                        LeafLines::of_pool(new, *minor, leaf).class(&mut script.add, "change");
                    }
                    if old.leaf != new.leaf || old.largest != new.largest || rebuilt(&new.pools[&leaf.pool]) {
                        LeafLines::of_pool(new, *minor, leaf).qdisc(&mut script.add, "replace", new);
                    }
                }
            }
        }
        script.remove.extend(old.leaves.keys().filter(|minor| !new.leaves.contains_key(minor)));
        script.nft = if skeleton(old) == skeleton(new) { elements(old, new) } else { table(new) };
        script
    }

    /// What removes leaf `minor`, for `tc -batch`.
    pub fn remove_leaf(minor: u16) -> String {
        Self::remove_leaf_of(IFB, minor)
    }

    /// The same of another device.
    pub fn remove_leaf_of(device: &str, minor: u16) -> String {
        format!("class del dev {device} classid 1:{minor:x}\n")
    }

    /// What removes pool `id`, whose leaves are gone, for `tc -batch`.
    pub fn remove_pool(id: u16) -> String {
        format!("class del dev {IFB} classid 1:{:x}\n", pool_minor(id))
    }
}

fn add_pool(lines: &mut String, verb: &str, layout: &Layout, pool: &Pool) {
    whole(lines, verb, IFB, pool_minor(pool.id), pool.rate, pool_burst(pool, layout.leaf.quantum));
}

/// Whether leaf `minor` gets a guaranteed rate that it did not have. Until then it has borrowed all that it sent, and owes HTB as much as a
/// minute at its own rate: a class that is changed would keep that debt, and not have its rate for so long. Only a new one has none.
pub(super) fn gains_floor(old: &Layout, new: &Layout, minor: u16) -> bool {
    let has_floor = |layout: &Layout| layout.leaves.get(&minor).map(|leaf| leaf.floor.is_some());
    has_floor(old) == Some(false) && has_floor(new) == Some(true)
}

/// The part of the table that does not list stations.
fn skeleton(layout: &Layout) -> String {
    let mut table = String::new();
    for (_, name, kind) in fields(layout.mode) {
        let _ = write!(
            table,
            "  map class{name} {{\n    type {kind} : classid;\n    size 65536;\n  }}\n  set called{name} {{\n    type \
             {kind};\n    size 131072;\n    flags dynamic,timeout;\n    timeout 5s;\n  }}\n  set new{name} {{\n    type \
             {kind};\n    size 65536;\n    flags dynamic,timeout;\n    timeout 10s;\n  }}\n  set udp{name} {{\n    type \
             {kind};\n    size 65536;\n    flags dynamic,timeout;\n    timeout 2s;\n  }}\n"
        );
        for pool in layout.pools.values().filter(|_| !layout.policy.is_by_station()) {
            // All of it is read at each look: somebody who makes up addresses must not make that long.
            let _ = write!(
                table,
                "  set talk{}_{name} {{\n    type {kind};\n    size 4096;\n    flags dynamic,timeout;\n    timeout 10s;\n  }}\n",
                pool.id
            );
        }
    }
    if layout.udp == UdpRule::Auto {
        udp_flows::sets(&mut table);
    }
    if layout.interfaces().into_iter().any(|interface| is_by_station(layout, interface)) {
        for (_, name, kind) in fields(layout.mode) {
            for direction in ["down", "up"] {
                let _ = writeln!(
                    table,
                    "  map way{name}_{direction} {{\n    type {kind} : verdict;\n    size 65536;\n  }}"
                );
            }
        }
    }
    for pool in layout.pools.values().filter(|pool| pool.is_counted) {
        for direction in ["down", "up", "udp", "odown", "oup"] {
            let _ = writeln!(table, "  counter p{}_{direction} {{\n  }}", pool.id);
        }
    }
    for pool in layout.pools.values() {
        pool_chains(&mut table, layout, pool);
    }
    let interfaces: std::collections::BTreeSet<_> = layout.ap_interfaces().map(|(_, ap)| &ap.interface).collect();
    for (index, interface) in interfaces.iter().enumerate() {
        for (direction, address) in [("down", "daddr"), ("up", "saddr")] {
            let _ = writeln!(table, "  chain i{index}_{direction} {{");
            dispatch(&mut table, layout, interface, direction, address);
            table.push_str("  }\n");
        }
    }
    // Before source NAT (100), so that the stations' own addresses are seen.
    let hook = match layout.mode {
        Mode::Routed => "postrouting priority -150",
        Mode::Bridged => "forward priority 0",
    };
    let _ = writeln!(table, "  chain classify {{\n    type filter hook {hook}; policy accept;");
    let _ = writeln!(table, "    meta priority {:x}:{:x} return", BYPASS >> 16, BYPASS & 0xffff);
    excluded(&mut table, layout);
    for (index, interface) in interfaces.iter().enumerate() {
        let _ = writeln!(table, "    oifname \"{interface}\" goto i{index}_down");
        let uplinks: Vec<_> = layout.uplinks.iter().map(|uplink| format!("\"{uplink}\"")).collect();
        let _ = writeln!(table, "    iifname \"{interface}\" oifname {{ {} }} goto i{index}_up", uplinks.join(", "));
    }
    table.push_str("  }\n");
    table
}

/// Whether pools behind `interface` are told apart by station: several of them have no prefixes.
fn is_by_station(layout: &Layout, interface: &str) -> bool {
    let is_open = |ap: &ApInterface| ap.interface == interface && ap.prefixes.is_empty();
    layout.pools.values().filter(|pool| pool.ap_interfaces.iter().any(is_open)).count() > 1
}

/// Chooses the pool of a packet that crosses `interface`: by prefix, then by station; newcomers have the first pool's.
fn dispatch(table: &mut String, layout: &Layout, interface: &str, direction: &str, address: &str) {
    let ap_interfaces: Vec<_> = layout.ap_interfaces().filter(|(_, ap)| ap.interface == interface).collect();
    if let Some((pool, ap)) = ap_interfaces.first()
        && ap.prefixes.is_empty()
        && ap_interfaces.iter().all(|(other, _)| other.id == pool.id)
    {
        let _ = writeln!(table, "    goto p{}_{direction}", pool.id);
        return;
    }
    if layout.policy.is_by_station()
        && layout.udp != UdpRule::Auto
        && ap_interfaces.iter().all(|(pool, _)| !pool.is_counted)
    {
        // Which pool it is matters to newcomers only: the others are spared the search for it.
        bypass(table, layout, direction);
        members(table, layout, address);
    }
    for (protocol, is_v4) in [("ip", true), ("ip6", false)] {
        let ways = ap_interfaces.iter().flat_map(|(pool, ap)| {
            let own = ap.prefixes.iter().filter(move |prefix| prefix.addr().is_ipv4() == is_v4);
            own.map(|prefix| format!("{} : goto p{}_{direction}", prefix.trunc(), pool.id))
        });
        let ways: Vec<_> = ways.collect();
        if !ways.is_empty() {
            let _ = writeln!(table, "    {protocol} {address} vmap {{ {} }}", ways.join(", "));
        }
    }
    let Some((first, _)) = ap_interfaces.iter().find(|(_, ap)| ap.prefixes.is_empty()) else { return };
    if is_by_station(layout, interface) {
        for (field, suffix, _) in fields(layout.mode) {
            let _ = writeln!(table, "    {field} {address} vmap @way{suffix}_{direction}");
        }
    }
    let _ = writeln!(table, "    goto p{}_{direction}", first.id);
}

fn excluded(table: &mut String, layout: &Layout) {
    if layout.mode == Mode::Bridged {
        table.push_str("    ether daddr & 01:00:00:00:00:00 != 00:00:00:00:00:00 return\n");
    } else {
        table.push_str("    ip daddr 224.0.0.0/3 return\n    ip6 daddr { fe80::/10, ff00::/8 } return\n");
    }
    for matcher in &layout.exclude {
        let (field, what) = match matcher {
            Matcher::Net(net) if net.addr().is_ipv4() => ("ip", net.trunc().to_string()),
            Matcher::Net(net) => ("ip6", net.trunc().to_string()),
            Matcher::Mac(mac) => ("ether", mac.to_string()),
        };
        let _ = writeln!(table, "    {field} saddr {what} return\n    {field} daddr {what} return");
    }
}

/// The whole table, in place of what there may be.
fn table(layout: &Layout) -> String {
    let family = family(layout.mode);
    let mut lines = format!("table {family} {TABLE}\ndelete table {family} {TABLE}\ntable {family} {TABLE} {{\n");
    lines.push_str(&skeleton(layout));
    lines.push_str("}\n");
    for (key, minor) in &layout.members {
        element(&mut lines, layout, "add", key, *minor);
    }
    lines
}

fn elements(old: &Layout, new: &Layout) -> String {
    let mut lines = String::new();
    for (key, minor) in old.members.iter().filter(|(key, minor)| new.members.get(key) != Some(minor)) {
        element(&mut lines, old, "delete", key, *minor);
    }
    for (key, minor) in new.members.iter().filter(|(key, minor)| old.members.get(key) != Some(minor)) {
        element(&mut lines, new, "add", key, *minor);
    }
    lines
}

fn element(lines: &mut String, layout: &Layout, verb: &str, key: &Key, minor: u16) {
    let suffix = match key {
        Key::Ip(IpAddr::V4(_)) => "4",
        Key::Ip(IpAddr::V6(_)) => "6",
        Key::Mac(_) => "_mac",
    };
    let family = family(layout.mode);
    let _ = writeln!(lines, "{verb} element {family} {TABLE} class{suffix} {{ {key} : 1:{minor:x} }}");
    let pool = &layout.pools[&layout.leaves[&minor].pool];
    if pool.ap_interfaces.iter().any(|ap| ap.prefixes.is_empty() && is_by_station(layout, &ap.interface)) {
        for direction in ["down", "up"] {
            let way = format!("way{suffix}_{direction} {{ {key} : goto p{}_{direction} }}", pool.id);
            let _ = writeln!(lines, "{verb} element {family} {TABLE} {way}");
        }
    }
}
