//! OFDM without an MCS: 802.11a (clause 17), 802.11g (clause 18), control frames of 802.11n/ac/ax.

use super::rules::{PpduRules, Symbols};
use crate::units::{Bitrate, Duration};

pub(super) const RATES_KBPS: &[u64] = &[6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];

/// A symbol of 4 us has four bits for each Mbit/s.
pub(super) fn symbols(rate: Bitrate, rules: &PpduRules) -> Symbols {
    let symbol = Duration::from_micros(4);
    Symbols::new(rules, Duration::ZERO, symbol, (rate.as_bps() * 4 / 1_000_000, 1), 1)
}

/// The highest mandatory rate that is not above `bound`; the lowest one if all are.
pub(super) fn mandatory_rate(bound: Bitrate) -> Bitrate {
    [24, 12, 6].map(Bitrate::mbps).into_iter().find(|rate| *rate <= bound).unwrap_or(Bitrate::mbps(6))
}
