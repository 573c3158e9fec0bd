//! One scenario under several remedies.

use fairair_core::metrics::{CellQuantity, FLOOR, Report};
use fairair_core::record::Record;
use fairair_core::remedy::{Deploy, Paste, Remedy, cautions, paste};
use fairair_core::scenario::Scenario;
use serde::Serialize;

use crate::replicas::Pool;
use crate::simulate::{Execution, SIMULATOR};
use crate::starved::{Seen, in_any, names};
use crate::watch::{Counter, UnderWay, Watch};

/// Name and version of the comparison's schema; each row holds a result of its own.
pub const SCHEMA: &str = "fairair.compare/1";

/// A scenario under several remedies.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// The scenario's name.
    pub name: String,
    /// Whether it was stopped before all replicas of all remedies were done.
    pub interrupted: bool,
    /// One row a remedy.
    pub rows: Vec<Row>,
}

/// One remedy.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub remedy: &'static str,
    /// What has to be changed: `-`, `AP` or `box`.
    pub deploy: &'static str,
    /// What it has to know of the cell; empty: nothing.
    pub needs: &'static str,
    /// The paper or document that it comes from.
    pub source: &'static str,
    /// What in it does not fit the cell; empty: nothing is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<&'static str>,
    /// Stations below 5 % of their max-min share in any replica, and flows of other stations that are, as in plans.
    pub starved: Vec<String>,
    /// What to write into the AP's files; null where the remedy is no matter of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paste: Option<Paste>,
    /// What the simulation of the cell with the remedy measured.
    pub report: Report,
    /// The records behind the report.
    #[serde(skip)]
    pub records: Vec<Record>,
}

