//! Air that a byte takes: what C is divided by where stations have different rates.

use std::collections::BTreeMap;

use super::capacity::{Stream, Transmitter, carry};
use super::dcf::Backoff;
use crate::mac::MacParams;
use crate::packet::TCP_IP_HEADER;
use crate::scenario::{Scenario, segments};
use crate::shaper::Policy;
use crate::units::{Bitrate, Bytes};

/// Time in ns that the cell takes for each IP byte of TCP to or from a lone station at `rate`, where nothing is lost: a
/// segment of `mss` from one side, `acks_per_segment` ACKs from the other, contention included ([`carry`]).
///
/// Multiplied by each station's share of the bytes and summed it gives 1/R of several stations, but for a little more
/// contention: 1 % with downloads, 3 % where five stations upload. Neither errors on the air nor priorities (`beta`) count.
///
/// # Panics
/// `acks_per_segment` is negative or no number.
pub fn byte_ns(params: &MacParams, rate: Bitrate, mss: u32, acks_per_segment: f64) -> u32 {
    let backoff = |cw_min: u32| Backoff::of(params, cw_min, 1.0).expect("1 is a priority");
    let segment = Bytes(u64::from(mss) + TCP_IP_HEADER);
    let side = |cw_min: u32, packets: f64, ip_len: Bytes| Transmitter {
        backoff: backoff(cw_min),
        count: 1.0,
        streams: vec![Stream { packets, ip_len, rate, error: 0.0 }],
    };
    let station = params.cw_min_of(params.tx(rate));
    let mix = [side(params.cw_min, 1.0, segment), side(station, acks_per_segment, Bytes(TCP_IP_HEADER))];
    let mixes = carry(params, &mix).expect("a segment in the mix").mixes_per_s;
    let bytes = segment.0 as f64 + acks_per_segment * TCP_IP_HEADER as f64;
    (1e9 / (mixes * bytes)).round() as u32
}

/// [`byte_ns`] of each station of `scenario` at its rate in `rates`, for
/// [`StationView::air_ns`](crate::control::StationView::air_ns).
pub fn of_stations(scenario: &Scenario, rates: &[Bitrate]) -> Vec<u32> {
    let mac = MacParams::new(&scenario.radio, scenario.run.preset);
    let mut known = BTreeMap::new();
    let stations = scenario.stations.iter().zip(rates);
    stations
        .map(|(station, rate)| {
            let (mss, acks) = segments(station);
            *known.entry((*rate, mss, acks > 0.5)).or_insert_with(|| byte_ns(&mac, *rate, mss, acks))
        })
        .collect()
}

/// What the cell is reckoned to carry, in IP bytes of both directions, of the mix that a box under `policy`, one by station,
/// makes of its stations when all that have flows have backlog: `share` of [`AirParams`](crate::control::AirParams) is a share of it.
pub fn reckoned_capacity(scenario: &Scenario, policy: Policy) -> Bitrate {
    let rates: Vec<_> = scenario.stations.iter().map(|station| station.rate).collect();
    let shares = scenario.shares(policy, &rates);
    let is_idle = |station: usize| scenario.stations[station].flows.is_empty();
    let nobody = (0..rates.len()).all(is_idle);
    let weight = |station: usize| if is_idle(station) && !nobody { 0.0 } else { shares[station].weight };
    let weights: Vec<f64> = (0..rates.len()).map(weight).collect();
    let air: f64 = weights.iter().zip(of_stations(scenario, &rates)).map(|(weight, ns)| weight * f64::from(ns)).sum();
    Bitrate::from_bps((8e9 * weights.iter().sum::<f64>() / air).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = r#"
        name = "two rates"
        [run]
        duration = "10 s"
        [radio]
        phy = "802.11b"
        rate = "11 Mbit/s"
        basic_rate = "2 Mbit/s"
        [[station]]
        name = "fast"
        count = 4
        flows = [{ direction = "down" }]
        [[station]]
        name = "slow"
        rate = "2 Mbit/s"
        flows = [{ direction = "down" }]
    "#;

    /// By hand: 1310 + 258 + 50 us for a segment at 11 Mbit/s, 248 + 258 + 50 us for half an ACK, and a mean backoff of
    /// about 10 slots of 20 us before each of the 1.5 exchanges, over 1520 bytes.
    #[test]
    fn a_byte_takes_the_exchanges_of_its_segment_and_ack_and_their_backoff() {
        let scenario = Scenario::from_toml(CELL, "cell.toml").unwrap();
        let rates: Vec<_> = scenario.stations.iter().map(|station| station.rate).collect();
        let ns = of_stations(&scenario, &rates);
        let fast = (1618.0 + 0.5 * 556.0 + 1.5 * 200.0) / 1520.0 * 1e3;
        let slow = (6644.0 + 0.5 * 804.0 + 1.5 * 200.0) / 1520.0 * 1e3;
        assert!((f64::from(ns[0]) / fast - 1.0).abs() < 0.05, "{} for {fast}", ns[0]);
        assert!((f64::from(ns[4]) / slow - 1.0).abs() < 0.05, "{} for {slow}", ns[4]);
        assert_eq!(ns[0], ns[3]);
        let equal = reckoned_capacity(&scenario, Policy::PerStation).as_bps() as f64;
        assert!((equal * (4.0 * f64::from(ns[0]) + f64::from(ns[4])) / 5.0 / 8e9 - 1.0).abs() < 1e-6);
        let fast_alone =
            CELL.replace("rate = \"2 Mbit/s\"\n        flows = [{ direction = \"down\" }]", "rate = \"2 Mbit/s\"");
        let fast_alone = Scenario::from_toml(&fast_alone, "cell.toml").unwrap();
        let idle = reckoned_capacity(&fast_alone, Policy::PerStation).as_bps() as f64;
        assert!((idle * f64::from(ns[0]) / 8e9 - 1.0).abs() < 1e-6, "who has no flows takes no share");
        assert!(reckoned_capacity(&scenario, Policy::Airtime).as_bps() as f64 > 1.2 * equal);
    }
}
