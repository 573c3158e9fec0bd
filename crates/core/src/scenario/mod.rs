//! The scenario: one cell with its stations and flows, as every engine reads it.
//!
//! These are the checked, expanded values (a station with `count = 4` stands here four times).
//! [`Scenario::load`] reads them from a file (docs/scenario.md has the format). The reader is layered: `value`
//! reads single values, `cursor` tables, `sections` and `station` know the keys, `error` says what is wrong and where.

mod access_point;
mod ap;
mod build;
mod cursor;
mod defaults;
mod edca;
mod enforce;
mod error;
mod event;
mod excerpt;
mod modulation;
mod name;
mod parse;
mod periods;
mod protection;
mod qos;
mod queue;
mod sections;
mod station;
mod tcp;
mod traffic;
mod value;

#[cfg(test)]
mod tests;

pub(crate) use build::segments;
pub use defaults::MOST_REPLICAS;
pub use error::{InvalidScenario, ScenarioError};

pub use crate::mac::{QosRadio, Radio};
pub use crate::preset::Preset;

/// The reader of scenario files, for other TOML files of ours: the same checks and the same errors.
pub mod reader {
    pub use super::cursor::{At, Kind, KnownKeys, Table};
    pub use super::enforce::capacity;
    pub use super::error::{Checked, Mistake, Span};
    pub use super::name::checked_name;
    pub use super::parse::{from_toml, load};
    pub use super::value::{FromToml, Reason, choose, nearest, wrong_type};
}

use serde::{Deserialize, Serialize};

use crate::ap::{UplinkLimiterParams, WindowCapParams};
use crate::control::CapacityParams;
use crate::mac::{Phy, TxVector};
use crate::packet::{Category, Direction};
use crate::qdisc::{Mac80211Params, QdiscSpec};
use crate::shaper::{LeafRule, QueueRule, VsbParams};
use crate::tcp::TcpParams;
use crate::units::{Bitrate, Bytes, Duration, Probability};

/// A checked scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Name, for titles and file names.
    pub name: String,
    /// How long, how often, which randomness.
    pub run: Run,
    /// The medium.
    pub radio: Radio,
    /// The access point's queues.
    pub ap: Ap,
    /// Further access points on the channel, each with stations of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_points: Vec<AccessPoint>,
    /// The wired path between the AP and the gateway, which all flows cross; each access point has one like it.
    pub wire: Wire,
    /// The stations, at least one.
    pub stations: Vec<Station>,
    /// The box between gateway and AP, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce: Option<Enforce>,
    /// What changes during the run, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TimedEvent>,
}

/// Length and repetition of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Simulated time in all.
    pub duration: Duration,
    /// Time at the start that the results leave out; shorter than `duration`.
    pub warmup: Duration,
    /// Independent repetitions, at least 1.
    pub replicas: u32,
    /// Replica `i` runs with a seed made of this and `i`.
    pub seed: u64,
    /// Each flow starts at its `start` plus a uniform draw from `[0, start_spread)`.
    pub start_spread: Duration,
    /// Distance of the samples of the time series (queue occupancy, cwnd); `None` records none.
    pub sample_interval: Option<Duration>,
    /// Which rules apply where stock ns-2 departs from the standards.
    pub preset: Preset,
}

impl Radio {
    /// The modulation of data from and to `station`.
    pub fn station_tx(&self, station: &Station) -> TxVector {
        station.tx.unwrap_or_else(|| self.tx(station.rate))
    }
}

/// The access point's two queues.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ap {
    /// Towards the stations.
    pub queue: QdiscSpec,
    /// Packets that wait for the wire at most, at least 1.
    pub uplink_queue: usize,
    /// Rewrites receive windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_cap: Option<WindowCapParams>,
    /// Slows the way to the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_limiter: Option<UplinkLimiterParams>,
}

/// A further access point on the channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccessPoint {
    /// Unique name; that of `[ap]` is [`AP`].
    pub name: String,
    /// Towards its stations.
    pub queue: QdiscSpec,
    /// Packets that wait for its wire at most, at least 1.
    pub uplink_queue: usize,
}

/// The name of the access point of `[ap]`.
pub const AP: &str = "ap";

/// What batches are counted in.
const FULL_PACKET: Bytes = Bytes(1500);
/// Most packets of a batch where nothing else is asked for: buffers of access points that hold a few hundred have room for several.
const LARGEST_BATCH: u64 = 80;

/// The box between gateway and AP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enforce {
    /// How capacity is shared.
    pub vsb: VsbParams,
    /// How much there is to share.
    pub capacity: CapacityParams,
}

