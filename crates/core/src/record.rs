//! What one replica measured, as plain counters, after the warm-up.
//!
//! Engines fill a [`Record`]; [`crate::metrics`] turns the records of all replicas into a report.

use crate::control::{ControlStats, Decision};
pub use crate::mac::{Delays, MacStats, QosStats, StationRecord};
use crate::packet::Direction;
use crate::qdisc::{Dropped, QueueStats};
use crate::shaper::{StationStats, UdpChange};
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
    /// One an access point, that of `[ap]` first; empty where it is the only one. What follows counts all of them together.
    pub access_points: Vec<ApRecord>,
    /// The AP's transmitter.
    pub ap_mac: MacStats,
    /// The AP's queue towards the stations.
    pub ap_queue: QueueStats,
    /// From the arrival of packets at that queue until they are first sent; `None` where the MAC holds the packet alone that it works on.
    pub ap_delays: Option<Delays>,
    /// The AP's queue towards the wire.
    pub ap_uplink_queue: QueueStats,
    /// Packets that found the buffer of a wire full, all wires. The buffer of the common wire towards the Internet is the AP's uplink queue where
    /// the AP has no limiter: it counts there.
    pub wire_drops: u64,
    /// The box between gateway and AP; `None` without one.
    pub enforce: Option<EnforceRecord>,
    /// Time series, empty unless the scenario asks for samples.
    pub series: Series,
}

/// One access point of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApRecord {
    /// Its transmitter.
    pub mac: MacStats,
    /// Its queue towards its stations.
    pub queue: QueueStats,
    /// Its queue towards its wire.
    pub uplink_queue: QueueStats,
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
    /// Retransmission timeouts; `None` where a kernel's TCP keeps them to itself.
    pub timeouts: Option<u64>,
    /// The longest of them, from the start of the run.
    pub longest_timeout: Option<Duration>,
    /// Fast retransmits.
    pub fast_retransmits: Option<u64>,
    /// Transfer times of the files that ended within the measured time: from the first SYN to the last ACK.
    pub transfer_times: Vec<Duration>,
    /// How long of the measured time a file was under way, from its first SYN to its last ACK; `None` of a flow without files, and where
    /// that is not known.
    pub busy: Option<Duration>,
    /// One a period of [`Scenario::periods`](crate::scenario::Scenario::periods); empty where there is one, and where that is not known.
    pub periods: Vec<PeriodRecord>,
}

impl FlowRecord {
    /// What the whole measured time says of what periods know.
    pub const fn whole(&self) -> PeriodRecord {
        PeriodRecord { delivered_bytes: self.delivered_bytes, sent_packets: self.sent_packets, busy: self.busy }
    }
}

/// What a flow did in a period of the measured time; see [`FlowRecord`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeriodRecord {
    /// Payload bytes delivered.
    pub delivered_bytes: u64,
    /// Segments or datagrams with payload sent.
    pub sent_packets: u64,
    /// How long a file was under way.
    pub busy: Option<Duration>,
}

impl PeriodRecord {
    /// Periods by what there was at the end of each, counted from the start of the first.
    pub fn between(ends: &[PeriodRecord]) -> Vec<PeriodRecord> {
        let begins = std::iter::once(PeriodRecord::default()).chain(ends.iter().copied());
        let busy = |own: &PeriodRecord| own.busy.unwrap_or(Duration::ZERO);
        let between = |(begin, end): (PeriodRecord, &PeriodRecord)| PeriodRecord {
            delivered_bytes: end.delivered_bytes - begin.delivered_bytes,
            sent_packets: end.sent_packets - begin.sent_packets,
            busy: end.busy.map(|_| busy(end).saturating_sub(busy(&begin))),
        };
        begins.zip(ends).map(between).collect()
    }
}

/// The box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnforceRecord {
    /// One a station, in the scenario's order.
    pub stations: Vec<StationStats>,
    /// Every change of C or of what is known, from the start of the run. Of several pools C is the sum, and the rest that of the pool which
    /// decided.
    pub trace: Vec<Decision>,
    /// Probes and changes, from the start of the run.
    pub control: ControlStats,
    /// With `udp = "auto"`, every change of what was held of a flow, from the start of the run; `None` too where engines number flows in
    /// another way than the scenario.
    pub udp: Option<Vec<UdpChange>>,
    /// The same as `trace` of each pool, in the order of access points; empty with one pool.
    pub pools: Vec<Vec<Decision>>,
}

/// Samples at equal distances, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Times of the samples.
    pub at: Vec<Instant>,
    /// Packets waiting in the AP's queue.
    pub ap_queue_packets: Vec<u32>,
    /// Congestion window of each flow in segments; empty for UDP.
    pub cwnd: Vec<Vec<f32>>,
    /// Packets of each flow that wait in the AP's queue; empty unless the frames are monitored.
    pub ap_queue_by_flow: Vec<Vec<u32>>,
    /// What the AP's queue dropped, over the whole run; empty unless the frames are monitored.
    pub ap_queue_drops: Vec<Dropped>,
}
