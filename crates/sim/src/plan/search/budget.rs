//! What a search may cost: its looks in frames, and progress in replicas of the first of them.

use super::rung::{FIRST, Rung, THIRD};
use super::{GENERATIONS, PROOF, PROVED, SECOND_KEPT, Search, THIRD_KEPT, rung};

/// Most frames on the air that a default search simulates, whatever was reckoned. Ten times as many bring twenty plans at most 4 % more goodput
/// (docs/planner.md).
const MOST: f64 = 50e6;
/// The same in a cell of aggregates, which has more remedies: with three quarters as many, one plan of 52 has a third less goodput.
const MOST_OF_AGGREGATES: f64 = 200e6;

impl Search<'_> {
    /// Progress is counted in replicas of the first rung: how many of these a replica of `rung` is.
    pub(super) fn parts(&self, rung: Rung) -> u32 {
        let seconds = |rung: Rung| rung::seconds_of(self.scenario, rung, self.pace) / f64::from(rung.replicas);
        (seconds(rung) / seconds(FIRST)).round().max(1.0) as u32
    }

    /// Frames of a candidate in a rung, as those before it had them.
    pub(super) fn cost(&self, rung: Rung) -> f64 {
        let reckoned = || self.pace + rung::datagrams(self.scenario);
        let pace = if self.seconds > 0.0 { self.spent / self.seconds } else { reckoned() };
        (pace * rung::seconds_of(self.scenario, rung, self.pace)).max(1.0)
    }

    /// Rungs of a default search with the number of candidates that each looks at, of which `first` are spread over the families.
    fn looks(&self, first: usize) -> [(Rung, usize); 4] {
        [
            (FIRST, first + GENERATIONS[0].0 * GENERATIONS[0].1),
            (self.second(), SECOND_KEPT + 20 + GENERATIONS[1].0 * GENERATIONS[1].1),
            (THIRD, THIRD_KEPT),
            (PROOF, PROVED),
        ]
        .map(|(rung, count)| (rung.of(self.scenario, self.pace), count))
    }

    /// Most frames of this search.
    pub(super) fn most(&self) -> f64 {
        let most = if self.scenario.radio.qos.is_some() { MOST_OF_AGGREGATES } else { MOST };
        most * self.effort
    }

    pub(super) fn cost_of_default(&self, first: usize) -> f64 {
        self.looks(first).into_iter().map(|(rung, count)| count as f64 * self.cost(rung)).sum()
    }

    /// Tells whoever watches how much there is to do in a search of `scale` times the default's candidates.
    pub(super) fn expect(&self, first: usize, scale: f64) {
        let parts = |(rung, count): (Rung, usize)| count as f64 * f64::from(rung.replicas * self.parts(rung));
        let all: f64 = self.looks(first).into_iter().map(parts).sum();
        let most = self.most() / self.cost(FIRST.of(self.scenario, self.pace));
        self.counter.expect((all * scale).min(most) as u32);
    }
}
