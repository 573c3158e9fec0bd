//! QoS cells (802.11n/ac/ax: EDCA, A-MPDU, BlockAck) against closed forms and against ns-3.

mod cell;
mod contention;
mod conversations;
mod cycle;
mod limits;
mod ns3;
mod properties;
