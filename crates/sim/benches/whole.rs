//! Whole runs: simulated seconds per second of CPU on one core, beside ns-2 where it is installed, and memory.

use std::path::Path;
use std::process::Command;

use cpu_time::ProcessTime;
use fairair_core::scenario::Scenario;

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
fn ours(cell: &Cell) -> f64 {
    let scenario = scenario(cell);
    let run = |_| {
        let start = ProcessTime::now();
        fairair_sim::run(&scenario, 0);
        f64::from(cell.seconds) / start.elapsed().as_secs_f64()
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

/// Peak resident memory of this process in MB (Linux).
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

fn main() {
    // `cargo test --benches` starts benches too, with arguments of its own.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("{:<36} {:>22} {:>12} {:>8}", "cell", "simulated s per CPU s", "ns-2", "ratio");
    let mut speeds = Vec::new();
    for cell in &CELLS {
        let speed = ours(cell);
        speeds.push(speed);
        let theirs = cell.ns2.map(ns2);
        let beside = match theirs {
            Some(Some(theirs)) => format!("{theirs:>12.0} {:>7.0}x", speed / theirs),
            Some(None) => format!("{:>12}", "no ns-2"),
            None => format!("{:>12}", "-"),
        };
        println!("{:<36} {speed:>22.0} {beside}", cell.title);
    }
    println!("25+25 costs {:.2} times 5+5 per simulated second", speeds[0] / speeds[1]);
    if let Some(memory) = peak_memory() {
        println!("peak memory, 1000 stations included: {memory:.0} MB");
    }
}
