//! The controllers in the cell: bar 5's traces, detti2011 Figs. 4 and 12.
//!
//! `cargo test --release -p fairair-sim --test control -- --nocapture` prints the tables.
//!
//! `adaptive` was designed while looking at replicas 0-99. The traces are therefore judged on replicas 100-199, and by how
//! many of them meet the bar; `FIRST_REPLICA=300` judges another hundred (docs/remedies-box.md has both).

mod common;

use common::{mean, parse, runs, station_kbps, tcp_capacity, within};
use fairair_core::mac::{AirBody, AirFrame};
use fairair_core::packet::{NodeId, Segment};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

const REPLICAS: u32 = 5;
/// Replicas that the design was not chosen on.
fn held_out() -> std::ops::Range<u32> {
    let first = common::first_replica(100);
    first..first + 100
}
/// Largest C of both controllers, where they begin.
const MAX: f64 = 6e6;
/// When things happen in the traces.
const EVENT: f64 = 30.0;

/// Five stations with two downloads each at `rate`, and what happens to them.
fn cell(rate: &str, controller: &str, events: &str) -> String {
    format!(
        r#"
name = "control"
[run]
duration = "60 s"
warmup = "10 s"
[radio]
rate = "{rate}"
basic_rate = "2 Mbit/s"
[ap]
queue = {{ kind = "droptail", limit = 75 }}
[[station]]
name = "sta"
count = 5
flows = [{{ direction = "down", count = 2 }}]
[enforce]
capacity = {{ kind = "{controller}" }}
{events}
"#
    )
}

fn event(keys: &str) -> String {
    format!("[[event]]\nat = \"30 s\"\n{keys}\n")
}

/// What the cell carries without losses, bit/s.
fn capacity(rate: &str) -> f64 {
    let mut scenario = parse(&cell(rate, "wce", "").replace("limit = 75", "limit = 100000"));
    scenario.enforce = None;
    tcp_capacity(&runs(&scenario, 2), 1460).as_bps() as f64
}

/// C at a time in seconds.
fn c_at(record: &Record, at: f64) -> f64 {
    let trace = &record.enforce.as_ref().expect("a box").trace;
    let past = trace.partition_point(|decision| decision.at.as_secs_f64() <= at);
    past.checked_sub(1).map_or(MAX, |last| trace[last].capacity.as_bps() as f64)
}

/// C every 50 ms from `from` to `to` seconds, with the times.
fn samples(record: &Record, from: f64, to: f64) -> Vec<(f64, f64)> {
    let number = ((to - from) / 0.05) as u32;
    (0..number).map(|n| from + f64::from(n) * 0.05).map(|at| (at, c_at(record, at))).collect()
}

fn mean_c(record: &Record, from: f64, to: f64) -> f64 {
    let samples = samples(record, from, to);
    samples.iter().map(|(_, c)| c).sum::<f64>() / samples.len() as f64
}

fn least_c(record: &Record, from: f64, to: f64) -> f64 {
    samples(record, from, to).into_iter().fold(f64::MAX, |least, (_, c)| least.min(c))
}

/// A replica, and the 95th percentile of the delay in the AP's queue from second 15 to 30, in ms.
fn watched(text: &str, replica: u32) -> (Record, f64) {
    let mut delays = Vec::new();
    let mut monitor = |frame: &AirFrame<Segment>| {
        if let AirBody::Data { packet, retry: false, .. } = &frame.body
            && frame.transmitter == NodeId::AP
            && (15.0..EVENT).contains(&frame.at.as_secs_f64())
        {
            delays.push(frame.at.saturating_since(packet.enqueued_at).as_secs_f64() * 1e3);
        }
    };
    let record = fairair_sim::run_monitored(&parse(text), replica, Some(&mut monitor));
    delays.sort_by(f64::total_cmp);
    let p95 = delays[delays.len() * 95 / 100];
    (record, p95)
}

/// Prints a row for each controller and returns the share of `adaptive`'s replicas that are within `bar`.
fn compare(what: &str, scenario: impl Fn(&str) -> String, bar: f64, of: impl Fn(&Record) -> f64) -> f64 {
    let mut met = 0.0;
    for controller in ["wce", "adaptive"] {
        let scenario = parse(&scenario(controller));
        let mut numbers: Vec<f64> = held_out().map(|replica| of(&fairair_sim::run(&scenario, replica))).collect();
        numbers.sort_by(f64::total_cmp);
        let n = numbers.len();
        met = numbers.partition_point(|number| *number <= bar) as f64 / n as f64;
        let [median, p90, worst] = [numbers[n / 2], numbers[n * 9 / 10], numbers[n - 1]];
        println!(
            "{what:<42} {controller:<9} median {median:>6.2} p90 {p90:>6.2} worst {worst:>6.2}, {met:.2} within {bar}"
        );
    }
    met
}

