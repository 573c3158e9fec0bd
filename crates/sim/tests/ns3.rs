//! Whole scenarios under `preset = "ns3"` against ns-3.44: means over its runs, as the project measured them.
//!
//! `NS3_CELLS=T_ac` picks cells by name; `NS3_REPLICAS=8` runs more of each.

mod common;

use common::{direction_kbps, mean, parse, runs, total_kbps};
use fairair_core::packet::Direction;
use fairair_core::record::{MacStats, Record};

const N: &str = "phy = \"802.11n\"\nmcs = 7\nwidth = \"20 MHz\"";
const FAST: &str = "phy = \"802.11n\"\nmcs = 7\nstreams = 2\nguard_interval = \"0.4 us\"\nwidth = \"20 MHz\"";
const AC: &str = "phy = \"802.11ac\"\nmcs = 9\nwidth = \"80 MHz\"";
const AX: &str = "phy = \"802.11ax\"\nmcs = 11\nwidth = \"80 MHz\"\nguard_interval = \"0.8 us\"";

const CUBIC: &str = "variant = \"cubic\"\nsack = true\nwindow = 1000";
const RENO: &str = "variant = \"newreno\"\nsack = false\nwindow = 42\ninitial_cwnd = 2";

/// Up and down by Mbit/s a flow, MPDUs a PPDU of AP and stations, lost PPDUs over PPDUs of both; 0 where there is nothing.
struct Row {
    name: &'static str,
    radio: &'static str,
    tcp: &'static str,
    /// Uploading and downloading stations, each with a flow.
    flows: [usize; 2],
    /// Whether the last station is at MCS 0 with one stream.
    slow: bool,
    buffer: usize,
    /// One way over the wire, ms.
    delay: u32,
    seconds: u32,
    total: f64,
    each: [f64; 2],
    mpdus: [f64; 2],
    lost: [f64; 2],
    /// Standard error of ns-3's mean in `each`, where its seeds differ by more than 8 % (two, five or six of them); else 0.
    error: [f64; 2],
}

