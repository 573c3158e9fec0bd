//! What a planner may try: each remedy with a range of its parameters.

use super::{Deploy, Remedy, buffer, lossless_buffer};
use crate::qdisc::{
    AdaptiveBufferParams, AdmissionParams, AirtimeFqParams, DualQueueParams, FairQueueParams, FqCodelParams, LasParams,
    QdiscSpec, Share, ShareRule, TlasParams, TlasSafParams,
};
use crate::scenario::Scenario;
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
}

impl Candidate {
    /// A remedy of the list with its defaults.
    fn named(scenario: &Scenario, remedy: &str, snippet: String) -> Option<Self> {
        let remedy = Remedy::named(remedy)?;
        Some(Candidate { deploy: remedy.deploy, snippet, scenario: remedy.applied(scenario) })
    }

    fn queue(scenario: &Scenario, queue: QdiscSpec) -> Self {
        let mut scenario = scenario.clone();
        scenario.ap.queue = queue;
        Candidate { deploy: Deploy::Ap, snippet: format!("[ap]\nqueue = {}", inline(&queue)), scenario }
    }
}

impl Candidate {
    /// The same remedy with its parameter a little lower and a little higher: between the steps of [`candidates`].
    pub fn neighbours(&self) -> Vec<Candidate> {
        let scaled = |limit: usize| {
            [0.84, 1.19]
                .map(|factor| ((limit as f64 * factor).round() as usize).max(1))
                .into_iter()
                .filter(move |n| *n != limit)
        };
        let queues: Vec<QdiscSpec> = match self.scenario.ap.queue {
            QdiscSpec::Droptail { limit } => scaled(limit).map(|limit| QdiscSpec::Droptail { limit }).collect(),
            QdiscSpec::PerFlowFq(fair) => {
                scaled(fair.limit).map(|limit| QdiscSpec::PerFlowFq(FairQueueParams { limit, ..fair })).collect()
            }
            QdiscSpec::PerStationFq(fair) => {
                scaled(fair.limit).map(|limit| QdiscSpec::PerStationFq(FairQueueParams { limit, ..fair })).collect()
            }
            QdiscSpec::AirtimeFq(fair) => {
                scaled(fair.limit).map(|limit| QdiscSpec::AirtimeFq(AirtimeFqParams { limit, ..fair })).collect()
            }
            QdiscSpec::DualQueue(dual) => match dual.p {
                Share::Fixed(p) => [-0.025, -0.0125, 0.0125, 0.025]
                    // Four decimals: a snippet is for people.
                    .map(|step| Share::Fixed((((p + step) * 1e4).round() / 1e4).clamp(0.0, 1.0)))
                    .map(|p| QdiscSpec::DualQueue(DualQueueParams { p, ..dual }))
                    .to_vec(),
                Share::Rule(_) => Vec::new(),
            },
            QdiscSpec::Admission(admission) => [0.56, 1.78]
                .into_iter()
                .filter_map(|factor| Probability::new(admission.p_b.get() * factor))
                .map(|p_b| QdiscSpec::Admission(AdmissionParams { p_b, ..admission }))
                .collect(),
            QdiscSpec::AdaptiveBuffer(adaptive) => [7, 14]
                .map(|tenths| Duration::from_nanos(adaptive.t.as_nanos() / 10 * tenths))
                .map(|t| QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams { t, ..adaptive }))
                .to_vec(),
            QdiscSpec::Las(_) | QdiscSpec::Tlas(_) | QdiscSpec::TlasSaf(_) | QdiscSpec::FqCodel(_) => Vec::new(),
        };
        // A queue with nothing beside it.
        if self.deploy == Deploy::Ap && self.snippet.lines().count() == 2 {
            queues.into_iter().map(|queue| Candidate::queue(&self.scenario, queue)).collect()
        } else {
            Vec::new()
        }
    }
}

/// Everything worth trying on `scenario` that `deploy` allows (`None`: anything), the cell as it is first.
pub fn candidates(scenario: &Scenario, deploy: Option<Deploy>) -> Vec<Candidate> {
    let as_is = Candidate { deploy: Deploy::Nothing, snippet: String::new(), scenario: scenario.clone() };
    let mut all = vec![as_is];
    if deploy.is_none_or(|deploy| deploy == Deploy::Ap) {
        all.extend(ap_queues(scenario).into_iter().map(|queue| Candidate::queue(scenario, queue)));
        for (remedy, snippet) in AP_KEYS {
            let name = format!("[ap]\nqueue = {}\n{snippet}", inline(&scenario.ap.queue));
            all.extend(Candidate::named(scenario, remedy, name));
        }
    }
    if deploy.is_none_or(|deploy| deploy == Deploy::Box) {
        for (remedy, policy) in POLICIES {
            all.extend(Candidate::named(
                scenario,
                remedy,
                format!("[enforce]\npolicy = \"{policy}\"\ncapacity = \"auto\""),
            ));
        }
    }
    all
}

/// Remedies in the AP beside its queue, and what stands for them in the file.
const AP_KEYS: [(&str, &str); 4] = [
    ("window-cap:lossless", "window_cap = \"lossless\""),
    ("window-cap:b-over-n", "window_cap = \"b-over-n\""),
    ("uplink-limiter", "uplink_limiter = { capacity = \"auto\" }"),
    ("uplink-limiter:flows", "uplink_limiter = { capacity = \"auto\", share = \"flows\" }"),
];

/// The box's remedies and their policies.
const POLICIES: [(&str, &str); 4] = [
    ("vsb", "per-station"),
    ("vsb:airtime", "airtime"),
    ("vsb:per-direction", "per-direction"),
    ("vsb:per-flow", "per-flow"),
];

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
