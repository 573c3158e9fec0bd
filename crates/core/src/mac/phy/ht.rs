//! HT, 802.11n, mixed format (clause 19).

use super::rules::{PpduRules, Symbols};
use super::{Mcs, Width};
use crate::units::Duration;

/// Most data bits of a symbol (4 us with the long guard interval) for one encoder: 320 Mbit/s.
const BITS_AN_ENCODER: u64 = 320 * 4;

/// N_SD.
pub(super) const fn data_subcarriers(width: Width) -> u64 {
    match width {
        Width::Mhz20 => 52,
        Width::Mhz40 | Width::Mhz80 | Width::Mhz160 => 108,
    }
}

/// Long training fields for `streams` streams, as in VHT and HE.
pub(super) const fn long_training_fields(streams: u8) -> u64 {
    if streams == 3 { 4 } else { streams as u64 }
}

/// Legacy preamble 20, HT-SIG 8, HT-STF 4, HT-LTFs of 4 us.
pub(super) fn symbols(mcs: Mcs, rules: &PpduRules) -> Symbols {
    let bits = mcs.data_bits(data_subcarriers(mcs.width)).0;
    let training = Duration::from_micros(12 + 4 * long_training_fields(mcs.streams));
    let symbol = Duration::from_nanos(3_200) + mcs.guard_interval;
    Symbols::new(rules, training, symbol, (bits, 1), bits.div_ceil(BITS_AN_ENCODER))
}
