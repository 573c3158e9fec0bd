//! Stations of 802.11b in a cell of 802.11g.

use super::{SMALLEST, bad, good};
use crate::mac::{MacParams, Phy, TxVector};
use crate::scenario::{Action, Preset, Scenario};
use crate::shaper::Policy;
use crate::units::{Bitrate, Duration};

/// The smallest scenario's station is one of 802.11b; `radio` follows `phy = "802.11g"`, `more` comes last.
fn mixed(radio: &str, more: &str) -> String {
    format!(
        "{SMALLEST}phy = \"802.11b\"\nflows = [{{ direction = \"up\" }}]\n[[station]]\nname = \"g\"\n\
         flows = [{{ direction = \"up\" }}]\n[radio]\nphy = \"802.11g\"\n{radio}\n{more}\n"
    )
}

#[test]
fn an_old_station_brings_protection_and_long_slots() {
    let scenario = good(&mixed("", ""));
    assert_eq!(scenario.radio.protection_rate, Some(Bitrate::mbps(2)));
    assert_eq!(scenario.stations[0].rate, Bitrate::mbps(11));
    let tx = |index: usize| scenario.radio.station_tx(&scenario.stations[index]);
    assert_eq!(tx(0), TxVector::at_rate(Phy::B, Bitrate::mbps(11)));
    assert_eq!(tx(1), TxVector::at_rate(Phy::G, Bitrate::mbps(54)));
    let params = MacParams::new(&scenario.radio, Preset::Standard);
    let us = Duration::from_micros;
    assert_eq!((params.slot, params.sifs, params.difs, params.after_bad_frame), (us(20), us(10), us(50), us(364)));
    assert_eq!((params.protection_time(tx(0)), params.protection_time(tx(1))), (Duration::ZERO, us(258)));
    // Also where it has nothing to send: it is associated.
    let silent = mixed("", "").replacen("flows = [{ direction = \"up\" }]\n", "", 1);
    assert_eq!(good(&silent).radio.protection_rate, Some(Bitrate::mbps(2)));
    // Among themselves those of 802.11g, named or not, have neither.
    let alone = good(&mixed("", "").replace("phy = \"802.11b\"", "phy = \"802.11g\""));
    assert_eq!((alone.radio.protection_rate, alone.stations[0].tx), (None, None));
    assert_eq!(MacParams::new(&alone.radio, Preset::Standard).slot, us(9));
}

#[test]
fn keys_of_protection_and_rates_of_both() {
    let scenario = good(&mixed("protection_rate = \"5.5 Mbit/s\"\npreamble = \"short\"", ""));
    assert_eq!(scenario.radio.protection_rate, Some(Bitrate::from_bps(5_500_000)));
    let slow = good(&mixed("", "").replace("phy = \"802.11b\"", "phy = \"802.11b\"\nrate = \"5.5 Mbit/s\""));
    assert_eq!(slow.stations[0].rate, Bitrate::from_bps(5_500_000));
    let event = |station: &str, rate: &str| {
        mixed("", &format!("[[event]]\nat = \"1 s\"\nkind = \"rate\"\n{station}\nrate = \"{rate}\""))
    };
    let old = good(&event("station = \"a\"", "2 Mbit/s"));
    let Action::Rate { stations, rate, tx } = &old.events[0].action else { panic!() };
    assert_eq!((&stations[..], *rate, *tx), (&[0][..], Bitrate::mbps(2), None));
    assert_eq!(old.radio.tx(*rate).phy(), Phy::B);
    assert_eq!(good(&event("station = \"g\"", "6 Mbit/s")).events.len(), 1);
    for (station, rate, problem, fix) in [
        ("station = \"a\"", "6 Mbit/s", "802.11b does not have 6 Mbit/s", "11 Mbit/s"),
        ("station = \"g\"", "11 Mbit/s", "802.11g does not have 11 Mbit/s", "54 Mbit/s"),
        ("", "6 Mbit/s", "no rate is one of 802.11b and of 802.11g", "name stations of one PHY"),
    ] {
        let invalid = bad(&event(station, rate));
        assert!(invalid.problem.contains(problem) && invalid.fix.contains(fix), "{invalid}");
    }
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
    assert!(!serde_json::to_string(&good(SMALLEST)).unwrap().contains("protection"), "others have no such key");
}

