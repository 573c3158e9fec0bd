//! What the MAC counts.

use serde::{Deserialize, Serialize};

use crate::qdisc::{Histogram, QueueStats, SparseHistogram};
use crate::units::{Duration, sums};

/// One station.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StationRecord {
    /// Its transmitter.
    pub mac: MacStats,
    /// Its queue towards the radio.
    pub uplink_queue: QueueStats,
    /// Air that frames to the station took: DATA, SIFS and MAC ACK of every attempt.
    pub airtime_down: Duration,
    /// How long packets to the station waited, from their arrival in their AP's queue until they were first sent.
    pub ap_delays: SparseHistogram,
}

/// How long packets waited until they were first sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Packets.
    pub count: u64,
    /// Their waits added up.
    pub sum: Duration,
    /// Their waits.
    pub times: Histogram,
}

impl Delays {
    /// None yet.
    pub(super) fn enabled() -> Self {
        Delays { times: Histogram::enabled(), ..Delays::default() }
    }

    pub(super) fn record(&mut self, wait: Duration) {
        self.count += 1;
        self.sum += wait;
        self.times.record(wait);
    }

    pub(super) fn clear(&mut self) {
        (self.count, self.sum) = (0, Duration::ZERO);
        self.times.clear();
    }
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

sums! {
    MacStats { attempts, collisions, frame_errors, delivered, discards, airtime, qos }
    QosStats { txops, ppdus, mpdus, mpdu_retries, answers_missed, bars, bars_missed, rts, rts_missed }
}
