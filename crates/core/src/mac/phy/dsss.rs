//! HR/DSSS, 802.11b (clause 16).

use serde::{Deserialize, Serialize};

use super::PpduRules;
use crate::units::{Bitrate, Bytes, Duration, bits_at};

pub(super) const RATES_KBPS: &[u64] = &[1_000, 2_000, 5_500, 11_000];

/// PLCP preamble and header of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preamble {
    /// 144 + 48 bits at 1 Mbit/s: 192 us.
    Long,
    /// 72 bits at 1 and 48 bits at 2 Mbit/s: 96 us. Frames at 1 Mbit/s have the long one.
    Short,
    /// Any other duration (khademi2010 has 72 + 48 bits at 1 Mbit/s: 120 us).
    Lasting(Duration),
}

impl Preamble {
    /// How long it lasts.
    pub const fn duration(self) -> Duration {
        match self {
            Preamble::Long => Duration::from_micros(192),
            Preamble::Short => Duration::from_micros(96),
            Preamble::Lasting(duration) => duration,
        }
    }

    /// The preamble of a frame at `rate` where this one is used: there is no short one at 1 Mbit/s (clause 16.2.2.3).
    #[must_use]
    pub fn at(self, rate: Bitrate) -> Self {
        if self == Preamble::Short && rate == Bitrate::mbps(1) { Preamble::Long } else { self }
    }
}

pub(super) fn ppdu_time(psdu: Bytes, rate: Bitrate, rules: &PpduRules) -> Duration {
    let data = bits_at(psdu.as_bits(), rate);
    let data = if rules.dsss_whole_microseconds { data.round_up_to(Duration::from_micros(1)) } else { data };
    rules.preamble.at(rate).duration() + data
}

pub(super) fn longest_psdu(limit: Duration, rate: Bitrate, rules: &PpduRules) -> Option<Bytes> {
    let preamble = rules.preamble.at(rate).duration();
    let data = Duration::from_nanos(limit.as_nanos().checked_sub(preamble.as_nanos())?);
    let whole =
        if rules.dsss_whole_microseconds { data.div_floor(Duration::from_micros(1)) * 1_000 } else { data.as_nanos() };
    Some(rate.bytes_in(Duration::from_nanos(whole)))
}
