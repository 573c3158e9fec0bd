//! TCP as two sans-IO machines over byteless segments.
//!
//! [`Sender`] and [`Receiver`] are the two ends of one connection. Sequence numbers are bytes since the
//! connection's start and never wrap; windows count segments of the MSS. Connections of QUIC are the same two machines with other rules.

mod congestion;
#[cfg(test)]
mod conversation_tests;
#[cfg(test)]
mod ecn_tests;
mod linux;
mod params;
mod quic;
mod ranges;
mod receiver;
mod rfc;
mod rto;
mod sender;
mod transmission;

pub use congestion::Variant;
pub use params::{Profile, TcpParams};
pub use receiver::{Acknowledgement, Receiver};
pub use sender::Sender;
pub use transmission::{SenderStats, Transmission};
