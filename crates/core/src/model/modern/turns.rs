//! Turns at an AP that has queues by station: mac80211's.

use super::cell::{Cell, Kind, Turns};
use super::work::{BETA, LONE, Pace, UPLOADS, Work, away};
use crate::model::root::falling;
use crate::packet::{Direction, TCP_IP_HEADER};

/// CoDel's interval and target in seconds (`ieee80211_txq_setup_flows`): a flow loses a packet if its queue is not emptied for so long.
const CODEL: f64 = 0.120;
const TARGET: f64 = 0.020;
/// By how many standard deviations the time that emptying takes is above its mean when it costs a packet: seldom enough to hold the window of
/// CUBIC, a loss in some fifty round trips. Set on cells beside the grid, as is what follows.
const RARE: f64 = 2.3;
/// Air that the driver holds for a station, and for all of them, where mac80211 hands it no more, in seconds (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`,
/// `IEEE80211_AQL_THRESHOLD`). How often that is so is set on cells beside the grid.
const AQL: f64 = 0.005;
const HELD: f64 = 0.024;
/// PPDUs of a window that is never lost: one, and a second one that soon follows.
const LEAST: f64 = 1.2;
/// How random turns at the AP are: squared coefficient of variation over that of an exponential service, 1.
const RANDOM: f64 = 0.7;
/// PPDUs that the window of a download takes beyond the full ones that it would fill.
const PARTIAL: f64 = 0.33;
/// Share of the ACKs that stand at the AP and that CoDel drops where air limits who sends. Its drops come faster with every one until the
/// queue is empty (RFC 8289 section 5.3), then it starts again.
const DROPPED: f64 = 0.35;
/// Bytes of a download that wait in a full memory, over those of ACKs of a station that sends: a clump that is gone in time is not cut.
const PASSES: f64 = 1.45;

/// Turns of a station that receives.
#[derive(Clone, Copy, Debug)]
struct Download {
    /// PPDUs per second, MPDUs in each, and the round trip.
    rate: f64,
    mpdus: f64,
    rtt: f64,
}

/// A download whose station would be served `mu` PPDUs of `full` MPDUs per second if it always had packets at the AP; `most` MPDUs is the largest
/// window but for CoDel, `access` is the AP's own mean wait for the medium in seconds.
///
/// CoDel admits a window of n PPDUs where emptying takes `n / mu + z sqrt(n access / mu) = 120 ms`: it lasts `n / (mu access)` accesses of
/// the AP, each random. CUBIC's mean is `(1 + beta) / 2` of it, n from here on. That window circulates between the AP's queue, R seconds, and
/// all else, Z: wire, accesses, and the PPDU itself. As of a closed queue with exponential service `R = (1 + (n - 1) R / (Z + R)) / mu`
/// (P. Schweitzer's approximation of mean value analysis, 1979), so that `mu R^2 + (mu Z - n) R - Z = 0`; the last term is smaller where
/// service is more regular. `n / (Z + R)` PPDUs pass per second.
fn download(kind: &Kind, full: f64, (away, access): (f64, f64), mu: f64, most: f64) -> Download {
    let mu = mu.max(1e-9);
    let b = RARE * access.sqrt();
    let root = f64::midpoint(-b, (b * b + 4.0 * CODEL).sqrt());
    let ppdus = f64::midpoint(1.0, BETA) * (root * root * mu).max(LEAST).min(most / full);
    let mpdus = (full * ppdus.min(ppdus / (ppdus + PARTIAL))).max(1.0);
    // Behind a lost MPDU the others wait for one more turn: the clump falls apart.
    let held_up = 1.0 - (1.0 - kind.error).powf(mpdus / 2.0);
    let away = away + access + kind.data.exchange(mpdus) + held_up / mu;
    let ppdus = ppdus * (1.0 + held_up);
    let more = ppdus - mu * away;
    let at_ap = f64::midpoint(more, (more * more + 4.0 * RANDOM * mu * away).sqrt()) / mu;
    let rtt = away + at_ap;
    let mpdus = (mpdus / (1.0 + held_up)).max(1.0);
    Download { rate: ppdus * full / mpdus / rtt, mpdus, rtt }
}

