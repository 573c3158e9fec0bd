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
    /// What waited at the last look.
    waited: u64,
}

/// Bytes of one look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    /// What came, towards the stations and from them.
    pub(super) down: u64,
    pub(super) up: u64,
    /// What of that is not TCP: where the shaper drops, it drops that first, since its senders may not back off.
    pub(super) other_down: u64,
    pub(super) other_up: u64,
    /// What the shaper sent.
    pub(super) sent: u64,
    /// What waits.
    pub(super) waiting: u64,
}

impl Look {
    /// The look without what the shaper dropped, when `waited` bytes waited before.
    fn without_drops(self, waited: u64) -> Look {
        let dropped = (self.down + self.up + waited).saturating_sub(self.sent + self.waiting);
        let others = self.other_down + self.other_up;
        let of_others = dropped.min(others);
        let share = |part: u64, all: u64, of: u64| (of as f64 * part as f64 / all.max(1) as f64) as u64;
        let (tcp_down, tcp_up) = (self.down.saturating_sub(self.other_down), self.up.saturating_sub(self.other_up));
        let of_tcp = (dropped - of_others).min(tcp_down + tcp_up);
        let down = share(self.other_down, others, of_others) + share(tcp_down, tcp_down + tcp_up, of_tcp);
        let up = share(self.other_up, others, of_others) + share(tcp_up, tcp_down + tcp_up, of_tcp);
        Look { down: self.down.saturating_sub(down), up: self.up.saturating_sub(up), ..self }
    }
}

impl Passed {
    /// The share that went down of what left since the last look, if anything did.
    pub(super) fn look(&mut self, look: Look) -> Option<f64> {
        let Look { down, up, waiting, .. } = look.without_drops(std::mem::replace(&mut self.waited, look.waiting));
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

    /// A look at a shaper that drops nothing.
    fn look(down: u64, up: u64, waiting: u64) -> Look {
        Look { down, up, waiting, sent: u64::MAX / 2, ..Look::default() }
    }

    /// 1000 bytes a look, of which 200 come up and then 500, behind a queue of three looks.
    #[test]
    fn what_leaves_is_what_came_before_what_waits() {
        let mut passed = Passed::default();
        let shares: Vec<_> = (0..12)
            .map(|number| {
                let up = if number < 6 { 200 } else { 500 };
                passed.look(look(1000 - up, up, 1000 * (number + 1).min(3)))
            })
            .collect();
        assert_eq!(shares[..3], [None; 3]);
        assert_eq!(shares[3..9], [Some(0.8); 6]);
        assert_eq!(shares[9..], [Some(0.5); 3]);
        // All leaves at once, then nothing.
        assert_eq!([passed.look(look(0, 0, 0)), passed.look(look(0, 0, 0))], [Some(0.5), None]);
        assert_eq!(passed.arrived.len(), 1);
    }

    /// A look between the reading of two counters finds more waiting than there can be.
    #[test]
    fn what_has_left_never_comes_back() {
        let mut passed = Passed::default();
        assert_eq!(passed.look(look(500, 500, 0)), Some(0.5));
        assert_eq!(passed.look(look(0, 0, 5000)), None);
        assert_eq!(passed.look(look(1000, 0, 0)), Some(1.0));
    }

    /// 8000 bytes of UDP come down a look and 1000 of TCP, 1000 of TCP come up, and 3000 leave: the UDP is what was dropped.
    #[test]
    fn what_was_dropped_has_not_passed() {
        let mut passed = Passed::default();
        let flood = Look { down: 9000, up: 1000, other_down: 8000, sent: 3000, ..Look::default() };
        assert_eq!(passed.look(flood), Some(2.0 / 3.0));
        // The same through a shaped uplink.
        let flood = Look { down: 1000, up: 9000, other_up: 8000, sent: 3000, ..Look::default() };
        assert_eq!(passed.look(flood), Some(1.0 / 3.0));
        // What fills the queue is not dropped.
        assert_eq!(passed.look(Look { waiting: 1000, down: 1000, up: 1000, sent: 1000, ..Look::default() }), Some(0.5));
    }
}
