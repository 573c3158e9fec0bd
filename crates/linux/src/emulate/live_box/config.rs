//! The live box's configuration for a scenario.

use std::fmt::Write as _;
use std::path::Path;

use fairair_core::scenario::{Enforce, Scenario};
use fairair_core::units::Bitrate;
use serde::Serialize;
use serde_json::Value;

use crate::emulate::addresses as addr;
use crate::emulate::error::TestbedError;
use crate::emulate::rig::{AP_PORT, UPLINK};
use crate::enforce::config::Config;

/// Says early what the daemon would refuse.
///
/// # Errors
/// The scenario has no box, or one that the kernel's cannot be.
pub(crate) fn check(scenario: &Scenario) -> Result<(), TestbedError> {
    let cannot = |what: &str, fix: String| Err(TestbedError::Cannot { what: what.to_owned(), fix });
    let Some(enforce) = scenario.enforce else {
        return cannot("--box live without a box", "add [enforce] to the scenario, or leave --box out".to_owned());
    };
    let rates: Vec<_> = scenario.stations.iter().map(|station| station.rate).collect();
    let text = config(scenario, enforce, &rates, Path::new("/"), Path::new("/"));
    match Config::from_toml(&text, "the live box's configuration") {
        Ok(_) => Ok(()),
        Err(error) => cannot("this box live", format!("change [enforce] or the station: {error}")),
    }
}

