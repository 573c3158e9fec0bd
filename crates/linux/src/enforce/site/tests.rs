//! Two APs behind one switch, and stations that come and go.

use super::*;
use crate::enforce::config::Mac;
use crate::enforce::datapath::{Key, Script};

pub(super) const BANK: &str = r#"
name = "x"
uplink = "eth0"
policy = "airtime-phy"
[[ap]]
name = "a"
interface = "eth1"
capacity = "8 Mbit/s"
[[ap]]
name = "b"
interface = "eth1"
capacity = "4 Mbit/s"
[[discovery.hostapd]]
ap = "a"
socket = "/run/a"
[[discovery.hostapd]]
ap = "b"
socket = "/run/b"
[[station]]
name = "desk"
mac = "02:00:00:00:00:09"
[[station]]
name = "printer"
mac = "02:00:00:00:00:08"
ap = "a"
"#;

fn site() -> Site {
    Site::new(Config::from_toml(BANK, "test").unwrap()).unwrap()
}

/// On eth1, whose index is 7.
pub(super) fn seen(low: u8, address: Option<&str>) -> Sighting {
    let address = address.map(|text| text.parse().unwrap());
    Sighting { mac: Some(Mac([2, 0, 0, 0, 0, low])), address, interface: Some(7), ..Sighting::default() }
}

pub(super) fn sight(site: &mut Site, sighting: &Sighting, source: Source) -> bool {
    site.sight(sighting, source, &[(7, "eth1".to_owned())].into(), 0).unwrap()
}

fn ap_of(site: &Site, name: &str) -> Option<String> {
    let station = site.stations().iter().find(|station| station.name == name)?;
    assert_eq!(site.pool_with(&station.ap), Some(station.pool));
    Some(station.ap.clone())
}

#[test]
fn a_station_gets_its_class_where_it_is_listed_and_takes_it_along() {
    let mut site = site();
    let phone = seen(1, Some("10.1.0.2"));
    assert!(!sight(&mut site, &phone, Source::Neighbours), "nobody says at which AP");
    assert!(!sight(&mut site, &phone, Source::FirstSight), "not even a packet");
    site.associate("hostapd /run/b", "b", &[seen(1, None)], 5).unwrap();
    assert!(sight(&mut site, &phone, Source::Association));
    let name = "02:00:00:00:00:01";
    assert_eq!(ap_of(&site, name).as_deref(), Some("b"));
    let before = site.layout(1500);
    assert!(site.associate("hostapd /run/a", "a", &[seen(1, None)], 6).unwrap(), "it appears at the other");
    assert!(!site.associate("hostapd /run/b", "b", &[seen(1, None)], 7).unwrap(), "which the first has not noticed");
    assert_eq!(ap_of(&site, name).as_deref(), Some("a"));
    let after = site.layout(1500);
    let key = Key::Ip("10.1.0.2".parse().unwrap());
    let (old, new) = (before.members[&key], after.members[&key]);
    assert!(old != new && !after.leaves.contains_key(&old), "a class never changes its pool");
    let script = super::super::datapath::Script::between(&before, &after);
    assert_eq!(script.remove, [old]);
    let line = format!("add element inet fairair way4_up {{ 10.1.0.2 : goto p{}_up }}", after.leaves[&new].pool);
    assert!(script.nft.contains(&line), "{}", script.nft);
}

