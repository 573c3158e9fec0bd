//! PHYs: names, slots, interframe spaces, contention windows; what a PPDU's duration depends on.
//!
//! Rates and durations of a modulation are those of its [`TxVector`](super::TxVector). Clauses are those of
//! IEEE 802.11-2020 (802.11ax-2021 for HE).

mod combination;
mod dsss;
mod generation;
mod he;
mod ht;
mod mcs;
mod ofdm;
mod rules;
mod txtime;
mod vht;

#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;

pub use generation::Phy;
pub use mcs::{Mcs, McsError, Width};
pub use rules::{Band, PpduRules, Preamble};

use crate::units::Duration;

/// Bytes of an 802.11 data header with three addresses (24) plus FCS (4).
pub const MAC_HEADER_FCS: u64 = 28;
/// Bytes of LLC and SNAP before an IP packet.
pub const LLC_SNAP: u64 = 8;
/// Bytes of a MAC ACK.
pub const MAC_ACK: u64 = 14;
/// Longest PPDU with an HT-mixed, VHT or HE preamble: aPPDUMaxTime.
pub const LONGEST_PPDU: Duration = Duration::from_micros(5_484);
