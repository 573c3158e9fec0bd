//! Whole runs: simulated seconds per second of CPU on one core, beside ns-2 and ns-3 where they are installed, and memory.
//!
//! `FAIRAIR_NS3` names the program of the ns-3 reference runs (wlanfair). `cargo bench -p fairair-sim --bench whole -- once TITLE` runs
//! the cell with this title once and prints nothing: a process whose instructions `valgrind --tool=callgrind` or `perf stat` can count.

use std::path::Path;
use std::process::Command;

use cpu_time::ProcessTime;
use fairair_core::scenario::Scenario;

/// A cell of today: the ns-3 reference runs' 802.11n and ac, and 800 Mbit/s of 802.11ax.
struct Modern {
    title: &'static str,
    /// Downloads, and as many uploads.
    flows: u32,
    radio: &'static str,
    /// Of the preset `ns3`, or Linux' hosts below mac80211.
    linux: bool,
    seconds: u32,
    /// wlanfair's arguments for the same cell.
    ns3: Option<&'static str>,
}

const MODERN: [Modern; 5] = [
    Modern {
        title: "802.11n MCS 7 5+5",
        flows: 5,
        radio: "phy = \"802.11n\"\nwidth = \"20 MHz\"\nmcs = 7",
        linux: false,
        seconds: 120,
        ns3: Some("--std=n"),
    },
    Modern {
        title: "802.11ac 80 MHz 5+5",
        flows: 5,
        radio: "phy = \"802.11ac\"\nwidth = \"80 MHz\"\nmcs = 9",
        linux: false,
        seconds: 40,
        ns3: Some("--std=ac"),
    },
    Modern {
        title: "802.11ax 80 MHz, 2 streams, 10+10",
        flows: 10,
        radio: "phy = \"802.11ax\"\nwidth = \"80 MHz\"\nmcs = 11\nstreams = 2",
        linux: false,
        seconds: 20,
        ns3: None,
    },
    Modern {
        title: "802.11ac 80 MHz 5+5, Linux, mac80211",
        flows: 5,
        radio: "phy = \"802.11ac\"\nwidth = \"80 MHz\"\nmcs = 9",
        linux: true,
        seconds: 20,
        ns3: None,
    },
    Modern {
        title: "802.11n MCS 7 100+100, Linux, mac80211",
        flows: 100,
        radio: "phy = \"802.11n\"\nwidth = \"20 MHz\"\nmcs = 7",
        linux: true,
        seconds: 20,
        ns3: None,
    },
];

impl Modern {
    fn scenario(&self) -> Scenario {
        let Modern { flows, radio, linux, seconds, .. } = self;
        let (preset, queue) = if *linux {
            ("standard", "{ kind = \"mac80211\" }")
        } else {
            ("ns3", "{ kind = \"shared-fifo\", limit = 1000 }")
        };
        let text = format!(
            r#"
            name = "speed"
            [run]
            duration = "{seconds} s"
            warmup = "1 s"
            preset = "{preset}"
            [radio]
            {radio}
            guard_interval = "0.8 us"
            [ap]
            queue = {queue}
            [wire]
            rate = "1 Gbit/s"
            delay = "2 ms"
            [[station]]
            name = "down"
            count = {flows}
            flows = [{{ direction = "down" }}]
            [[station]]
            name = "up"
            count = {flows}
            flows = [{{ direction = "up" }}]
            "#
        );
        Scenario::from_toml(&text, "speed.toml").expect("the cell is right")
    }
}

/// A cell of long TCP flows in the manner of khademi2010 Fig. 10.
struct Cell {
    title: &'static str,
    down: u32,
    up: u32,
    queue: u32,
    window: u32,
    radio: &'static str,
    seconds: u32,
    /// wlan.tcl's parameters for the same cell; `None`: ns-2 has no such PHY, or takes too long.
    ns2: Option<&'static str>,
}

const CELLS: [Cell; 4] = [
    Cell {
        title: "802.11b 5+5 (khademi2010 Fig. 10)",
        down: 5,
        up: 5,
        queue: 50,
        window: 20,
        radio: "rate = \"11 Mbit/s\"\nbasic_rate = \"1 Mbit/s\"",
        seconds: 3000,
        ns2: Some("ndown=5 nup=5 win=20 B=50 rate=11Mb basic=1Mb hops=1 wdelay=2ms"),
    },
    Cell {
        title: "802.11b 25+25",
        down: 25,
        up: 25,
        queue: 50,
        window: 20,
        radio: "rate = \"11 Mbit/s\"\nbasic_rate = \"1 Mbit/s\"",
        seconds: 3000,
        ns2: Some("ndown=25 nup=25 win=20 B=50 rate=11Mb basic=1Mb hops=1 wdelay=2ms"),
    },
    Cell {
        title: "802.11a 54 Mbit/s 5+5",
        down: 5,
        up: 5,
        queue: 50,
        window: 20,
        radio: "phy = \"802.11a\"\nrate = \"54 Mbit/s\"",
        seconds: 600,
        ns2: None,
    },
    Cell {
        title: "802.11b 500+500",
        down: 500,
        up: 500,
        queue: 2000,
        window: 20,
        radio: "rate = \"11 Mbit/s\"\nbasic_rate = \"1 Mbit/s\"",
        seconds: 100,
        ns2: None,
    },
];

