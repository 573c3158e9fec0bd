//! Whose turn it is to be asked for its delay.

use serde::{Deserialize, Serialize};

use super::{Signal, VOUCHES, typical};

/// One of so many probes goes to all stations alike; the others follow their bytes.
const IN_TURN: u32 = 3;

/// Who is asked when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// Probes so far.
    probes: u32,
    /// The next station in turn, and the one that was asked last.
    next: usize,
    asked: Option<usize>,
}

impl Signal {
    /// Whom to ask next of those that `may` be asked: one of [`IN_TURN`] is the next in turn, the others are asked the more often
    /// the more they carry. So many that hardly send and answer late do not outvote the few that are busy. Those that are
    /// not believed are asked in turn only.
    pub(in super::super) fn next_asked(
        &mut self,
        may: impl Fn(&Self, usize) -> bool,
        is_believed: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (first, last) = (self.turn.next, self.turn.asked);
        let mut asked: Vec<usize> =
            (0..self.stations.len()).filter(|station| !self.is_absent(*station) && may(self, *station)).collect();
        if asked.len() > 1 {
            asked.retain(|station| Some(*station) != last);
        }
        self.turn.probes = self.turn.probes.wrapping_add(1);
        let next = if self.turn.probes.is_multiple_of(IN_TURN) {
            let next = asked.iter().copied().find(|station| *station >= first).or(asked.first().copied())?;
            self.turn.next = next + 1;
            next
        } else {
            let believed: Vec<usize> = asked.iter().copied().filter(|station| is_believed(*station)).collect();
            // Those that carry much more each may be believed again, if they are asked.
            let carried = |station: &usize| self.stations[*station].lately;
            let most = believed.iter().map(carried).fold(0.0, f64::max);
            let is_little = most < VOUCHES * typical(asked.iter().map(carried));
            self.busiest(if believed.is_empty() || is_little { &asked } else { &believed })?
        };
        self.turn.asked = Some(next);
        Some(next)
    }

    /// The next of `asked`: each is asked in proportion to its share of their bytes.
    fn busiest(&mut self, asked: &[usize]) -> Option<usize> {
        let all: f64 = asked.iter().map(|station| self.stations[*station].lately).sum();
        let mut next = *asked.first()?;
        for station in asked.iter().copied() {
            let seen = &mut self.stations[station];
            seen.owed += if all > 0.0 { seen.lately / all } else { 1.0 / asked.len() as f64 };
            if self.stations[station].owed > self.stations[next].owed {
                next = station;
            }
        }
        self.stations[next].owed -= 1.0;
        Some(next)
    }
}
