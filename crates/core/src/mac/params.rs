//! The rules of a cell: interframe times, contention windows, and how a failed frame is recovered from.

use super::phy::{LLC_SNAP, MAC_ACK, MAC_HEADER_FCS, Phy};
use super::rules::Rules;
use crate::scenario::{Preset, Radio};
use crate::units::{Bitrate, Bytes, Duration, bits_at};

/// Bytes that ns-2 adds to an IP packet: a header with four addresses and the FCS, no LLC/SNAP.
const NS2_MAC_OVERHEAD: u64 = 34;
/// ns-2 waits for an ACK two maximum propagation delays longer than SIFS and ACK last.
const NS2_ACK_SLACK: Duration = Duration::from_micros(4);

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
    preset: Preset,
    radio: Radio,
}

impl MacParams {
    /// The rules for `radio` under `preset`.
    pub fn new(radio: &Radio, preset: Preset) -> Self {
        let phy = radio.phy;
        let (slot, sifs) = (phy.slot(), phy.sifs());
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
            preset,
            radio: *radio,
        };
        // EIFS assumes that the ACK one could not hear went at the lowest mandatory rate (802.11-2007 clause 9.2.10).
        let lowest = Bitrate::from_bps(phy.rates_kbps()[0] * 1_000);
        let eifs = sifs + params.ack_time(lowest) + difs;
        match preset {
            Preset::Standard => {
                let ack_timeout = sifs + slot + phy.rx_start_delay(radio.preamble);
                params.after_no_ack = ack_timeout.max(difs);
                if radio.eifs {
                    params.after_bad_frame = eifs;
                }
            }
            Preset::Ns2 => {
                // EIFS is set as a NAV, and after a NAV everybody waits DIFS once more.
                params.after_no_ack = sifs + params.ack_time(radio.rate) + NS2_ACK_SLACK + difs;
                if radio.eifs {
                    params.after_bad_frame = eifs + difs;
                }
            }
        }
        params
    }

    /// Duration of the data frame that carries an IP packet of `len` at `rate`.
    pub fn data_time(&self, len: Bytes, rate: Bitrate) -> Duration {
        match self.preset {
            Preset::Standard => {
                let frame = Bytes(len.0 + LLC_SNAP + MAC_HEADER_FCS);
                self.radio.phy.frame_time(frame, rate, self.radio.preamble)
            }
            Preset::Ns2 => self.ns2_frame_time(Bytes(len.0 + NS2_MAC_OVERHEAD), rate),
        }
    }

    /// Duration of the MAC ACK to a data frame sent at `data_rate`.
    pub fn ack_time(&self, data_rate: Bitrate) -> Duration {
        match self.preset {
            Preset::Standard => {
                self.radio.phy.frame_time(Bytes(MAC_ACK), self.ack_rate(data_rate), self.radio.preamble)
            }
            Preset::Ns2 => self.ns2_frame_time(Bytes(MAC_ACK), self.ack_rate(data_rate)),
        }
    }

    /// Rate of the MAC ACK to a data frame sent at `data_rate`.
    pub fn ack_rate(&self, data_rate: Bitrate) -> Bitrate {
        self.radio.phy.ack_rate(data_rate, self.radio.basic_rate)
    }

    /// Bytes of the data frame around an IP packet of `len`, for the bit error rate.
    pub fn frame_len(&self, len: Bytes) -> Bytes {
        match self.preset {
            Preset::Standard => Bytes(len.0 + LLC_SNAP + MAC_HEADER_FCS),
            Preset::Ns2 => Bytes(len.0 + NS2_MAC_OVERHEAD),
        }
    }

    /// DSSS without rounding to microseconds; OFDM, which ns-2 lacks, as the standard has it.
    fn ns2_frame_time(&self, len: Bytes, rate: Bitrate) -> Duration {
        match self.radio.phy {
            Phy::B => self.radio.preamble.at(rate).duration() + bits_at(len.as_bits(), rate),
            Phy::A | Phy::G => self.radio.phy.frame_time(len, rate, self.radio.preamble),
        }
    }
}
