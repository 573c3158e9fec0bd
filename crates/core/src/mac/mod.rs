//! IEEE 802.11 medium access: PHY timing, DCF, and the cell as one object.

mod air;
mod backoff;
mod bss;
#[cfg(test)]
mod bss_tests;
mod node;
mod params;
mod phy;

pub use air::{AirBody, AirFrame, Reception};
pub use bss::Bss;
pub use node::{Delivery, StationLink};
pub use params::MacParams;
pub use phy::{LLC_SNAP, MAC_ACK, MAC_HEADER_FCS, Phy, Preamble};
