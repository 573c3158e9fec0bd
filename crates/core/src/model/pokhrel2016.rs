//! TCP over Wi-Fi with channel errors and a finite AP buffer: pokhrel2016, with an Appendix A of our own.
//!
//! Symbols: `N_u`, `N_d` stations that upload and download, one flow each; `K + 1` attempts a frame; `p_w` probability
//! that the channel spoils an attempt of a TCP segment (ACKs are spared, A1); `h` share of segments among the packets
//! that the AP serves; `gamma_u`, `gamma_ap` probability that an attempt of a segment fails; `p_lu`, `p_ld` that the
//! MAC gives it up; `p_b` that the AP's buffer refuses a packet; `W_max` receive window in packets; `Theta` aggregate
//! throughput in segments per second.
//!
//! Appendix A, on the contention of `u + d` active stations with a saturated AP, is in a supplement that we do not
//! have. Ours: the contenders of a state (d, u) are saturated nodes of Kumar et al.'s fixed point: `u` that send segments
//! (error `p_w`), `d` that send ACKs, and the AP, whose frame is a segment with probability `h` (error `h p_w`). A cycle
//! ends with each contender alike (Eqs. 1-5). With `tau_i` attempts a slot and `E[A_i]` attempts a service, services per
//! slot are `s = sum tau_i / E[A_i]`, a cycle lasts `slot / s`, and attempts and failures per cycle are `tau_i / s` and
//! `gamma_i tau_i / s`. Weighted with pi(d, u) these give Eqs. 9-13.

#![allow(clippy::similar_names, reason = "p_lu and p_ld are the paper's")]

use super::dcf::{self, Backoff, Node};
use super::error::{ModelError, within};
use super::pftk::expected_window;
use super::root::falling;
use crate::mac::MacParams;
use crate::units::{Bitrate, Bytes};

/// Rounds of the fixed point of (h, p_ld).
const ROUNDS: u32 = 200;
/// Active stations of a direction that the sums of Eqs. 9-13 reach; `pi` beyond is below 1e-9.
const MOST_ACTIVE: u32 = 12;

/// What the model asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// MAC timing; `K + 1` is its `retry_limit`.
    pub params: MacParams,
    /// PHY rate of all.
    pub rate: Bitrate,
    /// IP length of a segment; an ACK has 40 bytes.
    pub segment: Bytes,
    /// `N_u`.
    pub n_u: u32,
    /// `N_d`.
    pub n_d: u32,
    /// `p_w`.
    pub p_w: f64,
    /// `W_max`, at least 1.
    pub window: f64,
}

/// A fixed point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    /// `h`.
    pub h: f64,
    /// `gamma_u` and `gamma_ap^Data`.
    pub gamma: [f64; 2],
    /// `p_lu`.
    pub p_lu: f64,
    /// `p_ld`.
    pub p_ld: f64,
    /// `p_b`.
    pub p_b: f64,
    /// `Theta_u`, Eq. 17.
    pub up: f64,
    /// `Theta_d`, Eq. 18.
    pub down: f64,
}

/// What section 5 recommends for a wanted ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remedy {
    /// `p_b(r)`, Eq. 24: what admission control refuses.
    pub p_b: f64,
    /// `B_r` in packets, Eq. 21.
    pub buffer: f64,
    /// Whether to size the buffer (`B_r >= 6 N`) rather than to control admission.
    pub size_buffer: bool,
    /// Whether `r` is reached; if not, the channel alone leaves the downloads with less, and this is the nearest: no
    /// loss at the AP.
    pub attainable: bool,
}

/// Sums over the states for given `h` and `p_ld`.
struct Chain {
    gamma_u: f64,
    gamma_ap: f64,
    up: f64,
    down: f64,
}

impl Cell {
    fn check(&self) -> Result<(), ModelError> {
        within("p_w", self.p_w, 0.0, 1.0, "0 to 1")?;
        within("W_max", self.window, 1.0, 1e9, "1 or more packets")?;
        if self.n_u + self.n_d == 0 { Err(ModelError::NoFlows) } else { Ok(()) }
    }

    /// `pi(d, u)`, Eq. 6.
    fn pi(h: f64, p_ld: f64, d: u32, u: u32) -> f64 {
        let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
        let served = 1.0 - h * p_ld;
        f64::from(u + d + 1) / ((1.0 + served) * served.exp())
            * (h * (1.0 - p_ld)).powi(d as i32)
            * (1.0 - h).powi(u as i32)
            / (factorial(d) * factorial(u))
    }

