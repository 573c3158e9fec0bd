//! What is chosen of the medium, for all transmitters alike.

use serde::{Deserialize, Serialize};

use super::{Aggregation, Band, EdcaParams, Mcs, Phy, Preamble, TxVector};
use crate::units::{Bitrate, Bytes, Duration};

/// The medium and what all transmitters share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Radio {
    /// The 802.11 PHY.
    pub phy: Phy,
    /// Data rate of stations that name none, and of the AP towards them; with an MCS its rate, to the nearest bit/s.
    pub rate: Bitrate,
    /// Rate of MAC ACKs; with OFDM the highest mandatory rate not above `basic_rate` and the data rate.
    pub basic_rate: Bitrate,
    /// In a cell of 802.11g with stations of 802.11b: rate of the CTS-to-self before every OFDM data frame, and highest rate of MAC
    /// ACKs to DSSS and CCK frames. `None` in cells of one PHY.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection_rate: Option<Bitrate>,
    /// PLCP preamble and header (802.11b).
    pub preamble: Preamble,
    /// Transmissions of one frame before it is given up, first one included; at least 1. MPDUs of QoS cells have their own.
    pub retry_limit: u32,
    /// Defer EIFS instead of DIFS after a frame that could not be decoded.
    pub eifs: bool,
    /// Smallest contention window in slots minus one, where it is not the PHY's.
    pub cw_min: Option<u32>,
    /// Largest contention window, where it is not the PHY's.
    pub cw_max: Option<u32>,
    /// What 802.11n, ac and ax add; `None` with the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<QosRadio>,
}

/// What 802.11n, ac and ax add to the medium: MCSs, EDCA, aggregation, BlockAck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosRadio {
    /// The frequency band.
    pub band: Band,
    /// Modulation of data from and to stations that name none.
    pub mcs: Mcs,
    /// How access categories contend.
    pub edca: EdcaParams,
    /// Limits of A-MPDUs; `None`: one MPDU a PPDU.
    pub aggregation: Option<Aggregation>,
    /// Longest A-MSDU; `None`: each packet is an MPDU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amsdu: Option<Bytes>,
    /// Whether a missing BlockAck is asked for by a BlockAckReq; otherwise the data are sent again.
    pub bar: bool,
    /// PSDUs longer than this are announced by RTS; `None`: none.
    pub rts_above: Option<Bytes>,
    /// PPDUs that last longer than this are announced by RTS, too; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts_longer: Option<Duration>,
    /// Transmissions of one MPDU before it is given up, first one included; `None`: no limit.
    pub retry_limit: Option<u32>,
    /// Time from the arrival of an MPDU at its queue to when it is given up; `None`: no limit.
    pub lifetime: Option<Duration>,
}

impl Radio {
    /// The frequency band.
    pub const fn band(&self) -> Band {
        match &self.qos {
            Some(qos) => qos.band,
            None => self.phy.usual_band(),
        }
    }

    /// The modulation of data from and to stations that name none.
    pub fn data(&self) -> TxVector {
        match &self.qos {
            Some(qos) => TxVector::with_mcs(self.phy, qos.mcs, qos.band).expect("the scenario was checked"),
            None => self.tx(self.rate),
        }
    }

    /// The modulation of data frames at `rate` without an MCS. In a cell of 802.11b and g the rate tells them apart.
    pub fn tx(&self, rate: Bitrate) -> TxVector {
        let old = self.protection_rate.is_some() && Phy::B.has_rate(rate);
        TxVector::at_rate(if old { Phy::B } else { self.phy }, rate)
    }

    /// The modulation of the response to a frame sent with `tx`: of the same kind, so that its sender decodes it
    /// (802.11-2020 clause 10.6.6.5.2).
    pub fn response(&self, tx: TxVector) -> TxVector {
        let basic_rate = match self.protection_rate {
            Some(rate) if tx.phy() == Phy::B => rate,
            _ => self.basic_rate,
        };
        tx.response(basic_rate, self.band())
    }
}
