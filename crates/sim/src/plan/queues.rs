//! Queues of the AP beside another remedy, which leaves them fewer parameters than they have alone.

use fairair_core::qdisc::{
    AdaptiveBufferParams, AdmissionParams, AirtimeFqParams, CwndSource, DualQueueParams, FairQueueParams,
    FqCodelParams, LasParams, Mac80211Params, QdiscSpec, Share, ShareRule, TlasParams, TlasSafParams,
};
use fairair_core::units::Duration;

use super::ranges::{Ranges, between, pick};

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

/// A queue of Linux that is kept short by its limit, its target or both, for beside the uplink limiter.
pub(super) fn short_of_linux(ranges: &Ranges, x: f64, short: f64) -> QdiscSpec {
    let limit = between(8.0, 512.0, short).round() as usize;
    match x {
        x if x < 0.4 => QdiscSpec::Mac80211(Mac80211Params { limit, ..ranges.mac80211(true) }),
        x if x < 0.6 => QdiscSpec::Mac80211(Mac80211Params { limit, ..ranges.mac80211(false) }),
        _ => {
            let tenths = (between(1.0, 20.0, short) * 10.0).round() as u64;
            // A target is a tenth of its interval at most (RFC 8289 section 4.4).
            let (target, interval) = (Duration::from_micros(tenths * 100), Duration::from_millis(tenths));
            QdiscSpec::FqCodel(FqCodelParams { target, interval, ..FqCodelParams::default() })
        }
    }
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
