//! How long a packet waits in the box while its station's class is full.

use std::fmt::Write as _;

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{in_box, troubles, two, until};
use crate::worker::{Transfer, down, spawn, start, up};

/// Five stations at an AP of `rate`; `more` stands before the AP.
fn five(rate: &str, more: &str) -> String {
    let mut text = format!("{more}\n[[ap]]\nname = \"ap1\"\ninterface = \"lan\"\ncapacity = \"{rate}\"\n");
    for own in 2..7 {
        let _ = write!(text, "[[station]]\nname = \"s{own}\"\naddresses = [\"10.1.0.{own}\"]\n");
    }
    text
}

/// 95th percentile of the round trips, in ms, of 100 pings by the station at `address`.
fn ping_p95(bench: &Bench, address: &str) -> f64 {
    let words = ["ping", "-n", "-i", "0.05", "-c", "100", "-W", "5", "-I", address, "10.2.0.2"];
    let output = bench.command(Place::Stations, &words).output().expect("ping");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let times = printed.split("time=").skip(1).filter_map(|rest| rest.split(' ').next()?.parse().ok());
    let mut times: Vec<f64> = times.collect();
    // A lost ping has waited for ever.
    times.resize(100, f64::INFINITY);
    times.sort_by(f64::total_cmp);
    times[94]
}

/// Round trips of an uploader, of another station and of all transfers' goodputs in Mbit/s: one has four uploads, four download.
fn loaded(text: &str) -> (f64, f64, Vec<f64>) {
    let bench = Bench::shaping(5, text);
    let mut all: Vec<Transfer<'_>> = vec![up("10.1.0.2"); 4];
    all.extend(["10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6"].map(down));
    let transfers = start(&bench, &all, 4, 14);
    std::thread::sleep(std::time::Duration::from_secs(4));
    let (own, other) = (ping_p95(&bench, "10.1.0.2"), ping_p95(&bench, "10.1.0.3"));
    if std::env::var_os("SHOW").is_some() {
        println!("{}", in_box(&bench, "tc -s qdisc show dev fairair0"));
    }
    (own, other, transfers.finish())
}

fn level(rates: &[f64]) -> f64 {
    rates[..4].iter().sum::<f64>() / (rates[4..].iter().sum::<f64>() / 4.0)
}

/// With 200 packets a class at 1 Mbit/s the uploader waited for more than a second.
#[test]
fn pings_of_an_uploader_do_not_wait_for_its_upload() {
    needs_root!();
    let (own, other, rates) = loaded(&five("5 Mbit/s", ""));
    let (own_200, other_200, rates_200) = loaded(&five("5 Mbit/s", "queue = 200\nleaf = \"fifo\""));
    let sum = |rates: &[f64]| rates.iter().sum::<f64>() / 1e6;
    println!(
        "5 Mbit/s, ping p95 in ms of the uploader and of a downloader: {own:.0}, {other:.0}; with 200 packets: {own_200:.0}, {other_200:.0}"
    );
    println!(
        "goodput in Mbit/s and level: {:.3}, {:.3}; with 200 packets: {:.3}, {:.3}",
        sum(&rates),
        level(&rates),
        sum(&rates_200),
        level(&rates_200)
    );
    assert!(own < 120.0 && other < 120.0, "{own} and {other}");
    assert!(sum(&rates) > 0.97 * sum(&rates_200), "{rates:?} against {rates_200:?}");
    assert!((level(&rates) - 1.0).abs() < 0.07, "{rates:?}");
}

#[test]
fn pings_at_200_mbit_do_not_wait_for_transfers() {
    needs_root!();
    let (own, other, rates) = loaded(&five("200 Mbit/s", ""));
    let (own_200, _, rates_200) = loaded(&five("200 Mbit/s", "queue = 200\nleaf = \"fifo\""));
    let sum = |rates: &[f64]| rates.iter().sum::<f64>() / 1e6;
    println!(
        "200 Mbit/s, ping p95 in ms of the uploader and of a downloader: {own:.1}, {other:.1}; with 200 packets: {own_200:.1}"
    );
    println!(
        "goodput in Mbit/s and level: {:.1}, {:.3}; with 200 packets: {:.1}, {:.3}",
        sum(&rates),
        level(&rates),
        sum(&rates_200),
        level(&rates_200)
    );
    assert!(own < 25.0 && other < 25.0, "{own} and {other}");
}

