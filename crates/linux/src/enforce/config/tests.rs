//! Good files, and what is said of bad ones.

use fairair_core::control::CapacityParams;
use fairair_core::shaper::QueueRule;
use fairair_core::units::Bitrate;

use super::read::KNOWN_KEYS;
use super::{Config, Gso, MacPlace, Mode};

const GOOD: &str = r#"
name = "lobby"
uplink = "eth0"
exclude = ["10.1.0.9"]

[[ap]]
name = "ap1"
interface = "eth1"
prefixes = ["10.1.0.0/16", "fd00:1::/64"]
capacity = "5 Mbit/s"

[[ap]]
name = "ap2"
interface = "eth1"
prefixes = ["10.2.0.0/16"]
capacity = { kind = "adaptive", max = "6 Mbit/s" }

[[plan]]
name = "gold"
weight = 2
cap = "4 Mbit/s"

[[station]]
name = "desk"
addresses = ["10.1.0.2", "fd00:1::2"]
plan = "gold"
weight = 3
"#;

#[test]
fn a_good_file_is_read_with_its_defaults() {
    let config = Config::from_toml(GOOD, "vsb.toml").unwrap();
    assert_eq!((config.mode, config.gso, config.leaf.queue), (Mode::Routed, Gso::Auto, QueueRule::Auto));
    assert_eq!(config.aps[0].capacity, CapacityParams::Fixed { rate: Bitrate::mbps(5) });
    assert_eq!(config.aps[1].most(), Bitrate::mbps(6));
    let desk = &config.stations[0];
    assert_eq!((desk.plan.weight, desk.plan.cap), (3.0, Some(Bitrate::mbps(4))));
    assert!(config.dashboard.is_none());
    assert!(config.metrics.is_none() && config.journal.is_none());
}

/// What is given at the first AP of a channel holds for the others, however each spells the channel.
#[test]
fn aps_of_a_channel_are_one_pool() {
    let channel = |first: &str, second: &str| {
        let text = GOOD.replacen("capacity =", &format!("channel = {first}\nphy = \"802.11a\"\ncapacity ="), 1);
        let text =
            text.replace("capacity = { kind = \"adaptive\", max = \"6 Mbit/s\" }", &format!("channel = {second}"));
        Config::from_toml(&text, "vsb.toml").map(|config| config.pools())
    };
    for (first, second) in [("36", "\"36\""), ("\"36/5\"", "36"), ("6", "\"6/2.4\""), ("\"37/6\"", "\"37/6\"")] {
        let pools = channel(first, second).unwrap();
        assert_eq!(pools.len(), 1, "{first} and {second}");
        let [one, two] = &pools[0].1[..] else { panic!("{pools:?}") };
        assert_eq!((one.capacity, one.phy, two.name.as_str()), (two.capacity, two.phy, "ap2"));
    }
    let error = channel("36", "\"6/6\"").expect_err("alone on its channel");
    assert!(error.to_string().contains("how much the cell may carry"), "{error}");
    let apart = GOOD.replacen("capacity =", "channel = 5\ncapacity =", 1);
    let apart = apart.replace("capacity = {", "channel = \"5/6\"\ncapacity = {");
    let names: Vec<_> = Config::from_toml(&apart, "vsb.toml").unwrap().pools().into_iter().map(|own| own.0).collect();
    assert_eq!(names, ["channel 5/2.4", "channel 5/6"]);
}

/// Each key under each wrong header, also one that is then missing at its place.
#[test]
fn a_key_in_the_wrong_table_is_told_where_it_belongs() {
    let whole = format!(
        "{GOOD}[wan]\nup = \"9 Mbit/s\"\n[journal]\nfile = \"/x\"\n[discovery]\nage = \"9 s\"\n[[discovery.hostapd]]\nsocket = \"/x\"\n\
         ap = \"ap1\"\n[[discovery.snmp]]\nagent = \"10.0.0.5\"\ncommunity = \"x\"\ntable = \"mikrotik\"\nap = \"ap1\"\n"
    );
    Config::from_toml(&whole, "vsb.toml").unwrap();
    let mut told = 0;
    for (home, keys) in KNOWN_KEYS {
        for (place, own) in KNOWN_KEYS {
            for key in keys.iter().filter(|key| !own.contains(key)) {
                let line = format!("{key} = \"x\"\n");
                let without =
                    whole.replace("uplink = \"eth0\"\n", if *key == "uplink" { "" } else { "uplink = \"eth0\"\n" });
                let text = match without.split_once(&format!("{place}\n")) {
                    Some((before, after)) => format!("{before}{place}\n{line}{after}"),
                    None => format!("{line}{without}"),
                };
                let error = Config::from_toml(&text, "vsb.toml").expect_err(&line);
                let words = format!("{error} {}", error.fix());
                assert!(words.contains(&format!("unknown key `{key}`")) && words.contains(home), "{words}");
                told += 1;
            }
        }
    }
    assert!(told > 250, "{told}");
}

