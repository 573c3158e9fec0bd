//! Contention under EDCA: Bianchi's fixed point with AIFS and windows of their own for AP and stations.
//!
//! G. Bianchi, IEEE JSAC 18(3), 2000, in Kumar et al.'s form (INFOCOM 2005); AIFS as contention zones (J. W. Robinson, T. S. Randhawa,
//! IEEE JSAC 22(5), 2004). Time is cut at *boundaries*: the end of the shortest AIFS after a busy medium, and every idle slot from there
//! on. A contender counts down at each boundary that is not before the end of its own AIFS, the one at which another begins to send
//! included (802.11-2020 clause 10.23.2.4), so that it attempts at one of `1 + b` of them, `b` the mean backoff.

use crate::mac::AccessParams;

/// Rounds of the damped iteration: it contracts by half or better each.
const ROUNDS: u32 = 60;
/// What two rounds may differ by at the end.
const TOLERANCE: f64 = 1e-9;
/// Attempts after which nothing is added that a double could hold.
const MOST_ATTEMPTS: u32 = 64;
/// Highest attempt rate: 1 has no logarithm.
const ALWAYS: f64 = 1.0 - 1e-9;

/// How often a contender sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// It always has a PPDU.
    Saturated,
    /// It attempts so many times as often as if it always had one, 0 to 1.
    Part(f64),
    /// So many successes for one of the reference, as long as it is not saturated by them; 0 or more.
    Share(f64),
}

/// Contenders that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// How many.
    pub count: f64,
    /// AIFSN.
    aifsn: u32,
    /// Mean backoff before each attempt in slots, `b_k`.
    mean_slots: Vec<f64>,
    /// How often each sends.
    pub load: Load,
}

/// What comes of a contender, per boundary and for one of those that are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Probability that an attempt collides.
    pub collision: f64,
    /// Successes.
    pub successes: f64,
    /// Attempts.
    pub attempts: f64,
    /// Successes if it always had a PPDU.
    pub saturated: f64,
}

/// The fixed point.
#[derive(Clone, Debug, PartialEq)]
pub struct Contention {
    /// By contender.
    pub outcomes: Vec<Outcome>,
    /// Share of the boundaries at which nobody sends.
    pub idle: f64,
    /// `tau`: attempts of each at a boundary that it may use.
    tau: Vec<f64>,
}

impl Contender {
    /// `count` contenders with the rules of `access`, whose window starts again after `retry_limit` attempts; `None`: never.
    pub fn new(count: f64, access: AccessParams, retry_limit: Option<u32>, load: Load) -> Self {
        let mut mean_slots = Vec::new();
        let mut cw = access.cw_min;
        for _ in 0..retry_limit.unwrap_or(MOST_ATTEMPTS).clamp(1, MOST_ATTEMPTS) {
            mean_slots.push(f64::from(cw) / 2.0);
            cw = (2 * cw + 1).min(access.cw_max);
        }
        Contender { count, aifsn: access.aifsn, mean_slots, load }
    }

    /// Attempts at a boundary that it may use if it always has a PPDU: `E[A] / (E[A] + E[B])`.
    fn saturated(&self, collision: f64) -> f64 {
        let (mut attempts, mut slots, mut reach) = (0.0, 0.0, 1.0);
        for b in &self.mean_slots {
            attempts += reach;
            slots += reach * b;
            reach *= collision;
            if reach < 1e-6 {
                break;
            }
        }
        (attempts / (attempts + slots)).min(ALWAYS)
    }
}

/// Solves the fixed point, from `before` if the contenders are the same with other loads. `reference` is who [`Load::Share`] refers to,
/// and is saturated.
pub fn contend(contenders: &[Contender], reference: usize, before: Option<&Contention>) -> Contention {
    let first = contenders.iter().map(|c| c.aifsn).min().unwrap_or(0);
    let zones = contenders.iter().map(|c| c.aifsn - first).max().unwrap_or(0);
    let mut tau = before.map_or_else(|| vec![0.05; contenders.len()], |before| before.tau.clone());
    let mut outcomes = vec![Outcome::default(); contenders.len()];
    let mut idle = 1.0;
    for _ in 0..ROUNDS {
        let zones = Zones::new(contenders, &tau, first, zones);
        idle = zones.idle;
        let mut moved: f64 = 0.0;
        let collision: Vec<f64> =
            (0..tau.len()).map(|i| zones.collision(contenders[i].aifsn - first, tau[i])).collect();
        let eligible = |i: usize| zones.eligible(contenders[i].aifsn - first);
        let pace = eligible(reference) * tau[reference] * (1.0 - collision[reference]);
        for (i, contender) in contenders.iter().enumerate() {
            let saturated = contender.saturated(collision[i]);
            let successful = eligible(i) * (1.0 - collision[i]);
            let next = match contender.load {
                Load::Saturated => saturated,
                Load::Part(part) => saturated * part,
                Load::Share(share) => saturated.min(share * pace / successful.max(1e-12)),
            };
            outcomes[i] = Outcome {
                collision: collision[i],
                successes: successful * next,
                attempts: eligible(i) * next,
                saturated: successful * saturated,
            };
            moved = moved.max((next - tau[i]).abs());
            tau[i] = f64::midpoint(tau[i], next);
        }
        if moved < TOLERANCE {
            break;
        }
    }
    Contention { outcomes, idle, tau }
}

/// Boundaries by their number since the medium fell silent, up to the last AIFS; all later ones are alike.
struct Zones {
    /// Mean visits of each in an idle period, and the probability that nobody sends there.
    visits: Vec<f64>,
    silent: Vec<f64>,
    /// All visits.
    total: f64,
    idle: f64,
}

impl Zones {
    fn new(contenders: &[Contender], tau: &[f64], first: u32, last: u32) -> Self {
        let silent: Vec<f64> = (0..=last)
            .map(|zone| {
                let may = contenders.iter().zip(tau).filter(|(c, _)| c.aifsn - first <= zone);
                may.map(|(c, tau)| c.count * (1.0 - tau).ln()).sum::<f64>().exp()
            })
            .collect();
        let mut visits = vec![1.0; silent.len()];
        for zone in 1..visits.len() {
            visits[zone] = visits[zone - 1] * silent[zone - 1];
        }
        let end = visits.len() - 1;
        visits[end] /= (1.0 - silent[end]).max(1e-12);
        let total: f64 = visits.iter().sum();
        let idle = visits.iter().zip(&silent).map(|(visits, silent)| visits * silent).sum::<f64>() / total;
        Zones { visits, silent, total, idle }
    }

    /// Share of the boundaries that a contender may use that waits `zone` slots longer than the first.
    fn eligible(&self, zone: u32) -> f64 {
        self.visits[zone as usize..].iter().sum::<f64>() / self.total
    }

    /// Probability that an attempt of one contender with `tau` meets another's.
    fn collision(&self, zone: u32, tau: f64) -> f64 {
        let zone = zone as usize;
        let all: f64 = self.visits[zone..].iter().sum();
        let alone = self.visits[zone..].iter().zip(&self.silent[zone..]).map(|(visits, silent)| visits * silent);
        (1.0 - alone.sum::<f64>() / all / (1.0 - tau)).clamp(0.0, 1.0)
    }
}
