//! A queue that all stations share: the oldest packet's station is served with all that waits for it.

use super::cell::{Cell, Kind};
use super::work::{Pace, Work, away, mean_window};
use crate::model::root::falling;
use crate::model::window::{PerRound, Tcp};

/// Packets of a full queue that a round of turns takes: between two turns a station's packets grow from none, so that on average half of
/// them wait.
const ROUND: f64 = 1.5;
/// The same of clumps of data, which wait whole: the mean of windows between two losses, and of the queue then.
const CLUMPS: f64 = 0.68;
/// Mean of a full queue over its limit.
const FULL: f64 = 0.8;

/// Limit of the queue over its mean when bursts overflow it often enough to cut windows. Set on cells beside the grid.
const OVERFLOW: f64 = 2.0;

/// What downloads and ACKs come to.
pub(super) fn decide(cell: &Cell, limit: f64, pace: &Pace, work: &[Work], next: &mut [Work]) {
    if cell.ups().next().is_none() {
        downloads(cell, limit, pace, work, next);
        return;
    }
    let state = State { cell, limit, pace, work };
    // The smallest loss with which everything that is not lost is served.
    let loss = falling(0.0, 1.0 - 1e-6, 1e-7, |loss| {
        let (turn, rows) = state.at(loss);
        state.excess(turn, &rows, loss)
    });
    let (turn, rows) = state.at(loss);
    for (i, kind) in cell.kinds.iter().enumerate() {
        next[i].loss = loss;
        if let Some(row) = rows[i] {
            next[i].mpdus = row.mpdus;
            next[i].data = row.packets / row.mpdus;
            next[i].rtt = row.rtt;
        } else {
            next[i].answers = turn.min(next[i].data);
            // A queue that loses much is full, one that loses little is so at times.
            let standing = FULL * limit * loss.sqrt() / state.served().max(1.0);
            next[i].rtt = kind.wire + standing.max(1.0 / turn);
        }
    }
}

/// Downloads alone. Windows fill the queue, and the wire in the mean by a share `f` only: data come in bursts of the PPDUs that were
/// acknowledged, F packets. Such a queue is exponential with mean `F f / (1 - f)` (M/M/1 in PPDUs) and overflows often enough to cut the
/// windows when its limit B is twice that: `f = 1 / (1 + 2 F / B)`.
///
/// Were all windows cut at once, their mean would be that of one; were they cut one by one, hardly less than the most: half way is taken,
/// as in the unified model of DCF.
fn downloads(cell: &Cell, limit: f64, pace: &Pace, work: &[Work], next: &mut [Work]) {
    let stations: f64 = cell.kinds.iter().map(|kind| kind.count).sum();
    let flows: f64 = cell.kinds.iter().map(|kind| kind.count * kind.flows).sum();
    for (i, kind) in cell.downs() {
        let away = away(kind, pace, i);
        let turn = stations / pace.ap;
        // A full queue: what a turn takes, or more than PPDUs hold.
        let most = (ROUND * limit / stations).min(kind.full.max(limit / stations)).max(1.0);
        // What a lost MPDU holds up comes with the next PPDU.
        let held_up = 1.0 - (1.0 - kind.error).powf(work[i].mpdus / 2.0);
        let burst = kind.full.min(limit / stations) * (1.0 + held_up);
        let filled = 1.0 / (1.0 + OVERFLOW * burst / limit);
        let window = most + filled * away / turn * work[i].mpdus.max(1.0);
        let cut = 1.0 - mean_window(window / kind.flows, away + turn);
        let mean = 1.0 - cut * f64::midpoint(1.0, 1.0 / flows);
        next[i].mpdus = (mean * window * turn / (away + turn)).clamp(1.0, kind.full);
        next[i].data = 1.0 / turn;
        next[i].rtt = away + turn;
    }
}

/// The queue with a loss that is tried.
struct State<'a> {
    cell: &'a Cell,
    limit: f64,
    pace: &'a Pace,
    work: &'a [Work],
}

/// A kind that receives.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Packets per second that the AP sends it, and in a PPDU.
    packets: f64,
    mpdus: f64,
    /// Packets that wait at the AP before its turn.
    waiting: f64,
    rtt: f64,
}