/// Of one channel the class stays: what waits in it is not lost, and nobody is between two pools.
#[test]
fn who_roams_on_a_channel_keeps_its_class() {
    let text = BANK.replacen("capacity = \"8 Mbit/s\"", "channel = 36\ncapacity = \"8 Mbit/s\"", 1);
    let text = text.replacen("capacity = \"4 Mbit/s\"", "channel = 36", 1);
    let mut site = Site::new(Config::from_toml(&text, "test").unwrap()).unwrap();
    assert_eq!(site.pools().len(), 1);
    site.associate("hostapd /run/b", "b", &[seen(1, None)], 5).unwrap();
    assert!(sight(&mut site, &seen(1, Some("10.1.0.2")), Source::Association));
    let name = "02:00:00:00:00:01";
    assert_eq!(ap_of(&site, name).as_deref(), Some("b"));
    let before = site.layout(1500);
    assert!(site.associate("hostapd /run/a", "a", &[seen(1, None)], 6).unwrap());
    assert_eq!(ap_of(&site, name).as_deref(), Some("a"));
    assert_eq!(site.layout(1500), before);
    // A reload that parts the channel gives the second AP a pool of its own.
    let apart =
        text.replace("interface = \"eth1\"\nchannel = 36\n[", "interface = \"eth1\"\ncapacity = \"4 Mbit/s\"\n[");
    site.configure(Config::from_toml(&apart, "test").unwrap()).unwrap();
    assert_eq!(site.pools().keys().collect::<Vec<_>>(), ["b", "channel 36/5"]);
    assert_eq!(ap_of(&site, name).as_deref(), Some("a"));
    assert_eq!(ap_of(&site, "printer").as_deref(), Some("a"));
}

/// A pool keeps its number while another one takes its place, and the number after the last is a station's class.
#[test]
fn no_pool_has_the_class_of_a_station() {
    let file = |names: std::ops::Range<u32>| {
        let ap = |own| format!("[[ap]]\nname = \"a{own}\"\ninterface = \"e{own}\"\ncapacity = \"1 Mbit/s\"\n");
        let text = format!("name = \"many\"\nuplink = \"wan\"\n{}", names.map(ap).collect::<String>());
        Config::from_toml(&text, "test").unwrap()
    };
    let mut site = Site::new(file(0..255)).unwrap();
    assert_eq!(site.configure(file(1..256)), Err(Full::Pools));
    site.configure(file(1..255)).unwrap();
    site.configure(file(1..256)).unwrap();
    assert!(site.pools().values().all(|pool| slot_of(newcomers_minor(pool.id)).is_none()));
}

#[test]
fn a_named_station_follows_its_association_unless_the_file_says_where_it_is() {
    let mut site = site();
    assert_eq!(ap_of(&site, "desk").as_deref(), Some("a"), "the first, as long as nothing is known");
    site.associate("hostapd /run/b", "b", &[seen(9, None), seen(8, None)], 5).unwrap();
    assert_eq!(ap_of(&site, "desk").as_deref(), Some("b"));
    assert_eq!(ap_of(&site, "printer").as_deref(), Some("a"));
    let config = site.config().clone();
    site.configure(config).unwrap();
    assert_eq!(ap_of(&site, "desk").as_deref(), Some("b"), "a reload forgets nothing");
}

/// Only newcomers and capacity machines need to know whose pool a packet is in.
#[test]
fn a_class_is_looked_up_before_the_pool_unless_a_machine_counts_there() {
    let table = |text: &str| {
        let site = Site::new(Config::from_toml(text, "test").unwrap()).unwrap();
        Script::create(&site.layout(1500)).nft
    };
    let chain = |table: &str| table.split("chain i0_down {").nth(1).unwrap().split('}').next().unwrap().to_owned();
    let fixed = table(BANK);
    let lookups: Vec<_> = chain(&fixed).lines().filter_map(|line| line.split('@').nth(1).map(str::to_owned)).collect();
    assert_eq!(lookups, ["class4 return", "class6 return", "way4_down", "way6_down"]);
    // Who sends UDP past the box is counted, and no pool.
    assert!(!fixed.contains("counter name"), "{fixed}");
    let adaptive = table(&BANK.replace("\"4 Mbit/s\"", "{ kind = \"adaptive\", max = \"4 Mbit/s\" }"));
    assert!(!chain(&adaptive).contains("@class"), "{adaptive}");
    assert!(adaptive.contains("counter name p1_up") && !adaptive.contains("counter name p0_up"), "{adaptive}");
    // What is not TCP is counted in both directions; UDP that passes by is counted apart.
    let others = |table: &str| table.matches("meta l4proto != tcp counter name p1_o").count();
    assert_eq!(others(&adaptive), 1, "{adaptive}");
    assert!(adaptive.contains("meta l4proto != { tcp, udp } counter name p1_oup"), "{adaptive}");
    let shaped = BANK.replace("uplink =", "udp = \"shape\"\nuplink =");
    assert_eq!(others(&table(&shaped.replace("\"4 Mbit/s\"", "{ kind = \"adaptive\", max = \"4 Mbit/s\" }"))), 2);
}

