//! `fairair compare --engines`: the same scenario by model and by simulation, value by value.

use std::io::IsTerminal;

use fairair_core::metrics::{Estimate, Provenance, Report};
use fairair_core::model;
use fairair_core::scenario::Scenario;
use fairair_sim::replicas::Pool;
use serde::Serialize;

use crate::args::{CompareArgs, Engine, Format};
use crate::error::{CliError, Exit};
use crate::interrupt;
use crate::output::{self, Style};
use crate::progress::Progress;

/// Name and version of the schema.
const SCHEMA: &str = "fairair.engines/1";

/// One scenario by several engines.
#[derive(Debug, Serialize)]
pub(crate) struct EngineComparison {
    pub(crate) schema: &'static str,
    pub(crate) name: String,
    pub(crate) interrupted: bool,
    /// The engines in the order of the values' columns; the last one is the reference.
    pub(crate) engines: Vec<String>,
    pub(crate) values: Vec<Value>,
    /// Each engine's whole result.
    pub(crate) reports: Vec<Report>,
}

/// A quantity by each engine.
#[derive(Debug, Serialize)]
pub(crate) struct Value {
    /// Its path in a result.
    pub(crate) key: String,
    pub(crate) estimates: Vec<Estimate>,
    /// Each engine's mean over the reference's, less 1; null where one of them does not exist.
    pub(crate) relative_errors: Vec<Option<f64>>,
}

/// Asks each engine and prints their answers side by side.
pub(crate) fn compare_engines(args: &CompareArgs, scenario: &Scenario) -> Result<Exit, CliError> {
    let mut interrupted = false;
    let mut reports = Vec::new();
    for engine in &args.engines {
        reports.push(match engine {
            Engine::Model => model::predict(scenario, None)
                .map_err(|error| CliError::Usage {
                    what: error.to_string(),
                    help: "leave `model` out of --engines".to_owned(),
                })?
                .report(scenario, env!("CARGO_PKG_VERSION")),
            Engine::Sim => {
                let report = simulate(scenario, args)?;
                interrupted |= report.interrupted;
                report
            }
            #[cfg(target_os = "linux")]
            Engine::Testbed => {
                let report = crate::testbed::measure_by_default(scenario)?;
                interrupted |= report.interrupted;
                report
            }
        });
    }
    let comparison = EngineComparison {
        schema: SCHEMA,
        name: scenario.name.clone(),
        interrupted,
        engines: reports.iter().map(|report| report.engine.clone()).collect(),
        values: values(&reports),
        reports,
    };
    output::print(&match args.format {
        Format::Table => output::engines::table(&comparison, Style::of_stdout(std::io::stdout().is_terminal())),
        Format::Json => {
            serde_json::to_string_pretty(&comparison).expect("reports have string keys and finite numbers") + "\n"
        }
        Format::Csv => output::engines::csv(&comparison),
    })?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::Success })
}

fn simulate(scenario: &Scenario, args: &CompareArgs) -> Result<Report, CliError> {
    let pool = Pool::new(args.jobs.unwrap_or(0).into()).map_err(|error| CliError::Threads(error.to_string()))?;
    let planned = scenario.run.replicas;
    let progress = Progress::new(planned);
    let simulate = |replica| fairair_sim::run(scenario, replica);
    let records = pool.run(0..planned, interrupt::flag(), simulate, |_| progress.done());
    let provenance = Provenance {
        engine: "simulator".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        replicas_planned: planned,
        interrupted: records.len() < planned as usize,
        until_ci: None,
    };
    Ok(Report::new(scenario, &records, provenance))
}

/// A path in a result and what is there.
type Path = (&'static str, fn(&Report) -> Estimate);

/// What all engines may know of the whole cell.
const PATHS: [Path; 10] = [
    ("totals.goodput_bps", |r| r.totals.goodput_bps),
    ("totals.packets_per_second", |r| r.totals.packets_per_second),
    ("directions.up.mean_flow_goodput_bps", |r| r.directions.up.mean_flow_goodput_bps),
    ("directions.down.mean_flow_goodput_bps", |r| r.directions.down.mean_flow_goodput_bps),
    ("indices.up_down_ratio", |r| r.indices.up_down_ratio),
    ("indices.fairness_level_first_station", |r| r.indices.fairness_level_first_station),
    ("indices.jain_stations", |r| r.indices.jain_stations),
    ("ap_queue.mean_packets", |r| r.ap_queue.mean_packets),
    ("ap_queue.drop_probability.data", |r| r.ap_queue.drop_probability.data),
    ("ap_queue.drop_probability.ack", |r| r.ap_queue.drop_probability.ack),
];

fn values(reports: &[Report]) -> Vec<Value> {
    let value = |key: String, of: &dyn Fn(&Report) -> Estimate| {
        let estimates: Vec<Estimate> = reports.iter().map(of).collect();
        let reference = estimates.last().and_then(|estimate| estimate.mean).filter(|mean| *mean != 0.0);
        let error = |estimate: &Estimate| Some(estimate.mean? / reference? - 1.0);
        Value { key, relative_errors: estimates.iter().map(error).collect(), estimates }
    };
    let mut values: Vec<Value> = PATHS.iter().map(|(key, of)| value((*key).to_owned(), of)).collect();
    let stations = reports.first().map_or(0, |report| report.stations.len());
    for index in 0..stations {
        let name = &reports[0].stations[index].name;
        values.push(value(format!("stations[{name}].goodput_bps"), &|r| r.stations[index].goodput_bps));
        values.push(value(format!("stations[{name}].uplink_queue_mean_packets"), &|r| {
            r.stations[index].uplink_queue_mean_packets
        }));
    }
    values.retain(|value| value.estimates.iter().any(|estimate| estimate.mean.is_some()));
    values
}
