//! A fixed C that is wrong is told, one that is right is not.

use super::testbed::{Cell, MBPS};
use super::{CapacityController, Reason, State, StationView};
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// A fixed C of `share` of what the cell carries; the first station uploads if `uploads`.
fn cell(share: f64, carries: f64, packets: f64, uploads: bool) -> Cell {
    let rate = Bitrate::from_bps((carries * share * MBPS) as u64);
    let mut cell = Cell::new(CapacityController::guarded(rate, 5), 5);
    cell.jitter = 0.0004;
    cell.load_greedily(carries * MBPS, packets, 5);
    if uploads {
        cell.upload_greedily(2);
    }
    cell.run(3.0);
    cell.is_on = true;
    cell
}

fn told(cell: &Cell) -> Option<f64> {
    Some(cell.control.elsewhere()?.as_bps() as f64 / cell.carries)
}

#[test]
fn a_fixed_c_that_is_too_high_is_told_within_fifteen_seconds() {
    for (carries, packets) in [(5.0, 75.0), (20.0, 75.0), (20.0, 500.0), (50.0, 75.0)] {
        for uploads in [false, true] {
            let mut cell = cell(1.3, carries, packets, uploads);
            let within = (0..150).find(|_| {
                cell.run(0.1);
                told(&cell).is_some()
            });
            println!("{carries} Mbit/s, {packets} packets, uploads {uploads}: {within:?} tenths, {:?}", told(&cell));
            assert!(told(&cell).is_some_and(|share| (0.8..1.1).contains(&share)), "{carries} {packets} {uploads}");
            // It goes on being told, and C is the user's again.
            cell.run(60.0);
            assert!(told(&cell).is_some() && (cell.c() / cell.carries - 1.3).abs() < 1e-3);
        }
    }
}

/// Beside short files the queue in the box comes and goes: each burst of theirs waits at C for a moment while the queue stands in the cell.
#[test]
fn a_fixed_c_that_is_too_high_is_told_beside_short_files() {
    let mut wrong = Vec::new();
    for (carries, packets) in [(20.0, 100.0), (20.0, 50.0), (50.0, 100.0), (6.0, 60.0)] {
        for (share, uploads) in [(1.15, false), (1.15, true), (1.3, false), (1.3, true), (0.94, false), (0.94, true)] {
            let mut cell = cell(share, carries, packets, uploads);
            // They wait in more than half of the time.
            let spare = carries * MBPS / 8.0 * f64::abs(share - 1.0);
            cell.files = Some((0.23 * 0.6 * spare, 0.23));
            let within = (0..if share > 1.0 { 150 } else { 1200 }).find(|_| {
                cell.run(0.1);
                told(&cell).is_some()
            });
            println!("{carries} Mbit/s, {packets} packets, C {share}, uploads {uploads}: {within:?} tenths");
            if within.is_some() != (share > 1.0) {
                wrong.push((carries, packets, share, uploads));
            }
        }
    }
    assert_eq!(wrong, []);
}

/// Echo requests are in vain, and what is asked instead is answered two seconds after the first: a trial before that would be in vain, too.
#[test]
fn a_fixed_c_that_is_too_high_is_told_where_answers_begin_late() {
    for (carries, packets) in [(20.0, 100.0), (30.0, 300.0), (50.0, 75.0)] {
        let mut cell = cell(1.3, carries, packets, true);
        cell.deaf = vec![true; 5];
        let mut first = None;
        let within = (0..150).find(|tenth| {
            cell.run(0.1);
            let asked = cell.control.stats().probes > 0;
            first = first.or(asked.then_some(*tenth));
            if first.is_some_and(|first| *tenth >= first + 20) {
                cell.deaf = vec![false; 5];
            }
            told(&cell).is_some()
        });
        println!("{carries} Mbit/s, {packets} packets: asked at {first:?}, told at {within:?} tenths");
        assert!(within.is_some(), "{carries} {packets}");
    }
}

/// Bar 5: the access point is replaced by one that carries three times as much, in a pause of three seconds.
#[test]
fn a_faster_cell_is_told_within_fifteen_seconds_of_its_traffic() {
    for uploads in [false, true] {
        let mut cell = cell(0.93, 20.0, 75.0, uploads);
        cell.run(100.0);
        assert_eq!(cell.control.spare(cell.now()), None);
        // Nothing passes while it is replaced.
        cell.silent = true;
        cell.run(3.0);
        (cell.silent, cell.carries) = (false, 60.0 * MBPS);
        let within = (0..150).find(|_| {
            cell.run(0.1);
            cell.control.spare(cell.now()).is_some()
        });
        println!("uploads {uploads}: {within:?} tenths, {:?}", cell.control.spare(cell.now()));
        let spare = cell.control.spare(cell.now()).expect("told").as_bps() as f64 / MBPS;
        assert!((22.0..26.0).contains(&spare), "{spare}");
        cell.run(60.0);
        assert!(cell.control.spare(cell.now()).is_some() && (cell.c() / MBPS - 18.6).abs() < 1e-3);
        // The old one again: the next trial finds that.
        cell.carries = 20.0 * MBPS;
        cell.run(620.0);
        assert_eq!(cell.control.spare(cell.now()), None);
    }
}

