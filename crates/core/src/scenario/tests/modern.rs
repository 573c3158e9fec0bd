//! Scenarios of 802.11n, ac and ax.

use super::{SMALLEST, bad, good};
use crate::mac::{Aggregation, Band, EdcaParams, Mcs, Modulation, Phy, TxVector, Width};
use crate::packet::Category;
use crate::qdisc::{Mac80211Params, QdiscSpec};
use crate::scenario::{Action, Preset, Scenario};
use crate::shaper::{LeafRule, QueueRule, VsbParams};
use crate::tcp::{Profile, TcpParams, Variant};
use crate::units::{Bitrate, Bytes, Duration};

fn with(radio: &str) -> Scenario {
    good(&format!("{SMALLEST}[radio]\n{radio}\n"))
}

fn mcs(tx: TxVector) -> (u8, u8, u32, u64) {
    let Modulation::Mcs(mcs) = tx.modulation() else { panic!("{tx} has no MCS") };
    (mcs.index, mcs.streams, 20 << mcs.width as u32, mcs.guard_interval.as_nanos())
}

/// Problem and fix of a bad `[radio]`.
fn refused(text: &str) -> (String, String) {
    let invalid = bad(&format!("{SMALLEST}{text}\n"));
    (invalid.problem, invalid.fix)
}

#[test]
fn defaults_are_those_of_access_points_and_hosts_of_today() {
    for (phy, expected, window, longest) in [
        ("802.11n", (7, 1, 20, 800), 64, 65_535),
        ("802.11ac", (9, 1, 80, 800), 64, 1_048_575),
        ("802.11ax", (11, 1, 80, 800), 256, 6_500_631),
    ] {
        let scenario = with(&format!("phy = \"{phy}\""));
        let qos = scenario.radio.qos.unwrap();
        assert_eq!(mcs(scenario.radio.data()), expected, "{phy}");
        assert_eq!(scenario.stations[0].tx, Some(scenario.radio.data()));
        assert_eq!(scenario.stations[0].rate, scenario.radio.rate);
        assert_eq!((qos.band, qos.edca, qos.bar, qos.rts_above), (Band::Ghz5, EdcaParams::HOSTAPD, false, None));
        assert_eq!(qos.aggregation, Some(Aggregation::new(Bytes(longest), window)));
        assert_eq!((qos.retry_limit, qos.lifetime), (Some(30), None));
        assert_eq!(scenario.radio.basic_rate, Bitrate::mbps(24));
    }
    let in_2_ghz = with("phy = \"802.11ax\"\nband = \"2.4 GHz\"");
    assert_eq!((in_2_ghz.radio.band(), mcs(in_2_ghz.radio.data())), (Band::Ghz2, (11, 1, 20, 800)));
    let text = format!("{SMALLEST}flows = [{{ direction = \"up\" }}]\n[radio]\nphy = \"802.11ac\"\n");
    let tcp = good(&text).stations[0].flows[0].tcp;
    assert_eq!((tcp.profile, tcp.variant, tcp.initial_cwnd, tcp.sack), (Profile::Linux, Variant::Cubic, 10, true));
    // 20 MHz leaves MCS 9 out.
    assert_eq!(mcs(with("phy = \"802.11ac\"\nwidth = \"20 MHz\"").radio.data()), (8, 1, 20, 800));
}

#[test]
fn the_preset_ns3_chooses_what_ns3_does() {
    let text = format!("{SMALLEST}flows = [{{ direction = \"up\" }}]\n[radio]\nphy = \"802.11ac\"\n");
    let scenario = good(&text.replace("[[station]]", "preset = \"ns3\"\n[[station]]"));
    let qos = scenario.radio.qos.unwrap();
    assert_eq!(scenario.run.preset, Preset::Ns3);
    assert_eq!(qos.aggregation, Some(Aggregation::new(Bytes(65_535), 64)));
    assert_eq!((qos.edca, qos.bar, qos.retry_limit, qos.lifetime), (EdcaParams::NS3, true, None, None));
    assert!(!scenario.radio.eifs && scenario.qos().unwrap().hand_up_early);
    assert_eq!(scenario.stations[0].flows[0].tcp, TcpParams::ns3());
}

