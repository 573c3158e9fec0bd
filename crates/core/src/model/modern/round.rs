//! A round of the search: what each kind does next at the present pace.

use super::cell::{Cell, Kind, Turns};
use super::work::{Pace, Work};
use super::{fifo, silent, turns};

/// Delayed-ACK timeout: an odd segment's ACK goes alone if the next PPDU comes later, which a random one does with probability
/// `exp(-rate timeout)`; in seconds.
const DELAYED_ACK: f64 = 0.040;
/// Mean of CoDel's drops of ACKs over those that would keep a station sending all the time: they climb from none. Set on cells beside the grid.
const CLIMB: f64 = 0.45;

/// What each kind does in the next round.
pub(super) fn decide(cell: &Cell, pace: &Pace, work: &[Work]) -> Vec<Work> {
    let mut next: Vec<Work> = work.to_vec();
    for (i, kind) in cell.ups() {
        next[i].mpdus = kind.sent_full(work[i].beyond(kind));
        next[i].busy = busy(cell, kind, &work[i], pace.saturated[i]);
        next[i].data = if cell.turns == Turns::Air { pace.saturated[i] } else { pace.stations[i] };
    }
    if let Turns::Fifo { limit } = cell.turns {
        fifo::decide(cell, limit, pace, work, &mut next);
    } else {
        turns::divide(cell, pace, &mut next);
    }
    for (i, kind) in cell.ups() {
        let acks = next[i].data * next[i].mpdus * (1.0 - kind.error) * kind.ack_ratio * (1.0 - next[i].loss);
        next[i].acks = (acks / next[i].answers.max(1e-9)).clamp(1.0, kind.full_acks);
    }
    for (i, kind) in cell.downs() {
        let late = if kind.ack_ratio < 1.0 { (-next[i].data * DELAYED_ACK).exp() } else { 0.0 };
        // Half of the PPDUs that are not full hold an odd number; not all of a mean below the full one are.
        let partial = (3.0 * (1.0 - next[i].mpdus / kind.full)).clamp(0.0, 1.0);
        let alone = 0.5 * partial * late;
        next[i].answers = next[i].data * (1.0 + alone);
        let acks = next[i].mpdus * (1.0 - kind.error) * kind.ack_ratio / (1.0 + alone);
        next[i].acks = acks.clamp(1.0, kind.acks.most);
    }
    next
}

/// Share of the time in which a station that sends has data. Turns by air hold it back themselves.
///
/// The probability `1 - exp(-W / S)` that ACKs are back before its window W is used up, where their wait at the AP is exponential and it would
/// send S in the mean of that; of a shared FIFO less the time behind timeouts.
///
/// An AP with queues by station takes fewer ACKs, `s` a second, than `m`, those of a station that always sends. The rest stands under CoDel, which
/// drops more and more of it (RFC 8289 section 5.3) until the queue is empty; ACKs are cumulative, and release what those dropped would have.
/// So that the station sends for `s + (m - s) CLIMB` of them.
fn busy(cell: &Cell, kind: &Kind, work: &Work, saturated: f64) -> f64 {
    let window = kind.window_up(work.beyond(kind));
    let rate = saturated * work.mpdus * (1.0 - kind.error);
    let left = (window - rate * kind.wire).max(0.5 * window);
    let covered = |wait: f64| 1.0 - (-left / (rate * wait).max(1e-9)).exp();
    match cell.turns {
        Turns::Air => 1.0,
        Turns::Fifo { .. } => covered(work.rtt - kind.wire) * (1.0 - silent(kind, work)),
        Turns::Robin | Turns::AirDown => {
            let covered = covered(1.0 / work.answers.max(1e-9));
            let most = (covered * rate * kind.ack_ratio).max(1e-9);
            let served = (work.answers * kind.full_acks * (1.0 - kind.error)).min(most);
            let released = served + CLIMB * (most - served);
            covered * released / most
        }
    }
}
