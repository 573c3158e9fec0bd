//! DSSS and OFDM by hand; properties of all.

use proptest::prelude::*;

use super::*;
use crate::mac::{Modulation, TxVector};
use crate::units::{Bitrate, Bytes};

const STANDARD: PpduRules = PpduRules::standard(Band::Ghz5, Preamble::Long);

fn time(phy: Phy, mbps: u64, len: u64, preamble: Preamble) -> Duration {
    TxVector::at_rate(phy, Bitrate::mbps(mbps)).ppdu_time(Bytes(len), &PpduRules::standard(phy.usual_band(), preamble))
}

/// Frame 1310 us, ACK 248 us (802.11b, 1500 B MSDU + LLC/SNAP, 11 Mbit/s, basic 2).
#[test]
fn frame_times_of_the_bianchi_reference() {
    let len = 1500 + LLC_SNAP + MAC_HEADER_FCS;
    assert_eq!(time(Phy::B, 11, len, Preamble::Long), Duration::from_micros(1310));
    assert_eq!(time(Phy::B, 2, MAC_ACK, Preamble::Long), Duration::from_micros(248));
    assert_eq!(time(Phy::A, 54, len, Preamble::Long), Duration::from_micros(248));
    assert_eq!(time(Phy::A, 24, MAC_ACK, Preamble::Long), Duration::from_micros(28));
    assert_eq!(time(Phy::G, 54, len, Preamble::Long), Duration::from_micros(254));
}

/// 802.11-2020 clause 16.2.2.3: behind the short PLCP preamble and header come 2, 5.5 or 11 Mbit/s.
#[test]
fn frames_at_1_mbps_always_have_the_long_preamble() {
    let ack = |mbps, preamble| time(Phy::B, mbps, MAC_ACK, preamble);
    assert_eq!(ack(1, Preamble::Short), Duration::from_micros(192 + 112));
    assert_eq!(ack(2, Preamble::Short), Duration::from_micros(96 + 56));
    let custom = Preamble::Lasting(Duration::from_micros(120));
    assert_eq!(ack(1, custom), Duration::from_micros(120 + 112));
}

/// ns-2 does not round DSSS frames to microseconds.
#[test]
fn ns2_counts_parts_of_microseconds() {
    let tx = TxVector::at_rate(Phy::B, Bitrate::mbps(11));
    let at = |rules: &PpduRules| tx.ppdu_time(Bytes(1534), rules).as_nanos();
    assert_eq!(at(&PpduRules::ns2(Band::Ghz2, Preamble::Long)), 192_000 + 1_115_637);
    assert_eq!(at(&PpduRules::standard(Band::Ghz2, Preamble::Long)), 192_000 + 1_116_000);
}

#[test]
fn acks_use_the_highest_mandatory_rate_not_above_the_frames() {
    let ack = |phy: Phy, rate, basic| {
        TxVector::at_rate(phy, Bitrate::mbps(rate)).response(Bitrate::mbps(basic), phy.usual_band()).rate()
    };
    assert_eq!(ack(Phy::A, 54, 24), Bitrate::mbps(24));
    assert_eq!(ack(Phy::A, 18, 24), Bitrate::mbps(12));
    assert_eq!(ack(Phy::A, 9, 24), Bitrate::mbps(6));
    assert_eq!(ack(Phy::B, 1, 2), Bitrate::mbps(1));
}

/// Any modulation of any PHY in 5 GHz, or 802.11b.
fn modulations() -> Vec<TxVector> {
    let mut all = Vec::new();
    for phy in Phy::ALL {
        if phy.has_mcs() {
            let mcss = (0..=phy.highest_mcs()).flat_map(|index| (1..=4).map(move |streams| (index, streams)));
            for (index, streams) in mcss {
                for width in Width::ALL {
                    for guard in phy.guard_intervals().0 {
                        let mcs = Mcs { index, streams, width, guard_interval: Duration::from_nanos(*guard) };
                        all.extend(TxVector::with_mcs(phy, mcs, Band::Ghz5));
                    }
                }
            }
        } else {
            all.extend(phy.rates_kbps().iter().map(|kbps| TxVector::at_rate(phy, Bitrate::from_bps(kbps * 1000))));
        }
    }
    all
}

/// `tx` with one step more of MCS, width or streams, where that exists.
fn faster(tx: TxVector) -> Vec<TxVector> {
    let Modulation::Mcs(mcs) = tx.modulation() else { return Vec::new() };
    let wider = Width::ALL.into_iter().find(|width| *width > mcs.width).unwrap_or(mcs.width);
    let steps =
        [Mcs { index: mcs.index + 1, ..mcs }, Mcs { width: wider, ..mcs }, Mcs { streams: mcs.streams + 1, ..mcs }];
    let existing = steps.into_iter().filter(|step| *step != mcs);
    existing.filter_map(|step| TxVector::with_mcs(tx.phy(), step, Band::Ghz5).ok()).collect()
}

proptest! {
    /// More bytes never take less time; a better MCS or a wider channel never more. One more stream costs no more
    /// symbols, but its training field lasts.
    #[test]
    fn durations_are_monotone(index in any::<prop::sample::Index>(), len in 0_u64..1_100_000, more in 1_u64..5_000, ns3: bool) {
        let all = modulations();
        let tx = all[index.index(all.len())];
        let rules = if ns3 { PpduRules::ns3(Band::Ghz5, Preamble::Long) } else { STANDARD };
        let time = |tx: TxVector, len| tx.ppdu_time(Bytes(len), &rules);
        prop_assert!(time(tx, len) <= time(tx, len + more));
        for step in faster(tx) {
            let header = |tx: TxVector| if tx.phy() == Phy::B { Duration::ZERO } else { tx.symbols(&rules).preamble };
            prop_assert!(step.rate() > tx.rate());
            prop_assert!(time(step, len) - header(step) <= time(tx, len) - header(tx), "{step:?} against {tx:?}");
        }
    }

    /// The longest PSDU fits, one byte more does not.
    #[test]
    fn the_longest_psdu_fits(index in any::<prop::sample::Index>(), micros in 0_u64..20_000, ns3: bool) {
        let all = modulations();
        let tx = all[index.index(all.len())];
        let rules = if ns3 { PpduRules::ns3(Band::Ghz5, Preamble::Long) } else { STANDARD };
        let limit = Duration::from_micros(micros);
        match tx.longest_psdu(limit, &rules) {
            Some(longest) => {
                prop_assert!(tx.ppdu_time(longest, &rules) <= limit);
                prop_assert!(tx.ppdu_time(longest + Bytes(1), &rules) > limit);
            }
            None => prop_assert!(tx.ppdu_time(Bytes(0), &rules) > limit),
        }
    }

    /// A response is never faster than what it answers, and never above the basic rate.
    #[test]
    fn responses_are_not_faster(index in any::<prop::sample::Index>(), basic in prop::sample::select(vec![6_u64, 12, 24, 54])) {
        let all = modulations();
        let tx = all[index.index(all.len())];
        let response = tx.response(Bitrate::mbps(basic), Band::Ghz5);
        prop_assert!(response.rate() <= Bitrate::mbps(basic));
        prop_assert!(response.rate() <= tx.rate() || response.rate() == Bitrate::mbps(6));
        prop_assert!(matches!(response.modulation(), Modulation::Rate(_)));
    }
}
