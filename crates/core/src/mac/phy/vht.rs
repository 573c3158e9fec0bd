//! VHT single-user PPDUs, 802.11ac (clause 21).

use super::rules::{PpduRules, Symbols};
use super::{Mcs, Width, ht};
use crate::units::Duration;

/// Most data bits of a symbol (4 us with the long guard interval) for one encoder: 540 Mbit/s.
const BITS_AN_ENCODER: u64 = 540 * 4;

/// N_SD.
pub(super) const fn data_subcarriers(width: Width) -> u64 {
    match width {
        Width::Mhz20 => 52,
        Width::Mhz40 => 108,
        Width::Mhz80 => 234,
        Width::Mhz160 => 468,
    }
}

/// N_ES by the tables of clause 21.5, up to four streams: one for each 540 Mbit/s begun, but for one combination.
fn encoders(mcs: Mcs) -> u64 {
    if let (Width::Mhz160, 4, 7) = (mcs.width, mcs.streams, mcs.index) {
        return 6;
    }
    let (bits, per) = mcs.data_bits(data_subcarriers(mcs.width));
    bits.div_ceil(BITS_AN_ENCODER * per)
}

/// Whether clause 21.5 has the combination: coded and data bits of a symbol are shared out evenly among the encoders,
/// and each encoder's are a whole number of puncturing blocks (R = N_R/D_R: N_CBPS/N_ES is a multiple of D_R and N_DBPS/N_ES one of N_R).
pub(super) fn exists(mcs: Mcs) -> bool {
    let (bits_a_subcarrier, numerator, denominator) = mcs.coding();
    let coded = data_subcarriers(mcs.width) * bits_a_subcarrier * u64::from(mcs.streams);
    coded.is_multiple_of(denominator * encoders(mcs))
        && (coded * numerator / denominator).is_multiple_of(numerator * encoders(mcs))
}

/// Legacy preamble 20, VHT-SIG-A 8, VHT-STF 4, VHT-LTFs of 4 us, VHT-SIG-B.
pub(super) fn symbols(mcs: Mcs, rules: &PpduRules) -> Symbols {
    let training = Duration::from_micros(12 + 4 * ht::long_training_fields(mcs.streams)) + rules.vht_sig_b;
    let bits = mcs.data_bits(data_subcarriers(mcs.width)).0;
    Symbols::new(rules, training, Duration::from_nanos(3_200) + mcs.guard_interval, (bits, 1), encoders(mcs))
}
