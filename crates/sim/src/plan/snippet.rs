//! What to write into a scenario file for a change. A table stands there whole, as the proof has it, for it takes the place of the file's; what
//! is as it would be without a word is left out. Of a `[[station]]` only what changes stands there: it is found by its name.

use fairair_core::ap::{LimiterCapacity, UplinkLimiterParams, WindowCapParams};
use fairair_core::mac::{AccessParams, EdcaParams};
use fairair_core::packet::Category;
use fairair_core::scenario::{Ap, Enforce, Preset, Scenario};
use fairair_core::shaper::{QueueRule, VsbParams};

use super::change::Change;
use super::words::{inline_capacity, inline_queue, word};

const BEST_EFFORT: usize = Category::BestEffort.index();
/// The access categories in the order of their parameters.
const CATEGORIES: [&str; 4] = ["vo", "vi", "be", "bk"];

impl Change {
    /// What to write into the scenario file, table by table in place of its own; empty: nothing.
    pub(crate) fn snippet(&self, scenario: &Scenario) -> String {
        of(self, scenario, &self.applied(scenario))
    }
}

/// The tables and stations that `change` touches, as `changed` has them; it is what `change` makes of `scenario`.
pub(super) fn of(change: &Change, scenario: &Scenario, changed: &Scenario) -> String {
    let mut lines = Vec::new();
    if change.queue.is_some() || change.window_cap.is_some() || change.limiter.is_some() {
        lines.extend(ap(changed));
    }
    if let (Some(was), Some(qos)) = (scenario.radio.qos.filter(|_| change.told.is_some()), changed.radio.qos) {
        lines.extend(edca(&was.edca, &qos.edca, changed.run.preset));
    }
    if let Some(own) = changed.enforce.filter(|_| change.enforce.is_some()) {
        lines.extend(enforce(changed, &own));
    }
    let cap =
        |of: &String| change.caps.iter().find(|(name, _)| name == of).map(|(_, cap)| format!("cap = {}", word(cap)));
    for (name, weight) in &change.weights {
        lines.push(format!("[[station]]\nname = {}\nweight = {weight}", word(name)));
        lines.extend(cap(name));
    }
    for (name, _) in change.caps.iter().filter(|(name, _)| !change.weights.iter().any(|(own, _)| own == name)) {
        lines.push(format!("[[station]]\nname = {}", word(name)));
        lines.extend(cap(name));
    }
    lines.join("\n")
}

fn ap(changed: &Scenario) -> Vec<String> {
    let Ap { queue, uplink_queue, window_cap, uplink_limiter } = changed.ap;
    let mut lines = vec!["[ap]".to_owned(), format!("queue = {}", inline_queue(&queue, changed.run.preset))];
    if uplink_queue != Ap::usual_uplink_queue(&changed.radio) {
        lines.push(format!("uplink_queue = {uplink_queue}"));
    }
    if let Some(cap) = window_cap {
        let usual = WindowCapParams::usual(cap.rule, cap.buffer, cap.mss, changed.wire.delay);
        let mut fields = vec![format!("kind = {}, buffer = {}", word(&cap.rule), cap.buffer)];
        fields.extend(unusual("flow_timeout", &cap.flow_timeout, &usual.flow_timeout));
        fields.extend(unusual("delay", &cap.delay, &usual.delay));
        fields.extend(unusual("throughput", &cap.throughput, &usual.throughput));
        lines.push(format!("window_cap = {{ {} }}", fields.join(", ")));
    }
    if let Some(limiter) = uplink_limiter {
        let usual = UplinkLimiterParams::default();
        let capacity = match limiter.capacity {
            LimiterCapacity::Auto(_) => "\"auto\"".to_owned(),
            LimiterCapacity::Given(rate) => word(&rate),
        };
        let mut fields = vec![format!("capacity = {capacity}, share = {}", word(&limiter.share))];
        fields.extend(unusual("burst", &limiter.burst, &usual.burst));
        fields.extend(unusual("flow_timeout", &limiter.flow_timeout, &usual.flow_timeout));
        lines.push(format!("uplink_limiter = {{ {} }}", fields.join(", ")));
    }
    lines
}

