//! A small sorted set of byte ranges: what the receiver holds out of order, what the sender knows as received.

/// Disjoint, non-adjacent ranges `[start, end)` in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `[start, end)`, merging what touches, and returns the merged range.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> (u64, u64) {
        let first = self.0.partition_point(|range| range.1 < start);
        let last = self.0.partition_point(|range| range.0 <= end);
        if first == last {
            self.0.insert(first, (start, end));
            return (start, end);
        }
        let merged = (start.min(self.0[first].0), end.max(self.0[last - 1].1));
        self.0[first] = merged;
        self.0.drain(first + 1..last);
        merged
    }

    /// Forgets everything below `floor` and returns `floor`, or the end of a range that continues it.
    pub(super) fn advance(&mut self, floor: u64) -> u64 {
        let below = self.0.partition_point(|range| range.0 <= floor);
        let reached = self.0[..below].last().map_or(floor, |range| floor.max(range.1));
        self.0.drain(..below);
        reached
    }

    /// Forgets all but the `count` highest ranges.
    pub(super) fn keep_last(&mut self, count: usize) {
        self.0.drain(..self.0.len().saturating_sub(count));
    }

    /// The ranges in ascending order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// The end of the range that holds `at`, else `at`.
    pub(super) fn skip(&self, at: u64) -> u64 {
        let index = self.0.partition_point(|range| range.1 <= at);
        self.0.get(index).filter(|range| range.0 <= at).map_or(at, |range| range.1)
    }

    /// The highest byte position covered, if any.
    pub(super) fn end(&self) -> Option<u64> {
        self.0.last().map(|range| range.1)
    }

    /// Bytes covered at or above `from`.
    pub(super) fn bytes_above(&self, from: u64) -> u64 {
        self.0.iter().rev().take_while(|range| range.1 > from).map(|range| range.1 - range.0.max(from)).sum()
    }

    /// Bytes covered below `to`.
    pub(super) fn bytes_below(&self, to: u64) -> u64 {
        self.0.iter().take_while(|range| range.0 < to).map(|range| range.1.min(to) - range.0).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn touching_ranges_merge() {
        let mut ranges = Ranges::default();
        ranges.insert(10, 20);
        ranges.insert(30, 40);
        assert_eq!(ranges.insert(20, 30), (10, 40));
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(10, 40)]);
        assert_eq!(ranges.skip(15), 40);
        assert_eq!(ranges.skip(40), 40);
        assert_eq!(ranges.advance(9), 9);
        assert_eq!(ranges.advance(10), 40);
        assert!(ranges.is_empty());
    }

    proptest! {
        #[test]
        fn equals_a_bitmap(inserts in prop::collection::vec((0_u64..60, 1_u64..10), 0..40), floor in 0_u64..70) {
            let mut ranges = Ranges::default();
            let mut bitmap = [false; 80];
            for (start, len) in inserts {
                ranges.insert(start, start + len);
                bitmap[start as usize..(start + len) as usize].fill(true);
            }
            let covered = |from: u64| bitmap[from as usize..].iter().filter(|set| **set).count() as u64;
            prop_assert_eq!(ranges.bytes_above(floor), covered(floor));
            prop_assert!(ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
            let run = bitmap[floor as usize..].iter().take_while(|set| **set).count() as u64;
            prop_assert_eq!(ranges.skip(floor), floor + run);
            prop_assert_eq!(ranges.advance(floor), floor + run);
            prop_assert_eq!(ranges.bytes_above(0), covered(floor + run));
        }
    }
}
