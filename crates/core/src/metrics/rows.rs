//! The rows of a report: directions, stations, flows, queues, transmitters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Estimate;
use crate::packet::Direction;

/// All flows of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionReport {
    /// How many flows, TCP, QUIC and UDP.
    pub flows: u32,
    /// Goodput of all flows of the direction.
    pub goodput_bps: Estimate,
    /// Mean goodput of a flow of the direction.
    pub mean_flow_goodput_bps: Estimate,
    /// Population standard deviation over mean of the flows' goodputs (detti2005 Table 1); mean over replicas.
    pub sigma_over_mean: Estimate,
    /// Retransmitted segments over segments sent with payload.
    pub retransmit_share: Estimate,
    /// Retransmission timeouts a replica, all flows of the direction added.
    pub timeouts: Estimate,
    /// Finite files.
    pub transfers: Transfers,
}

/// Files that ended within the measured time. A transfer lasts from the first SYN to the last ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transfers {
    /// Files a replica.
    pub count: Estimate,
    /// Mean transfer time of a file; mean of the replicas' means.
    pub mean_s: Estimate,
    /// Coefficient of variation of the transfer times, sample standard deviation over mean; mean over replicas.
    pub cov: Estimate,
}

/// Files of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeTransfers {
    /// Payload bytes of each file.
    pub size_bytes: u64,
    /// Their transfers.
    pub transfers: Transfers,
}

/// How long packets to the stations are in the AP: until its MAC has them, which holds one packet; in cells of 802.11n, ac and ax, where the
/// MAC holds what the next aggregates carry, until they are first sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApDelay {
    /// Time of a packet in the AP until it is with the MAC or, with 802.11n, ac and ax, first sent.
    pub mean_s: Estimate,
    /// Time that 95 % of the packets did not exceed.
    pub p95_s: Estimate,
    /// Time that 99 % did not exceed.
    pub p99_s: Estimate,
}

/// A queue. Packet counts are means a replica.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueReport {
    /// Packets waiting, mean over time.
    pub mean_packets: Estimate,
    /// Waiting time of a packet that was served.
    pub mean_sojourn_s: Estimate,
    /// Waiting time that 95 % of the served packets did not exceed; kept for the AP's queue only.
    pub p95_sojourn_s: Estimate,
    /// Waiting time that 99 % did not exceed.
    pub p99_sojourn_s: Estimate,
    /// Packets that arrived.
    pub arrivals: ByClass,
    /// Packets dropped, by reason.
    pub drops: BTreeMap<String, ByClass>,
    /// Packets dropped for any reason over packets that arrived.
    pub drop_probability: ByClass,
}

/// By packet class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByClass {
    /// TCP segments with payload, and SYNs.
    pub data: Estimate,
    /// TCP segments without payload, and SYN-ACKs.
    pub ack: Estimate,
    /// Not TCP.
    pub other: Estimate,
}

/// One DCF transmitter, or several added up. Frame counts are means a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MacReport {
    /// Data frames put on the air, retries included.
    pub attempts: Estimate,
    /// Attempts that overlapped with another's over attempts.
    pub collision_probability: Estimate,
    /// Attempts that the channel spoilt.
    pub frame_errors: Estimate,
    /// Frames acknowledged.
    pub delivered: Estimate,
    /// Frames given up at the retry limit.
    pub discards: Estimate,
    /// Share of the measured time that its attempts took: DATA, SIFS and MAC ACK. Those that collide count for each.
    pub airtime_share: Estimate,
    /// PPDUs with data; absent, as all that follow, in cells under DCF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ppdus: Option<Estimate>,
    /// MPDUs in a PPDU with data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpdus_per_ppdu: Option<Estimate>,
    /// TXOPs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txops: Option<Estimate>,
    /// MPDUs sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpdu_retries: Option<Estimate>,
    /// PPDUs with data whose ACK or BlockAck was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_missed: Option<Estimate>,
    /// BlockAckReqs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bars: Option<Estimate>,
    /// RTS frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts: Option<Estimate>,
}

/// One access point of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApReport {
    /// Its name; that of `[ap]` is `ap`.
    pub name: String,
    /// Goodput of its stations.
    pub goodput_bps: Estimate,
    /// Its queue towards its stations.
    pub queue: QueueReport,
    /// Its queue towards its wire.
    pub uplink_queue: QueueReport,
    /// Its transmitter.
    pub mac: MacReport,
}

/// One station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StationReport {
    /// Its name.
    pub name: String,
    /// Common name of the run of neighbours that differ from it in nothing but the number at the end of
    /// their names; its own name when there are none.
    pub group: String,
    /// Goodput of its uploads; zero when it has none.
    pub goodput_up_bps: Estimate,
    /// Goodput of its downloads; zero when it has none.
    pub goodput_down_bps: Estimate,
    /// Goodput of all its flows.
    pub goodput_bps: Estimate,
    /// Its goodput over the whole cell's.
    pub goodput_share: Estimate,
    /// Share of the measured time that frames to and from it took: DATA, SIFS and MAC ACK of every attempt.
    pub airtime_share: Estimate,
    /// The part of it for frames to the station.
    pub airtime_down_share: Estimate,
    /// Time from the arrival of a packet to it in its AP's queue until the packet was first sent, 95th percentile; null when there was none.
    #[serde(default)]
    pub ap_delay_p95_s: Estimate,
    /// Packets waiting in its queue towards the radio, mean over time.
    pub uplink_queue_mean_packets: Estimate,
    /// Waiting time in that queue of a packet that was served.
    pub uplink_queue_mean_sojourn_s: Estimate,
    /// Packets dropped there over packets that arrived there, all classes.
    pub uplink_queue_drop_probability: Estimate,
    /// Its transmitter.
    pub mac: MacReport,
}

/// Transport protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// QUIC.
    Quic,
    /// UDP.
    Udp,
}

/// Way of a flow's payload.
// Stands in for [`Direction`] in the schema.
#[derive(JsonSchema)]
#[schemars(rename = "Direction", rename_all = "lowercase")]
#[allow(dead_code)]
enum DirectionName {
    /// Upload.
    Up,
    /// Download.
    Down,
}

/// One flow. Packet counts are means a replica.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowReport {
    /// Name of its station.
    pub station: String,
    /// Way of its payload: `up` or `down`.
    #[schemars(with = "DirectionName")]
    pub direction: Direction,
    /// `tcp`, `quic` or `udp`.
    pub transport: Transport,
    /// Payload delivered in order (TCP, QUIC) or at all (UDP).
    pub goodput_bps: Estimate,
    /// Segments or datagrams with payload sent, retransmissions included.
    pub sent_packets: Estimate,
    /// Segments retransmitted.
    pub retransmits: Estimate,
    /// Retransmission timeouts; of QUIC probe timeouts.
    pub timeouts: Estimate,
    /// Fast retransmits; of QUIC reductions of the window.
    pub fast_retransmits: Estimate,
    /// Its files.
    pub transfers: Transfers,
}