fn scenario(cell: &Cell) -> Scenario {
    let Cell { down, up, queue, window, radio, seconds, .. } = cell;
    let text = format!(
        r#"
        name = "speed"
        [run]
        duration = "{seconds} s"
        warmup = "1 s"
        preset = "ns2"
        [radio]
        {radio}
        [ap]
        queue = {{ kind = "droptail", limit = {queue} }}
        [wire]
        delay = "2 ms"
        [tcp]
        window = {window}
        [[station]]
        name = "down"
        count = {down}
        flows = [{{ direction = "down" }}]
        [[station]]
        name = "up"
        count = {up}
        flows = [{{ direction = "up" }}]
        "#
    );
    Scenario::from_toml(&text, "speed.toml").expect("the cell is right")
}

/// Simulated seconds per CPU second, the best of three: noise only slows.
fn ours(scenario: &Scenario) -> f64 {
    let run = |_| {
        let start = ProcessTime::now();
        fairair_sim::run(scenario, 0);
        scenario.run.duration.as_secs_f64() / start.elapsed().as_secs_f64()
    };
    (0..3).map(run).fold(0.0, f64::max)
}

/// The same for ns-2, from the user time of its process for 300 simulated seconds; `None` when it is not installed.
fn ns2(arguments: &str) -> Option<f64> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns2/wlan.tcl");
    let run = |_| {
        let line = format!("TIMEFORMAT=%U; time ns {} {arguments} T=300 T0=1 mon=0 >/dev/null 2>&1", script.display());
        let output = Command::new("bash").args(["-c", &line]).output().ok().filter(|output| output.status.success())?;
        let seconds: f64 = String::from_utf8(output.stderr).ok()?.trim().parse().ok()?;
        Some(300.0 / seconds)
    };
    (0..3).map(run).collect::<Option<Vec<f64>>>().map(|speeds| speeds.into_iter().fold(0.0, f64::max))
}

/// The same for ns-3 and three simulated seconds, 5 + 5 flows; `None` when `FAIRAIR_NS3` names no program that runs.
fn ns3(arguments: &str) -> Option<f64> {
    let program = std::env::var_os("FAIRAIR_NS3")?;
    let cell = "--spec=u1*5,d1*5 --B=1000 --W=1000 --tcp=Cubic --sack=1 --iw=10 --delay=2 --warm=1 --sim=3";
    let line = format!("TIMEFORMAT=%U; time \"$0\" {arguments} {cell} >/dev/null 2>&1");
    let output = Command::new("bash").args(["-c", &line]).arg(program).output().ok()?;
    let seconds: f64 = String::from_utf8(output.stderr).ok()?.trim().parse().ok()?;
    output.status.success().then_some(3.0 / seconds)
}

/// Peak resident memory of this process in MB (Linux).
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

/// `theirs`: `None` where there is nothing to compare with, `Some(None)` where it is not installed.
#[allow(clippy::option_option)] // The two kinds of nothing are told apart.
fn print(title: &str, speed: f64, theirs: Option<Option<f64>>, missing: &str) {
    let beside = match theirs {
        Some(Some(theirs)) => format!("{theirs:>12.2} {:>7.0}x", speed / theirs),
        Some(None) => format!("{missing:>12}"),
        None => format!("{:>12}", "-"),
    };
    println!("{title:<40} {speed:>22.0} {beside}");
}

fn main() {
    // `cargo test --benches` starts benches too, with arguments of its own.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let mut arguments = std::env::args().skip_while(|argument| argument != "once").skip(1);
    if let Some(title) = arguments.next() {
        let modern = MODERN.iter().find(|cell| cell.title == title).map(Modern::scenario);
        let long = CELLS.iter().find(|cell| cell.title == title).map(scenario);
        fairair_sim::run(&modern.or(long).expect("the title of a cell in the table"), 0);
        return;
    }
    println!("{:<40} {:>22} {:>12} {:>8}", "cell", "simulated s per CPU s", "ns-2, ns-3", "ratio");
    for cell in &MODERN {
        print(cell.title, ours(&cell.scenario()), cell.ns3.map(ns3), "no ns-3");
    }
    if let Some(memory) = peak_memory() {
        println!("peak memory, 200 stations included: {memory:.0} MB");
    }
    let mut speeds = Vec::new();
    for cell in &CELLS {
        let speed = ours(&scenario(cell));
        speeds.push(speed);
        print(cell.title, speed, cell.ns2.map(ns2), "no ns-2");
    }
    println!("25+25 costs {:.2} times 5+5 per simulated second", speeds[0] / speeds[1]);
    if let Some(memory) = peak_memory() {
        println!("peak memory, 1000 stations included: {memory:.0} MB");
    }
}
