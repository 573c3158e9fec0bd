//! The disciplines by name, as scenarios choose them.

use serde::{Deserialize, Serialize};

use super::{
    AdaptiveBuffer, AdaptiveBufferParams, Admission, AdmissionParams, AirtimeFq, AirtimeFqParams, DropTail, DualQueue,
    DualQueueParams, FairKey, FairQueue, FairQueueParams, FqCodel, FqCodelParams, Las, LasParams, Mac80211,
    Mac80211Params, Qdisc, SharedFifo, SharedFifoParams, Tlas, TlasParams, TlasSaf, TlasSafParams,
};
use crate::packet::Packet;
use crate::rng::Rng;

/// Writes down a discipline once: what it is, its name in scenarios, its parameters, the most packets that it holds (all its queues
/// together), and how it is built. Drop-tail stands here, since its one parameter has no default of its own.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $kind:ident($params:ty) = $name:literal, $limit:expr, $build:expr;)*) => {
        /// A discipline and its parameters. What a scenario leaves out has the default of the parameters' type.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum QdiscSpec {
            /// First in, first out; a packet that finds `limit` waiting is dropped.
            #[serde(rename = "droptail")]
            Droptail {
                /// Most packets that wait, at least 1.
                limit: usize,
            },
            $($(#[$doc])* #[serde(rename = $name)] $kind($params),)*
        }

        impl QdiscSpec {
            /// Each kind with its defaults; where the source leaves a value to the user, with one for a small hot-spot.
            pub fn all() -> Vec<QdiscSpec> {
                vec![QdiscSpec::Droptail { limit: 100 }, $(QdiscSpec::$kind(<$params>::default())),*]
            }

            /// Its name in scenarios.
            pub fn kind(&self) -> &'static str {
                match self {
                    QdiscSpec::Droptail { .. } => "droptail",
                    $(QdiscSpec::$kind(_) => $name,)*
                }
            }

            /// Packets that it holds at most, all its queues together.
            pub fn limit(&self) -> usize {
                match self {
                    QdiscSpec::Droptail { limit } => *limit,
                    $(QdiscSpec::$kind(params) => ($limit as fn(&$params) -> usize)(params),)*
                }
            }
        }

        /// Builds the discipline that `spec` describes. `rng` is its own stream; most draw nothing.
        pub fn build<P: Packet + Send + 'static>(spec: QdiscSpec, rng: Rng) -> Box<dyn Qdisc<P>> {
            match spec {
                QdiscSpec::Droptail { limit } => Box::new(DropTail::new(limit)),
                $(QdiscSpec::$kind(params) => Box::new(($build as fn($params, Rng) -> _)(params, rng)),)*
            }
        }
    };
}

disciplines! {
    /// Least attained service first.
    Las(LasParams) = "las", |params| params.limit, |params, _| Las::new(params);
    /// Least attained service first up to a threshold, then first in, first out.
    Tlas(TlasParams) = "tlas", |params| params.limit, |params, _| Tlas::new(params);
    /// TLAS that keeps one ACK of each flow above the threshold.
    TlasSaf(TlasSafParams) = "tlas-saf", |params| params.limit, |params, _| TlasSaf::new(params);
    /// One queue for TCP data, one for ACKs, drawn at random.
    DualQueue(DualQueueParams) = "dual-queue", |params| params.data + params.ack, DualQueue::new;
    /// Flows take turns.
    PerFlowFq(FairQueueParams) = "per-flow-fq", |params| params.limit, |params, _| FairQueue::new(params, FairKey::Flow);
    /// Stations take turns.
    PerStationFq(FairQueueParams) = "per-station-fq", |params| params.limit,
        |params, _| FairQueue::new(params, FairKey::Station);
    /// Flows take turns by bytes, each under CoDel.
    FqCodel(FqCodelParams) = "fq-codel", |params| params.limit, |params, _| FqCodel::new(params);
    /// Stations take turns by the air that they use in both directions.
    AirtimeFq(AirtimeFqParams) = "airtime-fq", |params| params.limit, |params, _| AirtimeFq::new(params);
    /// First in, first out behind random refusals.
    Admission(AdmissionParams) = "admission", |params| params.limit, Admission::new;
    /// First in, first out with a size that follows the service rate.
    AdaptiveBuffer(AdaptiveBufferParams) = "adaptive-buffer", |params| params.b_max,
        |params, _| AdaptiveBuffer::new(params);
    /// One pool; the station of the oldest packet is served with all that waits for it.
    SharedFifo(SharedFifoParams) = "shared-fifo", |params| params.limit, |params, _| SharedFifo::new(params);
    /// What Linux has: fair queues by station and flow, CoDel, airtime fairness, limits of pending air.
    Mac80211(Mac80211Params) = "mac80211", |params| params.limit, |params, _| Mac80211::new(params);
}

impl QdiscSpec {
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
