//! What the page shows of a result.

use fairair_core::metrics::{Estimate, Report, starving, verdict};
use fairair_core::model::predict;
use fairair_core::scenario::Scenario;
use fairair_sim::plan::Prediction;
use serde::Serialize;

/// An engine's answer in brief. Quantities are as in results: goodput in bit/s, delays in s, shares and indices
/// dimensionless, with half-widths of 95 % confidence intervals where there are two replicas.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// Where it comes from.
    pub(crate) source: Source,
    /// In a sentence.
    pub(crate) sentence: String,
    /// Whether a flow or a station starves.
    pub(crate) starves: bool,
    /// Assumptions of the model that the cell breaks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) outside: Vec<String>,
    /// Replicas that it covers.
    pub(crate) replicas: u32,
    /// Measured time of each, s.
    measured_s: f64,
    goodput_bps: Estimate,
    goodput_up_bps: Estimate,
    goodput_down_bps: Estimate,
    up_flows: u32,
    down_flows: u32,
    up_down_ratio: Estimate,
    fairness_level: Estimate,
    jain_stations: Estimate,
    delay_mean_s: Estimate,
    delay_p95_s: Estimate,
    stations: Vec<Row>,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Source {
    /// A model.
    Model,
    /// One short run: a first look.
    Glance,
    /// The simulator.
    Simulation,
}

/// A station.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    goodput_up_bps: Estimate,
    goodput_down_bps: Estimate,
    goodput_bps: Estimate,
    goodput_share: Estimate,
    airtime_share: Estimate,
}

impl Answer {
    /// The brief form of `report` on `scenario`.
    pub(crate) fn new(report: &Report, scenario: &Scenario, source: Source) -> Self {
        let row = |station: &fairair_core::metrics::StationReport| Row {
            name: station.name.clone(),
            goodput_up_bps: station.goodput_up_bps,
            goodput_down_bps: station.goodput_down_bps,
            goodput_bps: station.goodput_bps,
            goodput_share: station.goodput_share,
            airtime_share: station.airtime_share,
        };
        Answer {
            source,
            sentence: verdict(report, scenario),
            starves: starving(report).is_some() || report.model.as_ref().is_some_and(|model| model.starvation),
            outside: Vec::new(),
            replicas: report.replicas,
            measured_s: report.measured_s,
            goodput_bps: report.totals.goodput_bps,
            goodput_up_bps: report.directions.up.goodput_bps,
            goodput_down_bps: report.directions.down.goodput_bps,
            up_flows: report.directions.up.flows,
            down_flows: report.directions.down.flows,
            up_down_ratio: report.indices.up_down_ratio,
            fairness_level: report.indices.fairness_level_first_station,
            jain_stations: report.indices.jain_stations,
            delay_mean_s: report.ap_delay.mean_s,
            delay_p95_s: report.ap_delay.p95_s,
            stations: report.stations.iter().map(row).collect(),
        }
    }

    /// The model's answer; the error says why no model has one.
    pub(crate) fn of_model(scenario: &Scenario) -> Result<Self, String> {
        let prediction = predict(scenario, None).map_err(|error| error.to_string())?;
        let report = prediction.report(scenario, env!("CARGO_PKG_VERSION"));
        let outside = Prediction::of(scenario).outside;
        Ok(Answer { outside, ..Answer::new(&report, scenario, Source::Model) })
    }
}