impl State<'_> {
    /// Turns a second of each station that sends, and what those get that receive.
    fn at(&self, loss: f64) -> (f64, Vec<Option<Row>>) {
        let senders: f64 = self.cell.ups().map(|(_, kind)| kind.count).sum();
        let even = self.pace.ap / self.stations();
        let mut spent = 0.0;
        let mut rows = vec![None; self.cell.kinds.len()];
        for (i, kind) in self.cell.downs() {
            let row = self.download(i, kind, loss, even);
            spent += kind.count * row.packets / row.mpdus;
            rows[i] = Some(row);
        }
        (((self.pace.ap - spent) / senders).max(0.01 * even), rows)
    }

    fn stations(&self) -> f64 {
        self.cell.kinds.iter().map(|kind| kind.count).sum()
    }

    fn download(&self, i: usize, kind: &Kind, loss: f64, turn: f64) -> Row {
        let served: f64 = self.served();
        let wait = (FULL * self.limit / served.max(1.0)).max(1.0 / turn);
        let rtt = away(kind, self.pace, i) + wait;
        let round = in_clumps(kind, loss, rtt);
        let window = round.sent * kind.flows * (1.0 - loss);
        // A window goes as a clump, in one PPDU if that holds it.
        let mpdus = (window / rtt / turn).max(window).clamp(1.0, kind.full);
        let packets = (window / rtt).min(kind.full * turn);
        let waiting = mpdus.max(window - packets * away(kind, self.pace, i));
        Row { packets, mpdus, waiting, rtt }
    }

    /// Packets that the AP serves per second, as of the last round.
    fn served(&self) -> f64 {
        let of = |(kind, work): (&Kind, &Work)| {
            let packets = match kind.direction {
                crate::packet::Direction::Up => work.answers * work.acks,
                crate::packet::Direction::Down => work.data * work.mpdus,
            };
            kind.count * packets
        };
        self.cell.kinds.iter().zip(self.work).map(of).sum()
    }

    /// What the queue or the PPDUs of ACKs would have to hold beyond their limits, relative.
    fn excess(&self, turn: f64, rows: &[Option<Row>], loss: f64) -> f64 {
        let (mut full, mut over): (f64, f64) = (0.0, f64::NEG_INFINITY);
        let senders: f64 = self.cell.ups().map(|(_, kind)| kind.count).sum();
        for (i, kind) in self.cell.kinds.iter().enumerate() {
            if let Some(row) = rows[i] {
                full += kind.count * row.waiting / (CLUMPS * self.limit);
            } else {
                let burst = self.work[i].mpdus * (1.0 - kind.error) * kind.ack_ratio;
                let waiting = self.work[i].data * burst * (1.0 - loss) / turn;
                // ACKs come by the PPDU: few stations fill the queue.
                let room = ROUND * self.limit.max(senders * burst.min(self.limit / 2.0));
                full += kind.count * waiting / room;
                over = over.max(waiting / kind.full_acks - 1.0);
            }
        }
        over.max(full - 1.0)
    }
}

fn tcp(kind: &Kind) -> Tcp {
    Tcp { b: 1.0 / kind.ack_ratio, window: kind.window, rto: kind.rto, limited_transmit: kind.limited_transmit }
}

/// Rounds of the search for what a loss costs: each halves the error.
const LOSSES: u32 = 8;

/// What a flow of `kind` sends and gets a round trip with `loss`.
pub(super) fn per_round(kind: &Kind, loss: f64, rtt: f64) -> PerRound {
    tcp(kind).per_round(loss, rtt, 1.0 / kind.ack_ratio)
}

/// The same where a full queue loses packets with probability `loss`. It is full for longer than a clump takes to arrive: a window W is lost
/// at once, and TCP answers once, so that a loss begins at a packet with probability `loss / W`.
pub(super) fn in_clumps(kind: &Kind, loss: f64, rtt: f64) -> PerRound {
    let mut round = per_round(kind, loss, rtt);
    for _ in 0..LOSSES {
        round = per_round(kind, loss / round.sent.max(1.0), rtt);
    }
    round
}
