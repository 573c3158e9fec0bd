//! What one exchange carries at most: for who must reckon air beforehand, as weights and models do.

use super::block_ack::{DELIMITER, MPDU_OVERHEAD};
use super::edca::BLOCK_ACK;
use super::params::MacParams;
use super::phy::{MAC_ACK, PpduRules};
use super::qos::Aggregation;
use super::radio::Radio;
use super::tx_vector::TxVector;
use crate::units::{Bytes, Duration};

/// An exchange: one PPDU and its answer, without the wait for the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// Packets that it carries.
    pub packets: f64,
    /// Air that it takes.
    pub air: Duration,
}

impl MacParams {
    /// The exchange with as many packets of `len` as limits admit, at most `wanted`: several in a QoS cell with aggregation, else one.
    pub fn full_exchange(&self, tx: TxVector, len: Bytes, wanted: f64) -> Exchange {
        let Some(qos) = &self.qos else {
            let air = self.protection_time(tx) + self.data_time(len, tx) + self.sifs + self.ack_time(tx);
            return Exchange { packets: 1.0, air };
        };
        let limits = qos.aggregation.map(|aggregation| aggregation.within(tx.phy()));
        let mpdu = len.0 + MPDU_OVERHEAD;
        let subframe = (DELIMITER + mpdu).next_multiple_of(4);
        let most = most_packets(limits, tx, len, &self.ppdu);
        let packets = most.min(wanted.ceil() as u64).max(1);
        let psdu = if packets > 1 { (packets - 1) * subframe + DELIMITER + mpdu } else { mpdu };
        let bitmap = if limits.is_some_and(|limits| limits.window > 64) { BLOCK_ACK.1 } else { BLOCK_ACK.0 };
        let answer = Bytes(if packets > 1 { bitmap } else { MAC_ACK });
        let air = tx.ppdu_time(Bytes(psdu), &self.ppdu) + self.sifs + self.ack_tx(tx).ppdu_time(answer, &self.ppdu);
        Exchange { packets: packets as f64, air }
    }
}

impl Radio {
    /// Packets of `len` that a PPDU to a station of the usual modulation carries at most: 1 without aggregation.
    pub fn packets_in_ppdu(&self, len: Bytes) -> u64 {
        let limits = self.qos.and_then(|qos| qos.aggregation).map(|aggregation| aggregation.within(self.phy));
        most_packets(limits, self.data(), len, &PpduRules::standard(self.band(), self.preamble)).max(1)
    }
}

/// Packets of `len` that `limits` admit in a PPDU with `tx`.
fn most_packets(limits: Option<Aggregation>, tx: TxVector, len: Bytes, rules: &PpduRules) -> u64 {
    let mpdu = len.0 + MPDU_OVERHEAD;
    let subframe = (DELIMITER + mpdu).next_multiple_of(4);
    limits.map_or(1, |limits| {
        let longest = tx.longest_psdu(limits.longest_ppdu(), rules).map_or(0, |bytes| bytes.0);
        let room = longest.min(limits.max_bytes.0).saturating_sub(DELIMITER + mpdu);
        (room / subframe + 1).min(limits.most_mpdus() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn exchange(radio: &str, len: u64, wanted: f64) -> Exchange {
        let text = format!(
            "name = \"x\"\n[run]\nduration = \"10 s\"\n[radio]\n{radio}\n[[station]]\nname = \"a\"\nflows = [{{ direction = \"down\" }}]\n"
        );
        let scenario = Scenario::from_toml(&text, "x.toml").unwrap();
        scenario.mac().full_exchange(scenario.radio.station_tx(&scenario.stations[0]), Bytes(len), wanted)
    }

    /// 802.11n MCS 7 at 20 MHz: 28 MPDUs of 1538 bytes last 5360 us, and the BlockAck 16 + 32; one lasts 228 us, and the ACK 16 + 28.
    #[test]
    fn an_exchange_is_as_long_as_limits_admit() {
        let n = "phy = \"802.11n\"\nwidth = \"20 MHz\"\nmcs = 7";
        let full = Exchange { packets: 28.0, air: Duration::from_micros(5360 + 48) };
        assert_eq!(exchange(n, 1500, f64::INFINITY), full);
        let one = Exchange { packets: 1.0, air: Duration::from_micros(228 + 44) };
        assert_eq!(exchange(n, 1500, 1.0), one);
        assert_eq!(exchange(&format!("{n}\naggregation = \"off\""), 1500, f64::INFINITY), one);
        let short = exchange(&format!("{n}\naggregation = {{ max_duration = \"2 ms\" }}"), 1500, f64::INFINITY);
        assert_eq!(short.packets as u32, 10);
        assert_eq!(
            exchange(&format!("{n}\naggregation = {{ max_mpdus = 16 }}"), 1500, f64::INFINITY).packets as u32,
            16
        );
    }
}
