//! Queues of the AP beside another remedy, which leaves them fewer parameters than they have alone.

use fairair_core::qdisc::{
    AdaptiveBufferParams, AdmissionParams, AirtimeFqParams, CwndSource, DualQueueParams, FairQueueParams,
    FqCodelParams, LasParams, QdiscSpec, Share, ShareRule, TlasParams, TlasSafParams,
};

use super::ranges::{Ranges, pick};

pub(super) fn fair(limit: usize) -> FairQueueParams {
    FairQueueParams { limit, ..FairQueueParams::default() }
}

pub(super) fn dual(ranges: &Ranges, data: usize, ack: usize, p: Share) -> QdiscSpec {
    QdiscSpec::DualQueue(DualQueueParams { data, ack, p, window: ranges.window, ..DualQueueParams::default() })
}

pub(super) fn airtime(limit: usize) -> QdiscSpec {
    QdiscSpec::AirtimeFq(AirtimeFqParams { limit, ..AirtimeFqParams::default() })
}

/// A queue for the AP beside another remedy.
pub(super) fn companion(ranges: &Ranges, x: f64, limit: usize) -> QdiscSpec {
    let half = limit.div_ceil(2);
    pick(
        &[
            QdiscSpec::PerStationFq(fair(limit)),
            QdiscSpec::PerFlowFq(fair(limit)),
            airtime(limit),
            QdiscSpec::Droptail { limit },
            dual(ranges, half, half, Share::Rule(ShareRule::Auto)),
        ],
        x,
    )
}

/// The queue of Linux, in turns by airtime or not.
pub(super) fn of_linux(ranges: &Ranges, x: f64) -> QdiscSpec {
    QdiscSpec::Mac80211(ranges.mac80211(x < 0.5))
}

/// The queues that are no [`companion`], for beside a window cap. That keeps them short: of each but the limit is as usual.
pub(super) fn rarer(limit: usize, x: f64) -> QdiscSpec {
    pick(
        &[
            QdiscSpec::FqCodel(FqCodelParams::default()),
            QdiscSpec::Las(LasParams { limit }),
            QdiscSpec::Tlas(TlasParams { limit, ..TlasParams::default() }),
            QdiscSpec::TlasSaf(TlasSafParams { limit, cwnd: CwndSource::Estimated, ..TlasSafParams::default() }),
            QdiscSpec::Admission(AdmissionParams { limit, ..AdmissionParams::default() }),
            QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams::default()),
        ],
        x,
    )
}
