//! How files write the values of a change: those of scenarios, and that of the live box.

use fairair_core::control::{AdaptiveParams, AirParams, CapacityParams, WceParams};
use fairair_core::qdisc::{QdiscSpec, SharedFifoParams};
use fairair_core::remedy::{Paste, paste};
use fairair_core::scenario::{Enforce, Preset, Radio, Scenario};
use fairair_core::shaper::{Policy, VsbParams};
use fairair_core::units::{Bitrate, Bytes};

use super::change::{BoxChange, Change};

/// What to write into the files of the AP and of the live box for a change that makes `changed` of `scenario`.
pub(super) fn files(scenario: &Scenario, changed: &Scenario, change: &Change) -> Option<Paste> {
    let (of_ap, vsb) = (paste(scenario, changed), change.vsb(scenario, changed));
    (of_ap.is_some() || !vsb.is_empty()).then(|| Paste { vsb, ..of_ap.unwrap_or_default() })
}

impl Change {
    /// Lines of vsb.toml that make the live box that of this change, which makes `changed` of `scenario`; none where it has no box, or one
    /// that does not live yet. Interfaces, and who a station is, are the site's.
    fn vsb(&self, scenario: &Scenario, changed: &Scenario) -> Vec<String> {
        let aggregates = scenario.radio.qos.is_some();
        let Some(BoxChange { policy, capacity, queue, .. }) = self.enforce else { return Vec::new() };
        if self.lacks_of_box(aggregates).is_some() {
            return Vec::new();
        }
        let mut lines = vec![format!("policy = {}", word(&policy))];
        let udp = changed.enforce.map(|own| own.vsb.udp).filter(|udp| *udp != VsbParams::default().udp);
        lines.extend(udp.map(|udp| format!("udp = {}", word(&udp))));
        match queue {
            Some(packets) => {
                lines.push(format!("queue = {packets}"));
                lines.extend(changed.enforce.map(|own| format!("leaf = {}", word(&own.vsb.leaf))));
            }
            None => lines.push("queue = \"auto\"".to_owned()),
        }
        if let Some(enforce) = changed.enforce.filter(|own| own.vsb.batch > Bytes(0)) {
            lines.push(BATCHES.to_owned());
            lines.push(format!("batch = {}", word(&enforce.vsb.batch)));
        }
        lines.push("[[ap]]".to_owned());
        // The live box knows the largest capacity of old radios; of others it wants to be given it.
        let most = Enforce::most_in(&scenario.radio);
        let known = if aggregates { Bitrate::from_bps(1) } else { most };
        if !aggregates {
            lines.push(format!("phy = {}", word(&scenario.radio.phy)));
        }
        let counts_air = policy == Policy::Airtime || matches!(capacity, CapacityParams::Air(_));
        let Radio { phy, basic_rate, .. } = scenario.radio;
        if counts_air && phy.rates_kbps().iter().any(|kbps| Bitrate::from_bps(kbps * 1000) < basic_rate) {
            lines.push(format!("basic_rate = {}", word(&basic_rate)));
        }
        lines.push(format!("capacity = {}", inline_capacity(&capacity, known)));
        if counts_air || policy == Policy::AirtimePhy {
            lines.push(RATES.to_owned());
        }
        if policy.is_by_station() {
            lines.extend(stations(changed));
        }
        lines.join("\n").lines().map(str::to_owned).collect()
    }
}

/// Said where the live box sends batches.
const BATCHES: &str = "# Needs the kernel's htb_hysteresis (docs/vsb.md#batches)";

/// Said where the live box reckons with the rates of stations.
const RATES: &str = "# A station of unknown rate counts as the fastest: give its `rate`, or a list of [discovery] (docs/vsb.md#stations)";

/// A `[[station]]` for each that has a weight or a cap, with both.
fn stations(changed: &Scenario) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for group in changed.stations.chunk_by(|a, b| a.name_in_file() == b.name_in_file()) {
        let station = &group[0];
        let keys = [
            (station.weight.to_bits() != 1.0_f64.to_bits()).then(|| format!("weight = {}", station.weight)),
            station.cap.map(|cap| format!("cap = {}", word(&cap))),
        ];
        if keys.iter().all(Option::is_none) {
            continue;
        }
        lines.push("[[station]]".to_owned());
        if group.len() > 1 {
            lines.push(format!("# One for each of the {}, of a name of its own", group.len()));
        }
        lines.push(format!("name = {}\nmac = \"...\"", word(&station.name_in_file())));
        lines.extend(keys.into_iter().flatten());
    }
    lines
}

