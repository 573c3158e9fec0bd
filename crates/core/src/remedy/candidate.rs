//! What a planner may try: each remedy with a range of its parameters.

use super::{Deploy, buffer, lossless_buffer};
use crate::ap::{LimiterShare, UplinkLimiterParams, WindowRule};
use crate::qdisc::{
    AdaptiveBufferParams, AdmissionParams, AirtimeFqParams, DualQueueParams, FairQueueParams, FqCodelParams, LasParams,
    QdiscSpec, Share, ShareRule, TlasParams, TlasSafParams,
};
use crate::scenario::Scenario;
use crate::shaper::{Policy, VsbParams};
use crate::units::{Duration, Probability};

/// A remedy with its parameters, put into a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What has to be changed.
    pub deploy: Deploy,
    /// What to write into the scenario file.
    pub snippet: String,
    /// The scenario with it.
    pub scenario: Scenario,
    pub(super) change: Change,
}

/// What a candidate changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    Nothing,
    Queue(QdiscSpec),
    /// A window cap for a buffer of so many packets, beside the queue as it is.
    WindowCap(WindowRule, usize),
    UplinkLimiter(LimiterShare),
    /// A box whose classes hold so many packets each.
    Box(Policy, usize),
}

impl Candidate {
    /// `scenario` with a change.
    pub(super) fn of(scenario: &Scenario, change: Change) -> Self {
        let mut changed = scenario.clone();
        let (deploy, snippet) = match change {
            Change::Nothing => (Deploy::Nothing, String::new()),
            Change::Queue(queue) => {
                changed.ap.queue = queue;
                (Deploy::Ap, format!("[ap]\nqueue = {}", inline(&queue)))
            }
            Change::WindowCap(rule, room) => {
                super::window_cap(&mut changed, rule);
                if let Some(cap) = &mut changed.ap.window_cap {
                    cap.buffer = room;
                }
                let name = word(&rule);
                let cap = if room == buffer(scenario) { name } else { format!("{{ kind = {name}, buffer = {room} }}") };
                (Deploy::Ap, format!("[ap]\nqueue = {}\nwindow_cap = {cap}", inline(&scenario.ap.queue)))
            }
            Change::UplinkLimiter(share) => {
                let usual = UplinkLimiterParams::default();
                changed.ap.uplink_limiter = Some(UplinkLimiterParams { share, ..usual });
                let share = if share == usual.share { String::new() } else { format!(", share = {}", word(&share)) };
                let limiter = format!("uplink_limiter = {{ capacity = \"auto\"{share} }}");
                (Deploy::Ap, format!("[ap]\nqueue = {}\n{limiter}", inline(&scenario.ap.queue)))
            }
            Change::Box(policy, room) => {
                super::vsb(&mut changed, policy);
                changed.enforce = changed.enforce.map(|mut enforce| {
                    enforce.vsb.queue = room;
                    enforce
                });
                // A file that has a box may have given it another queue.
                let usual = room == VsbParams::default().queue && scenario.enforce.is_none();
                let room = if usual { String::new() } else { format!("\nqueue = {room}") };
                (Deploy::Box, format!("[enforce]\npolicy = {}\ncapacity = \"auto\"{room}", word(&policy)))
            }
        };
        Candidate { deploy, snippet, scenario: changed, change }
    }
}

/// Everything worth trying on `scenario` that `deploy` allows (`None`: anything), the cell as it is first.
pub fn candidates(scenario: &Scenario, deploy: Option<Deploy>) -> Vec<Candidate> {
    let mut changes = vec![Change::Nothing];
    if deploy.is_none_or(|deploy| deploy == Deploy::Ap) {
        changes.extend(ap_queues(scenario).into_iter().map(Change::Queue));
        changes.push(Change::WindowCap(WindowRule::BOverN, buffer(scenario)));
        // A cap for less room than there is keeps the queue short.
        let rooms = sizes(scenario).into_iter().filter(|room| *room <= buffer(scenario));
        changes.extend(rooms.map(|room| Change::WindowCap(WindowRule::Lossless, room)));
        changes.extend([LimiterShare::Half, LimiterShare::Flows].map(Change::UplinkLimiter));
    }
    if deploy.is_none_or(|deploy| deploy == Deploy::Box) {
        for policy in [Policy::PerStation, Policy::Airtime, Policy::PerDirection, Policy::PerFlow] {
            changes.extend(BOX_QUEUES.map(|room| Change::Box(policy, room)));
        }
    }
    changes.into_iter().map(|change| Candidate::of(scenario, change)).collect()
}

/// Packets that a class of the box may hold: the usual, and less for less delay.
const BOX_QUEUES: [usize; 6] = [200, 100, 50, 25, 12, 6];

