//! Rates and durations of a modulation.

use super::rules::Symbols;
use super::{Band, Phy, PpduRules, dsss, he, ht, ofdm, vht};
use crate::mac::tx_vector::{Modulation, TxVector};
use crate::units::{Bitrate, Bytes, Duration};

impl TxVector {
    pub(super) fn symbols(&self, rules: &PpduRules) -> Symbols {
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

    /// Duration of preamble and PHY header: the MAC frame begins then.
    pub fn preamble_time(&self, rules: &PpduRules) -> Duration {
        match (self.phy(), self.modulation()) {
            (Phy::B, Modulation::Rate(rate)) => rules.preamble.at(rate).duration(),
            _ => self.symbols(rules).preamble,
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
