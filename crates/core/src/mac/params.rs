//! The rules of a cell: interframe times, contention windows, and how a failed frame is recovered from.

use super::phy::{LLC_SNAP, MAC_ACK, MAC_HEADER_FCS, Phy, PpduRules};
use super::qos::QosParams;
use super::radio::Radio;
use super::rules::Rules;
use super::tx_vector::TxVector;
use crate::preset::Preset;
use crate::units::{Bitrate, Bytes, Duration};

/// Bytes that ns-2 adds to an IP packet: a header with four addresses and the FCS, no LLC/SNAP.
const NS2_MAC_OVERHEAD: u64 = 34;
/// ns-2 waits for an ACK two maximum propagation delays longer than SIFS and ACK last.
const NS2_ACK_SLACK: Duration = Duration::from_micros(4);
/// What ns-3 waits for the start of an answer besides SIFS and a slot: the preamble of a frame without an MCS.
const NS3_RX_START_DELAY: Duration = Duration::from_micros(20);

/// Bytes of a CTS.
const CTS: u64 = 14;

/// What all transmitters of a cell share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MacParams {
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// DIFS = SIFS + 2 slots.
    pub difs: Duration,
    /// From the end of an undecodable frame to the countdown of those who heard it: EIFS, or DIFS without `eifs`.
    pub after_bad_frame: Duration,
    /// From the end of an unanswered frame to the countdown of its sender: the ACK timeout, at least DIFS.
    pub after_no_ack: Duration,
    /// Smallest contention window.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// Attempts of a frame in all.
    pub retry_limit: u32,
    /// Whose rules apply.
    pub rules: Rules,
    /// EDCA, aggregation and BlockAck; `None`: DCF and single frames.
    pub qos: Option<QosParams>,
    preset: Preset,
    /// What frame times depend on besides the modulation.
    pub ppdu: PpduRules,
    radio: Radio,
}

impl MacParams {
    /// The rules for `radio` under `preset`.
    pub fn new(radio: &Radio, preset: Preset) -> Self {
        let phy = radio.phy;
        let band = radio.band();
        // A station of 802.11b knows the long slot only (802.11-2020 clause 9.4.1.4).
        let slot = if radio.protection_rate.is_some() { Phy::B.slot() } else { phy.slot() };
        let sifs = phy.sifs(band);
        let difs = sifs + slot * 2;
        let mut params = MacParams {
            slot,
            sifs,
            difs,
            after_bad_frame: difs,
            after_no_ack: difs,
            cw_min: radio.cw_min.unwrap_or(phy.cw_min()),
            cw_max: radio.cw_max.unwrap_or(phy.cw_max()),
            retry_limit: radio.retry_limit,
            rules: Rules::of(preset),
            qos: None,
            preset,
            ppdu: match preset {
                Preset::Standard => PpduRules::standard(band, radio.preamble),
                Preset::Ns2 => PpduRules::ns2(band, radio.preamble),
                Preset::Ns3 => PpduRules::ns3(band, radio.preamble),
            },
            radio: *radio,
        };
        // EIFS assumes that the ACK one could not hear went at the lowest mandatory rate (802.11-2007 clause 9.2.10).
        let lowest = if radio.protection_rate.is_some() { Phy::B } else { phy }.rates_kbps()[0];
        let lowest = Bitrate::from_bps(lowest * 1_000);
        let eifs = sifs + params.ack_time(params.tx(lowest)) + difs;
        params.after_no_ack = match preset {
            Preset::Standard => params.ack_timeout(phy).max(difs),
            Preset::Ns2 => sifs + params.ack_time(params.tx(radio.rate)) + NS2_ACK_SLACK + difs,
            Preset::Ns3 => sifs + slot + NS3_RX_START_DELAY,
        };
        if radio.eifs {
            // In ns-2 EIFS is set as a NAV, and after a NAV everybody waits DIFS once more.
            params.after_bad_frame = if preset == Preset::Ns2 { eifs + difs } else { eifs };
        }
        params
    }

    /// From the end of a frame to when its sender takes it for lost if no response of `phy` has begun (clause 10.3.2.11).
    fn ack_timeout(&self, phy: Phy) -> Duration {
        self.sifs + self.slot + phy.rx_start_delay(self.radio.preamble)
    }

    /// [`Self::after_no_ack`] of a frame sent with `tx`.
    pub(super) fn after_no_ack_to(&self, tx: TxVector) -> Duration {
        match self.radio.protection_rate {
            Some(_) => self.ack_timeout(tx.phy()).max(self.difs),
            None => self.after_no_ack,
        }
    }

    /// Smallest contention window of who sends with `tx`: with protection that of a station of 802.11b is its PHY's, that of the AP and
    /// of stations of 802.11g is not (aCWmin(1), 802.11-2020 clause 18.4.4).
    pub fn cw_min_of(&self, tx: TxVector) -> u32 {
        match self.radio.protection_rate {
            Some(_) => self.radio.cw_min.unwrap_or(tx.phy().cw_min()),
            None => self.cw_min,
        }
    }

    /// The modulation of a CTS-to-self before data frames sent with `tx`; `None`: they need none.
    pub fn protection_tx(&self, tx: TxVector) -> Option<TxVector> {
        let rate = self.radio.protection_rate.filter(|_| tx.phy() != Phy::B)?;
        Some(TxVector::at_rate(Phy::B, rate))
    }

    /// Duration of the CTS-to-self before a data frame sent with `tx`, and of the SIFS after it; zero without protection
    /// (802.11-2020 clause 10.27.2).
    pub fn protection_time(&self, tx: TxVector) -> Duration {
        self.protection_tx(tx).map_or(Duration::ZERO, |cts| cts.ppdu_time(Bytes(CTS), &self.ppdu) + self.sifs)
    }

    /// The modulation of a frame at `rate` in this cell.
    pub fn tx(&self, rate: Bitrate) -> TxVector {
        self.radio.tx(rate)
    }

    /// Duration of the data frame that carries an IP packet of `len`, sent with `tx`.
    pub fn data_time(&self, len: Bytes, tx: TxVector) -> Duration {
        tx.ppdu_time(self.frame_len(len), &self.ppdu)
    }

    /// Duration of the MAC ACK to a data frame sent with `tx`.
    pub fn ack_time(&self, tx: TxVector) -> Duration {
        self.ack_tx(tx).ppdu_time(Bytes(MAC_ACK), &self.ppdu)
    }

    /// Modulation of the MAC ACK to a data frame sent with `tx`.
    pub fn ack_tx(&self, tx: TxVector) -> TxVector {
        self.radio.response(tx)
    }

    /// Modulation of control frames that start an exchange: the basic rate.
    pub(super) fn control_tx(&self) -> TxVector {
        self.tx(self.radio.basic_rate).response(self.radio.basic_rate, self.ppdu.band)
    }

    /// Modulation of control frames that all must decode: the lowest rate.
    pub(super) fn lowest_tx(&self) -> TxVector {
        let lowest = Bitrate::from_bps(self.radio.phy.rates_kbps()[0] * 1_000);
        self.tx(lowest).response(lowest, self.ppdu.band)
    }

    /// Bytes of the data frame around an IP packet of `len`, for its duration and the bit error rate.
    pub fn frame_len(&self, len: Bytes) -> Bytes {
        match self.preset {
            Preset::Standard | Preset::Ns3 => Bytes(len.0 + LLC_SNAP + MAC_HEADER_FCS),
            Preset::Ns2 => Bytes(len.0 + NS2_MAC_OVERHEAD),
        }
    }
}
