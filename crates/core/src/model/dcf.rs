//! Saturated DCF: the fixed point of G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination
//! function", IEEE JSAC 18(3), 2000, in the form of A. Kumar, E. Altman, D. Miorandi, M. Goyal, "New insights from a
//! fixed point analysis of single cell IEEE 802.11 WLANs", INFOCOM 2005: with retry limit, nodes of different
//! contention windows, and frame errors.
//!
//! Symbols: `b_k` mean backoff before attempt k+1 in slots, `K` attempts in all; `beta` attempts of a node per slot,
//! `gamma` probability that one fails, `c` that it collides, `e` that the channel spoils it. (detti2011's access
//! priority beta is `priority` here.)

use super::error::{ModelError, within};
use super::root::falling;
use crate::mac::MacParams;

/// Rounds of the damped iteration. It contracts by half or better each round, so that 1e-12 takes about 40.
const ROUNDS: u32 = 400;

/// Contention windows of a transmitter.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// `b_k` by attempt, `K` entries.
    mean_slots: Vec<f64>,
}

impl Backoff {
    /// The windows of the MAC's rules, divided for `priority` as the cell divides them.
    ///
    /// # Errors
    /// A priority outside 0.001-1000.
    pub fn new(params: &MacParams, priority: f64) -> Result<Self, ModelError> {
        Backoff::of(params, params.cw_min, priority)
    }

    /// [`Self::new`] of a transmitter with another smallest window.
    pub(super) fn of(params: &MacParams, cw_min: u32, priority: f64) -> Result<Self, ModelError> {
        within("beta", priority, 1e-3, 1e3, "0.001 to 1000")?;
        let mut cw = cw_min;
        let mut largest = Vec::new();
        // Beyond some attempts nothing is added that a double could hold.
        for _ in 0..params.retry_limit.clamp(1, 64) {
            largest.push(f64::from(params.rules.largest_draw(cw)));
            cw = (2 * cw + 1).min(params.cw_max);
        }
        let plain = Backoff { mean_slots: largest.iter().map(|cw| cw / 2.0).collect() };
        Ok(plain.divided_for(priority))
    }

    /// Windows divided so that a saturated node succeeds `priority` times as often as one with these, alone with it.
    fn divided_for(&self, priority: f64) -> Self {
        if (priority - 1.0).abs() < f64::EPSILON {
            return self.clone();
        }
        let divided = |divisor: f64| Backoff { mean_slots: self.mean_slots.iter().map(|b| b / divisor).collect() };
        let node = |backoff| Node { count: 1.0, backoff, error: 0.0 };
        // The ratio of successes grows with the divisor; on a logarithmic scale nearly in proportion.
        let short_of = |divisor: f64| {
            let solved = solve(&[node(divided(divisor.exp())), node(self.clone())]);
            let success = |i: usize| solved[i].attempts * (1.0 - solved[i].collision);
            (priority * success(1) / success(0)).ln()
        };
        divided(falling(priority.ln() - 2.0, priority.ln() + 2.0, 1e-9, short_of).exp())
    }

    /// Attempts per frame, `E[A] = sum gamma^k`, when each fails with probability `gamma`.
    pub fn attempts(&self, gamma: f64) -> f64 {
        self.sums(gamma).0
    }

    /// Mean slots of backoff before an attempt, `sum b_k gamma^k / E[A]`.
    pub fn mean(&self, gamma: f64) -> f64 {
        let (attempts, slots) = self.sums(gamma);
        slots / attempts
    }

    /// Probability that a frame is given up, `gamma^K`.
    pub fn discard(&self, gamma: f64) -> f64 {
        gamma.powi(self.mean_slots.len() as i32)
    }

    fn sums(&self, gamma: f64) -> (f64, f64) {
        let (mut attempts, mut slots, mut reach) = (0.0, 0.0, 1.0);
        for b in &self.mean_slots {
            attempts += reach;
            slots += reach * b;
            reach *= gamma;
        }
        (attempts, slots)
    }
}

/// Nodes that are alike and always have a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// How many.
    pub count: f64,
    /// Their windows.
    pub backoff: Backoff,
    /// `e`: the channel spoils an attempt, 0 to 1.
    pub error: f64,
}