#[rustfmt::skip]
const ROWS: [Row; 16] = [
    Row { name: "E_tcp_up", radio: FAST, tcp: CUBIC, flows: [3, 0], slow: true, buffer: 1000, delay: 2, seconds: 35, total: 61.57, each: [20.523, 0.0], mpdus: [43.4, 29.0], lost: [0.232, 0.235], error: [0.0; 2] },
    Row { name: "T_n_1d", radio: N, tcp: CUBIC, flows: [0, 1], slow: false, buffer: 1000, delay: 2, seconds: 35, total: 53.49, each: [0.0, 53.493], mpdus: [28.0, 22.3], lost: [0.057, 0.088], error: [0.0; 2] },
    Row { name: "T_n_5u", radio: N, tcp: CUBIC, flows: [5, 0], slow: false, buffer: 1000, delay: 2, seconds: 35, total: 44.59, each: [8.918, 0.0], mpdus: [56.2, 27.8], lost: [0.298, 0.288], error: [0.0; 2] },
    Row { name: "T_n_1u5d", radio: N, tcp: CUBIC, flows: [1, 5], slow: false, buffer: 1000, delay: 2, seconds: 35, total: 49.77, each: [25.970, 4.760], mpdus: [34.7, 24.1], lost: [0.166, 0.193], error: [0.0; 2] },
    Row { name: "T_n_10u10d", radio: N, tcp: CUBIC, flows: [10, 10], slow: false, buffer: 1000, delay: 2, seconds: 35, total: 41.29, each: [3.912, 0.218], mpdus: [41.2, 25.0], lost: [0.287, 0.305], error: [0.023, 0.060] },
    Row { name: "T_n_5u5d_reno42_B100", radio: N, tcp: RENO, flows: [5, 5], slow: false, buffer: 100, delay: 2, seconds: 35, total: 45.41, each: [7.370, 1.647], mpdus: [13.7, 15.7], lost: [0.156, 0.217], error: [0.0, 0.165] },
    Row { name: "T_ac_1u", radio: AC, tcp: CUBIC, flows: [1, 0], slow: false, buffer: 1000, delay: 2, seconds: 25, total: 257.45, each: [257.450, 0.0], mpdus: [21.5, 42.0], lost: [0.110, 0.104], error: [0.0; 2] },
    Row { name: "T_ac_1u1d", radio: AC, tcp: CUBIC, flows: [1, 1], slow: false, buffer: 1000, delay: 2, seconds: 25, total: 264.82, each: [150.198, 114.620], mpdus: [48.5, 38.5], lost: [0.150, 0.168], error: [0.0; 2] },
    Row { name: "T_ac_5d", radio: AC, tcp: CUBIC, flows: [0, 5], slow: false, buffer: 1000, delay: 2, seconds: 25, total: 264.60, each: [0.0, 52.919], mpdus: [41.5, 26.7], lost: [0.085, 0.143], error: [0.0; 2] },
    Row { name: "T_ac_5u5d_B300", radio: AC, tcp: CUBIC, flows: [5, 5], slow: false, buffer: 300, delay: 2, seconds: 25, total: 244.31, each: [48.585, 0.277], mpdus: [42.7, 39.4], lost: [0.246, 0.256], error: [0.0; 2] },
    Row { name: "T_ac_5u5d_reno42_B100", radio: AC, tcp: RENO, flows: [5, 5], slow: false, buffer: 100, delay: 2, seconds: 25, total: 226.27, each: [30.850, 14.320], mpdus: [18.3, 25.5], lost: [0.107, 0.179], error: [0.0, 0.842] },
    Row { name: "T_ax_1d", radio: AX, tcp: CUBIC, flows: [0, 1], slow: false, buffer: 1000, delay: 2, seconds: 20, total: 382.07, each: [0.0, 382.074], mpdus: [42.0, 33.4], lost: [0.065, 0.098], error: [0.0; 2] },
    Row { name: "T_ax_1u1d", radio: AX, tcp: CUBIC, flows: [1, 1], slow: false, buffer: 1000, delay: 2, seconds: 20, total: 370.35, each: [208.834, 161.515], mpdus: [48.4, 38.5], lost: [0.145, 0.166], error: [0.0; 2] },
    Row { name: "T_ax_5u5d", radio: AX, tcp: CUBIC, flows: [5, 5], slow: false, buffer: 1000, delay: 2, seconds: 20, total: 335.55, each: [66.879, 0.576], mpdus: [58.7, 40.6], lost: [0.294, 0.296], error: [0.0, 0.187] },
    // Run in ns-3 after the simulator was finished.
    Row { name: "X_n_2u2d_d20", radio: N, tcp: CUBIC, flows: [2, 2], slow: false, buffer: 200, delay: 20, seconds: 30, total: 48.38, each: [21.830, 2.359], mpdus: [29.8, 25.9], lost: [0.195, 0.205], error: [0.0; 2] },
    Row { name: "X_n_1u3d_reno42_B60", radio: N, tcp: RENO, flows: [1, 3], slow: false, buffer: 60, delay: 2, seconds: 25, total: 49.73, each: [26.122, 7.869], mpdus: [14.8, 14.6], lost: [0.093, 0.138], error: [0.0; 2] },
];

fn text(row: &Row) -> String {
    let Row { name, radio, tcp, flows: [up, down], slow, buffer, delay, seconds, .. } = row;
    let stations = |direction: &str, count: usize, rate: &str| match count {
        0 => String::new(),
        count => format!(
            "[[station]]\nname = \"{direction}{}\"\ncount = {count}\nuplink_queue = 1000\n{rate}\
             flows = [{{ direction = \"{direction}\", start = \"1 s\" }}]\n",
            rate.len()
        ),
    };
    let slow = usize::from(*slow);
    format!(
        "name = \"{name}\"\n[run]\nduration = \"{seconds} s\"\nwarmup = \"5 s\"\nstart_spread = \"1 s\"\npreset = \"ns3\"\n\
         [radio]\n{radio}\n[ap]\nqueue = {{ kind = \"shared-fifo\", limit = {buffer} }}\nuplink_queue = 10000\n\
         [wire]\nrate = \"1 Gbit/s\"\ndelay = \"{delay} ms\"\nqueue = 10000\n[tcp]\nmss = \"1460 B\"\n{tcp}\n{}{}{}",
        stations("up", up - slow, ""),
        stations("up", slow, "mcs = 0\nstreams = 1\n"),
        stations("down", *down, "")
    )
}

