//! The result of a run: one schema for all engines, versioned and self-describing (docs/result.schema.json).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};

use super::Estimate;
use super::enforce::EnforceReport;
use super::rows::{
    ApDelay, ApReport, DirectionReport, FlowReport, MacReport, QueueReport, SizeTransfers, StationReport,
};

/// Name and version of the schema. The number grows when a key changes its meaning or goes; new keys do not change it.
pub const SCHEMA: &str = "fairair.result/1";

/// What a run of a scenario measured, over all replicas and after the warm-up.
///
/// SI units, named by the end of the key: `_bps` is bit/s, `_s` seconds; shares, probabilities, ratios and
/// indices are dimensionless. Goodput is payload delivered in order (TCP) or at all (UDP).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "FairAir result")]
pub struct Report {
    /// `fairair.result/1`.
    pub schema: String,
    /// What answered: `simulator`, `model` or `testbed`.
    pub engine: String,
    /// Version of the program.
    pub version: String,
    /// The scenario with all defaults filled in and station groups expanded.
    pub scenario: serde_json::Value,
    /// The scenario's seed; each replica's own is made of it and the replica's number.
    pub seed: u64,
    /// Replicas that the result covers: always the first ones, 0 to `replicas - 1`.
    pub replicas: u32,
    /// Replicas that were asked for; more than `replicas` when the run was interrupted.
    pub replicas_planned: u32,
    /// Whether the run was stopped before all replicas were done.
    pub interrupted: bool,
    /// The wanted precision, if replicas were added until it was reached; else null.
    pub until_ci: Option<UntilCi>,
    /// Time that each replica measured, without the warm-up.
    pub measured_s: f64,
    /// FNV-1a of the bits of all counters, 16 hexadecimal digits: equal runs have equal fingerprints.
    pub fingerprint: String,
    /// The whole cell.
    pub totals: Totals,
    /// By direction of the payload.
    pub directions: Directions,
    /// Fairness.
    pub indices: Indices,
    /// One row an access point where there are several, that of `[ap]` first; the keys from `ap_queue` to `ap_uplink_queue`, and `mac.ap`,
    /// are all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_points: Vec<ApReport>,
    /// The AP's queue towards the stations.
    pub ap_queue: QueueReport,
    /// Delay in the AP on the way to the stations.
    #[serde(default)]
    pub ap_delay: ApDelay,
    /// The AP's queue towards the wire.
    pub ap_uplink_queue: QueueReport,
    /// The box between gateway and AP; null without one.
    pub enforce: Option<EnforceReport>,
    /// Packets lost a replica, by reason: in all queues, the box's among them, at the retry limit of the MAC (`retry-limit`) and in full buffers of
    /// wires (`wire-full`). Empty where nothing was counted.
    #[serde(default)]
    pub losses: BTreeMap<String, Estimate>,
    /// The MAC of the AP and of all transmitters together; each station's is in `stations`.
    pub mac: MacSection,
    /// One row a station, in the scenario's order.
    pub stations: Vec<StationReport>,
    /// One row a flow, in the scenario's order.
    pub flows: Vec<FlowReport>,
    /// Transfers by file size, the smallest first; empty without files.
    pub transfers: Vec<SizeTransfers>,
    /// Time series of replica 0; null unless the scenario asks for samples.
    pub series: Option<SeriesReport>,
    /// Where a model's values come from and what it assumes; null when packets were counted. A model has no replicas:
    /// what it knows has `n` = 1 and no interval, what it does not know is null with `n` = 0.
    pub model: Option<ModelSection>,
    /// How real time was kept, and what was seen beside the flows; null unless real hosts were run.
    #[serde(default)]
    pub testbed: Option<TestbedSection>,
}

/// What the testbed says of itself: over all replicas, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestbedSection {
    /// Release of the kernel whose TCP it was.
    pub kernel: String,
    /// `linux`: TCP as the kernel has it; `scenario`: as near to the scenario's as the kernel can be told.
    pub stack: String,
    /// `deep`: stations queue all they have to send; `driver`: a ring of a few frames with back-pressure.
    pub uplink: String,
    /// Whether the emulation had real-time priority.
    pub realtime: bool,
    /// Whether the emulation kept time: 99 % of the frames were handed over within `lateness_bound_s`.
    pub on_time: bool,
    /// Latest hand-over that is on time.
    pub lateness_bound_s: f64,
    /// Median of hand-over less scheduled time; null without frames. Contention is exact whatever it is.
    pub lateness_p50_s: Option<f64>,
    /// 99th percentile, of the worst replica.
    pub lateness_p99_s: Option<f64>,
    /// The largest.
    pub lateness_max_s: f64,
    /// Processor time of the emulation over its length: 1 is one core.
    pub cpu_share: Option<f64>,
    /// Frames handed over.
    pub frames: u64,
    /// Frames lost outside of all queues, from the start of the run.
    pub lost: TestbedLosses,
    /// Round-trip times by ping from the fixed host, one row a station; empty without pings.
    pub round_trips: Vec<RoundTrips>,
    /// The whole minutes of the first replica after its warm-up: what grows in a long run shows here.
    pub minutes: Vec<TestbedMinute>,
    /// Whose box it was: `emulated`, `live` (`fairair vsb` in the kernel); null without a box.
    #[serde(rename = "box")]
    pub which_box: Option<String>,
    /// Probes of a live box, which pass by its queues: the delay of the cell alone. Null otherwise.
    pub probes: Option<ProbeTrips>,
    /// What a live box reported of its capacity at the end, such as that C is above what the cell carries; each once.
    #[serde(default)]
    pub findings: Vec<String>,
}

