//! IEEE 802.11 medium access: PHY timing, DCF, and the cell as one object.

mod access;
mod aggregate;
mod air;
mod backoff;
mod block_ack;
mod bss;
#[cfg(test)]
mod bss_tests;
mod counters;
mod edca;
mod exchange;
mod failure;
mod link;
mod medium;
mod monitor;
mod node;
mod params;
mod phy;
mod ppdu;
mod qos;
mod radio;
mod rules;
mod trace;
mod tx_vector;

pub use aggregate::Exchange;
pub use air::{AirBody, AirFrame, Place, Reception};
pub use bss::Bss;
pub use counters::{Delays, MacStats, QosStats, StationRecord};
pub use link::StationLink;
pub use node::Delivery;
pub use params::MacParams;
pub use phy::{Band, LLC_SNAP, LONGEST_PPDU, MAC_ACK, MAC_HEADER_FCS, Mcs, McsError, Phy, PpduRules, Preamble, Width};
pub use qos::{AccessParams, Aggregation, EdcaParams, QosParams};
pub use radio::{QosRadio, Radio};
pub use rules::{AfterNoAnswer, IdleAccess, Rules};
pub use trace::{Ppdu, PpduKind, Trace, Traced};
pub use tx_vector::{Modulation, TxVector};
