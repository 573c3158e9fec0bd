//! A round of the search: what each kind does next at the present pace.

use super::cell::{Cell, Kind, Turns};
use super::work::{Pace, Work};
use super::{fifo, turns};

/// Delayed-ACK timeout: an odd segment's ACK goes alone if the next PPDU comes later, in seconds.
const DELAYED_ACK: f64 = 0.040;
/// What each kind does in the next round.
pub(super) fn decide(cell: &Cell, pace: &Pace, work: &[Work]) -> Vec<Work> {
    let mut next: Vec<Work> = work.to_vec();
    for (i, kind) in cell.ups() {
        next[i].mpdus = kind.sent_full();
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
        next[i].acks = (acks / next[i].answers.max(1e-9)).clamp(1.0, kind.acks.most);
    }
    for (i, kind) in cell.downs() {
        let is_late = next[i].data < 1.0 / DELAYED_ACK && kind.ack_ratio < 1.0;
        // Half of the PPDUs that are not full hold an odd number.
        let partial = (10.0 * (1.0 - next[i].mpdus / kind.full)).clamp(0.0, 1.0);
        let alone = if is_late { 0.5 * partial } else { 0.0 };
        next[i].answers = next[i].data * (1.0 + alone);
        let acks = next[i].mpdus * (1.0 - kind.error) * kind.ack_ratio / (1.0 + alone);
        next[i].acks = acks.clamp(1.0, kind.acks.most);
    }
    next
}

/// Share of the time in which a station that sends has data: the probability `1 - exp(-W / S)` that ACKs are back before its window W is used
/// up, where their wait at the AP is exponential and it would send S in the mean of that. Turns by air hold it back themselves.
fn busy(cell: &Cell, kind: &Kind, work: &Work, saturated: f64) -> f64 {
    if cell.turns == Turns::Air {
        return 1.0;
    }
    let window = kind.window_up();
    let rate = saturated * work.mpdus * (1.0 - kind.error);
    let left = (window - rate * kind.wire).max(0.5 * window);
    1.0 - (-left / (rate * (work.rtt - kind.wire)).max(1e-9)).exp()
}
