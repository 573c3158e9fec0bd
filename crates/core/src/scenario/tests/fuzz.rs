//! Files that no one would write: no input makes the reader panic, and what it accepts keeps its promises.

use std::collections::BTreeMap;

use rand_core::{RngCore as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::{SMALLEST, render};
use crate::mac::Modulation;
use crate::scenario::{Scenario, ScenarioError};
use crate::units::Duration;

const SEEDS: [&str; 6] = [
    SMALLEST,
    "name = \"x\"\n[run]\nduration = \"9 s\"\nwarmup = \"1 s\"\npreset = \"ns2\"\nseed = 7\n[radio]\nphy = \"802.11b\"\n\
     rate = \"11 Mbit/s\"\npreamble = \"120 us\"\ncw_min = 31\nframe_error = 0.25\n[ap]\n\
     queue = { kind = \"droptail\", limit = 5 }\n[[station]]\nname = \"a\"\ncount = 2\nbeta = 1.2\n\
     flows = [{ direction = \"up\", count = 2, tcp = { window = 9 }, stop = \"5 s\" }]\n",
    "name = \"y\"\nrun = { duration = \"9 s\", sample_interval = \"1 ms\" }\nwire.delay = \"5 ms\"\ntcp.mss = \"1 kB\"\n\
     [[station]]\nname = \"b\"\n[[station.flows]]\ndirection = \"down\"\nkind = \"files\"\nsize = \"1.5 kB\"\n\
     wire = { rate = \"1 Mbit/s\" }\n[[station.flows]]\ndirection = \"up\"\nkind = \"udp\"\nrate = \"64 kbit/s\"\n",
    "name = \"z\"\n[run]\nduration = \"9 s\"\npreset = \"ns3\"\n[radio]\nphy = \"802.11ac\"\nwidth = \"80 MHz\"\nstreams = 1\n\
     guard_interval = \"0.8 us\"\nmcs = 9\naggregation = { max_bytes = 65535, window = 64 }\nbar = true\nrts = true\n\
     txop = \"2528 us\"\nlifetime = \"500 ms\"\n[[station]]\nname = \"a\"\nphy = \"802.11n\"\nmcs = 3\nstreams = 2\n\
     flows = [{ direction = \"up\", category = \"vi\" }]\n[[event]]\nat = \"2 s\"\nkind = \"rate\"\nmcs = 2\n",
    "name = \"w\"\n[run]\nduration = \"9 s\"\n[radio]\nphy = \"802.11ax\"\nband = \"2.4 GHz\"\nrate = \"143.4 Mbit/s\"\n\
     aggregation = \"off\"\nretry_limit = \"none\"\nrts = \"1000 B\"\n[radio.edca]\npreset = \"openwrt\"\n\
     ap = { be = { aifsn = 2, cw_min = 7, txop = \"2 ms\" } }\nstations = { bk = { cw_max = 63 } }\n[[station]]\nname = \"b\"\n\
     uplink_queue = { kind = \"mac80211\", aql = false }\n[ap]\nqueue = { kind = \"mac80211\", airtime = true }\n",
    "name = \"v\"\n[run]\nduration = \"9 s\"\n[ap]\nqueue = { kind = \"las\" }\n[[access_point]]\nname = \"hall\"\n\
     uplink_queue = 9\n[enforce]\npool = \"ap\"\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\nap = \"hall\"\n",
];

const TOKENS: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "\n",
    "\r",
    "\r\n",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "\\",
    "-",
    "+",
    "_",
    "e9",
    "0",
    "1",
    "-1",
    "1e12",
    "1e400",
    "nan",
    "-inf",
    "0x7f",
    "0o7",
    "0b1",
    "1_000",
    "99999999999999999999",
    "0.5",
    "1979-05-27",
    "true",
    "false",
    "\"5 s\"",
    "\"5 sec\"",
    "\"-1 ms\"",
    "\"1e9 h\"",
    "\"99999999999 min\"",
    "\"0.0000000001 ns\"",
    "\"11 Mbit/s\"",
    "\"2 Mbps\"",
    "\"0 bit/s\"",
    "\"9 MiB\"",
    "\"5 \u{b5}s\"",
    "\"\u{1f4a5}\"",
    "\u{feff}",
    "\0",
    "\"a/b\"",
    "name",
    "run",
    "duration",
    "warmup",
    "replicas",
    "start_spread",
    "sample_interval",
    "preset",
    "\"ns2\"",
    "radio",
    "phy",
    "\"802.11a\"",
    "rate",
    "basic_rate",
    "preamble",
    "retry_limit",
    "cw_min",
    "cw_max",
    "ap",
    "queue",
    "kind",
    "limit",
    "\"droptail\"",
    "wire",
    "delay",
    "tcp",
    "mss",
    "window",
    "variant",
    "station",
    "flows",
    "direction",
    "\"up\"",
    "count",
    "size",
    "files",
    "payload",
    "\"udp\"",
    "\"quic\"",
    "\"files\"",
    "stop",
    "start",
    "beta",
    "min_rto",
    "max_rto",
    "\"ns3\"",
    "\"802.11n\"",
    "\"802.11ac\"",
    "\"802.11ax\"",
    "\"5 GHz\"",
    "\"20 MHz\"",
    "\"160 MHz\"",
    "\"0.4 us\"",
    "\"65 Mbit/s\"",
    "\"144.4 Mbit/s\"",
    "\"off\"",
    "\"none\"",
    "\"hostapd\"",
    "\"vo\"",
    "2",
    "3",
    "7",
    "9",
    "15",
    "band",
    "mcs",
    "streams",
    "width",
    "guard_interval",
    "aggregation",
    "amsdu",
    "max_bytes",
    "max_mpdus",
    "max_duration",
    "bar",
    "rts",
    "txop",
    "lifetime",
    "edca",
    "stations",
    "aifsn",
    "category",
    "\"mac80211\"",
    "\"shared-fifo\"",
    "airtime",
    "aql",
    "memory",
    "uplink_queue",
    "event",
];

