//! `adaptive` that is started while the AP's buffer is full already.

use super::occupancy::Occupancy;
use super::signal::Signal;
use super::testbed::{Cell, MBPS};
use super::{AdaptiveParams, CapacityController, CapacityParams, Decision, Kept, Reason, State, StationView};
use crate::rng::Rng;
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// Five stations with a flow each, for three seconds without the box.
fn loaded(carries: f64, packets: f64, max: u64) -> Cell {
    let params = CapacityParams::Adaptive(AdaptiveParams { max: Bitrate::mbps(max), ..AdaptiveParams::default() });
    let mut cell = Cell::new(CapacityController::new(&params, 5, Rng::fork(1, "test")), 5);
    cell.load_greedily(carries * MBPS, packets, 5);
    cell.jitter = 0.0004;
    cell.run(3.0);
    cell.is_on = true;
    cell
}

fn trace(decisions: &[Decision]) -> String {
    let line = |d: &Decision| {
        format!("{:.1} {:.2} {:?} {:?}", d.at.as_secs_f64(), d.capacity.as_bps() as f64 / MBPS, d.state, d.reason)
    };
    decisions.iter().take(60).map(line).collect::<Vec<_>>().join("\n")
}

/// All rates and buffers of the issue, and nobody answering: from ten seconds on the box divides nearly always, and it costs
/// little.
#[test]
fn c_takes_hold_under_load_whatever_the_buffer_holds() {
    let mut failed = Vec::new();
    for is_deaf in [false, true] {
        for carries in [5.0, 20.0, 50.0, 100.0, 200.0] {
            for packets in [20.0, 75.0, 500.0] {
                for max in [carries * 1.25, 400.0] {
                    let mut cell = loaded(carries, packets, max as u64);
                    cell.deaf = vec![is_deaf; 5];
                    cell.run(10.0);
                    let shares: Vec<_> = (0..4).map(|_| (cell.share_bound(5.0), cell.c() / cell.carries)).collect();
                    let bound = shares.iter().map(|(bound, _)| bound / 4.0).sum::<f64>();
                    let c = shares.iter().map(|(_, c)| c / 4.0).sum::<f64>();
                    println!("{carries} Mbit/s, {packets} packets, max {max}, deaf {is_deaf}: {bound:.2}, C {c:.2}");
                    if bound < 0.9 || !(0.85..1.05).contains(&c) {
                        if failed.is_empty() {
                            println!("{}", trace(&cell.decisions));
                        }
                        failed.push((carries, packets, max, is_deaf, bound, c));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Stations that ask for less than the cell carries lose a second of some of it now and then, more and more seldom.
#[test]
fn low_demand_is_left_alone() {
    let params = CapacityParams::Adaptive(AdaptiveParams::default());
    let mut cell = Cell::new(CapacityController::new(&params, 5, Rng::fork(1, "test")), 5);
    cell.jitter = 0.0004;
    cell.load = 3.0 * MBPS;
    let mut lowered = 0;
    for _ in 0..6000 {
        cell.run(0.1);
        lowered += u32::from(cell.c() < 3.0 * MBPS);
    }
    let trials = cell.decisions.iter().filter(|decision| decision.reason == Reason::Trial).count();
    println!("ten minutes of low demand: {trials} trials, {:.1} s lowered", f64::from(lowered) / 10.0);
    assert!((2..12).contains(&trials) && lowered < 130, "{trials} {lowered}");
}

/// A reload makes a new machine while the clock runs on: it has missed nothing, so neither silence nor blindness is told.
#[test]
fn a_machine_that_begins_while_the_clock_runs_is_neither_silent_nor_blind() {
    let mut cell = loaded(20.0, 75.0, 300);
    cell.run(15.0);
    let kept = cell.control.keep().expect("found");
    let params = CapacityParams::Adaptive(AdaptiveParams { max: Bitrate::mbps(400), ..AdaptiveParams::default() });
    cell.control = CapacityController::new(&params, 5, Rng::fork(1, "test"));
    cell.control.resume(cell.now(), &kept);
    cell.decisions.clear();
    cell.run(3.0);
    let is_lost = |decision: &Decision| matches!(decision.state, State::NoSignal | State::Blind);
    assert!(!cell.decisions.iter().any(is_lost), "{}", trace(&cell.decisions));
}

/// The box was not woken for half a second, and stations have sent meanwhile: that is no silence.
#[test]
fn a_late_look_is_no_silence() {
    let mut signal = Signal::new(1);
    let mut view = StationView::default();
    for (at, bytes) in [(0, 0), (100, 1000), (600, 5000), (700, 6000)] {
        view.totals.up = Bytes(bytes);
        let now = Instant::ZERO + Duration::from_millis(at);
        signal.observe(now, &[view], MBPS);
        assert!(!signal.is_silent(now) && !signal.is_recovering(now), "{at} ms");
    }
    for at in [800, 900, 1000, 1100] {
        // Something was sent, and nobody answers: who is idle is not silent.
        view.totals.down += Bytes(1500);
        signal.observe(Instant::ZERO + Duration::from_millis(at), &[view], MBPS);
    }
    let now = Instant::ZERO + Duration::from_millis(1200);
    assert!(signal.is_silent(now), "half a second of looks that found nothing");
    view.totals.up = Bytes(7000);
    signal.observe(now, &[view], MBPS);
    assert!(signal.is_recovering(now));
}

/// Uploads wait in the box at a C above what the cell carries, and downloads lose packets in the AP: a queue in the box does
/// not say that it divides. At a lower C the downloads wait too.
#[test]
fn stations_that_a_queue_elsewhere_holds_back_are_told_from_those_that_wait() {
    let looked = |waits: [usize; 3]| {
        let mut occupancy = Occupancy::default();
        let mut views = [StationView::default(); 3];
        for step in 0..20 {
            for (view, (bytes, backlog)) in views.iter_mut().zip([40_000, 20_000, 20_000].into_iter().zip(waits)) {
                view.totals.down += Bytes(bytes);
                view.backlog = backlog;
            }
            let now = Instant::ZERO + Duration::from_millis(100 * step);
            let passed = views.iter().map(|view| view.totals.down.0).sum();
            occupancy.observe(now, waits.iter().sum(), Bytes(passed), 6.4 * MBPS, &views);
        }
        occupancy
    };
    let second = Duration::from_millis(1000);
    assert_eq!(looked([20, 0, 0]).held_back(second), [1, 2]);
    assert!(looked([20, 20, 20]).held_back(second).is_empty() && looked([0, 0, 0]).held_back(second).is_empty());
    assert!(looked([20, 20, 20]).wait_now(&[1, 2], second) && !looked([20, 0, 0]).wait_now(&[1, 2], second));
}

/// A new machine under load begins with the C of the one before and holds it; a larger `max` changes nothing, a smaller
/// one bounds it; the cell may have become slower meanwhile.
#[test]
fn what_was_found_is_kept_over_a_restart() {
    for (carries, packets) in [(5.0, 75.0), (20.0, 20.0), (100.0, 75.0), (200.0, 500.0)] {
        for (max, slower) in [(400, 1.0), (2, 1.0), (400, 0.5)] {
            let mut cell = loaded(carries, packets, 300);
            cell.run(15.0);
            let kept = cell.control.keep().expect("found");
            let params =
                CapacityParams::Adaptive(AdaptiveParams { max: Bitrate::mbps(max), ..AdaptiveParams::default() });
            cell.control = CapacityController::new(&params, 5, Rng::fork(1, "test"));
            cell.restart();
            cell.control.resume(crate::units::Instant::ZERO, &kept);
            cell.carries *= slower;
            let most = f64::from(max as u32) * MBPS;
            assert!(cell.c() <= most && (cell.c() > 0.85 * carries * MBPS || max == 2), "{} of {carries}", cell.c());
            cell.run(if slower < 1.0 { 10.0 } else { 0.5 });
            let bound = cell.share_bound(10.0);
            assert!(bound > 0.9, "{carries} Mbit/s, {packets} packets, {slower}: {bound}\n{}", trace(&cell.decisions));
        }
    }
}

/// A station uploads, the others download. With C above what the cell carries the upload waits in the box, so all of C
/// passes, and the downloads lose packets in the AP. The AP's full queue, of less than the longest baseline, is the
/// baseline then: nothing is delayed. From a start at `max`, and from a C that was kept.
#[test]
fn a_full_queue_of_the_ap_is_not_taken_for_the_baseline() {
    let mut failed = Vec::new();
    for (carries, packets) in [(20.0, 20.0), (50.0, 20.0), (50.0, 75.0), (100.0, 75.0), (200.0, 75.0), (200.0, 300.0)] {
        for kept in [2.0, 0.98, 0.99, 1.0, 1.01, 1.02, 1.05] {
            for uploads in [1, 4] {
                let mut cell = loaded(carries, packets, 2 * carries as u64);
                cell.is_on = false;
                cell.upload_greedily(uploads);
                cell.run(3.0);
                let capacity = Bitrate::from_bps((carries * kept * MBPS) as u64);
                cell.is_on = true;
                cell.control.resume(cell.now(), &Kept { capacity, ceiling: None });
                cell.run(10.0);
                let (level, c) = (cell.level(12.0), cell.c() / cell.carries);
                println!(
                    "UP {carries} Mbit/s, {packets} packets, C from {kept}, {uploads} uploads: {level:.2}, C {c:.3}"
                );
                if !(0.95..1.05).contains(&level) || c < 0.9 {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((carries, packets, kept, uploads, level, c));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// The cell became ten times as fast while the box was off, so the ceiling that was kept is wrong: C follows within half a minute,
/// without an answer, too, and still divides the faster cell.
#[test]
fn a_ceiling_that_the_cell_exceeds_does_not_hold_c_back() {
    for (carries, packets) in [(20.0, 20.0), (20.0, 150.0), (100.0, 75.0)] {
        for (is_deaf, seconds) in [(false, 30.0), (true, 60.0)] {
            let mut cell = loaded(carries, packets, 2 * carries as u64);
            cell.deaf = vec![is_deaf; 5];
            let bits = |share: f64| Bitrate::from_bps((carries * share * MBPS) as u64);
            cell.control.resume(cell.now(), &Kept { capacity: bits(0.097), ceiling: Some((bits(0.1), None)) });
            cell.run(seconds);
            let (c, bound) = (cell.c() / cell.carries, cell.share_bound(10.0));
            println!("{carries} Mbit/s, {packets} packets, deaf {is_deaf}: C {c:.2}, bound {bound:.2}");
            assert!(c > 0.85, "{carries} {packets} {is_deaf}: {c}\n{}", trace(&cell.decisions));
            assert!(bound > 0.85, "{carries} {packets} {is_deaf}: {bound}\n{}", trace(&cell.decisions));
        }
    }
}
