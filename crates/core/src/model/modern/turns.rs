//! Turns at an AP that has queues by station: mac80211's.

use super::cell::{Cell, Kind, Turns};
use super::work::{BETA, LONE, Pace, Work, away};
use crate::model::root::falling;
use crate::packet::{Direction, TCP_IP_HEADER};

/// CoDel's interval and target in seconds: a flow loses a packet if its queue is not emptied for so long.
const CODEL: f64 = 0.120;
/// Quantile of the time that emptying takes at which a loss comes often enough to hold the window of CUBIC, a loss in some thirty round
/// trips: in standard deviations of a normal distribution, 97 %.
const RARE: f64 = 1.88;

/// Turns of a station that receives.
#[derive(Clone, Copy, Debug)]
struct Download {
    /// PPDUs per second, MPDUs in each, and the round trip.
    rate: f64,
    mpdus: f64,
    rtt: f64,
}

/// A download whose station would be served `pace` full PPDUs per second if it always had packets at the AP; `most` MPDUs is the largest
/// window but for CoDel, `access` is the AP's own mean wait for the medium.
///
/// Its window travels as a clump: it is away, then takes `n` PPDUs to leave the AP, for `D = n / pace`. Turns come at random, so that
/// `D (1 + z / sqrt(n))` is what a loss in `z` standard deviations allows. A clump of one PPDU is never lost.
fn download(kind: &Kind, (away, access): (f64, f64), pace: f64, most: f64) -> Download {
    let pace = pace.max(1e-9);
    let b = RARE / pace.sqrt();
    let root = f64::midpoint(-b, (b * b + 4.0 * CODEL).sqrt());
    let ppdus = (root * root * pace).max(f64::midpoint(1.0, BETA)).min(most / kind.full);
    // The last PPDU of a clump is half full on average; what is back before the clump has left makes no end of it.
    let filled = ppdus.min(ppdus / (ppdus + 0.5 * away / (away + ppdus / pace)));
    let mpdus = (kind.full * filled).max(1.0);
    // Behind a lost MPDU the others wait for one more turn: the clump falls apart.
    let held_up = 1.0 - (1.0 - kind.error).powf(mpdus / 2.0);
    let rtt = away + (ppdus * (1.0 + held_up) / pace).max(access);
    let window = ppdus * (1.0 + held_up) * kind.full;
    let mpdus = (mpdus / (1.0 + held_up)).max(1.0);
    Download { rate: window / mpdus / rtt, mpdus, rtt }
}

/// Largest window of a station's downloads but for CoDel: its own, or less where ACKs fill the memory: the fattest flow in bytes loses
/// packets then, so that data are no more bytes than the ACKs of a station that sends.
fn room(cell: &Cell, kind: &Kind) -> f64 {
    let acks: f64 = cell.ups().map(|(_, kind)| kind.count * kind.window_up() * kind.ack_ratio).sum();
    let data: f64 = cell.downs().map(|(_, kind)| kind.count * kind.full).sum();
    let own = kind.window * kind.flows;
    if acks + data <= cell.memory {
        return own;
    }
    let senders: f64 = cell.ups().map(|(_, kind)| kind.count).sum();
    if senders <= 0.0 {
        return own.min(cell.memory / cell.downs().map(|(_, kind)| kind.count).sum::<f64>());
    }
    let segment = kind.bits / 8.0 + TCP_IP_HEADER as f64;
    own.min(f64::midpoint(1.0, BETA) * cell.memory / senders * TCP_IP_HEADER as f64 / segment)
}

/// A kind's turns.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// PPDUs of data of a station that sends, and of ACKs for it.
    Up {
        data: f64,
        acks: f64,
        /// Seconds that an ACK waits at the AP.
        wait: f64,
    },
    Down(Download),
}

