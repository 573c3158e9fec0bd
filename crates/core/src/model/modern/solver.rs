//! The search for the fixed point of contention, turns at the AP, and windows.

use super::aggregate::Exchanges;
use super::cell::{Cell, Turns};
use super::contention::{Contender, Contention, Load, contend};
use super::pace::{Sent, seconds_a_boundary};
use super::round::decide;
use super::work::{LONE, Pace, Work};
use crate::packet::{Category, Direction};

/// Rounds of the search.
const ROUNDS: u32 = 60;
/// What two rounds may differ by at the end.
const TOLERANCE: f64 = 1e-4;

impl Cell {
    /// What each kind does in the steady state.
    pub(super) fn fixed_point(&self) -> Vec<Work> {
        let mut work: Vec<Work> = self.kinds.iter().map(Work::first).collect();
        let mut contention = None;
        let mut pace = self.round(&work, None, &mut contention);
        for round in 0..ROUNDS {
            let part = 1.0 / (2.0 + f64::from(round) / 8.0);
            let next = decide(self, &pace, &work);
            let mut moved: f64 = 0.0;
            for (work, next) in work.iter_mut().zip(&next) {
                moved = moved.max(work.approach(next, part));
            }
            let last = pace.ap;
            pace = self.round(&work, Some(&pace), &mut contention);
            // Shares of the AP's pace last, not rates.
            for ((work, kind), rate) in work.iter_mut().zip(&self.kinds).zip(&pace.stations) {
                work.scale(pace.ap / last);
                if kind.direction == Direction::Up {
                    work.data = *rate;
                }
            }
            if moved < TOLERANCE && (pace.ap / last - 1.0).abs() < TOLERANCE {
                break;
            }
        }
        work
    }

    /// Contention with the present work, and what time it takes.
    fn round(&self, work: &[Work], before: Option<&Pace>, kept: &mut Option<Contention>) -> Pace {
        let best_effort = Category::BestEffort.index();
        let (ap, stations) = (self.qos.edca.ap[best_effort], self.qos.edca.stations[best_effort]);
        let retries = self.qos.retry_limit;
        // A lone sender's ACKs wait at the AP only until it wins once.
        let lone = self.kinds.len() == 1 && self.kinds[0].count <= 1.0 && self.ups().count() == 1;
        let mut contenders =
            vec![Contender::new(1.0, ap, retries, if lone { Load::Share(LONE) } else { Load::Saturated })];
        for (kind, work) in self.kinds.iter().zip(work) {
            let is_up = kind.direction == Direction::Up;
            let share = |rate: f64| Load::Share(before.map_or(1.0, |pace| rate / pace.ap.max(1e-9)));
            let load = match is_up {
                true if lone => Load::Saturated,
                true if self.turns == Turns::Air => share(work.data),
                true => Load::Part(work.busy),
                false => share(work.answers),
            };
            contenders.push(Contender::new(kind.count, stations, retries, load));
        }
        let contention = contend(&contenders, usize::from(lone), kept.as_ref());
        let seconds = self.boundary(work, &contention);
        let outcomes = &contention.outcomes;
        let pace = Pace {
            ap: outcomes[0].successes / seconds,
            stations: outcomes[1..].iter().map(|outcome| outcome.successes / seconds).collect(),
            saturated: outcomes[1..].iter().map(|outcome| outcome.saturated / seconds).collect(),
            ap_collision: outcomes[0].collision,
            collision: outcomes[1..].iter().map(|outcome| outcome.collision).collect(),
        };
        *kept = Some(contention);
        pace
    }

    /// Mean seconds from one boundary to the next.
    fn boundary(&self, work: &[Work], contention: &Contention) -> f64 {
        let from_ap: f64 = self.kinds.iter().zip(work).map(|(kind, work)| kind.count * work.sent_by_ap(kind)).sum();
        let mut sent = Vec::with_capacity(2 * work.len());
        for (i, (kind, work)) in self.kinds.iter().zip(work).enumerate() {
            let row = |contender, share, (exchanges, packets): (&Exchanges, f64)| Sent {
                contender,
                share,
                exchange: exchanges.exchange(packets),
                ppdu: exchanges.ppdu(packets),
                longer: exchanges.longer(packets),
            };
            let (data, acks) = ((&kind.data, work.mpdus), (&kind.acks, work.acks));
            let (down, up) = if kind.direction == Direction::Up { (acks, data) } else { (data, acks) };
            // The AP's PPDUs by what they carry, then each kind's own.
            sent.push(row(0, kind.count * work.sent_by_ap(kind) / from_ap.max(1e-12), down));
            sent.push(row(i + 1, kind.count, up));
        }
        seconds_a_boundary(&self.params, &self.qos, contention, &sent)
    }
}
