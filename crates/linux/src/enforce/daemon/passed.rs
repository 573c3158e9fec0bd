//! Which part of what left a pool went down: its classes count both directions together.

use std::collections::VecDeque;

/// What came to a pool before its shaper, for as long as some of it waits there. What came first leaves first, over all
/// classes: an error lasts no longer than packets wait.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// IP bytes that had come until each look, and those of them towards the stations; the first of them have left.
    arrived: VecDeque<(u64, u64)>,
    /// The same of what has left.
    left: (u64, u64),
}

impl Passed {
    /// `down` and `up` more bytes came, and `waiting` bytes wait. The share that went down of what left since the last look,
    /// if anything did.
    pub(super) fn look(&mut self, down: u64, up: u64, waiting: u64) -> Option<f64> {
        let (all, all_down) = self.arrived.back().copied().unwrap_or_default();
        if self.arrived.is_empty() {
            self.arrived.push_back((0, 0));
        }
        let now = (all + down + up, all_down + down);
        self.arrived.push_back(now);
        let left = now.0.saturating_sub(waiting).max(self.left.0);
        while self.arrived.len() > 1 && self.arrived[1].0 <= left {
            self.arrived.pop_front();
        }
        let from = self.arrived[0];
        let share = self.arrived.get(1).map_or(0.0, |to| (to.1 - from.1) as f64 / (to.0 - from.0) as f64);
        let left_down = from.1 + ((left - from.0) as f64 * share) as u64;
        let before = std::mem::replace(&mut self.left, (left, left_down));
        (left > before.0).then(|| (left_down - before.1) as f64 / (left - before.0) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes a look, of which 200 come up and then 500, behind a queue of three looks.
    #[test]
    fn what_leaves_is_what_came_before_what_waits() {
        let mut passed = Passed::default();
        let shares: Vec<_> = (0..12)
            .map(|look| {
                let up = if look < 6 { 200 } else { 500 };
                passed.look(1000 - up, up, 1000 * (look + 1).min(3))
            })
            .collect();
        assert_eq!(shares[..3], [None; 3]);
        assert_eq!(shares[3..9], [Some(0.8); 6]);
        assert_eq!(shares[9..], [Some(0.5); 3]);
        // All leaves at once, then nothing.
        assert_eq!([passed.look(0, 0, 0), passed.look(0, 0, 0)], [Some(0.5), None]);
        assert_eq!(passed.arrived.len(), 1);
    }

    /// A look between the reading of two counters finds more waiting than there can be.
    #[test]
    fn what_has_left_never_comes_back() {
        let mut passed = Passed::default();
        assert_eq!(passed.look(500, 500, 0), Some(0.5));
        assert_eq!(passed.look(0, 0, 5000), None);
        assert_eq!(passed.look(1000, 0, 0), Some(1.0));
    }
}