/// `[radio.edca]` that says `own` beside the keys of `[radio]`, where `was` is what the file has so far.
fn edca(was: &EdcaParams, own: &EdcaParams, preset: Preset) -> Vec<String> {
    let usual = EdcaParams::usual(preset);
    let unlike = |base: &EdcaParams| {
        let pairs = |a: &[AccessParams; 4], b: &[AccessParams; 4]| a.iter().zip(b).filter(|(a, b)| a != b).count();
        pairs(&was.ap, &base.ap) + pairs(&was.stations, &base.stations)
    };
    let named = EdcaParams::NAMED.iter().filter(|(_, base)| unlike(base) < unlike(&usual));
    let named = named.min_by_key(|(_, base)| unlike(base));
    let base = named.map_or(usual, |(_, base)| *base);
    let mut lines = vec!["[radio.edca]".to_owned()];
    lines.extend(named.map(|(name, _)| format!("preset = {}", word(name))));
    // CWmin, CWmax and TXOP of best effort may stand in `[radio]`, too, for both sides at once: what they change is written for both.
    let in_radio = [was.ap, was.stations].map(|side| keys(&side[BEST_EFFORT]));
    let in_base = [base.ap, base.stations].map(|side| keys(&side[BEST_EFFORT]));
    let told: Vec<bool> =
        (0..KEYS.len()).map(|key| (0..2).any(|side| in_radio[side][key] != in_base[side][key])).collect();
    for (side, own, base, is_told) in [("ap", own.ap, base.ap, false), ("stations", own.stations, base.stations, true)]
    {
        let categories = (0..CATEGORIES.len()).filter_map(|category| {
            let (own, base) = (keys(&own[category]), keys(&base[category]));
            let is_said = |key: usize| {
                let is_changed = is_told && key < CHANGED;
                own[key] != base[key] || category == BEST_EFFORT && (is_changed || told[key])
            };
            let said = (0..KEYS.len()).filter(|key| is_said(*key)).map(|key| format!("{} = {}", KEYS[key], own[key]));
            let said: Vec<String> = said.collect();
            (!said.is_empty()).then(|| format!("{} = {{ {} }}", CATEGORIES[category], said.join(", ")))
        });
        let categories: Vec<String> = categories.collect();
        if !categories.is_empty() {
            lines.push(format!("{side} = {{ {} }}", categories.join(", ")));
        }
    }
    lines
}

/// Keys of an access category: first those that a change of what the AP advertises names.
const KEYS: [&str; 4] = ["cw_min", "aifsn", "cw_max", "txop"];
const CHANGED: usize = 2;

/// Their values as a file has them.
fn keys(access: &AccessParams) -> [String; 4] {
    let AccessParams { aifsn, cw_min, cw_max, txop } = access;
    [cw_min.to_string(), aifsn.to_string(), cw_max.to_string(), word(txop)]
}

fn enforce(changed: &Scenario, own: &Enforce) -> Vec<String> {
    let usual = Enforce::usual_box(&changed.radio);
    let VsbParams { policy, pool, queue, leaf, quantum, batch, udp } = own.vsb;
    let capacity = inline_capacity(&own.capacity, Enforce::most_in(&changed.radio));
    let mut lines =
        vec!["[enforce]".to_owned(), format!("policy = {}", word(&policy)), format!("capacity = {capacity}")];
    lines.extend(unusual("pool", &pool, &usual.pool));
    match queue {
        QueueRule::Packets(packets) => lines.push(format!("queue = {packets}")),
        QueueRule::Auto => lines.extend(unusual("queue", &queue, &usual.queue)),
    }
    lines.extend(unusual("leaf", &leaf, &usual.leaf));
    lines.extend(unusual("quantum", &quantum, &usual.quantum));
    lines.extend(unusual("batch", &batch, &usual.batch));
    lines.extend(unusual("udp", &udp, &usual.udp));
    lines
}

/// A key with its value, if that is not the usual one.
fn unusual<T: serde::Serialize + PartialEq>(key: &str, value: &T, usual: &T) -> Option<String> {
    (value != usual).then(|| format!("{key} = {}", word(value)))
}

#[cfg(test)]
mod tests {
    use fairair_core::units::Bitrate;

    use super::*;
    use crate::plan::families;
    use crate::plan::ranges::{Classes, Ranges, Weighed};

    /// Tables of the kinds that snippets replace, all with keys of their own.
    const OLD: &str = r#"
name = "own"
[run]
duration = "10 s"
[ap]
queue = { kind = "droptail", limit = 60 }
uplink_queue = 20
window_cap = { kind = "tfbr", flow_timeout = "5 s", delay = "3 ms", throughput = "2 Mbit/s" }
uplink_limiter = { capacity = "3 Mbit/s", share = "flows", burst = "3 kB", flow_timeout = "7 s" }
[enforce]
policy = "airtime"
pool = "ap"
capacity = "2 Mbit/s"
queue = 9
leaf = "auto"
quantum = "3000 B"
batch = "3000 B"
udp = "shape"
[wire]
delay = "2 ms"
[[station]]
name = "up"
count = 2
weight = 3
cap = "1 Mbit/s"
flows = [{ direction = "up" }, { direction = "down" }]
[[station]]
name = "down"
flows = [{ direction = "down" }]
"#;
    const RADIO: &str = r#"[radio]
phy = "802.11n"
txop = "1 ms"
cw_min = 31
[radio.edca]
preset = "openwrt"
ap = { be = { txop = "4 ms" } }
stations = { be = { cw_min = 15, txop = "3008 us" }, vo = { aifsn = 7 } }
"#;

    /// A block of lines for each table of a file, its header first.
    fn blocks(text: &str) -> Vec<Vec<String>> {
        let mut blocks = vec![Vec::new()];
        for line in text.lines().map(str::to_owned).filter(|line| !line.is_empty()) {
            if line.starts_with('[') {
                blocks.push(Vec::new());
            }
            blocks.last_mut().unwrap().push(line);
        }
        blocks
    }

