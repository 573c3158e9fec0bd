//! `adaptive` against a fluid cell: a queue that fills at C and empties at what the cell carries.

use super::testbed::{Cell, MBPS};
use super::{Adaptive, AdaptiveParams, CapacityController, CapacityParams, Reason, State, StationView};
use crate::rng::Rng;
use crate::shaper::Totals;
use crate::units::{Bitrate, Bytes, Duration, Instant};

fn cell(stations: usize) -> Cell {
    let params = CapacityParams::Adaptive(AdaptiveParams::default());
    Cell::new(CapacityController::new(&params, stations, Rng::fork(1, "test")), stations)
}

#[test]
fn an_idle_cell_is_left_alone() {
    let mut cell = cell(3);
    cell.load = 0.0;
    cell.run(10.0);
    assert_eq!(cell.control.stats().probes, 0, "nobody is awake for certain, so nobody is asked");
    assert_eq!(cell.control.capacity(), Bitrate::mbps(6));
    assert!(cell.decisions.is_empty());
}

/// The access point is replaced by a faster one: C follows to `max`, and that this is too little is told within 15 s.
#[test]
fn a_cell_that_carries_more_than_max_is_told() {
    let mut cell = cell(5);
    cell.run(60.0);
    assert_eq!(cell.control.spare(cell.now()), None);
    cell.carries = 15.0 * MBPS;
    let within = (0..150).find(|_| {
        cell.run(0.1);
        cell.control.spare(cell.now()).is_some()
    });
    println!("after {within:?} tenths");
    assert_eq!(cell.control.spare(cell.now()), Some(Bitrate::mbps(6)));
    // Nobody waits for it.
    cell.load = 3.0 * MBPS;
    cell.run(5.0);
    assert_eq!(cell.control.spare(cell.now()), None);
}

/// Web pages: a second of load, two of nothing. C follows a cell that has become slower in the first of them.
#[test]
fn traffic_after_a_pause_is_no_recovery_from_a_silence() {
    let mut cell = cell(5);
    cell.run(10.0);
    cell.carries = 2.5 * MBPS;
    for page in 0..3 {
        cell.load = 0.0;
        cell.run(2.0);
        cell.load = f64::INFINITY;
        cell.run(1.0);
        let c = cell.c() / cell.carries;
        println!("page {page}: C {c:.2} of what the cell carries, {:?}", cell.control_state());
        assert!(cell.control_state() == State::Run && c < 1.3, "page {page}: {c}");
    }
}

/// The reply to a probe contends with data of stations: the target is 7 ms where only ACKs come up and 14 ms where only data
/// does. Counters of bypassing traffic that run ahead do not make it endless. At 400 Mbit/s 200 packets are 6 ms.
#[test]
fn replies_may_take_longer_where_stations_send() {
    let target_at = |mbps: f64, down: u64, up: u64, bypassing: u64| {
        let mut adaptive = Adaptive::new(AdaptiveParams::default(), 1);
        for tick in 0..20 {
            let totals =
                Totals { down: Bytes(down * tick), up: Bytes(up * tick), up_bypassing: Bytes(bypassing * tick) };
            let now = Instant::ZERO + Duration::from_millis(100 * tick);
            adaptive.handle_timeout(now, &[StationView { totals, ..StationView::default() }]);
        }
        adaptive.target(mbps * MBPS).as_secs_f64() * 1e3
    };
    let target = |down, up, bypassing| target_at(5.0, down, up, bypassing);
    assert!((target(60_000, 1_600, 0) - 7.0).abs() < 1e-6);
    assert!((target(30_000, 30_000, 0) - 7.0 * 1.46).abs() < 0.1);
    assert!((target(1_600, 60_000, 0) - 7.0 * 1.93).abs() < 0.1);
    assert!((target(60_000, 30_000, 30_000) - 7.0).abs() < 1e-6, "what bypasses is not C's");
    assert!((target(60_000, 30_000, 31_000) - 7.0).abs() < 1e-6, "counted a moment before the rest");
    assert!((target_at(400.0, 60_000, 1_600, 0) - 6.0).abs() < 1e-6);
}

