//! IEEE 802.11 medium access: PHY timing, DCF, and the cell as one object.

mod air;
mod phy;

pub use air::{AirBody, AirFrame, Reception};
pub use phy::{LLC_SNAP, MAC_ACK, MAC_HEADER_FCS, Phy, Preamble};
