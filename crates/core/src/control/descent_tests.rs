//! `adaptive` beside load that does not back off, and beside crowds that answer late.

use super::testbed::{Cell, MBPS};
use super::{AdaptiveParams, CapacityController, CapacityParams, Decision};
use crate::rng::Rng;
use crate::units::Bitrate;

/// A cell of `carries` Mbit/s behind an AP with room for `packets`, and `max` of twice that.
fn cell(carries: f64, packets: f64, stations: usize) -> Cell {
    let params = CapacityParams::Adaptive(AdaptiveParams {
        max: Bitrate::mbps(2 * carries as u64),
        ..AdaptiveParams::default()
    });
    let mut cell = Cell::new(CapacityController::new(&params, stations, Rng::fork(1, "test")), stations);
    (cell.carries, cell.buffer, cell.jitter) = (carries * MBPS, packets * 1500.0, 0.0004);
    cell
}

fn trace(decisions: &[Decision]) -> String {
    let line = |d: &Decision| {
        format!("{:.1} {:.2} {:?} {:?}", d.at.as_secs_f64(), d.capacity.as_bps() as f64 / MBPS, d.state, d.reason)
    };
    decisions.iter().rev().take(60).rev().map(line).collect::<Vec<_>>().join("\n")
}

/// All of C is UDP, from the start or after a pause: what the AP drops is not taken for what the cell carries.
#[test]
fn what_the_ap_drops_is_not_what_the_cell_carries() {
    let mut failed = Vec::new();
    for (carries, packets) in [(5.0, 75.0), (20.0, 20.0), (20.0, 100.0), (50.0, 75.0), (100.0, 75.0), (200.0, 250.0)] {
        for idle in [0.0, 5.0] {
            for carries_later in [1.0, 0.6] {
                let mut cell = cell(carries, packets, 5);
                cell.drops = true;
                cell.load = if idle > 0.0 { 0.1 * carries * MBPS } else { f64::INFINITY };
                cell.run(idle);
                cell.load = f64::INFINITY;
                cell.run(10.0);
                cell.carries *= carries_later;
                cell.run(10.0);
                let (mut lost, mut sum, mut most): (f64, f64, f64) = (0.0, 0.0, 0.0);
                for _ in 0..600 {
                    cell.run(0.1);
                    let share = cell.c() / cell.carries;
                    (sum, most) = (sum + share / 600.0, most.max(share));
                    lost += cell.lost() / 600.0;
                }
                println!(
                    "{carries} Mbit/s, {packets} packets, idle {idle}, then {carries_later}: C {sum:.3}, at most {most:.2}, lost {lost:.4}"
                );
                if !(0.88..1.0).contains(&sum) || lost > 0.005 {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((carries, packets, idle, carries_later, sum, lost));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// UDP goes down at any rate, calls come up past the box, and one station does not answer: C is what the calls leave. When they end
/// it is what the cell carries, soon.
#[test]
fn c_is_what_calls_leave_beside_a_load_that_does_not_back_off() {
    let mut failed = Vec::new();
    for (carries, packets) in [(10.0, 20.0), (10.0, 75.0), (10.0, 300.0), (20.0, 20.0), (20.0, 75.0), (50.0, 75.0)] {
        for (part, is_deaf) in [(0.3, false), (0.3, true), (0.1, false), (0.1, true)] {
            for idle in [0.0, 5.0] {
                let mut cell = cell(carries, packets, 6);
                (cell.drops, cell.calls) = (true, if idle > 0.0 { 0.0 } else { part * carries * MBPS });
                cell.deaf[3] = is_deaf;
                cell.load = if idle > 0.0 { 0.1 * carries * MBPS } else { f64::INFINITY };
                cell.run(idle);
                (cell.load, cell.calls) = (f64::INFINITY, part * carries * MBPS);
                cell.run(12.0);
                let (mut lost, mut sum, mut least): (f64, f64, f64) = (0.0, 0.0, f64::INFINITY);
                for _ in 0..400 {
                    cell.run(0.1);
                    let share = cell.c() / (cell.carries - cell.calls);
                    (sum, least) = (sum + share / 400.0, least.min(share));
                    lost += cell.lost() / 400.0;
                }
                cell.calls = 0.0;
                cell.run(6.0);
                let mut later = 0.0;
                for _ in 0..40 {
                    cell.run(0.1);
                    later += cell.c() / cell.carries / 40.0;
                }
                println!(
                    "{carries} Mbit/s, {packets} packets, calls {part}, deaf {is_deaf}, idle {idle}: C {sum:.3}, at least {least:.2}, lost {lost:.4}, later {later:.3}"
                );
                if !(0.88..1.0).contains(&sum) || lost > 0.005 || least < 0.5 || later < 0.85 {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((carries, packets, part, is_deaf, idle, sum, least, lost, later));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Addresses of one device answer late, always or on and off, beside five honest stations: C is lower for some seconds and then
/// what it was. Where the crowd carries most of the bytes it takes longer.
#[test]
fn a_crowd_that_answers_late_is_found_out() {
    let mut failed = Vec::new();
    for late in [0.1, 0.15, 0.25, 0.3, 0.6] {
        for (crowd, part) in [(30, 1.0), (60, 1.0), (60, 0.03)] {
            for period in [0, 5, 20, 100] {
                let mut cell = cell(10.0, 100.0, 5 + crowd);
                cell.load_greedily(10.0 * MBPS, 100.0, 5);
                cell.is_on = true;
                cell.parts[5..].fill(part);
                cell.run(8.0);
                let mut sum = 0.0;
                for tenth in 0..600 {
                    let is_late = period == 0 || tenth / period % 2 == 0;
                    cell.late[5..].fill(if is_late { late } else { 0.0 });
                    cell.run(0.1);
                    sum += cell.c() / cell.carries / 600.0;
                }
                cell.late[5..].fill(0.0);
                cell.run(15.0);
                let later = cell.c() / cell.carries;
                println!("{crowd} of {part} that are {late} s late every {period}: mean {sum:.3}, later {later:.2}");
                if sum < if part < 1.0 { 0.7 } else { 0.35 } || !(0.7..1.15).contains(&later) {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((late, crowd, part, period, sum, later));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// UDP to all stations, and nothing comes up but what the AP lets through of the answers to probes: that is no silence. C is what the
/// cell carries within fifteen seconds.
#[test]
fn a_load_that_nobody_answers_is_no_silence() {
    let mut failed = Vec::new();
    for (carries, packets) in [(5.0, 75.0), (20.0, 100.0), (30.0, 100.0), (100.0, 250.0)] {
        for idle in [0.0, 5.0] {
            for deaf in [0, 3, 5] {
                let mut cell = cell(carries, packets, 5);
                cell.is_one_way = true;
                cell.deaf[..deaf].fill(true);
                cell.load = if idle > 0.0 { 0.1 * carries * MBPS } else { 1.5 * carries * MBPS };
                cell.run(idle);
                cell.load = 1.5 * carries * MBPS;
                cell.run(15.0);
                let (mut lost, mut sum): (f64, f64) = (0.0, 0.0);
                for _ in 0..300 {
                    cell.run(0.1);
                    sum += cell.c() / cell.carries / 300.0;
                    lost += cell.lost() / 300.0;
                }
                println!("{carries} Mbit/s, {packets} packets, idle {idle}, {deaf} deaf: C {sum:.3}, lost {lost:.4}");
                // Who never answers tells nothing: C stays, and `blind` is told.
                if deaf < 5 && (!(0.8..1.0).contains(&sum) || lost > 0.01) {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((carries, packets, idle, deaf, sum, lost));
                }
                if deaf == 5 {
                    assert_eq!(cell.control_state(), super::State::Blind);
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// The radio is dead for a while, and UDP goes on: C is soon what it was.
#[test]
fn a_dead_radio_beside_udp_does_not_lower_c() {
    let mut failed = Vec::new();
    for carries in [5.0, 20.0, 100.0] {
        for share in [0.05, 0.15, 0.4] {
            for dead in [1.0, 3.0, 5.0, 10.0, 30.0] {
                let mut cell = cell(carries, 100.0, 5);
                cell.load_greedily(carries * MBPS, 100.0, 8);
                cell.is_on = true;
                cell.one_way = share * carries * MBPS;
                cell.run(20.0);
                let before = cell.c() / cell.carries;
                cell.silent = true;
                cell.run(dead);
                cell.silent = false;
                cell.run(6.0);
                let mut sum = 0.0;
                for _ in 0..100 {
                    cell.run(0.1);
                    sum += cell.c() / cell.carries / 100.0;
                }
                println!("{carries} Mbit/s, UDP {share}, dead for {dead} s: C {before:.3}, then {sum:.3}");
                if !(0.85..=1.05).contains(&sum) {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((carries, share, dead, before, sum));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Many addresses of one device that carry next to nothing all answer late, beside few honest stations: they do not outvote these.
#[test]
fn addresses_that_carry_nothing_do_not_outvote_stations() {
    let mut failed = Vec::new();
    for honest in [2, 3, 5] {
        for late in [0.05, 0.15, 0.3] {
            for (crowd, part) in [(60, 0.002), (120, 0.001), (120, 0.0003), (120, 0.005)] {
                let mut cell = cell(15.0, 100.0, honest + crowd);
                cell.parts[honest..].fill(0.0);
                cell.wakes_late = 0.003;
                cell.load_greedily(15.0 * MBPS, 100.0, 5);
                cell.is_on = true;
                cell.run(8.0);
                cell.parts[honest..].fill(part);
                cell.late[honest..].fill(late);
                let (mut sum, mut least): (f64, f64) = (0.0, f64::INFINITY);
                for _ in 0..600 {
                    cell.run(0.1);
                    let share = cell.c() / cell.carries;
                    (sum, least) = (sum + share / 600.0, least.min(share));
                }
                println!("{honest} and {crowd} of {part} that are {late} s late: mean {sum:.3}, at least {least:.2}");
                if sum < 0.85 || least < 0.5 {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((honest, late, crowd, part, sum, least));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// A station sends bare segments that nobody answers: C is what the cell carries but for those that the box drops, and no queue
/// stands in the AP. From the start, later, and where the cell becomes slower. A station takes half of the air at most: the AP
/// contends with it.
#[test]
fn what_a_station_sends_unasked_is_no_answer() {
    let mut failed = Vec::new();
    for carries in [6.0, 20.0, 50.0] {
        for packets in [75.0, 300.0] {
            for share in [0.15, 0.3, 0.5] {
                for (early, slower) in [(true, 1.0), (false, 1.0), (false, 0.6), (false, 0.4), (true, 0.4)] {
                    let mut cell = cell(carries, packets, 5);
                    cell.load_greedily(carries * MBPS, packets, 4);
                    cell.flood = if early { share * carries * MBPS } else { 0.0 };
                    cell.run(3.0);
                    cell.is_on = true;
                    cell.run(15.0);
                    cell.flood = share * carries * MBPS * slower;
                    cell.carries *= slower;
                    cell.run(8.0);
                    let (mut sum, mut delay) = (0.0, 0.0);
                    for _ in 0..100 {
                        cell.run(0.1);
                        sum += cell.c() / cell.carries / 100.0;
                        delay += cell.delay() / 100.0;
                    }
                    println!(
                        "{carries} Mbit/s, {packets} packets, {share} of it unasked, early {early}, then {slower}: C {sum:.3}, delay {:.1} ms",
                        delay * 1e3
                    );
                    if delay > 0.06 || sum < 0.8 * (1.0 - share).max(0.6) {
                        if failed.is_empty() {
                            println!("{}", trace(&cell.decisions));
                        }
                        failed.push((carries, packets, share, early, slower, sum, delay));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// UDP to each station, of which one asks for less than its part: it waits nowhere, and no queue elsewhere holds it back. C is what
/// the cell carries.
#[test]
fn a_sender_that_minds_no_loss_is_not_held_back_elsewhere() {
    let mut failed = Vec::new();
    for (carries, asks) in [(20.0, [30.0, 5.0, 12.0]), (20.0, [30.0, 6.0, 30.0]), (50.0, [70.0, 10.0, 40.0])] {
        for packets in [50.0, 100.0, 300.0] {
            for jitter in [0.0004, 0.002] {
                let mut cell = cell(carries, packets, 3);
                cell.asks = asks.map(|rate| rate * MBPS).to_vec();
                cell.jitter = jitter;
                cell.run(20.0);
                let (mut lost, mut sum): (f64, f64) = (0.0, 0.0);
                for _ in 0..600 {
                    cell.run(0.1);
                    sum += cell.c() / cell.carries / 600.0;
                    lost += cell.lost() / 600.0;
                }
                println!("{carries} Mbit/s, {asks:?}, {packets} packets, jitter {jitter}: C {sum:.3}, lost {lost:.4}");
                if !(0.93..1.0).contains(&sum) || lost > 0.01 {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((carries, asks, packets, jitter, sum, lost));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// UDP above what the cell carries beside TCP, started under load, and nobody answers: the stations that have nothing waiting tell
/// what the cell carries, and C goes nowhere near nothing.
#[test]
fn udp_beside_tcp_where_nobody_answers_does_not_lower_c_far() {
    let mut failed = Vec::new();
    for (carries, packets) in [(10.0, 75.0), (20.0, 75.0), (20.0, 300.0), (50.0, 100.0)] {
        for udp in [0.5, 1.2, 2.0] {
            for max in [1.3, 2.0, 10.0] {
                let params = CapacityParams::Adaptive(AdaptiveParams {
                    max: Bitrate::from_bps((max * carries * MBPS) as u64),
                    ..AdaptiveParams::default()
                });
                let mut cell = Cell::new(CapacityController::new(&params, 5, Rng::fork(1, "test")), 5);
                cell.load_greedily(carries * MBPS, packets, 8);
                cell.one_way = udp * carries * MBPS;
                cell.deaf.fill(true);
                cell.run(3.0);
                cell.is_on = true;
                let mut least = f64::INFINITY;
                let mut sum = 0.0;
                for tenth in 0..400 {
                    cell.run(0.1);
                    let c = cell.c() / cell.carries;
                    least = least.min(c);
                    sum += if tenth >= 150 { c / 250.0 } else { 0.0 };
                }
                println!(
                    "{carries} Mbit/s, {packets} packets, UDP {udp}, max {max}: C at least {least:.2}, later {sum:.3}"
                );
                if least < 0.45 || !(0.7..1.1).contains(&sum) {
                    if failed.is_empty() {
                        println!("{}", trace(&cell.decisions));
                    }
                    failed.push((carries, packets, udp, max, least, sum));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
