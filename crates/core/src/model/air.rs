//! Air that a byte takes: what C is divided by where stations have different rates.

use super::capacity::{Stream, Transmitter, carry};
use super::dcf::Backoff;
use crate::mac::{AccessParams, MacParams, QosParams, TxVector};
use crate::packet::{Category, TCP_IP_HEADER};
use crate::scenario::{Scenario, Station, segments};
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
pub fn byte_ns(params: &MacParams, tx: TxVector, mss: u32, acks_per_segment: f64) -> u32 {
    if let Some(qos) = &params.qos {
        return byte_ns_of_aggregates(params, qos, tx, mss, acks_per_segment);
    }
    let rate = tx.rate();
    let backoff = |cw_min: u32| Backoff::of(params, cw_min, 1.0).expect("1 is a priority");
    let segment = Bytes(u64::from(mss) + TCP_IP_HEADER);
    let side = |cw_min: u32, packets: f64, ip_len: Bytes| Transmitter {
        backoff: backoff(cw_min),
        count: 1.0,
        streams: vec![Stream { packets, ip_len, rate, error: 0.0 }],
    };
    let station = params.cw_min_of(tx);
    let mix = [side(params.cw_min, 1.0, segment), side(station, acks_per_segment, Bytes(TCP_IP_HEADER))];
    let mixes = carry(params, &mix).expect("a segment in the mix").mixes_per_s;
    let bytes = segment.0 as f64 + acks_per_segment * TCP_IP_HEADER as f64;
    (1e9 / (mixes * bytes)).round() as u32
}

/// The same where PPDUs carry several packets: full ones, their ACKs together, and before each PPDU AIFS and the mean of the smallest
/// backoff. Collisions are left out.
fn byte_ns_of_aggregates(params: &MacParams, qos: &QosParams, tx: TxVector, mss: u32, acks_per_segment: f64) -> u32 {
    let segment = u64::from(mss) + TCP_IP_HEADER;
    let data = params.full_exchange(tx, Bytes(segment), f64::INFINITY);
    let wanted = acks_per_segment * data.packets;
    let acks = params.full_exchange(tx, Bytes(TCP_IP_HEADER), wanted);
    let access = |access: AccessParams| {
        (params.sifs + params.slot * u64::from(access.aifsn)).as_secs_f64()
            + params.slot.as_secs_f64() * f64::from(access.cw_min) / 2.0
    };
    let best_effort = Category::BestEffort.index();
    let air = access(qos.edca.ap[best_effort])
        + data.air.as_secs_f64()
        + (access(qos.edca.stations[best_effort]) + acks.air.as_secs_f64()) * wanted / acks.packets;
    let bytes = data.packets * segment as f64 + wanted * TCP_IP_HEADER as f64;
    (1e9 * air / bytes).round() as u32
}

/// [`byte_ns`] of each station of `scenario` with its modulation in `txs`, for
/// [`StationView::air_ns`](crate::control::StationView::air_ns).
pub fn of_stations(scenario: &Scenario, txs: &[TxVector]) -> Vec<u32> {
    let mac = scenario.mac();
    let mut known: Vec<((TxVector, u32, bool), u32)> = Vec::new();
    let stations = scenario.stations.iter().zip(txs);
    stations
        .map(|(station, tx)| {
            let (mss, acks) = segments(station);
            let kind = (*tx, mss, acks > 0.5);
            if let Some((_, ns)) = known.iter().find(|(other, _)| *other == kind) {
                return *ns;
            }
            let ns = byte_ns(&mac, *tx, mss, acks);
            known.push((kind, ns));
            ns
        })
        .collect()
}

/// The goodput that each station of `scenario` is reckoned to have while the others are silent, with its segments and ACKs.
pub fn goodputs_alone(scenario: &Scenario) -> Vec<Bitrate> {
    let alone = |(station, ns): (&Station, u32)| {
        let (mss, acks) = segments(station);
        let ip_bytes = f64::from(mss) + (1.0 + acks) * TCP_IP_HEADER as f64;
        Bitrate::from_bps((8e9 * f64::from(mss) / (ip_bytes * f64::from(ns))) as u64)
    };
    scenario.stations.iter().zip(of_stations(scenario, &scenario.station_txs())).map(alone).collect()
}

/// What the cell is reckoned to carry, in IP bytes of both directions, of the mix that a box under `policy`, one by station,
/// makes of its stations when all that have flows have backlog: `share` of [`AirParams`](crate::control::AirParams) is a share of it.
pub fn reckoned_capacity(scenario: &Scenario, policy: Policy) -> Bitrate {
    let txs = scenario.station_txs();
    let shares = scenario.shares(policy, &txs);
    let is_idle = |station: usize| scenario.stations[station].flows.is_empty();
    let nobody = (0..txs.len()).all(is_idle);
    let weight = |station: usize| if is_idle(station) && !nobody { 0.0 } else { shares[station].weight };
    let weights: Vec<f64> = (0..txs.len()).map(weight).collect();
    let air: f64 = weights.iter().zip(of_stations(scenario, &txs)).map(|(weight, ns)| weight * f64::from(ns)).sum();
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
        let ns = of_stations(&scenario, &scenario.station_txs());
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

    /// By hand, 802.11n MCS 7: 28 segments in 5360 + 48 us, their 14 ACKs in 36 + 148 + 48 us, and 110.5 us before each. ns-3 carries 53.5
    /// Mbit/s of payload to a lone download, with collisions.
    #[test]
    fn a_byte_of_a_modern_cell_takes_its_part_of_full_aggregates() {
        let text = CELL.replace("802.11b", "802.11n").replace("        rate = \"11 Mbit/s\"\n", "        mcs = 7\n");
        let text = text.replace("basic_rate = \"2 Mbit/s\"", "").replace("rate = \"2 Mbit/s\"", "mcs = 0");
        let scenario = Scenario::from_toml(&text, "cell.toml").unwrap();
        let ns = of_stations(&scenario, &scenario.station_txs());
        let fast = (5408.0 + 232.0 + 2.0 * 110.5) * 1e3 / (28.0 * 1500.0 + 14.0 * 40.0);
        assert!((f64::from(ns[0]) / fast - 1.0).abs() < 0.01, "{} for {fast}", ns[0]);
        let payload = 8e3 / f64::from(ns[0]) * 28.0 * 1460.0 / (28.0 * 1500.0 + 14.0 * 40.0);
        assert!((payload / 53.5 - 1.0).abs() < 0.06, "{payload} Mbit/s");
        assert!(ns[4] > 9 * ns[0], "{} of MCS 0", ns[4]);
        let weights = scenario.shares(Policy::Airtime, &scenario.station_txs());
        let ratio = weights[0].weight / weights[4].weight;
        assert!((9.0..11.0).contains(&ratio), "MCS 7 has ten times the rate of MCS 0: {ratio}");
    }
}
