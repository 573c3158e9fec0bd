//! `wce` step by step, and against the fluid cell.

use super::testbed::{Cell, MBPS};
use super::{CapacityController, CapacityParams, Decision, Reason, StationView, Wce, WceParams};
use crate::rng::Rng;
use crate::shaper::Totals;
use crate::units::{Bitrate, Bytes, Duration, Instant};

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// One probe that takes `rtt` milliseconds; what is decided.
fn ask(wce: &mut Wce, rtt: u64) -> Option<Decision> {
    let at = wce.poll_timeout();
    wce.handle_timeout(at, &[StationView::default()]);
    let probe = wce.prober.poll_probe().expect("due");
    wce.handle_reply(at + Duration::from_millis(rtt), probe.id);
    wce.decisions.pop_front()
}

#[test]
fn thresholds_and_steps_are_the_published_ones() {
    let mut wce = Wce::new(WceParams::default(), 1, Rng::fork(1, "wce"));
    assert_eq!(wce.capacity(), Bitrate::mbps(6));
    assert_eq!(ask(&mut wce, 20), None, "6 Mbit/s is the largest");
    let mut next = |rtt: u64| {
        let decision = ask(&mut wce, rtt).expect("a change");
        (decision.capacity.as_bps(), decision.reason)
    };
    assert_eq!(next(41), (5_900_000, Reason::DelayHigh));
    assert_eq!(next(201), (4_720_000, Reason::Overload));
    assert_eq!(next(20), (4_820_000, Reason::DelayLow));
    assert_eq!(next(4), (6_000_000, Reason::DelayVeryLow), "x 1.25, but not above 6");
}

#[test]
fn a_probe_every_200_ms_one_at_a_time_and_a_lost_one_counts_as_a_second() {
    let mut wce = Wce::new(WceParams::default(), 1, Rng::fork(1, "wce"));
    wce.handle_timeout(ms(0), &[StationView::default()]);
    assert!(wce.prober.poll_probe().is_some());
    assert_eq!(wce.poll_timeout(), ms(1000), "nothing before the reply or the loss");
    wce.handle_timeout(ms(1000), &[StationView::default()]);
    assert_eq!(wce.decisions.pop_front().unwrap().reason, Reason::ProbeLost);
    assert_eq!(wce.capacity().as_bps(), 4_800_000);
    assert!(wce.prober.poll_probe().is_some());
}

#[test]
fn a_station_with_uplink_udp_is_not_asked() {
    let mut wce = Wce::new(WceParams::default(), 2, Rng::fork(1, "wce"));
    let mut views = [StationView::default(); 2];
    for round in 1..50 {
        let sent = Bytes(1000 * round);
        views[0].totals = Totals { up: sent, up_bypassing: sent, ..Totals::default() };
        let at = wce.poll_timeout();
        wce.handle_timeout(at, &views);
        let probe = wce.prober.poll_probe().expect("the other station is asked");
        assert_eq!(probe.station.station_index(), Some(1));
        wce.handle_reply(at + Duration::from_millis(20), probe.id);
    }
}

#[test]
fn it_finds_the_capacity_and_collapses_without_answers() {
    let params = CapacityParams::Wce(WceParams::default());
    let mut cell = Cell::new(CapacityController::new(&params, 4, Rng::fork(1, "test")), 4);
    cell.run(20.0);
    assert!((0.85..1.15).contains(&(cell.c() / (5.0 * MBPS))), "{}", cell.c());
    cell.deaf = vec![true; 4];
    cell.run(20.0);
    assert!(cell.c() < 0.2 * MBPS, "{}", cell.c());
}