/// Nobody may write to it any more: whoever opens it waits.
#[test]
fn a_fifo_in_place_of_the_file_blocks_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vsb.toml");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let error = Config::load(&path).unwrap_err();
    assert!(error.to_string().contains("FIFO") && error.to_string().contains("vsb.toml"), "{error}");
}

#[test]
fn addresses_of_groups_are_no_stations() {
    let station = |keys: &str| {
        Config::from_toml(&format!("{GOOD}[[station]]\nname = \"odd\"\nap = \"ap1\"\n{keys}\n"), "vsb.toml")
    };
    station("mac = \"02:00:00:00:00:77\"").unwrap();
    let error = station("mac = \"ff:ff:ff:ff:ff:ff\"").unwrap_err();
    assert!(error.to_string().contains("address of a group"), "{error}");
    for address in ["224.0.0.1", "255.255.255.255", "0.0.0.0", "127.0.0.1", "ff02::1", "::"] {
        let error = station(&format!("addresses = [\"10.1.7.7\", \"{address}\"]")).unwrap_err();
        assert!(error.to_string().contains(&format!("{address} is no address of one device")), "{error}");
    }
}

#[test]
fn mistakes_name_place_and_remedy() {
    let swap = |from: &str, to: &str| GOOD.replace(from, to);
    let cases = [
        (swap("uplink =", "uplnk ="), "3:1: unknown key", "did you mean `uplink`?"),
        (swap("\"eth0\"", "\"eth0; reboot\""), "3:10", "at most 15 letters"),
        (swap("uplink =", "batch = \"1500 B\"\nuplink ="), "3:9: `batch` in the file: less than two packets", "24 kB"),
        (swap("\"eth0\"", "\"eth1\""), "this is an uplink", "towards its stations"),
        (swap("10.2.0.0/16", "10.1.8.0/24"), "14:13", "do not overlap"),
        (swap("10.2.0.0/16", "10.2.0.0/33"), "is not a prefix", "10.1.0.0/16"),
        (swap("10.1.0.9", "10.1.0.9/24"), "10.1.0.9/24 is both", "write 10.1.0.0/24 for the prefix, or 10.1.0.9 for"),
        (format!("{GOOD}[wan]\n"), "neither direction has a rate", "about 95 %"),
        (format!("{GOOD}[wan]\nup = \"1 bit/s\"\n"), "29:6", "10 kbit/s"),
        (format!("{GOOD}[wan]\nupp = \"1 Mbit/s\"\n"), "unknown key", "did you mean `up`?"),
        (swap("\"eth0\"", "\"fairair-lan\""), "3:10", "towards the access point"),
        (swap("\"desk\"", "\"10.1.0.3\""), "24:8: `name`", "no address"),
        (swap("\"desk\"", "\"02:00:00:00:00:09\""), "24:8: `name`", "no address"),
        (swap("capacity = \"5 Mbit/s\"", "capacity = 5"), "neither a rate nor a table", "\"5 Mbit/s\""),
        (swap("capacity = \"5 Mbit/s\"", ""), "how much the cell may carry", "802.11b"),
        (swap("\"adaptive\", max = \"6 Mbit/s\"", "\"adaptive\""), "`max` is missing", "the most that"),
        (
            swap("\"adaptive\", max =", "\"adaptive\", mx ="),
            "vsb.toml:16:33: unknown key `mx` in capacity",
            "did you mean `max`?",
        ),
        (swap("\"5 Mbit/s\"", "{ kind = \"air\", max = \"6 Mbit/s\" }"), "`phy` is missing", "802.11b"),
        (swap("\"5 Mbit/s\"", "\"5 Mbit/s\"\nbasic_rate = \"2 Mbit/s\""), "`phy` is missing", "802.11b"),
        (swap("\"5 Mbit/s\"", "\"5 Mbit/s\"\nphy = \"802.11b\"\nbasic_rate = \"3 Mbit/s\""), "no rate", "5.5 Mbit/s"),
        (
            swap("name = \"lobby\"", "name = \"lobby\"\npolicy = \"per-flow\"")
                .replace("\"5 Mbit/s\"", "{ kind = \"air\" }\nphy = \"802.11b\""),
            "counts by station",
            "adaptive",
        ),
        (swap("capacity =", "channel = 15\ncapacity ="), "10:11", "\"6/2.4\""),
        (swap("capacity =", "channel = \"36/6/5\"\ncapacity ="), "not a channel", "\"37/6\""),
        (swap("capacity =", "channel = \"36/2.4\"\ncapacity ="), "not a channel", "2.4 GHz"),
        (
            GOOD.replace("capacity =", "channel = 36\ncapacity ="),
            "18:12: `capacity` in [[ap]]: \"ap1\" is on the same channel and has another `capacity`",
            "at the first of them only",
        ),
        (swap("plan = \"gold\"", "rate = \"100 kbit/s\""), "outside the range", "Mbit/s"),
        (swap("plan = \"gold\"", "plan = \"silver\""), "no such plan", "gold"),
        (swap("\"10.1.0.2\", ", "\"10.9.0.2\", "), "`ap` is missing", "no prefix"),
        (swap("weight = 2", "weight = 0"), "outside the range", "0.01"),
        (swap("\"5 Mbit/s\"", "\"1 bit/s\""), "outside the range", "between"),
        (swap("[[station]]", "policy = \"airtime\"\n[[station]]"), "unknown key", "top of the file"),
        (swap("name = \"lobby\"", "name = \"lobby\"\npolicy = \"per-flow\""), "no meaning", "policy by station"),
        (
            swap("name = \"lobby\"", "udp = \"auto\"\nwan = { up = \"9 Mbit/s\" }\nname = \"lobby\""),
            "2:7: `udp`",
            "udp = \"bypass-uplink\" where",
        ),
        (swap("name = \"lobby\"", "name = \"lobby\"\nmetrics = \"9477\""), "metrics", "127.0.0.1:9477"),
        (swap("name = \"lobby\"", "name = \"lobby\"\ndashboard = \"on\""), "dashboard", "127.0.0.1:8080"),
        (swap("name = \"lobby\"", "name = \"lobby\"\nstate = \"run\""), "absolute", "begins with /"),
        (swap("name = \"lobby\"", "name = \"a/../b\""), "'/'", "letters"),
    ];
    for (text, problem, fix) in cases {
        let error = Config::from_toml(&text, "vsb.toml").expect_err(problem);
        assert!(error.to_string().starts_with("vsb.toml:"), "{error}");
        assert!(error.to_string().contains(problem), "{error} lacks {problem}");
        assert!(error.fix().contains(fix), "{} lacks {fix}", error.fix());
    }
}