/// Before the last packets of a pause's load are through, the box asks stations, for two or three seconds in vain: the pause begins with them.
#[test]
fn a_pause_counts_from_the_last_packet_whatever_the_box_asks() {
    for dwindles in [0.5, 0.7, 1.0, 1.5] {
        let mut cell = cell(0.93, 20.0, 75.0, false);
        cell.run(100.0);
        let senders = cell.greedy.take();
        (cell.load, cell.deaf) = (0.6 * 18.6 * MBPS, vec![true; 5]);
        cell.run(dwindles);
        (cell.load, cell.silent) = (0.0, true);
        cell.run(3.4);
        (cell.greedy, cell.silent, cell.carries, cell.deaf) = (senders, false, 60.0 * MBPS, vec![false; 5]);
        let within = (0..150).find(|_| {
            cell.run(0.1);
            cell.control.spare(cell.now()).is_some()
        });
        println!("dwindles for {dwindles} s: {within:?} tenths, {} probes", cell.control.stats().probes);
        assert!(within.is_some(), "{dwindles}");
    }
}

/// UDP that never backs off fills C: that the AP drops is told all the same, and a C that is right is not.
#[test]
fn a_fixed_c_that_is_too_high_is_told_beside_udp() {
    for (carries, packets) in [(5.0, 75.0), (20.0, 20.0), (20.0, 75.0), (50.0, 75.0), (100.0, 300.0)] {
        for share in [1.1, 1.3, 1.8, 0.93] {
            let mut cell = cell(share, carries, packets, false);
            (cell.greedy, cell.drops, cell.load) = (None, true, f64::INFINITY);
            let within = (0..600).find(|_| {
                cell.run(0.1);
                told(&cell).is_some()
            });
            println!("{carries} Mbit/s, {packets} packets, C {share}: {within:?} tenths, {:?}", told(&cell));
            assert_eq!(told(&cell).is_some(), share > 1.0, "{carries} {packets} {share}");
            assert!(told(&cell).is_none_or(|share| (0.7..1.3).contains(&share)));
        }
    }
}

#[test]
fn a_pool_behind_another_bottleneck_is_left_alone() {
    let mut cell = cell(1.3, 20.0, 75.0, false);
    for _ in 0..300 {
        let now = cell.now();
        cell.control.stand_by(now);
        cell.run(0.1);
        assert!(told(&cell).is_none() && (cell.c() / cell.carries - 1.3).abs() < 1e-3);
    }
    // In the middle of a trial C is the user's again at once.
    while cell.c() / cell.carries > 1.2 {
        cell.run(0.1);
    }
    let now = cell.now();
    cell.control.stand_by(now);
    cell.run(0.1);
    assert!((cell.c() / cell.carries - 1.3).abs() < 1e-3);
}

/// At 5 Mbit/s a C of 93 % passes the first step, and the second one puts some packets into the cell. They are gone soon, and on
/// the mean no more than C has passed.
#[test]
fn what_a_trial_puts_into_the_cell_is_taken_back() {
    for uploads in [false, true] {
        let mut cell = cell(0.93, 5.0, 75.0, uploads);
        let (mut worst, mut long, mut passed) = (0.0_f64, 0, 0.0);
        for tenth in 0..300 {
            cell.run(0.1);
            let is_later = cell.decisions.iter().any(|decision| decision.reason == Reason::Trial);
            if is_later {
                (worst, passed) = (worst.max(cell.delay()), passed + 0.1 * (cell.c() / (4.65 * MBPS) - 1.0));
                long += u32::from(cell.delay() > 0.03);
            }
            assert!(is_later || tenth < 200, "no trial");
        }
        println!(
            "uploads {uploads}: {:.0} ms at most, more than 30 ms for {long} tenths, {passed:.3} s over",
            worst * 1e3
        );
        assert!(worst < 0.09 && long <= 10 && passed < 0.05, "{worst} {long} {passed}");
    }
}

#[test]
fn c_is_not_raised_while_the_cell_drains_what_stood_before_the_start() {
    let mut cell = cell(0.93, 5.0, 300.0, false);
    while !cell.decisions.iter().any(|decision| decision.reason == Reason::Trial) {
        cell.run(0.1);
    }
    println!("{:.3} s wait in the cell", cell.delay());
    assert!(cell.delay() < 0.05, "{}", cell.delay());
}

#[test]
fn a_right_c_is_left_alone_and_low_demand_is_not_told() {
    for uploads in [false, true] {
        let mut cell = cell(0.93, 20.0, 75.0, uploads);
        for _ in 0..600 {
            cell.run(1.0);
            assert_eq!((told(&cell), cell.control.spare(cell.now())), (None, None));
        }
        // Ten minutes: two trials with a raised C, each of which ends when a queue comes up in the cell.
        let ended = cell.decisions.iter().filter(|decision| decision.reason == Reason::Start);
        assert!((1..=2).contains(&ended.count()), "{:?}", cell.decisions);
    }
    let mut cell = Cell::new(CapacityController::guarded(Bitrate::mbps(5), 5), 5);
    (cell.jitter, cell.load) = (0.0004, 3.0 * MBPS);
    for _ in 0..600 {
        cell.run(1.0);
        assert_eq!(told(&cell), None);
    }
    let trials = cell.decisions.iter().filter(|decision| decision.reason == Reason::Trial).count();
    assert!((2..12).contains(&trials), "{trials}");
}

