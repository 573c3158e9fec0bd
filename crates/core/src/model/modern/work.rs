//! What stations have, send and get, and the windows of CUBIC.

use super::cell::Kind;
use crate::packet::Direction;

/// PPDUs of ACKs for a PPDU of data where nothing else waits at the AP. The sender draws a backoff after its PPDU; the AP has counted down a
/// part of its own already. Of two uniform draws the remaining part of one is the shorter with probability 2/3.
pub(super) const LONE: f64 = 2.0 / 3.0;
/// CUBIC's window after a loss over that before, and its constant C (RFC 9438); segments that its Reno-friendly window adds a round trip.
pub(super) const BETA: f64 = 0.7;
pub(super) const C: f64 = 0.4;
/// Mean window of an upload over that at which its station's queue overflows. A burst is lost at once, and what goes on arriving is lost until the
/// first loss is known: the window is cut twice, to `beta^2`, and CUBIC's new plateau is below the old one. Set on cells beside the grid.
pub(super) const UPLOADS: f64 = 0.75;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The pace of the cell in a round: what turns and windows depend on.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// PPDUs of the AP that succeed per second.
    pub(super) ap: f64,
    /// Those of a station of each kind, and what they would be if it always had some.
    pub(super) stations: Vec<f64>,
    pub(super) saturated: Vec<f64>,
    /// Probability that an attempt collides: of the AP, and of each kind.
    pub(super) ap_collision: f64,
    pub(super) collision: Vec<f64>,
}

/// What a station of a kind has, sends and gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    /// PPDUs of data that succeed per second, and MPDUs in each.
    pub(super) data: f64,
    pub(super) mpdus: f64,
    /// PPDUs of ACKs that succeed per second, and ACKs in each.
    pub(super) answers: f64,
    pub(super) acks: f64,
    /// Share of the time in which it has data, if it sends.
    pub(super) busy: f64,
    /// Share of its packets that the AP loses.
    pub(super) loss: f64,
    /// Round trip of a segment in seconds.
    pub(super) rtt: f64,
}

impl Work {
    /// Full PPDUs, as many as anybody's.
    pub(super) fn first(kind: &Kind) -> Self {
        let mpdus = kind.sent_full(0.0);
        let acks = (mpdus * kind.ack_ratio).clamp(1.0, kind.acks.most);
        Work { data: 1.0, mpdus, answers: 1.0, acks, busy: 1.0, loss: 0.0, rtt: kind.wire + 0.05 }
    }

    /// Segments of a station that sends that are always away from it: on the wire, or as ACKs that stand at the AP beyond what a turn takes.
    pub(super) fn beyond(&self, kind: &Kind) -> f64 {
        let away = (self.rtt - 1.0 / self.answers.max(1e-9)).max(kind.wire);
        self.data * self.mpdus * (1.0 - kind.error) * away
    }

    /// ACKs at the AP if all of the window but what is on the wire waits there.
    pub(super) fn acks_at_ap(&self, kind: &Kind) -> f64 {
        let wire = self.data * self.mpdus * (1.0 - kind.error) * kind.wire;
        (kind.window_up(wire) - wire).max(0.0) * kind.ack_ratio
    }

    /// The same shares at `factor` times the pace.
    pub(super) fn scale(&mut self, factor: f64) {
        self.data *= factor;
        self.answers *= factor;
    }

    /// PPDUs that the AP sends it per second.
    pub(super) fn sent_by_ap(&self, kind: &Kind) -> f64 {
        if kind.direction == Direction::Up { self.answers } else { self.data }
    }

    /// Goes the share `part` of the way to `next`; tells how long the way was, relative.
    pub(super) fn approach(&mut self, next: &Work, part: f64) -> f64 {
        let mut moved: f64 = 0.0;
        let mut go = |value: &mut f64, next: f64| {
            moved = moved.max((next - *value).abs() / next.abs().max(1e-3));
            *value += part * (next - *value);
        };
        go(&mut self.data, next.data);
        go(&mut self.mpdus, next.mpdus);
        go(&mut self.answers, next.answers);
        go(&mut self.acks, next.acks);
        go(&mut self.busy, next.busy);
        go(&mut self.rtt, next.rtt);
        self.loss = next.loss;
        moved
    }
}

impl Kind {
    /// Mean window of all flows of a station that sends. It loses a segment at what its queue and MAC hold, and what is always beyond.
    pub(super) fn window_up(&self, beyond: f64) -> f64 {
        UPLOADS * (self.window * self.flows).min(self.holds + beyond)
    }

    /// MPDUs of a PPDU of who has as many as he likes. A window of W segments goes in PPDUs of which the last is half full on average.
    pub(super) fn sent_full(&self, beyond: f64) -> f64 {
        match self.direction {
            Direction::Up => (self.full * (1.0 - self.full / (2.0 * self.window_up(beyond)))).max(1.0),
            Direction::Down => self.full,
        }
    }
}

/// Seconds from a PPDU of data until those that its ACKs release are at the AP: wire, and the station's access.
pub(super) fn away(kind: &Kind, pace: &Pace, i: usize) -> f64 {
    kind.wire + 1.0 / pace.saturated[i].max(1e-9)
}

/// Mean window of a CUBIC flow over that at which it loses a segment, where that is `window` and a round trip lasts `rtt`: its curve has
/// `1 - (1 - beta) / 4`, its Reno-friendly line, where that is the faster, `(1 + beta) / 2`.
pub(super) fn mean_window(window: f64, rtt: f64) -> f64 {
    let curve = (window * (1.0 - BETA) / C).cbrt();
    let line = window * (1.0 - BETA) / ALPHA * rtt;
    if curve < line { 1.0 - (1.0 - BETA) / 4.0 } else { f64::midpoint(1.0, BETA) }
}