    /// The file with each table of the snippet in place of its own, and keys in those of stations.
    fn placed(file: &str, snippet: &str) -> Scenario {
        let mut all = blocks(file);
        for block in blocks(snippet).into_iter().skip(1) {
            let is_station = block[0] == "[[station]]";
            let own = all.iter_mut().find(|own| own.first() == Some(&block[0]) && (!is_station || own[1] == block[1]));
            match own {
                Some(own) if is_station => {
                    for line in &block[2..] {
                        let key = line.split_once('=').unwrap().0;
                        own.retain(|line| !line.starts_with(key));
                        own.push(line.clone());
                    }
                }
                Some(own) => *own = block,
                None => all.push(block),
            }
        }
        let text = all.concat().join("\n");
        Scenario::from_toml(&text, "placed.toml").unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    }

    /// Every family at several points, in cells whose tables have keys of their own.
    #[test]
    fn tables_put_in_place_are_what_the_proof_ran() {
        let modern = format!("{OLD}{RADIO}");
        let ns3 = OLD.replace("[run]", "[run]\npreset = \"ns3\"")
            + "[radio]\nphy = \"802.11ax\"\n[radio.edca]\npreset = \"802.11-2020\"\n";
        let ns3 = ns3
            .replace("{ kind = \"droptail\", limit = 60 }", "{ kind = \"shared-fifo\", count_unacknowledged = false }");
        let standard = modern.replace("openwrt", "802.11-2020");
        for file in [OLD, &modern, &ns3, &standard] {
            let scenario = Scenario::from_toml(file, "own.toml").unwrap_or_else(|error| panic!("{error:?}"));
            let names = || vec!["up".to_owned(), "down".to_owned()];
            let held = vec![("down".to_owned(), Bitrate::mbps(1))];
            let classes = Classes {
                alike: false,
                weak: Vec::new(),
                senders: Vec::new(),
                weighed: names().into_iter().map(|name| Weighed { name, part: 0.7, part_of_air: 1.0 }).collect(),
                capped: names(),
                lesser: Vec::new(),
                held,
                any: names(),
            };
            let ranges = Ranges::new(&scenario, 800.0, classes);
            for family in families(None, &ranges).0 {
                for n in 0..9 {
                    let at = |d: usize| f64::from(n * (2 * d as u32 + 3) % 9) / 8.0;
                    let change = family.change(&ranges, &(0..family.dims).map(at).collect::<Vec<_>>());
                    let snippet = change.snippet(&scenario);
                    assert_eq!(
                        placed(file, &snippet),
                        change.applied(&scenario),
                        "{}: {snippet}\nin {file}",
                        family.name
                    );
                }
            }
        }
    }

    #[test]
    fn a_station_with_weight_and_cap_stands_there_once() {
        let scenario = Scenario::from_toml(OLD, "own.toml").unwrap();
        let weights = vec![("up".to_owned(), 1.5)];
        let caps = vec![("down".to_owned(), Bitrate::mbps(2)), ("up".to_owned(), Bitrate::mbps(1))];
        let change = Change { weights, caps, ..Change::default() };
        let snippet = change.snippet(&scenario);
        assert_eq!(
            snippet,
            "[[station]]\nname = \"up\"\nweight = 1.5\ncap = \"1 Mbit/s\"\n[[station]]\nname = \"down\"\ncap = \"2 Mbit/s\""
        );
        assert_eq!(placed(OLD, &snippet), change.applied(&scenario));
    }

    /// What a remedy makes of a cell, with a box that the planner would not choose.
    #[test]
    fn a_table_is_complete_whatever_changed_it() {
        let scenario = Scenario::from_toml(OLD, "own.toml").unwrap();
        let mut changed = scenario.clone();
        changed.ap.window_cap = changed.ap.window_cap.map(|cap| WindowCapParams { buffer: 33, ..cap });
        changed.enforce.as_mut().unwrap().vsb.quantum = fairair_core::units::Bytes(2000);
        let snippet = crate::plan::snippet(&scenario, &changed);
        assert_eq!(placed(OLD, &snippet), changed, "{snippet}");
    }

    #[test]
    fn what_the_file_says_of_edca_stays_in_its_table() {
        let scenario = Scenario::from_toml(&format!("{OLD}{RADIO}"), "own.toml").unwrap();
        let change = Change { told: Some((63, 5)), ..Change::default() };
        let keys = "cw_min = 63, aifsn = 5";
        let plain = Scenario::from_toml(&format!("{OLD}[radio]\nphy = \"802.11n\"\n"), "own.toml").unwrap();
        assert_eq!(change.snippet(&plain), format!("[radio.edca]\nstations = {{ be = {{ {keys} }} }}"));
        let stations = format!("vo = {{ aifsn = 7 }}, be = {{ {keys}, txop = \"3008 us\" }}");
        let ap = "ap = { be = { cw_min = 31, txop = \"4 ms\" } }";
        assert_eq!(change.snippet(&scenario), format!("[radio.edca]\n{ap}\nstations = {{ {stations} }}"));
    }
}
