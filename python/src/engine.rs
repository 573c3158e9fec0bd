//! Engines: a scenario in, a report out.

use std::path::PathBuf;

use fairair::{CliError, simulate_captured};
use fairair_core::metrics::{self, Provenance};
use fairair_core::model::{MODELS, Model, predict};
use fairair_core::record::Record;
use fairair_core::remedy::{REMEDIES, Remedy};
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;
use fairair_sim::replicas::Pool;
use fairair_sim::{Effort, SIMULATOR, Watch, simulate};
use pyo3::prelude::*;

use crate::document;
use crate::error::BadInput;
use crate::result::{Report, Transfer};
use crate::watch::watched;

/// What answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Engine {
    Sim,
    /// The model that applies, or the one that is named.
    Model(Option<&'static Model>),
}

impl Engine {
    pub(crate) fn named(engine: &str, model: Option<&str>) -> Result<Engine, BadInput> {
        match engine {
            "sim" => Ok(Engine::Sim),
            "model" => {
                let unknown = |name| BadInput::unknown("model", name, MODELS.iter().map(|model| model.name));
                let named = |name| Model::named(name).map_err(|_| unknown(name));
                Ok(Engine::Model(model.map(named).transpose()?))
            }
            other => Err(BadInput::unknown("engine", other, ["sim", "model", "testbed"])),
        }
    }

    /// The report on `scenario` in brief, replicas on this thread.
    pub(crate) fn report(self, scenario: &Scenario) -> Result<metrics::Report, BadInput> {
        match self {
            Engine::Sim => {
                let replicas = scenario.run.replicas;
                let records: Vec<_> = (0..replicas).map(|replica| fairair_sim::run(scenario, replica)).collect();
                Ok(metrics::Report::in_brief(scenario, &records, simulated(replicas)))
            }
            Engine::Model(model) => {
                let place = model.map_or_else(|| "model".to_owned(), |model| format!("model {}", model.name));
                let prediction = predict(scenario, model).map_err(|error| BadInput::of_model(place, &error))?;
                Ok(prediction.report(scenario, env!("CARGO_PKG_VERSION")))
            }
        }
    }
}

/// Every finished file of every replica.
fn transfers(records: &[Record]) -> Vec<Transfer> {
    let of_flow = |replica: usize, flow: usize, times: &[Duration]| {
        let of_time = move |time: &Duration| Transfer {
            replica: replica as u32,
            flow: flow as u32,
            duration_s: time.as_secs_f64(),
        };
        times.iter().map(of_time).collect::<Vec<_>>()
    };
    let of_record = |(replica, record): (usize, &Record)| {
        let flows = record.flows.iter().enumerate();
        flows.flat_map(|(flow, row)| of_flow(replica, flow, &row.transfer_times)).collect::<Vec<_>>()
    };
    records.iter().enumerate().flat_map(of_record).collect()
}

fn simulated(replicas: u32) -> Provenance {
    Provenance {
        engine: "simulator".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        replicas_planned: replicas,
        interrupted: false,
        until_ci: None,
    }
}

/// The remedy called `name`.
pub(crate) fn remedy(name: &str) -> Result<&'static Remedy, BadInput> {
    let known = || REMEDIES.iter().map(|remedy| remedy.name);
    Remedy::named(name).ok_or_else(|| BadInput::unknown("remedy", name, known()))
}

/// The scenario of a document, under the remedy that is named.
pub(crate) fn scenario_under(document: &str, remedy_name: Option<&str>) -> Result<Scenario, BadInput> {
    let scenario = document::scenario(&document::parse(document)?)?;
    let Some(name) = remedy_name else { return Ok(scenario) };
    let remedy = remedy(name)?;
    one_access_point(&scenario)?;
    Ok(remedy.applied(&scenario))
}

