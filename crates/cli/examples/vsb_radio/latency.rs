//! Bar 3 of the live box: pings beside bulk transfers, over short and long paths.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use fairair_core::metrics::jain_index;

use crate::cases::{level, side_by_side};
use crate::live::Live;
use crate::load::{Load, Wants, percentile, ping};
use crate::radio::{Cell, Control, Mode, Radio};

type Result<T> = std::result::Result<T, String>;

const STATIONS: usize = 5;
/// Queues as the paper has them.
const PAPER: &str = "queue = 200\nleaf = \"fifo\"\n";
/// For how long flows settle after a change of the queues, in seconds, and twice that over a long path. At 93 % of the cell, what stood in
/// the access point before the start takes up to ten seconds to drain at 5 Mbit/s.
const SETTLES: u64 = 16;
/// A path is long from here on, in ms.
const LONG: u64 = 30;
/// With a larger share of late frames the machine was too busy for its path: a row says nothing of the box.
const DOUBTFUL: f64 = 0.05;
/// What goodput is measured over at least, in Mbit of the cell: with 200 packets a class, up to 12 Mbit wait or are held behind a lost segment
/// at either end of the measurement.
const LEAST_MBIT: u32 = 600;
/// Least goodput over that with the paper's queues.
const LEAST_GOODPUT: f64 = 0.98;

/// A row of the table.
#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    mbps: u32,
    wants: Vec<Wants>,
    tables: &'static str,
    /// Who is asked by ping.
    asked: usize,
    /// Most of the pings' 95th percentile above the round trip of the path, in ms; with `beside`, above that without the box.
    bar: f64,
    is_beside: bool,
    /// A station with a cap of its own has no level.
    has_level: bool,
    /// Round trips, in ms, of stations in turn.
    path: Vec<u64>,
}

fn cases() -> [Case; 5] {
    let all_down = vec![Wants { up: 0, down: 2 }; STATIONS];
    let mut one_up = vec![Wants { up: 0, down: 1 }; STATIONS];
    one_up[0] = Wants { up: 2, down: 0 };
    let mut capped = one_up.clone();
    capped[1] = Wants { up: 0, down: 2 };
    let slow = Case {
        name: "the uploader at 5 Mbit/s",
        mbps: 5,
        wants: one_up.clone(),
        tables: "",
        asked: 0,
        bar: 120.0,
        is_beside: false,
        has_level: true,
        path: Vec::new(),
    };
    let fast = Case { mbps: 200, bar: 25.0, is_beside: true, ..slow.clone() };
    [
        slow.clone(),
        Case { name: "another at 5 Mbit/s", asked: 2, ..slow.clone() },
        Case { name: "a downloader of five at 200 Mbit/s", wants: all_down, ..fast.clone() },
        Case { name: "the uploader at 200 Mbit/s", ..fast },
        Case {
            name: "a station capped at 0.3 Mbit/s of 5",
            wants: capped,
            tables: "[[station]]\nname = \"capped\"\naddresses = [\"10.1.0.11\"]\ncap = \"0.3 Mbit/s\"\n",
            asked: 1,
            bar: 300.0,
            has_level: false,
            ..slow
        },
    ]
}

/// With one kind of queue: sorted pings in ms, goodput of each station, share of the frames that were late.
#[derive(Debug)]
struct Shown {
    pings: Vec<f64>,
    goodputs: Vec<f64>,
    late: f64,
}

impl Shown {
    fn sum(&self) -> f64 {
        self.goodputs.iter().sum()
    }

    fn ping(&self, share: f64, path: f64) -> f64 {
        percentile(&self.pings, share) - path
    }
}

fn look(radio: &Radio, load: &Load, address: &str, seconds: u32) -> Result<Shown> {
    let _ = radio.path.as_ref().map(crate::path::Path::late);
    let (pings, goodputs) = std::thread::scope(|scope| {
        let pings = scope.spawn(|| ping(&radio.host, address, seconds));
        let goodputs = load.goodputs(f64::from(seconds));
        Ok::<_, String>((pings.join().map_err(|_| "a thread died".to_owned())??, goodputs))
    })?;
    Ok(Shown { pings, goodputs, late: radio.path.as_ref().map_or(0.0, crate::path::Path::late) })
}