/// Sizes from a few packets to what never overflows.
fn sizes(scenario: &Scenario) -> Vec<usize> {
    let lossless = lossless_buffer(scenario);
    let mut sizes: Vec<usize> = [5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640]
        .into_iter()
        .filter(|size| *size < lossless)
        .collect();
    sizes.extend([buffer(scenario), lossless]);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn ap_queues(scenario: &Scenario) -> Vec<QdiscSpec> {
    let limit = buffer(scenario);
    let sizes = sizes(scenario);
    let window = scenario.flows().map(|(_, flow)| flow.tcp.window).max().unwrap_or(1);
    let dual =
        |data, ack, p| QdiscSpec::DualQueue(DualQueueParams { data, ack, p, window, ..DualQueueParams::default() });
    let half = (limit / 2).max(1);
    let mut all = vec![
        QdiscSpec::Las(LasParams { limit }),
        QdiscSpec::Tlas(TlasParams { limit, ..TlasParams::default() }),
        QdiscSpec::TlasSaf(TlasSafParams { limit, ..TlasSafParams::default() }),
        QdiscSpec::FqCodel(FqCodelParams::default()),
        dual(half, half, Share::Rule(ShareRule::Optimal)),
        dual(half, half, Share::Rule(ShareRule::Modified)),
    ];
    for limit in sizes {
        let fair = FairQueueParams { limit, ..FairQueueParams::default() };
        all.extend([
            QdiscSpec::Droptail { limit },
            QdiscSpec::PerFlowFq(fair),
            QdiscSpec::PerStationFq(fair),
            QdiscSpec::AirtimeFq(AirtimeFqParams { limit, ..AirtimeFqParams::default() }),
            dual((limit / 2).max(1), (limit / 2).max(1), Share::Rule(ShareRule::Auto)),
        ]);
    }
    all.extend((1..20).map(|step| dual(half, half, Share::Fixed(f64::from(step) / 20.0))));
    // What weighs the directions can keep the queues short too.
    for size in [6, 12, 25, 50] {
        let p = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
        all.extend(p.into_iter().filter(|_| size < half).map(|p| dual(size, size, Share::Fixed(p))));
    }
    all.extend(
        [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2]
            .into_iter()
            .filter_map(Probability::new)
            .map(|p_b| QdiscSpec::Admission(AdmissionParams { p_b, ..AdmissionParams::default() })),
    );
    all.extend([10, 20, 40, 80, 160, 320].map(|ms| {
        let t = Duration::from_millis(ms);
        QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams { t, ..AdaptiveBufferParams::default() })
    }));
    all
}

/// A word as JSON and TOML write it alike, in quotes.
fn word(of: &impl serde::Serialize) -> String {
    serde_json::to_string(of).unwrap_or_default()
}

/// A queue as an inline table of TOML, without what is as usual. Scalars are written alike in JSON and TOML.
fn inline(queue: &QdiscSpec) -> String {
    let json = |spec: &QdiscSpec| serde_json::to_value(spec).unwrap_or_default();
    let usual = QdiscSpec::all().iter().find(|usual| usual.kind() == queue.kind()).map(json).unwrap_or_default();
    let queue_json = json(queue);
    let chosen = queue_json.as_object().into_iter().flatten().filter(|(key, value)| usual.get(key) != Some(value));
    let fields: Vec<String> = chosen.map(|(key, value)| format!(", {key} = {value}")).collect();
    format!("{{ kind = \"{}\"{} }}", queue.kind(), fields.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = r#"
        name = "cell"
        [run]
        duration = "10 s"
        [tcp]
        window = 30
        [[station]]
        name = "sta"
        count = 3
        flows = [{ direction = "up" }, { direction = "down" }]
    "#;

    #[test]
    fn a_snippet_pasted_into_the_file_is_the_candidate() {
        let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
        let candidates = candidates(&scenario, None);
        assert!(candidates.len() > 50);
        for candidate in candidates {
            let pasted = Scenario::from_toml(&format!("{CELL}\n{}", candidate.snippet), "pasted.toml");
            assert_eq!(pasted.unwrap_or_else(|error| panic!("{error:?}")), candidate.scenario, "{}", candidate.snippet);
        }
    }

    #[test]
    fn deployment_is_respected_and_the_cell_as_it_is_always_counts() {
        let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
        let of = |deploy| candidates(&scenario, Some(deploy)).iter().map(|c| c.deploy).collect::<Vec<_>>();
        assert_eq!(of(Deploy::Nothing), [Deploy::Nothing]);
        assert!(of(Deploy::Box).iter().all(|deploy| *deploy != Deploy::Ap));
    }
}