    /// Eqs. 9, 10, 12, 13 with our Appendix A.
    fn chain(&self, h: f64, p_ld: f64, backoff: &Backoff) -> Chain {
        let secs = |duration: crate::units::Duration| duration.as_secs_f64();
        let params = &self.params;
        let after = secs(params.sifs) + secs(params.ack_time(params.tx(self.rate))) + secs(params.difs);
        let (data, ack) = (
            secs(params.data_time(self.segment, params.tx(self.rate))),
            secs(params.data_time(Bytes(40), params.tx(self.rate))),
        );
        // [attempts, failures] of uploads' and the AP's segments; successes; seconds.
        let (mut upload, mut access, mut up, mut down, mut segments, mut time) =
            ([0.0; 2], [0.0; 2], 0.0, 0.0, 0.0, 0.0);
        for u in 0..=self.n_u.min(MOST_ACTIVE) {
            for d in 0..=self.n_d.min(MOST_ACTIVE) {
                let pi = Self::pi(h, p_ld, d, u);
                let node = |count: u32, error| Node { count: f64::from(count), backoff: backoff.clone(), error };
                let nodes = [node(u, self.p_w), node(d, 0.0), node(1, h * self.p_w)];
                let solved = dcf::solve(&nodes);
                // Per slot: services that end, of each kind of node.
                let per_slot = |i: usize| nodes[i].count * solved[i].attempts;
                let served = |i: usize| {
                    let gamma = solved[i].failure;
                    per_slot(i) / backoff.attempts(gamma)
                };
                let services: f64 = (0..3).map(served).sum();
                let silent: f64 = (0..3).map(|i| (1.0 - solved[i].attempts).powf(nodes[i].count)).product();
                // A frame that meets no other, then collisions, which last as long as a segment unless two ACKs meet.
                let alone = |i: usize| per_slot(i) * (1.0 - solved[i].collision);
                let long = alone(0) + alone(2) * h;
                let short = alone(1) + alone(2) * (1.0 - h);
                let collided = (1.0 - silent - long - short).max(0.0);
                let mixed = (per_slot(0) + h * per_slot(2)) / (0..3).map(per_slot).sum::<f64>();
                let meeting = data * (1.0 - (1.0 - mixed).powi(2)) + ack * (1.0 - mixed).powi(2);
                let slot = silent * secs(params.slot)
                    + long * (data + after)
                    + short * (ack + after)
                    + collided * (meeting + secs(params.after_bad_frame));
                let weight = pi / services;
                time += weight * slot;
                for (sums, i, share, collision) in
                    [(&mut upload, 0, 1.0, solved[0].collision), (&mut access, 2, h, solved[2].collision)]
                {
                    let attempts = weight * per_slot(i) * share;
                    sums[0] += attempts;
                    sums[1] += attempts * (1.0 - (1.0 - collision) * (1.0 - self.p_w));
                }
                let kept = |i: usize| 1.0 - backoff.discard(1.0 - (1.0 - solved[i].collision) * (1.0 - self.p_w));
                segments += weight * (served(0) * kept(0) + served(2) * h * kept(2));
                // Eqs. 1 and 3: whose service ends the cycle.
                let contenders = f64::from(u + d + 1);
                up += pi * f64::from(u) / contenders * kept(0);
                down += pi * h / contenders * kept(2);
            }
        }
        // How many segments pass per second is the contention's to say, whose they are the chain's: with errors
        // contenders are not alike, but every segment of an upload needs an ACK from the AP all the same.
        let total = segments / time;
        let failing = |[attempts, failures]: [f64; 2]| if attempts > 0.0 { failures / attempts } else { self.p_w };
        Chain {
            gamma_u: failing(upload),
            gamma_ap: failing(access),
            up: total * up / (up + down).max(1e-300),
            down: total * down / (up + down).max(1e-300),
        }
    }