fn run(fairair: &Path, case: &Case, control: Control, number: usize, seconds: u32) -> Result<[Shown; 3]> {
    let cell = Cell { mode: Mode::Routed, mbps: case.mbps, buffer: 75, stations: STATIONS, control };
    let of = |station: usize| Duration::from_millis(case.path[station % case.path.len()]);
    let is_short = case.path.iter().all(|rtt| *rtt == 0);
    let round_trips: Vec<_> = (0..if is_short { 0 } else { STATIONS }).map(of).collect();
    let radio = Radio::with_path(cell, number, &round_trips)?;
    let mut live = Live::new(fairair, &radio)?;
    let capacity = format!("\"{} kbit/s\"", case.mbps * 930);
    live.configure(&capacity, "", case.tables)?;
    let load = Load::start(&radio, &case.wants)?;
    let settles = Duration::from_secs(if case.path.iter().any(|rtt| *rtt >= LONG) { 2 * SETTLES } else { SETTLES });
    sleep(settles / 2);
    let address = Radio::station_address(case.asked);
    let seconds = seconds.max(LEAST_MBIT / case.mbps);
    let without = look(&radio, &load, &address, 6)?;
    live.start()?;
    sleep(settles);
    let auto = look(&radio, &load, &address, seconds)?;
    live.configure(&capacity, PAPER, case.tables)?;
    live.vsb(&["reload"])?;
    sleep(settles);
    let paper = look(&radio, &load, &address, seconds)?;
    Ok([without, auto, paper])
}

/// Bar 3 of the live box: pings beside bulk transfers, level, and goodput over that with 200 packets a class. Whether all are
/// within the bars.
pub(crate) fn latency(
    fairair: &Path,
    jobs: usize,
    control: Control,
    paths: &[String],
    only: &str,
    seconds: u32,
) -> std::result::Result<bool, String> {
    let mut work = Vec::new();
    for path in paths {
        let path = path.split('+').map(str::parse).collect::<std::result::Result<Vec<u64>, _>>();
        let path = path.map_err(|error| format!("a path is milliseconds as 60 or 4+60: {error}"))?;
        work.extend(cases().map(|case| Case { path: path.clone(), ..case }));
    }
    work.retain(|case| case.name.contains(only));
    println!(
        "| pings to | round trips, ms | without the box: median, p95 above the path's, ms | default queues | 200 packets | goodput over \
         that without the box, with 200 packets | level, Jain | with 200 packets | late frames | bars |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let missed = AtomicBool::new(false);
    side_by_side(
        &work,
        jobs,
        |case| case.mbps,
        |number, case| {
            let path = case.path.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ");
            let [without, auto, paper] = match run(fairair, case, control, number, seconds) {
                Ok(shown) => shown,
                Err(error) => {
                    missed.store(true, Ordering::Relaxed);
                    return println!("| {} | {path} | **failed**: {error} | | | | | | | |", case.name);
                }
            };
            let own = case.path[case.asked % case.path.len()] as f64;
            let pings = |shown: &Shown| format!("{:.1}, {:.1}", shown.ping(0.5, own), shown.ping(0.95, own));
            let fair = |shown: &Shown| {
                let jain = jain_index(&shown.goodputs).unwrap_or(f64::NAN);
                if case.has_level { format!("{:.3}, {jain:.4}", level(&shown.goodputs)) } else { String::new() }
            };
            let goodput = auto.sum() / paper.sum();
            let most = if case.is_beside { case.bar + without.ping(0.5, own) } else { case.bar };
            let verdicts = [
                (auto.ping(0.95, own) <= most, "ping"),
                (goodput >= LEAST_GOODPUT, "goodput"),
                (!case.has_level || (0.95..=1.05).contains(&level(&auto.goodputs)), "level"),
            ];
            let mut wrong: Vec<_> = verdicts.iter().filter(|(is_met, _)| !is_met).map(|(_, name)| *name).collect();
            let late = without.late.max(auto.late).max(paper.late);
            if late > DOUBTFUL {
                wrong.push("doubtful, the machine was busy: measure again");
            }
            missed.fetch_or(!wrong.is_empty(), Ordering::Relaxed);
            println!(
                "| {} | {path} | {} | {} | {} | {:.3}, {goodput:.3} | {} | {} | {:.4} | {} |",
                case.name,
                pings(&without),
                pings(&auto),
                pings(&paper),
                auto.sum() / without.sum(),
                fair(&auto),
                fair(&paper),
                late,
                if wrong.is_empty() { "met".to_owned() } else { format!("**missed**: {}", wrong.join(", ")) }
            );
        },
    );
    Ok(!missed.into_inner())
}
