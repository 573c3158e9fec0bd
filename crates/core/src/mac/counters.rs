//! What the MAC counts.

use serde::{Deserialize, Serialize};

use crate::qdisc::{Histogram, QueueStats, SparseHistogram};
use crate::units::Duration;

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

impl std::ops::Add for MacStats {
    type Output = MacStats;

    fn add(self, other: MacStats) -> MacStats {
        MacStats {
            attempts: self.attempts + other.attempts,
            collisions: self.collisions + other.collisions,
            frame_errors: self.frame_errors + other.frame_errors,
            delivered: self.delivered + other.delivered,
            discards: self.discards + other.discards,
            airtime: self.airtime + other.airtime,
            qos: self.qos + other.qos,
        }
    }
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