impl Comparison {
    /// Sorts the rows: the best first, those in which the quantity does not exist last, equal ones as they were.
    pub fn sort_by(&mut self, quantity: &CellQuantity) {
        self.rows.sort_by(|a, b| match (quantity.badness(&a.report), quantity.badness(&b.report)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
    }
}

/// What is said of a remedy that leaves the cell as it is.
const CHANGES_NOTHING: &str = "it changes nothing in this cell";

/// Simulates a scenario under each remedy, all replicas in one pool. A remedy's replicas use the same random streams as
/// every other's. When it is stopped, the replicas that are complete are reported: about as many of each remedy.
pub fn compare(scenario: &Scenario, remedies: &[&'static Remedy], pool: &Pool, watch: Watch) -> Comparison {
    let replicas = scenario.run.replicas;
    let scenarios: Vec<Scenario> = remedies.iter().map(|remedy| remedy.applied(scenario)).collect();
    let jobs = u32::try_from(scenarios.len()).unwrap_or(u32::MAX).saturating_mul(replicas);
    let counter = Counter::new(watch);
    counter.plan(jobs);
    // Replica by replica over all remedies: an interrupted comparison has about as many of each.
    let place = |job: u32| (job as usize % scenarios.len(), job / scenarios.len() as u32);
    let under_way = UnderWay::new(watch);
    let simulate = |job: u32| {
        let (remedy, replica) = place(job);
        let record = crate::run_unless(&scenarios[remedy], replica, None, &|| under_way.is_abandoned());
        record.inspect(|_| under_way.complete())
    };
    let mut records: Vec<Vec<Record>> = scenarios.iter().map(|_| Vec::new()).collect();
    let done = pool.run(0..jobs, watch.cancel, simulate, |_| counter.done());
    let interrupted = done.len() < jobs as usize || watch.is_cancelled();
    for (job, record) in (0..jobs).zip(done.into_iter().map_while(|record| record)) {
        records[place(job).0].push(record);
    }
    let rows = remedies.iter().zip(&scenarios).zip(records).map(|((remedy, applied), records)| {
        let seen: Vec<Seen> = records.iter().map(|record| Seen::of(applied, record)).collect();
        let starved = names(applied, &in_any(&seen, FLOOR));
        let changes_nothing = (applied == scenario && remedy.deploy != Deploy::Nothing).then_some(CHANGES_NOTHING);
        let execution = Execution { records, planned: replicas, interrupted, until_ci: None };
        Row {
            remedy: remedy.name,
            deploy: remedy.deploy.name(),
            needs: remedy.needs,
            source: remedy.source,
            cautions: changes_nothing.into_iter().chain(cautions(applied)).collect(),
            starved,
            paste: paste(scenario, applied),
            report: execution.report(applied, SIMULATOR),
            records: execution.records,
        }
    });
    let rows = rows.collect();
    Comparison { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), name: scenario.name.clone(), interrupted, rows }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use fairair_core::remedy::REMEDIES;

    use super::*;
    use crate::watch::Progress;

    #[test]
    fn a_comparison_that_is_stopped_has_about_as_many_replicas_of_each_remedy() {
        let text = "name = \"small\"\n[run]\nduration = \"1 s\"\nwarmup = \"0 s\"\nreplicas = 4\n\
                    [[station]]\nname = \"a\"\nflows = [{ direction = \"down\" }]\n";
        let scenario = Scenario::from_toml(text, "small.toml").unwrap();
        let remedies: Vec<&Remedy> = REMEDIES.iter().take(3).collect();
        let cancel = AtomicBool::new(false);
        let progress = |progress: Progress| {
            assert_eq!(progress.planned, 12);
            cancel.store(progress.done == 5, Ordering::SeqCst);
        };
        let watch = Watch { cancel: &cancel, progress: &progress };
        let comparison = compare(&scenario, &remedies, &Pool::new(1).unwrap(), watch);
        let done: Vec<u32> = comparison.rows.iter().map(|row| row.report.replicas).collect();
        assert_eq!((done.as_slice(), comparison.interrupted), ([2, 2, 1].as_slice(), true));
        assert!(comparison.rows.iter().all(|row| row.report.interrupted && row.report.replicas_planned == 4));
    }

    /// EDCA is no matter of 802.11b: its row is that of the cell as it is.
    #[test]
    fn a_remedy_that_changes_nothing_is_said_to() {
        let text = "name = \"small\"\n[run]\nduration = \"1 s\"\nwarmup = \"0 s\"\nreplicas = 1\n\
                    [[station]]\nname = \"a\"\nflows = [{ direction = \"up\" }]\n";
        let scenario = Scenario::from_toml(text, "small.toml").unwrap();
        let remedies: Vec<&Remedy> = ["none", "edca", "las"].map(|name| Remedy::named(name).unwrap()).to_vec();
        let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| {} };
        let rows = compare(&scenario, &remedies, &Pool::new(1).unwrap(), watch).rows;
        let cautions: Vec<&[&str]> = rows.iter().map(|row| row.cautions.as_slice()).collect();
        assert_eq!(cautions, [&[][..], &[CHANGES_NOTHING], &[]]);
    }

    /// What is wrong with a remedy that the cell has already is said beside that.
    #[test]
    fn a_remedy_that_is_there_already_keeps_its_cautions() {
        let text = "name = \"small\"\n[run]\nduration = \"1 s\"\nwarmup = \"0 s\"\nreplicas = 1\n[enforce]\npolicy = \"per-station\"\n\
                    capacity = \"5 Mbit/s\"\n[[station]]\nname = \"a\"\nflows = [{ direction = \"up\" }]\n[[station]]\nname = \"slow\"\n\
                    rate = \"1 Mbit/s\"\nflows = [{ direction = \"up\" }]\n";
        let scenario = Scenario::from_toml(text, "small.toml").unwrap();
        let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| {} };
        let remedies: Vec<&Remedy> = ["none", "edca"].map(|name| Remedy::named(name).unwrap()).to_vec();
        let rows = compare(&scenario, &remedies, &Pool::new(1).unwrap(), watch).rows;
        let caution = cautions(&scenario);
        assert_eq!(caution.len(), 1);
        assert_eq!(rows[0].cautions, caution);
        assert_eq!(rows[1].cautions, [CHANGES_NOTHING, caution[0]]);
    }
}
