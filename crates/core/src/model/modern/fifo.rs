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

/// Of downloads alone, all set on 160 cells of their own beside the grid: how much of the wire stays empty, and how that grows with clumps and with
/// the time in which they merge.
const OVERFLOW: f64 = 3.0;
const BURST: f64 = 1.25;
const MERGE: f64 = 0.25;
/// Largest clump over the queue's limit, and over a station's part of that.
const LONE_CLUMP: f64 = 0.6;
const CLUMP: f64 = 1.7;
/// Packets in queue and PPDU when it overflows over its limit: of one flow, and of many.
const LONE_ROOM: f64 = 0.3;
const MANY: f64 = 1.6;
/// Accesses of the AP until ACKs are sent, and turns that a lost MPDU costs.
const ANSWERED: f64 = 1.5;
const HELD_UP: f64 = 2.5;
/// Rounds of the search for windows: each halves the error.
const WINDOWS: u32 = 12;
/// Longest time between two turns of a station, in seconds.
const LONGEST_TURN: f64 = 100.0;

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

/// Downloads alone: each flow's window when the queue overflows, and how the AP's turns divide these.
///
/// Data come in clumps: what one PPDU carries is acknowledged at once. A clump F overflows a queue of limit B long before windows fill the wire:
/// they fill a share `f` of what the AP could carry in a round trip, `f = 1 / (1 + OVERFLOW (F/B)^BURST (BDP/B)^MERGE)`, since clumps that are
/// on their way for longer merge. What waits in the queue comes on top; of that those have more whose packets arrive in large clumps: an overflow
/// meets them less often.
fn downloads(cell: &Cell, limit: f64, pace: &Pace, work: &[Work], next: &mut [Work]) {
    let alone = Alone::of(cell, limit, pace, work);
    let windows = alone.windows();
    let rate = |i: usize, kind: &Kind, turn: f64| {
        // A window that is one clump comes back after its round trip or at the next turn, whichever is later; what a lost MPDU holds up waits again.
        let rtt = alone.away(i, kind).hypot(turn * (1.0 + HELD_UP * alone.held_up(i, kind)));
        (kind.flows * windows[i] / rtt).max(1.0 / turn)
    };
    // Stations with more than a PPDU holds have more turns.
    let ppdus = |turn: f64| alone.sum(&|i, kind| (1.0 / turn).max(rate(i, kind, turn) / kind.full));
    let turn = falling(1e-6, LONGEST_TURN, 1e-7, |turn| ppdus(turn) - pace.ap);
    for (i, kind) in cell.downs() {
        let packets = rate(i, kind, turn);
        next[i].data = (1.0 / turn).max(packets / kind.full);
        next[i].mpdus = (packets / next[i].data).clamp(1.0, kind.full);
        next[i].rtt = kind.flows * windows[i] / packets;
    }
}

/// A cell whose stations all receive.
struct Alone<'a> {
    cell: &'a Cell,
    limit: f64,
    pace: &'a Pace,
    work: &'a [Work],
    stations: f64,
    flows: f64,
    /// Packets that the AP carries per second in PPDUs as large as the queue lets clumps grow.
    carried: f64,
}

impl<'a> Alone<'a> {
    fn of(cell: &'a Cell, limit: f64, pace: &'a Pace, work: &'a [Work]) -> Self {
        let mut alone = Alone { cell, limit, pace, work, stations: 0.0, flows: 0.0, carried: 0.0 };
        alone.stations = alone.sum(&|_, _| 1.0);
        alone.flows = alone.sum(&|_, kind| kind.flows);
        let sent = alone.sum(&|i, kind| work[i].data * kind.data.exchange(work[i].mpdus));
        let bare = alone.access() - sent / alone.sum(&|i, _| work[i].data).max(1e-9);
        let each = |_: usize, kind: &Kind| (bare + kind.data.exchange(alone.clump(kind))) / alone.clump(kind);
        alone.carried = alone.stations / alone.sum(&each);
        alone
    }

    /// Sum over all stations.
    fn sum(&self, of: &dyn Fn(usize, &Kind) -> f64) -> f64 {
        self.cell.downs().map(|(i, kind)| kind.count * of(i, kind)).sum()
    }

    /// Mean seconds from one of the AP's PPDUs to the next.
    fn access(&self) -> f64 {
        1.0 / self.pace.ap.max(1e-9)
    }

    /// Seconds of wire, and until the station wins the medium for its ACKs: few stations have some at a time.
    fn away(&self, i: usize, kind: &Kind) -> f64 {
        kind.wire + (ANSWERED * self.access()).min(1.0 / self.pace.saturated[i].max(1e-9))
    }

    /// Probability that a lost MPDU holds others up.
    fn held_up(&self, i: usize, kind: &Kind) -> f64 {
        1.0 - (1.0 - kind.error).powf(self.work[i].mpdus / 2.0)
    }

    /// Packets of the clump that a PPDU makes.
    fn clump(&self, kind: &Kind) -> f64 {
        kind.full.min(LONE_CLUMP * self.limit).min(CLUMP * self.limit / self.stations).max(1.0)
    }

    /// Mean window of each flow by kind. Windows are cut one by one: the others fill the queue.
    fn windows(&self) -> Vec<f64> {
        let room = self.limit * (MANY - (MANY - LONE_ROOM) / self.flows.sqrt());
        let mut windows = vec![self.limit / self.flows; self.cell.kinds.len()];
        for _ in 0..WINDOWS {
            let weight = |i: usize, kind: &Kind| kind.full.min(kind.flows * windows[i]).sqrt();
            let all = self.sum(&|i, kind| kind.flows * weight(i, kind));
            let window = |(i, kind): (usize, &Kind)| {
                let away = self.away(i, kind);
                let burst = self.clump(kind) * (1.0 + self.held_up(i, kind)) / self.limit;
                let merged = burst.powf(BURST) * (self.carried * away / self.limit).powf(MERGE);
                let wire = self.carried * away / self.flows / (1.0 + OVERFLOW * merged);
                let most = room * weight(i, kind) / all + wire;
                let cut = 1.0 - mean_window(most, away + self.limit / self.carried);
                (most * (1.0 - cut / self.flows)).min(kind.window)
            };
            let next: Vec<f64> = self.cell.downs().map(window).collect();
            for (own, next) in windows.iter_mut().zip(next) {
                *own = f64::midpoint(*own, next);
            }
        }
        windows
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