/// A word or quantity as JSON and TOML write it alike, in quotes.
pub(super) fn word(of: &impl serde::Serialize) -> String {
    serde_json::to_string(of).unwrap_or_default()
}

/// A table of scalars as an inline table of TOML, `kind` first, without what is as in `usual`.
fn inline(table: &impl serde::Serialize, usual: &impl serde::Serialize) -> String {
    let (table, usual) = (json_of(table), json_of(usual));
    let kind = table.get("kind").map(ToString::to_string).unwrap_or_default();
    let chosen = table.as_object().into_iter().flatten();
    let fields: Vec<String> = chosen
        .filter(|(key, value)| *key != "kind" && usual.get(key) != Some(value))
        .map(|(key, value)| format!(", {key} = {value}"))
        .collect();
    format!("{{ kind = {kind}{} }}", fields.concat())
}

fn json_of(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

pub(super) fn inline_queue(queue: &QdiscSpec, preset: Preset) -> String {
    let usual = QdiscSpec::all().into_iter().find(|usual| usual.kind() == queue.kind()).unwrap_or(*queue);
    let usual = match usual {
        // The MAC queue of ns-3 counts what is not acknowledged yet.
        QdiscSpec::SharedFifo(params) if preset == Preset::Ns3 => {
            QdiscSpec::SharedFifo(SharedFifoParams { count_unacknowledged: true, ..params })
        }
        usual => usual,
    };
    inline(queue, &usual)
}

pub(super) fn inline_capacity(capacity: &CapacityParams, max: Bitrate) -> String {
    match capacity {
        CapacityParams::Fixed { rate } => word(rate),
        CapacityParams::Adaptive(params) => {
            let usual = AdaptiveParams { max, ..AdaptiveParams::default() };
            if *params == usual { "\"auto\"".to_owned() } else { inline(capacity, &CapacityParams::Adaptive(usual)) }
        }
        CapacityParams::Air(_) => inline(capacity, &CapacityParams::Air(AirParams { max, ..AirParams::default() })),
        CapacityParams::Wce(_) => inline(capacity, &CapacityParams::Wce(WceParams { max, ..WceParams::default() })),
    }
}

#[cfg(test)]
mod tests {
    use fairair_core::units::Duration;

    use super::*;
    use crate::plan::change::Gear;

    fn cell(phy: &str, more: &str) -> Scenario {
        let text = format!(
            "name = \"x\"\nrun.duration = \"9 s\"\nradio.phy = \"{phy}\"\n[[station]]\nname = \"a\"\nflows = [{{ direction = \"up\" }}]\n{more}"
        );
        Scenario::from_toml(&text, "x.toml").unwrap()
    }

    fn vsb(scenario: &Scenario, policy: Policy, capacity: CapacityParams, batches: bool) -> Option<String> {
        let enforce = Some(BoxChange { policy, capacity, queue: None, batches });
        let caps = vec![("a".to_owned(), Bitrate::mbps(1))];
        let change = Change { enforce, caps, ..Change::default() };
        let lines = change.vsb(scenario, &change.applied(scenario));
        assert_eq!(lines.is_empty(), change.not_today(Gear::of(scenario)).is_some(), "{lines:?}");
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn lines(phy: &str, policy: Policy, capacity: CapacityParams, batches: bool) -> String {
        vsb(&cell(phy, ""), policy, capacity, batches).unwrap_or_default()
    }

    #[test]
    fn the_live_box_gets_its_lines_where_it_can_be_that_of_the_plan() {
        let station = "[[station]]\nname = \"a\"\nmac = \"...\"\ncap = \"1 Mbit/s\"";
        let adaptive = |max: Bitrate| {
            CapacityParams::Adaptive(AdaptiveParams {
                target: Duration::from_millis(9),
                max,
                ..AdaptiveParams::default()
            })
        };
        let old = Enforce::most(fairair_core::mac::Phy::G);
        assert_eq!(
            lines("802.11g", Policy::PerStation, adaptive(old), false),
            format!(
                "policy = \"per-station\"\nqueue = \"auto\"\n[[ap]]\nphy = \"802.11g\"\ncapacity = {{ kind = \"adaptive\", target = \"9 ms\" }}\n{station}"
            )
        );
        assert_eq!(
            lines("802.11ac", Policy::PerStation, adaptive(Bitrate::mbps(300)), false),
            format!(
                "policy = \"per-station\"\nqueue = \"auto\"\n[[ap]]\ncapacity = {{ kind = \"adaptive\", max = \"300 Mbit/s\", target = \"9 ms\" }}\n{station}"
            )
        );
        // The queue of packets is that of the cell that was proved: flows apart where the cell aggregates.
        for (phy, leaf) in [("802.11g", "fifo"), ("802.11ac", "auto")] {
            let scenario = cell(phy, "");
            let capacity = CapacityParams::Fixed { rate: Bitrate::mbps(9) };
            let enforce = Some(BoxChange { policy: Policy::PerStation, capacity, queue: Some(56), batches: false });
            let change = Change { enforce, ..Change::default() };
            let told = change.vsb(&scenario, &change.applied(&scenario)).join("\n");
            assert!(told.contains(&format!("queue = 56\nleaf = \"{leaf}\"")), "{told}");
        }
        let air = CapacityParams::Air(AirParams::default());
        assert!(lines("802.11g", Policy::Airtime, air, false).contains("kind = \"air\""));
        assert_eq!(lines("802.11ac", Policy::PerStation, air, false), "");
        assert_eq!(lines("802.11ac", Policy::Airtime, adaptive(Bitrate::mbps(300)), false), "");
        let batches = lines("802.11ac", Policy::PerStation, CapacityParams::Fixed { rate: Bitrate::mbps(200) }, true);
        assert_eq!(
            batches,
            format!(
                "policy = \"per-station\"\nqueue = \"auto\"\n{BATCHES}\nbatch = \"96000 B\"\n[[ap]]\ncapacity = \"200 Mbit/s\"\n{station}"
            )
        );
    }
    /// What the live box refuses: air by flow, and weights and caps of stations that are no classes.
    #[test]
    fn the_live_box_gets_no_lines_that_it_refuses() {
        let capacities = [
            CapacityParams::Fixed { rate: Bitrate::mbps(5) },
            CapacityParams::Adaptive(AdaptiveParams::default()),
            CapacityParams::Wce(WceParams::default()),
            CapacityParams::Air(AirParams::default()),
        ];
        for capacity in capacities {
            for policy in
                [Policy::PerStation, Policy::Airtime, Policy::AirtimePhy, Policy::PerFlow, Policy::PerDirection]
            {
                let told = vsb(&cell("802.11g", ""), policy, capacity, false);
                let is_air = matches!(capacity, CapacityParams::Air(_));
                assert_eq!(told.is_none(), is_air && !policy.is_by_station(), "{policy:?} {told:?}");
                let Some(told) = told else { continue };
                assert_eq!(told.contains("[[station]]"), policy.is_by_station(), "{told}");
                let reckons = is_air || policy == Policy::Airtime;
                assert_eq!(told.contains("\nbasic_rate = \"24 Mbit/s\"\n"), reckons, "{told}");
                assert_eq!(told.contains(RATES), reckons || policy == Policy::AirtimePhy, "{told}");
            }
        }
    }

    #[test]
    fn the_live_box_gets_the_weights_and_caps_that_the_scenario_has() {
        let more = "weight = 3\n[[station]]\nname = \"b\"\ncount = 2\ncap = \"2 Mbit/s\"\nflows = []\n[[station]]\nname = \"c\"\nflows = []\n";
        let lowest = "[radio]\nphy = \"802.11b\"\nbasic_rate = \"1 Mbit/s\"\n";
        let told = vsb(&cell("802.11b", more), Policy::PerStation, CapacityParams::Air(AirParams::default()), false);
        let a = "[[station]]\nname = \"a\"\nmac = \"...\"\nweight = 3\ncap = \"1 Mbit/s\"\n";
        let b = "[[station]]\n# One for each of the 2, of a name of its own\nname = \"b\"\nmac = \"...\"\ncap = \"2 Mbit/s\"";
        let told = told.unwrap();
        assert!(told.contains("basic_rate = \"2 Mbit/s\"") && told.ends_with(&format!("{a}{b}")), "{told}");
        let text = format!("name = \"x\"\nrun.duration = \"9 s\"\n{lowest}[[station]]\nname = \"a\"\nflows = []\n");
        let told = vsb(
            &Scenario::from_toml(&text, "x.toml").unwrap(),
            Policy::Airtime,
            CapacityParams::Fixed { rate: Bitrate::mbps(5) },
            false,
        );
        assert!(!told.unwrap().contains("basic_rate"), "the live box takes the lowest");
    }
}
