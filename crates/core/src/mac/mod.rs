//! IEEE 802.11 medium access: PHY timing, DCF, and the cell as one object.

mod access;
mod air;
mod backoff;
mod bss;
#[cfg(test)]
mod bss_tests;
mod link;
mod medium;
mod node;
mod params;
mod phy;
mod ppdu;
mod rules;

pub use air::{AirBody, AirFrame, Reception};
pub use bss::Bss;
pub use link::StationLink;
pub use node::Delivery;
pub use params::MacParams;
pub use phy::{LLC_SNAP, MAC_ACK, MAC_HEADER_FCS, Phy, Preamble};
pub use rules::{AfterNoAnswer, IdleAccess, Rules};
