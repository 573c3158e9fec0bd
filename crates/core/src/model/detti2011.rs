//! The fairness level of stations that share an AP by TCP: detti2011, section 3 and appendices II and III.
//!
//! Symbols (all in packets unless said otherwise): `N_up_i`, `N_dw_i` connections of station i by direction, `W_i`
//! their receive window, `beta_i` the station's access priority over the AP (dimensionless), `B` the AP's buffer; `p`
//! the AP's loss probability, `Q_ap` and `Q_i` mean queues of AP and station, `Tn` and `NSR` useful and sent segments
//! per round trip, `eta_ij` goodput of station i over that of j. Delayed ACKs throughout: `b = 2`, and `T_0 = RTT`
//! (a6).
//!
//! Departures from the paper:
//! - Footnote 18 (`beta Q_ap + 1` for `beta Q_ap`) is used where the lossless set gives `Q_ap = 0`, that is with one
//!   station that uploads alone; `E[D_i]/E[D_ap]` of such a cell has `beta Q_ap + 1` too.
//! - Footnote 19 is carried out as: of a window, the share `d / (d + Q_ap + Q_i / beta_i)` is in the wired pipe, with
//!   `d` the wired round-trip time in AP services.

use super::error::{ModelError, within};
use super::pftk::Path;
use super::root::falling;

/// Packets that an ACK acknowledges (a3).
const B_ACK: f64 = 2.0;
/// Rounds of the search for the windows' share in the wired pipe (footnote 19).
const WIRE_ROUNDS: u32 = 60;

/// A station and its connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// `N_up_i`.
    pub n_up: u32,
    /// `N_dw_i`.
    pub n_dw: u32,
    /// `W_i`, at least 1.
    pub window: f64,
    /// `beta_i`, above zero.
    pub beta: f64,
}

/// What the model asks about a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The stations; those without connections take no part.
    pub stations: Vec<Station>,
    /// `B`, at least 1.
    pub buffer: f64,
    /// Eq. 25 for `Q_i` (uploads only) instead of Eq. 23.
    pub approximate: bool,
    /// Footnote 19: the wired round-trip time, in packets that the AP serves meanwhile; 0 without wired delay.
    pub wire: f64,
}

/// Which set of equations holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// Eqs. 4, 11-13: all windows fit.
    Lossless,
    /// Eqs. 5, 22-25: the AP's buffer is full.
    Lossy,
}

/// The steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Which set was used.
    pub regime: Regime,
    /// `p`, 0 when lossless.
    pub p: f64,
    /// `Q_ap`; `B` when lossy.
    pub q_ap: f64,
    /// `Q_i` by station.
    pub q: Vec<f64>,
    /// `GPsta_i` of Eq. 1 by station, as [uploads, downloads], in segments per AP queueing delay.
    pub goodput: Vec<[f64; 2]>,
}

impl Cell {
    fn check(&self) -> Result<(), ModelError> {
        within("B", self.buffer, 1.0, 1e9, "1 or more packets")?;
        within("wire", self.wire, 0.0, 1e9, "0 or more packets")?;
        for station in &self.stations {
            within("W_i", station.window, 1.0, 1e9, "1 or more packets")?;
            within("beta_i", station.beta, 1e-3, 1e3, "0.001 to 1000")?;
        }
        if self.stations.iter().all(|station| station.n_up + station.n_dw == 0) {
            return Err(ModelError::NoFlows);
        }
        Ok(())
    }

    /// Solves the lossless set and, if its queue does not fit into the buffer, the lossy one.
    ///
    /// # Errors
    /// `B` or a window below 1, a `beta` outside 0.001-1000, no connection at all, or a wire that holds
    /// all windows.
    pub fn solve(&self) -> Result<Solution, ModelError> {
        self.check()?;
        let mut stay = vec![1.0; self.stations.len()];
        let mut solution = self.solve_with(&stay);
        if self.wire > 0.0 {
            // The pipe's share of a window depends on the queues, and they on what the pipe leaves them.
            for _ in 0..WIRE_ROUNDS {
                let mut moved: f64 = 0.0;
                for (i, share) in stay.iter_mut().enumerate() {
                    let queues = solution.round_trip(self, i) * solution.q_ap.max(1e-9);
                    let next = f64::midpoint(*share, queues / (queues + self.wire));
                    moved = moved.max((next - *share).abs());
                    *share = next;
                }
                solution = self.solve_with(&stay);
                if moved < 1e-9 {
                    break;
                }
            }
        }
        if stay.iter().all(|share| *share < 1e-3) {
            // Nothing is left to queue: the AP does not serve without a pause, by which `d` is counted.
            return Err(ModelError::OutOfRange { symbol: "wire", value: self.wire, range: "less than all windows" });
        }
        for (goodput, share) in solution.goodput.iter_mut().zip(&stay) {
            // A longer round trip for the same window.
            goodput[0] *= share;
            goodput[1] *= share;
        }
        Ok(solution)
    }

