//! The rate that the cell delivered while it had a queue, from probes that waited in that queue.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::units::{Bitrate, Bytes, Duration, Instant};

/// A probe that came back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trip {
    pub(super) sent_at: Instant,
    pub(super) received_at: Instant,
    /// Whose queue it waited in.
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub(super) ap: usize,
    /// Delay above the baseline.
    pub(super) excess: Duration,
    /// IP bytes that the box had let pass down when the probe left.
    pub(super) down: Bytes,
    /// IP bytes that had come up from the stations when the reply was back.
    pub(super) up: Bytes,
}

/// How long the trips that the delivered rate is taken from may lie apart.
const TRAIN: Duration = Duration::from_millis(600);
/// Less than this between two replies says nothing.
const SHORTEST_TRAIN: Duration = Duration::from_millis(50);

/// A queue of this delay that does not shrink may be the whole buffer of the AP.
const STANDING: Duration = Duration::from_millis(50);

/// Bytes of a train that says enough: 16 packets.
const SURE: f64 = 24_000.0;

/// What the cell delivered over a train of probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) rate: Bitrate,
    /// The queue was long and did not shrink: what the AP dropped is counted as delivered, and the rate is a bound only.
    pub(super) may_have_dropped: bool,
    /// The queue did not shrink, however short it is.
    pub(super) stands: bool,
    /// How sure it is, at most 1: a short train errs by a packet.
    pub(super) weight: f64,
}

/// Measures what the cell delivers while it has a queue.
///
/// A probe waits in the AP's queue behind all that the box let pass before it. So between the replies to two probes the
/// cell delivered what the box let pass down between sending the two, and what came up in the meantime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Delivered {
    trips: VecDeque<Trip>,
}

impl Delivered {
    /// A probe came back.
    pub(super) fn push(&mut self, trip: Trip) {
        if self.through(trip.ap).next().is_none_or(|last| last.sent_at <= trip.sent_at) {
            self.trips.push_back(trip);
        }
        while self.trips.len() > 32 {
            self.trips.pop_front();
        }
    }

    /// The trips through the queue of one AP, the last first.
    fn through(&self, ap: usize) -> impl Iterator<Item = &Trip> {
        self.trips.iter().rev().filter(move |trip| trip.ap == ap)
    }

    /// The most that the cell can have delivered since the last trip, when a probe that left after `down` bytes is not
    /// back yet and `up` bytes have come up; `None` before the first trip.
    pub(super) fn bound(&self, now: Instant, down: Bytes, up: Bytes) -> Option<Bitrate> {
        let last = self.trips.back()?;
        let bytes = (down.0 - last.down.0) + (up.0 - last.up.0);
        let span = now.saturating_since(last.received_at);
        (span >= SHORTEST_TRAIN).then(|| Bitrate::from_bps((bytes as f64 * 8.0 / span.as_secs_f64()) as u64))
    }

    /// Delay of the last trip.
    pub(super) fn latest_delay(&self) -> Duration {
        self.trips.back().map_or(Duration::ZERO, |trip| trip.excess)
    }

    /// Seconds that the AP needs at `mu` bit/s for what waits there at `now`, when the box has let `down` bytes pass: what
    /// went down after the last probe that came back, less what was delivered since.
    pub(super) fn queue(&self, now: Instant, down: Bytes, mu: f64) -> Option<f64> {
        let last = self.trips.back()?;
        let waited = Bytes(down.0 - last.down.0).as_bits() as f64 / mu;
        Some((waited - now.saturating_since(last.received_at).as_secs_f64()).max(0.0))
    }

    /// Forgets all trips but the last: the cell is another one.
    pub(super) fn keep_last(&mut self) {
        self.trips.drain(..self.trips.len().saturating_sub(1));
    }

    /// Forgets all trips: something else than C has kept them.
    pub(super) fn clear(&mut self) {
        self.trips.clear();
    }

