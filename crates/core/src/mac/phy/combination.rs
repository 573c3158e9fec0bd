//! Which MCSs a PHY has, and their rates.

use super::{Band, Mcs, McsError, Phy, he, ht, vht};
use crate::units::Bitrate;

impl Mcs {
    /// Whether `phy` has the combination in `band`.
    ///
    /// VHT leaves out combinations whose bits of a symbol its encoders cannot share: with up to four streams MCS 9 at 20 MHz
    /// but for three streams, MCS 6 at 80 MHz with three, and MCS 9 at 160 MHz with three.
    ///
    /// # Errors
    /// What `phy` does not have; the first in the order index, streams, width, guard interval, the whole.
    pub fn check(&self, phy: Phy, band: Band) -> Result<(), McsError> {
        if !phy.has_mcs() {
            return Err(McsError::NoMcs);
        }
        if self.index > phy.highest_mcs() {
            return Err(McsError::Index(phy.highest_mcs()));
        }
        if !(1..=4).contains(&self.streams) {
            return Err(McsError::Streams);
        }
        if self.width > phy.widest(band) {
            return Err(McsError::Width(phy.widest(band)));
        }
        let (known, text) = phy.guard_intervals();
        if !known.contains(&self.guard_interval.as_nanos()) {
            return Err(McsError::GuardInterval(text));
        }
        if phy == Phy::Ac && !vht::exists(*self) {
            return Err(McsError::LeftOut);
        }
        Ok(())
    }

    /// Rate of the data, rounded to the nearest bit/s: N_SS N_SD N_BPSCS R / (T_DFT + GI).
    pub(in crate::mac) fn rate(&self, phy: Phy) -> Bitrate {
        let (subcarriers, dft) = match phy {
            Phy::Ac => (vht::data_subcarriers(self.width), 3_200),
            Phy::Ax => (he::data_subcarriers(self.width), 12_800),
            Phy::B | Phy::A | Phy::G | Phy::N => (ht::data_subcarriers(self.width), 3_200),
        };
        let (bits, per) = self.data_bits(subcarriers);
        let time = per * (dft + self.guard_interval.as_nanos());
        Bitrate::from_bps((bits * 1_000_000_000 + time / 2) / time)
    }
}