#[test]
fn every_key_reaches_its_field() {
    let scenario = with(
        "phy = \"802.11ax\"\nband = \"5 GHz\"\nwidth = \"160 MHz\"\nstreams = 2\nguard_interval = \"1.6 us\"\nmcs = 10\n\
         aggregation = { max_bytes = 65535, window = 32, max_mpdus = 16, max_duration = \"4 ms\" }\namsdu = \"3839 B\"\nbar = true\nrts = \"1000 B\"\ntxop = \"2528 us\"\n\
         retry_limit = 4\nlifetime = \"500 ms\"\nbasic_rate = \"12 Mbit/s\"\ncw_min = 31\n\
         [radio.edca]\npreset = \"openwrt\"\nap = { vo = { aifsn = 4 }, be = { txop = \"3 ms\" } }\n\
         stations = { bk = { cw_min = 31, cw_max = 63 } }",
    );
    let qos = scenario.radio.qos.unwrap();
    assert_eq!(mcs(scenario.radio.data()), (10, 2, 160, 1600));
    let limits = Aggregation {
        max_mpdus: Some(16),
        max_duration: Some(Duration::from_millis(4)),
        ..Aggregation::new(Bytes(65_535), 32)
    };
    assert_eq!((qos.aggregation, qos.amsdu), (Some(limits), Some(Bytes(3839))));
    assert_eq!((qos.bar, qos.rts_above, qos.retry_limit), (true, Some(Bytes(1000)), Some(4)));
    assert_eq!((qos.lifetime, scenario.radio.basic_rate), (Some(Duration::from_millis(500)), Bitrate::mbps(12)));
    let be = Category::BestEffort.index();
    let (ap, stations) = (qos.edca.ap, qos.edca.stations);
    assert_eq!((ap[be].txop, stations[be].txop), (Duration::from_millis(3), Duration::from_micros(2528)));
    assert_eq!((ap[be].cw_min, ap[be].cw_max, stations[be].cw_min), (31, 63, 31));
    assert_eq!((ap[0].aifsn, ap[0].cw_max), (4, 7));
    assert_eq!((stations[3].cw_min, stations[3].cw_max, ap[3].cw_max), (31, 63, 1023));
    let off = with("phy = \"802.11n\"\naggregation = \"off\"\namsdu = \"off\"\nrts = true\nretry_limit = \"none\"")
        .radio
        .qos
        .unwrap();
    assert_eq!(off.amsdu, None);
    assert_eq!((off.aggregation, off.rts_above, off.retry_limit), (None, Some(Bytes(0)), None));
    let by_duration = with("phy = \"802.11n\"\nrts = \"2 ms\"").radio.qos.unwrap();
    assert_eq!((by_duration.rts_above, by_duration.rts_longer), (None, Some(Duration::from_millis(2))));
}

#[test]
fn a_rate_names_a_modulation() {
    for (radio, expected) in [
        ("phy = \"802.11n\"\nrate = \"144.4 Mbit/s\"", (7, 2, 20, 400)),
        ("phy = \"802.11n\"\nrate = \"7.2 Mbit/s\"", (0, 1, 20, 400)),
        // Several have 65 Mbit/s; one of them with the usual width, stream and guard interval.
        ("phy = \"802.11n\"\nrate = \"65 Mbit/s\"", (7, 1, 20, 800)),
        ("phy = \"802.11ac\"\nrate = \"390 Mbit/s\"", (9, 1, 80, 800)),
        ("phy = \"802.11ac\"\nrate = \"433.3 Mbit/s\"", (9, 1, 80, 400)),
        ("phy = \"802.11ax\"\nrate = \"600.5 Mbit/s\"", (11, 1, 80, 800)),
        ("phy = \"802.11n\"\nmcs = 15\nguard_interval = \"0.4 us\"", (7, 2, 20, 400)),
    ] {
        assert_eq!(mcs(with(radio).radio.data()), expected, "{radio}");
    }
}

#[test]
fn stations_differ_in_phy_and_modulation() {
    let stations = |radio: &str, station: &str| good(&format!("{SMALLEST}{station}\n[radio]\n{radio}\n")).stations;
    let ac = "phy = \"802.11ac\"\nmcs = 9";
    let tx = |station: &str| stations(ac, station)[0].tx.unwrap();
    assert_eq!((tx("mcs = 3").phy(), mcs(tx("mcs = 3"))), (Phy::Ac, (3, 1, 80, 800)));
    assert_eq!(mcs(tx("streams = 2")), (9, 2, 80, 800));
    assert_eq!(mcs(tx("mcs = 8\nwidth = \"20 MHz\"")), (8, 1, 20, 800));
    // An older station does what it can: the width of its PHY, its highest MCS.
    assert_eq!((tx("phy = \"802.11n\"").phy(), mcs(tx("phy = \"802.11n\""))), (Phy::N, (7, 1, 40, 800)));
    assert_eq!(
        mcs(stations("phy = \"802.11ax\"\nguard_interval = \"3.2 us\"", "phy = \"802.11ac\"")[0].tx.unwrap()),
        (9, 1, 80, 800)
    );
    // The anomaly of the reference runs.
    let slow = stations("phy = \"802.11n\"\nmcs = 15\nguard_interval = \"0.4 us\"", "mcs = 0\nstreams = 1");
    assert_eq!((mcs(slow[0].tx.unwrap()), slow[0].rate.as_bps()), ((0, 1, 20, 400), 7_222_222));
}

