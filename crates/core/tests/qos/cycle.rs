//! One saturated sender against the closed form of its cycle.

use proptest::prelude::*;

use fairair_core::mac::{AccessParams, Aggregation, Band, MacParams, Mcs, Phy, TxVector, Width};
use fairair_core::units::{Bitrate, Bytes, Duration};

use crate::cell::{ns3, qos, saturated_for};

/// Bytes of an A-MPDU of `n` MPDUs around IP packets of 1500 bytes, or of the lone MPDU as it is sent.
fn psdu(phy: Phy, n: u64) -> u64 {
    match (n, phy) {
        (1, Phy::Ac | Phy::Ax) => 1542,
        (1, _) => 1538,
        (n, _) => (n - 1) * 1544 + 1542,
    }
}

/// MPDUs and duration of a TXOP from its first PPDU to when the sender counts down again.
fn txop(params: &MacParams, tx: TxVector) -> (u64, f64) {
    let qos = params.qos.expect("a QoS cell");
    let limit = qos.edca.stations[2].txop;
    // The sender's own PHY may admit less than the cell.
    let own = qos.aggregation.map(|aggregation| aggregation.within(tx.phy()));
    let (longest, window) = own.map_or((u64::MAX, 1), |a| (a.max_bytes.0, a.window as u64));
    let answer_tx = tx.response(Bitrate::mbps(24), Band::Ghz5);
    let ack = answer_tx.ppdu_time(Bytes(14), &params.ppdu);
    let block_ack = answer_tx.ppdu_time(Bytes(if window > 64 { 56 } else { 32 }), &params.ppdu);
    let time = |n| tx.ppdu_time(Bytes(psdu(tx.phy(), n)), &params.ppdu);
    let exchange = |n| time(n) + params.sifs + if n == 1 { ack } else { block_ack };
    let (mut mpdus, mut end) = (0, Duration::ZERO);
    loop {
        let start = if mpdus == 0 { Duration::ZERO } else { end + params.sifs };
        let room = if limit == Duration::ZERO { Duration::from_secs(1) } else { limit.saturating_sub(start) };
        let fits = |n: &u64| {
            let admitted = *n == 1 || psdu(tx.phy(), *n) <= longest;
            admitted && time(*n) <= Duration::from_micros(5484) && exchange(*n) <= room
        };
        let n = (1..=window).take_while(fits).last().unwrap_or(u64::from(mpdus == 0));
        if n == 0 {
            break;
        }
        mpdus += n;
        end = start + exchange(n);
        if limit == Duration::ZERO {
            return (mpdus, end.as_secs_f64());
        }
    }
    let cf_end = params.sifs + TxVector::at_rate(Phy::A, Bitrate::mbps(6)).ppdu_time(Bytes(20), &params.ppdu);
    if end + cf_end <= limit {
        end += cf_end;
    }
    (mpdus, end.as_secs_f64())
}

