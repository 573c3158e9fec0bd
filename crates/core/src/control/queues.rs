//! Which stations share an AP's queue, where a pool has several APs.
//!
//! Delay, and what a probe that waits says of the delivered rate, is of one queue. Where one AP of a channel has a queue the
//! channel is full, however short the others' queues are.

use serde::{Deserialize, Serialize};

use super::adaptive::Adaptive;

/// The AP of each station; one for all where none is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Queues(Vec<usize>);

impl Queues {
    /// The AP of a station.
    pub(super) fn of(&self, station: usize) -> usize {
        self.0.get(station).copied().unwrap_or_default()
    }

    /// Whether what one of them meets the other meets, too.
    pub(super) fn are_one(&self, station: usize, other: usize) -> bool {
        self.of(station) == self.of(other)
    }

    /// Number of queues.
    pub(super) fn count(&self) -> usize {
        self.0.iter().max().map_or(1, |last| last + 1)
    }
}

impl Adaptive {
    /// The stations belong to several APs: `aps` has that of each.
    pub(super) fn set_access_points(&mut self, aps: Vec<usize>) {
        self.delays.queues = Queues(aps);
    }
}

#[cfg(test)]
mod tests {
    use super::super::delay::Delays;
    use super::*;
    use crate::units::{Duration, Instant};

    /// In ms: stations 0 to 2 are asked in turn and answer at once. Station 3, at another AP, finds a queue of 40 ms after a second.
    fn median(queues: Queues) -> u64 {
        let mut delays = Delays::new(4);
        delays.queues = queues;
        let mut now = Instant::ZERO;
        for probe in 0..40 {
            now += Duration::from_millis(50);
            let station = probe % 4;
            let rtt = if station == 3 && probe > 20 { 41 } else { 1 };
            delays.sample(now, station, Duration::from_millis(rtt), 1.0);
        }
        delays.median(now, |_| 1000.0).map_or(0, |delay| delay.as_nanos() / 1_000_000)
    }

    #[test]
    fn an_ap_with_a_queue_is_not_outvoted_by_the_stations_of_another() {
        assert_eq!(median(Queues(vec![0, 0, 0, 1])), 40);
        assert_eq!(median(Queues::default()), 0, "of one AP the majority tells");
        assert_eq!((Queues::default().count(), Queues(vec![0, 2, 1]).count()), (1, 3));
    }
}