#[test]
fn c_settles_at_what_the_cell_carries() {
    let mut cell = cell(5);
    cell.run(5.0);
    for _ in 0..20 {
        cell.run(0.5);
        assert!((0.9..1.1).contains(&(cell.c() / (5.0 * MBPS))), "{}", cell.c());
        assert!(cell.delay() < 0.03, "{}", cell.delay());
    }
}

/// Bar 5 on a fluid. The queue of the drop, 0.7 s of it, is gone after two more seconds, and C is back where it was.
#[test]
fn a_drop_is_followed_and_its_queue_drained() {
    let mut cell = cell(5);
    cell.run(5.0);
    cell.carries = 1.25 * MBPS;
    let near = |cell: &Cell| (0.85..1.15).contains(&(cell.c() / cell.carries));
    let followed = (0..15).any(|_| {
        cell.run(0.1);
        near(&cell)
    });
    assert!(followed, "{}", cell.c());
    assert!(cell.decisions.iter().any(|decision| decision.reason == Reason::Overload));
    cell.run(2.5);
    for _ in 0..20 {
        cell.run(0.5);
        assert!(near(&cell) && cell.delay() < 0.1, "{} {}", cell.c(), cell.delay());
    }
}

#[test]
fn a_rise_is_followed_step_by_step() {
    let mut cell = cell(5);
    cell.carries = 1.25 * MBPS;
    cell.run(10.0);
    cell.carries = 5.0 * MBPS;
    cell.run(5.0);
    assert!((0.85..1.1).contains(&(cell.c() / cell.carries)), "{}", cell.c());
}

/// A bound is only drawn from a missing reply when less comes up too, and is taken back when it was wrong.
#[test]
fn missing_replies_alone_are_no_drop() {
    let mut cell = cell(4);
    cell.run(5.0);
    let before = cell.c();
    cell.deaf = vec![true, true, true, false];
    for _ in 0..50 {
        cell.run(0.1);
        assert!(cell.c() > 0.9 * before, "{} after {before}", cell.c());
    }
}

#[test]
fn c_does_not_rise_when_nobody_waits() {
    let mut cell = cell(2);
    cell.run(5.0);
    // A fifth of the capacity, no backlog in the box.
    cell.load = 1.0 * MBPS;
    cell.run(1.0);
    let before = cell.control.capacity();
    cell.carries = 20.0 * MBPS;
    cell.run(10.0);
    assert_eq!(cell.control.capacity(), before);
}

#[test]
fn lost_signals_hold_c() {
    // A second in which nothing is heard.
    let mut cell = cell(4);
    cell.run(5.0);
    let before = cell.c();
    cell.silent = true;
    cell.run(1.0);
    assert_eq!(cell.control_state(), State::NoSignal);
    cell.silent = false;
    cell.run(2.0);
    // The delays of the last moment before still counted.
    assert!((cell.c() / before - 1.0).abs() < 0.05, "{} after {before}", cell.c());
    // All deaf: traffic goes on, no probe comes back.
    cell.run(5.0);
    let before = cell.c();
    cell.deaf = vec![true; 4];
    cell.run(5.0);
    assert_eq!(cell.control_state(), State::Blind);
    assert!((cell.c() / before - 1.0).abs() < 0.05);
    // Half of them back.
    cell.deaf = vec![true, false, true, false];
    cell.run(10.0);
    assert_eq!(cell.control_state(), State::Run);
}

#[test]
fn one_late_station_does_not_count() {
    let mut cell = cell(5);
    cell.run(5.0);
    cell.late[2] = 0.2;
    for _ in 0..20 {
        cell.run(0.5);
        assert!(cell.c() > 4.5 * MBPS, "{}", cell.c());
    }
}

/// Two of five answer at once for three seconds, and late from then on or on and off: C stays what the others' round trips say.
#[test]
fn a_minority_that_answers_late_does_not_lower_c() {
    for late in [0.06, 0.1, 0.15, 0.2, 0.4, 1.0] {
        for (who, period) in [([1, 2], 0), ([1, 3], 0), ([0, 4], 0), ([1, 2], 10), ([1, 2], 5), ([1, 3], 25)] {
            let mut cell = cell(5);
            cell.run(3.0);
            let mut sum = 0.0;
            let mut least = f64::INFINITY;
            for tenth in 0..400 {
                let is_late = period == 0 || tenth / period % 2 == 0;
                for station in who {
                    cell.late[station] = if is_late { late } else { 0.0 };
                }
                cell.run(0.1);
                sum += cell.c() / cell.carries / 400.0;
                least = least.min(cell.c() / cell.carries);
            }
            println!("{late} s, {who:?} every {period}: mean {sum:.3}, least {least:.3}");
            assert!(sum > 0.93 && least > 0.8, "{late} {who:?} {period}: {sum} {least}");
        }
    }
}