impl Enforce {
    /// Most that a controller tries: detti2011 has 6 Mbit/s for 802.11b; OFDM in proportion to its highest rate.
    pub const fn most(phy: Phy) -> Bitrate {
        match phy {
            Phy::B => Bitrate::mbps(6),
            Phy::A | Phy::G | Phy::N | Phy::Ac | Phy::Ax => Bitrate::mbps(30),
        }
    }

    /// The same for the cell of `radio`: aggregates carry nearly the data rate.
    pub const fn most_in(radio: &Radio) -> Bitrate {
        if radio.qos.is_some() { radio.rate } else { Enforce::most(radio.phy) }
    }

    /// The box where the file says nothing: detti2011's; where the radio aggregates, with batches of a full PPDU, at most 80 packets, queues as
    /// long as the rate of their class asks for, and flows apart.
    pub fn usual_box(radio: &Radio) -> VsbParams {
        let usual = VsbParams::default();
        match radio.packets_in_ppdu(FULL_PACKET) {
            0 | 1 => usual,
            packets => VsbParams {
                queue: QueueRule::Auto,
                leaf: LeafRule::Auto,
                batch: Bytes(packets.min(LARGEST_BATCH) * FULL_PACKET.0),
                ..usual
            },
        }
    }
}

/// Something that happens once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedEvent {
    /// When, from the start of the run.
    pub at: Duration,
    /// What changes.
    pub action: Action,
}

/// What a [`TimedEvent`] changes. Stations are positions in [`Scenario::stations`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Action {
    /// Frames from and to the stations have another data rate.
    Rate {
        /// Positions of the stations.
        stations: Vec<usize>,
        /// The new rate.
        rate: Bitrate,
        /// The new modulation, where it has an MCS.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tx: Option<TxVector>,
    },
    /// Nobody sends for a while: something else holds the medium.
    Silence {
        /// How long.
        lasts: Duration,
    },
    /// The box begins to shape, or lets everything pass. Before the first of these it does the opposite.
    Enforce {
        /// Whether it shapes from now on.
        on: bool,
    },
    /// The stations answer no probe, or do again.
    Deaf {
        /// Positions of the stations.
        stations: Vec<usize>,
        /// Whether they are deaf from now on.
        on: bool,
    },
    /// The stations answer probes late, each time by a uniform draw, as one that sleeps between beacons; zero: awake.
    Sleep {
        /// Positions of the stations.
        stations: Vec<usize>,
        /// Least delay of an answer.
        shortest: Duration,
        /// Largest delay of an answer.
        longest: Duration,
    },
}

/// A wired path between the AP and a host; both directions alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wire {
    /// Bottleneck rate.
    pub rate: Bitrate,
    /// One-way delay.
    pub delay: Duration,
    /// Packets that wait at the host's end at most, at least 1.
    pub queue: usize,
}

/// A station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Station {
    /// Unique name.
    pub name: String,
    /// The name in the file, where `count` makes several stations of one table: `web` of `web-1` to `web-4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its access point: 0 is that of `[ap]`, then come those of [`Scenario::access_points`].
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub ap: usize,
    /// Data rate of its frames, both ways; with an MCS its rate, to the nearest bit/s.
    pub rate: Bitrate,
    /// Modulation of its frames, both ways, with the PHYs that have MCSs. Its PHY may be older than the AP's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx: Option<TxVector>,
    /// Channel access priority against the AP: the ratio of access rates when both are backlogged (detti2011 section 3).
    pub beta: f64,
    /// Error probability of each data frame from or to it that carries payload, whatever its length.
    pub frame_error: Probability,
    /// Bit error rate of every data frame from or to it.
    pub bit_error_rate: f64,
    /// Packets that wait for the radio at most, at least 1.
    pub uplink_queue: usize,
    /// Linux' queues in place of a first in, first out one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_mac80211: Option<Mac80211Params>,
    /// Its share of the box's capacity against the others'.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: f64,
    /// Most that the box lets it have, in IP bytes of both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Bitrate>,
    /// Its flows, possibly none.
    pub flows: Vec<Flow>,
}

impl Station {
    /// The name of its table in the file; the stations of a counted group have one.
    pub fn name_in_file(&self) -> &str {
        self.group.as_deref().unwrap_or(&self.name)
    }

    /// Packets up to which greedy datagram uploads fill the station's queue, where other uploads or categories send beside them: all but one
    /// place of a first in, first out queue; in Linux' queues each flow has a send buffer of its own. `None`: they are alone.
    pub fn greedy_fill(&self) -> Option<usize> {
        let is_greedy = |flow: &Flow| matches!(flow.traffic, Traffic::UdpGreedy { .. });
        let mut uploads = self.flows.iter().filter(|flow| flow.direction == Direction::Up);
        let first = uploads.next()?;
        let alone = is_greedy(first) && uploads.all(|flow| is_greedy(flow) && flow.category == first.category);
        let fill = if self.uplink_mac80211.is_some() { SEND_BUFFER } else { (self.uplink_queue - 1).max(1) };
        (!alone).then_some(fill)
    }
}

