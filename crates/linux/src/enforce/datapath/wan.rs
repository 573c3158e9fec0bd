//! The Internet link as a stage before the pools, in lines for `tc -batch`.
//!
//! An IFB sends a packet on where it came from and keeps it from being redirected there again, so that two of them
//! cannot follow one another on an interface. A relay stands in between: `interface -> relay -> stage -> relay ->
//! interface -> fairair0 -> interface`. The relay is a device that sends nothing itself. A filter at its egress leads to
//! the stage; what comes back passes that filter (`tcf_action_exec` skips one action after an IFB) and is sent to the
//! interface by a filter of its root qdisc.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fairair_core::packet::Direction;
use fairair_core::shaper::UdpRule;
use fairair_core::shaper::limit::{Demand, limit};
use fairair_core::units::{Bitrate, Bytes};

use super::IFB;
use super::layout::{Layout, WanLink};
use super::leaf::{LeafLines, burst, whole};

/// Minor number of the class that has the link's rate.
pub const LINK: u16 = 1;
/// Minor number of the leaf of what is no station's: the box's own packets and those of `exclude`.
pub const OTHERS: u16 = 2;
/// Devices of ours besides [`IFB`] begin with one of these.
pub(super) const PREFIXES: [&str; 2] = ["fairair.", "fairair-"];
/// What a filter of a relay has.
pub(super) const RELAY_PREFERENCE: u16 = 1;

/// Preferences of the filters on an interface, in the order in which a packet meets them; all before the one that leads to
/// [`IFB`].
const PASS: [(&str, u16); 2] = [("ip", 65_094), ("ipv6", 65_095)];
const BACK: [(&str, u16); 2] = [("ip", 65_096), ("ipv6", 65_097)];
const STAGE: [(&str, u16); 2] = [("ip", 65_098), ("ipv6", 65_099)];

/// Protocol and preference of all filters that the stage may have on an interface.
pub(crate) fn preferences() -> impl Iterator<Item = (&'static str, u16)> {
    STAGE.into_iter().chain(BACK).chain(PASS)
}

/// The IFB of a direction.
pub const fn stage(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "fairair.up",
        Direction::Down => "fairair.down",
    }
}

/// The relay of `interface`. A long name is replaced by a number that follows from it, behind a sign that no checked name
/// of an interface has.
pub(super) fn relay(interface: &str) -> String {
    const ROOM: usize = 15 - PREFIXES[1].len();
    if interface.len() <= ROOM {
        return format!("{}{interface}", PREFIXES[1]);
    }
    // FNV-1a.
    let hash = interface.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{}~{:06x}", PREFIXES[1], hash >> 8)
}

/// All classes of a stage on a fresh device.
pub(super) fn create(layout: &Layout, direction: Direction) -> String {
    let device = stage(direction);
    let mut lines = format!("qdisc add dev {device} root handle 1: stab overhead -14 htb default {OTHERS:x}\n");
    let rate = layout.wan.rates[&direction];
    whole(&mut lines, "add", device, LINK, rate, burst(rate));
    for leaf in leaves(layout, direction) {
        add(&mut lines, &leaf, layout);
    }
    lines
}

/// Largest packet in a stage.
pub(crate) const fn largest(layout: &Layout) -> Bytes {
    if layout.wan.splits { Bytes(1500) } else { Bytes(65_536) }
}

/// Queue of a leaf where nobody else has traffic.
fn first_limit(layout: &Layout, leaf: &LeafLines) -> Bytes {
    let own = layout.wan.rates.iter().find(|(direction, _)| stage(**direction) == leaf.device);
    let rate = own.map_or(Bitrate::from_bps(0), |(_, rate)| *rate);
    let most = leaf.cap.map_or(rate, |cap| cap.min(rate));
    limit(rate.as_bps() as f64, &Demand { cap: Some(most), ..Demand::default() }, largest(layout))
}

fn add(lines: &mut String, leaf: &LeafLines, layout: &Layout) {
    leaf.class(lines, "add");
    leaf.small_first(lines, layout, first_limit(layout, leaf));
}

