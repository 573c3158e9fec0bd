//! The way over the air between one station and its AP: rates, frame durations, errors.

use super::params::MacParams;
use super::tx_vector::TxVector;
use crate::packet::NodeId;
use crate::rng::Rng;
use crate::units::{Bytes, Duration};

/// What the cell must know of a station.
#[derive(Clone, Debug)]
pub struct StationLink {
    /// Modulation of data frames, both ways.
    pub tx: TxVector,
    /// Access priority against the AP.
    pub beta: f64,
    /// Error probability of each data frame with payload.
    pub frame_error: f64,
    /// Bit error rate of every data frame.
    pub bit_error_rate: f64,
    /// Names the station's random streams.
    pub name: String,
    /// The AP that it is associated with.
    pub ap: NodeId,
}

/// Frame durations and error probabilities towards and from one station.
pub(super) struct Link {
    /// The AP at its other end, and where that stands among the nodes.
    pub(super) ap: NodeId,
    pub(super) ap_at: usize,
    pub(super) tx: TxVector,
    pub(super) ack_time: Duration,
    pub(super) ack_tx: TxVector,
    /// CTS-to-self and SIFS before a data frame; zero without protection.
    pub(super) protection: Duration,
    /// Errors of MPDUs in a QoS cell; frames under DCF have [`Link::corrupts`].
    pub(super) errors: Errors,
    /// Duration of a data frame and its protection by IP length: divisions per frame would cost more than the whole countdown.
    times: Vec<Duration>,
}

/// Errors of the channel.
pub(super) struct Errors {
    frame_error: f64,
    bit_error_rate: f64,
    rng: Rng,
}

impl Errors {
    /// Whether an MPDU of so many bytes is lost.
    pub(super) fn loses(&mut self, bytes: u64) -> bool {
        let mut intact = 1.0 - self.frame_error;
        if self.bit_error_rate > 0.0 {
            intact *= (1.0 - self.bit_error_rate).powf(bytes as f64 * 8.0);
        }
        self.rng.chance(1.0 - intact)
    }
}

/// Longest IP packet in an 802.11 frame body of 2304 bytes after LLC/SNAP.
const LONGEST_TABULATED: usize = 2296;

impl Link {
    /// The link of one of so many `stations`.
    pub(super) fn new(params: &MacParams, station: &StationLink, stations: usize, seed: u64) -> Self {
        let mut link = Link {
            ap: station.ap,
            ap_at: station.ap.position(stations),
            tx: station.tx,
            ack_time: Duration::ZERO,
            ack_tx: station.tx,
            protection: Duration::ZERO,
            errors: Errors {
                frame_error: station.frame_error,
                bit_error_rate: station.bit_error_rate,
                rng: Rng::fork(seed, &format!("channel/{}", station.name)),
            },
            times: Vec::new(),
        };
        link.set_tx(params, station.tx);
        link
    }

    /// Data frames are sent with `tx` from now on.
    pub(super) fn set_tx(&mut self, params: &MacParams, tx: TxVector) {
        self.tx = tx;
        self.ack_time = params.ack_time(tx);
        self.ack_tx = params.ack_tx(tx);
        if params.qos.is_some() {
            return;
        }
        self.protection = params.protection_time(tx);
        let time = |len| self.protection + params.data_time(Bytes(len), tx);
        self.times = (0..=LONGEST_TABULATED as u64).map(time).collect();
    }

    /// Duration of the data frame around a packet of `len` with its protection: from the start of the CTS-to-self, if there is one.
    pub(super) fn data_time(&self, params: &MacParams, len: Bytes) -> Duration {
        let beyond = || self.protection + params.data_time(len, self.tx);
        self.times.get(len.0 as usize).copied().unwrap_or_else(beyond)
    }

    /// Whether the channel spoils the frame around a packet of `len`.
    pub(super) fn corrupts(&mut self, params: &MacParams, len: Bytes, has_payload: bool) -> bool {
        let errors = &mut self.errors;
        let mut intact = if has_payload { 1.0 - errors.frame_error } else { 1.0 };
        if errors.bit_error_rate > 0.0 {
            intact *= (1.0 - errors.bit_error_rate).powf(params.frame_len(len).as_bits() as f64);
        }
        errors.rng.chance(1.0 - intact)
    }
}
