//! The disciplines by name, as scenarios choose them.

use serde::{Deserialize, Serialize};

use super::{
    AdaptiveBuffer, AdaptiveBufferParams, Admission, AdmissionParams, AirtimeFq, AirtimeFqParams, DropTail, DualQueue,
    DualQueueParams, FairKey, FairQueue, FairQueueParams, FqCodel, FqCodelParams, Las, LasParams, Mac80211,
    Mac80211Params, Qdisc, SharedFifo, SharedFifoParams, Tlas, TlasParams, TlasSaf, TlasSafParams,
};
use crate::packet::Packet;
use crate::rng::Rng;

/// A discipline and its parameters. What a scenario leaves out has the default of the parameters' type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QdiscSpec {
    /// First in, first out; a packet that finds `limit` waiting is dropped.
    Droptail {
        /// Most packets that wait, at least 1.
        limit: usize,
    },
    /// Least attained service first.
    Las(LasParams),
    /// Least attained service first up to a threshold, then first in, first out.
    Tlas(TlasParams),
    /// TLAS that keeps one ACK of each flow above the threshold.
    TlasSaf(TlasSafParams),
    /// One queue for TCP data, one for ACKs, drawn at random.
    DualQueue(DualQueueParams),
    /// Flows take turns.
    PerFlowFq(FairQueueParams),
    /// Stations take turns.
    PerStationFq(FairQueueParams),
    /// Flows take turns by bytes, each under CoDel.
    FqCodel(FqCodelParams),
    /// Stations take turns by the air that they use in both directions.
    AirtimeFq(AirtimeFqParams),
    /// First in, first out behind random refusals.
    Admission(AdmissionParams),
    /// First in, first out with a size that follows the service rate.
    AdaptiveBuffer(AdaptiveBufferParams),
    /// One pool; the station of the oldest packet is served with all that waits for it.
    SharedFifo(SharedFifoParams),
    /// What Linux has: fair queues by station and flow, CoDel, airtime fairness, limits of pending air.
    #[serde(rename = "mac80211")]
    Mac80211(Mac80211Params),
}

impl QdiscSpec {
    /// Each kind with its defaults; where the source leaves a value to the user, with one for a small hot-spot.
    pub fn all() -> [QdiscSpec; 13] {
        [
            QdiscSpec::Droptail { limit: 100 },
            QdiscSpec::Las(LasParams::default()),
            QdiscSpec::Tlas(TlasParams::default()),
            QdiscSpec::TlasSaf(TlasSafParams::default()),
            QdiscSpec::DualQueue(DualQueueParams::default()),
            QdiscSpec::PerFlowFq(FairQueueParams::default()),
            QdiscSpec::PerStationFq(FairQueueParams::default()),
            QdiscSpec::FqCodel(FqCodelParams::default()),
            QdiscSpec::AirtimeFq(AirtimeFqParams::default()),
            QdiscSpec::Admission(AdmissionParams::default()),
            QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams::default()),
            QdiscSpec::SharedFifo(SharedFifoParams::default()),
            QdiscSpec::Mac80211(Mac80211Params::default()),
        ]
    }

    /// Its name in scenarios.
    pub fn kind(&self) -> &'static str {
        match self {
            QdiscSpec::Droptail { .. } => "droptail",
            QdiscSpec::Las(_) => "las",
            QdiscSpec::Tlas(_) => "tlas",
            QdiscSpec::TlasSaf(_) => "tlas-saf",
            QdiscSpec::DualQueue(_) => "dual-queue",
            QdiscSpec::PerFlowFq(_) => "per-flow-fq",
            QdiscSpec::PerStationFq(_) => "per-station-fq",
            QdiscSpec::FqCodel(_) => "fq-codel",
            QdiscSpec::AirtimeFq(_) => "airtime-fq",
            QdiscSpec::Admission(_) => "admission",
            QdiscSpec::AdaptiveBuffer(_) => "adaptive-buffer",
            QdiscSpec::SharedFifo(_) => "shared-fifo",
            QdiscSpec::Mac80211(_) => "mac80211",
        }
    }

    /// Packets that it holds at most, all its queues together.
    pub fn limit(&self) -> usize {
        match self {
            QdiscSpec::Droptail { limit } => *limit,
            QdiscSpec::Las(params) => params.limit,
            QdiscSpec::Tlas(params) => params.limit,
            QdiscSpec::TlasSaf(params) => params.limit,
            QdiscSpec::DualQueue(params) => params.data + params.ack,
            QdiscSpec::PerFlowFq(params) | QdiscSpec::PerStationFq(params) => params.limit,
            QdiscSpec::FqCodel(params) => params.limit,
            QdiscSpec::AirtimeFq(params) => params.limit,
            QdiscSpec::Admission(params) => params.limit,
            QdiscSpec::AdaptiveBuffer(params) => params.b_max,
            QdiscSpec::SharedFifo(params) => params.limit,
            QdiscSpec::Mac80211(params) => params.limit,
        }
    }

    /// The limit as ns-2 counts it: its single-buffer queues let one packet less wait than their `limit_`.
    #[must_use]
    pub fn with_ns2_limit(mut self) -> Self {
        let limit = match &mut self {
            QdiscSpec::Droptail { limit } => limit,
            QdiscSpec::Las(params) => &mut params.limit,
            QdiscSpec::Tlas(params) => &mut params.limit,
            QdiscSpec::TlasSaf(params) => &mut params.limit,
            QdiscSpec::Admission(params) => &mut params.limit,
            _ => return self,
        };
        *limit = (*limit).max(2) - 1;
        self
    }
}

/// Builds the discipline that `spec` describes. `rng` is its own stream; most draw nothing.
pub fn build<P: Packet + Send + 'static>(spec: QdiscSpec, rng: Rng) -> Box<dyn Qdisc<P>> {
    match spec {
        QdiscSpec::Droptail { limit } => Box::new(DropTail::new(limit)),
        QdiscSpec::Las(params) => Box::new(Las::new(params)),
        QdiscSpec::Tlas(params) => Box::new(Tlas::new(params)),
        QdiscSpec::TlasSaf(params) => Box::new(TlasSaf::new(params)),
        QdiscSpec::DualQueue(params) => Box::new(DualQueue::new(params, rng)),
        QdiscSpec::PerFlowFq(params) => Box::new(FairQueue::new(params, FairKey::Flow)),
        QdiscSpec::PerStationFq(params) => Box::new(FairQueue::new(params, FairKey::Station)),
        QdiscSpec::FqCodel(params) => Box::new(FqCodel::new(params)),
        QdiscSpec::AirtimeFq(params) => Box::new(AirtimeFq::new(params)),
        QdiscSpec::Admission(params) => Box::new(Admission::new(params, rng)),
        QdiscSpec::AdaptiveBuffer(params) => Box::new(AdaptiveBuffer::new(params)),
        QdiscSpec::Mac80211(params) => Box::new(Mac80211::new(params)),
        QdiscSpec::SharedFifo(params) => Box::new(SharedFifo::new(params)),
    }
}
