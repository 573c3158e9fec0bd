//! `[wan]`: the Internet link as a second bottleneck.

use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{furnish, in_box, reaches, reload, stop, troubles, two, until};
use crate::worker::{Transfer, down, goodputs, start, up};

/// A cell of `cell` Mbit/s with stations a, b and c, under a link.
fn site(cell: u32, wan: &str) -> String {
    let third = "[[station]]\nname = \"c\"\naddresses = [\"10.1.0.4\"]\n";
    format!("{}{third}{wan}", two().replace("20 Mbit/s", &format!("{cell} Mbit/s")))
}

/// How often a goodput is measured that a machine busy with something else lowers: once in so many times it has to be reached.
const TRIES: u32 = 3;

const LINK: &str = "[wan]\nup = \"10 Mbit/s\"\ndown = \"50 Mbit/s\"\n";

/// Round-trip times in ms of `count` pings from `station` to the host, ten a second.
fn pings(bench: &Bench, station: &str, count: u32) -> Vec<f64> {
    let script = format!("ping -n -I {station} -i 0.1 -c {count} -W 2 10.2.0.2 | grep -o 'time=[0-9.]*' | cut -d= -f2");
    let shown = bench.run(Place::Stations, &["bash", "-c", &script]);
    shown.lines().map(|line| line.parse().expect("a time")).collect()
}

fn p95(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() * 95 / 100]
}