/// What the fixed point says of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    /// `beta`: attempts per slot of one node.
    pub attempts: f64,
    /// `c`: an attempt meets another's.
    pub collision: f64,
    /// `gamma = 1 - (1-c)(1-e)`.
    pub failure: f64,
}

/// The fixed point `beta_i = E[A_i] / (E[A_i] + E[B_i])`, `c_i = 1 - prod_(j != i) (1 - beta_j)`.
pub fn solve(nodes: &[Node]) -> Vec<Attempt> {
    let mut solved = vec![Attempt { attempts: 0.05, collision: 0.0, failure: 0.0 }; nodes.len()];
    for _ in 0..ROUNDS {
        // One silent slot for all; each node takes itself out again.
        let silence: f64 = nodes.iter().zip(&solved).map(|(n, s)| n.count * (1.0 - s.attempts).ln()).sum();
        let mut moved: f64 = 0.0;
        for (node, state) in nodes.iter().zip(&mut solved) {
            let others = (silence - (1.0 - state.attempts).ln()).min(0.0);
            state.collision = 1.0 - others.exp();
            state.failure = 1.0 - (1.0 - state.collision) * (1.0 - node.error);
            let next = 1.0 / (1.0 + node.backoff.mean(state.failure));
            moved = moved.max((next - state.attempts).abs());
            // Windows of zero slots attempt always; 1 has no logarithm.
            state.attempts = f64::midpoint(state.attempts, next).min(1.0 - 1e-9);
        }
        if moved < 1e-13 {
            break;
        }
    }
    solved
}

