//! What the duration of a PPDU depends on besides its modulation and length.

use serde::{Deserialize, Serialize};

use crate::units::{Bitrate, Bytes, Duration};

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

    /// The preamble of a frame at `rate` where this one is used: there is no short one at 1 Mbit/s (clause 16.2.2.3).
    #[must_use]
    pub fn at(self, rate: Bitrate) -> Self {
        if self == Preamble::Short && rate == Bitrate::mbps(1) { Preamble::Long } else { self }
    }
}

/// What the duration of a PPDU depends on besides its [`TxVector`](crate::mac::TxVector) and its length.
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

    pub(super) const fn signal_extension(&self) -> Duration {
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
    pub(super) preamble: Duration,
    /// An OFDM symbol with its guard interval.
    pub(super) symbol: Duration,
    /// Data bits of `per` symbols: N_DBPS is not always whole.
    pub(super) bits: u64,
    pub(super) per: u64,
    /// SERVICE field and tail bits: 16 + 6 N_ES.
    pub(super) overhead_bits: u64,
    pub(super) extension: Duration,
}

/// Bits of the SERVICE field.
const SERVICE_BITS: u64 = 16;
/// Tail bits of one encoder.
const TAIL_BITS: u64 = 6;
/// Training fields and SIGNAL of 802.11a; every later OFDM PHY begins with them.
const PREAMBLE: Duration = Duration::from_micros(20);

impl Symbols {
    /// With what the PHY adds to the preamble for `training`, and the tail bits of so many encoders.
    pub(super) fn new(
        rules: &PpduRules,
        training: Duration,
        symbol: Duration,
        (bits, per): (u64, u64),
        encoders: u64,
    ) -> Self {
        Symbols {
            preamble: PREAMBLE + training,
            symbol,
            bits,
            per,
            overhead_bits: SERVICE_BITS + TAIL_BITS * encoders,
            extension: rules.signal_extension(),
        }
    }

    /// N_sym = ceil((16 + 8 L + 6 N_ES) / N_DBPS).
    fn count(&self, psdu: Bytes) -> u64 {
        ((self.overhead_bits + psdu.as_bits()) * self.per).div_ceil(self.bits)
    }

    pub(super) fn duration(&self, psdu: Bytes) -> Duration {
        self.preamble + self.symbol * self.count(psdu) + self.extension
    }

    pub(super) fn longest(&self, limit: Duration) -> Option<Bytes> {
        let symbols = limit.saturating_sub(self.preamble + self.extension).div_floor(self.symbol);
        let bits = (symbols * self.bits / self.per).checked_sub(self.overhead_bits)?;
        Some(Bytes(bits / 8))
    }
}
