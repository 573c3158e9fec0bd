//! ns-3.44's UDP cells: means of its runs, from `reference/ns3/grid.csv` of the project's shared data.

use fairair_core::mac::{MacParams, Phy, TxVector, Width};
use fairair_core::units::{Bytes, Duration};

use crate::cell::{ns3, one_stream, qos, saturated};

fn n() -> TxVector {
    one_stream(Phy::N, 7, Width::Mhz20)
}

fn ac() -> TxVector {
    one_stream(Phy::Ac, 9, Width::Mhz80)
}

fn ax() -> TxVector {
    one_stream(Phy::Ax, 11, Width::Mhz80)
}

type Change = fn(&mut MacParams);

const AS_IS: Change = |_| ();
const NO_AGGREGATION: Change = |params| qos(params).aggregation = None;
const NO_BAR: Change = |params| qos(params).bar = false;
const RTS: Change = |params| qos(params).rts_above = Some(Bytes(0));
const LONGER: Change = |params| {
    let qos = qos(params);
    qos.aggregation =
        qos.aggregation.map(|aggregation| fairair_core::mac::Aggregation { max_bytes: Bytes(200_000), ..aggregation });
};
const TXOP_NO_BAR: Change = |params| {
    let qos = qos(params);
    qos.bar = false;
    for access in qos.edca.ap.iter_mut().chain(&mut qos.edca.stations) {
        access.txop = Duration::from_micros(2528);
    }
};

/// Tag, modulation, stations, change, frame error; ns-3's total in Mbit/s, lost PPDUs, MPDUs a PPDU.
type Row = (&'static str, fn() -> TxVector, usize, Change, f64, [f64; 3]);

#[rustfmt::skip]
const CELLS: [Row; 17] = [
    ("S_n_1", n, 1, AS_IS, 0.0, [59.60, 0.0, 28.0]),
    ("S_n_5", n, 5, AS_IS, 0.0, [48.73, 0.2728, 28.0]),
    ("S_n_5_noagg", n, 5, NO_AGGREGATION, 0.0, [30.53, 0.2645, 1.0]),
    ("S_n_20_noagg", n, 20, NO_AGGREGATION, 0.0, [26.69, 0.4802, 1.0]),
    ("S_ac_2", ac, 2, AS_IS, 0.0, [305.18, 0.1138, 42.0]),
    ("S_ac_10", ac, 10, AS_IS, 0.0, [232.19, 0.3800, 42.0]),
    ("S_ac_1_noagg", ac, 1, NO_AGGREGATION, 0.0, [52.78, 0.0001, 1.0]),
    ("S_ax_1", ax, 1, AS_IS, 0.0, [459.56, 0.0, 42.0]),
    ("S_ax_5", ax, 5, AS_IS, 0.0, [379.82, 0.2686, 42.0]),
    ("S_ax_20", ax, 20, AS_IS, 0.0, [281.18, 0.4756, 41.97]),
    ("S_ax_5_noagg", ax, 5, NO_AGGREGATION, 0.0, [58.39, 0.2669, 1.0]),
    ("V_S_n_5_nobar", n, 5, NO_BAR, 0.0, [51.70, 0.2562, 28.0]),
    ("V_S_ac_20_nobar", ac, 20, NO_BAR, 0.0, [239.85, 0.4773, 41.65]),
    ("V_S_n_5_rts", n, 5, RTS, 0.0, [59.02, 0.0, 27.95]),
    ("V_S_ac_5_ampdu200k", ac, 5, LONGER, 0.0, [278.66, 0.2677, 63.96]),
    ("V_S_ac_1_per0.1", ac, 1, AS_IS, 0.1, [280.48, 0.0011, 32.71]),
    ("V_S_n_5_txop2528_nobar", n, 5, TXOP_NO_BAR, 0.0, [48.53, 0.2608, 12.0]),
];

#[test]
fn udp_cells_of_the_grid() {
    let mut bad = Vec::new();
    for (tag, tx, stations, change, error, [total, collisions, mpdus]) in CELLS {
        let mut params = ns3(tx());
        change(&mut params);
        let cell = saturated(&params, &vec![tx(); stations], error, 40, 7);
        let (off_total, off_mpdus) = (cell.total / total - 1.0, cell.mpdus / mpdus - 1.0);
        let line = format!(
            "{tag:<24} total {:>7.2} ({:+.1} %)  lost {:.4} ({:+.4})  MPDUs {:>6.2} ({:+.1} %)",
            cell.total,
            off_total * 100.0,
            cell.collisions,
            cell.collisions - collisions,
            cell.mpdus,
            off_mpdus * 100.0
        );
        println!("{line}");
        if off_total.abs() > 0.02 || (cell.collisions - collisions).abs() > 0.02 || off_mpdus.abs() > 0.03 {
            bad.push(line);
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}
