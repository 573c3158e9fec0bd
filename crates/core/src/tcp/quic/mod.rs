//! QUIC's transport rules over the congestion controls of TCP: the profile `quic`.
//!
//! | rule | source |
//! |---|---|
//! | a number of its own for each datagram, so that a round trip is never ambiguous | RFC 9000 section 12.3 |
//! | an ACK frame for every second datagram, at once where a number is missing, after `max_ack_delay` (25 ms) at the latest | RFC 9000 section 13.2 |
//! | lost: three later ones have arrived, or 9/8 of a round trip has passed since | RFC 9002 section 6.1 |
//! | two probes after a probe timeout, which takes nothing from the window | RFC 9002 section 6.2 |
//! | one reduction for all that was sent before it | RFC 9002 section 7.3.2 |
//! | a window of two after persistent congestion | RFC 9002 section 7.6 |
//! | datagrams are paced, at 5/4 of the window a round trip where congestion control has no rate | RFC 9002 section 7.7 |
//!
//! Windows, CUBIC and BBR are those of TCP. Left out: the certificate (the handshake is one datagram of 1200 bytes each way), flow
//! control, ECN, more than three ranges in an ACK frame (section 13.2.3 allows fewer than are known), and a change of the path.

mod flight;
mod receipts;
mod rtt;
mod sender;
#[cfg(test)]
mod tests;

pub(super) use receipts::Receipts;
pub(super) use sender::QuicSender;