/// Turns of stations at the AP, in PPDUs per second: one after the other, or by air.
pub(super) fn divide(cell: &Cell, pace: &Pace, next: &mut [Work]) {
    let works = next.to_vec();
    let rooms: Vec<f64> = cell.kinds.iter().map(|kind| room(cell, kind)).collect();
    let turns = |level: f64| -> Vec<Turn> {
        let turn = |(i, kind): (usize, &Kind)| match kind.direction {
            Direction::Up => up(cell, pace, i, &works[i], level),
            Direction::Down => {
                let full = of_full(cell, pace, i, level);
                Turn::Down(download(kind, (away(kind, pace, i), 1.0 / pace.ap.max(1e-9)), full, rooms[i]))
            }
        };
        cell.kinds.iter().enumerate().map(turn).collect()
    };
    let of_ap = |turns: &[Turn]| -> f64 {
        let rate = |(kind, turn): (&Kind, &Turn)| match turn {
            Turn::Up { acks, .. } => kind.count * acks,
            Turn::Down(download) => kind.count * download.rate,
        };
        cell.kinds.iter().zip(turns).map(rate).sum()
    };
    // Shares of those who are often away may add up to less than 1 for the others.
    let highest = if cell.turns == Turns::Robin { 10.0 * pace.ap } else { 10.0 };
    let level = falling(0.0, highest, 1e-6 * highest, |level| pace.ap - of_ap(&turns(level)));
    let turns = turns(level);
    // What is left goes to ACKs that would have gone together.
    let spare = (pace.ap - of_ap(&turns)).max(0.0);
    let senders: f64 = cell.ups().map(|(_, kind)| kind.count).sum();
    for ((next, turn), kind) in next.iter_mut().zip(turns).zip(&cell.kinds) {
        match turn {
            Turn::Up { data, acks, wait } => {
                next.rtt = kind.wire + wait;
                next.data = data;
                next.answers = (acks + spare / senders).min((LONE * data).max(acks));
            }
            Turn::Down(Download { rate, mpdus, rtt }) => (next.data, next.mpdus, next.rtt) = (rate, mpdus, rtt),
        }
    }
}

/// Turns of a station that sends, at a level of air, or of turns a second.
fn up(cell: &Cell, pace: &Pace, i: usize, work: &Work, level: f64) -> Turn {
    let kind = &cell.kinds[i];
    let repeated = 1.0 / (1.0 - pace.ap_collision).max(1e-3);
    let acks = work.mpdus * (1.0 - kind.error) * kind.ack_ratio;
    match cell.turns {
        Turns::Air => {
            // Its own PPDUs, and those of the AP that carry full loads of their ACKs.
            let own = 1.0 / (1.0 - pace.collision[i]).max(1e-3);
            let visits = (acks / kind.acks.most).min(1.0);
            let cost = kind.data.exchange(work.mpdus) * own + visits * kind.acks.exchange(acks / visits) * repeated;
            let rate = (level / cost).min(work.data);
            Turn::Up { data: rate, acks: visits * rate, wait: 1.0 / pace.ap }
        }
        Turns::AirDown => {
            let most = LONE * work.data;
            let visits = falling(0.0, most, 1e-5 * most, |visits| {
                let size = (acks * work.data / visits.max(1e-9)).min(kind.acks.most);
                // Who has been emptied gets no air until his next PPDU.
                let there = 1.0 - visits / work.data.max(1e-9) * (1.0 - size / kind.acks.most);
                level * there - visits * kind.acks.exchange(size) * repeated
            });
            let wait = standing(kind, level / (kind.acks.exchange(kind.acks.most) * repeated), acks * work.data);
            Turn::Up { data: work.data, acks: visits, wait }
        }
        _ => {
            let wait = standing(kind, level, acks * work.data);
            Turn::Up { data: work.data, acks: level.min(LONE * work.data), wait }
        }
    }
}

/// Seconds that an ACK waits where the AP has `visits` full PPDUs of them per second for the station and `arrivals` come: for a visit, and
/// behind the half of a window that stands there when more come than go.
fn standing(kind: &Kind, visits: f64, arrivals: f64) -> f64 {
    let service = (visits * kind.acks.most).max(1e-9);
    (1.0 + 0.5 * kind.window_up() * kind.ack_ratio / kind.acks.most * (arrivals / service).min(1.0)) / visits.max(1e-9)
}

/// Full PPDUs per second for a station that always has packets at the AP, at a level of air, or of turns a second.
fn of_full(cell: &Cell, pace: &Pace, i: usize, level: f64) -> f64 {
    let kind = &cell.kinds[i];
    let data = kind.data.exchange(kind.full) / (1.0 - pace.ap_collision).max(1e-3);
    match cell.turns {
        Turns::Air => {
            let acks = (kind.full * (1.0 - kind.error) * kind.ack_ratio).max(1.0);
            level / (data + kind.acks.exchange(acks) / (1.0 - pace.collision[i]).max(1e-3))
        }
        Turns::AirDown => level / data,
        _ => level,
    }
}
