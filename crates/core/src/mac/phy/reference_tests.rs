//! Durations and rates that others have published: ns-3's `tx-duration-test`, what ns-3.44 printed (its `CalculateTxDuration`),
//! and the standard's where ns-3 departs from it.

use super::*;
use crate::mac::TxVector;
use crate::units::{Bitrate, Bytes};

/// PSDU bytes of the test in ns-3: data, a short frame, an ACK.
const LENGTHS: [u64; 3] = [1536, 76, 14];

fn ns(micros: f64) -> u64 {
    (micros * 1000.0).round() as u64
}

/// Widths stand in order, each twice the one before.
fn mhz_of(width: Width) -> u32 {
    20 << width as u32
}

fn mcs(phy: Phy, index: u8, streams: u8, mhz: u32, guard_ns: u64) -> TxVector {
    let width = Width::ALL.into_iter().find(|width| mhz_of(*width) == mhz).unwrap();
    let mcs = Mcs { index, streams, width, guard_interval: Duration::from_nanos(guard_ns) };
    TxVector::with_mcs(phy, mcs, Band::Ghz5).unwrap()
}

fn at(phy: Phy, mbps: u64) -> TxVector {
    TxVector::at_rate(phy, Bitrate::mbps(mbps))
}

const STANDARD: PpduRules = PpduRules::standard(Band::Ghz5, Preamble::Long);
const NS3: PpduRules = PpduRules::ns3(Band::Ghz5, Preamble::Long);

/// MODULATION, then microseconds in ns-3 and by the standard for [`LENGTHS`]; as many as are known.
type Row = (TxVector, &'static [f64], &'static [f64]);

#[test]
fn unit_values_of_ns3_and_of_the_standard() {
    let rows: &[Row] = &[
        (at(Phy::A, 54), &[248.0, 32.0, 24.0], &[248.0, 32.0, 24.0]),
        (mcs(Phy::N, 7, 1, 20, 800), &[228.0, 48.0, 40.0], &[228.0, 48.0, 40.0]),
        (mcs(Phy::N, 0, 1, 20, 400), &[1742.4, 126.0, 57.6], &[1742.4, 126.0, 57.6]),
        (mcs(Phy::N, 7, 1, 40, 400), &[118.8, 43.2, 39.6], &[118.8, 43.2, 39.6]),
        // The standard has VHT-SIG-B: 4 us more.
        (mcs(Phy::Ac, 8, 1, 20, 800), &[196.0, 48.0, 40.0], &[200.0, 52.0, 44.0]),
        (mcs(Phy::Ac, 9, 1, 80, 800), &[68.0], &[72.0]),
        (mcs(Phy::Ac, 8, 1, 160, 800), &[56.0], &[60.0]),
        // A 2x HE-LTF with a guard interval of 0.8 us lasts 7.2 us and not 8 us, a 4x one with 3.2 us 16 us.
        (mcs(Phy::Ax, 0, 1, 20, 800), &[1485.6, 125.6, 71.2], &[1484.8, 124.8, 70.4]),
        (mcs(Phy::Ax, 11, 1, 20, 800), &[139.2], &[138.4]),
        (mcs(Phy::Ax, 11, 1, 80, 800), &[71.2], &[70.4]),
        (mcs(Phy::Ax, 11, 1, 160, 800), &[57.6], &[56.8]),
        (mcs(Phy::Ax, 0, 1, 20, 3200), &[1740.0], &[1748.0]),
    ];
    for (tx, ns3, standard) in rows {
        for (length, (ns3, standard)) in LENGTHS.iter().zip(ns3.iter().zip(*standard)) {
            assert_eq!(tx.ppdu_time(Bytes(*length), &NS3).as_nanos(), ns(*ns3), "{tx:?}, {length} B, ns-3");
            assert_eq!(tx.ppdu_time(Bytes(*length), &STANDARD).as_nanos(), ns(*standard), "{tx:?}, {length} B");
        }
    }
}

#[test]
fn control_frames() {
    // Bytes: ACK and CTS 14, RTS and CF-End 20, BlockAckReq 24, BlockAck 32 (window 64) and 56 (window 256).
    let rows = [
        (24, 14, 28.0),
        (24, 20, 28.0),
        (24, 24, 32.0),
        (24, 32, 32.0),
        (24, 56, 40.0),
        (6, 14, 44.0),
        (6, 20, 52.0),
        (6, 32, 68.0),
    ];
    for (mbps, length, micros) in rows {
        for rules in [&STANDARD, &NS3] {
            let time = at(Phy::A, mbps).ppdu_time(Bytes(length), rules);
            assert_eq!(time.as_nanos(), ns(micros), "{length} B at {mbps} Mbit/s");
        }
        // In 2.4 GHz they end with the signal extension.
        let extended = at(Phy::G, mbps).ppdu_time(Bytes(length), &PpduRules::standard(Band::Ghz2, Preamble::Long));
        assert_eq!(extended.as_nanos(), ns(micros + 6.0));
    }
}

