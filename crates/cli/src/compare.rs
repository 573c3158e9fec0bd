//! `fairair compare`: one scenario under each remedy.

use std::cmp::Ordering;
use std::sync::atomic::Ordering as Memory;

use fairair_core::metrics::{Estimate, Provenance, Report};
use fairair_core::record::Record;
use fairair_core::remedy::{REMEDIES, Remedy};
use fairair_core::scenario::Scenario;
use fairair_sim::replicas::Pool;
use serde::Serialize;

use crate::args::{CompareArgs, Format, SortKey};
use crate::engines::compare_engines;
use crate::error::{CliError, Exit};
use crate::interrupt;
use crate::output::files::OutDir;
use crate::output::{self, Page, comparison};
use crate::progress::Progress;

/// Name and version of the comparison's schema; each row holds a result of its own.
const SCHEMA: &str = "fairair.compare/1";
/// Files that `--out` gets.
const FILES: &[&str] = &["comparison.json", "comparison.csv", "table.txt", "scenario.toml"];

/// All remedies on one scenario.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) schema: &'static str,
    pub(crate) version: &'static str,
    pub(crate) name: String,
    /// Whether it was stopped before all replicas of all remedies were done.
    pub(crate) interrupted: bool,
    pub(crate) rows: Vec<Row>,
}

/// One remedy.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) remedy: &'static str,
    /// What has to be changed: `-`, `AP` or `box`.
    pub(crate) deploy: &'static str,
    /// What it has to know.
    pub(crate) needs: &'static str,
    pub(crate) source: &'static str,
    pub(crate) report: Report,
}

/// Simulates a scenario under each remedy and prints one table.
///
/// # Errors
/// For bad input and outputs that cannot be written, before anything runs; for failing writes after.
pub fn compare_command(args: &CompareArgs) -> Result<Exit, CliError> {
    let remedies = chosen(&args.remedies)?;
    let mut scenario = Scenario::load(&args.scenario)?;
    scenario.run.seed = args.seed.unwrap_or(scenario.run.seed);
    scenario.run.replicas = args.replicas.unwrap_or(scenario.run.replicas);
    if !args.engines.is_empty() {
        return compare_engines(args, &scenario);
    }
    let out = args.out.as_deref().map(|dir| OutDir::prepare(dir, &args.scenario, FILES)).transpose()?;
    let mut comparison = simulate(&scenario, &remedies, args)?;
    if let Some(key) = args.sort {
        comparison.rows.sort_by(|a, b| in_order(key, a, b));
    }
    let table = |page| comparison::table(&comparison, page);
    let json =
        || serde_json::to_string_pretty(&comparison).expect("reports have string keys and finite numbers") + "\n";
    let csv = || comparison::csv(&comparison);
    if let Some(out) = out {
        out.write(vec![json().into_bytes(), csv().into_bytes(), table(Page::FILE).into_bytes()])?;
    }
    output::print(&match args.format {
        Format::Table => table(Page::of_stdout(args.wide)),
        Format::Json => json(),
        Format::Csv => csv(),
    })?;
    Ok(if comparison.interrupted { Exit::Interrupted } else { Exit::Success })
}

/// The remedies that `names` ask for; `all` is each of them.
fn chosen(names: &[String]) -> Result<Vec<&'static Remedy>, CliError> {
    if names.iter().any(|name| name == "all") {
        return Ok(REMEDIES.iter().collect());
    }
    let known = || REMEDIES.iter().map(|remedy| remedy.name).collect::<Vec<_>>().join(", ");
    let unknown: Vec<String> =
        names.iter().filter(|name| Remedy::named(name).is_none()).map(|name| format!("`{name}`")).collect();
    if !unknown.is_empty() {
        return Err(CliError::Usage {
            what: format!("there is no remedy {}", unknown.join(", nor ")),
            help: format!("write `all` or some of {}", known()),
        });
    }
    Ok(names.iter().filter_map(|name| Remedy::named(name)).collect())
}

/// Runs all replicas of all remedies in one pool; a remedy's replicas use the same random streams as every other's.
fn simulate(scenario: &Scenario, remedies: &[&'static Remedy], args: &CompareArgs) -> Result<Comparison, CliError> {
    let pool = Pool::new(args.jobs.unwrap_or(0).into()).map_err(|error| CliError::Threads(error.to_string()))?;
    let replicas = scenario.run.replicas;
    let scenarios: Vec<Scenario> = remedies.iter().map(|remedy| remedy.applied(scenario)).collect();
    let jobs = u32::try_from(scenarios.len()).unwrap_or(u32::MAX).saturating_mul(replicas);
    let progress = Progress::new(jobs);
    let cancel = interrupt::flag();
    // Replica by replica over all remedies: an interrupted comparison has about as many of each.
    let place = |job: u32| (job as usize % scenarios.len(), job / scenarios.len() as u32);
    let simulate = |job: u32| {
        let (remedy, replica) = place(job);
        fairair_sim::run(&scenarios[remedy], replica)
    };
    let mut records: Vec<Vec<Record>> = scenarios.iter().map(|_| Vec::new()).collect();
    let done = pool.run(0..jobs, cancel, simulate, |_| progress.done());
    let interrupted = done.len() < jobs as usize || cancel.load(Memory::SeqCst);
    for (job, record) in (0..jobs).zip(done) {
        records[place(job).0].push(record);
    }
    let rows = remedies.iter().zip(&scenarios).zip(&records).map(|((remedy, scenario), records)| Row {
        remedy: remedy.name,
        deploy: remedy.deploy.name(),
        needs: remedy.needs,
        source: remedy.source,
        report: Report::new(
            scenario,
            records,
            Provenance {
                engine: "simulator".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                replicas_planned: replicas,
                interrupted,
                until_ci: None,
            },
        ),
    });
    Ok(Comparison {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        name: scenario.name.clone(),
        interrupted,
        rows: rows.collect(),
    })
}

/// The best first; what does not exist last; equal ones stay in the order of the list.
fn in_order(key: SortKey, a: &Row, b: &Row) -> Ordering {
    let distance_from_one = |estimate: Estimate| estimate.mean.map(|mean| mean.max(f64::MIN_POSITIVE).ln().abs());
    let badness = |row: &Row| {
        let report = &row.report;
        match key {
            SortKey::Goodput => report.totals.goodput_bps.mean.map(|goodput| -goodput),
            SortKey::Jain => report.indices.jain_stations.mean.map(|jain| -jain),
            SortKey::JainFlows => report.indices.jain_flows.mean.map(|jain| -jain),
            SortKey::Level => distance_from_one(report.indices.fairness_level_first_station),
            SortKey::Ratio => distance_from_one(report.indices.up_down_ratio),
            SortKey::Delay => report.ap_queue.p95_sojourn_s.mean,
            SortKey::ShortFiles => report.transfers.first().and_then(|short| short.transfers.mean_s.mean),
        }
    };
    match (badness(a), badness(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_unknown_remedies_are_named() {
        let names = ["lass", "las", "tlass"].map(str::to_owned);
        let Err(refused) = chosen(&names) else { panic!("two are unknown") };
        assert_eq!(refused.to_string(), "there is no remedy `lass`, nor `tlass`");
    }
}