fn below(rng: &mut Pcg64Mcg, n: usize) -> usize {
    (rng.next_u64() % n as u64) as usize
}

fn token(rng: &mut Pcg64Mcg) -> &'static str {
    TOKENS[below(rng, TOKENS.len())]
}

/// A good file with a few values replaced by others, well formed: past the parser, to the meaning.
fn revalued(rng: &mut Pcg64Mcg) -> String {
    let mut lines: Vec<String> = SEEDS[below(rng, SEEDS.len())].lines().map(str::to_owned).collect();
    for _ in 0..=below(rng, 3) {
        let at = below(rng, lines.len());
        let line = &mut lines[at];
        let equals: Vec<_> = line.match_indices(" = ").map(|(at, _)| at + 3).collect();
        if let Some(&start) = equals.get(below(rng, equals.len().max(1))) {
            let end = line[start..].find([',', ' ', '}']).map_or(line.len(), |end| start + end);
            line.replace_range(start..end, token(rng));
        }
    }
    lines.join("\n")
}

/// A good file with a few pieces cut, doubled, moved or replaced.
fn mutant(rng: &mut Pcg64Mcg) -> String {
    let mut pieces: Vec<String> = SEEDS[below(rng, SEEDS.len())]
        .split_inclusive([' ', '\n', '"', '=', '[', ']', '{', '}', ','])
        .map(str::to_owned)
        .collect();
    for _ in 0..=below(rng, 4) {
        let at = below(rng, pieces.len());
        match below(rng, 6) {
            0 => pieces[at] = token(rng).to_owned(),
            1 => pieces.insert(at, token(rng).to_owned()),
            2 => pieces[at].clear(),
            3 => {
                let other = below(rng, pieces.len());
                pieces.swap(at, other);
            }
            4 => {
                let again = pieces[at].clone();
                pieces.insert(at, again);
            }
            _ => pieces[at] = char::from_u32(rng.next_u32() % 0x3000).unwrap_or('?').to_string(),
        }
    }
    pieces.concat()
}

