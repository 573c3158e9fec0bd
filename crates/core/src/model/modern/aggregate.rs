//! What an exchange of so many packets costs, and how many a PPDU holds where some of them are lost.

use crate::mac::{MacParams, TxVector};
use crate::units::Bytes;

/// Rounds of the search for the mean of an aggregate: it settles in ten.
const ROUNDS: u32 = 30;

/// Exchanges of packets of one length, in seconds: linear in their number. Whole symbols make a step of at most one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exchanges {
    /// Most packets of one.
    pub(super) most: f64,
    /// PPDU of no packet, and each packet.
    base: f64,
    each: f64,
    /// SIFS and answer.
    answer: f64,
}

impl Exchanges {
    pub(super) fn new(params: &MacParams, tx: TxVector, len: Bytes) -> Self {
        let full = params.full_exchange(tx, len, f64::INFINITY);
        let ppdu = |packets: f64| {
            let exchange = params.full_exchange(tx, len, packets);
            (exchange.air - exchange.answer).as_secs_f64()
        };
        let least = if full.packets > 2.0 { 2.0 } else { 1.0 };
        let each = if full.packets > least {
            (ppdu(full.packets) - ppdu(least)) / (full.packets - least)
        } else {
            ppdu(1.0) - tx.ppdu_time(Bytes(0), &params.ppdu).as_secs_f64()
        };
        Exchanges { most: full.packets, base: ppdu(least) - least * each, each, answer: full.answer.as_secs_f64() }
    }

    /// Seconds that a PPDU of so many packets lasts.
    pub(super) fn ppdu(&self, packets: f64) -> f64 {
        self.base + packets * self.each
    }

    /// Seconds that the longer of two PPDUs lasts that have `packets` on average: half way to a full one, within 5 % of what the chain behind
    /// [`mean_mpdus`] gives.
    pub(super) fn longer(&self, packets: f64) -> f64 {
        self.ppdu(f64::midpoint(packets, self.most.max(packets)))
    }

    /// Seconds of the exchange: a PPDU of `packets`, SIFS and the answer.
    pub(super) fn exchange(&self, packets: f64) -> f64 {
        self.ppdu(packets) + self.answer
    }

    /// What an access with a TXOP of `limit` seconds sends where PPDUs have `packets` at most, and what it takes: as many exchanges as fit a
    /// SIFS apart, the last one with as many packets as fit. One exchange without a limit.
    pub(super) fn access(&self, packets: f64, limit: f64, sifs: f64) -> (f64, f64) {
        if limit <= 0.0 {
            return (packets, self.exchange(packets));
        }
        let (mut sent, mut taken) = (0.0, 0.0);
        loop {
            let before = if sent > 0.0 { sifs } else { 0.0 };
            let fits = ((limit - taken - before - self.base - self.answer) / self.each).floor().min(packets);
            if fits < 1.0 {
                // One MPDU goes though it is longer than the TXOP.
                return if sent > 0.0 { (sent, taken) } else { (1.0, self.exchange(1.0)) };
            }
            taken += before + self.exchange(fits);
            sent += fits;
        }
    }
}

/// Mean number of MPDUs in a PPDU of a transmitter that always has some, where each is lost with probability `error` and a PPDU holds at
/// most `most` of a BlockAck window of `window`.
///
/// The window begins at the oldest MPDU that is not acknowledged. It moves on by `A` a PPDU; the MPDU at place `j` has been sent
/// `(window - j) / A` times and is missing with probability `u_j = error` to that power, the first one certainly. A PPDU holds what is
/// missing, `n = sum u_j`, and `A` is the mean number of leading MPDUs that it completes, `n (1 - error)`. Where `n` and `most` are near
/// each other chance keeps the mean below both: their sixth powers add, within 2 % of the chain enumerated at random.
pub(super) fn mean_mpdus(error: f64, window: f64, most: f64) -> f64 {
    if error <= 0.0 || most <= 1.0 {
        return most;
    }
    let error = error.min(0.99);
    let places = window as usize;
    let mut advance = window * (1.0 - error);
    for _ in 0..ROUNDS {
        let (mut sum, mut moved, mut complete) = (0.0, 0.0, 1.0);
        let mut missing = 1.0;
        let mut age = f64::INFINITY;
        for place in 0..places {
            let sent = ((places - 1 - place) as f64 / advance.max(1.0)).floor();
            if sent < age {
                age = sent;
                missing = error.powf(sent);
            }
            let goes = if place == 0 { 1.0 } else { missing };
            sum += goes;
            complete *= 1.0 - goes * error;
            moved += complete;
        }
        let next = f64::midpoint(advance, moved.min(sum * (1.0 - error)));
        let settled = (next / advance - 1.0).abs() < 1e-6;
        advance = next;
        if settled {
            break;
        }
    }
    let unlimited = (advance / (1.0 - error)).max(1.0);
    (unlimited.powi(-6) + most.powi(-6)).powf(-1.0 / 6.0).max(1.0)
}