/// Remedies change one access point.
fn one_access_point(scenario: &Scenario) -> Result<(), BadInput> {
    let refused = |(problem, fix)| BadInput::new("access_point", problem, fix);
    scenario.with_one_access_point("remedies do not know").map_err(refused)
}

/// Name, where it is deployed, what it needs to know, and source of each remedy.
#[pyfunction]
pub(crate) fn remedies() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    REMEDIES.iter().map(|remedy| (remedy.name, remedy.deploy.name(), remedy.needs, remedy.source)).collect()
}

/// Name, what it answers, the scenarios that it is the default for, and source of each model of scenarios.
#[pyfunction]
pub(crate) fn models() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    MODELS.iter().map(|model| (model.name, model.what, model.default_for, model.source)).collect()
}

/// Asks an engine about a document, on `jobs` threads (0: one a processor).
///
/// The simulator adds replicas until half-widths are below `until_ci` per cent, `max_replicas` at most, and writes the
/// frames of replica 0 to `pcap`. `progress` is called with the replicas that are done and planned.
#[pyfunction]
#[pyo3(signature = (document, engine, model, remedy_name, jobs, until_ci=None, max_replicas=1000, pcap=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "the Python half names each of them")]
pub(crate) fn run(
    py: Python<'_>,
    document: &str,
    engine: &str,
    model: Option<&str>,
    remedy_name: Option<&str>,
    jobs: usize,
    until_ci: Option<f64>,
    max_replicas: u32,
    pcap: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let engine = Engine::named(engine, model)?;
    let scenario = scenario_under(document, remedy_name)?;
    let effort = Effort { until_ci_percent: until_ci, max_replicas };
    let work = move |watch: Watch| match engine {
        Engine::Model(_) => engine.report(&scenario).map(Report::without_transfers),
        Engine::Sim => {
            let pool = threads(jobs)?;
            let run = match &pcap {
                Some(file) => {
                    simulate_captured(&scenario, effort, &pool, watch, file).map_err(|error| refused(&error))?
                }
                None => simulate(&scenario, effort, &pool, watch),
            };
            Ok(Report { report: run.report(&scenario, SIMULATOR), transfers: transfers(&run.records) })
        }
    };
    Ok(watched(py, progress, work)??)
}

/// Simulates a document under each remedy of `names`, on `jobs` threads (0: one a processor); a report each.
/// `progress` is called with the replicas of all remedies that are done and planned.
#[pyfunction]
#[pyo3(signature = (document, names, jobs, progress=None))]
#[expect(clippy::needless_pass_by_value, reason = "the extractors own what they take")]
pub(crate) fn compare(
    py: Python<'_>,
    document: &str,
    names: Vec<String>,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Report>> {
    let scenario = document::scenario(&document::parse(document)?)?;
    let remedies = names.iter().map(|name| remedy(name)).collect::<Result<Vec<_>, _>>()?;
    one_access_point(&scenario)?;
    let work = move |watch: Watch| {
        let pool = threads(jobs)?;
        let rows = fairair_sim::compare(&scenario, &remedies, &pool, watch).rows.into_iter();
        Ok::<_, BadInput>(rows.map(|row| Report { transfers: transfers(&row.records), report: row.report }).collect())
    };
    Ok(watched(py, progress, work)??)
}

/// A pool of `jobs` threads; 0: one a processor.
pub(crate) fn threads(jobs: usize) -> Result<Pool, BadInput> {
    Pool::new(jobs).map_err(|error| {
        BadInput::new("jobs", format!("cannot start the worker threads: {error}"), "ask for fewer jobs")
    })
}

/// What kept a simulation from being run, or its capture from being written.
fn refused(error: &CliError) -> BadInput {
    match error {
        CliError::Unwritable { path, reason } | CliError::Write { path, reason } => BadInput::new(
            path.display().to_string(),
            format!("cannot write the capture: {reason}"),
            "name a file that you may write to",
        ),
        other => BadInput::new("pcap", other.to_string(), "report this"),
    }
}