#[test]
fn who_is_on_a_list_is_not_forgotten() {
    let mut site = site();
    site.associate("hostapd /run/b", "b", &[seen(1, None)], 0).unwrap();
    sight(&mut site, &seen(1, Some("10.1.0.2")), Source::Association);
    let none = BTreeSet::new();
    assert!(site.age(&none, 599).is_empty());
    site.sight(&seen(1, None), Source::Association, &BTreeMap::new(), 599).unwrap();
    assert!(site.age(&none, 1000).is_empty());
    assert_eq!(site.age(&none, 1199), ["02:00:00:00:00:01"]);
}

proptest::proptest! {
    /// Whatever lists say: each address has a class of its station's pool, and each class sends at least a packet a round.
    #[test]
    fn any_lists_make_a_sound_layout(
        events in proptest::collection::vec((0_u8..6, 0_u8..3, 0_u8..4, 1_u64..50_000), 0..40),
    ) {
        let mut site = site();
        for (time, (low, list, way, mbps)) in events.into_iter().enumerate() {
            let (name, ap) = if way % 2 == 0 { ("hostapd /run/a", "a") } else { ("hostapd /run/b", "b") };
            let listed: Vec<_> = (0..list).map(|more| seen((low + more) % 6, None)).collect();
            site.associate(name, ap, &listed, time as u64).unwrap();
            let rate = Some(Bitrate::mbps(mbps)).filter(|rate| super::super::config::PHY_RATES.contains(rate));
            let sighting = Sighting { rate, ..seen(low, Some(&format!("10.1.0.{}", low + way))) };
            sight(&mut site, &sighting, Source::Association);
            if way == 3 {
                site.age(&BTreeSet::new(), time as u64 + 590);
            }
            let layout = site.layout(1500);
            for minor in layout.members.values() {
                proptest::prop_assert!(layout.leaves.contains_key(minor));
            }
            proptest::prop_assert!(layout.leaves.values().all(|leaf| (1500..=80_000_000).contains(&leaf.quantum)));
            let mut slots: Vec<_> = site.stations().iter().map(|station| station.slot).collect();
            slots.sort_unstable();
            slots.dedup();
            proptest::prop_assert_eq!(slots.len(), site.stations().len());
        }
    }
}

/// A segment and half an ACK take 1.98 ms of frames and gaps at 11 Mbit/s and 7.13 ms at 2 (long preamble, MAC ACKs at 1 Mbit/s),
/// with some 0.3 ms of backoff: 3.26 times.
#[test]
fn air_is_known_where_the_phy_is_and_a_rate_that_is_unknown_is_the_highest() {
    let text = BANK.replace("\"8 Mbit/s\"", "{ kind = \"air\" }\nphy = \"802.11b\"");
    let site = Site::new(Config::from_toml(&text, "test").unwrap()).unwrap();
    let printer = site.stations().iter().find(|station| station.name == "printer").unwrap();
    let at = |rate| site.air_ns(&Station { rate, ..printer.clone() });
    let slow = f64::from(at(Some(Bitrate::mbps(2)))) / f64::from(at(Some(Bitrate::mbps(11))));
    assert!((3.15..3.35).contains(&slow), "{slow}");
    assert_eq!(at(None), at(Some(Bitrate::mbps(11))));
    let elsewhere = Station { pool: site.pools()["b"].id, ..printer.clone() };
    assert_eq!(site.air_ns(&elsewhere), 0);
}