fn one() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, clippy::float_cmp)] // The signature is serde's; 1 is exact.
fn is_one(weight: &f64) -> bool {
    *weight == 1.0
}

/// A flow between a station and a wired host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Way of the payload.
    pub direction: Direction,
    /// What is sent.
    pub traffic: Traffic,
    /// TCP parameters, or those of QUIC (unused by other UDP).
    pub tcp: TcpParams,
    /// Earliest start.
    pub start: Duration,
    /// End of sending, if before the run's.
    pub stop: Option<Duration>,
    /// Its own wired path beyond the common one: a remote or slow server.
    pub wire: Option<Wire>,
    /// Access category of its packets over the radio, both ways.
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub category: Category,
}

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Traffic {
    /// TCP without end.
    Bulk,
    /// TCP: files of `size`, each a connection of its own. Files follow each other during a burst, then comes a pause.
    Files {
        /// Bytes of each file, at least 1.
        size: Bytes,
        /// How many in all (`None`: without end).
        count: Option<u32>,
        /// Mean length of a burst, exponential; zero: a burst is one file.
        burst: Duration,
        /// Mean pause after a burst, exponential; zero: none.
        idle: Duration,
    },
    /// QUIC without end: UDP whose sender answers congestion. [`Flow::tcp`] has its congestion control and what a datagram carries.
    Quic,
    /// UDP that always has a packet to send.
    UdpGreedy {
        /// Payload of each datagram.
        payload: Bytes,
    },
    /// UDP at a constant rate of payload.
    UdpCbr {
        /// Payload of each datagram.
        payload: Bytes,
        /// Payload rate.
        rate: Bitrate,
    },
}

/// Packets that a socket's send buffer holds: 212,992 bytes of Linux' `net.core.wmem_default`, 2304 bytes each.
const SEND_BUFFER: usize = 92;

impl Scenario {
    /// Names of all access points, that of `[ap]` first.
    pub fn access_point_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(AP).chain(self.access_points.iter().map(|own| own.name.as_str()))
    }

    /// Names of all nodes, by [`NodeId::position`](crate::packet::NodeId::position): the first access point is the "AP", a further one "AP hall".
    pub fn node_names(&self) -> impl Iterator<Item = String> {
        let stations = self.stations.iter().map(|station| station.name.clone());
        let more = self.access_points.iter().map(|own| format!("AP {}", own.name));
        std::iter::once("AP".to_owned()).chain(stations).chain(more)
    }

    /// What is beyond those who know one access point only, in words; `None`: there is one.
    pub fn several_access_points(&self) -> Option<String> {
        let first = self.access_points.first()?;
        Some(format!("several access points (`{}` beside that of [ap])", first.name))
    }

    /// Refuses several access points for `what`, such as "the planner does not know".
    ///
    /// # Errors
    /// What is wrong, and what to do about it.
    pub fn with_one_access_point(&self, what: &str) -> Result<(), (String, String)> {
        let fix = "remove [[access_point]] with its stations, or use `fairair run`";
        self.several_access_points().map_or(Ok(()), |several| Err((format!("{what} {several}"), fix.to_owned())))
    }

    /// Number of flows.
    pub fn flow_count(&self) -> usize {
        self.stations.iter().map(|station| station.flows.len()).sum()
    }

    /// For each flow, in the order of [`Scenario::flows`], whether it is there in any of the measured time.
    pub fn measured_flows(&self) -> impl Iterator<Item = bool> {
        let Run { warmup, duration, .. } = self.run;
        self.flows().map(move |(_, flow)| flow.start < duration && flow.stop.is_none_or(|stop| stop > warmup))
    }

    /// The stations that have such a flow: who can be compared.
    pub fn measured_stations(&self) -> Vec<usize> {
        let flows = self.flows().zip(self.measured_flows());
        let mut stations: Vec<usize> = flows.filter_map(|((own, _), there)| there.then_some(own)).collect();
        stations.dedup();
        stations
    }

    /// All flows with their station's index, in the order of [`crate::packet::FlowId`].
    pub fn flows(&self) -> impl Iterator<Item = (usize, &Flow)> {
        self.stations
            .iter()
            .enumerate()
            .flat_map(|(index, station)| station.flows.iter().map(move |flow| (index, flow)))
    }
}
