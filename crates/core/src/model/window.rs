//! How many segments a TCP connection sends per round trip: PFTK with what a modern sender does about losses, and what
//! lost ACKs do to an upload.
//!
//! Ours (docs/models.md, section Windows).

use super::pftk;

/// Steps of an upload's climb after a timeout; windows beyond are climbed in larger steps.
const CLIMB_STEPS: f64 = 24.0;
/// The shift by which RTTVAR decays with every sample (RFC 6298: 1 - 1/4).
const RTTVAR_KEPT: f64 = 0.75;

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tcp {
    /// Segments that an ACK acknowledges.
    pub(super) b: f64,
    /// Receive window in segments.
    pub(super) window: f64,
    /// Smallest and largest timeout in seconds.
    pub(super) rto: (f64, f64),
    /// The first two duplicate ACKs release a segment each.
    pub(super) limited_transmit: bool,
}

/// Segments per round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PerRound {
    /// Sent.
    pub(super) sent: f64,
    /// Delivered for the first time.
    pub(super) useful: f64,
    /// How uneven that is in time, in seconds: over an observation of T seconds the goodput of one connection has the
    /// relative variance `spell / T`.
    pub(super) spell: f64,
}

impl Tcp {
    /// With loss probability `p` of a segment and round-trip time `rtt` in seconds.
    pub(super) fn per_round(&self, p: f64, rtt: f64, b: f64) -> PerRound {
        if p <= 0.0 {
            return PerRound { sent: self.window, useful: self.window, spell: 0.0 };
        }
        let p = p.min(1.0 - 1e-9);
        let unconstrained = pftk::expected_window(p, b);
        let w = unconstrained.min(self.window);
        let rounds =
            if unconstrained < self.window { b / 2.0 * w + 1.0 } else { b / 8.0 * w + (1.0 - p) / (p * w) + 2.0 };
        let q = pftk::timeout_probability(p, if self.limited_transmit { w + 2.0 } else { w });
        let (mean, square) = self.timeouts(p, rtt, rounds);
        let idle = q * mean / rtt;
        let time = rounds + idle;
        let (sent, useful) = ((1.0 - p) / p + w + q / (1.0 - p), (1.0 - p) / p + w / 2.0 + q);
        PerRound {
            sent: (sent / time).min(self.window),
            useful: (useful / time).min(self.window),
            // Renewals: the variance is that of what a cycle loses, which long back-offs dominate, over the cycle's
            // length.
            spell: (q * square + (rounds * rtt * (1.0 - useful / time / w).clamp(0.0, 1.0)).powi(2)) / (time * rtt),
        }
    }

    /// An upload: loss probability `l` of a segment and `p` of an ACK, round-trip time `rtt` in seconds.
    ///
    /// Lost ACKs slow the window's growth, which counts ACKs, and a round whose ACKs are all lost ends in a timeout.
    /// From there the window climbs again, and the smaller it is, the likelier the next round is lost too.
    pub(super) fn upload(&self, l: f64, p: f64, rtt: f64) -> PerRound {
        let arriving = (1.0 - p).max(1e-6);
        let steady = self.per_round(l, rtt, self.b / arriving);
        let top = steady.sent.max(1.0);
        // Probability that a round of w segments brings an ACK back, and that no segment of it is given up whose
        // retransmission times out. Its ACK is the only one that brings the window forward, beside those of the new
        // segments that duplicate ACKs release: what half the window and they exceed the outstanding, up to the cap.
        let alive = |w: f64| {
            let some_ack = 1.0 - p.powf((w / self.b).max(1.0));
            let released = (w * (0.5 - p)).min(self.window - w).max(0.0);
            let lost = 1.0 - (1.0 - l).powf(w);
            some_ack * (1.0 - lost * p.powf(1.0 + released))
        };
        let dies_at_top = 1.0 - alive(top);
        if dies_at_top < 1e-7 {
            return steady;
        }
        let (mut reach, mut rounds, mut sent) = (1.0, 0.0, 0.0);
        let half = (top / 2.0).max(2.0);
        let mut w = 1.0_f64;
        while w < top {
            // Slow start doubles, less what is lost; congestion avoidance adds a segment every b rounds, as long as
            // ACKs arrive.
            let acks = (w / self.b).max(1.0) * arriving;
            let gain = if w < half { acks.min(half - w).max(1e-3) } else { acks / w };
            let step = gain.max((top - 1.0) / CLIMB_STEPS).min(top - w).max(1e-3);
            let stay = step / gain;
            let survive = alive(w).powf(stay);
            // Rounds dwell at this window, until the next or a timeout.
            let dwell = if survive < 1.0 - 1e-9 { (1.0 - survive) / (1.0 - alive(w)) } else { stay };
            rounds += reach * dwell;
            sent += reach * dwell * w;
            reach *= survive;
            w += step;
        }
        let idle = self.timeouts(1.0 - alive(1.0), rtt, rounds).0 / rtt;
        // Climbs are tried until one reaches the top, where the window stays until a round dies.
        let climbing = (rounds + idle) / reach.max(1e-9);
        let at_top = 1.0 / dies_at_top;
        let all = climbing + at_top;
        let share = (sent / reach.max(1e-9) / top + at_top) / all;
        // An alternating process: relative variance of the time share f at the top is 2 (1-f)/f tau / T, 1/tau =
        // 1/climbing + 1/at_top.
        let spell = 2.0 * climbing / at_top * (climbing * at_top / all) * rtt;
        PerRound { sent: steady.sent * share, useful: steady.useful * share, spell: steady.spell + spell }
    }

    /// Seconds that a sequence of timeouts lasts, PFTK's `T_0 f(p) / (1-p)`, `rounds` round trips after the last one.
    ///
    /// `T_0` is RFC 6298's after so many samples of a constant round trip: `RTT + 4 RTTVAR`, RTTVAR beginning at half
    /// of RTT. By Karn's rule the back-off ends when a segment that was sent once is acknowledged: the retransmission
    /// and the segment after it must both get through.
    ///
    /// Returns mean and mean square.
    fn timeouts(&self, p: f64, rtt: f64, rounds: f64) -> (f64, f64) {
        let t0 = (rtt * (1.0 + 2.0 * RTTVAR_KEPT.powf(rounds))).clamp(self.rto.0, self.rto.1);
        let again = (1.0 - (1.0 - p) * (1.0 - p)).min(1.0 - 1e-9);
        let (mut mean, mut square, mut reach, mut t, mut so_far) = (0.0, 0.0, 1.0, t0, 0.0);
        for _ in 0..7 {
            mean += reach * t;
            // E[I^2] grows by (I + t)^2 - I^2 with every further timeout.
            square += reach * t * (2.0 * so_far + t);
            so_far += t;
            reach *= again;
            t = (2.0 * t).min(self.rto.1);
        }
        // All further ones last as long as the seventh.
        let more = reach / (1.0 - again);
        (mean + more * t, square + more * t * (2.0 * so_far + t * (1.0 + again) / (1.0 - again)))
    }
}
