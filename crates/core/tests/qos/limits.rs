//! Limits of A-MPDUs where stations of several generations share a cell.

use fairair_core::mac::{Aggregation, MacParams, Phy, Width};
use fairair_core::units::{Bytes, Duration};

use crate::cell::{ns3, one_stream, qos, saturated};

/// A cell with all that 802.11ax has, or less.
fn cell(change: fn(&mut Aggregation)) -> MacParams {
    let mut params = ns3(one_stream(Phy::Ax, 11, Width::Mhz80));
    let mut aggregation = Aggregation::new(Bytes(6_500_631), 256);
    change(&mut aggregation);
    qos(&mut params).aggregation = Some(aggregation);
    params
}

/// A station of 802.11ac has a BlockAck window of 64 in a cell of 802.11ax, too; one of 802.11n also has 65,535 bytes.
#[test]
fn an_older_station_has_the_limits_of_its_own_phy() {
    let mpdus = |tx| saturated(&cell(|_| ()), &[tx], 0.0, 1, 1).mpdus;
    let of = |phy, index, width| mpdus(one_stream(phy, index, width)).round() as u32;
    assert_eq!(of(Phy::Ac, 9, Width::Mhz80), 64);
    assert_eq!(of(Phy::Ax, 11, Width::Mhz80), 256);
    assert_eq!(of(Phy::N, 7, Width::Mhz40), 42);
}

#[test]
fn mpdus_and_duration_may_be_limited_besides() {
    let ax = one_stream(Phy::Ax, 11, Width::Mhz80);
    let few = saturated(&cell(|limits| limits.max_mpdus = Some(32)), &[ax], 0.0, 1, 1).mpdus;
    assert_eq!(few.round() as u32, 32);
    let short = saturated(&cell(|limits| limits.max_duration = Some(Duration::from_millis(2))), &[ax], 0.0, 1, 1).mpdus;
    // 44 us of preamble and 143 symbols with 145,976 bytes: 93 subframes of 1544 and the last of 1542.
    assert_eq!(short.round() as u32, 94);
}