/// What leads a stage from `old` to `new`, where both have it. Leaves that are no longer named stay; those that are new
/// are not there. Another kind or limit of queues loses what waits.
pub(super) fn between(old: &Layout, new: &Layout, direction: Direction) -> String {
    let mut lines = String::new();
    let rate = new.wan.rates[&direction];
    if old.wan.rates[&direction] != rate {
        whole(&mut lines, "change", stage(direction), LINK, rate, burst(rate));
    }
    let before: BTreeMap<u16, LeafLines> = leaves(old, direction).map(|leaf| (leaf.minor, leaf)).collect();
    for leaf in leaves(new, direction) {
        match before.get(&leaf.minor) {
            None => add(&mut lines, &leaf, new),
            Some(before) => {
                if *before != leaf {
                    leaf.class(&mut lines, "change");
                }
                if before.splits != leaf.splits || old.leaf != new.leaf || old.largest != new.largest {
                    let _ = writeln!(lines, "qdisc del dev {} parent 1:{:x}", leaf.device, leaf.minor);
                    leaf.small_first(&mut lines, new, first_limit(new, &leaf));
                }
            }
        }
    }
    lines
}

/// What makes the leaves of a stage anew that are not `there`, and how many they are.
pub(super) fn missing(layout: &Layout, direction: Direction, there: impl Fn(u16) -> bool) -> (String, usize) {
    let (mut lines, mut count) = (String::new(), 0);
    for leaf in leaves(layout, direction).filter(|leaf| !there(leaf.minor)) {
        add(&mut lines, &leaf, layout);
        count += 1;
    }
    (lines, count)
}

fn leaves(layout: &Layout, direction: Direction) -> impl Iterator<Item = LeafLines> {
    let WanLink { quanta, splits, .. } = &layout.wan;
    quanta.iter().map(move |(minor, quantum)| LeafLines {
        device: stage(direction),
        parent: LINK,
        minor: *minor,
        quantum: *quantum,
        cap: layout.leaves.get(minor).and_then(|leaf| leaf.cap),
        floor: None,
        splits: *splits,
    })
}

/// What makes the relay of `interface` lead to its stage and back, on a fresh device.
pub(super) fn relay_lines(interface: &str, direction: Direction) -> String {
    let (relay, stage) = (relay(interface), stage(direction));
    let all = format!("pref {RELAY_PREFERENCE} u32 match u32 0 0 action mirred egress redirect dev");
    format!(
        "qdisc add dev {relay} clsact\nfilter add dev {relay} egress protocol all {all} {stage}\nqdisc add dev {relay} root \
         handle 1: htb\nfilter add dev {relay} parent 1: protocol all {all} {interface}\n"
    )
}