fn modulation() -> impl Strategy<Value = TxVector> {
    let phys = prop::sample::select(vec![Phy::N, Phy::Ac, Phy::Ax]);
    (phys, 0_u8..12, 1_u8..=4, prop::sample::select(Width::ALL.to_vec()), 0_usize..3)
        .prop_map(|(phy, index, streams, width, nth)| {
            let known = phy.guard_intervals().0;
            let guard_interval = Duration::from_nanos(known[nth % known.len()]);
            let mcs = Mcs {
                index: index % (phy.highest_mcs() + 1),
                streams,
                width: width.min(phy.widest(Band::Ghz5)),
                guard_interval,
            };
            TxVector::with_mcs(phy, mcs, Band::Ghz5)
        })
        .prop_filter_map("the PHY has it", Result::ok)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_lone_saturated_sender_has_the_cycle_of_the_closed_form(
        tx in modulation(),
        aggregation in prop::option::weighted(0.8, (1_538_u64..1_048_575, prop::sample::select(vec![64_usize, 256, 8]))),
        txop_us in prop::sample::select(vec![0_u64, 0, 1_504, 2_528, 4_096, 9_000]),
        cw in prop::sample::select(vec![0_u32, 3, 7, 15]),
        aifsn in 1_u32..8,
        seed in any::<u64>(),
    ) {
        let mut params = ns3(tx);
        let qos = qos(&mut params);
        qos.aggregation = aggregation.map(|(max_bytes, window)| Aggregation::new(Bytes(max_bytes), window));
        qos.edca.stations[2] = AccessParams { aifsn, cw_min: cw, cw_max: 1023, txop: Duration::from_micros(txop_us) };
        let (mpdus, busy) = txop(&params, tx);
        let slot = 9e-6;
        let cycle = 16e-6 + slot * f64::from(aifsn) + slot * f64::from(cw) / 2.0 + busy;
        // So many cycles that the mean of the draws is known to half of the tolerance at three standard errors, and that one more or less at
        // the end is a third of the tolerance.
        let spread = slot * (f64::from(cw) * f64::from(cw + 2) / 12.0).sqrt() / cycle;
        let cycles = (3.0 * spread / 0.0005).powi(2).max(3_000.0);
        let cell = saturated_for(&params, &[tx], 0.0, cycles * cycle, seed);
        let expected = mpdus as f64 * 1472.0 * 8e-6 / cycle;
        prop_assert!((cell.total / expected - 1.0).abs() < 0.001, "{} Mbit/s, expected {expected}: {mpdus} MPDUs in {cycle} s", cell.total);
    }
}

/// `src/wifi/doc/source/wifi-testing.rst` of ns-3, 802.11n, UDP payload 1472 B, guard interval 0.8 us, 20 MHz.
#[test]
fn printed_throughputs_of_ns3() {
    let printed = [5.81381, 11.8266, 17.7935, 23.7958, 35.7331, 47.6174, 53.6102, 59.5501];
    let mcs =
        |index, streams, width, ns| crate::cell::with_streams(Phy::N, index, streams, width, Duration::from_nanos(ns));
    let cells = (0..8).map(|index| (mcs(index, 1, Width::Mhz20, 800), printed[usize::from(index)]));
    for (tx, printed) in cells.chain([(mcs(7, 2, Width::Mhz40, 400), 254.902)]) {
        let total = saturated_for(&ns3(tx), &[tx], 0.0, 20.0, 1).total;
        println!("{tx:?}: {total:.3} of {printed}");
        assert!((total / printed - 1.0).abs() < 0.01, "{tx:?}: {total} of {printed}");
    }
}

/// Bands that ns-3's examples assert, in Mbit/s (`wifi-aggregation`, `wifi-txop-aggregation`).
#[test]
fn bands_of_ns3() {
    let ht = crate::cell::one_stream(Phy::N, 7, Width::Mhz20);
    let total = |aggregation: Option<u64>, amsdu: Option<u64>, txop_us: u64| {
        let mut params = ns3(ht);
        let qos = qos(&mut params);
        qos.aggregation = aggregation.map(|bytes| Aggregation::new(Bytes(bytes), 64));
        qos.amsdu = amsdu.map(Bytes);
        qos.edca.stations[2].txop = Duration::from_micros(txop_us);
        saturated_for(&params, &[ht], 0.0, 10.0, 1).total
    };
    for (aggregation, amsdu, txop_us, low, high) in [
        (None, None, 0, 30.0, 31.0),
        (None, None, 3_520, 38.0, 39.0),
        (Some(65_535), None, 3_520, 57.5, 58.5),
        (None, Some(7_935), 0, 51.0, 52.0),
        (Some(32_768), Some(3_839), 0, 58.0, 59.0),
    ] {
        // ns-3's beacons take 0.2 % of the air (column `air_other` of its grid); the cell has none.
        let total = total(aggregation, amsdu, txop_us) * 0.998;
        println!("A-MPDU {aggregation:?}, A-MSDU {amsdu:?}, TXOP {txop_us} us: {total:.2} of {low} to {high}");
        assert!((low..=high).contains(&total));
    }
}