/// Words of the format and signs of TOML in any order.
fn soup(rng: &mut Pcg64Mcg) -> String {
    let mut text = String::new();
    for _ in 0..below(rng, 30) {
        text.push_str(token(rng));
        text.push_str([" ", "", "=", "\n"][below(rng, 4)]);
    }
    text
}

/// What every engine may rely on.
fn keeps_its_promises(scenario: &Scenario) {
    assert!(scenario.run.warmup < scenario.run.duration && scenario.run.replicas > 0);
    assert!(!scenario.stations.is_empty() && scenario.flow_count() <= 100_000);
    let radio = &scenario.radio;
    assert!(radio.phy.has_rate(radio.basic_rate) && radio.data().rate() == radio.rate);
    assert_eq!(radio.qos.is_some(), radio.phy.has_mcs());
    for station in &scenario.stations {
        let tx = radio.station_tx(station);
        assert_eq!(tx.rate(), station.rate);
        match tx.modulation() {
            Modulation::Rate(rate) => assert!(tx.phy().has_rate(rate)),
            Modulation::Mcs(mcs) => assert_eq!(mcs.check(tx.phy(), radio.band()), Ok(())),
        }
    }
    for (_, flow) in scenario.flows() {
        assert!(flow.start < scenario.run.duration && flow.stop.is_none_or(|stop| stop > flow.start));
        assert!(flow.tcp.mss > 0 && flow.tcp.window > 0 && flow.tcp.min_rto <= flow.tcp.max_rto);
        assert!(flow.wire.is_none_or(|wire| wire.rate.as_bps() > 0 && wire.delay < Duration::from_secs(2_000_000_000)));
    }
}

/// How a case ended.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Accepted,
    Refused,
    NotToml,
}

fn check(text: &str, show: bool) -> End {
    match Scenario::from_toml(text, "fuzz.toml") {
        Ok(scenario) => {
            keeps_its_promises(&scenario);
            if scenario.stations.len() < 100 && scenario.flow_count() < 100 {
                let json = serde_json::to_string(&scenario).expect("a scenario is plain data");
                assert_eq!(serde_json::from_str::<Scenario>(&json).expect("its own JSON"), scenario);
            }
            End::Accepted
        }
        Err(ScenarioError::Invalid(invalid)) => {
            let place = format!("fuzz.toml:{}:{}", invalid.line, invalid.column);
            assert!(invalid.to_string().starts_with(&place) && !invalid.fix.is_empty());
            assert!(!invalid.to_string().chars().any(char::is_control), "{invalid:?}");
            if show {
                let report = render(&*invalid);
                assert!(report.contains(&format!("[{place}]")), "{place} is not in\n{report}\n{text:?}");
            }
            if invalid.problem.starts_with("not TOML") { End::NotToml } else { End::Refused }
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn no_text_makes_the_reader_panic() {
    let mut rng = Pcg64Mcg::seed_from_u64(0x0fa1_4a14);
    let mut ends = BTreeMap::new();
    for case in 0..50_000 {
        for text in [revalued(&mut rng), mutant(&mut rng), soup(&mut rng)] {
            *ends.entry(check(&text, case % 20 == 0)).or_insert(0) += 1;
        }
    }
    // Otherwise the cases would test little but the TOML parser.
    assert!(ends.len() == 3 && ends.values().all(|cases| *cases > 4_000), "{ends:?}");
}

#[test]
fn depth_and_size_have_bounds() {
    for text in ["[".repeat(100_000), "a.".repeat(50_000), "a={".repeat(50_000), format!("x = {}", "[".repeat(200_000))]
    {
        check(&text, false);
    }
}
