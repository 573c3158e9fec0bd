//! Whether a token bucket limits the path: `bbr_lt_bw_sampling`. Two long intervals with much loss and the same rate tell.

use super::bandwidth::{Bandwidth, UNIT};
use crate::tcp::congestion::Sample;
use crate::units::{Duration, Instant};

/// Rounds that an interval lasts at least; four times as many is too long (`bbr_lt_intvl_min_rtts`).
const SHORTEST: u32 = 4;
/// An interval counts where this share of the segments, in 256ths, is lost (`bbr_lt_loss_thresh`).
const LOSS: u64 = 50;
/// Rates are the same within an eighth, or within 4 kbit/s: 500 bytes a second (`bbr_lt_bw_ratio`, `bbr_lt_bw_diff`).
const SAME: u64 = 8;
const SAME_BYTES: u64 = 500;
/// Rounds for which the rate is believed (`bbr_lt_bw_max_rtts`).
const BELIEVED: u32 = 48;

/// The long-term sampler.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    active: bool,
    rate: Bandwidth,
    rounds: u32,
    since: Instant,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The rate of the token bucket, if there seems to be one.
    pub(super) fn rate(&self) -> Option<Bandwidth> {
        self.active.then_some(self.rate)
    }

    /// Nothing is known (`bbr_reset_lt_bw_sampling`).
    pub(super) fn reset(&mut self) {
        *self = Policer::default();
    }

    /// A round of the time for which the rate is believed is over; whether it was the last.
    pub(super) fn expire(&mut self) -> bool {
        self.rounds += 1;
        let over = self.rounds >= BELIEVED;
        if over {
            self.reset();
        }
        over
    }

    /// An acknowledgement; `round`: a round trip begins.
    pub(super) fn observe(&mut self, sample: &Sample, limited: bool, round: bool, mss: u32) {
        // The bucket is empty when the first segment is lost.
        if !self.sampling {
            if sample.losses == 0 {
                return;
            }
            self.sampling = true;
            self.begin(sample);
        }
        if limited {
            return self.reset();
        }
        self.rounds += u32::from(round);
        if self.rounds < SHORTEST {
            return;
        }
        if self.rounds > 4 * SHORTEST {
            return self.reset();
        }
        let (delivered, lost) = (sample.delivered - self.delivered, sample.lost - self.lost);
        if sample.losses == 0 || delivered == 0 || lost * 256 < LOSS * delivered {
            return;
        }
        let lasted = sample.delivered_at.saturating_since(self.since);
        if lasted < Duration::from_millis(1) {
            return;
        }
        self.finish(sample, Bandwidth::of(delivered, lasted), mss);
    }

    /// `bbr_lt_bw_interval_done`.
    fn finish(&mut self, sample: &Sample, rate: Bandwidth, mss: u32) {
        let apart = Bandwidth(rate.0.abs_diff(self.rate.0));
        if self.rate.0 > 0 && (apart.0 * SAME <= self.rate.0 || apart.bytes_per_second(mss, UNIT) <= SAME_BYTES) {
            self.rate = Bandwidth(rate.0.midpoint(self.rate.0));
            self.active = true;
            self.rounds = 0;
            return;
        }
        self.rate = rate;
        self.begin(sample);
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    fn begin(&mut self, sample: &Sample) {
        self.since = sample.delivered_at;
        self.delivered = sample.delivered;
        self.lost = sample.lost;
        self.rounds = 0;
    }
}
