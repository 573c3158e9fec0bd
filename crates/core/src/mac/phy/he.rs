//! HE single-user PPDUs, 802.11ax (clause 27), without packet extension and dual carrier modulation.

use super::rules::{PpduRules, Symbols};
use super::{Mcs, Width, ht};
use crate::units::Duration;

/// N_SD of the resource unit that fills the channel.
pub(super) const fn data_subcarriers(width: Width) -> u64 {
    match width {
        Width::Mhz20 => 234,
        Width::Mhz40 => 468,
        Width::Mhz80 => 980,
        Width::Mhz160 => 1960,
    }
}

/// An HE-LTF with the type that every station has for the guard interval: 2x (6.4 us) with 0.8 and 1.6, 4x (12.8 us) with 3.2 us.
fn long_training_field(guard_interval: Duration) -> Duration {
    let type_4x = guard_interval > Duration::from_nanos(1_600);
    guard_interval + Duration::from_nanos(if type_4x { 12_800 } else { 6_400 })
}

/// Legacy preamble 20, RL-SIG 4, HE-SIG-A 8, HE-STF 4 us, HE-LTFs. Tail bits are those of one binary convolutional encoder.
pub(super) fn symbols(mcs: Mcs, rules: &PpduRules) -> Symbols {
    let (bits, per) = mcs.data_bits(data_subcarriers(mcs.width));
    let (bits, per) = if rules.he_whole_bits { (bits / per, 1) } else { (bits, per) };
    let field = rules.he_ltf.unwrap_or_else(|| long_training_field(mcs.guard_interval));
    let training = Duration::from_micros(16) + field * ht::long_training_fields(mcs.streams);
    Symbols::new(rules, training, Duration::from_nanos(12_800) + mcs.guard_interval, (bits, per), 1)
}
