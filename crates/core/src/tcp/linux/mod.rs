//! TCP as Linux 6.18 does it, where that differs from the RFCs: the profile `linux`.
//!
//! | rule | source in Linux |
//! |---|---|
//! | initial window 10 | `TCP_INIT_CWND`; RFC 6928 |
//! | growth by segments acknowledged, when the window is what limits | `tcp_reno_cong_avoid`, `tcp_is_cwnd_limited`; RFC 3465 with L unbounded |
//! | a loss halves the window, not the flight | `tcp_reno_ssthresh` |
//! | losses by time of sending, not by number | `tcp_recovery.c`; RFC 8985 (RACK) |
//! | a tail loss probe before a timeout | `tcp_schedule_loss_probe`, `tcp_send_loss_probe`; RFC 8985 section 7 |
//! | the window in recovery, and ssthresh at its end | `tcp_cwnd_reduction`, `tcp_end_cwnd_reduction`; RFC 6937 (PRR) |
//! | what a needless timeout took is given back | `tcp_process_loss`; RFC 5682 (F-RTO) |
//! | timeout = SRTT + max(200 ms, 4 RTTVAR) | `tcp_rtt_estimator` |
//! | first segments, and those after a long pause, acknowledged at once | `tcp_event_data_recv`, `tcp_incr_quickack` |
//! | delayed ACKs of 40 ms, longer when they are in vain | `tcp_send_delayed_ack`, `tcp_delack_timer_handler` |
//! | from the fourth on, duplicate ACKs of a millisecond, or a twentieth of a round trip, go as one | `__tcp_ack_snd_check`, `tcp_compressed_ack_kick` |
//! | a segment with PSH is acknowledged when it is read | `tcp_measure_rcv_mss`, `tcp_cleanup_rbuf` |
//! | PSH after every half of the largest window seen | `forced_push` |
//!
//! Delivery rates (`rate`) and pacing (`pacing`) serve BBR; docs/testbed.md has its rules.
//!
//! Left out: timestamps as bytes (12 in each segment), D-SACK, `HyStart`, reordering, which
//! the cell does not do, and the tick of the kernel's clock.

mod acks;
mod board;
mod pacing;
#[cfg(test)]
mod path_tests;
mod rate;
mod rto;
mod sender;
#[cfg(test)]
mod tests;

pub(super) use acks::Acks;
pub(super) use pacing::{Pacer, burst};
pub(super) use rate::{RateEstimator, Snapshot};
pub(super) use sender::LinuxSender;
