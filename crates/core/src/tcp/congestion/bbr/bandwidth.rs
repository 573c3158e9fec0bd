//! The rate of delivery, and its largest value of the last rounds.

use crate::units::Duration;

/// One, as a gain (`BBR_UNIT`).
pub(super) const UNIT: u64 = 256;

/// Pacing stays below the rate by this share (`bbr_pacing_margin_percent`).
const MARGIN_PERCENT: u64 = 1;
/// Segments a microsecond, with 24 binary digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bandwidth(pub(super) u64);

impl Bandwidth {
    const DIGITS: u32 = 24;

    pub(super) fn of(segments: u64, time: Duration) -> Self {
        Bandwidth((segments << Self::DIGITS) / micros(time).max(1))
    }

    /// Whole segments.
    pub(super) fn segments_in(self, time: Duration) -> u64 {
        (self.0 * micros(time)) >> Self::DIGITS
    }

    /// What is in flight over `rtt` without a queue, times `gain`, rounded up: `bbr_bdp`.
    pub(super) fn product(self, rtt: Duration, gain: u64) -> u64 {
        (self.0 * micros(rtt) * gain / UNIT).div_ceil(1 << Self::DIGITS)
    }

    /// `bbr_rate_bytes_per_sec`.
    pub(super) fn bytes_per_second(self, mss: u32, gain: u64) -> u64 {
        let rate = (self.0 * u64::from(mss) * gain) / UNIT;
        (rate * (1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> Self::DIGITS
    }
}

fn micros(time: Duration) -> u64 {
    time.as_nanos() / 1000
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    round: u32,
    value: u64,
}

/// The largest value of a window by three samples, as lib/win_minmax.c has it after Kathleen Nichols: the best, the best after
/// it, and the best after that. The second and third start afresh a quarter and half a window after
/// the one before them, so that a value that expires has a successor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter([Entry; 3]);

impl MaxFilter {
    pub(super) fn max(&self) -> u64 {
        self.0[0].value
    }

    /// Takes `value` of `round`; what is older than `window` rounds no longer counts.
    pub(super) fn take(&mut self, window: u32, round: u32, value: u64) {
        let new = Entry { round, value };
        let age = |entry: Entry| round - entry.round;
        let MaxFilter(best) = self;
        if value >= best[0].value || age(best[2]) > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].value {
            best[2] = new;
        }
        if age(best[0]) > window {
            *best = [best[1], best[2], new];
            if age(best[0]) > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].round == best[0].round && age(best[0]) > window / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].round == best[1].round && age(best[0]) > window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lasts_ten_rounds_and_has_a_successor() {
        let mut filter = MaxFilter::default();
        filter.take(10, 0, 100);
        for round in 1..=10 {
            filter.take(10, round, if round == 5 { 80 } else { 50 });
            assert_eq!(filter.max(), 100, "round {round}");
        }
        filter.take(10, 11, 50);
        assert_eq!(filter.max(), 80);
        filter.take(10, 12, 90);
        assert_eq!(filter.max(), 90, "more at once");
        filter.take(10, 40, 10);
        assert_eq!(filter.max(), 10, "all are too old");
    }
}