#[test]
fn pings_of_a_capped_station_do_not_wait_for_its_download() {
    needs_root!();
    let text = five("20 Mbit/s", "").replace("name = \"s3\"", "name = \"s3\"\ncap = \"0.3 Mbit/s\"");
    let (_, capped, rates) = loaded(&text);
    println!("a cap of 0.3 Mbit/s, ping p95: {capped:.0} ms; goodput {:.3} Mbit/s", rates[4] / 1e6);
    assert!(capped < 300.0, "{capped}");
    assert!((0.85..1.0).contains(&(rates[4] / 0.3e6)), "{rates:?}");
}

/// The limit is the class's, however many flows there are: eight that slow down for nobody held up to eight times as much.
#[test]
fn a_station_with_many_flows_holds_as_much_as_with_one() {
    needs_root!();
    let bench = Bench::shaping(1, &two());
    let mut senders: Vec<_> = (0..8).map(|_| spawn(&bench, Place::Host, "flood 6001 1 2000")).collect();
    for sender in &mut senders {
        sender.said("BEGINS");
    }
    std::thread::sleep(std::time::Duration::from_secs(3));
    let held = |_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let shown = in_box(&bench, "tc -s class show dev fairair0 classid 1:1000");
        let backlog = shown.split(" backlog ").nth(1).and_then(|rest| rest.split('b').next()).expect("a backlog");
        // As `300Kb` from some thousands on.
        let bytes =
            backlog.strip_suffix('K').map_or_else(|| backlog.parse(), |kilo| kilo.parse().map(|k: f64| k * 1e3));
        bytes.expect("a number")
    };
    let mut all: Vec<f64> = (0..20).map(held).collect();
    all.sort_by(f64::total_cmp);
    let limit = 20e6 / 8.0 * 0.05;
    println!("eight flows hold {:.0} kB at the median; 50 ms are {:.0} kB", all[10] / 1e3, limit / 1e3);
    assert!(all[10] < 1.5 * limit, "{all:?}");
}

/// A class whose rate or queue others have changed is put right, and that is told.
#[test]
fn parameters_that_others_changed_are_put_right() {
    needs_root!();
    let bench = Bench::shaping_light(5, &five("5 Mbit/s", ""));
    let show = || in_box(&bench, "tc class show dev fairair0 parent 1:");
    let sorted = |text: String| {
        let mut lines: Vec<_> = text
            .lines()
            .map(|line| line.split("leaf").next().unwrap_or("").to_owned() + line.split("prio").nth(1).unwrap_or(""))
            .collect();
        lines.sort();
        lines
    };
    let whole = sorted(show());
    for deed in [
        "tc class change dev fairair0 parent 1: classid 1:11 htb rate 1mbit ceil 1mbit quantum 1500",
        "tc class change dev fairair0 parent 1:11 classid 1:1000 htb rate 8bit ceil 64kbit quantum 1500",
        "tc class change dev fairair0 parent 1:11 classid 1:1010 htb rate 8bit ceil 40gbit burst 1600 cburst 1600 quantum 9000",
    ] {
        let told = bench.log().matches("parameters of 1 classes were changed by others").count();
        in_box(&bench, deed);
        until(8, &bench, || {
            sorted(show()) == whole
                && bench.log().matches("parameters of 1 classes were changed by others").count() == told + 1
        });
        assert!(troubles(&bench).contains("others changed classes"), "{}", troubles(&bench));
    }
    for deed in [
        "tc qdisc change dev fairair0 parent 2101:10 bfifo limit 1500",
        "tc qdisc replace dev fairair0 parent 102:1 pfifo limit 5",
    ] {
        let told = bench.log().matches("queues of 1 classes were changed by others").count();
        in_box(&bench, deed);
        until(15, &bench, || bench.log().matches("queues of 1 classes were changed by others").count() == told + 1);
    }
    let queues = in_box(&bench, "tc qdisc show dev fairair0");
    assert!(!queues.contains("limit 1500b") && !queues.contains("limit 5p"), "{queues}");
}
