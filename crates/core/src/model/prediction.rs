//! What a model says of a scenario.

use super::assumptions::{self, Check};
use super::capacity::{self, Stream, Transmitter};
use super::dcf::Backoff;
use super::error::ModelError;
use super::kinds::Kinds;
use crate::metrics::{ModelSection, ValueSource};
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::scenario::Scenario;
use crate::units::Bytes;

/// A model that answers scenarios, as it describes itself. The command, Python and the table of docs/models.md list these.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its key.
    pub name: &'static str,
    /// What it answers.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Scenarios that it answers where no model is named; empty: none.
    pub default_for: &'static str,
    /// Whether a scenario is one of them.
    pub(super) is_default: fn(&Scenario) -> bool,
    /// What it assumes, asked of a scenario in which a flow is critically starved, or not.
    pub(super) assumptions: fn(&Scenario, bool) -> Vec<Check>,
    /// Its answer.
    pub(super) answer: fn(&Scenario) -> Result<Prediction, ModelError>,
}

impl Model {
    /// The report's section about this model: where its `values` come from, and which of its assumptions `scenario` keeps.
    pub(super) fn section(&self, scenario: &Scenario, values: &[(&str, &str)], starvation: bool) -> ModelSection {
        let source =
            |(key, source): &(&str, &str)| ValueSource { key: (*key).to_owned(), source: (*source).to_owned() };
        ModelSection {
            name: self.name.to_owned(),
            values: values.iter().map(source).collect(),
            assumptions: assumptions::of(scenario, (self.assumptions)(scenario, starvation)),
            starvation,
        }
    }
}

/// What a model says of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Goodput of each flow in the scenario's order, bit/s.
    pub flows: Vec<f64>,
    /// Loss probability at the AP, all classes alike, where the model knows.
    pub ap_loss: Option<f64>,
    /// Packets that wait at the AP, where the model knows.
    pub ap_queue: Option<f64>,
    /// Packets that the AP sends per second, where the model knows: with the queue it gives the delay.
    pub ap_services: Option<f64>,
    /// Packets that wait at each station, where the model knows.
    pub station_queues: Option<Vec<f64>>,
    /// IP packets over the radio per second, both ways, where the model knows.
    pub packets: Option<f64>,
    /// The model's name, where values come from, and how far to trust them.
    pub section: ModelSection,
}

/// What turns relative goodputs, in segments, into bit/s: the capacity for their mix, of whose ACKs the AP loses `p`.
pub(super) fn capacity_of(scenario: &Scenario, kinds: &Kinds, shares: &[f64], p: f64) -> Result<f64, ModelError> {
    let params = &kinds.cell.params;
    let mut mix = vec![Transmitter { backoff: Backoff::new(params, 1.0)?, count: 1.0, streams: Vec::new() }];
    for station in &scenario.stations {
        mix.push(Transmitter { backoff: Backoff::new(params, station.beta)?, count: 1.0, streams: Vec::new() });
    }
    for ((station, flow), share) in scenario.flows().zip(shares) {
        let kind = &kinds.cell.stations[kinds.station[station]];
        let b = if flow.tcp.delayed_ack { 2.0 } else { 1.0 };
        let data = Bytes(u64::from(flow.tcp.mss) + TCP_IP_HEADER);
        let stream = |packets, ip_len, error| Stream { packets, ip_len, rate: kind.rate, error };
        let (down, up) = match flow.direction {
            Direction::Up => (
                stream(share / b * (1.0 - p), Bytes(TCP_IP_HEADER), kind.ack_error),
                stream(*share, data, kind.data_error),
            ),
            Direction::Down => {
                (stream(*share, data, kind.data_error), stream(share / b, Bytes(TCP_IP_HEADER), kind.ack_error))
            }
        };
        mix[0].streams.push(down);
        mix[station + 1].streams.push(up);
    }
    let mss = scenario.flows().next().map_or(0.0, |(_, flow)| f64::from(flow.tcp.mss));
    Ok(capacity::carry(params, &mix)?.mixes_per_s * mss * 8.0)
}