/// With a station at a rate of 802.11b, frames of 802.11g are protected: at 54 Mbit/s a segment takes 254 us, SIFS and an ACK of 50 us (6 Mbit/s), and
/// now a CTS-to-self of 304 us (1 Mbit/s) and SIFS before, in long slots.
#[test]
fn an_old_station_in_a_cell_of_g_makes_the_others_frames_longer() {
    let text = BANK.replace("\"8 Mbit/s\"", "{ kind = \"air\" }\nphy = \"802.11g\"");
    let mut site = Site::new(Config::from_toml(&text, "test").unwrap()).unwrap();
    let printer = site.stations().iter().find(|station| station.name == "printer").unwrap().clone();
    let at = |site: &Site, mbps| site.air_ns(&Station { rate: Some(Bitrate::mbps(mbps)), ..printer.clone() });
    let alone = at(&site, 54);
    sight(&mut site, &Sighting { rate: Some(Bitrate::mbps(11)), ..seen(8, None) }, Source::Association);
    // With DIFS 342 us, half of 126 us for an ACK of TCP, 1.5 backoffs of 67 us: 506 us before. 678, half of 462, 1.5 times 150: 1134 us now.
    let ratio = f64::from(at(&site, 54)) / f64::from(alone);
    assert!((2.15..2.35).contains(&ratio), "{ratio}");
    // ACKs at 1 Mbit/s: 1310 + 314 + 50, half of 248 + 314 + 50, a backoff of 150 and half of one of 310: 2285 us against 1134.
    let old = f64::from(at(&site, 11)) / f64::from(at(&site, 54));
    assert!((1.9..2.2).contains(&old), "{old}");
    assert_eq!(site.rates_are_known(), Ok(()));
}

/// A station that the file names without a rate has the one that lists tell, also after a reload; a rate in the file stays.
#[test]
fn lists_tell_the_rates_that_the_file_does_not() {
    let text = BANK.replace("mac = \"02:00:00:00:00:08\"", "mac = \"02:00:00:00:00:08\"\nrate = \"11 Mbit/s\"");
    let config = || Config::from_toml(&text, "test").unwrap();
    let mut site = Site::new(config()).unwrap();
    for low in [8, 9] {
        let sighting = Sighting { rate: Some(Bitrate::mbps(2)), ..seen(low, None) };
        sight(&mut site, &sighting, Source::Association);
    }
    site.configure(config()).unwrap();
    let rate = |site: &Site, name: &str| site.stations().iter().find(|station| station.name == name).unwrap().rate;
    assert_eq!((rate(&site, "desk"), rate(&site, "printer")), (Some(Bitrate::mbps(2)), Some(Bitrate::mbps(11))));
    // Without its line the rate of the file is not known any more, until lists tell.
    site.configure(Config::from_toml(BANK, "test").unwrap()).unwrap();
    assert_eq!((rate(&site, "desk"), rate(&site, "printer")), (Some(Bitrate::mbps(2)), None));
    sight(&mut site, &Sighting { rate: Some(Bitrate::mbps(1)), ..seen(8, None) }, Source::Association);
    assert_eq!(rate(&site, "printer"), Some(Bitrate::mbps(1)));
}

/// Lists name rates of 802.11n, ac and ax, for which frames of 802.11b have no time.
#[test]
fn a_rate_that_the_phy_does_not_have_is_clamped_and_said() {
    let text = BANK.replace("\"8 Mbit/s\"", "{ kind = \"air\" }\nphy = \"802.11b\"");
    let mut site = Site::new(Config::from_toml(&text, "test").unwrap()).unwrap();
    let printer = site.stations().iter().find(|station| station.name == "printer").unwrap().clone();
    let at = |rate| site.air_ns(&Station { rate: Some(Bitrate::from_bps(rate)), ..printer.clone() });
    assert_eq!(at(144_400_000), at(11_000_000));
    assert_eq!(at(6_500_000), at(5_500_000));
    assert_eq!(at(500_000), at(1_000_000));
    assert_eq!(site.rates_are_known(), Ok(()));
    sight(&mut site, &Sighting { rate: Some(Bitrate::mbps(144)), ..seen(8, None) }, Source::Association);
    let said = site.rates_are_known().unwrap_err().to_string();
    assert!(said.starts_with("printer: 144 Mbit/s is no rate"), "{said}");
}

