//! How a PPDU is sent: PHY, rate or MCS, streams, width, guard interval.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::phy::{Band, Mcs, McsError, Phy};
use crate::units::Bitrate;

/// A modulation, as in 802.11's TXVECTOR: the parameters that the MAC gives the PHY. Every rate and every frame time comes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TxVector {
    phy: Phy,
    modulation: Modulation,
}

/// What names the modulation within a PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Modulation {
    /// DSSS and OFDM: the data rate.
    Rate(Bitrate),
    /// HT, VHT and HE.
    Mcs(Mcs),
}

impl TxVector {
    /// A PPDU of 802.11b, a or g at `rate`; with another PHY a non-HT PPDU, such as a control frame.
    pub const fn at_rate(phy: Phy, rate: Bitrate) -> Self {
        TxVector { phy, modulation: Modulation::Rate(rate) }
    }

    /// An HT, VHT or HE PPDU.
    ///
    /// # Errors
    /// `phy` has no such combination in `band`.
    pub fn with_mcs(phy: Phy, mcs: Mcs, band: Band) -> Result<Self, McsError> {
        mcs.check(phy, band).map(|()| TxVector { phy, modulation: Modulation::Mcs(mcs) })
    }

    /// The PHY: stations of several generations may share a cell.
    pub const fn phy(&self) -> Phy {
        self.phy
    }

    /// Rate or MCS.
    pub const fn modulation(&self) -> Modulation {
        self.modulation
    }

    /// Rate of the data, rounded to the nearest bit/s: for people and for weights. Durations do not come from it.
    pub fn rate(&self) -> Bitrate {
        match self.modulation {
            Modulation::Rate(rate) => rate,
            Modulation::Mcs(mcs) => mcs.rate(self.phy),
        }
    }
}

impl fmt::Display for TxVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.modulation {
            Modulation::Rate(rate) => write!(f, "{rate}"),
            Modulation::Mcs(mcs) => {
                let tenths = (self.rate().as_bps() + 50_000) / 100_000;
                write!(f, "{}.{} Mbit/s ({mcs})", tenths / 10, tenths % 10)
            }
        }
    }
}
