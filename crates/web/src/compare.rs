//! The remedies on a cell: a row each, as soon as it is known.

use fairair_core::remedy::{REMEDIES, cautions};
use fairair_core::scenario::Scenario;
use fairair_sim::SIMULATOR;
use fairair_sim::plan::snippet;
use serde::Serialize;

use crate::answer::{Answer, Source};
use crate::jobs::Job;
use crate::run;

/// Replicas of each remedy at most.
const REPLICAS: u32 = 10;

/// A remedy.
#[derive(Serialize)]
struct Row {
    remedy: &'static str,
    deploy: &'static str,
    needs: &'static str,
    source: &'static str,
    cautions: Vec<&'static str>,
    /// What to write into the scenario file to have it.
    snippet: String,
    answer: Answer,
}

/// Sends a row for each remedy that was run before the browser went away. The numbers are those of `fairair compare`.
pub(crate) fn compare(scenario: &Scenario, job: &Job) {
    let Some(pool) = job.pool() else { return };
    let mut scenario = scenario.clone();
    scenario.run.replicas = scenario.run.replicas.min(REPLICAS);
    let all = scenario.run.replicas * REMEDIES.len() as u32;
    for (index, remedy) in (0..).zip(REMEDIES) {
        let changed = remedy.applied(&scenario);
        let execution = run::plainly(&changed, &pool, job, index * scenario.run.replicas, all);
        if job.is_cancelled() || execution.interrupted {
            return;
        }
        let report = execution.report(&changed, SIMULATOR);
        let row = Row {
            remedy: remedy.name,
            deploy: remedy.deploy.name(),
            needs: remedy.needs,
            source: remedy.source,
            cautions: cautions(&changed),
            snippet: snippet(&scenario, &changed),
            answer: Answer::new(&report, &changed, Source::Simulation),
        };
        job.send("row", &row);
    }
    job.send("done", &serde_json::json!({}));
}