/// Where classes are not by station the machines that set C know the stations all the same; these have no class, and give their numbers back.
#[test]
fn stations_are_known_where_flows_share() {
    let flows = BANK.replace("airtime-phy", "per-flow").replacen("interface = \"eth1\"", "interface = \"eth2\"", 1);
    let mut site = Site::new(Config::from_toml(&flows, "test").unwrap()).unwrap();
    let classes = site.layout(1500).leaves.len();
    let named = site.stations().len();
    let there = seen(1, Some("10.1.0.2"));
    assert!(sight(&mut site, &there, Source::Neighbours), "it is new");
    let wan = "[wan]\nup = \"10 Mbit/s\"\ndown = \"20 Mbit/s\"\n[[ap]]";
    site.configure(Config::from_toml(&flows.replacen("[[ap]]", wan, 1), "test").unwrap()).unwrap();
    let (layout, slot) = (site.layout(1500), site.stations()[named].slot);
    assert_eq!(layout.wan.quanta.len(), classes + 1, "the others'");
    assert_eq!((layout.leaves.len(), layout.members.len()), (classes, 0));
    // A weight that is not in force makes no shared class heavier.
    site.stations[named].plan.weight = 0.25;
    assert_eq!((site.layout(1500).leaves, site.layout(1500).wan), (layout.leaves, layout.wan));
    site.stations[named].plan.weight = 1.0;
    assert!(!site.common_classes(0).any(|minor| minor == leaf_minor(slot)));
    assert_eq!(site.age(&BTreeSet::new(), 100_000), ["02:00:00:00:00:01"]);
    assert!(sight(&mut site, &there, Source::Neighbours));
    assert_ne!(site.stations()[named].slot, slot, "who comes is not taken for who went");
    let by_station = Config::from_toml(&flows.replace("per-flow", "per-station"), "test").unwrap();
    for config in [by_station, Config::from_toml(&flows, "test").unwrap()] {
        site.configure(config).unwrap();
        let (layout, own) = (site.layout(1500), leaf_minor(site.stations()[named].slot));
        assert_eq!(layout.members.values().any(|minor| *minor == own), layout.leaves.contains_key(&own));
        assert_eq!(layout.leaves.contains_key(&own), site.config().policy.is_by_station());
    }
    // However often stations come, go and roam, none takes a class's number.
    let classes = site.used;
    for now_s in 0..10_000 {
        site.age(&BTreeSet::new(), 100_000 * (now_s + 1));
        assert!(sight(&mut site, &there, Source::Neighbours));
    }
    assert_eq!(site.used, classes);
}

