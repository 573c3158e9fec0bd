//! When the next segment may go: `tcp_pacing_check`, `tcp_update_skb_after_send` and `tcp_tso_autosize` of
//! net/ipv4/tcp_output.c.
//!
//! Linux paces by itself where congestion control demands it, as BBR does; CUBIC and Reno are paced by the queue discipline
//! `fq` only, which hosts do not have by default.

use crate::tcp::congestion::Pacing;
use crate::units::{Duration, Instant};

/// The first segments of a connection are not paced.
const UNPACED: u64 = 10;
/// `sk_pacing_shift`: a burst lasts 2^-10 s.
const PACING_SHIFT: u32 = 10;
/// `tcp_tso_rtt_log`: bursts on short paths are larger, by half for each 2^9 us of round trip.
const TSO_RTT_LOG: u32 = 9;
/// `GSO_LEGACY_MAX_SIZE`, bytes.
const LARGEST_BURST: u64 = 65_536;

/// The release times of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Pacer {
    /// The next burst goes then or later (`tcp_wstamp_ns`).
    release: Instant,
    /// Segments that still belong to the burst of `burst_at`.
    burst: u32,
    burst_at: Instant,
    held: bool,
}

impl Pacer {
    /// When the next burst may go: not before `now`.
    pub(in crate::tcp) fn release(&self, now: Instant) -> Instant {
        self.release.max(now)
    }

    /// When to look again, if the last [`holds`](Self::holds) held something back.
    pub(in crate::tcp) fn poll_timeout(&self) -> Option<Instant> {
        self.held.then_some(self.release)
    }

    /// Whether a segment has to wait.
    pub(in crate::tcp) fn holds(&mut self, now: Instant) -> bool {
        let in_burst = self.burst > 0 && self.burst_at == now;
        self.held = !in_burst && self.release > now;
        self.held
    }

    /// Nothing waits.
    pub(in crate::tcp) fn rest(&mut self) {
        self.held = false;
    }

    /// A segment goes, the `number`th of the connection. If it opens a burst, that has `most` segments of `mss` bytes at most.
    pub(in crate::tcp) fn sent(&mut self, now: Instant, number: u64, mss: u32, pacing: Pacing, most: u32) {
        if self.burst > 0 && self.burst_at == now {
            self.burst -= 1;
            return;
        }
        let segments = most.max(1);
        self.burst = segments - 1;
        self.burst_at = now;
        // Who comes late may catch up with half of a burst's length.
        let late = now.saturating_since(self.release).as_nanos();
        self.release = self.release.max(now);
        if number + u64::from(self.burst) >= UNPACED && pacing.rate > 0 {
            let length = u64::from(segments) * u64::from(mss) * 1_000_000_000 / pacing.rate;
            self.release += Duration::from_nanos(length - late.min(length / 2));
        }
    }
}

/// Segments that leave as one burst on a path with this shortest round trip.
pub(in crate::tcp) fn burst(pacing: Pacing, mss: u32, min_rtt: Option<Duration>) -> u32 {
    let halvings = min_rtt.map_or(u64::MAX, |rtt| (rtt.as_nanos() / 1000) >> TSO_RTT_LOG);
    let extra = if halvings < 32 { LARGEST_BURST >> halvings } else { 0 };
    let bytes = ((pacing.rate >> PACING_SHIFT) + extra).min(LARGEST_BURST);
    ((bytes / u64::from(mss)) as u32).max(pacing.least)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of 1000 bytes in 1 ms.
    const PACING: Pacing = Pacing { rate: 1_000_000, least: 2 };

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn bursts_follow_each_other_at_the_rate() {
        let mut pacer = Pacer::default();
        pacer.sent(at(5000), 11, 1000, PACING, 2);
        assert!(!pacer.holds(at(5000)), "the second of the burst");
        pacer.sent(at(5000), 12, 1000, PACING, 2);
        assert!(pacer.holds(at(5000)));
        // 5 ms late at the start: half of the two milliseconds is forgiven.
        assert_eq!(pacer.poll_timeout(), Some(at(6000)));
        assert!(!pacer.holds(at(6000)));
        assert_eq!(pacer.poll_timeout(), None);
        pacer.sent(at(6000), 13, 1000, PACING, 2);
        pacer.sent(at(6000), 14, 1000, PACING, 2);
        assert!(pacer.holds(at(7999)));
        assert_eq!(pacer.poll_timeout(), Some(at(8000)), "in time: nothing to forgive");
    }

    #[test]
    fn the_first_ten_segments_go_at_once() {
        let mut pacer = Pacer::default();
        for number in 1..=10 {
            assert!(!pacer.holds(at(0)), "{number}");
            pacer.sent(at(0), number, 1000, PACING, 2);
        }
        assert!(pacer.holds(at(0)));
    }

    #[test]
    fn bursts_last_a_millisecond_or_more_on_short_paths() {
        let pacing = |rate| Pacing { rate, least: 1 };
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(burst(pacing(100_000), 1000, ms(40)), 1);
        assert_eq!(burst(pacing(10_240_000), 1000, ms(40)), 10);
        assert_eq!(burst(pacing(0), 1000, ms(2)), 8, "65536 / 2^3");
        assert_eq!(burst(Pacing { rate: 0, least: 2 }, 1000, None), 2);
    }
}