const SNMP: &str = r#"
name = "lobby"
uplink = "eth0"
[[ap]]
name = "ap1"
interface = "eth1"
capacity = "5 Mbit/s"
[[ap]]
name = "ap2"
interface = "eth1"
capacity = "5 Mbit/s"
[[discovery.snmp]]
ap = "ap1"
agent = "10.0.0.5"
community = "hidden"
table = "bridge"
ports = [2, 3]
[[discovery.snmp]]
ap = "ap2"
agent = "[fd00::5]:1161"
community = "hidden"
oid = ".1.3.6.1.4.1.99999.1"
mac = "value"
rate_oid = "1.3.6.1.4.1.99999.2"
rate_unit = "1 Mbit/s"
[[discovery.hostapd]]
ap = "ap2"
socket = "/run/hostapd/wlan0"
[[station]]
name = "desk"
mac = "02:00:5e:10:00:01"
"#;

#[test]
fn lists_of_stations_are_read_and_tell_aps_of_one_interface_apart() {
    let config = Config::from_toml(SNMP, "vsb.toml").unwrap();
    let [one, two] = &config.discovery.snmp[..] else { panic!("two") };
    assert_eq!(
        (one.agent.to_string(), two.agent.to_string()),
        ("10.0.0.5:161".to_owned(), "[fd00::5]:1161".to_owned())
    );
    assert_eq!((one.every, &one.table.ports), (fairair_core::units::Duration::from_secs(10), &vec![2, 3]));
    assert_eq!((two.table.mac, two.table.oid.len()), (MacPlace::Value, 8));
    assert_eq!(config.discovery.hostapd[0].ap, "ap2");
    assert!(!format!("{config:?}").contains("hidden"), "no log may have it");
    let one_ap = SNMP.replace("[[ap]]\nname = \"ap2\"\ninterface = \"eth1\"\ncapacity = \"5 Mbit/s\"\n", "");
    let one_ap = one_ap.replace("ap = \"ap1\"\nagent", "agent").replace("ap = \"ap2\"\n", "");
    assert_eq!(Config::from_toml(&one_ap, "vsb.toml").unwrap().discovery.snmp[1].ap, "ap1", "the only one");
}

