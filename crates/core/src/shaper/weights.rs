//! Weights that make equal shares of bytes equal shares of air.

use crate::mac::{MacParams, TxVector};
use crate::packet::TCP_IP_HEADER;
use crate::units::{Bitrate, Bytes};

/// Seconds of air that a TCP flow takes for each IP byte of both its directions.
///
/// A segment of `mss` and `acks_per_segment` acknowledgements, each with its protection, DATA, SIFS and MAC ACK: what
/// [`MacStats::airtime`](crate::record::MacStats) counts. DIFS and backoff are left out because nobody holds the
/// medium in them; retries, because they hit all stations alike.
///
/// In a QoS cell with aggregation PPDUs are taken to be full, and their acknowledgements to share PPDUs: that is where a box with
/// backlog for each station leads. Stations with little to send use more air for a byte.
pub fn airtime_per_byte(mac: &MacParams, tx: TxVector, mss: u32, acks_per_segment: f64) -> f64 {
    let data_len = u64::from(mss) + TCP_IP_HEADER;
    let data = mac.full_exchange(tx, Bytes(data_len), f64::INFINITY);
    let wanted = acks_per_segment * data.packets;
    let acks = mac.full_exchange(tx, Bytes(TCP_IP_HEADER), wanted);
    (data.air.as_secs_f64() + acks.air.as_secs_f64() * wanted / acks.packets)
        / (data.packets * data_len as f64 + wanted * TCP_IP_HEADER as f64)
}

/// The weight of detti2011 section 4.1: the PHY rate in Mbit/s.
pub fn phy_rate_weight(rate: Bitrate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::{Phy, Preamble};
    use crate::scenario::{Preset, Radio};

    #[test]
    fn two_and_eleven_megabit_differ_less_in_air_than_in_rate() {
        let radio = Radio {
            phy: Phy::B,
            rate: Bitrate::mbps(11),
            basic_rate: Bitrate::mbps(2),
            protection_rate: None,
            preamble: Preamble::Long,
            retry_limit: 7,
            eifs: true,
            cw_min: None,
            cw_max: None,
            qos: None,
        };
        let mac = MacParams::new(&radio, Preset::Standard);
        let at = |mbps| airtime_per_byte(&mac, mac.tx(Bitrate::mbps(mbps)), 1460, 0.5);
        // 11 Mbit/s: 1310 + 258 us, and half of 248 + 258 us, over 1520 B.
        assert!((at(11) - 1821e-6 / 1520.0).abs() < 1e-10, "{}", at(11));
        // 2 Mbit/s: 6336 + 258 us, and half of 496 + 258 us.
        assert!((at(2) - 6971e-6 / 1520.0).abs() < 1e-10, "{}", at(2));
        assert!((phy_rate_weight(Bitrate::mbps(11)) / phy_rate_weight(Bitrate::mbps(2)) - 5.5).abs() < 1e-12);
    }
}
