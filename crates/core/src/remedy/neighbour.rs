//! Between the steps of the candidates: the same remedy with its parameters a little lower and a little higher.

use super::candidate::{Candidate, Change};
use crate::qdisc::{
    AdaptiveBufferParams, AdmissionParams, AirtimeFqParams, DualQueueParams, FairQueueParams, QdiscSpec, Share,
};
use crate::units::{Duration, Probability};

/// Less and more of a size. Sizes step by 1.4.
const NEARBY: [f64; 2] = [0.84, 1.19];
/// Steps of p, whose coarse steps are 0.05.
const P_STEPS: [f64; 4] = [-0.025, -0.0125, 0.0125, 0.025];

impl Candidate {
    /// The same remedy with its parameter a little lower and a little higher: between the steps of
    /// [`candidates`](super::candidates).
    pub fn neighbours(&self) -> Vec<Candidate> {
        let changes: Vec<Change> = match self.change {
            Change::Nothing | Change::UplinkLimiter(_) => Vec::new(),
            Change::Queue(queue) => queues(queue).into_iter().map(Change::Queue).collect(),
            Change::WindowCap(rule, room) => scaled(room).map(|room| Change::WindowCap(rule, room)).collect(),
            Change::Box(policy, room) => scaled(room).map(|room| Change::Box(policy, room)).collect(),
        };
        changes.into_iter().map(|change| Candidate::of(&self.scenario, change)).collect()
    }
}

fn scaled(size: usize) -> impl Iterator<Item = usize> {
    NEARBY.into_iter().map(move |factor| ((size as f64 * factor).round() as usize).max(1)).filter(move |n| *n != size)
}

fn queues(queue: QdiscSpec) -> Vec<QdiscSpec> {
    match queue {
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
        QdiscSpec::DualQueue(dual) => dual_queues(dual),
        QdiscSpec::Admission(admission) => [0.56, 1.78]
            .into_iter()
            .filter_map(|factor| Probability::new(rounded(admission.p_b.get() * factor)))
            .map(|p_b| QdiscSpec::Admission(AdmissionParams { p_b, ..admission }))
            .collect(),
        QdiscSpec::AdaptiveBuffer(adaptive) => [7, 14]
            .map(|tenths| Duration::from_nanos(adaptive.t.as_nanos() / 10 * tenths))
            .map(|t| QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams { t, ..adaptive }))
            .to_vec(),
        QdiscSpec::Las(_) | QdiscSpec::Tlas(_) | QdiscSpec::TlasSaf(_) | QdiscSpec::FqCodel(_) => Vec::new(),
    }
}

/// Other shares, the room for either kind of packet less and more, and the same room split by share: then both wait
/// alike.
fn dual_queues(dual: DualQueueParams) -> Vec<QdiscSpec> {
    let mut near: Vec<DualQueueParams> = scaled(dual.data).map(|data| DualQueueParams { data, ..dual }).collect();
    near.extend(scaled(dual.ack).map(|ack| DualQueueParams { ack, ..dual }));
    if let Share::Fixed(p) = dual.p {
        near.extend(P_STEPS.map(|step| DualQueueParams { p: Share::Fixed(rounded(p + step).clamp(0.0, 1.0)), ..dual }));
        let room = (dual.data + dual.ack) as f64;
        let split = |share: f64| ((room * share).round() as usize).max(1);
        near.push(DualQueueParams { data: split(p), ack: split(1.0 - p), ..dual });
    }
    near.retain(|other| *other != dual);
    near.into_iter().map(QdiscSpec::DualQueue).collect()
}

/// Four decimals: a snippet is for people.
fn rounded(p: f64) -> f64 {
    (p * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::super::candidates;
    use crate::scenario::Scenario;

    #[test]
    fn a_neighbour_pasted_into_the_file_is_the_candidate() {
        const CELL: &str = r#"
            name = "cell"
            [run]
            duration = "10 s"
            [[station]]
            name = "sta"
            count = 3
            flows = [{ direction = "up" }, { direction = "down" }]
        "#;
        let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
        let all = candidates(&scenario, None);
        let near: Vec<_> = all.iter().flat_map(super::Candidate::neighbours).collect();
        assert!(near.len() > all.len());
        for candidate in near {
            let pasted = Scenario::from_toml(&format!("{CELL}\n{}", candidate.snippet), "pasted.toml");
            assert_eq!(pasted.unwrap_or_else(|error| panic!("{error:?}")), candidate.scenario, "{}", candidate.snippet);
        }
    }
}