/// What ns-3.44 printed: an A-MPDU of n 1500-byte packets has 1544 n - 2 bytes, a lone packet 1538; its row for a TCP ACK has
/// 82 bytes, the last subframe of an A-MPDU (78 bytes, the lone MPDU, would last 126 us with the slowest modulation and not 133.2).
#[test]
fn ppdus_that_ns3_printed() {
    let n = mcs(Phy::N, 7, 1, 20, 800);
    let two_streams = mcs(Phy::N, 7, 2, 20, 400);
    let slow = mcs(Phy::N, 0, 1, 20, 400);
    let (ac, ac_short) = (mcs(Phy::Ac, 9, 1, 80, 800), mcs(Phy::Ac, 9, 1, 80, 400));
    let (ax, ax_long) = (mcs(Phy::Ax, 11, 1, 80, 800), mcs(Phy::Ax, 11, 1, 80, 3200));
    let lengths = [1538, 82, 42 * 1544 - 2, 64 * 1544 - 2];
    #[rustfmt::skip]
    let rows = [
        (n, [228.0, 48.0, 8020.0, 12200.0]),
        (ac, [68.0, 40.0, 1368.0, 2064.0]),
        (ax, [71.2, 57.6, 914.4, 1363.2]),
        (two_streams, [126.4, 47.2, 3632.8, 5515.6]),
        (slow, [1746.0, 133.2, 71870.4, 109_497.6]),
        (ac_short, [64.8, 39.6, 1234.8, 1861.2]),
        (ax_long, [76.0, 60.0, 1068.0, 1596.0]),
    ];
    for (tx, micros) in rows {
        for (length, micros) in lengths.into_iter().zip(micros) {
            assert_eq!(tx.ppdu_time(Bytes(length), &NS3).as_nanos(), ns(micros), "{tx:?}, {length} B");
        }
    }
    for (tx, packets, micros) in [(n, 28, 5360.0), (slow, 3, 5169.6), (ax, 256, 5320.8), (two_streams, 42, 3632.8)] {
        assert_eq!(tx.ppdu_time(Bytes(packets * 1544 - 2), &NS3).as_nanos(), ns(micros), "{packets} of {tx:?}");
    }
    // So many 1500-byte packets fit in 5.484 ms.
    for (tx, packets) in [(n, 28), (slow, 3), (two_streams, 63)] {
        assert_eq!((tx.longest_psdu(LONGEST_PPDU, &NS3).unwrap().0 + 2) / 1544, packets, "{tx:?}");
    }
}

#[test]
fn rates() {
    let rows = [
        (mcs(Phy::N, 7, 1, 20, 800), 65_000_000),
        (mcs(Phy::Ac, 7, 1, 20, 800), 65_000_000),
        (mcs(Phy::Ac, 9, 1, 40, 800), 180_000_000),
        (mcs(Phy::Ac, 9, 1, 80, 800), 390_000_000),
        (mcs(Phy::Ac, 9, 1, 80, 400), 433_333_333),
        (mcs(Phy::Ax, 11, 1, 80, 800), 600_490_196),
        (mcs(Phy::Ax, 11, 1, 80, 3200), 510_416_667),
        (mcs(Phy::N, 7, 2, 20, 400), 144_444_444),
        (mcs(Phy::N, 0, 1, 20, 400), 7_222_222),
        (mcs(Phy::N, 7, 4, 40, 400), 600_000_000),
        (mcs(Phy::Ac, 9, 4, 160, 400), 3_466_666_667),
    ];
    for (tx, bps) in rows {
        assert_eq!(tx.rate().as_bps(), bps, "{tx:?}");
    }
}

#[test]
fn responses() {
    let ack = |tx: TxVector| tx.response(Bitrate::mbps(24), Band::Ghz5);
    for (index, mbps) in [(0, 6), (1, 12), (2, 12), (3, 24), (7, 24)] {
        assert_eq!(ack(mcs(Phy::N, index, 1, 20, 400)), at(Phy::A, mbps), "MCS {index}");
        assert_eq!(ack(mcs(Phy::Ax, index, 2, 80, 800)), at(Phy::A, mbps), "MCS {index}");
    }
    let in_2_ghz = mcs(Phy::N, 7, 1, 20, 800).response(Bitrate::mbps(54), Band::Ghz2);
    assert_eq!(in_2_ghz, at(Phy::G, 24));
}

/// Clause 21.5, up to four streams.
#[test]
fn vht_leaves_five_combinations_out() {
    let mut left_out = Vec::new();
    for width in Width::ALL {
        for streams in 1..=4 {
            for index in 0..=9 {
                let mcs = Mcs { index, streams, width, guard_interval: Duration::from_nanos(800) };
                if mcs.check(Phy::Ac, Band::Ghz5).is_err() {
                    left_out.push((mhz_of(width), streams, index));
                }
            }
        }
    }
    assert_eq!(left_out, [(20, 1, 9), (20, 2, 9), (20, 4, 9), (80, 3, 6), (160, 3, 9)]);
}
