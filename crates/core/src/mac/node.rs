//! One DCF transmitter: its queue, the frame in service, its backoff.

use super::backoff::Windows;
use super::params::MacParams;
use crate::packet::{NodeId, Packet};
use crate::qdisc::Queue;
use crate::record::MacStats;
use crate::rng::Rng;
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// What the cell must know of a station.
#[derive(Clone, Debug)]
pub struct StationLink {
    /// Rate of data frames, both ways.
    pub rate: Bitrate,
    /// Access priority against the AP.
    pub beta: f64,
    /// Error probability of each data frame with payload.
    pub frame_error: f64,
    /// Bit error rate of every data frame.
    pub bit_error_rate: f64,
    /// Names the station's random streams.
    pub name: String,
}

/// Where a transmitter stands in the contention for the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backoff {
    /// No countdown: after a long silence, or while its own frame is on the air.
    None,
    /// The frame in service came when the medium was idle: it is sent at the slot boundary where the count begins,
    /// unless the medium gets busy before.
    Immediate,
    /// So many idle slots to go; the frame in service, if there is one, is sent after them.
    Slots(u32),
}

/// A transmitter. EDCA would give a node one of these per access category, with windows of its own.
pub(super) struct Node<P> {
    pub(super) queue: Queue<P>,
    /// The frame that the MAC works on; it has left the queue. Aggregation would make this a burst.
    pub(super) in_service: Option<P>,
    /// Failed attempts of the frame in service.
    pub(super) attempts: u32,
    pub(super) backoff: Backoff,
    /// When the countdown goes on in the current idle period; holds while `epoch` is the medium's.
    pub(super) count_from: Instant,
    pub(super) epoch: u64,
    pub(super) windows: Windows,
    pub(super) rng: Rng,
    pub(super) stats: MacStats,
    /// 802.11 sequence number of the frame in service.
    pub(super) sequence: u16,
}

impl<P: Packet> Node<P> {
    pub(super) fn new(queue: Queue<P>, windows: Windows, rng: Rng) -> Self {
        Node {
            queue,
            in_service: None,
            attempts: 0,
            backoff: Backoff::None,
            count_from: Instant::ZERO,
            epoch: 0,
            windows,
            rng,
            stats: MacStats::default(),
            sequence: 0,
        }
    }

    /// Fetches the next packet from the queue when the MAC has none.
    pub(super) fn fetch(&mut self, now: Instant) {
        if self.in_service.is_none() {
            self.in_service = self.queue.dequeue(now);
            if self.in_service.is_some() {
                self.sequence = (self.sequence + 1) % 4096;
            }
        }
    }

    /// Draws the backoff before the next attempt.
    pub(super) fn draw_backoff(&mut self) {
        self.backoff = Backoff::Slots(self.windows.draw(self.attempts, &mut self.rng));
    }

    /// When the countdown ends if the medium stays idle.
    pub(super) fn expiry(&self, slot: Duration) -> Instant {
        match self.backoff {
            Backoff::Slots(slots) => self.count_from + slot * u64::from(slots),
            Backoff::Immediate => self.count_from,
            Backoff::None => Instant::FAR_FUTURE,
        }
    }

    /// The medium became busy at `now`: keeps what is left of the countdown. A countdown that ran out
    /// with nothing to send is over; who meant to send without a countdown needs one now.
    pub(super) fn freeze(&mut self, now: Instant, slot: Duration) {
        match self.backoff {
            Backoff::None => {}
            Backoff::Immediate => self.draw_backoff(),
            Backoff::Slots(slots) => {
                let elapsed = now.saturating_since(self.count_from).div_floor(slot);
                self.backoff = match u64::from(slots).checked_sub(elapsed) {
                    Some(left) if left > 0 || self.in_service.is_some() => Backoff::Slots(left as u32),
                    _ => Backoff::None,
                };
            }
        }
    }
}

/// Frame durations and error probabilities towards and from one station.
pub(super) struct Link {
    pub(super) rate: Bitrate,
    pub(super) ack_time: Duration,
    pub(super) ack_rate: Bitrate,
    frame_error: f64,
    bit_error_rate: f64,
    /// Duration of a data frame by IP length: divisions per frame would cost more than the whole countdown.
    times: Vec<Duration>,
    pub(super) error_rng: Rng,
}

/// Longest IP packet in an 802.11 frame body of 2304 bytes after LLC/SNAP.
const LONGEST_TABULATED: usize = 2296;

impl Link {
    pub(super) fn new(params: &MacParams, station: &StationLink, seed: u64) -> Self {
        let mut link = Link {
            rate: station.rate,
            ack_time: Duration::ZERO,
            ack_rate: station.rate,
            frame_error: station.frame_error,
            bit_error_rate: station.bit_error_rate,
            times: Vec::new(),
            error_rng: Rng::fork(seed, &format!("channel/{}", station.name)),
        };
        link.set_rate(params, station.rate);
        link
    }

    /// Data frames have another rate from now on.
    pub(super) fn set_rate(&mut self, params: &MacParams, rate: Bitrate) {
        self.rate = rate;
        self.ack_time = params.ack_time(rate);
        self.ack_rate = params.ack_rate(rate);
        self.times = (0..=LONGEST_TABULATED as u64).map(|len| params.data_time(Bytes(len), rate)).collect();
    }

    /// Duration of the data frame around `packet`.
    pub(super) fn data_time(&self, params: &MacParams, len: Bytes) -> Duration {
        self.times.get(len.0 as usize).copied().unwrap_or_else(|| params.data_time(len, self.rate))
    }

    /// Whether the channel spoils the frame around a packet of `len`.
    pub(super) fn corrupts(&mut self, params: &MacParams, len: Bytes, has_payload: bool) -> bool {
        let mut intact = if has_payload { 1.0 - self.frame_error } else { 1.0 };
        if self.bit_error_rate > 0.0 {
            intact *= (1.0 - self.bit_error_rate).powf(params.frame_len(len).as_bits() as f64);
        }
        self.error_rng.chance(1.0 - intact)
    }
}

/// A packet that crossed the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The node that received it: the AP, or a station.
    pub receiver: NodeId,
    /// The packet.
    pub packet: P,
}