/// Bianchi's saturation throughput of `n` like nodes in frames per second, and the collision probability. `busy` and
/// `collided` are the seconds that a success and a collision take, with the interframe spaces after them.
///
/// # Errors
/// `n` below 1.
pub fn saturation(params: &MacParams, n: f64, busy: f64, collided: f64) -> Result<(f64, f64), ModelError> {
    within("n", n, 1.0, 1e6, "1 or more nodes")?;
    let node = Node { count: n, backoff: Backoff::new(params, 1.0)?, error: 0.0 };
    let Attempt { attempts, collision, .. } = solve(&[node])[0];
    let success = n * attempts * (1.0 - collision);
    let idle = (1.0 - attempts).powf(n);
    let slot = idle * params.slot.as_secs_f64() + success * busy + (1.0 - idle - success) * collided;
    Ok((success / slot, collision))
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these are exact")]
mod tests {
    use super::*;
    use crate::mac::{Phy, Preamble};
    use crate::scenario::{Preset, Radio};
    use crate::units::{Bitrate, Bytes};
    use proptest::prelude::*;

    fn params(phy: Phy, rate: u64, basic: u64, eifs: bool, retry_limit: u32) -> MacParams {
        let radio = Radio {
            phy,
            rate: Bitrate::mbps(rate),
            basic_rate: Bitrate::mbps(basic),
            protection_rate: None,
            preamble: Preamble::Long,
            retry_limit,
            eifs,
            cw_min: None,
            cw_max: None,
            qos: None,
        };
        MacParams::new(&radio, Preset::Standard)
    }

    /// Mbit/s of 1500-byte MSDUs and the collision probability.
    fn bianchi(params: &MacParams, rate: u64, n: u32) -> (f64, f64) {
        let rate = Bitrate::mbps(rate);
        let data = params.data_time(Bytes(1500), params.tx(rate)).as_secs_f64();
        let ack = (params.sifs + params.ack_time(params.tx(rate))).as_secs_f64();
        let busy = data + ack + params.difs.as_secs_f64();
        // ns-3's tables put the ACK's own duration into EIFS, not that of an ACK at the lowest rate.
        let eifs = params.after_bad_frame > params.difs;
        let collided = data + params.difs.as_secs_f64() + if eifs { ack } else { 0.0 };
        let (frames, collision) = saturation(params, f64::from(n), busy, collided).unwrap();
        (frames * 1500.0 * 8.0 / 1e6, collision)
    }

    /// Bar: ns-3's tables within 1 %; no retry limit.
    #[test]
    fn the_published_saturation_throughputs() {
        let tables = [
            (params(Phy::B, 11, 2, true, 64), 11, [6.3821, 6.0269, 5.7718, 5.5765, 5.2958, 5.0722, 4.9103]),
            (params(Phy::B, 11, 2, false, 64), 11, [6.4734, 6.1774, 5.9553, 5.7819, 5.5289, 5.3243, 5.1745]),
            (params(Phy::A, 54, 24, true, 64), 54, [29.2861, 27.3763, 26.2078, 25.3325, 24.0944, 23.1549, 22.4162]),
        ];
        for (params, rate, row) in tables {
            for (n, expected) in [5, 10, 15, 20, 30, 40, 50].into_iter().zip(row) {
                let (mbps, _) = bianchi(&params, rate, n);
                println!(
                    "{rate} Mbit/s, n = {n}: {mbps:.4} for {expected} ({:+.2} %)",
                    (mbps / expected - 1.0) * 100.0
                );
                assert!((mbps / expected - 1.0).abs() < 0.01, "{rate} Mbit/s, n = {n}: {mbps} for {expected}");
            }
        }
    }

    /// Bianchi's own collision probabilities, 802.11a.
    #[test]
    fn the_published_collision_probabilities() {
        let params = params(Phy::A, 54, 24, true, 64);
        let row = [(2, 0.105), (3, 0.178), (4, 0.231), (5, 0.272), (6, 0.303), (8, 0.350), (10, 0.384)];
        for (n, expected) in row {
            let (_, collision) = bianchi(&params, 54, n);
            assert!((collision - expected).abs() < 0.003, "n = {n}: {collision} for {expected}");
        }
    }

    /// Errors double the window as collisions do, a retry limit lets it fall back, priority is a ratio of successes.
    #[test]
    fn errors_limits_and_priorities() {
        let few = Backoff::new(&params(Phy::B, 11, 2, true, 2), 1.0).unwrap();
        let many = Backoff::new(&params(Phy::B, 11, 2, true, 7), 1.0).unwrap();
        assert_eq!((few.mean(0.0), many.mean(0.0)), (15.5, 15.5));
        // gamma = 0.5, K = 2: (15.5 + 0.5 * 31.5) / 1.5.
        assert!((few.mean(0.5) - 31.25 / 1.5).abs() < 1e-12 && (few.attempts(0.5) - 1.5).abs() < 1e-12);
        assert!((few.discard(0.5) - 0.25).abs() < 1e-12);
        let node = |error| Node { count: 1.0, backoff: many.clone(), error };
        let clean = solve(&[node(0.0), node(0.0)])[0];
        let noisy = solve(&[node(0.4), node(0.0)]);
        assert!(noisy[0].attempts < clean.attempts && noisy[1].collision < clean.collision);
        assert!((noisy[0].failure - (1.0 - (1.0 - noisy[0].collision) * 0.6)).abs() < 1e-12);
        for priority in [0.1, 0.8, 1.2, 4.0] {
            let fast = Backoff::new(&params(Phy::B, 11, 2, true, 7), priority).unwrap();
            let pair = solve(&[Node { count: 1.0, backoff: fast, error: 0.0 }, node(0.0)]);
            let success = |a: Attempt| a.attempts * (1.0 - a.collision);
            assert!((success(pair[0]) / success(pair[1]) / priority - 1.0).abs() < 1e-6, "{priority}");
        }
    }

    proptest! {
        #[test]
        fn probabilities_are_probabilities(
            count in prop::sample::select(vec![1.0, 2.0, 50.0, 1000.0]), error in 0.0..=1.0_f64,
            priority in prop::sample::select(vec![0.01, 1.0, 100.0]), retry in 1_u32..100,
        ) {
            let params = params(Phy::B, 11, 2, true, retry);
            let node = |priority, error| Node { count, backoff: Backoff::new(&params, priority).unwrap(), error };
            for state in solve(&[node(priority, error), node(1.0, 0.0)]) {
                prop_assert!((0.0..1.0).contains(&state.attempts), "{state:?}");
                prop_assert!((0.0..=1.0).contains(&state.collision) && (0.0..=1.0).contains(&state.failure), "{state:?}");
            }
        }
    }
}
