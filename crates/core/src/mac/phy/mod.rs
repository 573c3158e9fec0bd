//! PHYs: names, slots, interframe spaces, contention windows; what a PPDU's duration depends on.
//!
//! Rates and durations of a modulation are those of its [`TxVector`]. Clauses are those of IEEE 802.11-2020 (802.11ax-2021 for HE).

mod dsss;
mod he;
mod ht;
mod mcs;
mod ofdm;
mod vht;

#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use dsss::Preamble;
pub use mcs::{Mcs, McsError, Width};

use super::tx_vector::{Modulation, TxVector};
use crate::units::{Bitrate, Bytes, Duration};

/// Bytes of an 802.11 data header with three addresses (24) plus FCS (4).
pub const MAC_HEADER_FCS: u64 = 28;
/// Bytes of LLC and SNAP before an IP packet.
pub const LLC_SNAP: u64 = 8;
/// Bytes of a MAC ACK.
pub const MAC_ACK: u64 = 14;
/// Longest PPDU with an HT-mixed, VHT or HE preamble: aPPDUMaxTime.
pub const LONGEST_PPDU: Duration = Duration::from_micros(5_484);

/// The physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phy {
    /// HR/DSSS, 2.4 GHz, 1-11 Mbit/s (clause 16).
    #[serde(rename = "802.11b")]
    B,
    /// OFDM, 5 GHz, 6-54 Mbit/s (clause 17).
    #[serde(rename = "802.11a")]
    A,
    /// ERP-OFDM, 2.4 GHz, 6-54 Mbit/s, no 802.11b stations about: short slots, no protection (clause 18).
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

/// The frequency band of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Band {
    /// 2.4 GHz: SIFS 10 us, and 6 us of signal extension after every PPDU but a DSSS one.
    #[serde(rename = "2.4 GHz")]
    Ghz2,
    /// 5 GHz: SIFS 16 us.
    #[serde(rename = "5 GHz")]
    Ghz5,
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
}

/// What the duration of a PPDU depends on besides its [`TxVector`] and its length.
///
/// The simulators that FairAir is compared with depart from the standard; each departure is a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PpduRules {
    /// The band: in 2.4 GHz, OFDM PPDUs of all kinds end with 6 us of signal extension.
    pub band: Band,
    /// PLCP preamble of 802.11b.
    pub preamble: Preamble,
    /// Whether DSSS PPDUs last a whole number of microseconds (clause 16.2.3.5). ns-2: no.
    pub dsss_whole_microseconds: bool,
    /// VHT-SIG-B. ns-3: none.
    pub vht_sig_b: Duration,
    /// An HE-LTF where it does not follow from the guard interval. ns-3: 8 us.
    pub he_ltf: Option<Duration>,
    /// Whether an HE symbol carries a whole number of data bits (clause 27.5). ns-3: no.
    pub he_whole_bits: bool,
}

impl PpduRules {
    /// As IEEE 802.11 says.
    pub const fn standard(band: Band, preamble: Preamble) -> Self {
        PpduRules {
            band,
            preamble,
            dsss_whole_microseconds: true,
            vht_sig_b: Duration::from_micros(4),
            he_ltf: None,
            he_whole_bits: true,
        }
    }

    /// As stock ns-2.35 does.
    pub const fn ns2(band: Band, preamble: Preamble) -> Self {
        PpduRules { dsss_whole_microseconds: false, ..PpduRules::standard(band, preamble) }
    }

    /// As ns-3.44 does (`VhtPhy`, `HePhy`).
    pub const fn ns3(band: Band, preamble: Preamble) -> Self {
        PpduRules {
            vht_sig_b: Duration::ZERO,
            he_ltf: Some(Duration::from_micros(8)),
            he_whole_bits: false,
            ..PpduRules::standard(band, preamble)
        }
    }

    const fn signal_extension(&self) -> Duration {
        match self.band {
            Band::Ghz2 => Duration::from_micros(6),
            Band::Ghz5 => Duration::ZERO,
        }
    }
}

/// What makes the duration of an OFDM PPDU of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbols {
    /// Preamble and PHY header.
    preamble: Duration,
    /// An OFDM symbol with its guard interval.
    symbol: Duration,
    /// Data bits of `per` symbols: N_DBPS is not always whole.
    bits: u64,
    per: u64,
    /// SERVICE field and tail bits: 16 + 6 N_ES.
    overhead_bits: u64,
    extension: Duration,
}

/// Bits of the SERVICE field.
const SERVICE_BITS: u64 = 16;
/// Tail bits of one encoder.
const TAIL_BITS: u64 = 6;

impl Symbols {
    /// N_sym = ceil((16 + 8 L + 6 N_ES) / N_DBPS).
    fn count(&self, psdu: Bytes) -> u64 {
        ((self.overhead_bits + psdu.as_bits()) * self.per).div_ceil(self.bits)
    }

    fn duration(&self, psdu: Bytes) -> Duration {
        self.preamble + self.symbol * self.count(psdu) + self.extension
    }

    fn longest(&self, limit: Duration) -> Option<Bytes> {
        let symbols = limit.saturating_sub(self.preamble + self.extension).div_floor(self.symbol);
        let bits = (symbols * self.bits / self.per).checked_sub(self.overhead_bits)?;
        Some(Bytes(bits / 8))
    }
}

impl TxVector {
    fn symbols(&self, rules: &PpduRules) -> Symbols {
        match self.modulation() {
            Modulation::Rate(rate) => ofdm::symbols(rate, rules),
            Modulation::Mcs(mcs) => match self.phy() {
                Phy::Ac => vht::symbols(mcs, rules),
                Phy::Ax => he::symbols(mcs, rules),
                Phy::B | Phy::A | Phy::G | Phy::N => ht::symbols(mcs, rules),
            },
        }
    }

    /// Duration of a PPDU with `psdu` bytes (TXTIME): preamble, PHY header, data, signal extension.
    pub fn ppdu_time(&self, psdu: Bytes, rules: &PpduRules) -> Duration {
        match (self.phy(), self.modulation()) {
            (Phy::B, Modulation::Rate(rate)) => dsss::ppdu_time(psdu, rate, rules),
            _ => self.symbols(rules).duration(psdu),
        }
    }

    /// The longest PSDU whose PPDU lasts at most `limit`; `None` if not even an empty one does.
    pub fn longest_psdu(&self, limit: Duration, rules: &PpduRules) -> Option<Bytes> {
        match (self.phy(), self.modulation()) {
            (Phy::B, Modulation::Rate(rate)) => dsss::longest_psdu(limit, rate, rules),
            _ => self.symbols(rules).longest(limit),
        }
    }

    /// The modulation of the response (ACK, BlockAck, CTS) to a PPDU sent with this one: `basic_rate`, unless the PPDU was
    /// slower; with OFDM the highest of the mandatory 6, 12 and 24 Mbit/s that is not above either (clause 10.6.6.5.2).
    /// An MCS counts as its non-HT reference rate (clause 10.6.11).
    #[must_use]
    pub fn response(&self, basic_rate: Bitrate, band: Band) -> TxVector {
        let reference = match self.modulation() {
            Modulation::Rate(rate) => rate,
            Modulation::Mcs(mcs) => mcs.reference_rate(),
        };
        let bound = reference.min(basic_rate);
        let rate = if self.phy() == Phy::B { bound } else { ofdm::mandatory_rate(bound) };
        TxVector::at_rate(self.phy().non_ht(band), rate)
    }
}