/// IP bytes that the classes of stations a, b and c have sent in a direction of the link.
fn sent(bench: &Bench, direction: &str) -> [f64; 3] {
    let shown = in_box(bench, &format!("tc -s class show dev fairair.{direction}"));
    ["1:1000", "1:1010", "1:1020"].map(|class| {
        let own = shown.split("class htb ").find(|part| part.starts_with(&format!("{class} "))).expect("a class");
        own.split("Sent ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("bytes")
    })
}

/// Issue 13, bar 6: whatever the number and direction of their connections, stations share each direction of the link
/// within 5 %, and the queue stands in the box, short.
#[test]
fn each_direction_of_the_link_is_shared_and_waits_in_the_box() {
    needs_root!();
    let bench = Bench::shaping(4, &site(100, LINK));
    let idle = p95(&mut pings(&bench, "10.1.0.5", 30));
    // a uploads, c downloads, b does both.
    let mut all = vec![up("10.1.0.2"); 4];
    all.extend([up("10.1.0.3"), down("10.1.0.3")]);
    all.extend([down("10.1.0.4"); 4]);
    let running = start(&bench, &all, 5, 10);
    std::thread::sleep(Duration::from_secs(6));
    let before = ["up", "down"].map(|direction| sent(&bench, direction));
    let begin = Instant::now();
    let (mut stranger, mut busy) = (pings(&bench, "10.1.0.5", 40), pings(&bench, "10.1.0.3", 40));
    let status = bench.json(&["status"])["status"].clone();
    let after = ["up", "down"].map(|direction| sent(&bench, direction));
    let seconds = begin.elapsed().as_secs_f64();
    running.finish();
    let rates = [0, 1].map(|way| [0, 1, 2].map(|own| (after[way][own] - before[way][own]) * 8.0 / seconds / 1e6));
    println!("a, b, c up: {:.2?}, down: {:.2?} Mbit/s; {}", rates[0], rates[1], status["wan"]);
    for (one, other, link) in [(rates[0][0], rates[0][1], 10.0), (rates[1][1], rates[1][2], 50.0)] {
        assert!((one / other - 1.0).abs() < 0.05, "{rates:?}");
        assert!(one + other > 0.9 * link, "{rates:?}");
    }
    let (alone, beside) = (p95(&mut stranger), p95(&mut busy));
    println!("ping p95: {idle:.1} ms idle, {alone:.1} ms of a station without other traffic, {beside:.1} ms of b");
    assert!(stranger.len() >= 38 && alone <= idle + 30.0 && busy.len() >= 38 && beside <= idle + 30.0);
    assert!(status["wan"].as_array().unwrap().iter().all(|link| link["binds"] == true), "{}", status["wan"]);
    let waiting = status["pools"][0]["backlog"].as_u64().unwrap();
    assert!(waiting <= 3, "next to nothing waits for the air: {}", status["pools"]);
}

/// Bar 6 over IPv6, and on a bridge, where stations are told apart by MAC address: in each direction four connections of one
/// station get no more than one of another, and a ping waits for little.
#[test]
fn the_link_is_shared_over_ipv6_and_on_a_bridge() {
    needs_root!();
    for is_bridged in [false, true] {
        let mut bench = Bench::new(3);
        let (one, other) = if is_bridged {
            bench.bridge();
            let ap = |number: u32| {
                format!("[[ap]]\nname = \"ap{number}\"\ninterface = \"lan{number}\"\ncapacity = \"100 Mbit/s\"\n")
            };
            bench.configure(&format!("mode = \"bridged\"\n{}{}{LINK}", ap(0), ap(1)));
            ("10.1.0.2", "10.1.9.9")
        } else {
            bench.configure(&site(100, LINK));
            ("fd01::2", "fd01::3")
        };
        bench.start(&[]);
        // Found before the measurement begins.
        goodputs(&bench, &[down(one), down(other)], 0, 1);
        for (way, link) in [("up", 10.0), ("down", 50.0)] {
            let [one, other] = [one, other].map(|station| Transfer { station, is_up: way == "up" });
            let running = start(&bench, &[one, one, one, one, other], 3, 10);
            std::thread::sleep(Duration::from_secs(3));
            let mut pinged = if is_bridged {
                pings(&bench, one.station, 30)
            } else {
                let script = "ping -n -I fd01::2 -i 0.1 -c 30 -W 2 fd02::2 | grep -o 'time=[0-9.]*' | cut -d= -f2";
                let shown = bench.run(Place::Stations, &["bash", "-c", script]);
                shown.lines().map(|line| line.parse().expect("a time")).collect()
            };
            let rates = running.finish();
            let shares = [rates[..4].iter().sum::<f64>() / 1e6, rates[4] / 1e6];
            let waits = p95(&mut pinged);
            println!("bridged {is_bridged}, {way}: {shares:.2?} of {link} Mbit/s, ping p95 {waits:.1} ms");
            assert!((shares[0] / shares[1] - 1.0).abs() < 0.05, "bridged {is_bridged}, {way}: {shares:?}");
            assert!(shares[0] + shares[1] > 0.88 * link, "bridged {is_bridged}, {way}: {shares:?}");
            assert!(pinged.len() >= 28 && waits <= 30.0, "bridged {is_bridged}, {way}: {waits}");
        }
    }
}

/// Bar 6: where the cell is slower, the link holds nothing up.
#[test]
fn a_cell_slower_than_the_link_is_shaped_as_without_it() {
    needs_root!();
    let wide = "[wan]\nup = \"50 Mbit/s\"\ndown = \"50 Mbit/s\"\n";
    let all = [up("10.1.0.2"), up("10.1.0.2"), up("10.1.0.2"), down("10.1.0.3")];
    let share = |wan: &str| {
        let bench = Bench::shaping(2, &site(20, wan));
        let rates = goodputs(&bench, &all, 5, 8);
        let binds = bench.json(&["status"])["status"]["wan"].to_string().contains("\"binds\":true");
        assert!(!binds, "the link is not the bottleneck");
        [rates[..3].iter().sum::<f64>() / 1e6, rates[3] / 1e6]
    };
    // A machine that is busy may give either less, not more.
    let costs_nothing = || {
        let (without, with) = (share(""), share(wide));
        println!("3 up against 1 down at 20 Mbit/s: {without:.2?} without [wan], {with:.2?} with");
        let all = with[0] + with[1];
        assert!(all < 20.0, "{with:?}");
        (with[0] / with[1] - 1.0).abs() < 0.05 && all / (without[0] + without[1]) > 0.98 && all > 18.0
    };
    assert!((0..TRIES).any(|_| costs_nothing()), "in none of {TRIES} times");
}

/// A reload adds, changes and takes away the link; `stop` leaves all as it was.
#[test]
fn the_link_comes_and_goes_and_leaves_nothing() {
    needs_root!();
    let mut bench = Bench::new(2);
    furnish(&bench);
    let before = bench.dump();
    bench.configure(&site(100, ""));
    bench.start(&[]);
    let plain = bench.dump();
    let rate = || goodputs(&bench, &[down("10.1.0.2")], 2, 3)[0] / 1e6;
    let pool = rate();
    assert!(pool > 50.0, "{pool}");
    bench.configure(&site(100, LINK));
    reload(&bench);
    let link = rate();
    assert!((42.0..50.0).contains(&link), "{link}");
    bench.configure(&site(100, &LINK.replace("50", "20")));
    reload(&bench);
    let slower = rate();
    assert!((17.0..20.0).contains(&slower), "{slower}");
    println!("{pool:.1} Mbit/s without link, {link:.1} of 50, {slower:.1} of 20");
    bench.configure(&site(100, ""));
    reload(&bench);
    until(15, &bench, || !bench.dump().contains("fairair-") && !bench.dump().contains("fairair."));
    let scrub = |dump: &str| -> Vec<String> {
        dump.lines().filter(|line| !line.contains("fh 8") && !line.contains("fairair0")).map(str::to_owned).collect()
    };
    assert_eq!(scrub(&bench.dump()), scrub(&plain));
    bench.configure(&site(100, LINK));
    reload(&bench);
    assert!(reaches(&bench) && bench.dump().contains("fairair-wan"));
    stop(&bench);
    assert_eq!(bench.dump(), before);
}

/// Killed and cleaned up, with the link.
#[test]
fn after_kill_9_stop_takes_the_link_back() {
    needs_root!();
    let mut bench = Bench::new(2);
    furnish(&bench);
    let before = bench.dump();
    bench.configure(&site(100, LINK));
    bench.start(&[]);
    bench.daemon().kill().unwrap();
    bench.daemon().wait().unwrap();
    assert!(reaches(&bench), "it goes on");
    stop(&bench);
    assert_eq!(bench.dump(), before);
}

/// What others take of the stages is back within seconds.
#[test]
fn what_others_take_of_the_link_comes_back() {
    needs_root!();
    let bench = Bench::shaping(2, &site(100, LINK));
    for (deed, told) in [
        ("ip link del fairair.down", "fairair.down was gone"),
        ("ip link set fairair.up down", "fairair.up was down"),
        ("tc class del dev fairair.down classid 1:1000", "1 classes of fairair.down were gone"),
        ("tc qdisc del dev fairair.up root", "the classes of fairair.up were gone"),
        ("ip link del fairair-lan", "fairair-lan was changed by others"),
        ("tc qdisc del dev fairair-wan root", "fairair-wan was changed by others"),
        ("ip link set fairair-wan down", "fairair-wan was down"),
        ("tc filter del dev lan egress protocol ip pref 65098", "filters of lan were gone"),
        ("ip link del fairair0", "fairair0 was gone"),
    ] {
        let mended = bench.log().matches(told).count();
        in_box(&bench, deed);
        until(8, &bench, || bench.log().matches(told).count() > mended && reaches(&bench));
    }
    // All that is wrong is that something was removed in the last thirty seconds.
    until(8, &bench, || {
        let troubles = troubles(&bench);
        troubles.contains("others removed") && troubles.matches('"').count() == 2
    });
    let carries = || {
        let rates = goodputs(&bench, &[down("10.1.0.2"), up("10.1.0.3")], 3, 10);
        let (down, up) = (rates[0] / 1e6, rates[1] / 1e6);
        println!("after all that {down:.1} of 50 Mbit/s down and {up:.1} of 10 up");
        assert!(down < 50.0 && up < 10.0, "more than the link: {rates:?}");
        down > 42.0 && up > 8.5
    };
    assert!((0..TRIES).any(|_| carries()), "in none of {TRIES} times");
    stop(&bench);
}
