//! Bounds that several tables share, and what stations and flows are unless they say otherwise.

use super::{AccessPoint, Radio, Run, Wire};
use crate::shaper::Policy;
use crate::tcp::TcpParams;
use crate::units::Probability;

/// Most packets that a queue may be told to hold.
pub(super) const LARGEST_QUEUE: usize = 1_000_000_000;
/// Most replicas of one run.
pub const MOST_REPLICAS: u32 = 1_000_000;
/// Most flows of a scenario, and most stations: beyond, a slip of the pen would fill the memory.
pub(super) const MOST_FLOWS: u64 = 100_000;

/// Where bit error rates lie.
pub(super) const RATES_OF_ERROR: std::ops::RangeInclusive<f64> = 0.0..=1.0;

/// `[radio]` with the errors that stations have unless they say otherwise.
pub(super) struct RadioSection {
    /// What the scenario keeps.
    pub(super) radio: Radio,
    /// Whether the file names the MCS.
    pub(super) mcs_named: bool,
    /// Default of `frame_error`.
    pub(super) frame_error: Probability,
    /// Default of `bit_error_rate`.
    pub(super) bit_error_rate: f64,
}

/// What stations and flows are unless they say otherwise.
pub(super) struct Defaults<'a> {
    /// For the checks of times.
    pub(super) run: &'a Run,
    /// That of the box, if there is one.
    pub(super) policy: Option<Policy>,
    /// Which access points there are besides that of `[ap]`.
    pub(super) access_points: &'a [AccessPoint],
    /// Rate and errors.
    pub(super) radio: &'a RadioSection,
    /// Wired path.
    pub(super) wire: Wire,
    /// TCP.
    pub(super) tcp: TcpParams,
}
