//! What a model says of a candidate, to stand beside what was simulated.

use fairair_core::metrics::Report;
use fairair_core::model::predict;
use fairair_core::scenario::Scenario;
use serde::Serialize;

/// A model's answer to a candidate; what it does not know is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prediction {
    /// Who says it.
    pub model: Option<String>,
    /// Why nobody says anything.
    pub unknown: Option<String>,
    /// Goodput of the cell.
    pub goodput_bps: Option<f64>,
    /// First station over the mean of the others.
    pub fairness_level_first_station: Option<f64>,
    /// Jain's index over stations.
    pub jain_stations: Option<f64>,
    /// Mean goodput of an upload over that of a download.
    pub up_down_ratio: Option<f64>,
    /// Mean delay in the AP. No model knows percentiles.
    pub delay_mean_s: Option<f64>,
    /// Assumptions of the model that the candidate breaks: there it is outside its domain.
    pub outside: Vec<String>,
}

impl Prediction {
    /// Asks the model that applies to `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        match predict(scenario, None) {
            Err(error) => Prediction { unknown: Some(error.to_string()), ..Prediction::default() },
            Ok(prediction) => {
                let broken = prediction.section.assumptions.iter().filter(|assumption| !assumption.holds);
                let outside = broken.map(|assumption| assumption.name.clone()).collect();
                let report = prediction.report(scenario, env!("CARGO_PKG_VERSION"));
                Prediction { model: Some(prediction.section.name), outside, ..Prediction::values(&report) }
            }
        }
    }

    /// The same values of a simulation.
    pub fn values(report: &Report) -> Self {
        Prediction {
            goodput_bps: report.totals.goodput_bps.mean,
            fairness_level_first_station: report.indices.fairness_level_first_station.mean,
            jain_stations: report.indices.jain_stations.mean,
            up_down_ratio: report.indices.up_down_ratio.mean,
            delay_mean_s: report.ap_delay.mean_s.mean,
            ..Prediction::default()
        }
    }
}
