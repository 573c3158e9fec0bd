//! Cells of 802.11n, ac and ax: EDCA, A-MPDUs, and an AP with a shared FIFO or mac80211.
//!
//! Ours (docs/models.md, section Modern cells). A fixed point of four things: contention ([`contention`]), the turns that the AP gives
//! stations, how full its PPDUs are, and what windows let through. Constants that no source gives were set on 520 cells beside the grid that
//! judges.

mod aggregate;
mod cell;
pub mod contention;
mod fifo;
mod pace;
mod round;
mod saturation;
mod solver;
#[cfg(test)]
mod tests;
mod turns;
mod work;

pub use cell::Cell;
pub use saturation::Saturation;

use super::solver::least_of;
use super::unified::STARVED;
use crate::packet::Direction;

/// Segments that a loss in a station's queue makes its sender send in vain, over its window: many are lost at once, and three SACK blocks
/// in ACKs of which the AP loses some do not tell what arrived. Set on cells beside the grid.
const IN_VAIN: f64 = 0.1;
/// How uneven flows under CoDel are over how uneven Reno's law makes windows of that size. Set on cells beside the grid.
const EVEN: f64 = 0.1;
/// Longest wait for a timeout that is counted, in seconds: half of a minute, as long as the cells of the grid last.
const LONGEST: f64 = 30.0;

/// Seconds of a window's round trip, and from one loss of a station's sender to the next: CUBIC's way back to its plateau (RFC 9438, K).
fn cycle(kind: &cell::Kind, work: &work::Work) -> (f64, f64) {
    let window = kind.window_up(work.beyond(kind)) / kind.flows;
    let round = window * kind.flows / (work.data * work.mpdus).max(1e-9);
    (round, (window * (1.0 - work::BETA) / work::C).cbrt() + round)
}

/// Share of what a station sends that its receiver has already.
fn in_vain(kind: &cell::Kind, work: &work::Work) -> f64 {
    let (round, cycle) = cycle(kind, work);
    (IN_VAIN * round / cycle).min(0.5)
}

/// Share of the time for which a sender waits for timeouts. Behind a loss each try is in vain whose ACK the AP loses, with probability p, and
/// the next one comes after twice the time: `sum of T 2^k p^(k+1)` seconds a cycle (RFC 6298 section 5.5).
fn silent(kind: &cell::Kind, work: &work::Work) -> f64 {
    let (mut lasts, mut waits, mut reach) = (kind.rto.0.max(work.rtt), 0.0, work.loss);
    while lasts < kind.rto.1.min(LONGEST) && reach > 1e-3 {
        waits += reach * lasts;
        reach *= work.loss;
        lasts *= 2.0;
    }
    waits / (waits + cycle(kind, work).1)
}

/// What a flow gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowAnswer {
    /// Segments per second.
    pub goodput: f64,
    /// Probability that the AP loses one of its packets.
    pub loss: f64,
    /// Goodput of the unluckiest of the flows that are like it, in the observed time.
    pub least: f64,
}

/// The steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// By kind of station: each of its flows.
    pub flows: Vec<FlowAnswer>,
    /// IP packets that cross the radio per second, both ways.
    pub packets: f64,
}

impl Cell {
    /// Solves the cell.
    pub fn solve(&self) -> Answer {
        let work = self.fixed_point();
        let mut packets = 0.0;
        let row = |(kind, work): (&cell::Kind, &work::Work)| {
            let segments = work.data * work.mpdus * (1.0 - kind.error);
            let acks = work.answers * work.acks * (1.0 - kind.error);
            packets += kind.count * (segments + acks);
            let in_vain = if kind.direction == Direction::Up { in_vain(kind, work) } else { 0.0 };
            let goodput = segments * (1.0 - in_vain) / kind.flows;
            let window = (goodput * work.rtt).max(1.0);
            // Where CoDel is who loses, its loss is what gives such a window (M. Mathis et al., CCR 27(3), 1997).
            let loss = if work.loss > 0.0 { work.loss } else { (1.5 / (window * window)).min(0.5) };
            let spell = match kind.direction {
                Direction::Down if work.loss > 0.0 => fifo::in_clumps(kind, loss, work.rtt).spell,
                Direction::Down => EVEN * fifo::per_round(kind, loss, work.rtt).spell,
                Direction::Up => 0.0,
            };
            let least = goodput * least_of(kind.count * kind.flows, spell / self.observed);
            FlowAnswer { goodput, loss: work.loss, least }
        };
        let flows = self.kinds.iter().zip(&work).map(row).collect();
        Answer { flows, packets }
    }

    /// Probability that a shared FIFO loses a packet; `None` of other queues, whose flows lose by themselves.
    pub fn fifo_loss(&self, answer: &Answer) -> Option<f64> {
        let is_fifo = matches!(self.turns, cell::Turns::Fifo { .. });
        answer.flows.first().map(|flow| flow.loss).filter(|_| is_fifo)
    }

    /// Goodput in bit/s of a flow of each station of the scenario, 0 without flows.
    pub fn goodputs(&self, answer: &Answer) -> Vec<f64> {
        let of = |kind: usize| answer.flows[kind].goodput * self.kinds[kind].bits;
        self.station.iter().map(|kind| kind.map_or(0.0, of)).collect()
    }

    /// Whether some flow is critically starved in `answer`: below 5 % of the fair share.
    pub fn starves(&self, answer: &Answer) -> bool {
        let (mut total, mut flows, mut least) = (0.0, 0.0, f64::INFINITY);
        for (kind, answer) in self.kinds.iter().zip(&answer.flows) {
            total += kind.count * kind.flows * answer.goodput;
            flows += kind.count * kind.flows;
            least = answer.least.min(least);
        }
        least < STARVED * total / flows
    }
}
