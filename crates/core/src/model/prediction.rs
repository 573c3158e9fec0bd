//! What a model says of a scenario.

use std::str::FromStr;

use super::capacity::{self, Stream, Transmitter};
use super::dcf::Backoff;
use super::error::ModelError;
use super::kinds::Kinds;
use crate::metrics::{ModelSection, ValueSource};
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::scenario::Scenario;
use crate::units::Bytes;

/// The models that can answer a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// [`super::detti2011`], with the total from [`super::capacity`].
    Detti2011,
    /// [`super::ha2009`].
    Ha2009,
    /// [`super::pokhrel2016`].
    Pokhrel2016,
    /// Shares by rule: fair queues, the box, the uplink limiter; ours.
    Shares,
    /// [`super::unified`].
    Unified,
}

impl Model {
    /// All of them.
    pub const ALL: [Model; 5] = [Model::Detti2011, Model::Ha2009, Model::Pokhrel2016, Model::Shares, Model::Unified];

    /// Its key.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// What it is for, in a line.
    pub const fn what(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Model::Detti2011 => (
                "detti2011",
                "Fairness between stations of an AP that loses packets; the total from the capacity model",
            ),
            Model::Ha2009 => ("ha2009", "An AP with a dual queue"),
            Model::Pokhrel2016 => {
                ("pokhrel2016", "Channel errors and buffer losses, one flow a station, all stations alike")
            }
            Model::Shares => (
                "shares",
                "What fair queues, the box and the uplink limiter promise, at the capacity of the cell; ours",
            ),
            Model::Unified => ("unified", "All of it at once; ours"),
        }
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Model::ALL.into_iter().find(|model| model.name() == name).ok_or_else(|| {
            let known = Model::ALL.map(Model::name).join(", ");
            format!("there is no model `{name}`: use one of {known}")
        })
    }
}

/// What a model says of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Who says it.
    pub model: Model,
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
    /// Where it comes from and how far to trust it.
    pub section: ModelSection,
}

/// Where values come from, as reports have it.
pub(super) fn sources(values: &[(&str, &str)]) -> Vec<ValueSource> {
    let source = |(key, source): &(&str, &str)| ValueSource { key: (*key).to_owned(), source: (*source).to_owned() };
    values.iter().map(source).collect()
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