/// Packets wait in the box and in the cell, and shares may be right: that is said, and trials must not take much of C for as long as it is so.
#[test]
fn a_c_that_is_all_the_cell_carries_is_told_and_seldom_lowered() {
    for (share, packets) in [(1.0, 30.0), (1.02, 75.0), (1.05, 20.0), (1.1, 50.0)] {
        let mut cell = cell(share, 5.0, packets, true);
        cell.run(40.0);
        assert!(told(&cell).is_some(), "{share} {packets}");
        let mut mean = 0.0;
        for _ in 0..1200 {
            cell.run(0.1);
            mean += cell.c() / (share * 5.0 * MBPS) / 1200.0;
        }
        println!("C {share}, {packets} packets: {mean:.3} of the user's C");
        assert!(mean > 0.97, "{share} {packets} {mean}");
    }
}

/// Who waits for a cap asks for no more: what passes below C says nothing, and a trial would only cost.
#[test]
fn stations_at_their_caps_call_for_no_trial() {
    for is_at_cap in [true, false] {
        let mut control = CapacityController::guarded(Bitrate::mbps(14), 4);
        let mut views = vec![StationView { is_at_cap, ..StationView::default() }; 4];
        for look in 0..1200 {
            for view in &mut views {
                view.totals.down += Bytes(25_000);
            }
            control.handle_timeout(Instant::ZERO + Duration::from_millis(100 * look), &views);
            let is_trial = control.poll_decision().is_some_and(|decision| decision.reason == Reason::Trial);
            assert!(!is_trial, "at their caps nothing is in doubt, and where nobody answers no trial tells");
        }
        assert_eq!((control.stats().probes == 0, control.state() == State::Run), (is_at_cap, is_at_cap));
    }
}

/// Bar 5: no station answers at all, to nothing that is asked.
#[test]
fn a_fixed_c_that_nobody_can_judge_is_told_within_fifteen_seconds() {
    for (carries, packets) in [(5.0, 75.0), (20.0, 75.0), (50.0, 75.0)] {
        for (share, is_blind) in [(1.3, true), (0.93, false)] {
            let mut cell = cell(share, carries, packets, true);
            cell.deaf = vec![true; 5];
            cell.run(12.0);
            assert_eq!(
                (cell.control.state() == State::Blind, told(&cell)),
                (is_blind, None),
                "{carries} {packets} {share}"
            );
            cell.run(60.0);
            assert_eq!(cell.control.state() == State::Blind, is_blind);
            // One answer, and trials begin anew.
            cell.deaf = vec![false; 5];
            cell.run(60.0);
            assert_eq!((cell.control.state(), told(&cell).is_some()), (State::Run, is_blind));
        }
    }
}

/// Another C that is above what the cell carries is said to be so at once, one that is not is not, and what divides ends it.
#[test]
fn a_new_c_is_suspected_until_the_contrary_is_found() {
    let suspected = |share: f64, carries: f64| {
        let mut cell = cell(share, carries, 75.0, false);
        cell.control.suspect(Bitrate::from_bps((20.0 * MBPS) as u64));
        let at_once = told(&cell).is_some();
        cell.run(60.0);
        (at_once, told(&cell).is_some())
    };
    assert_eq!(suspected(1.2, 20.0), (true, true), "still too high");
    assert_eq!(suspected(0.93, 20.0), (true, false), "not known until tried: what the access point drops was counted");
    assert_eq!(suspected(0.75, 20.0), (false, false), "far below what the cell carried");
    assert_eq!(suspected(0.93, 30.0), (true, false), "the cell carries more by now");
}

/// Loads that pause together leave no time for a trial: their ends show a queue in the cell, and where C is right they show none.
#[test]
fn a_fixed_c_that_is_too_high_is_told_beside_loads_that_pause_together() {
    for (carries, packets) in [(6.0, 75.0), (20.0, 75.0), (20.0, 30.0), (50.0, 75.0)] {
        for (on, off) in [(3.0, 3.0), (2.5, 2.0), (4.0, 10.0)] {
            for (share, uploads) in [(1.3, false), (1.3, true), (0.93, false), (0.93, true)] {
                let mut cell = cell(share, carries, packets, uploads);
                let mut within = None;
                for round in 0..20 {
                    cell.is_paused = false;
                    cell.run(on);
                    cell.is_paused = true;
                    cell.run(off);
                    within = within.or(told(&cell).map(|_| round));
                }
                println!(
                    "{carries} Mbit/s, {packets} packets, {on} s on, {off} s off, C {share}, uploads {uploads}: round {within:?}, {:?}",
                    told(&cell)
                );
                let is_told = told(&cell).is_some();
                assert_eq!(is_told, share > 1.0, "{carries} {packets} {on} {off} {share} {uploads}");
            }
        }
    }
}