/// Eight stations that send next to nothing answer late, always or on and off, beside five that carry the cell's load: the five are
/// asked more often, and C stays what their round trips say.
#[test]
fn many_that_hardly_send_and_answer_late_do_not_lower_c() {
    for late in [0.06, 0.1, 0.15, 0.3, 0.6] {
        for (first, period) in [(0, 0), (5, 0), (0, 10), (5, 5), (3, 25)] {
            let mut cell = cell(13);
            cell.load_greedily(5.0 * MBPS, 150.0, 5);
            cell.is_on = true;
            cell.parts = (0..13).map(|own| if (first..first + 8).contains(&own) { 0.03 } else { 1.0 }).collect();
            cell.run(8.0);
            let mut sum = 0.0;
            let mut least = f64::INFINITY;
            for tenth in 0..300 {
                let is_late = period == 0 || tenth / period % 2 == 0;
                cell.late[first..first + 8].fill(if is_late { late } else { 0.0 });
                cell.run(0.1);
                sum += cell.c() / cell.carries / 300.0;
                least = least.min(cell.c() / cell.carries);
            }
            println!("{late} s late, from {first} every {period}: mean {sum:.3}, least {least:.3}");
            // What the first late replies cost lasts three seconds.
            assert!(sum > 0.93 && least > 0.4, "{late} {first} {period}: {sum} {least}");
        }
    }
}

/// Somebody sends a little UDP in the names of all others and answers late: the others are asked all the same, and they are the majority.
#[test]
fn forged_udp_keeps_no_station_from_being_asked() {
    for greedy in [true, false] {
        for late in [0.15, 0.6] {
            let mut cell = cell(5);
            if greedy {
                cell.load_greedily(5.0 * MBPS, 75.0, 5);
                cell.is_on = true;
            }
            cell.run(8.0);
            cell.udp[..4].fill(1000.0);
            cell.late[4] = late;
            for _ in 0..400 {
                cell.run(0.1);
                let share = cell.c() / cell.carries;
                assert!(share > 0.8, "greedy {greedy}, {late} s late: C is {share:.2} of what the cell carries");
            }
        }
    }
}

/// A firewall is loaded anew: for up to a second all passes and nothing is counted. C is what it was, and the queue drains.
#[test]
fn what_nobody_counted_is_no_evidence() {
    for gap in [2, 5, 10] {
        for seconds in [8.0, 8.35, 8.7] {
            let mut cell = cell(5);
            cell.load_greedily(5.0 * MBPS, 300.0, 5);
            cell.is_on = true;
            cell.run(seconds);
            let kept = cell.control.settled();
            let before = cell.c();
            cell.uncounted = true;
            cell.run(f64::from(gap) * 0.1);
            cell.uncounted = false;
            let now = cell.now();
            let least_in_gap = cell.c() / before;
            cell.control.recount(now, kept.as_ref());
            let mut least = f64::INFINITY;
            for _ in 0..100 {
                cell.run(0.1);
                least = least.min(cell.c() / before);
            }
            println!(
                "{gap} tenths from {seconds} s: C {least_in_gap:.2} in it, {least:.2} at least later, {:.3} s",
                cell.delay()
            );
            assert!(least > 0.7 && cell.delay() < 0.05, "{gap} {seconds}: {least}");
        }
    }
}

#[test]
fn c_stays_within_its_bounds() {
    let mut cell = cell(5);
    cell.carries = 50.0 * MBPS;
    cell.run(20.0);
    assert_eq!(cell.control.capacity(), Bitrate::mbps(6));
    cell.carries = 0.02 * MBPS;
    cell.run(200.0);
    assert!(cell.c() >= 0.1 * MBPS);
}