/// MPDUs that the AP takes for a PPDU of a station that receives. Where stations take turns, what collided waits for the station's next one: while
/// the AP holds more than [`HELD`] in all, a station's PPDU ends at [`AQL`] of the air that its bytes took so far, collisions included.
fn largest(cell: &Cell, kind: &Kind, pace: &Pace, works: &[Work]) -> f64 {
    if cell.turns != Turns::Robin {
        return kind.full;
    }
    let (mut held, mut variance) = (0.0, 0.0);
    for (kind, work) in cell.kinds.iter().zip(works) {
        let air = match kind.direction {
            Direction::Up => kind.acks.exchange(work.acks.max(1.0)),
            Direction::Down => kind.data.exchange(work.mpdus),
        };
        held += kind.count * pace.ap_collision * air;
        variance += kind.count * pace.ap_collision * (1.0 - pace.ap_collision) * air * air;
    }
    let often = (((held + 1.5 * variance.sqrt()) / HELD - 0.4) / 0.3).clamp(0.0, 1.0);
    let part = (AQL * (1.0 - pace.ap_collision) / kind.data.exchange(kind.full)).min(1.0);
    kind.full * (1.0 - often * (1.0 - part))
}

/// Largest window of a station's downloads but for CoDel: its own, or what ACKs leave of the memory. Where they leave little, the fattest flow
/// in bytes loses packets (`fq_find_fattest_flow`), so that data are hardly more bytes than the ACKs of a station that sends. The `out` packets that
/// are not at the AP take none of it.
fn room(cell: &Cell, works: &[Work], kind: &Kind, out: f64) -> f64 {
    let acks: f64 = cell.ups().map(|(i, kind)| kind.count * works[i].acks_at_ap(kind) / UPLOADS).sum();
    let downs: f64 = cell.downs().map(|(_, kind)| kind.count).sum();
    let left = (cell.memory - acks) / downs + out;
    let own = kind.window * kind.flows;
    let senders: f64 = cell.ups().map(|(_, kind)| kind.count).sum();
    if senders <= 0.0 {
        return own.min(left);
    }
    let segment = kind.bits / 8.0 + TCP_IP_HEADER as f64;
    own.min(left.max(PASSES * cell.memory / senders * TCP_IP_HEADER as f64 / segment + out))
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
    let access = 1.0 / pace.ap.max(1e-9);
    let bounds = |(i, kind): (usize, &Kind)| {
        let work = &works[i];
        let out = work.data * work.mpdus * (away(kind, pace, i) + access + kind.data.exchange(work.mpdus));
        (largest(cell, kind, pace, &works), room(cell, &works, kind, out))
    };
    let bounds: Vec<(f64, f64)> = cell.kinds.iter().enumerate().map(bounds).collect();
    let turns = |level: f64| -> Vec<Turn> {
        let turn = |(i, kind): (usize, &Kind)| match kind.direction {
            Direction::Up => up(cell, pace, i, &works[i], level),
            Direction::Down => {
                let (largest, room) = bounds[i];
                let mu = of_full(cell, pace, i, level);
                Turn::Down(download(kind, largest, (away(kind, pace, i), access), mu, room))
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
            let stands = work.acks_at_ap(kind) / (work.data * acks).max(1e-9);
            let acks = acks * (1.0 - DROPPED * ((stands - TARGET) / (CODEL - TARGET)).clamp(0.0, 1.0));
            let visits = (acks / kind.full_acks).min(1.0);
            let cost = kind.data.exchange(work.mpdus) * own + visits * kind.acks.exchange(acks / visits) * repeated;
            let rate = (level / cost).min(work.data);
            Turn::Up { data: rate, acks: visits * rate, wait: 1.0 / pace.ap }
        }
        Turns::AirDown => {
            let most = LONE * work.data;
            let visits = falling(0.0, most, 1e-5 * most, |visits| {
                let size = (acks * work.data / visits.max(1e-9)).min(kind.full_acks);
                // Who has been emptied, by any PPDU that is not full, gets no air until his next one.
                let there = 1.0 - visits / work.data.max(1e-9) * (1.0 - (size / kind.full_acks).powi(8));
                level * there - visits * kind.acks.exchange(size) * repeated
            });
            let wait = standing(kind, work, level / (kind.acks.exchange(kind.full_acks) * repeated), acks * work.data);
            Turn::Up { data: work.data, acks: visits, wait }
        }
        _ => {
            let wait = standing(kind, work, level, acks * work.data);
            Turn::Up { data: work.data, acks: level.min(LONE * work.data), wait }
        }
    }
}

/// Seconds that an ACK waits where the AP has `visits` full PPDUs of them per second for the station and `arrivals` come: for a visit, and
/// behind the half of a window that stands there when more come than go, by Little's law for those that CoDel drops, too.
fn standing(kind: &Kind, work: &Work, visits: f64, arrivals: f64) -> f64 {
    let service = (visits * kind.full_acks * (1.0 - kind.error)).max(1e-9);
    let full = (arrivals / service).min(1.0).powi(4);
    1.0 / visits.max(1e-9) + full * 0.5 * work.acks_at_ap(kind) / arrivals.max(service)
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
