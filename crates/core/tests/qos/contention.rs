//! Contention without aggregation against the tables that ns-3 tests itself by.

use fairair_core::mac::{Phy, Width};

use crate::cell::{ns3, one_stream, qos, saturated};

/// `src/wifi/examples/wifi-bianchi.cc` of ns-3, 802.11ax, DIFS, CWmin 15, no retry limit, 1500 bytes: Mbit/s of 5, 10, 20, 50.
///
/// The model behind them ([`bianchi`]) counts DIFS and one slot after a success, which is AIFS with the AIFSN of 3 that ns-3 runs, but DIFS
/// alone after a collision: with 50 stations that is worth 2.4 % at 80 MHz, and no station is so fast.
const TABLES: [(u8, Width, [f64; 4]); 3] = [
    (0, Width::Mhz20, [6.3746, 5.867, 5.3742, 4.7004]),
    (7, Width::Mhz20, [34.9671, 33.0739, 30.9282, 27.6975]),
    (11, Width::Mhz80, [60.3411, 58.5527, 55.8834, 51.2922]),
];

#[test]
fn bianchis_tables_of_802_11ax() {
    let mut worst: f64 = 0.0;
    for (index, width, row) in TABLES {
        let tx = one_stream(Phy::Ax, index, width);
        let mut params = ns3(tx);
        qos(&mut params).aggregation = None;
        for (stations, expected) in [5, 10, 20, 50].into_iter().zip(row) {
            // The tables count 1500 bytes of payload a frame, the cell 1472 of 1500.
            let total = saturated(&params, &vec![tx; stations], 0.0, 30, 3).total * 1500.0 / 1472.0;
            let off = total / expected - 1.0;
            println!("MCS {index} n = {stations}: {total:.3} of {expected} ({:+.2} %)", off * 100.0);
            if stations < 50 {
                worst = worst.max(off.abs());
            }
        }
    }
    assert!(worst < 0.015, "{worst}");
}

/// Bianchi's model as behind the tables: Mbit/s of 1500 bytes a frame at `rate` with `stations`; `slot`: seconds after DIFS of a collision.
fn bianchi(rate: f64, stations: i32, slot: f64) -> f64 {
    let (symbol, difs) = (13.6e-6, 34e-6);
    let bits = f64::from(16 + 6 + 8 * (30 + 1500 + 8));
    let data = 44e-6 + symbol * (bits / (rate * symbol) - 1e-9).ceil();
    let tau_of = |p: f64| 2.0 / (17.0 + p * 16.0 * (0..6).map(|stage| (2.0 * p).powi(stage)).sum::<f64>());
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..100 {
        let tau = f64::midpoint(low, high);
        let collides = 1.0 - (1.0_f64 - tau).powi(stations - 1);
        if tau_of(collides) > tau { low = tau } else { high = tau }
    }
    let tau: f64 = f64::midpoint(low, high);
    let idle = (1.0 - tau).powi(stations);
    let success = f64::from(stations) * tau * (1.0 - tau).powi(stations - 1);
    let busy = (data + 16e-6 + 28e-6 + difs + 9e-6, data + difs + slot);
    success * 12e-3 / (idle * 9e-6 + success * busy.0 + (1.0 - idle - success) * busy.1)
}

/// Where the model's collisions last as long as the cell's, they agree at 50 stations as at 5, and beyond what the tables have.
#[test]
fn bianchis_model_with_collisions_as_long_as_the_cells() {
    let mut worst: f64 = 0.0;
    for (index, width, rate, table) in
        [(7, Width::Mhz20, 1170.0 / 13.6, 27.6975), (11, Width::Mhz80, 24_500.0 / 3.0 / 13.6, 51.2922)]
    {
        let rate = rate * 1e6;
        assert!((bianchi(rate, 50, 0.0) / table - 1.0_f64).abs() < 1e-4, "the model is the tables'");
        let tx = one_stream(Phy::Ax, index, width);
        let mut params = ns3(tx);
        qos(&mut params).aggregation = None;
        for stations in [5, 20, 30, 40, 50, 70] {
            let total = saturated(&params, &vec![tx; stations], 0.0, 20, 3).total * 1500.0 / 1472.0;
            let off = total / bianchi(rate, stations as i32, 9e-6) - 1.0;
            println!("MCS {index} n = {stations}: {total:.3} ({:+.2} % of the model)", off * 100.0);
            worst = worst.max(off.abs());
        }
    }
    assert!(worst < 0.015, "{worst}");
}
