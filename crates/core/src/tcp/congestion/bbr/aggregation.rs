//! How much more is acknowledged at once than the rate explains: `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`.

use super::bandwidth::Bandwidth;
use crate::tcp::congestion::Sample;
use crate::units::{Duration, Instant};

/// Aggregates of acknowledgements count up to this length (`bbr_extra_acked_max_us`).
const LONGEST_AGGREGATE: Duration = Duration::from_millis(100);

/// Rounds that half of the window lasts (`bbr_extra_acked_win_rtts`).
const WINDOW: u32 = 5;
/// The window starts again with so many segments (`bbr_ack_epoch_acked_reset_thresh`).
const MOST: u32 = 1 << 20;

/// Segments acknowledged beyond what the bandwidth explains: the largest excess of the last five to ten rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    since: Instant,
    acked: u32,
    extra: [u32; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn new(now: Instant) -> Self {
        Aggregation { since: now, ..Aggregation::default() }
    }

    /// `segments` were acknowledged; `round`: a round trip begins.
    pub(super) fn observe(&mut self, sample: &Sample, segments: u32, round: bool, bandwidth: Bandwidth, cwnd: u32) {
        if segments == 0 || sample.rate.is_none() {
            return;
        }
        if round {
            self.rounds += 1;
            if self.rounds >= WINDOW {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.extra[self.current] = 0;
            }
        }
        let mut expected = bandwidth.segments_in(sample.delivered_at.saturating_since(self.since));
        if u64::from(self.acked) <= expected || self.acked + segments >= MOST {
            self.acked = 0;
            self.since = sample.delivered_at;
            expected = 0;
        }
        self.acked += segments;
        let extra = (u64::from(self.acked) - expected).min(u64::from(cwnd)) as u32;
        self.extra[self.current] = self.extra[self.current].max(extra);
    }

    /// Segments that the window needs on top, not more than 100 ms are worth.
    pub(super) fn extra(&self, bandwidth: Bandwidth) -> u32 {
        let most = bandwidth.segments_in(LONGEST_AGGREGATE);
        u64::from(self.extra[0].max(self.extra[1])).min(most) as u32
    }
}
