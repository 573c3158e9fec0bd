//! Round-trip times: the baseline of each station, the delay above it, and the rate that the cell delivered.

use std::collections::VecDeque;

use crate::units::{Bitrate, Bytes, Duration, Instant};

/// For how long a station's last delay counts.
const FRESH: Duration = Duration::from_millis(300);
/// A baseline is the least RTT of this time and of the same time before: it ages.
const BASELINE: Duration = Duration::from_secs(15);
/// No station's baseline is above this: a station that is first seen through a full queue has another one.
const LONGEST_BASELINE: Duration = Duration::from_millis(20);
/// So many losses in a row make a station deaf (it may filter echo requests).
const DEAF: u32 = 3;
/// How long a deaf station is left alone.
const DEAF_PAUSE: Duration = Duration::from_secs(5);

/// RTTs by station.
#[derive(Debug)]
pub(super) struct Delays {
    stations: Vec<StationDelay>,
}

#[derive(Clone, Copy, Debug)]
struct StationDelay {
    /// Least RTT since `since`, and in the period before.
    least: Duration,
    least_before: Duration,
    since: Instant,
    /// Delay above the baseline, and when it was measured.
    latest: Option<(Instant, Duration)>,
    lost_in_row: u32,
    ask_again: Instant,
}

impl Default for StationDelay {
    fn default() -> Self {
        StationDelay {
            least: LONGEST_BASELINE,
            least_before: LONGEST_BASELINE,
            since: Instant::ZERO,
            latest: None,
            lost_in_row: 0,
            ask_again: Instant::ZERO,
        }
    }
}

impl Delays {
    pub(super) fn new(stations: usize) -> Self {
        Delays { stations: vec![StationDelay::default(); stations] }
    }

    pub(super) fn grow(&mut self, stations: usize) {
        let stations = stations.max(self.stations.len());
        self.stations.resize(stations, StationDelay::default());
    }

    /// Number of stations.
    pub(super) fn len(&self) -> usize {
        self.stations.len()
    }

    /// A station answered after `rtt`; how much of it is above the baseline.
    pub(super) fn sample(&mut self, now: Instant, station: usize, rtt: Duration) -> Duration {
        let s = &mut self.stations[station];
        s.lost_in_row = 0;
        if now.saturating_since(s.since) >= BASELINE {
            (s.least_before, s.least, s.since) = (s.least, LONGEST_BASELINE, now);
        }
        s.least = s.least.min(rtt);
        let excess = rtt.saturating_sub(s.least.min(s.least_before));
        s.latest = Some((now, excess));
        excess
    }

    /// A station did not answer.
    pub(super) fn lost(&mut self, now: Instant, station: usize) {
        let s = &mut self.stations[station];
        s.lost_in_row += 1;
        if s.lost_in_row >= DEAF {
            s.ask_again = now + DEAF_PAUSE;
        }
    }

    /// Whether asking the station makes sense now.
    pub(super) fn may_answer(&self, station: usize, now: Instant) -> bool {
        let s = &self.stations[station];
        s.lost_in_row < DEAF || s.ask_again <= now
    }

    /// Median over the stations of their fresh delays; the lower one of two.
    pub(super) fn median(&self, now: Instant) -> Option<Duration> {
        let fresh = |s: &StationDelay| s.latest.filter(|(at, _)| now < *at + FRESH).map(|(_, excess)| excess);
        let mut delays: Vec<Duration> = self.stations.iter().filter_map(fresh).collect();
        delays.sort_unstable();
        delays.get(delays.len().saturating_sub(1) / 2).copied()
    }
}

/// A probe that came back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    pub(super) sent_at: Instant,
    pub(super) received_at: Instant,
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

/// Measures what the cell delivers while it has a queue.
///
/// A probe waits in the AP's queue behind all that the box let pass before it. So between the replies to two probes the
/// cell delivered what the box let pass down between sending the two, and what came up in the meantime.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    trips: VecDeque<Trip>,
}

impl Delivered {
    /// A probe came back.
    pub(super) fn push(&mut self, trip: Trip) {
        if self.trips.back().is_none_or(|last| last.sent_at <= trip.sent_at) {
            self.trips.push_back(trip);
        }
        while self.trips.len() > 32 {
            self.trips.pop_front();
        }
    }

    /// Forgets all trips: something else than C has kept them.
    pub(super) fn clear(&mut self) {
        self.trips.clear();
    }

    /// The rate over the latest trips that all found a queue of at least `queued`; `None` when there are not two.
    pub(super) fn rate(&self, queued: Duration) -> Option<Bitrate> {
        let last = self.trips.back().filter(|trip| trip.excess >= queued)?;
        let mut first = None;
        for trip in self.trips.iter().rev().skip(1).take_while(|trip| trip.excess >= queued) {
            let apart = last.received_at.saturating_since(trip.received_at);
            // Always the pair before the last, however long it took: the first news of a drop.
            if apart > TRAIN && first.is_some() {
                break;
            }
            if apart >= SHORTEST_TRAIN {
                first = Some((trip, apart));
            }
        }
        let (first, apart) = first?;
        let bytes = (last.down.0 - first.down.0) + (last.up.0 - first.up.0);
        Some(Bitrate::from_bps((bytes as f64 * 8.0 / apart.as_secs_f64()) as u64))
    }
}