/// The filters of `interface` that lead through its stage; none if it has none. Those of `uplinks` are there.
///
/// What comes to an AP's interface from an uplink goes to the stage, the rest (the box's own, other stations') crosses no
/// link. All that goes to an uplink does.
pub(super) fn hooks(layout: &Layout, interface: &str, uplinks: &[&str]) -> String {
    let mut lines = String::new();
    let Some(direction) = layout.staged(interface) else { return lines };
    let relay = relay(interface);
    let mut filter = |(protocol, preference): (&str, u16), rest: &str| {
        let _ = writeln!(lines, "filter add dev {interface} egress protocol {protocol} pref {preference} u32 {rest}");
    };
    match direction {
        Direction::Down => {
            for at in STAGE {
                for uplink in uplinks {
                    let to = format!("match u32 0 0 indev {uplink} action mirred egress redirect dev {relay}");
                    filter(at, &to);
                }
            }
        }
        Direction::Up => {
            if layout.udp == UdpRule::BypassUplink {
                for (at, header) in PASS.into_iter().zip(["ip", "ip6"]) {
                    filter(at, &format!("match {header} protocol 17 0xff indev {relay} flowid 1:1"));
                }
            }
            for at in BACK {
                filter(at, &format!("match u32 0 0 indev {relay} action mirred egress redirect dev {IFB}"));
            }
            for at in STAGE {
                filter(at, &format!("match u32 0 0 action mirred egress redirect dev {relay}"));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;
    use crate::enforce::config::Config;
    use crate::enforce::site::Site;

    const SITE: &str = r#"
name = "x"
uplink = ["wan", "lte"]
policy = "airtime-phy"
[[ap]]
name = "a"
interface = "lan"
capacity = "8 Mbit/s"
[[ap]]
name = "b"
interface = "a-long-name.100"
capacity = "4 Mbit/s"
[[station]]
name = "slow"
ap = "a"
mac = "02:00:00:00:00:01"
rate = "1 Mbit/s"
weight = 2
[[station]]
name = "fast"
ap = "b"
mac = "02:00:00:00:00:02"
rate = "54 Mbit/s"
cap = "2 Mbit/s"
[wan]
down = "50 Mbit/s"
"#;

    fn layout(text: &str) -> Layout {
        Site::new(Config::from_toml(text, "test").unwrap()).unwrap().layout(1500)
    }

    /// Stations of all pools have leaves of one class, by weight and cap and not by air.
    #[test]
    fn the_link_is_shared_over_all_pools_by_plan() {
        let lines = create(&layout(SITE), Direction::Down);
        let of =
            |minor: &str| lines.lines().find(|line| line.contains(&format!(" classid 1:{minor} "))).unwrap().to_owned();
        assert!(of("1").contains("rate 50000000bit"), "{lines}");
        for (minor, quantum) in [("1000", 3000), ("1010", 1500), ("10", 1500), ("20", 1500), ("2", 1500)] {
            assert!(of(minor).contains("parent 1:1 ") && of(minor).ends_with(&format!("quantum {quantum}")), "{lines}");
        }
        assert!(of("1010").contains("ceil 2000000bit"));
    }

    /// Only what comes from an uplink goes through the stage; a direction without a rate has none.
    #[test]
    fn filters_are_for_the_directions_that_have_a_rate() {
        let down = layout(SITE);
        let hooks = hooks(&down, "lan", &["wan", "lte"]);
        assert_eq!(hooks.matches("indev wan ").count() + hooks.matches("indev lte ").count(), 4, "{hooks}");
        assert!(super::hooks(&down, "wan", &["wan", "lte"]).is_empty());
        let both = layout(&SITE.replace("down =", "up = \"10 Mbit/s\"\ndown ="));
        let up = super::hooks(&both, "wan", &["wan", "lte"]);
        assert!(up.contains("match ip protocol 17") && up.contains("indev fairair-wan "), "UDP passes the pool: {up}");
        let nft = |layout: &Layout| Script::create(layout).nft;
        assert!(nft(&down).contains("l4proto udp return") && !nft(&both).contains("l4proto udp return"));
    }

    /// 50 ms of the link, whatever its rate, or of the cap: it was 200 packets, 240 ms at 10 Mbit/s.
    #[test]
    fn what_waits_for_the_link_is_a_time() {
        let lines = create(&layout(&SITE.replace("50 M", "10 M")), Direction::Down);
        let queues = |limit: u64| lines.matches(&format!("bfifo limit {limit}\n")).count();
        assert_eq!((queues(63_000), queues(13_500)), (8, 2), "{lines}");
        let packets = create(&layout(&SITE.replace("policy =", "queue = 200\npolicy =")), Direction::Down);
        assert_eq!(packets.matches("pfifo limit 200\n").count(), 10, "{packets}");
    }

    #[test]
    fn a_relay_has_a_name_that_a_device_may_have() {
        assert_eq!(relay("lan"), "fairair-lan");
        let long = relay("a-long-name.100");
        assert!(long.len() <= 15 && long != relay("a-long-name.101") && long.starts_with("fairair-~"), "{long}");
    }

    /// From one layout to another and back only what differs is told.
    #[test]
    fn a_change_is_what_differs() {
        let old = layout(SITE);
        let lines = |text: &str| between(&old, &layout(text), Direction::Down);
        assert_eq!(lines(SITE), "");
        assert_eq!(lines(&SITE.replace("50 M", "40 M")).lines().count(), 1);
        let heavier = lines(&SITE.replace("weight = 2", "weight = 3"));
        assert_eq!((heavier.lines().count(), heavier.contains("quantum 4500")), (1, true), "{heavier}");
    }
}
