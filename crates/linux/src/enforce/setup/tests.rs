//! What is proposed on machines whose `ip -j -d address`, `ip -j route show default`, `ip -j neighbour` and `bridge -j fdb` were
//! recorded (iproute2 6.1, network cards by veth). The kernel that was recorded has no VLANs and no radios: the VLANs' `link` and
//! `info_kind` are written by hand, and radios are set by the tests.

use std::path::Path;

use fairair_core::units::Bitrate;
use serde_json::Value;

use super::machine::{Printed, radios_of};
use super::*;
use crate::enforce::config::{Config, Mode};

fn machine(recorded: &str) -> Machine {
    let all: Value = serde_json::from_str(recorded).unwrap();
    let part = |key: &str| all[key].to_string();
    let printed = Printed {
        addresses: part("addresses"),
        routes: [part("routes"), part("routes6")],
        neighbours: part("neighbours"),
        learned: part("learned"),
    };
    Machine::of(&printed).unwrap()
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What is proposed, and its configuration, which must be a good one.
#[track_caller]
fn proposed(machine: &Machine, uplinks: &[&str]) -> (Choice, Config, String) {
    let choice = Choice::new(machine, &Roles::of(machine, &words(uplinks)), &Wish::default()).unwrap();
    let text = choice.checked(Path::new("vsb.toml")).unwrap();
    let config = Config::from_toml(&text, "vsb.toml").unwrap();
    assert_eq!((&config.name, config.mode, &config.uplinks), (&choice.name, choice.mode, &choice.uplinks), "{text}");
    (choice, config, text)
}

fn aps(config: &Config) -> Vec<(&str, &str)> {
    config.aps.iter().map(|ap| (ap.name.as_str(), ap.interface.as_str())).collect()
}

#[track_caller]
fn why(machine: &Machine, name: &str) -> (Role, String) {
    let verdict = Roles::of(machine, &[]).verdicts.into_iter().find(|verdict| verdict.name == name).unwrap();
    (verdict.role, verdict.why)
}

/// Why there is no proposal.
#[track_caller]
fn lack(machine: &Machine, wish: &Wish) -> Lack {
    Choice::new(machine, &Roles::of(machine, &[]), wish).unwrap_err()
}

fn wish(aps: &[(&str, &str)]) -> Wish {
    let aps = aps.iter().map(|(name, own)| ((!name.is_empty()).then(|| (*name).to_owned()), (*own).to_owned()));
    Wish { aps: aps.collect(), ..Wish::default() }
}

#[test]
fn a_router_with_two_networks_has_two_aps() {
    let machine = machine(include_str!("recorded/two-lans.json"));
    let (_, config, text) = proposed(&machine, &[]);
    assert_eq!((config.mode, config.uplinks.as_slice()), (Mode::Routed, &words(&["wan"])[..]));
    assert_eq!(aps(&config), [("lan1", "lan1"), ("lan2", "lan2")]);
    assert_eq!(why(&machine, "wan"), (Role::Up, "the default route goes by it, to 203.0.113.1".to_owned()));
    assert!(text.contains("# the box is the router of 10.1.0.0/24, fd01::/64; 1 device seen"), "{text}");
    assert!(config.discovery.neighbours && config.discovery.first_sight && config.discovery.hostapd.is_empty());
    // One of them by its own name, and the other way up.
    let choice = Choice::new(&machine, &Roles::of(&machine, &[]), &wish(&[("lobby", "lan2")])).unwrap();
    let config = Config::from_toml(&choice.text(), "vsb.toml").unwrap();
    assert_eq!(aps(&config), [("lobby", "lan2")]);
    assert_eq!(aps(&proposed(&machine, &["lan1"]).1), [("wan", "wan"), ("lan2", "lan2")]);
}

#[test]
fn on_a_bridge_the_uplink_is_the_port_behind_which_the_gateway_is() {
    let mut machine = machine(include_str!("recorded/bridge.json"));
    let (choice, config, text) = proposed(&machine, &[]);
    assert_eq!((config.mode, config.uplinks.as_slice()), (Mode::Bridged, &words(&["eth0"])[..]));
    assert_eq!(aps(&config), [("eth1", "eth1"), ("eth2", "eth2")]);
    assert!(
        choice.why.contains("ports of br0") && text.contains("the gateway 192.168.1.1 was seen behind it"),
        "{text}"
    );
    let routed = Wish { mode: Some(Mode::Routed), ..Wish::default() };
    assert!(lack(&machine, &routed).what.contains("are ports of br0"));
    // The bridge itself is no port of a bridge.
    assert!(lack(&machine, &wish(&[("all", "br0")])).what.contains("and br0 is not"));
    // Nobody has spoken to the gateway: it may be behind any port.
    machine.neighbours.clear();
    let told = lack(&machine, &Wish::default());
    assert!(told.what.contains("br0 has the ports eth0, eth1, eth2") && told.fix.contains("--uplink"), "{told:?}");
    assert_eq!(aps(&proposed(&machine, &["eth2"]).1), [("eth0", "eth0"), ("eth1", "eth1")]);
}

#[test]
fn one_card_is_not_enough() {
    let told = lack(&machine(include_str!("recorded/single.json")), &Wish::default());
    assert!(told.what.starts_with("eth0 is the only interface"), "{told:?}");
    assert!(told.fix.contains("second network card") && told.fix.contains("type vlan id 10"), "{told:?}");
    let none = lack(&Machine::default(), &Wish::default());
    assert!(none.what.contains("no network interface"), "{none:?}");
}

#[test]
fn without_a_default_route_somebody_has_to_say_which_way_is_up() {
    let machine = machine(include_str!("recorded/no-default.json"));
    let told = lack(&machine, &Wish::default());
    assert!(told.what.contains("no default route") && told.fix.contains("--uplink with one of eth0, eth1"), "{told:?}");
    let (_, config, _) = proposed(&machine, &["eth1"]);
    assert_eq!((config.uplinks, config.aps[0].interface.as_str()), (words(&["eth1"]), "eth0"));
}

#[test]
fn a_default_route_of_ipv6_alone_is_one() {
    let machine = machine(include_str!("recorded/ipv6.json"));
    let (_, config, text) = proposed(&machine, &[]);
    assert_eq!((config.uplinks.as_slice(), aps(&config)), (&words(&["eth0"])[..], vec![("eth1", "eth1")]));
    assert!(text.contains("to fe80::1") && text.contains("2001:db8:1::/64"), "{text}");
}

#[test]
fn each_vlan_is_an_ap_and_what_carries_them_is_none() {
    let machine = machine(include_str!("recorded/vlan.json"));
    let (_, config, _) = proposed(&machine, &[]);
    assert_eq!(aps(&config), [("eth1.10", "eth1.10"), ("eth1.20", "eth1.20")]);
    assert_eq!(
        why(&machine, "eth1"),
        (Role::Neither, "it has no address, and carries the VLANs eth1.10, eth1.20".to_owned())
    );
}

#[test]
fn radios_of_this_box_are_one_ap_unless_hostapd_tells_them_apart() {
    let mut machine = machine(include_str!("recorded/radio.json"));
    let radios = radios_of(
        "phy#1\n\tInterface wlan1\n\t\tifindex 5\n\t\ttype AP\n\t\tchannel 36 (5180 MHz), width: 80 MHz, center1: 5210 MHz\n\
         phy#0\n\tInterface wlan0\n\t\taddr 02:00:00:00:00:00\n\t\tssid type managed\n\t\ttype AP\n\t\tchannel 6 (2437 MHz), width: 20 MHz\n",
    );
    for own in &mut machine.interfaces {
        own.radio = radios.get(&own.name).cloned();
    }
    let (_, config, text) = proposed(&machine, &[]);
    assert_eq!(aps(&config), [("br-lan", "br-lan")]);
    assert_eq!(config.discovery.iw, words(&["wlan0", "wlan1"]));
    assert!(text.contains("radios: wlan0, wlan1") && text.contains("max = \"300 Mbit/s\""), "{text}");
    machine.lists.hostapd = vec!["/run/hostapd/wlan0".into(), "/run/hostapd/wlan1".into()];
    machine.lists.dnsmasq = Some("/tmp/dhcp.leases".into());
    let (choice, config, _) = proposed(&machine, &[]);
    assert_eq!(aps(&config), [("wlan0", "br-lan"), ("wlan1", "br-lan")]);
    let hostapd: Vec<_> =
        config.discovery.hostapd.iter().map(|own| (own.ap.as_str(), own.socket.to_str().unwrap())).collect();
    assert_eq!(hostapd, [("wlan0", "/run/hostapd/wlan0"), ("wlan1", "/run/hostapd/wlan1")]);
    assert_eq!(config.discovery.dnsmasq, Some("/tmp/dhcp.leases".into()));
    assert!(config.discovery.iw.is_empty() && config.aps.iter().all(|ap| ap.channel.is_none()));
    assert_eq!(choice.aps[0].found.channel.unwrap().to_string(), "6/2.4");
    // On one channel they share a pool.
    let own = machine.interfaces.iter_mut().find(|own| own.name == "wlan0").unwrap();
    own.radio = radios.get("wlan1").cloned();
    let (_, config, text) = proposed(&machine, &[]);
    assert_eq!((config.pools().len(), text.matches("capacity = ").count()), (1, 1), "{text}");
    // The bridge's own name is both of them.
    let both = Choice::new(&machine, &Roles::of(&machine, &[]), &wish(&[("hall", "br-lan")])).unwrap();
    let config = Config::from_toml(&both.text(), "vsb.toml").unwrap();
    assert_eq!((aps(&config), config.discovery.hostapd.len()), (vec![("hall", "br-lan")], 2), "{}", both.text());
    // A radio that is a client is none.
    let own = machine.interfaces.iter_mut().find(|own| own.name == "eth0").unwrap();
    own.radio = Some(Radio { kind: "managed".to_owned(), channel: None });
    assert_eq!(proposed(&machine, &[]).1.uplinks, words(&["eth0"]), "but it may lead up");
}

/// Containers, tunnels, interfaces without address or down, a name that no configuration takes, and a second way up.
#[test]
fn what_leads_nowhere_is_told_and_left_out() {
    let machine = machine(include_str!("recorded/many.json"));
    let (_, config, _) = proposed(&machine, &[]);
    assert_eq!((config.uplinks.as_slice(), aps(&config)), (&words(&["ppp0", "eth0"])[..], vec![("eth1", "eth1")]));
    assert_eq!(why(&machine, "eth0"), (Role::Up, "a second default route goes by it, to 192.168.1.1".to_owned()));
    let odd = "a\\\"$(x)";
    for (name, words) in [
        ("docker0", "containers"),
        ("veth1a2b3c4", "containers"),
        ("tun0", "tunnel"),
        ("ifb7", "queue of the kernel"),
        ("eth2", "it is down: `ip link set eth2 up`"),
        ("eth3", "no address"),
        (odd, "rename it"),
    ] {
        let (role, why) = why(&machine, name);
        assert!(role == Role::Neither && why.contains(words), "{name}: {why}");
    }
    let refused = |aps: &[(&str, &str)]| lack(&machine, &wish(aps)).what;
    assert!(refused(&[("", "a\"$(x)")]).contains("at most 15 letters"), "{}", refused(&[("", "a\"$(x)")]));
    assert!(refused(&[("x", "nosuch0")]).contains("there is no interface nosuch0"));
    assert!(refused(&[("x", "eth0")]).contains("eth0 is towards the gateway"));
    assert!(refused(&[("x", "eth1"), ("x", "eth3")]).contains("two APs have the name x"));
    assert!(refused(&[("x", "veth1a2b3c4")]).contains("veth1a2b3c4 is a port of the bridge docker0"));
    let bridged = Wish { mode: Some(Mode::Bridged), ..Wish::default() };
    assert!(lack(&machine, &bridged).what.contains("ports of no bridge"));
    // What was left out may be named.
    assert!(Choice::new(&machine, &Roles::of(&machine, &[]), &wish(&[("", "eth3")])).is_ok());
}

#[test]
fn the_wire_bounds_what_is_proposed_and_names_are_made_good() {
    let mut machine = machine(include_str!("recorded/no-default.json"));
    machine.host = "..sea side\u{1b}[2J\"".to_owned();
    let max = |machine: &Machine| {
        let (choice, config, _) = proposed(machine, &["eth1"]);
        assert_eq!(choice.aps[0].capacity, Capacity::Adaptive(config.aps[0].most()));
        assert_eq!(config.name, "seaside2J");
        config.aps[0].most()
    };
    for (speed, most) in [(None, 300), (Some(10), 9), (Some(100), 97), (Some(1000), 300)] {
        machine.interfaces.iter_mut().for_each(|own| own.speed = speed.map(Bitrate::mbps));
        assert_eq!(max(&machine), Bitrate::mbps(most));
    }
}

#[test]
fn another_ip_is_told() {
    let printed = |addresses: &str| Printed {
        addresses: addresses.to_owned(),
        routes: [String::new(), String::new()],
        neighbours: String::new(),
        learned: String::new(),
    };
    assert_eq!(Machine::of(&printed("")).unwrap(), Machine::default());
    let told = Machine::of(&printed("1: lo: <LOOPBACK>")).unwrap_err();
    assert!(told.fix.contains("iproute2"), "{told:?}");
}