/// The daemon's configuration: bridged, all stations known by their hardware addresses.
pub(super) fn config(scenario: &Scenario, enforce: Enforce, rates: &[Bitrate], state: &Path, log: &Path) -> String {
    // Names, rates and times are texts without quotes or backslashes, which JSON and TOML spell alike.
    fn json(value: &impl Serialize) -> Value {
        serde_json::to_value(value).unwrap_or_default()
    }
    let capacity = json(&enforce.capacity);
    let keys = capacity.as_object().into_iter().flatten().map(|(key, value)| format!("{key} = {value}"));
    // The live box reckons with the frames of radios that do not aggregate.
    let old = match scenario.radio.qos {
        None => format!("phy = {}\nbasic_rate = \"{}\"\n", json(&scenario.radio.phy), scenario.radio.basic_rate),
        Some(_) => String::new(),
    };
    let mut text = format!(
        "name = \"testbed\"\nmode = \"bridged\"\nuplink = \"{UPLINK}\"\nstate = \"{state}\"\npolicy = {policy}\nudp = {udp}\n\
         queue = {queue}\nleaf = {leaf}\nquantum = \"{quantum}\"\nbatch = \"{batch}\"\n[journal]\nfile = \"{state}/journal.db\"\nlog = \"{log}\"\n\
         [discovery]\nneighbours = false\nfirst_sight = false\n\
         [[ap]]\nname = \"ap\"\ninterface = \"{AP_PORT}\"\n{old}capacity = {{ {capacity} }}\n",
        state = state.display(),
        log = log.display(),
        policy = json(&enforce.vsb.policy),
        udp = json(&enforce.vsb.udp),
        queue = json(&enforce.vsb.queue),
        leaf = json(&enforce.vsb.leaf),
        quantum = enforce.vsb.quantum,
        batch = enforce.vsb.batch,
        capacity = keys.collect::<Vec<_>>().join(", "),
    );
    for (index, (station, rate)) in scenario.stations.iter().zip(rates).enumerate() {
        let _ = write!(
            text,
            "[[station]]\nname = \"{}\"\nmac = \"{}\"\naddresses = [\"{}\", \"{}\"]\nrate = \"{rate}\"\n",
            station.name,
            addr::mac_text(addr::station_mac(index)),
            addr::station(index),
            addr::station6(index),
        );
        if enforce.vsb.policy.is_by_station() {
            let _ = writeln!(text, "weight = {:?}", station.weight);
            if let Some(cap) = station.cap {
                let _ = writeln!(text, "cap = \"{cap}\"");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(enforce: &str, station: &str) -> Scenario {
        let text = format!(
            "name = \"s\"\n[run]\nduration = \"9 s\"\n{enforce}\n[[station]]\nname = \"it's a desk\"\n{station}\n"
        );
        Scenario::from_toml(&text, "s.toml").unwrap()
    }

    /// What the daemon reads is what the scenario says, for every machine and policy.
    #[test]
    fn the_daemon_reads_what_the_scenario_says() {
        for (keys, station) in [
            ("capacity = \"4.9 Mbit/s\"\nqueue = 99\nudp = \"shape\"", "weight = 2.5\ncap = \"1.5 Mbit/s\""),
            (
                "capacity = { kind = \"adaptive\", target = \"9 ms\", rise = 0.02 }\npolicy = \"airtime\"",
                "weight = 2.0",
            ),
            ("capacity = { kind = \"wce\", back_off = 0.7, max = \"5 Mbit/s\" }\npolicy = \"per-flow\"", ""),
            ("capacity = { kind = \"air\", share = 0.9 }\npolicy = \"airtime-phy\"", ""),
            ("policy = \"per-direction\"", ""),
        ] {
            let scenario = scenario(&format!("[enforce]\n{keys}"), station);
            let enforce = scenario.enforce.unwrap();
            let text = config(&scenario, enforce, &[Bitrate::mbps(2)], Path::new("/s"), Path::new("/s/log"));
            let config = Config::from_toml(&text, "c").unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(config.aps[0].capacity, enforce.capacity);
            assert_eq!(config.aps[0].basic_rate, Some(scenario.radio.basic_rate));
            assert_eq!((config.policy, config.udp), (enforce.vsb.policy, enforce.vsb.udp));
            assert_eq!((config.leaf.queue, config.leaf.quantum), (enforce.vsb.queue, enforce.vsb.quantum));
            assert_eq!(config.leaf.batch, enforce.vsb.batch);
            let (read, own) = (&config.stations[0], &scenario.stations[0]);
            assert_eq!((read.name.as_str(), read.rate), ("it's a desk", Some(Bitrate::mbps(2))));
            assert_eq!((read.plan.weight, read.plan.cap), (own.weight, own.cap));
            assert_eq!(check(&scenario).map_err(|error| error.to_string()), Ok(()));
        }
    }

    #[test]
    fn the_daemon_sends_the_batches_of_a_radio_that_aggregates() {
        let text = "name = \"s\"\n[run]\nduration = \"9 s\"\n[radio]\nphy = \"802.11ac\"\n[enforce]\ncapacity = \"200 Mbit/s\"\n\
                    [[station]]\nname = \"a\"\n";
        let scenario = Scenario::from_toml(text, "s.toml").unwrap();
        let enforce = scenario.enforce.unwrap();
        let text = config(&scenario, enforce, &[Bitrate::mbps(200)], Path::new("/s"), Path::new("/s/log"));
        let config = Config::from_toml(&text, "c").unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(config.leaf.batch == enforce.vsb.batch && config.leaf.batch.0 > 50_000, "{text}");
        assert_eq!(check(&scenario).map_err(|error| error.to_string()), Ok(()));
    }

    #[test]
    fn a_box_that_the_kernel_cannot_be_is_refused() {
        let refused = |enforce: &str| match check(&scenario(enforce, "")) {
            Err(TestbedError::Cannot { what, fix }) => format!("{what}: {fix}"),
            other => panic!("{other:?}"),
        };
        assert!(refused("").contains("without a box"));
        assert!(refused("[enforce]\npolicy = \"per-flow\"\ncapacity = { kind = \"air\" }").contains("by station"));
        assert!(refused("[enforce]\nquantum = \"100 B\"").contains("quantum"));
        assert_eq!(check(&scenario("[enforce]\nudp = \"auto\"", "")).map_err(|error| error.to_string()), Ok(()));
    }
}
