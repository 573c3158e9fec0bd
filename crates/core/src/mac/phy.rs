//! PHY tables: rates, interframe spaces, contention windows, frame durations.
//!
//! 802.11b (HR/DSSS): IEEE 802.11-2007 clause 18; 802.11a (OFDM): clause 17; 802.11g, OFDM only
//! (ERP-OFDM with short slots): clause 19.

use serde::{Deserialize, Serialize};

use crate::units::{Bitrate, Bytes, Duration, bits_at};

/// Bytes of an 802.11 data header with three addresses (24) plus FCS (4).
pub const MAC_HEADER_FCS: u64 = 28;
/// Bytes of LLC and SNAP before an IP packet.
pub const LLC_SNAP: u64 = 8;
/// Bytes of a MAC ACK.
pub const MAC_ACK: u64 = 14;

/// The physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phy {
    /// HR/DSSS, 2.4 GHz, 1-11 Mbit/s.
    #[serde(rename = "802.11b")]
    B,
    /// OFDM, 5 GHz, 6-54 Mbit/s.
    #[serde(rename = "802.11a")]
    A,
    /// ERP-OFDM, 2.4 GHz, 6-54 Mbit/s, no 802.11b stations about: short slots, no protection.
    #[serde(rename = "802.11g")]
    G,
}

/// PLCP preamble and header of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preamble {
    /// 144 + 48 bits at 1 Mbit/s: 192 us.
    Long,
    /// 72 bits at 1 and 48 bits at 2 Mbit/s: 96 us. Frames at 1 Mbit/s have the long one.
    Short,
    /// Any other duration (khademi2010 has 72 + 48 bits at 1 Mbit/s: 120 us).
    Lasting(Duration),
}

impl Preamble {
    /// How long it lasts.
    pub const fn duration(self) -> Duration {
        match self {
            Preamble::Long => Duration::from_micros(192),
            Preamble::Short => Duration::from_micros(96),
            Preamble::Lasting(duration) => duration,
        }
    }

    /// The preamble of a frame at `rate` where this one is used: there is no short one at 1 Mbit/s (clause 18.2.2.2).
    #[must_use]
    pub fn at(self, rate: Bitrate) -> Self {
        if self == Preamble::Short && rate == Bitrate::mbps(1) { Preamble::Long } else { self }
    }
}