/// Bar 5: at least 92 % of the capacity, and p95 of the AP's queue under the larger of 30 ms and 6 frame exchanges.
#[test]
fn steady_state() {
    // DIFS, mean backoff, DATA, SIFS, ACK of 1500 B: 1.93 ms at 11 Mbit/s, 6.95 ms at 2.
    for (rate, bound_ms) in [("11 Mbit/s", 30.0), ("2 Mbit/s", 41.7)] {
        let carried = capacity(rate);
        for controller in ["wce", "adaptive"] {
            let all: Vec<_> = held_out().take(20).map(|r| watched(&cell(rate, controller, ""), r)).collect();
            let shares = all.iter().map(|(record, _)| mean_c(record, 15.0, 60.0) / carried);
            let share = shares.sum::<f64>() / all.len() as f64;
            let p95 = all.iter().map(|(_, p95)| p95).sum::<f64>() / all.len() as f64;
            let worst = all.iter().map(|(_, p95)| *p95).fold(0.0, f64::max);
            println!("{rate}, {controller}: worst replica's p95 {worst:.1} ms");
            println!("{rate}, {controller}: C {:.1} % of {:.2} Mbit/s, p95 {p95:.1} ms", share * 100.0, carried / 1e6);
            if controller == "adaptive" {
                within("C over capacity", share, 0.92, 1.05);
                within("p95 of the AP's queue, ms", p95, 0.0, bound_ms);
            }
        }
    }
}

/// Seconds from the event until C is within 15 % of `carried`.
fn seconds_to(record: &Record, carried: f64) -> f64 {
    let near = |(_, c): &(f64, f64)| (c / carried - 1.0).abs() <= 0.15;
    samples(record, EVENT, 60.0).iter().find(|sample| near(sample)).map_or(f64::INFINITY, |(at, _)| at - EVENT)
}

/// Bar 5: a drop within 1.5 s, a rise within 5 s.
///
/// After a drop C first goes to what the cell delivers, and then to a quarter of it until the AP's queue is gone: for how
/// long is measured too, and how steady C is from four seconds after the drop on.
#[test]
fn drop_and_rise() {
    // 5.5 to 1 Mbit/s is the bar's 4 : 1 in what the cell carries; 11 to 2 is 3.3 : 1.
    for (fast, slow) in [("5.5 Mbit/s", "1 Mbit/s"), ("11 Mbit/s", "2 Mbit/s")] {
        // A basic rate that all data rates allow.
        let low = |text: String| if slow == "1 Mbit/s" { text.replace("rate = \"2 M", "rate = \"1 M") } else { text };
        let carries = |rate: &str| {
            let mut scenario = parse(&low(cell(rate, "wce", "")).replace("limit = 75", "limit = 100000"));
            scenario.enforce = None;
            tcp_capacity(&runs(&scenario, 2), 1460).as_bps() as f64
        };
        let (high_c, low_c) = (carries(fast), carries(slow));
        println!("{fast} carries {:.2}, {slow} {:.2} Mbit/s, ratio {:.2}", high_c / 1e6, low_c / 1e6, high_c / low_c);
        let to = |rate: &str| event(&format!("kind = \"rate\"\nrate = \"{rate}\""));
        let drop = |controller: &str| low(cell(fast, controller, &to(slow)));
        let rise = |controller: &str| low(cell(slow, controller, &to(fast)));
        let dropped = compare("drop: seconds to within 15 %", drop, 1.5, |r| seconds_to(r, low_c));
        let drained = compare("drop: seconds until C is last below half", drop, 3.0, |record| {
            let all = samples(record, EVENT, EVENT + 15.0);
            all.iter().rev().find(|(_, c)| *c < 0.5 * low_c).map_or(0.0, |(at, _)| at - EVENT)
        });
        compare("drop: % of 4-15 s with C 15 % off", drop, 25.0, |record| {
            let all = samples(record, EVENT + 4.0, EVENT + 15.0);
            all.iter().filter(|(_, c)| (c / low_c - 1.0).abs() > 0.15).count() as f64 / all.len() as f64 * 100.0
        });
        let risen = compare("rise: seconds to within 15 %", rise, 5.0, |r| seconds_to(r, high_c));
        assert!(dropped >= 0.95 && risen >= 0.95, "{dropped} {risen}");
        // No bar: the price of an empty queue.
        assert!(drained >= 0.95, "{drained}");
    }
}

