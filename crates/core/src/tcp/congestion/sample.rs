//! What a congestion control that models the path learns from an acknowledgement: Linux' `rate_sample`.

use crate::units::{Duration, Instant};

/// What is being repaired (`TCP_CA_Open`, `TCP_CA_Recovery`, `TCP_CA_Loss`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tcp) enum Repair {
    /// Nothing.
    #[default]
    Nothing,
    /// A loss that later segments told.
    Loss,
    /// A timeout.
    Timeout,
}

/// The rate at which the path delivered, over the flight of the segment sent last among those acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Rate {
    /// Segments delivered in `interval`.
    pub(in crate::tcp) delivered: u64,
    /// Above zero.
    pub(in crate::tcp) interval: Duration,
    /// Segments that had been delivered in all when that segment was sent.
    pub(in crate::tcp) prior_delivered: u64,
    /// The sender, not the path, limited the rate at some time in between.
    pub(in crate::tcp) limited: bool,
}

/// An acknowledgement with all that a model of the path needs.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Sample {
    /// `None` where it cannot be told.
    pub(in crate::tcp) rate: Option<Rate>,
    /// Round trip of the newest segment that was acknowledged and sent once only.
    pub(in crate::tcp) rtt: Option<Duration>,
    /// Segments delivered and segments lost since the connection's start.
    pub(in crate::tcp) delivered: u64,
    pub(in crate::tcp) lost: u64,
    /// When the last segment was delivered.
    pub(in crate::tcp) delivered_at: Instant,
    /// Segments that this acknowledgement showed to be lost.
    pub(in crate::tcp) losses: u32,
    /// Segments in flight before and after it.
    pub(in crate::tcp) prior_in_flight: u32,
    pub(in crate::tcp) in_flight: u32,
    /// What is being repaired now.
    pub(in crate::tcp) repair: Repair,
    /// When pacing lets the next segment go.
    pub(in crate::tcp) release: Instant,
}

/// An acknowledgement: of new data, or any where the path is modelled.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Ack {
    pub(in crate::tcp) now: Instant,
    /// Segments that it acknowledged.
    pub(in crate::tcp) segments: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub(in crate::tcp) srtt: Option<Duration>,
    /// What it tells of the path; only Linux' sender measures it.
    pub(in crate::tcp) sample: Option<Sample>,
}

/// How fast segments may follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Pacing {
    /// Bytes a second.
    pub(in crate::tcp) rate: u64,
    /// Segments that may leave together at least.
    pub(in crate::tcp) least: u32,
}

/// What slow start and congestion avoidance count (RFC 3465).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tcp) enum Counting {
    /// Acknowledgements, whatever they acknowledge; windows have fractions (RFC 5681).
    #[default]
    Acks,
    /// Segments acknowledged; windows are whole (Linux).
    Segments,
}
