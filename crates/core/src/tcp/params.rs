//! What a scenario can choose about TCP.

use serde::{Deserialize, Serialize};

use super::congestion::Variant;
use crate::preset::Preset;
use crate::units::Duration;

/// Whose TCP it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The RFCs', or ns-2's with its preset.
    #[default]
    Rfc,
    /// That of Linux 6.18 (docs/testbed.md has the rules).
    Linux,
    /// QUIC (RFC 9000, RFC 9002); `variant`, `mss` and the largest timeout are all that counts.
    Quic,
}

/// Parameters of one connection. Windows are in segments of `mss`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // Options of TCP, each on or off by itself.
pub struct TcpParams {
    /// Whose rules; with `linux` variant, `mss`, `window` and the timeouts' bounds are all that can be chosen.
    #[serde(default, skip_serializing_if = "crate::units::is_default")]
    pub profile: Profile,
    /// Congestion control.
    pub variant: Variant,
    /// Payload bytes of a full segment, at least 1.
    pub mss: u32,
    /// Receive window, at least 1.
    pub window: u32,
    /// Congestion window after the handshake (RFC 5681: 2-4; RFC 6928: 10).
    pub initial_cwnd: u32,
    /// Slow-start threshold at the start; `None`: as high as the receive window allows.
    pub initial_ssthresh: Option<u32>,
    /// Selective acknowledgements (RFC 2018) with RFC 6675 recovery.
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168): both ends know marks, queues that can mark do so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// Limited transmit (RFC 3042): the first two duplicate ACKs each release a new segment.
    pub limited_transmit: bool,
    /// Acknowledge every second segment or after `delayed_ack_timeout`; `false`: every segment.
    pub delayed_ack: bool,
    /// The longest an ACK waits, RFC 1122: at most 500 ms.
    pub delayed_ack_timeout: Duration,
    /// First retransmission timeout (RFC 6298: 1 s).
    pub initial_rto: Duration,
    /// Smallest retransmission timeout (RFC 6298: 1 s, Linux: 200 ms).
    pub min_rto: Duration,
    /// Largest retransmission timeout.
    pub max_rto: Duration,
    /// Clock granularity of round-trip measurements, G of RFC 6298.
    pub granularity: Duration,
    /// Whose rules apply where the RFCs and ns-2 differ: `ns2` treats a lost SYN as congestion, halves ssthresh again
    /// with every timeout of the same segment, and leaves cwnd deflated after a recovery with partial ACKs. `ns3`: docs/ns3.md.
    pub preset: Preset,
}

impl Default for TcpParams {
    /// A host of today without its extras: `NewReno`, 200 ms minimum RTO, 1 ms clock, 64 kB window, delayed ACK.
    fn default() -> Self {
        TcpParams {
            profile: Profile::Rfc,
            variant: Variant::Newreno,
            mss: 1460,
            window: 42,
            initial_cwnd: 3,
            initial_ssthresh: None,
            sack: false,
            ecn: false,
            limited_transmit: true,
            delayed_ack: true,
            delayed_ack_timeout: Duration::from_millis(100),
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            preset: Preset::Standard,
        }
    }
}

impl TcpParams {
    /// As Linux 6.18 has it by default, with what a scenario chooses of it: congestion control, segment size, window.
    #[must_use]
    pub fn linux(&self) -> Self {
        TcpParams {
            profile: Profile::Linux,
            initial_cwnd: 10,
            initial_ssthresh: None,
            sack: true,
            delayed_ack: true,
            delayed_ack_timeout: Duration::from_millis(40),
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            ..*self
        }
    }

    /// Hosts in a cell of 802.11n, ac or ax: Linux with CUBIC and the window that receive autotuning reaches with
    /// `net.ipv4.tcp_rmem` as it is: 6 MiB of memory, of which 1460 in 2304 bytes are payload.
    pub fn hosts_of_today() -> Self {
        TcpParams { variant: Variant::Cubic, window: 2730, ..TcpParams::default().linux() }
    }

    /// A QUIC connection with `mss` bytes of its stream in a full datagram: the window of RFC 9002 section 7.2, and a `max_ack_delay` of
    /// 25 ms (RFC 9000 section 18.2). Flow control never limits it.
    pub fn quic(variant: Variant, mss: u32) -> Self {
        TcpParams {
            profile: Profile::Quic,
            variant,
            mss,
            window: 1 << 20,
            initial_cwnd: 10,
            delayed_ack_timeout: Duration::from_millis(25),
            ..TcpParams::default()
        }
    }

    /// What the reference runs of ns-3.44 use: CUBIC, SACK, an initial window of 10, windows of 1000
    /// segments, 1 s smallest RTO, delayed ACKs of at most 200 ms.
    pub fn ns3() -> Self {
        TcpParams {
            variant: Variant::Cubic,
            window: 1000,
            initial_cwnd: 10,
            sack: true,
            delayed_ack_timeout: Duration::from_millis(200),
            min_rto: Duration::from_secs(1),
            granularity: Duration::from_micros(1),
            preset: Preset::Ns3,
            ..TcpParams::default()
        }
    }

    /// What stock ns-2.35 uses (tcl/lib/ns-default.tcl): an ACK for every segment, 3 s first RTO, 10 ms ticks.
    pub fn ns2() -> Self {
        TcpParams {
            window: 20,
            initial_cwnd: 2,
            delayed_ack: false,
            initial_rto: Duration::from_secs(3),
            granularity: Duration::from_millis(10),
            preset: Preset::Ns2,
            ..TcpParams::default()
        }
    }
}