#[test]
fn mistakes_of_mixed_cells_have_remedies() {
    let with = |old: &str, new: &str| mixed("", "").replace(old, new);
    for (text, problem, fix) in [
        (with("phy = \"802.11g\"", "phy = \"802.11a\""), "a station of 802.11b in a cell of 802.11a", "802.11g"),
        (
            with("name = \"g\"", "name = \"g\"\nphy = \"802.11a\""),
            "a station of 802.11a in a cell of 802.11g",
            "802.11b",
        ),
        (with("name = \"g\"", "name = \"g\"\nrate = \"11 Mbit/s\""), "802.11g does not have 11 Mbit/s", "54 Mbit/s"),
        (with("phy = \"802.11b\"", "phy = \"802.11b\"\nrate = \"54 Mbit/s\""), "802.11b does not have", "11 Mbit/s"),
        (with("phy = \"802.11b\"", "phy = \"802.11b\"\nmcs = 3"), "`mcs` with 802.11g", "802.11n"),
        (mixed("protection_rate = \"6 Mbit/s\"", ""), "802.11b does not have 6 Mbit/s", "5.5 Mbit/s"),
        (
            mixed("protection_rate = \"2 Mbit/s\"", "").replace("phy = \"802.11b\"\n", ""),
            "without stations of 802.11b",
            "remove it",
        ),
        (format!("{SMALLEST}[radio]\nprotection_rate = \"2 Mbit/s\"\n"), "in a cell of 802.11b", "remove it"),
        (format!("{SMALLEST}phy = \"802.11g\"\n"), "802.11g in a cell of 802.11b", "phy = \"802.11g\" in [radio]"),
        (
            with("[[station]]\nname = \"a\"", "preset = \"ns2\"\n[[station]]\nname = \"a\""),
            "ns-2 does not have",
            "leave",
        ),
    ] {
        let invalid = bad(&text);
        assert!(invalid.problem.contains(problem) && invalid.fix.contains(fix), "{text}\n{invalid}\n{}", invalid.fix);
    }
}

/// By hand, 802.11g at 54 Mbit/s: CTS, SIFS, 1500 bytes, SIFS, ACK are 248 + 10 + 254 + 10 + 34 us, 40 bytes (3 symbols) 248 + 10 + 38 +
/// 10 + 34; 802.11b at 11 Mbit/s: 1310 + 10 + 248 and 248 + 10 + 248. Half an ACK a segment.
#[test]
fn air_by_station_counts_the_protection() {
    let scenario = good(&mixed("", ""));
    let txs = scenario.station_txs();
    let shares = scenario.shares(Policy::Airtime, &txs);
    let (old, new) = (1568.0 + 0.5 * 506.0, 556.0 + 0.5 * 340.0);
    assert!((shares[1].weight / shares[0].weight / (old / new) - 1.0).abs() < 1e-9, "{shares:?}");
    // With contention: 1.5 DIFS, and about 1.5 mean backoffs of 7.5 slots, or of 7.5 and half of 15.5.
    let ns = crate::model::air::of_stations(&scenario, &txs);
    let reckoned = [(old + 75.0 + 20.0 * (7.5 + 0.5 * 15.5)) / 1.52, (new + 75.0 + 20.0 * 1.5 * 7.5) / 1.52];
    for (ns, reckoned) in ns.iter().zip(reckoned) {
        assert!((f64::from(*ns) / reckoned - 1.0).abs() < 0.08, "{ns} ns, about {reckoned}");
    }
}

#[test]
fn models_say_that_they_do_not_know_it() {
    use crate::model::{MODELS, predict};
    let scenario = good(&mixed("", ""));
    let outside = |model| {
        let predicted = predict(&scenario, model).ok()?;
        Some(predicted.section.assumptions.iter().any(|a| !a.holds && a.what.contains("no CTS-to-self")))
    };
    let said: Vec<bool> = MODELS.iter().filter_map(|model| outside(Some(model))).collect();
    assert!(!said.is_empty() && said.iter().all(|said| *said), "{said:?}");
}