#[test]
fn mistakes_in_lists_of_stations_name_place_and_remedy() {
    let swap = |from: &str, to: &str| SNMP.replace(from, to);
    let cases = [
        (
            swap("ap = \"ap1\"\nagent", "ap = \"ap9\"\nagent"),
            "13:6: `ap` in [[discovery.snmp]]: there is no such AP",
            "ap1, ap2",
        ),
        (swap("ap = \"ap1\"\nagent", "agent"), "`ap` is missing", "ap1, ap2"),
        (swap("\"10.0.0.5\"", "\"ap.example\""), "14:9", "10.0.0.5:161"),
        (swap("\"bridge\"\nports = [2, 3]", "\"bridge\""), "`ports` is missing", "behind its wire"),
        (swap("\"bridge\"\nports = [2, 3]", "\"mikrotik\"\nports = [2]"), "17:9", "remove"),
        (swap("\"bridge\"", "\"ruckus\""), "16:9", "\"mikrotik\", \"cisco-dot11\""),
        (swap("table = \"bridge\"\nports = [2, 3]", ""), "`table` is missing", "`oid` and `mac`"),
        (swap("ports = [2, 3]", "ports = [2, 3]\noid = \"1.3.6\""), "`table` says it already", "write `table`, or"),
        (swap(".1.3.6.1.4.1.99999.1", "1.3.six"), "22:7", "1.3.6.1.2.1.17.4.3.1.2"),
        (swap(".1.3.6.1.4.1.99999.1", "3.3.6"), "is not an object identifier", "1.3.6.1.2.1.17.4.3.1.2"),
        (swap("mac = \"value\"", "mac = \"middle\""), "23:7", "\"first\" or \"last\""),
        (swap("rate_oid = \"1.3.6.1.4.1.99999.2\"\n", ""), "there is no `rate_oid`", "remove"),
        (swap("\"hidden\"\ntable", "\"\"\ntable"), "15:13", "1 to 255"),
        (swap("\"/run/hostapd/wlan0\"", "\"wlan0\""), "28:10", "begins with /"),
        (swap("table = \"bridge\"", "tabel = \"bridge\""), "16:1: unknown key", "did you mean `table`?"),
        (swap("ap = \"ap1\"\nagent", "ap = \"ap2\"\nagent"), "10:13", "[[discovery.snmp]] or [[discovery.hostapd]]"),
        (
            swap("name = \"lobby\"", "name = \"lobby\"\npolicy = \"per-flow\""),
            "nothing tells their stations apart",
            "policy by station",
        ),
        (format!("name = \"lobby\"\nuplink = \"eth0\"\n{}", "[[ap]]\n".repeat(256)), "258:1: 256 APs", "remove some"),
    ];
    for (text, problem, fix) in cases {
        let error = Config::from_toml(&text, "vsb.toml").expect_err(problem);
        assert!(error.to_string().contains(problem), "{error} lacks {problem}");
        assert!(error.fix().contains(fix), "{} lacks {fix}", error.fix());
        assert!(!format!("{error}{}", error.fix()).contains("hidden"), "{error}");
    }
}

/// The one that starts second would find the address taken.
#[test]
fn dashboard_and_metrics_have_addresses_of_their_own() {
    let told = |metrics: &str, dashboard: &str| {
        let text = format!("metrics = \"{metrics}\"\ndashboard = \"{dashboard}\"{GOOD}");
        Config::from_toml(&text, "vsb.toml").map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(told("127.0.0.1:9477", "127.0.0.1:8080"), "");
    assert_eq!(told("127.0.0.1:9477", "10.1.0.1:9477"), "");
    for dashboard in ["127.0.0.1:9477", "0.0.0.0:9477"] {
        let told = told("127.0.0.1:9477", dashboard);
        assert!(told.contains("vsb.toml:2:13: `dashboard`") && told.contains("`metrics` has this address"), "{told}");
    }
}
