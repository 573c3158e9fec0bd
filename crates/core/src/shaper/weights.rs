//! Weights that make equal shares of bytes equal shares of air.

use crate::mac::MacParams;
use crate::packet::TCP_IP_HEADER;
use crate::units::{Bitrate, Bytes};

/// Seconds of air that a TCP flow takes for each IP byte of both its directions.
///
/// A segment of `mss` and `acks_per_segment` acknowledgements, each with its protection, DATA, SIFS and MAC ACK: what
/// [`MacStats::airtime`](crate::record::MacStats) counts. DIFS and backoff are left out because nobody holds the
/// medium in them; retries, because they hit all stations alike.
pub fn airtime_per_byte(mac: &MacParams, rate: Bitrate, mss: u32, acks_per_segment: f64) -> f64 {
    let tx = mac.tx(rate);
    let around = mac.protection_time(tx) + mac.sifs + mac.ack_time(tx);
    let exchange = |len: u64| (mac.data_time(Bytes(len), tx) + around).as_secs_f64();
    let data = u64::from(mss) + TCP_IP_HEADER;
    (exchange(data) + acks_per_segment * exchange(TCP_IP_HEADER))
        / (data as f64 + acks_per_segment * TCP_IP_HEADER as f64)
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
        let at = |mbps| airtime_per_byte(&mac, Bitrate::mbps(mbps), 1460, 0.5);
        // 11 Mbit/s: 1310 + 258 us, and half of 248 + 258 us, over 1520 B.
        assert!((at(11) - 1821e-6 / 1520.0).abs() < 1e-10, "{}", at(11));
        // 2 Mbit/s: 6336 + 258 us, and half of 496 + 258 us.
        assert!((at(2) - 6971e-6 / 1520.0).abs() < 1e-10, "{}", at(2));
        assert!((phy_rate_weight(Bitrate::mbps(11)) / phy_rate_weight(Bitrate::mbps(2)) - 5.5).abs() < 1e-12);
    }
}
