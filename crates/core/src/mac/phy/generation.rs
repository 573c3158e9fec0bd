//! The PHYs: names, rates, slots, interframe spaces, contention windows.

use serde::{Deserialize, Serialize};

use super::{Band, Preamble, Width, dsss, ofdm};
use crate::units::{Bitrate, Duration};

/// The physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phy {
    /// HR/DSSS, 2.4 GHz, 1-11 Mbit/s (clause 16).
    #[serde(rename = "802.11b")]
    B,
    /// OFDM, 5 GHz, 6-54 Mbit/s (clause 17).
    #[serde(rename = "802.11a")]
    A,
    /// ERP-OFDM, 2.4 GHz, 6-54 Mbit/s (clause 18): short slots, no protection, unless stations of 802.11b share the cell.
    #[serde(rename = "802.11g")]
    G,
    /// HT, 2.4 or 5 GHz, 20 or 40 MHz (clause 19).
    #[serde(rename = "802.11n")]
    N,
    /// VHT, 5 GHz, 20 to 160 MHz (clause 21).
    #[serde(rename = "802.11ac")]
    Ac,
    /// HE single-user PPDUs, 2.4 or 5 GHz, 20 to 160 MHz (clause 27).
    #[serde(rename = "802.11ax")]
    Ax,
}

impl Phy {
    /// All PHYs, oldest first.
    pub const ALL: [Phy; 6] = [Phy::B, Phy::A, Phy::G, Phy::N, Phy::Ac, Phy::Ax];

    /// Name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Phy::B => "802.11b",
            Phy::A => "802.11a",
            Phy::G => "802.11g",
            Phy::N => "802.11n",
            Phy::Ac => "802.11ac",
            Phy::Ax => "802.11ax",
        }
    }

    /// Whether data frames are HT, VHT or HE PPDUs, named by an MCS.
    pub const fn has_mcs(self) -> bool {
        matches!(self, Phy::N | Phy::Ac | Phy::Ax)
    }

    /// Bytes of the longest A-MPDU and MPDUs of the largest BlockAck window (802.11ax-2021 Table 9-34 and clause 10.25).
    pub const fn most_aggregated(self) -> (u64, usize) {
        match self {
            Phy::B | Phy::A | Phy::G | Phy::N => (65_535, 64),
            Phy::Ac => (1_048_575, 64),
            Phy::Ax => (6_500_631, 256),
        }
    }

    /// Bytes of the longest A-MSDU: 7935 of HT, but 3839 within an A-MPDU, whose MPDUs have at most 4095; of VHT and HE what an MPDU of 11,454
    /// leaves (802.11-2020 Table 9-25 and clause 10.12.2).
    pub const fn most_amsdu(self, in_ampdu: bool) -> u64 {
        match self {
            Phy::B | Phy::A | Phy::G => 0,
            Phy::N if in_ampdu => 3_839,
            Phy::N => 7_935,
            Phy::Ac | Phy::Ax => 11_398,
        }
    }

    /// The band that it uses unless the scenario says otherwise.
    pub const fn usual_band(self) -> Band {
        match self {
            Phy::B | Phy::G => Band::Ghz2,
            Phy::A | Phy::N | Phy::Ac | Phy::Ax => Band::Ghz5,
        }
    }

    /// Whether it exists in `band`.
    pub const fn is_in(self, band: Band) -> bool {
        match self {
            Phy::B | Phy::G => matches!(band, Band::Ghz2),
            Phy::A | Phy::Ac => matches!(band, Band::Ghz5),
            Phy::N | Phy::Ax => true,
        }
    }

    /// The rates without an MCS that it can send at, in kbit/s, ascending: with HT, VHT and HE those of control frames.
    pub const fn rates_kbps(self) -> &'static [u64] {
        match self {
            Phy::B => dsss::RATES_KBPS,
            Phy::A | Phy::G | Phy::N | Phy::Ac | Phy::Ax => ofdm::RATES_KBPS,
        }
    }

    /// Whether `rate` is one of them.
    pub fn has_rate(self, rate: Bitrate) -> bool {
        self.rates_kbps().iter().any(|kbps| kbps * 1_000 == rate.as_bps())
    }

    /// aSlotTime; in the 2.4 GHz band the short one.
    pub const fn slot(self) -> Duration {
        match self {
            Phy::B => Duration::from_micros(20),
            Phy::A | Phy::G | Phy::N | Phy::Ac | Phy::Ax => Duration::from_micros(9),
        }
    }

    /// aSIFSTime in `band`.
    pub const fn sifs(self, band: Band) -> Duration {
        match band {
            Band::Ghz2 => Duration::from_micros(10),
            Band::Ghz5 => Duration::from_micros(16),
        }
    }

    /// aCWmin.
    pub const fn cw_min(self) -> u32 {
        match self {
            Phy::B => 31,
            Phy::A | Phy::G | Phy::N | Phy::Ac | Phy::Ax => 15,
        }
    }

    /// aCWmax.
    pub const fn cw_max(self) -> u32 {
        1023
    }

    /// aPHY-RX-START-Delay: from the start of a frame to the PHY's report of it. A response comes without an MCS.
    pub const fn rx_start_delay(self, preamble: Preamble) -> Duration {
        match self {
            Phy::B => preamble.duration(),
            Phy::A | Phy::G | Phy::N | Phy::Ac | Phy::Ax => Duration::from_micros(25),
        }
    }

    /// The PHY of frames without an MCS, such as control frames, in a cell of this PHY in `band`.
    #[must_use]
    pub const fn non_ht(self, band: Band) -> Phy {
        match (self, band) {
            (Phy::B | Phy::A | Phy::G, _) => self,
            (Phy::N | Phy::Ac | Phy::Ax, Band::Ghz2) => Phy::G,
            (Phy::N | Phy::Ac | Phy::Ax, Band::Ghz5) => Phy::A,
        }
    }

    /// The highest index of an MCS; 0 without MCSs.
    pub const fn highest_mcs(self) -> u8 {
        match self {
            Phy::B | Phy::A | Phy::G => 0,
            Phy::N => 7,
            Phy::Ac => 9,
            Phy::Ax => 11,
        }
    }

    /// The widest channel in `band`.
    pub const fn widest(self, band: Band) -> Width {
        match (self, band) {
            (Phy::B | Phy::A | Phy::G, _) => Width::Mhz20,
            (Phy::N, _) | (_, Band::Ghz2) => Width::Mhz40,
            (Phy::Ac | Phy::Ax, Band::Ghz5) => Width::Mhz160,
        }
    }

    /// Guard intervals in ns, and as text.
    pub const fn guard_intervals(self) -> (&'static [u64], &'static str) {
        match self {
            Phy::B | Phy::A | Phy::G => (&[800], "\"0.8 us\""),
            Phy::N | Phy::Ac => (&[800, 400], "\"0.4 us\", \"0.8 us\""),
            Phy::Ax => (&[800, 1_600, 3_200], "\"0.8 us\", \"1.6 us\", \"3.2 us\""),
        }
    }
}
