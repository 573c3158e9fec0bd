//! Modulation and coding schemes of HT, VHT and HE.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{Bitrate, Duration};

/// A channel width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Width {
    /// 20 MHz.
    #[serde(rename = "20 MHz")]
    Mhz20,
    /// 40 MHz.
    #[serde(rename = "40 MHz")]
    Mhz40,
    /// 80 MHz.
    #[serde(rename = "80 MHz")]
    Mhz80,
    /// 160 MHz.
    #[serde(rename = "160 MHz")]
    Mhz160,
}

impl Width {
    /// All widths, narrow ones first.
    pub const ALL: [Width; 4] = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160];

    /// Name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Width::Mhz20 => "20 MHz",
            Width::Mhz40 => "40 MHz",
            Width::Mhz80 => "80 MHz",
            Width::Mhz160 => "160 MHz",
        }
    }
}

/// Coded bits a subcarrier and stream (N_BPSCS) and coding rate (numerator, denominator), by MCS.
const CODING: [(u64, u64, u64); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// Non-HT reference rates by MCS, in Mbit/s (clause 10.6.11).
const REFERENCE_MBPS: [u64; 12] = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54, 54, 54];

/// How the data of an HT, VHT or HE PPDU is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mcs {
    /// Modulation and coding of each stream: 0-7 (HT), 0-9 (VHT), 0-11 (HE). HT's MCS 8-31 are 0-7 with more streams.
    pub index: u8,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// Channel width.
    pub width: Width,
    /// Guard interval: 0.4 or 0.8 us (HT, VHT); 0.8, 1.6 or 3.2 us (HE).
    pub guard_interval: Duration,
}

/// Why a PHY has no such combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McsError {
    /// It is a PHY with rates, not with MCSs.
    #[error("it has no MCS")]
    NoMcs,
    /// The index is too high.
    #[error("its highest MCS is {0}")]
    Index(u8),
    /// Not 1 to 4.
    #[error("it has 1 to 4 streams")]
    Streams,
    /// Too wide for PHY or band.
    #[error("its widest channel is {}", .0.name())]
    Width(Width),
    /// No such guard interval.
    #[error("its guard intervals are {0}")]
    GuardInterval(&'static str),
    /// The bits of a symbol cannot be shared out (see [`Mcs::check`]).
    #[error("the standard leaves this combination out")]
    LeftOut,
}

impl fmt::Display for Mcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.streams == 1 { "" } else { "s" };
        write!(
            f,
            "MCS {}, {} stream{s}, {}, guard interval {}",
            self.index,
            self.streams,
            self.width.name(),
            self.guard_interval
        )
    }
}

impl Mcs {
    /// N_BPSCS, and numerator and denominator of the coding rate.
    pub(super) fn coding(&self) -> (u64, u64, u64) {
        CODING[usize::from(self.index)]
    }

    /// Data bits of so many symbols, with `subcarriers` for data: N_DBPS as a fraction.
    pub(super) fn data_bits(&self, subcarriers: u64) -> (u64, u64) {
        let (bits_a_subcarrier, numerator, denominator) = self.coding();
        let bits = subcarriers * bits_a_subcarrier * u64::from(self.streams) * numerator;
        if bits.is_multiple_of(denominator) { (bits / denominator, 1) } else { (bits, denominator) }
    }

    /// The rate that counts for the response (clause 10.6.11).
    pub(super) fn reference_rate(&self) -> Bitrate {
        Bitrate::mbps(REFERENCE_MBPS[usize::from(self.index)])
    }
}