impl Phy {
    /// Name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Phy::B => "802.11b",
            Phy::A => "802.11a",
            Phy::G => "802.11g",
        }
    }

    /// The rates that it can send at, in kbit/s, ascending.
    pub const fn rates_kbps(self) -> &'static [u64] {
        match self {
            Phy::B => &[1_000, 2_000, 5_500, 11_000],
            Phy::A | Phy::G => &[6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000],
        }
    }

    /// Whether `rate` is one of them.
    pub fn has_rate(self, rate: Bitrate) -> bool {
        self.rates_kbps().iter().any(|kbps| kbps * 1_000 == rate.as_bps())
    }

    /// aSlotTime.
    pub const fn slot(self) -> Duration {
        match self {
            Phy::B => Duration::from_micros(20),
            Phy::A | Phy::G => Duration::from_micros(9),
        }
    }

    /// aSIFSTime.
    pub const fn sifs(self) -> Duration {
        match self {
            Phy::A => Duration::from_micros(16),
            Phy::B | Phy::G => Duration::from_micros(10),
        }
    }

    /// aCWmin.
    pub const fn cw_min(self) -> u32 {
        match self {
            Phy::B => 31,
            Phy::A | Phy::G => 15,
        }
    }

    /// aCWmax.
    pub const fn cw_max(self) -> u32 {
        1023
    }

    /// aPHY-RX-START-Delay: from the start of a frame to the PHY's report of it.
    pub const fn rx_start_delay(self, preamble: Preamble) -> Duration {
        match self {
            Phy::B => preamble.duration(),
            Phy::A | Phy::G => Duration::from_micros(25),
        }
    }

    /// Rate of the MAC ACK to a frame at `data_rate`: `basic_rate`, unless the frame was slower; with OFDM the
    /// highest of the mandatory 6, 12 and 24 Mbit/s that is not above either (802.11-2007 clause 9.6).
    pub fn ack_rate(self, data_rate: Bitrate, basic_rate: Bitrate) -> Bitrate {
        let bound = data_rate.min(basic_rate);
        match self {
            Phy::B => bound,
            Phy::A | Phy::G => {
                [24, 12, 6].map(Bitrate::mbps).into_iter().find(|rate| *rate <= bound).unwrap_or(Bitrate::mbps(6))
            }
        }
    }

    /// Duration of a PPDU with `len` bytes of MAC frame at `rate`, PLCP included, a whole number of microseconds
    /// with 802.11b (clause 18.2.3.5) and of 4 us symbols with OFDM (clause 17.3.2.3; ERP adds 6 us of signal extension).
    pub fn frame_time(self, len: Bytes, rate: Bitrate, preamble: Preamble) -> Duration {
        match self {
            Phy::B => preamble.at(rate).duration() + bits_at(len.as_bits(), rate).round_up_to(Duration::from_micros(1)),
            Phy::A | Phy::G => {
                const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;
                let symbol = Duration::from_micros(4);
                let bits_a_symbol = rate.as_bps() * 4 / 1_000_000;
                let symbols = (SERVICE_AND_TAIL_BITS + len.as_bits()).div_ceil(bits_a_symbol);
                let extension = if self == Phy::G { Duration::from_micros(6) } else { Duration::ZERO };
                Duration::from_micros(20) + symbol * symbols + extension
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// published.md, MAC reference: frame 1310 us, ACK 248 us (802.11b, 1500 B MSDU + LLC/SNAP, 11 Mbit/s, basic 2).
    #[test]
    fn frame_times_of_the_bianchi_reference() {
        let len = Bytes(1500 + LLC_SNAP + MAC_HEADER_FCS);
        assert_eq!(Phy::B.frame_time(len, Bitrate::mbps(11), Preamble::Long), Duration::from_micros(1310));
        assert_eq!(Phy::B.frame_time(Bytes(MAC_ACK), Bitrate::mbps(2), Preamble::Long), Duration::from_micros(248));
        assert_eq!(Phy::A.frame_time(len, Bitrate::mbps(54), Preamble::Long), Duration::from_micros(248));
        assert_eq!(Phy::A.frame_time(Bytes(MAC_ACK), Bitrate::mbps(24), Preamble::Long), Duration::from_micros(28));
    }

    /// 802.11-2007 clause 18.2.2.2: behind the short PLCP preamble and header come 2, 5.5 or 11 Mbit/s.
    #[test]
    fn frames_at_1_mbps_always_have_the_long_preamble() {
        let ack = |mbps, preamble| Phy::B.frame_time(Bytes(MAC_ACK), Bitrate::mbps(mbps), preamble);
        assert_eq!(ack(1, Preamble::Short), Duration::from_micros(192 + 112));
        assert_eq!(ack(2, Preamble::Short), Duration::from_micros(96 + 56));
        let custom = Preamble::Lasting(Duration::from_micros(120));
        assert_eq!(ack(1, custom), Duration::from_micros(120 + 112));
    }

    #[test]
    fn acks_use_the_highest_mandatory_rate_not_above_the_frames() {
        assert_eq!(Phy::A.ack_rate(Bitrate::mbps(54), Bitrate::mbps(24)), Bitrate::mbps(24));
        assert_eq!(Phy::A.ack_rate(Bitrate::mbps(18), Bitrate::mbps(24)), Bitrate::mbps(12));
        assert_eq!(Phy::A.ack_rate(Bitrate::mbps(9), Bitrate::mbps(24)), Bitrate::mbps(6));
        assert_eq!(Phy::B.ack_rate(Bitrate::mbps(1), Bitrate::mbps(2)), Bitrate::mbps(1));
    }
}
