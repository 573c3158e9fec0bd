//! How long contention and exchanges take.

use super::contention::Contention;
use crate::mac::{MacParams, QosParams};
use crate::packet::Category;

/// A kind of exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Whose it is.
    pub(super) contender: usize,
    /// How many a success of one of the contenders that are alike: their number, or what part of one's successes they are.
    pub(super) share: f64,
    /// Seconds of the exchange, of its first PPDU, and of the longer of two such.
    pub(super) exchange: f64,
    pub(super) ppdu: f64,
    pub(super) longer: f64,
}

/// Mean seconds from one boundary to the next: idle slots, exchanges, and collisions. A collision lasts as the longer of two PPDUs, drawn
/// alike from all that collide; then everybody waits for EIFS.
pub(super) fn seconds_a_boundary(params: &MacParams, qos: &QosParams, contention: &Contention, sent: &[Sent]) -> f64 {
    let best_effort = Category::BestEffort.index();
    let aifsn = qos.edca.ap[best_effort].aifsn.min(qos.edca.stations[best_effort].aifsn);
    let slot = params.slot.as_secs_f64();
    let aifs = params.sifs.as_secs_f64() + slot * f64::from(aifsn);
    let undecoded = params.after_bad_frame.saturating_sub(params.difs).as_secs_f64();
    let (mut seconds, mut successes) = (contention.idle * slot, 0.0);
    let mut collided = Vec::with_capacity(sent.len());
    let mut all = 0.0;
    for row in sent {
        let outcome = contention.outcomes[row.contender];
        seconds += outcome.successes * row.share * (row.exchange + aifs);
        successes += outcome.successes * row.share;
        let attempts = outcome.attempts * row.share * outcome.collision;
        collided.push((attempts, row));
        all += attempts;
    }
    let collisions = (1.0 - contention.idle - successes).max(0.0);
    let mut longest = 0.0;
    for (one, row) in &collided {
        for (other, with) in &collided {
            longest += one / all.max(1e-12) * other / all.max(1e-12) * row.longer_with(with);
        }
    }
    seconds + collisions * (longest + undecoded + aifs)
}

impl Sent {
    /// Mean seconds of the longer of this PPDU and another: where one is less than half as long, the other.
    fn longer_with(&self, other: &Sent) -> f64 {
        let (short, long) = if self.ppdu < other.ppdu { (self, other) } else { (other, self) };
        if short.ppdu < long.ppdu / 2.0 { long.ppdu } else { long.longer }
    }
}
