//! What one replica measured, as plain counters, after the warm-up.
//!
//! Engines fill a [`Record`]; [`crate::metrics`] turns the records of all replicas into a report.

use serde::{Deserialize, Serialize};

use crate::control::{ControlStats, Decision};
use crate::packet::Direction;
use crate::qdisc::QueueStats;
use crate::shaper::StationStats;
use crate::units::{Duration, Instant};

/// One replica.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Seed that it ran with.
    pub seed: u64,
    /// Time that the counters cover.
    pub measured: Duration,
    /// One a flow, in the scenario's order.
    pub flows: Vec<FlowRecord>,
    /// One a station, in the scenario's order.
    pub stations: Vec<StationRecord>,
    /// The AP's transmitter.
    pub ap_mac: MacStats,
    /// The AP's queue towards the stations.
    pub ap_queue: QueueStats,
    /// The AP's queue towards the wire.
    pub ap_uplink_queue: QueueStats,
    /// The box between gateway and AP; `None` without one.
    pub enforce: Option<EnforceRecord>,
    /// Time series, empty unless the scenario asks for samples.
    pub series: Series,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// Index of its station.
    pub station: usize,
    /// Way of its payload.
    pub direction: Direction,
    /// Whether it is TCP.
    pub tcp: bool,
    /// Payload bytes delivered in order (TCP) or at all (UDP).
    pub delivered_bytes: u64,
    /// Segments or datagrams with payload sent, retransmissions included.
    pub sent_packets: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Transfer times of the files that ended within the measured time: from the first SYN to the last ACK.
    pub transfer_times: Vec<Duration>,
}

/// One station.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StationRecord {
    /// Its transmitter.
    pub mac: MacStats,
    /// Its queue towards the radio.
    pub uplink_queue: QueueStats,
    /// Air that frames to the station took: DATA, SIFS and MAC ACK of every attempt.
    pub airtime_down: Duration,
}

/// The box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnforceRecord {
    /// One a station, in the scenario's order.
    pub stations: Vec<StationStats>,
    /// Every change of C or of what is known, from the start of the run.
    pub trace: Vec<Decision>,
    /// Probes and changes, from the start of the run.
    pub control: ControlStats,
}

/// Counters of one DCF transmitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacStats {
    /// Frames put on the air, retries included.
    pub attempts: u64,
    /// Attempts that overlapped with another's.
    pub collisions: u64,
    /// Attempts that the channel spoilt.
    pub frame_errors: u64,
    /// Frames acknowledged.
    pub delivered: u64,
    /// Frames given up at the retry limit.
    pub discards: u64,
    /// Air that its attempts took: DATA, SIFS and MAC ACK.
    pub airtime: Duration,
    /// What a transmitter under EDCA counts; zero under DCF. There attempts and collisions are PPDUs, and `frame_errors`,
    /// `delivered` and `discards` are MPDUs.
    pub qos: QosStats,
}

/// Counters of one transmitter under EDCA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosStats {
    /// TXOPs.
    pub txops: u64,
    /// PPDUs with data.
    pub ppdus: u64,
    /// MPDUs in them.
    pub mpdus: u64,
    /// Of these, those that were sent before.
    pub mpdu_retries: u64,
    /// PPDUs with data that nobody answered.
    pub answers_missed: u64,
    /// BlockAckReqs.
    pub bars: u64,
    /// BlockAckReqs that nobody answered.
    pub bars_missed: u64,
    /// RTS frames.
    pub rts: u64,
    /// RTS frames that nobody answered.
    pub rts_missed: u64,
}

impl std::ops::Add for QosStats {
    type Output = QosStats;

    fn add(self, other: QosStats) -> QosStats {
        QosStats {
            txops: self.txops + other.txops,
            ppdus: self.ppdus + other.ppdus,
            mpdus: self.mpdus + other.mpdus,
            mpdu_retries: self.mpdu_retries + other.mpdu_retries,
            answers_missed: self.answers_missed + other.answers_missed,
            bars: self.bars + other.bars,
            bars_missed: self.bars_missed + other.bars_missed,
            rts: self.rts + other.rts,
            rts_missed: self.rts_missed + other.rts_missed,
        }
    }
}

/// Samples at equal distances, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// When.
    pub at: Vec<Instant>,
    /// Packets waiting in the AP's queue.
    pub ap_queue_packets: Vec<u32>,
    /// Congestion window of each flow in segments; empty for UDP.
    pub cwnd: Vec<Vec<f32>>,
}
