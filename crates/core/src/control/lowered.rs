//! A lowered C as a test for a queue in the cell: if round trips fall with C, there was one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Duration, Instant};

/// C of a trial, as a share of what passed.
pub(super) const LOWERED: f64 = 0.75;
/// A trial in which less than this share of the lowered C passed is void: the stations asked for less.
pub(super) const USED_UP: f64 = 0.85;
/// How long it is lowered, and after which time the queue of a small buffer is gone.
pub(super) const LASTS: Duration = Duration::from_millis(1200);
pub(super) const DRAINED: Duration = Duration::from_millis(300);
/// What waits and passes in this time calls for one.
pub(super) const WATCHED: Duration = Duration::from_millis(1800);
/// Round trips of this time before it count.
pub(super) const BEFORE: Duration = Duration::from_secs(2);
/// Below this rate no trial is worth its while.
pub(super) const LEAST_RATE: f64 = 250_000.0;
/// Fewer round trips than this say nothing.
pub(super) const LEAST_TRIPS: usize = 4;
/// The least queue of an AP that is full, in packets: that of a small buffer is empty at times.
const LEAST_QUEUE: f64 = 3.0;
/// A large buffer of an AP, in packets, and the longest time to drain one.
const LARGE_BUFFER: f64 = 500.0;
const LONGEST_DRAIN: Duration = Duration::from_secs(5);
/// A shorter queue, in seconds, may be missed by all round trips: at 90 Mbit/s and more nothing excludes one.
const PRECISION: f64 = 0.0004;
const PACKET: Bytes = Bytes(1500);
/// A queue of so many packets in the cell is one too many where packets wait in the box, too: a right C leaves shorter ones.
const DEEP: f64 = 12.0;
/// An upload goes on for as long as what waits at its station: so many bits, at half of what the cell carries; at most so long.
const UPLINK_QUEUE: f64 = 300.0 * 12_000.0;
const LONGEST: Duration = Duration::from_millis(1500);
/// So many standard errors are no error.
const SURE: f64 = 3.0;
/// Standard error of a median, times the root of their number, as a share of the quartiles' distance (normal distribution).
const MEDIAN_ERROR: f64 = 0.93;

/// With so many round trips on each side, a lower quartile before above the upper quartile after is chance once in fifty.
const APART: usize = 6;
/// A queue of fewer packets is none, for a station by itself.
const SHORT: f64 = 6.0;
/// A station alone has nobody to share with, and may be behind a slow hop of its own.
const STATIONS: usize = 2;
/// So many of the stations may have met no queue by chance.
const BY_CHANCE: f64 = 0.1;

/// A round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RoundTrip {
    pub(super) sent_at: Instant,
    pub(super) station: usize,
    /// Whose queue it waited in.
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub(super) ap: usize,
    pub(super) rtt: Duration,
    /// The station's baseline then.
    #[serde(default)]
    pub(super) baseline: Duration,
}

/// What round trips tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RoundTripChange {
    /// They fell by so many seconds, which are known to within so many.
    By(f64, f64),
    /// They did not.
    Not,
    /// Nobody answers, or they vary too much.
    Unknown,
}

/// How long a lowered C drains a large buffer of a cell that carries `rate` bit/s.
pub(super) fn drained(rate: f64) -> Duration {
    let queue = LARGE_BUFFER * PACKET.as_bits() as f64 / rate;
    Duration::from_secs_f64(queue / (1.0 - LOWERED)).min(LONGEST_DRAIN)
}

/// The least queue of a full AP in a cell that carries `rate` bit/s, in seconds.
pub(super) fn least_queue(rate: f64) -> f64 {
    LEAST_QUEUE * PACKET.as_bits() as f64 / rate
}

/// How long [`DEEP`] packets take at `rate` bit/s, in seconds.
pub(super) fn deep(rate: f64) -> f64 {
    DEEP * PACKET.as_bits() as f64 / rate
}

/// Whether round trips are too short for a queue of [`DEEP`] packets at `rate` bit/s.
pub(super) fn are_short(trips: &[RoundTrip], rate: f64) -> bool {
    let mut all: Vec<f64> = trips.iter().map(|trip| trip.rtt.as_secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).is_none_or(|median| *median < deep(rate))
}

/// How long an upload may go on as before where `rate` bit/s pass.
pub(super) fn goes_on(rate: f64) -> Duration {
    Duration::from_secs_f64(UPLINK_QUEUE / (rate / 2.0)).min(LONGEST)
}

