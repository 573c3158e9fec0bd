//! The congestion controls by name.

use serde::{Deserialize, Serialize};

/// Congestion control and, between the first two, loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Fast retransmit and fast recovery that ends with the first new ACK (RFC 2581).
    Reno,
    /// Fast recovery that lasts until the whole window is repaired (RFC 6582).
    #[default]
    Newreno,
    /// CUBIC growth (RFC 9438) with `NewReno` recovery.
    Cubic,
    /// BBR, version 1, as Linux has it. The sender is Linux' then.
    Bbr,
}

impl Variant {
    /// All of them, in the order of messages.
    pub const ALL: [Variant; 4] = [Variant::Reno, Variant::Newreno, Variant::Cubic, Variant::Bbr];

    /// The congestion control of Linux that stands for it, as in `net.ipv4.tcp_congestion_control`. Linux' `reno` has the
    /// `NewReno` of RFC 6582; it cannot do without.
    #[must_use]
    pub const fn in_linux(self) -> &'static str {
        match self {
            Variant::Reno | Variant::Newreno => "reno",
            Variant::Cubic => "cubic",
            Variant::Bbr => "bbr",
        }
    }
}
