//! How files write the values of a change: those of scenarios, and that of the live box.

use fairair_core::control::{AdaptiveParams, AirParams, CapacityParams, WceParams};
use fairair_core::qdisc::{QdiscSpec, SharedFifoParams};
use fairair_core::remedy::{Paste, paste};
use fairair_core::scenario::{Enforce, Preset, Scenario};
use fairair_core::units::Bitrate;

use super::change::{BoxChange, Change};

/// What to write into the files of the AP and of the live box for a change that makes `changed` of `scenario`.
pub(super) fn files(scenario: &Scenario, changed: &Scenario, change: &Change) -> Option<Paste> {
    let (of_ap, vsb) = (paste(scenario, changed), change.vsb(scenario));
    (of_ap.is_some() || !vsb.is_empty()).then(|| Paste { vsb, ..of_ap.unwrap_or_default() })
}

impl Change {
    /// Lines of vsb.toml that make the live box that of this change; none where it has no box, or one that does not live yet. Interfaces,
    /// and who a station is, are the site's.
    fn vsb(&self, scenario: &Scenario) -> Vec<String> {
        let aggregates = scenario.radio.qos.is_some();
        let Some(BoxChange { policy, capacity, queue, .. }) = self.enforce else { return Vec::new() };
        if self.lacks_of_box(aggregates).is_some() {
            return Vec::new();
        }
        let mut lines = vec![format!("policy = {}", word(&policy))];
        match queue {
            Some(packets) => lines.push(format!("queue = {packets}\nleaf = \"fifo\"")),
            None => lines.push("queue = \"auto\"".to_owned()),
        }
        lines.push("[[ap]]".to_owned());
        // The live box knows the largest capacity of old radios; of others it wants to be given it.
        let most = Enforce::most_in(&scenario.radio);
        let known = if aggregates { Bitrate::from_bps(1) } else { most };
        if !aggregates {
            lines.push(format!("phy = {}", word(&scenario.radio.phy)));
        }
        lines.push(format!("capacity = {}", inline_capacity(&capacity, known)));
        let station = |name: &str| format!("[[station]]\nname = {}\nmac = \"...\"", word(&name));
        lines.extend(self.weights.iter().map(|(name, weight)| format!("{}\nweight = {weight}", station(name))));
        lines.extend(self.caps.iter().map(|(name, cap)| format!("{}\ncap = {}", station(name), word(cap))));
        lines.join("\n").lines().map(str::to_owned).collect()
    }
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
        // Design ruling 18.
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
    use fairair_core::shaper::Policy;
    use fairair_core::units::Duration;

    use super::*;

    fn lines(phy: &str, policy: Policy, capacity: CapacityParams, batches: bool) -> String {
        let text = format!(
            "name = \"x\"\nrun.duration = \"9 s\"\nradio.phy = \"{phy}\"\n[[station]]\nname = \"a\"\nflows = [{{ direction = \"up\" }}]\n"
        );
        let scenario = Scenario::from_toml(&text, "x.toml").unwrap();
        let enforce = Some(BoxChange { policy, capacity, queue: None, batches });
        let caps = vec![("a".to_owned(), Bitrate::mbps(1))];
        Change { enforce, caps, ..Change::default() }.vsb(&scenario).join("\n")
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
        let air = CapacityParams::Air(AirParams::default());
        assert!(lines("802.11g", Policy::Airtime, air, false).contains("kind = \"air\""));
        assert_eq!(lines("802.11ac", Policy::PerStation, air, false), "");
        assert_eq!(lines("802.11ac", Policy::Airtime, adaptive(Bitrate::mbps(300)), false), "");
        assert_eq!(lines("802.11ac", Policy::PerStation, adaptive(Bitrate::mbps(300)), true), "");
    }
}