/// Bar 5: C falls less than 10 % in four false alarms. C moves by some per cent of its own accord, so the same is measured
/// without any alarm; a fall beyond the bar in a replica of a hundred is that.
#[test]
fn false_alarms() {
    let deaf = |station: u32| event(&format!("kind = \"deaf\"\nstation = \"sta-{station}\""));
    for (what, events) in [
        ("no alarm: fall in %", String::new()),
        ("a second of silence: fall in %", event("kind = \"silence\"\nlasts = \"1 s\"")),
        ("three of five stations deaf: fall in %", deaf(1) + &deaf(2) + &deaf(3)),
        ("all probes lost: fall in %", event("kind = \"deaf\"")),
        ("a sleeping station: fall in %", event("kind = \"sleep\"\nstation = \"sta-1\"")),
    ] {
        let fall = |record: &Record| (1.0 - least_c(record, EVENT, EVENT + 10.0) / c_at(record, EVENT - 0.01)) * 100.0;
        let met = compare(what, |controller| cell("11 Mbit/s", controller, &events), 10.0, fall);
        assert!(met >= 0.97, "{what}: {met}");
    }
}

/// detti2011 Fig. 4: no traffic, a station at 11 Mbit/s from 25 s, one at 2 Mbit/s from 57 s to 90 s.
/// The paper's WCE shows 6, about 5.4, about 2.4 and 5.4 Mbit/s.
#[test]
fn detti2011_figure_4() {
    for controller in ["wce", "adaptive"] {
        let text = format!(
            r#"
name = "figure-4"
[run]
duration = "120 s"
warmup = "0 s"
start_spread = "0 s"
[ap]
queue = {{ kind = "droptail", limit = 75 }}
[[station]]
name = "fast"
flows = [{{ direction = "down", start = "25 s" }}]
[[station]]
name = "slow"
rate = "2 Mbit/s"
flows = [{{ direction = "down", start = "57 s", stop = "90 s" }}]
[enforce]
capacity = {{ kind = "{controller}" }}
"#
        );
        let records = runs(&parse(&text), REPLICAS);
        let spans = [(5.0, 25.0), (30.0, 57.0), (62.0, 90.0), (95.0, 120.0)];
        let mean = |(from, to)| records.iter().map(|r| mean_c(r, from, to)).sum::<f64>() / f64::from(REPLICAS) / 1e6;
        let c = spans.map(mean);
        println!("Fig. 4, {controller}: {c:.2?} Mbit/s (the paper: 6, 5.4, 2.4, 5.4)");
        within("idle", c[0], 6.0, 6.0);
        within("one fast station", c[1], 4.6, 6.0);
        within("with a slow one", c[2], 2.0, 3.0);
        within("one fast station again", c[3], 4.6, 6.0);
    }
}

/// detti2011 Fig. 12: four connections against one; the box comes on at 165 s.
#[test]
fn detti2011_figure_12() {
    let text = r#"
name = "figure-12"
[run]
duration = "205 s"
warmup = "0 s"
[ap]
queue = { kind = "droptail", limit = 75 }
[[station]]
name = "accelerated"
flows = [{ direction = "down", count = 4, start = "60 s" }]
[[station]]
name = "plain"
flows = [{ direction = "down" }]
[enforce]
capacity = "auto"
[[event]]
at = "165 s"
kind = "enforce"
"#;
    let ratio = |from: u32, to: u32| {
        let scenario = parse(&text.replace("205 s", &format!("{to} s")).replace("\"0 s\"", &format!("\"{from} s\"")));
        common::fairness_level(&runs(&scenario, 3))
    };
    within("before", ratio(100, 166), 3.0, 5.0);
    within("ten seconds after the box comes on", ratio(175, 205), 0.9, 1.1);
}

/// Twenty stations, and one more that sends 1 Mbit/s of UDP past the box: goodput of TCP with `adaptive`, as a share of that without.
#[test]
fn uplink_udp_beside_twenty_stations_does_not_lower_c() {
    let (up, down) = ("{ direction = \"up\", start = \"4 s\" }", "{ direction = \"down\", start = \"4 s\" }");
    let station = |name: &str, count: u32, flows: &str| {
        format!("[[station]]\nname = \"{name}\"\ncount = {count}\nbeta = 1.2\nflows = [{flows}]\n")
    };
    let cell = "[run]\nduration = \"75 s\"\nwarmup = \"25 s\"\n[radio]\nphy = \"802.11b\"\n[ap]\nqueue = { kind = \"droptail\", limit = 75 }\n\
                [tcp]\nvariant = \"reno\"\nwindow = 42\n";
    let udp = station("udp", 1, "{ direction = \"up\", kind = \"udp\", rate = \"1 Mbit/s\" }");
    let stations =
        station("up", 5, up) + &station("down", 5, down) + &station("both", 10, &format!("{up}, {down}")) + &udp;
    let without = parse(&format!("name = \"twenty\"\n{cell}{stations}"));
    let with = parse(&format!("name = \"twenty\"\n{cell}{stations}[enforce]\ncapacity = {{ kind = \"adaptive\" }}\n"));
    let goodput = |scenario: &Scenario| {
        mean(&runs(scenario, 4), |record| (0..20).map(|station| station_kbps(record, station)).sum())
    };
    let share = goodput(&with) / goodput(&without);
    println!("goodput with adaptive: {share:.3} of that without");
    assert!(share > 0.86, "{share}");
}