fn sides(record: &Record) -> [MacStats; 2] {
    let mut stations = MacStats::default();
    for station in &record.stations {
        stations.qos += station.mac.qos;
    }
    [record.ap_mac, stations]
}

/// Whether the mean of a direction agrees: within 8 %, or within two standard errors of both means; by a factor of three where a flow gets less
/// than a tenth of its fair share, which is a statistic of small numbers.
fn agrees(row: &Row, direction: usize, runs: &[f64]) -> bool {
    if row.flows[direction] == 0 {
        return true;
    }
    let (expected, flows) = (row.each[direction], row.flows.iter().sum::<usize>() as f64);
    let count = runs.len() as f64;
    let each = runs.iter().sum::<f64>() / count;
    if expected < row.total / flows / 10.0 {
        return (1.0 / 3.0..3.0).contains(&(each / expected));
    }
    let variance = runs.iter().map(|run| (run - each).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let error = (variance / count).sqrt().hypot(row.error[direction]);
    (each - expected).abs() <= (0.08 * expected).max(2.0 * error)
}

#[test]
fn tcp_cells_of_the_grid() {
    let picked = std::env::var("NS3_CELLS").unwrap_or_default();
    let replicas = std::env::var("NS3_REPLICAS").map_or(8, |text| text.parse().expect("NS3_REPLICAS is a number"));
    let (mut bad, mut others, mut points) = (Vec::new(), Vec::new(), 0);
    for row in ROWS.iter().filter(|row| row.name.contains(&picked)) {
        points += 1;
        let records = runs(&parse(&text(row)), replicas);
        let total = mean(&records, total_kbps) / 1e3;
        let runs = [Direction::Up, Direction::Down].map(|direction| {
            let flows = row.flows[direction as usize].max(1) as f64;
            records.iter().map(|record| direction_kbps(record, direction) / 1e3 / flows).collect::<Vec<_>>()
        });
        let each = runs.each_ref().map(|runs| runs.iter().sum::<f64>() / runs.len() as f64);
        let over = |of: fn(&MacStats) -> u64, side: usize| {
            mean(&records, |record| of(&sides(record)[side]) as f64 / (sides(record)[side].qos.ppdus as f64).max(1.0))
        };
        let mpdus = [0, 1].map(|side| over(|mac| mac.qos.mpdus, side));
        let lost = [0, 1].map(|side| over(|mac| mac.qos.answers_missed, side));
        let off = total / row.total - 1.0;
        let line = format!(
            "{:<22} total {total:>7.2} ({:+5.1} %)  up {:>7.2} of {:>7.2}  down {:>7.2} of {:>7.2}  MPDUs {:>4.1} of {:>4.1}, \
             {:>4.1} of {:>4.1}  lost {:.3} of {:.3}, {:.3} of {:.3}",
            row.name,
            off * 100.0,
            each[0],
            row.each[0],
            each[1],
            row.each[1],
            mpdus[0],
            row.mpdus[0],
            mpdus[1],
            row.mpdus[1],
            lost[0],
            row.lost[0],
            lost[1],
            row.lost[1],
        );
        println!("{line}");
        let mpdus_agree =
            (0..2).all(|side| row.mpdus[side] < 1.0 || (mpdus[side] / row.mpdus[side] - 1.0).abs() <= 0.1);
        if off.abs() > 0.04 {
            bad.push(line);
        } else if !(agrees(row, 0, &runs[0]) && agrees(row, 1, &runs[1]) && mpdus_agree) {
            others.push(line);
        }
    }
    assert!(bad.is_empty(), "totals off by more than 4 %: {bad:#?}");
    assert!(others.len() * 10 <= points, "more than one cell in ten: {others:#?}");
    println!("{} of {points} points agree; directions or MPDUs a PPDU do not in: {others:#?}", points - others.len());
}