    /// `stay` is the share of each station's windows that is not in the wired pipe.
    fn solve_with(&self, stay: &[f64]) -> Solution {
        let lossless = self.lossless(stay);
        if lossless.q_ap < self.buffer { lossless } else { self.lossy(stay) }
    }

    /// Eqs. 12 and 13.
    fn lossless(&self, stay: &[f64]) -> Solution {
        let in_flight = |i: usize| (self.up(i) * stay[i], self.down(i) * stay[i]);
        // What the AP holds of each station if its queue were q: what Eq. 12 leaves of Eq. 13, with `extra` of footnote
        // 18.
        let at_ap = |q: f64, extra: f64| -> f64 {
            let at = |(i, s): (usize, &Station)| {
                let (up, down) = in_flight(i);
                let served = s.beta * q + extra;
                let (n_up, n_dw) = (f64::from(s.n_up), f64::from(s.n_dw));
                let total = 2.0 * n_up + n_dw;
                if total == 0.0 {
                    return 0.0;
                }
                (up / 2.0).min(n_up / total * served) + down.min(2.0 * n_dw / total * served)
            };
            self.stations.iter().enumerate().map(at).sum()
        };
        let most: f64 = (0..stay.len()).map(|i| in_flight(i).0 / 2.0 + in_flight(i).1).sum();
        // Where both sides run together (two equal uploaders, beta = 1) every queue solves the set; the largest one is
        // that of empty stations, as Eq. 16 has it.
        let slack = 1e-12 * most.max(1.0);
        let mut extra = 0.0;
        let mut q_ap = falling(1e-9 * most, most, 1e-9, |q| at_ap(q, 0.0) - q + slack);
        if q_ap < 1e-6 * most {
            extra = 1.0;
            q_ap = falling(0.0, most, 1e-9, |q| at_ap(q, extra) - q);
        }
        let q: Vec<f64> = self
            .stations
            .iter()
            .enumerate()
            .map(|(i, s)| {
                let (up, down) = in_flight(i);
                let served = s.beta * q_ap + extra;
                let (n_up, n_dw) = (f64::from(s.n_up), f64::from(s.n_dw));
                let total = 2.0 * n_up + n_dw;
                if total == 0.0 {
                    return 0.0;
                }
                // Differences of equals in floating point are no queue.
                let positive = |q: f64| if q > 1e-6 { q } else { 0.0 };
                positive(up - 2.0 * n_up / total * served) + positive(down / 2.0 - n_dw / total * served)
            })
            .collect();
        let goodput = (0..q.len())
            .map(|i| {
                let rounds = 1.0 + q[i] / (self.stations[i].beta * q_ap + extra).max(1e-9);
                [self.up(i) / rounds, self.down(i) / rounds]
            })
            .collect();
        Solution { regime: Regime::Lossless, p: 0.0, q_ap, q, goodput }
    }

    /// Eqs. 5 and 22-25.
    fn lossy(&self, stay: &[f64]) -> Solution {
        let b = self.buffer;
        // Eq. 24, as load (1 - p) - B: falls with p, and has the same root.
        let excess = |p: f64| -> f64 {
            let one = |(i, s): (usize, &Station)| {
                let nsr = if s.n_dw > 0 { nsr(p, s.window) * stay[i] } else { 0.0 };
                let q = self.station_queue(i, nsr, p, stay[i]);
                (0.5 * self.up(i) * stay[i] + f64::from(s.n_dw) * nsr) / (1.0 + q / (s.beta * b))
            };
            self.stations.iter().enumerate().map(one).sum::<f64>() * (1.0 - p) - b
        };
        let p = falling(0.0, 1.0, 1e-12, excess);
        let mut q = Vec::with_capacity(stay.len());
        let mut goodput = Vec::with_capacity(stay.len());
        for (i, s) in self.stations.iter().enumerate() {
            let nsr = if s.n_dw > 0 { nsr(p, s.window) * stay[i] } else { 0.0 };
            let queue = self.station_queue(i, nsr, p, stay[i]);
            let rounds = 1.0 + queue / (s.beta * b);
            let useful = if s.n_dw > 0 { f64::from(s.n_dw) * tn(p, s.window) } else { 0.0 };
            goodput.push([self.up(i) / rounds, useful / rounds]);
            q.push(queue);
        }
        Solution { regime: Regime::Lossy, p, q_ap: b, q, goodput }
    }

