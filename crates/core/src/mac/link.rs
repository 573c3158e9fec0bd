//! The way over the air between the AP and one station: rates, frame durations, errors.

use super::params::MacParams;
use crate::rng::Rng;
use crate::units::{Bitrate, Bytes, Duration};

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
