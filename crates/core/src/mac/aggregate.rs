//! What one exchange carries at most: for who must reckon air beforehand, as weights and models do.

use super::block_ack::{DELIMITER, MPDU_OVERHEAD, mpdu_of};
use super::edca::BLOCK_ACK;
use super::params::MacParams;
use super::phy::{LONGEST_PPDU, MAC_ACK, PpduRules};
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
    /// The part of it that SIFS and the answer take: what a collision spares.
    pub answer: Duration,
}

impl MacParams {
    /// The exchange with as many packets of `len` as limits admit, at most `wanted`: several in a QoS cell with aggregation, else one.
    pub fn full_exchange(&self, tx: TxVector, len: Bytes, wanted: f64) -> Exchange {
        let Some(qos) = &self.qos else {
            let answer = self.sifs + self.ack_time(tx);
            let air = self.protection_time(tx) + self.data_time(len, tx) + answer;
            return Exchange { packets: 1.0, air, answer };
        };
        let limits = qos.aggregation.map(|aggregation| aggregation.within(tx.phy()));
        let longest = longest_mpdu(limits, tx, len, qos.most_amsdu(tx.phy()), &self.ppdu);
        let packets = (longest.packets * longest.mpdus).min(wanted.ceil() as u64).max(1);
        // Full MPDUs, then one with the rest.
        let (full, rest) = ((packets - 1) / longest.packets, (packets - 1) % longest.packets + 1);
        let last = mpdu_of(len.0, longest.amsdu, rest).0;
        let psdu = if full > 0 { full * longest.subframe() + DELIMITER + last } else { last };
        let bitmap = if limits.is_some_and(|limits| limits.window > 64) { BLOCK_ACK.1 } else { BLOCK_ACK.0 };
        let answer = Bytes(if full > 0 { bitmap } else { MAC_ACK });
        let answer = self.sifs + self.ack_tx(tx).ppdu_time(answer, &self.ppdu);
        let air = tx.ppdu_time(Bytes(psdu), &self.ppdu) + answer;
        Exchange { packets: packets as f64, air, answer }
    }
}

impl Radio {
    /// Packets of `len` that a PPDU to a station of the usual modulation carries at most: 1 without aggregation.
    pub fn packets_in_ppdu(&self, len: Bytes) -> u64 {
        let limits = self.qos.and_then(|qos| qos.aggregation).map(|aggregation| aggregation.within(self.phy));
        let amsdu =
            self.qos.and_then(|qos| qos.amsdu).map_or(0, |amsdu| amsdu.0.min(self.phy.most_amsdu(limits.is_some())));
        let longest = longest_mpdu(limits, self.data(), len, amsdu, &PpduRules::standard(self.band(), self.preamble));
        longest.packets * longest.mpdus
    }
}

/// The longest MPDU of packets of one size, and how many of it a PPDU carries.
struct LongestMpdu {
    /// Packets of an MPDU, and its bytes.
    packets: u64,
    bytes: u64,
    /// Longest A-MSDU; 0: none.
    amsdu: u64,
    mpdus: u64,
}

impl LongestMpdu {
    /// Bytes in an A-MPDU.
    fn subframe(&self) -> u64 {
        (DELIMITER + self.bytes).next_multiple_of(4)
    }
}

/// The longest MPDU of packets of `len` with `tx`, where an A-MSDU may have `amsdu` bytes.
fn longest_mpdu(limits: Option<Aggregation>, tx: TxVector, len: Bytes, amsdu: u64, rules: &PpduRules) -> LongestMpdu {
    let duration = limits.map_or(LONGEST_PPDU, |limits| limits.longest_ppdu());
    let by_duration = tx.longest_psdu(duration, rules).map_or(0, |bytes| bytes.0);
    let longest = by_duration.min(limits.map_or(u64::MAX, |limits| limits.max_bytes.0));
    let amsdu = amsdu.min(longest.saturating_sub(DELIMITER + MPDU_OVERHEAD));
    let (bytes, packets) = mpdu_of(len.0, amsdu, u64::MAX);
    let mut mpdu = LongestMpdu { packets, bytes, amsdu, mpdus: 1 };
    if let Some(limits) = limits {
        let room = longest.saturating_sub(DELIMITER + bytes);
        mpdu.mpdus = (room / mpdu.subframe() + 1).min(limits.most_mpdus() as u64).max(1);
    }
    mpdu
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
        let us = Duration::from_micros;
        let full = Exchange { packets: 28.0, air: us(5360 + 48), answer: us(48) };
        assert_eq!(exchange(n, 1500, f64::INFINITY), full);
        let one = Exchange { packets: 1.0, air: us(228 + 44), answer: us(44) };
        assert_eq!(exchange(n, 1500, 1.0), one);
        assert_eq!(exchange(&format!("{n}\naggregation = \"off\""), 1500, f64::INFINITY), one);
        // A-MSDUs of two packets: 14 times 4 + 3076 bytes are 1327 symbols, and 3080 + 1542 bytes 143, both behind 36 us of preamble.
        let joined = exchange(&format!("{n}\namsdu = \"3839 B\""), 1500, f64::INFINITY);
        assert_eq!((joined.packets, joined.air), (28.0, Duration::from_micros(5_344 + 48)));
        let three = exchange(&format!("{n}\namsdu = \"3839 B\""), 1500, 3.0);
        assert_eq!((three.packets, three.air), (3.0, Duration::from_micros(608 + 48)));
        // An A-MSDU that is allowed to be longer than its A-MPDU is as long as that has room.
        let within = |amsdu: &str| {
            let limits = "aggregation = { max_bytes = 2000 }";
            exchange(&format!("phy = \"802.11ac\"\n{limits}\namsdu = \"{amsdu}\""), 100, f64::INFINITY)
        };
        assert_eq!(within("7935 B"), within("1950 B"));
        assert_eq!((within("off").packets, within("7935 B").packets), (13.0, 15.0));
        let short = exchange(&format!("{n}\naggregation = {{ max_duration = \"2 ms\" }}"), 1500, f64::INFINITY);
        assert_eq!(short.packets as u32, 10);
        assert_eq!(
            exchange(&format!("{n}\naggregation = {{ max_mpdus = 16 }}"), 1500, f64::INFINITY).packets as u32,
            16
        );
    }
}