/// Two interfaces: a station that answers at the other one, with another address or with the same, is at the AP there. Who is only said to be
/// there, or whom the file ties, is not.
#[test]
fn a_station_that_answers_at_another_ap_is_there() {
    let text = BANK.split("[[discovery.hostapd]]").next().unwrap().replacen(
        "name = \"b\"\ninterface = \"eth1\"",
        "name = \"b\"\ninterface = \"eth2\"",
        1,
    );
    let tied = "[[station]]\nname = \"desk\"\nap = \"a\"\naddresses = [\"10.1.0.9\"]\n";
    let mut site = Site::new(Config::from_toml(&(text + tied), "test").unwrap()).unwrap();
    let interfaces: BTreeMap<_, _> = [(7, "eth1".to_owned()), (8, "eth2".to_owned()), (9, "eth0".to_owned())].into();
    let mut look = |low, address, interface, is_there| {
        let sighting = Sighting { interface: Some(interface), is_there, ..seen(low, Some(address)) };
        site.sight(&sighting, Source::Neighbours, &interfaces, 0).unwrap();
        let own = site.stations().iter().find(|own| own.mac == Some(Mac([2, 0, 0, 0, 0, low]))).unwrap();
        let minor = site.layout(1500).members[&Key::Ip(address.parse().unwrap())];
        assert_eq!((site.layout(1500).leaves[&minor].pool, minor), (own.pool, leaf_minor(own.slot)));
        own.ap.clone()
    };
    for (address, interface, is_there, expected, why) in [
        ("10.1.0.3", 7, true, "a", "found"),
        ("10.2.0.3", 8, false, "a", "an entry that nothing confirms"),
        ("10.2.0.3", 8, true, "b", "it answers there"),
        ("10.2.0.3", 9, true, "b", "no AP is there"),
        ("10.1.0.3", 7, false, "b", "the entry of before grows old"),
        ("10.1.0.3", 7, true, "a", "it is back"),
        ("10.1.0.3", 8, true, "b", "with the same address, by a route"),
    ] {
        assert_eq!(look(3, address, interface, is_there), expected, "{why}");
    }
    assert_eq!(look(9, "10.1.0.9", 8, true), "a", "the file says where it is");
}

/// Two access points on one interface have prefixes: an address that is in none of these moves nobody, one in the other's does.
#[test]
fn on_one_interface_prefixes_alone_move_a_station() {
    let mut text = BANK.split("[[discovery.hostapd]]").next().unwrap().to_owned();
    for (ap, net) in [("a", 1), ("b", 2)] {
        let name = format!("name = \"{ap}\"");
        text = text.replacen(&name, &format!("{name}\nprefixes = [\"10.{net}.0.0/24\"]"), 1);
    }
    let mut site = Site::new(Config::from_toml(&text, "test").unwrap()).unwrap();
    for (address, expected) in
        [("10.1.0.3", "a"), ("fd01::3", "a"), ("10.9.0.3", "a"), ("10.2.0.3", "b"), ("fd01::3", "b"), ("10.1.0.3", "a")]
    {
        sight(&mut site, &Sighting { is_there: true, ..seen(3, Some(address)) }, Source::Neighbours);
        assert_eq!(ap_of(&site, "02:00:00:00:00:03").as_deref(), Some(expected), "{address}");
    }
}

/// A setting follows the MAC address that was found; the station keeps that over a reload while it keeps an address, so that the file has the
/// last word. Who is excluded then is no station any more.
#[test]
fn a_reload_takes_no_station_its_mac_address_and_ends_what_is_excluded() {
    let text = BANK.split("[[discovery.hostapd]]").next().unwrap().split("[[ap]]\nname = \"b\"").next().unwrap();
    let named = |plan: &str| format!("{text}[[station]]\nname = \"desk\"\naddresses = [\"10.1.0.9\"]\n{plan}");
    let config = |text: &str| Config::from_toml(text, "test").unwrap();
    let mut site = Site::new(config(&named(""))).unwrap();
    for (low, address) in [(9, "10.1.0.9"), (3, "10.1.0.3")] {
        sight(&mut site, &seen(low, Some(address)), Source::Neighbours);
    }
    let mac = site.stations()[0].mac;
    site.configure(config(&named("weight = 2\n"))).unwrap();
    assert_eq!((site.stations()[0].mac, site.stations().len()), (mac, 2));
    assert!(mac.is_some());
    let excluded = named("").replacen("uplink", "exclude = [\"10.1.0.3\"]\nuplink", 1);
    site.configure(config(&excluded)).unwrap();
    assert_eq!(site.stations().len(), 1);
    site.configure(config(&named("").replace("10.1.0.9", "10.1.0.8"))).unwrap();
    assert_eq!(site.stations()[0].mac, None, "another address may be another device's");
}