/// A minute of the measured time on the testbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestbedMinute {
    /// Frames handed over.
    pub frames: u64,
    /// 99th percentile of hand-over less scheduled time; null without frames.
    pub lateness_p99_s: Option<f64>,
    /// The largest.
    pub lateness_max_s: f64,
    /// Resident memory of the process at the minute's end.
    pub resident_bytes: u64,
}

/// Round trips of a live box's probes after the warm-up, of all replicas together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeTrips {
    /// Probes sent.
    pub sent: u64,
    /// Probes answered.
    pub answered: u64,
    /// Median of the answered ones; null without an answer.
    pub p50_s: Option<f64>,
    /// Their 95th percentile.
    pub p95_s: Option<f64>,
    /// The longest.
    pub max_s: Option<f64>,
}

/// Frames that the testbed lost for reasons of its own; those that queues, MAC and wires drop are counted there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestbedLosses {
    /// The emulation stalled until a device's queue of 10,000 frames was full.
    pub overrun: u64,
    /// A host's interface was down.
    pub refused: u64,
    /// Addressed to no station of the cell.
    pub unknown_address: u64,
}

/// Round-trip times of a station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrips {
    /// The station.
    pub station: String,
    /// Pings sent.
    pub sent: u64,
    /// Pings answered.
    pub answered: u64,
    /// Mean of the answered ones, over replicas.
    pub mean_s: Estimate,
    /// The longest; null without an answer.
    pub max_s: Option<f64>,
}

/// What a model says of its own answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSection {
    /// Which model: `detti2011`, `ha2009`, `pokhrel2016`, `shares` or `unified`.
    pub name: String,
    /// Where values come from.
    pub values: Vec<ValueSource>,
    /// What the model assumes and whether the scenario keeps it.
    pub assumptions: Vec<Assumption>,
    /// Whether some flow is predicted to be critically starved: below 5 % of the fair share.
    pub starvation: bool,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueSource {
    /// Key in the result.
    pub key: String,
    /// Model and equations.
    pub source: String,
}

/// An assumption of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assumption {
    /// The paper's name for it, where it has one.
    pub name: String,
    /// Whether the scenario keeps it; when not, the values are outside what the model was made for.
    pub holds: bool,
    /// What is assumed.
    pub what: String,
}

impl Report {
    /// Mean waiting time in the box's queue of the station that waits longest, in seconds; nothing without a box.
    pub fn box_sojourn_s(&self) -> Estimate {
        let waits = self.enforce.iter().flat_map(|enforce| &enforce.stations).map(|station| station.mean_sojourn_s);
        waits.max_by(|a, b| a.mean.unwrap_or(0.0).total_cmp(&b.mean.unwrap_or(0.0))).unwrap_or_default()
    }
}

/// A precision that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UntilCi {
    /// Wanted 95 % half-width over mean, in per cent.
    pub target_percent: f64,
    /// Whether total goodput and the mean flow goodput of each direction that is not starved are that precise.
    pub reached: bool,
}

/// The whole cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Goodput of all flows.
    pub goodput_bps: Estimate,
    /// IP packets that crossed the radio (acknowledged by the MAC) per second, both directions, TCP ACKs included.
    pub packets_per_second: Estimate,
}

/// By direction of the payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Directions {
    /// Uploads: from stations to the wire.
    pub up: DirectionReport,
    /// Downloads.
    pub down: DirectionReport,
}

/// Fairness, dimensionless. Stations without flows do not take part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Indices {
    /// Jain's index over the flows' goodputs: `(sum x)^2 / (n sum x^2)`; mean of the replicas' indices.
    pub jain_flows: Estimate,
    /// Jain's index over the stations' goodputs, both directions added; mean of the replicas' indices.
    pub jain_stations: Estimate,
    /// R: mean goodput of the up flows over that of the down flows, as a quotient of means over replicas.
    pub up_down_ratio: Estimate,
    /// Goodput of station 1 over the mean of the other stations (detti2011), as a quotient of means over replicas.
    pub fairness_level_first_station: Estimate,
    /// `eta[i][j]`: goodput of station i over that of station j, as quotients of means over replicas, 0-based;
    /// null with more than 32 stations.
    pub fairness_level: Option<Vec<Vec<Estimate>>>,
    /// Flows a replica with less than 5 % of their max-min share of the replica's goodput, given what they ask for.
    #[serde(default)]
    pub starved_flows: Estimate,
    /// Stations a replica with less than 5 % of their max-min share.
    #[serde(default)]
    pub starved_stations: Estimate,
}

/// The MAC beside the stations' rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MacSection {
    /// The AP's transmitter.
    pub ap: MacReport,
    /// All stations' transmitters added up, without the AP.
    pub stations: MacReport,
}

/// Samples of one replica at equal distances, column by column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesReport {
    /// The replica that was sampled.
    pub replica: u32,
    /// Times of the samples, from the start of the run.
    pub at_s: Vec<f64>,
    /// Packets waiting in the AP's queue towards the stations.
    pub ap_queue_packets: Vec<u32>,
    /// Congestion window in segments, one column a flow in the scenario's order; empty for UDP.
    pub cwnd_segments: Vec<Vec<f32>>,
}

/// The JSON Schema (2020-12) of a serialised [`Report`], as committed in docs/result.schema.json.
pub fn json_schema() -> serde_json::Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Report>().to_value()
}
