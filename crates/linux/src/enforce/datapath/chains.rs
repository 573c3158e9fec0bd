//! The chains of a pool in nftables: they count its packets and give each its class.

use std::fmt::Write as _;

use fairair_core::packet::Direction;
use fairair_core::shaper::{Policy, UdpRule};

use super::layout::{Layout, Pool, newcomers_minor};
use super::udp_flows;
use crate::enforce::config::Mode;

/// What shows a packet's station, with the ending of the names of its sets, and its type.
pub(super) const fn fields(mode: Mode) -> &'static [(&'static str, &'static str, &'static str)] {
    match mode {
        Mode::Routed => &[("ip", "4", "ipv4_addr"), ("ip6", "6", "ipv6_addr")],
        Mode::Bridged => &[("ether", "_mac", "ether_addr")],
    }
}

/// Lets uplink UDP pass by the shaper where it is to.
pub(super) fn bypass(table: &mut String, layout: &Layout, direction: &str) {
    if direction == "up" && layout.udp != UdpRule::Shape && !is_staged(layout) {
        udp_senders_seen(table, layout);
        newcomers_seen(table, layout, direction, "meta l4proto udp ");
        table.push_str("    meta l4proto udp return\n");
    }
}

/// Whether uplink UDP has its station's class on the Internet link; the interface lets it pass the pool then.
fn is_staged(layout: &Layout) -> bool {
    layout.wan.rates.contains_key(&Direction::Up)
}

/// Rules that count the bytes of who sends UDP past the shaper: `explain` names it, and controllers leave it out.
fn udp_senders_seen(table: &mut String, layout: &Layout) {
    for (field, suffix, _) in fields(layout.mode) {
        let _ = writeln!(table, "    meta l4proto udp update @udp{suffix} {{ {field} saddr counter }}");
    }
}

/// Rules that record addresses without a class. An address counts as a station once it has both received and sent packets: source and
/// destination addresses alone are easily forged.
fn newcomers_seen(table: &mut String, layout: &Layout, direction: &str, which: &str) {
    for (field, suffix, _) in fields(layout.mode) {
        let _ = if direction == "down" {
            writeln!(table, "    {which}update @called{suffix} {{ {field} daddr }}")
        } else {
            writeln!(table, "    {which}{field} saddr @called{suffix} update @new{suffix} {{ {field} saddr }}")
        };
    }
}

/// Rules that count the bytes of each station where its class does not: the machines that set C ask those that have traffic.
fn talkers_seen(table: &mut String, layout: &Layout, id: u16, (direction, address): (&str, &str)) {
    for (field, suffix, _) in fields(layout.mode) {
        let _ = writeln!(table, "    update @talk{id}_{suffix} {{ {field} {address} counter }}");
    }
    newcomers_seen(table, layout, direction, "");
}

/// Gives packets the class of their station; what follows is for those that have none.
pub(super) fn members(table: &mut String, layout: &Layout, address: &str) {
    for (field, suffix, _) in fields(layout.mode) {
        let _ = writeln!(table, "    meta priority set {field} {address} map @class{suffix} return");
    }
}

pub(super) fn pool_chains(table: &mut String, layout: &Layout, pool: &Pool) {
    let id = pool.id;
    for (direction, address) in [("down", "daddr"), ("up", "saddr")] {
        if layout.udp == UdpRule::Auto && direction == "up" {
            let _ = writeln!(table, "  chain p{id}_answers {{");
            if pool.is_counted {
                let _ = writeln!(table, "    counter name p{id}_oup");
            }
            shaped(table, layout, id, (direction, address));
        }
        let _ = writeln!(table, "  chain p{id}_{direction} {{");
        if pool.is_counted {
            let _ = writeln!(table, "    counter name p{id}_{direction}");
        }
        if layout.udp == UdpRule::Auto {
            udp_flows::counted(table, direction, id);
        }
        if pool.is_counted {
            if direction == "up" && layout.udp != UdpRule::Shape {
                if is_staged(layout) {
                    udp_senders_seen(table, layout);
                }
                let _ = writeln!(table, "    meta l4proto udp counter name p{id}_udp");
                let _ = writeln!(table, "    meta l4proto != {{ tcp, udp }} counter name p{id}_oup");
            } else {
                let _ = writeln!(table, "    meta l4proto != tcp counter name p{id}_o{direction}");
            }
        }
        bypass(table, layout, direction);
        shaped(table, layout, id, (direction, address));
    }
}

/// The end of a chain: gives packets their class.
fn shaped(table: &mut String, layout: &Layout, id: u16, (direction, address): (&str, &str)) {
    let newcomers = newcomers_minor(id);
    match layout.policy {
        Policy::PerStation | Policy::Airtime | Policy::AirtimePhy => {
            members(table, layout, address);
            let _ = writeln!(table, "    meta priority set 1:{newcomers:x}");
            newcomers_seen(table, layout, direction, "");
        }
        Policy::PerDirection => {
            talkers_seen(table, layout, id, (direction, address));
            let up = direction_minor(layout, id);
            let (data, other) = if direction == "down" { (newcomers, up) } else { (up, newcomers) };
            let _ = writeln!(table, "    meta priority set 1:{data:x}");
            acknowledgements(table, other);
        }
        Policy::PerFlow => {
            talkers_seen(table, layout, id, (direction, address));
            flows(table, layout, id, direction);
        }
    }
    table.push_str("  }\n");
}

/// With `per-direction` an ACK waits with the data that it acknowledges. Behind data of the other direction it would hold
/// its own up until that class runs empty and leaves its part to the other (the pendulum of Heusse, Merritt, Brown and
/// Duda, Two-way TCP connections: old problem, new insight, CCR 2011).
fn acknowledgements(table: &mut String, leaf: u16) {
    // Headers of TCP with all options and nothing behind them.
    for (protocol, longest) in [("ip", 80), ("ip6", 100)] {
        let _ = writeln!(
            table,
            "    meta protocol {protocol} meta length <= {longest} tcp flags & (fin | syn | rst | psh) == 0 meta priority set \
             1:{leaf:x}"
        );
    }
}

/// The leaf for uplink packets with `per-direction`: the second one of the pool.
fn direction_minor(layout: &Layout, pool: u16) -> u16 {
    let second = layout.leaves.iter().find(|(minor, leaf)| leaf.pool == pool && **minor != newcomers_minor(pool));
    second.map_or_else(|| newcomers_minor(pool), |(minor, _)| *minor)
}

/// Buckets by a hash of addresses and ports that both directions of a connection agree on.
fn flows(table: &mut String, layout: &Layout, pool: u16, direction: &str) {
    let (near, far) = if direction == "down" { ("d", "s") } else { ("s", "d") };
    let leaves = layout.leaves.iter().filter(|(minor, leaf)| leaf.pool == pool && **minor != newcomers_minor(pool));
    let buckets: Vec<_> = leaves.enumerate().map(|(bucket, (minor, _))| format!("{bucket} : 1:{minor:x}")).collect();
    let _ = writeln!(table, "    meta priority set 1:{:x}", newcomers_minor(pool));
    for ip in ["ip", "ip6"] {
        let _ = writeln!(
            table,
            "    meta l4proto {{ tcp, udp }} meta priority set jhash {ip} {near}addr . {ip} {far}addr . th {near}port . \
             th {far}port mod {} seed 0x66616972 map {{ {} }}",
            buckets.len().max(1),
            buckets.join(", ")
        );
    }
}