    /// The fixed point at buffer loss `p_b`: Eqs. 6, 9-14, and 23 where `p_b > 0`.
    ///
    /// # Errors
    /// `p_w` or `p_b` outside 0-1, `W_max` below 1, no station.
    pub fn solve(&self, p_b: f64) -> Result<Solution, ModelError> {
        self.check()?;
        within("p_b", p_b, 0.0, 1.0, "0 to 1")?;
        let backoff = Backoff::new(&self.params, 1.0)?;
        let (n_u, n_d) = (f64::from(self.n_u), f64::from(self.n_d));
        let (mut h, mut p_ld) = (n_d / (n_u + n_d), 0.0);
        let mut chain = self.chain(h, p_ld, &backoff);
        for _ in 0..ROUNDS {
            // Throughputs are in proportion to h whatever it is (the chain conserves packets), so that Eq. 14 alone
            // cannot settle h: the windows that TCP's losses allow do (docs/models.md).
            let (w_u, w_d) = self.windows(backoff.discard(chain.gamma_u), backoff.discard(chain.gamma_ap), p_b);
            let (at_ap_u, at_ap_d) = (n_u * w_u * (1.0 - p_b), n_d * w_d * (1.0 - p_b));
            let next = at_ap_d / (at_ap_u + at_ap_d).max(1e-300);
            let moved = (next - h).abs();
            h = f64::midpoint(h, next);
            p_ld = backoff.discard(chain.gamma_ap);
            chain = self.chain(h, p_ld, &backoff);
            if moved < 1e-10 {
                break;
            }
        }
        let p_lu = backoff.discard(chain.gamma_u);
        let p_ld = backoff.discard(chain.gamma_ap);
        Ok(Solution { h, gamma: [chain.gamma_u, chain.gamma_ap], p_lu, p_ld, p_b, up: chain.up, down: chain.down })
    }

    /// `min(W_max, 3/4 E[W])` of uploads and downloads, the terms of Eqs. 20 and 21.
    fn windows(&self, p_lu: f64, p_ld: f64, p_b: f64) -> (f64, f64) {
        let window = |p: f64| self.window.min(0.75 * expected_window(p, 1.0));
        (window(p_lu), window(p_b + (1.0 - p_b) * p_ld))
    }

    /// The right side of Eq. 21: packets that the windows put into the AP.
    pub fn in_flight(&self, solution: &Solution) -> f64 {
        let (w_u, w_d) = self.windows(solution.p_lu, solution.p_ld, solution.p_b);
        f64::from(self.n_u) * w_u + f64::from(self.n_d) * w_d
    }

    /// The fixed point with a buffer of `b` packets: `p_b` solves Eq. 21, and is 0 where the windows fit.
    ///
    /// # Errors
    /// As [`Cell::solve`]; `b` below 1.
    pub fn with_buffer(&self, b: f64) -> Result<Solution, ModelError> {
        within("B", b, 1.0, 1e9, "1 or more packets")?;
        let open = self.solve(0.0)?;
        if self.in_flight(&open) <= b || self.n_d == 0 {
            return Ok(open);
        }
        // The discards hardly depend on p_b: those of the open buffer find it.
        let excess = |p_b: f64| self.in_flight(&Solution { p_b, ..open }) - b;
        self.solve(falling(0.0, 0.999, 1e-9, excess))
    }

    /// `p_b(r)` and `B_r` for a download-over-upload ratio `r`: Eq. 24 with Eqs. 21 and 23.
    ///
    /// The ratio counts what arrives of the windows: Eq. 24 as printed has `1 - p_b` below the line, where a lost
    /// segment would count for the downloads. In Eq. 21 uploads suffer the channel alone. The published tables follow
    /// from `p_b` for uploads too ([`tabulated_buffer`]).
    ///
    /// # Errors
    /// As [`Cell::solve`]; `r` not above 0; a direction without stations.
    pub fn remedy(&self, r: f64) -> Result<Remedy, ModelError> {
        within("r", r, 1e-9, 1e9, "above 0")?;
        if self.n_u == 0 || self.n_d == 0 {
            return Err(ModelError::NoFlows);
        }
        let open = self.solve(0.0)?;
        let ratio = |p_b: f64| {
            let (w_u, w_d) = self.windows(open.p_lu, open.p_ld, p_b);
            f64::from(self.n_d) * w_d * (1.0 - p_b) * (1.0 - open.p_ld) / (f64::from(self.n_u) * w_u)
        };
        let p_b = falling(0.0, 0.999, 1e-9, |p_b| ratio(p_b) - r);
        let buffer = self.in_flight(&Solution { p_b, ..open });
        Ok(Remedy {
            p_b,
            buffer,
            size_buffer: buffer >= 6.0 * f64::from(self.n_u + self.n_d),
            // A ratio of 1 misses the share of segments that the channel discards.
            attainable: ratio(p_b) >= r * (1.0 - 1e-3),
        })
    }
}

/// What every row of Tables 4 and 5 satisfies within 1.5 %: `B_r = (N_u + N_d) (3/4) sqrt(8 / (3 p_b))`, that is Eq. 21
/// with `p_b` as the loss of uploads too, and nothing else.
pub fn tabulated_buffer(n_u: u32, n_d: u32, p_b: f64) -> f64 {
    f64::from(n_u + n_d) * 0.75 * (8.0 / (3.0 * p_b)).sqrt()
}

#[cfg(test)]
#[path = "pokhrel2016_tests.rs"]
mod tests;