    /// `Q_i`: Eq. 23, or Eq. 25.
    fn station_queue(&self, i: usize, nsr: f64, p: f64, stay: f64) -> f64 {
        let s = &self.stations[i];
        let acks = if self.approximate { 0.0 } else { 0.5 * f64::from(s.n_dw) * nsr * (1.0 - p) };
        (self.up(i) * stay + acks - s.beta * self.buffer).max(0.0)
    }

    fn up(&self, i: usize) -> f64 {
        f64::from(self.stations[i].n_up) * self.stations[i].window
    }

    fn down(&self, i: usize) -> f64 {
        f64::from(self.stations[i].n_dw) * self.stations[i].window
    }
}

/// `NSR(p, W)`, d13: segments sent per round trip, Eq. 32 of PFTK with `T_0 = RTT` and `b = 2`.
pub fn nsr(p: f64, window: f64) -> f64 {
    Path { b: B_ACK, window, rtt: 1.0, t0: 1.0 }.send_rate(p)
}

/// `Tn(p, W)`: useful segments per round trip, Eq. 37 of PFTK with `T_0 = RTT` and `b = 2`.
pub fn tn(p: f64, window: f64) -> f64 {
    Path { b: B_ACK, window, rtt: 1.0, t0: 1.0 }.throughput(p)
}

impl Solution {
    /// Round trip of station `i` in AP queueing delays, without the wire.
    fn round_trip(&self, cell: &Cell, i: usize) -> f64 {
        1.0 + self.q[i] / (cell.stations[i].beta * self.q_ap).max(1e-9)
    }

    /// `GPsta_i`, both directions.
    pub fn station(&self, i: usize) -> f64 {
        self.goodput[i][0] + self.goodput[i][1]
    }

    /// `eta_ij`, Eq. 3; `None` when station j has no goodput.
    pub fn fairness_level(&self, i: usize, j: usize) -> Option<f64> {
        let below = self.station(j);
        (below > 0.0).then(|| self.station(i) / below)
    }

    /// `R = R_up / R_dw` of all connections, Eq. 26; `None` without downloads.
    pub fn up_down_index(&self) -> Option<f64> {
        let sum = |way: usize| self.goodput.iter().map(|goodput| goodput[way]).sum::<f64>();
        (sum(1) > 0.0).then(|| sum(0) / sum(1))
    }

    /// Jain's index over the stations that have connections, Eq. 27.
    pub fn jain_index(&self) -> f64 {
        let goodputs: Vec<f64> = (0..self.q.len()).map(|i| self.station(i)).filter(|goodput| *goodput > 0.0).collect();
        crate::metrics::jain_index(&goodputs).unwrap_or(1.0)
    }
}

/// `Q_i` of the only station that can be backlogged in a lossless cell with `beta = 1`, Eqs. 14-16; `None` when it is
/// not.
///
/// Eq. 16 for equal `N_up` and `N_dw` has no meaning: such a station is never backlogged. With all of `gamma` zero and
/// no downloads it gives the whole window, which is `Q_ap = 0` (footnote 18).
pub fn backlog_closed_form(stations: &[Station], i: usize) -> Option<f64> {
    let s = &stations[i];
    let (n_up, n_dw) = (f64::from(s.n_up), f64::from(s.n_dw));
    let others = stations.iter().enumerate().filter(|(j, _)| *j != i);
    // Eq. 15.
    let gamma: f64 = others.map(|(_, s)| (f64::from(s.n_up) + 2.0 * f64::from(s.n_dw)) * s.window).sum();
    // Eq. 14.
    if n_up * s.window < gamma + n_dw * s.window || s.n_up <= s.n_dw {
        return None;
    }
    Some(((n_up + 0.5 * n_dw) * (n_up * s.window - n_dw * s.window - gamma) / (n_up - n_dw)).max(0.0))
}
