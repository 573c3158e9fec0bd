//! One scenario by several engines, value by value.

use fairair_core::metrics::quantity::{CELL, STATION};
use fairair_core::metrics::{Estimate, Report, Unit};
use fairair_core::model::{Model, ModelError, predict};
use fairair_core::scenario::Scenario;
use serde::Serialize;

use crate::replicas::Pool;
use crate::simulate::{Effort, SIMULATOR, simulate};
use crate::watch::Watch;

/// Name and version of the schema.
pub const SCHEMA: &str = "fairair.engines/1";

/// What answers a scenario without a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Engine {
    /// An analytical model: the one that is named, or the default for the scenario.
    Model(Option<&'static Model>),
    /// The simulator.
    Simulator,
}

impl Engine {
    /// The engine's answer. A model answers at once and asks nobody whether to stop.
    ///
    /// # Errors
    /// When the model has no answer to this scenario.
    pub fn report(self, scenario: &Scenario, effort: Effort, pool: &Pool, watch: Watch) -> Result<Report, ModelError> {
        match self {
            Engine::Model(model) => Ok(predict(scenario, model)?.report(scenario, env!("CARGO_PKG_VERSION"))),
            Engine::Simulator => Ok(simulate(scenario, effort, pool, watch).report(scenario, SIMULATOR)),
        }
    }
}

/// One scenario by several engines.
#[derive(Clone, Debug, Serialize)]
pub struct EngineComparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The scenario's name.
    pub name: String,
    /// Whether one of the engines was stopped before it was done.
    pub interrupted: bool,
    /// The engines in the order of the values' columns; the last one is the reference.
    pub engines: Vec<String>,
    /// What at least one of them knows.
    pub values: Vec<Value>,
    /// Each engine's whole result.
    pub reports: Vec<Report>,
}

/// A quantity by each engine.
#[derive(Clone, Debug, Serialize)]
pub struct Value {
    /// Its path in a result.
    pub key: String,
    /// Its unit.
    #[serde(skip)]
    pub unit: Unit,
    /// What each engine says of it.
    pub estimates: Vec<Estimate>,
    /// Each engine's mean over the reference's, less 1; null where one of them does not exist.
    pub relative_errors: Vec<Option<f64>>,
}

impl EngineComparison {
    /// Puts results on the same scenario side by side; the last one is the reference.
    pub fn new(scenario: &Scenario, reports: Vec<Report>) -> Self {
        EngineComparison {
            schema: SCHEMA,
            name: scenario.name.clone(),
            interrupted: reports.iter().any(|report| report.interrupted),
            engines: reports.iter().map(|report| report.engine.clone()).collect(),
            values: values(&reports),
            reports,
        }
    }
}

fn values(reports: &[Report]) -> Vec<Value> {
    let value = |key: String, unit: Unit, of: &dyn Fn(&Report) -> Estimate| {
        let estimates: Vec<Estimate> = reports.iter().map(of).collect();
        let reference = estimates.last().and_then(|estimate| estimate.mean).filter(|mean| *mean != 0.0);
        let error = |estimate: &Estimate| Some(estimate.mean? / reference? - 1.0);
        Value { key, unit, relative_errors: estimates.iter().map(error).collect(), estimates }
    };
    let cell = CELL.iter().filter(|cell| cell.by_engines);
    let mut values: Vec<Value> =
        cell.map(|cell| value(cell.quantity.key.to_owned(), cell.quantity.unit, &|r| cell.of(r))).collect();
    for (index, station) in reports.first().iter().flat_map(|report| report.stations.iter().enumerate()) {
        for of in STATION.iter().filter(|of| OF_STATIONS.contains(&of.name)) {
            let key = format!("stations[{}].{}", station.name, of.key);
            values.push(value(key, of.unit, &|r| (of.of)(&r.stations[index])));
        }
    }
    values.retain(|value| value.estimates.iter().any(|estimate| estimate.mean.is_some()));
    values
}

/// What all engines may know of a station.
const OF_STATIONS: [&str; 2] = ["goodput_bps", "uplink_queue_mean_packets"];