    /// The rate over the latest trips that all found a queue of at least `queued`; `None` when there are not two.
    pub(super) fn rate(&self, queued: Duration) -> Option<Delivery> {
        let last = self.trips.back().filter(|trip| trip.excess >= queued)?;
        let mut first = None;
        for trip in self.through(last.ap).skip(1).take_while(|trip| trip.excess >= queued) {
            let apart = last.received_at.saturating_since(trip.received_at);
            // Always the pair before the last, however long it took: the first news of a drop.
            if apart > TRAIN && first.is_some() {
                break;
            }
            if apart >= SHORTEST_TRAIN {
                first = Some((trip, apart));
            }
        }
        let (first, apart) = first.or_else(|| {
            // The probe before met no queue, and this one met a long one: the cell may have rested between, but not for
            // longer than lies between the two.
            let before = self.through(last.ap).nth(1)?;
            let (apart, sent) = (last.received_at - before.received_at, last.sent_at - before.sent_at);
            (apart >= sent + sent).then_some((before, apart))
        })?;
        let bytes = (last.down.0 - first.down.0) + (last.up.0 - first.up.0);
        let rate = Bitrate::from_bps((bytes as f64 * 8.0 / apart.as_secs_f64()) as u64);
        let stands = last.excess >= first.excess;
        let may_have_dropped = last.excess > STANDING && stands;
        let weight = (bytes as f64 / SURE).min(1.0);
        Some(Delivery { rate, may_have_dropped, stands, weight })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(sent_ms: u64, excess_ms: u64, down: u64) -> Trip {
        let excess = Duration::from_millis(excess_ms);
        let sent_at = Instant::ZERO + Duration::from_millis(sent_ms);
        Trip { sent_at, received_at: sent_at + excess, ap: 0, excess, down: Bytes(down), up: Bytes(0) }
    }

    fn delivered(trips: &[Trip]) -> Delivered {
        let mut delivered = Delivered::default();
        for trip in trips {
            delivered.push(*trip);
        }
        delivered
    }

    /// 12 500 B every 100 ms are 1 Mbit/s in; a queue that grows by 100 ms in that time is served at half of it.
    #[test]
    fn the_rate_is_what_left_between_two_replies() {
        let growing = delivered(&[trip(0, 100, 0), trip(100, 200, 12_500)]).rate(Duration::from_millis(5)).unwrap();
        assert_eq!(growing.rate, Bitrate::from_bps(500_000));
        let shrinking = delivered(&[trip(0, 200, 0), trip(100, 150, 12_500)]).rate(Duration::from_millis(5)).unwrap();
        assert_eq!(shrinking.rate, Bitrate::mbps(2));
        assert!(growing.may_have_dropped && !shrinking.may_have_dropped, "a full buffer does not shrink");
    }

    #[test]
    fn the_first_long_queue_is_measured_from_the_probe_before_it() {
        let rate = |excess| delivered(&[trip(0, 1, 0), trip(100, excess, 12_500)]).rate(Duration::from_millis(5));
        assert_eq!(rate(20).map(|delivery| delivery.rate), None, "the cell may have rested for most of the time");
        assert_eq!(rate(301).map(|delivery| delivery.rate), Some(Bitrate::from_bps(250_000)));
    }

    /// 25 000 B passed after the probe whose reply came 100 ms ago: 200 ms at 1 Mbit/s, less these 100 ms.
    #[test]
    fn the_queue_is_what_passed_after_the_last_probe_that_is_back() {
        let delivered = delivered(&[trip(0, 50, 10_000)]);
        let at = Instant::ZERO + Duration::from_millis(150);
        assert!((delivered.queue(at, Bytes(35_000), 1e6).unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(delivered.bound(at, Bytes(22_500), Bytes(0)), Some(Bitrate::mbps(1)));
    }

    /// The AP of station 1 has a queue of 100 ms, that of station 2 none: trips through it do not come between.
    #[test]
    fn trips_through_one_ap_are_held_against_each_other() {
        let mut delivered = Delivered::default();
        for (nth, ap) in [1, 0, 1, 0, 1].into_iter().enumerate() {
            let sent = 50 * nth as u64;
            delivered.push(Trip { ap, ..trip(sent, if ap == 1 { 100 } else { 0 }, 12_500 * sent / 100) });
        }
        let rate = delivered.rate(Duration::from_millis(5)).expect("a train").rate;
        assert_eq!(rate, Bitrate::mbps(1));
    }
}
