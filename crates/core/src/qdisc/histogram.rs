//! A histogram of durations with constant relative resolution.

use crate::units::Duration;

/// Sub-buckets per octave: a bucket is at most 1/32 of its value wide.
const SUB_BITS: u32 = 5;
const SUB: u64 = 1 << SUB_BITS;
/// Durations are counted in this unit, which is the resolution at the lower end.
const UNIT_NANOS: u64 = 1_000;
/// Enough octaves for any 64-bit number.
const BUCKETS: usize = ((64 - SUB_BITS + 1) << SUB_BITS) as usize;

/// Counts of durations in buckets of 3 % width, microseconds at the lower end. Empty until enabled: most queues need none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(Vec<u64>);

impl Histogram {
    /// One that counts.
    pub fn enabled() -> Self {
        Histogram(vec![0; BUCKETS])
    }

    /// One that counts and takes memory for what is usual, 16 s, until something takes longer: there may be thousands.
    pub fn small() -> Self {
        const USUAL_UNITS: u64 = 16_000_000;
        Histogram(vec![0; bucket(USUAL_UNITS)])
    }

    /// Forgets the counts; enabled or not as before.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Counts a duration, when enabled.
    pub fn record(&mut self, duration: Duration) {
        if self.0.is_empty() {
            return;
        }
        let bucket = bucket(duration.as_nanos() / UNIT_NANOS);
        if bucket >= self.0.len() {
            self.0.resize(bucket + 1, 0);
        }
        self.0[bucket] += 1;
    }

    /// Adds the counts of another one.
    pub fn add(&mut self, other: &Histogram) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own += other);
    }

    /// The duration that a share `q` of the counted ones does not exceed, to the middle of its bucket; `None` when
    /// nothing was counted. `q` in `[0, 1]`.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let total: u64 = self.0.iter().sum();
        let rank = ((total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        let index = self.0.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        (total > 0).then(|| Duration::from_nanos(u64::midpoint(lower(index), lower(index + 1)) * UNIT_NANOS))
    }

    /// The counts by bucket, for fingerprints; empty when not enabled.
    pub fn counts(&self) -> &[u64] {
        &self.0
    }
}

/// The bucket of `value`: exact below `SUB`, then `SUB` buckets an octave.
fn bucket(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let shift = value.ilog2() - SUB_BITS;
    (((u64::from(shift) + 1) << SUB_BITS) + (value >> shift) - SUB) as usize
}

/// The smallest value of a bucket.
fn lower(index: usize) -> u64 {
    let index = index as u64;
    if index < SUB {
        return index;
    }
    (SUB + index % SUB) << ((index >> SUB_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        for value in (0..100_000).chain([1 << 40, u64::MAX / UNIT_NANOS]) {
            let index = bucket(value);
            assert!(lower(index) <= value && value < lower(index + 1), "{value}");
            assert!(lower(index + 1) - lower(index) <= value / SUB + 1, "{value}");
        }
    }

    #[test]
    fn quantiles_of_a_uniform_spread() {
        let mut histogram = Histogram::enabled();
        (1..=1000).for_each(|ms| histogram.record(Duration::from_millis(ms)));
        for (q, expected) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99), (0.0, 0.001), (1.0, 1.0)] {
            let found = histogram.quantile(q).unwrap().as_secs_f64();
            assert!((found / expected - 1.0).abs() < 0.03, "{q}: {found}");
        }
        histogram.clear();
        assert_eq!(histogram.quantile(0.5), None);
    }

    #[test]
    fn a_small_one_grows_with_what_takes_long() {
        let [mut small, mut full] = [Histogram::small(), Histogram::enabled()];
        for seconds in [1, 20, 4000] {
            for own in [&mut small, &mut full] {
                own.record(Duration::from_secs(seconds));
            }
        }
        for q in [0.0, 0.5, 1.0] {
            assert_eq!(small.quantile(q), full.quantile(q));
        }
    }

    #[test]
    fn a_disabled_one_counts_nothing() {
        let mut histogram = Histogram::default();
        histogram.record(Duration::from_millis(5));
        assert_eq!(histogram.quantile(0.5), None);
    }
}