#[test]
fn older_stations_have_rates_and_802_11b_is_protected_from() {
    let cell = |radio: &str, station: &str| {
        let scenario = good(&format!("{SMALLEST}{station}\n[radio]\n{radio}\n"));
        let tx = scenario.stations[0].tx.unwrap();
        (tx.phy(), tx.rate(), scenario.radio.protection_rate)
    };
    let in_2_ghz = "phy = \"802.11n\"\nband = \"2.4 GHz\"";
    let mbps = Bitrate::mbps;
    assert_eq!(cell(in_2_ghz, "phy = \"802.11b\"\nrate = \"1 Mbit/s\""), (Phy::B, mbps(1), Some(mbps(2))));
    assert_eq!(cell(in_2_ghz, "phy = \"802.11b\""), (Phy::B, mbps(11), Some(mbps(2))));
    assert_eq!(cell(in_2_ghz, "phy = \"802.11g\"\nrate = \"6 Mbit/s\""), (Phy::G, mbps(6), None));
    assert_eq!(cell("phy = \"802.11ac\"", "phy = \"802.11a\""), (Phy::A, mbps(54), None));
}

#[test]
fn events_change_mcs() {
    let scenario = good(&format!(
        "{SMALLEST}[radio]\nphy = \"802.11ac\"\n[[station]]\nname = \"old\"\nphy = \"802.11n\"\n\
         [[event]]\nat = \"9 s\"\nkind = \"rate\"\nmcs = 2\n"
    ));
    let changed: Vec<_> = scenario
        .events
        .iter()
        .map(|event| match &event.action {
            Action::Rate { stations, rate, tx: Some(tx) } => (stations.clone(), tx.phy(), mcs(*tx), *rate == tx.rate()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(changed, [(vec![0], Phy::Ac, (2, 1, 80, 800), true), (vec![1], Phy::N, (2, 1, 40, 800), true)]);
}

#[test]
fn linux_queues_stand_at_the_ap_and_at_stations() {
    let scenario = good(&format!(
        "{SMALLEST}uplink_queue = {{ kind = \"mac80211\", aql = false }}\n[radio]\nphy = \"802.11ax\"\n\
         [ap]\nqueue = {{ kind = \"mac80211\", airtime = false, rx_airtime = false }}\n"
    ));
    let usual = Mac80211Params::default();
    assert_eq!(scenario.ap.queue, QdiscSpec::Mac80211(Mac80211Params { airtime: false, rx_airtime: false, ..usual }));
    assert_eq!(scenario.stations[0].uplink_mac80211, Some(Mac80211Params { aql: false, ..usual }));
    let (problem, fix) = refused("uplink_queue = { kind = \"fifo\" }");
    assert!(problem.contains("`fifo` is not known") && fix.contains("\"mac80211\""), "{problem} {fix}");
}

#[test]
fn flows_have_categories() {
    let text = format!("{SMALLEST}flows = [{{ direction = \"up\", category = \"vo\" }}, {{ direction = \"down\" }}]\n");
    let scenario = good(&format!("{text}[radio]\nphy = \"802.11n\"\n"));
    let categories: Vec<_> = scenario.stations[0].flows.iter().map(|flow| flow.category).collect();
    assert_eq!(categories, [Category::Voice, Category::BestEffort]);
    assert_eq!(scenario.qos().unwrap().categories, [true, false, true, false]);
    let invalid = bad(&text);
    assert!(invalid.problem.contains("802.11b has no access categories"), "{}", invalid.problem);
}

#[test]
fn combinations_that_cannot_be_are_told_with_the_nearest_that_can() {
    for (text, problem, fix) in [
        ("[radio]\nphy = \"802.11ac\"\nwidth = \"20 MHz\"\nmcs = 9", "leaves this combination out", "write mcs = 8,"),
        ("[radio]\nphy = \"802.11ac\"\nstreams = 3\nmcs = 6", "leaves this combination out", "write mcs = 5,"),
        ("[radio]\nphy = \"802.11ac\"\nmcs = 10", "10 is outside the range", "from 0 to 9"),
        ("[radio]\nphy = \"802.11n\"\nmcs = 32", "32 is outside the range", "from 0 to 31"),
        ("[radio]\nphy = \"802.11n\"\nmcs = 15\nstreams = 1", "MCS 15 of 802.11n has 2 streams", "write mcs = 7 for 1"),
        ("[radio]\nphy = \"802.11n\"\nwidth = \"80 MHz\"", "802.11n: its widest channel is 40 MHz", "\"40 MHz\""),
        ("[radio]\nphy = \"802.11n\"\nwidth = \"30 MHz\"", "`30 MHz` is not known", "\"40 MHz\""),
        (
            "[radio]\nphy = \"802.11ax\"\nguard_interval = \"0.4 us\"",
            "no guard interval of 400 ns",
            "\"0.8 us\", \"1.6 us\"",
        ),
        ("[radio]\nphy = \"802.11ax\"\nstreams = 5", "5 is outside the range", "from 1 to 4"),
        ("[radio]\nphy = \"802.11ac\"\nband = \"2.4 GHz\"", "802.11ac is not in this band", "5 GHz"),
        (
            "[radio]\nphy = \"802.11n\"\nrate = \"66 Mbit/s\"",
            "no modulation of 66 Mbit/s",
            "the nearest is 65.0 Mbit/s (MCS",
        ),
        ("[radio]\nphy = \"802.11n\"\nrate = \"130 Mbit/s\"", "modulations of 802.11n have 130 Mbit/s", "streams"),
        ("[radio]\nphy = \"802.11n\"\nrate = \"65 Mbit/s\"\nmcs = 7", "`rate` and `mcs` both", "remove one"),
        ("[radio]\nphy = \"802.11n\"\naggregation = \"on\"", "`on` is not known", "\"off\""),
        ("[radio]\nphy = \"802.11n\"\naggregation = { max_bytes = 70000 }", "70000 is outside", "to 65535"),
        ("[radio]\nphy = \"802.11ac\"\naggregation = { window = 256 }", "256 is outside", "from 1 to 64"),
        ("[radio]\nphy = \"802.11ac\"\naggregation = { max_duration = \"6 ms\" }", "6 ms is outside", "to 5484 us"),
        ("[radio]\nphy = \"802.11n\"\namsdu = \"7935 B\"", "7935 B is outside", "to 3839 B"),
        ("[radio]\nphy = \"802.11ac\"\naggregation = \"off\"\namsdu = \"12 kB\"", "12000 B is outside", "to 11398 B"),
        ("width = \"160 MHz\"\n[radio]\nphy = \"802.11ac\"", "that of the cell has 80 MHz", "at most \"80 MHz\""),
        ("[radio]\nphy = \"802.11n\"\nrts = 1000", "1000 has no unit", "write true, false"),
        ("[radio]\nphy = \"802.11n\"\ntxop = \"9 ms\"", "9 ms is outside", "8160 us"),
        ("[radio]\nphy = \"802.11n\"\ncw_min = 20", "20 is no contention window of EDCA", "write 15 or 31"),
        ("[radio]\nphy = \"802.11n\"\ncw_min = 2047", "2047, is above the largest", "cw_min <= cw_max"),
        ("[radio]\nphy = \"802.11n\"\npreamble = \"long\"", "an 802.11b preamble", "remove it"),
        ("[radio]\nphy = \"802.11n\"\n[radio.edca]\npreset = \"hostap\"", "`hostap` is not known", "\"hostapd\""),
        ("[radio]\nphy = \"802.11n\"\n[radio.edca]\nap = { bw = {} }", "unknown key `bw`", "vo, vi, be, bk"),
        ("[radio]\nmcs = 7", "`mcs` with 802.11b", "phy = \"802.11n\""),
        ("mcs = 7", "`mcs` with 802.11b", "phy = \"802.11n\""),
        ("phy = \"802.11g\"", "a station of 802.11g in a cell of 802.11b", "802.11n"),
        (
            "phy = \"802.11ax\"\n[radio]\nphy = \"802.11ac\"",
            "a station of 802.11ax in this cell",
            "\"802.11n\", \"802.11ac\"",
        ),
        (
            "phy = \"802.11b\"\n[radio]\nphy = \"802.11n\"",
            "a station of 802.11b in this cell",
            "\"802.11a\", \"802.11n\"",
        ),
        (
            "phy = \"802.11b\"\nmcs = 1\n[radio]\nphy = \"802.11n\"\nband = \"2.4 GHz\"",
            "`mcs` with 802.11b",
            "remove it",
        ),
        (
            "phy = \"802.11g\"\nrate = \"7 Mbit/s\"\n[radio]\nphy = \"802.11n\"\nband = \"2.4 GHz\"",
            "does not have 7",
            "6 Mbit/s",
        ),
        (
            "phy = \"802.11g\"\n[radio]\nphy = \"802.11n\"\nband = \"2.4 GHz\"\n[[event]]\nat = \"1 s\"\nkind = \"rate\"\nmcs = 1",
            "`mcs` for a station of 802.11g",
            "write `rate`",
        ),
        ("[radio]\nphy = \"802.11be\"", "`802.11be` is not known", "\"802.11ax\""),
        ("[radio]\nphy = \"802.11n\"\n[[event]]\nat = \"1 s\"\nkind = \"rate\"", "`mcs` is missing", "mcs = 3"),
    ] {
        let (found, remedy) = refused(text);
        assert!(found.contains(problem) && remedy.contains(fix), "{text}\n{found}\n{remedy}");
    }
    let with_preset = |preset: &str, phy: &str| {
        let text = format!("{SMALLEST}[radio]\nphy = \"{phy}\"\n");
        bad(&text.replace("[[station]]", &format!("preset = \"{preset}\"\n[[station]]"))).problem
    };
    assert!(with_preset("ns2", "802.11n").contains("which ns-2 does not have"));
    assert!(with_preset("ns3", "802.11a").contains("`preset = \"ns3\"` with 802.11a"));
}

#[test]
fn json_keeps_modern_cells() {
    let scenario = good(&format!(
        "{SMALLEST}mcs = 4\nflows = [{{ direction = \"up\", category = \"vi\" }}]\n[radio]\nphy = \"802.11ax\"\nrts = true\n"
    ));
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
    let json = serde_json::to_value(&scenario).unwrap();
    assert_eq!(json["radio"]["phy"], "802.11ax");
    assert_eq!(json["radio"]["qos"]["mcs"]["width"], "80 MHz");
    assert_eq!(json["stations"][0]["tx"]["modulation"]["mcs"]["index"], 4);
    assert_eq!(json["stations"][0]["flows"][0]["category"], "vi");
    // Nothing of this is in other cells.
    let plain = serde_json::to_value(good(SMALLEST)).unwrap();
    assert!(plain["radio"].get("qos").is_none() && plain["stations"][0].get("tx").is_none());
    let mcs = Mcs { index: 4, streams: 1, width: Width::Mhz80, guard_interval: Duration::from_nanos(800) };
    assert_eq!(scenario.stations[0].tx, TxVector::with_mcs(Phy::Ax, mcs, Band::Ghz5).ok());
}

#[test]
fn the_wire_behind_a_modern_cell_is_no_bottleneck_by_default() {
    let wire = |radio: &str| {
        let cell = super::good(&format!("{SMALLEST}flows = [{{ direction = \"up\" }}]\n[radio]\nphy = \"{radio}\"\n"));
        (cell.wire.rate, cell.ap.uplink_queue)
    };
    assert_eq!(wire("802.11ax"), (crate::units::Bitrate::mbps(1000), 1000));
    assert_eq!(wire("802.11g"), (crate::units::Bitrate::mbps(100), 100));
}

/// A box sends as much at once as a PPDU carries; the file may say otherwise. Where frames go one by one it is detti2011's.
#[test]
fn the_box_sends_what_a_ppdu_carries_at_once() {
    let boxed = |radio: &str, keys: &str| with(&format!("{radio}\n[enforce]\n{keys}")).enforce.unwrap().vsb;
    let auto = |packets: u64| VsbParams {
        queue: QueueRule::Auto,
        leaf: LeafRule::Auto,
        batch: Bytes(1500 * packets),
        ..VsbParams::default()
    };
    // 802.11n: 28 MPDUs last 5.36 ms. 802.11ac: the BlockAck window. 802.11ax: it has 256, and the batch 80.
    for (phy, packets) in [("n", 28), ("ac", 64), ("ax", 80)] {
        assert_eq!(boxed(&format!("phy = \"802.11{phy}\""), ""), auto(packets), "{phy}");
    }
    for old in ["phy = \"802.11g\"", "phy = \"802.11n\"\naggregation = \"off\""] {
        assert_eq!(boxed(old, ""), VsbParams::default());
    }
    let own = boxed("phy = \"802.11ac\"", "queue = 200\nleaf = \"fifo\"\nbatch = \"0 B\"");
    assert_eq!(own, VsbParams::default());
}
