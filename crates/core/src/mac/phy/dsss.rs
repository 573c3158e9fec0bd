//! HR/DSSS, 802.11b (clause 16).

use super::PpduRules;
use crate::units::{Bitrate, Bytes, Duration, bits_at};

pub(super) const RATES_KBPS: &[u64] = &[1_000, 2_000, 5_500, 11_000];

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