/// By how much the round trips `trips` are shorter from `drained_at` on than before `began`, at a rate of `rate` bit/s: through one AP of
/// several is enough.
pub(super) fn fall_of(trips: &[RoundTrip], began: Instant, drained_at: Instant, rate: f64) -> RoundTripChange {
    let aps: BTreeSet<usize> = trips.iter().map(|trip| trip.ap).collect();
    if aps.len() < 2 {
        return fall_through_one(trips, began, drained_at, rate);
    }
    let through = |ap| trips.iter().filter(|trip| trip.ap == ap).copied().collect::<Vec<_>>();
    let changes = aps.into_iter().map(|ap| fall_through_one(&through(ap), began, drained_at, rate));
    changes.fold(RoundTripChange::Not, |all, one| match (all, one) {
        (RoundTripChange::By(fell, _), RoundTripChange::By(more, _)) if more > fell => one,
        (RoundTripChange::By(..), _) | (_, RoundTripChange::Not) => all,
        (_, RoundTripChange::By(..) | RoundTripChange::Unknown) => one,
    })
}

fn fall_through_one(trips: &[RoundTrip], began: Instant, drained_at: Instant, rate: f64) -> RoundTripChange {
    let is_before = |trip: &&RoundTrip| trip.sent_at < began && trip.sent_at + BEFORE > began;
    let before: Vec<_> = trips.iter().filter(is_before).collect();
    let after: Vec<_> = trips.iter().filter(|trip| trip.sent_at >= drained_at).collect();
    if before.len() < LEAST_TRIPS || after.len() < LEAST_TRIPS {
        return RoundTripChange::Unknown;
    }
    // Stations differ in how fast they answer: each is compared with itself, also those that answered on one side only.
    let least = |station| {
        let own = before.iter().chain(&after).filter(|trip| trip.station == station);
        own.map(|trip| trip.rtt.min(trip.baseline)).min().unwrap_or_default()
    };
    let excess = |trips: &[&RoundTrip]| {
        let mut all: Vec<_> =
            trips.iter().map(|trip| trip.rtt.saturating_sub(least(trip.station)).as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        let quartiles = all[all.len() * 3 / 4] - all[all.len() / 4];
        (all[all.len() / 2], quartiles * quartiles / all.len() as f64)
    };
    let ((median_before, square_before), (median_after, square_after)) = (excess(&before), excess(&after));
    let (fell, error) = (median_before - median_after, MEDIAN_ERROR * (square_before + square_after).sqrt());
    let queue = least_queue(rate);
    if fell > (SURE * error).max(queue) {
        RoundTripChange::By(fell, error)
    } else if SURE * error < queue && queue > PRECISION {
        RoundTripChange::Not
    } else {
        RoundTripChange::Unknown
    }
}

/// The same where round trips vary too much for a mean: a station that sends waits in its own queue and one that receives in the access point's,
/// whose round trips differ by a factor of ten. Nearly all that were sent from `drained_at` on are shorter than nearly all before `began`.
pub(super) fn fall_apart(trips: &[RoundTrip], (began, drained_at): (Instant, Instant), rate: f64) -> RoundTripChange {
    let sorted = |is_in: &dyn Fn(&RoundTrip) -> bool| {
        let mut all: Vec<f64> = trips.iter().filter(|trip| is_in(trip)).map(|trip| trip.rtt.as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let before = sorted(&|trip| trip.sent_at < began && trip.sent_at + BEFORE > began);
    let after = sorted(&|trip| trip.sent_at >= drained_at);
    if before.len() < APART || after.len() < APART {
        return RoundTripChange::Unknown;
    }
    let fell = before[before.len() / 4] - after[after.len() * 3 / 4];
    if fell > least_queue(rate) { RoundTripChange::By(fell, 0.0) } else { RoundTripChange::Unknown }
}

/// What round trips tell of a trial, by [`fall_of`], or by [`fall_apart`] where that is in doubt: a fall counts only if all met the queue.
pub(super) fn fall(trips: &[RoundTrip], (began, drained_at): (Instant, Instant), rate: f64) -> RoundTripChange {
    let change = match fall_of(trips, began, drained_at, rate) {
        RoundTripChange::Unknown => fall_apart(trips, (began, drained_at), rate),
        change => change,
    };
    met_by_all(change, trips, (began, drained_at), rate)
}

/// `change`, or that it tells nothing where round trips fell and [`is_shared`] denies it.
pub(super) fn met_by_all(
    change: RoundTripChange,
    trips: &[RoundTrip],
    times: (Instant, Instant),
    rate: f64,
) -> RoundTripChange {
    match change {
        RoundTripChange::By(fell, _) if !is_shared(trips, times, rate, fell) => RoundTripChange::Unknown,
        change => change,
    }
}

/// Whether round trips that fell by `fell` seconds fell for all that answered: a queue of the cell is everybody's. Where a station with traffic
/// met none, those that did may be behind slow hops of their own.
fn is_shared(trips: &[RoundTrip], (began, drained_at): (Instant, Instant), rate: f64, fell: f64) -> bool {
    let is_before = |trip: &RoundTrip| trip.sent_at < began && trip.sent_at + BEFORE > began;
    let is_after = |trip: &RoundTrip| trip.sent_at >= drained_at;
    let of = |is_in: &dyn Fn(&RoundTrip) -> bool| -> BTreeSet<usize> {
        trips.iter().filter(|trip| is_in(trip)).map(|trip| trip.station).collect()
    };
    let asked: Vec<usize> = of(&is_before).intersection(&of(&is_after)).copied().collect();
    let short = (fell / 2.0).min(SHORT * PACKET.as_bits() as f64 / rate);
    let has_none = |station: &&usize| {
        let own: Vec<&RoundTrip> = trips.iter().filter(|trip| trip.station == **station).collect();
        let least = own.iter().map(|trip| trip.rtt.min(trip.baseline)).min().unwrap_or_default();
        let mut before = own.iter().filter(|trip| is_before(trip));
        before.all(|trip| trip.rtt.saturating_sub(least).as_secs_f64() < short)
    };
    let without = asked.iter().filter(has_none).count();
    asked.len() >= STATIONS && without as f64 <= BY_CHANCE * asked.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trips(of: &[(i64, usize, u64)]) -> Vec<RoundTrip> {
        let at = |ms: i64| Instant::ZERO + Duration::from_millis((3400 + ms) as u64);
        let trip = |(ms, station, rtt): &(i64, usize, u64)| RoundTrip {
            sent_at: at(*ms),
            station: *station,
            ap: 0,
            rtt: Duration::from_millis(*rtt),
            baseline: Duration::from_millis(*rtt),
        };
        of.iter().map(trip).collect()
    }

    /// As measured at 6 Mbit/s with 15 packets at the access point and two uploads, whose queues hold 100.
    #[test]
    fn round_trips_of_two_kinds_that_all_fall_are_a_queue() {
        let mut all: Vec<_> = vec![
            (-1310, 2, 40),
            (-1210, 3, 179),
            (-1110, 4, 45),
            (-1010, 1, 266),
            (-910, 2, 42),
            (-810, 3, 186),
            (-710, 4, 47),
            (-610, 1, 321),
            (-510, 2, 44),
            (-400, 3, 208),
            (-300, 4, 32),
            (-200, 1, 394),
            (-100, 2, 48),
        ];
        all.extend((0..9).map(|n: i64| (n * 100 + 1520, n as usize % 4 + 1, u64::from(n == 1))));
        let (began, drained) =
            (Instant::ZERO + Duration::from_millis(3400), Instant::ZERO + Duration::from_millis(4880));
        assert_eq!(fall_of(&trips(&all), began, drained, 6e6), RoundTripChange::Unknown);
        assert!(matches!(fall_apart(&trips(&all), (began, drained), 6e6), RoundTripChange::By(fell, _) if fell > 0.02));
        // One station's fall alone is none of the cell.
        for trip in all.iter_mut().filter(|trip| trip.1 != 1) {
            trip.2 = 40;
        }
        assert_eq!(fall_apart(&trips(&all), (began, drained), 6e6), RoundTripChange::Unknown);
    }

    /// As a stranger measured at 20 Mbit/s: two stations behind repeaters of 2 Mbit/s each, and a third that has little traffic.
    #[test]
    fn a_queue_that_one_station_does_not_meet_is_none_of_the_cell() {
        let began = Instant::ZERO + Duration::from_millis(3400);
        let times = (began, began + Duration::from_millis(900));
        let of = |stations: usize, light: u64| {
            let rtt = |n: i64, is_loaded: bool| match n as usize % stations {
                2 => 1 + light + n as u64 % 2,
                _ if is_loaded => 180 + n as u64 % 7,
                _ => 4,
            };
            let before = (0..14).map(|n: i64| (n * 100 - 1400, n as usize % stations, rtt(n, true)));
            let after = (0..9).map(|n: i64| (n * 100 + 920, n as usize % stations, if n % 3 == 2 { 1 } else { 4 }));
            trips(&before.chain(after).collect::<Vec<_>>())
        };
        assert!(!is_shared(&of(3, 0), times, 4e6, 0.17), "the third meets no queue");
        assert!(is_shared(&of(3, 40), times, 4e6, 0.17), "all meet one");
        assert!(is_shared(&of(2, 0), times, 4e6, 0.17), "nobody else is there");
        assert!(!is_shared(&of(1, 0), times, 4e6, 0.17), "one alone shares with nobody");
    }
}
