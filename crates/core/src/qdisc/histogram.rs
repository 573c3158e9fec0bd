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

    /// Forgets the counts; enabled or not as before.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Counts a duration, when enabled.
    pub fn record(&mut self, duration: Duration) {
        if self.0.is_empty() {
            return;
        }
        if let Some(count) = self.0.get_mut(bucket(duration.as_nanos() / UNIT_NANOS)) {
            *count += 1;
        }
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
        quantile(self.0.iter().copied().enumerate(), q)
    }

    /// The counts by bucket, for fingerprints; empty when not enabled.
    pub fn counts(&self) -> &[u64] {
        &self.0
    }
}

/// The same buckets for one of thousands: those that hold something, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram(Vec<(u16, u32)>);

impl SparseHistogram {
    /// Forgets the counts.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts a duration.
    pub fn record(&mut self, duration: Duration) {
        let bucket = bucket(duration.as_nanos() / UNIT_NANOS) as u16;
        match self.0.binary_search_by_key(&bucket, |(known, _)| *known) {
            Ok(place) => self.0[place].1 += 1,
            Err(place) => self.0.insert(place, (bucket, 1)),
        }
    }

    /// As [`Histogram::quantile`].
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        quantile(self.0.iter().map(|(bucket, count)| (usize::from(*bucket), u64::from(*count))), q)
    }
}

/// The duration that a share `q` of those counted in buckets, in their order, does not exceed.
fn quantile(buckets: impl Iterator<Item = (usize, u64)> + Clone, q: f64) -> Option<Duration> {
    let total: u64 = buckets.clone().map(|(_, count)| count).sum();
    let rank = ((total as f64 * q).ceil() as u64).max(1);
    let mut seen = 0;
    let (index, _) = { buckets }.find(|(_, count)| {
        seen += count;
        seen >= rank
    })?;
    Some(Duration::from_nanos(u64::midpoint(lower(index), lower(index + 1)) * UNIT_NANOS))
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
    fn a_sparse_one_says_the_same() {
        let (mut sparse, mut full) = (SparseHistogram::default(), Histogram::enabled());
        assert_eq!(sparse.quantile(0.5), None);
        for ms in [20_000, 1, 3, 1, 4_000_000, 3, 3] {
            sparse.record(Duration::from_millis(ms));
            full.record(Duration::from_millis(ms));
        }
        for q in [0.0, 0.2, 0.5, 0.95, 1.0] {
            assert_eq!(sparse.quantile(q), full.quantile(q));
        }
    }

    #[test]
    fn a_disabled_one_counts_nothing() {
        let mut histogram = Histogram::default();
        histogram.record(Duration::from_millis(5));
        assert_eq!(histogram.quantile(0.5), None);
    }
}
