//! The live box in an emulated cell: `fairair vsb` with the kernel's datapath between the gateway and the AP.

use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::{await_listener, fairair, has_datapath, is_at, scenario, sockets, turn, wait_until};

/// The cell of detti2011 Fig. 6.
const FIVE_STATIONS: &str = r#"
name = "five"
[run]
duration = "60 s"
[radio]
phy = "802.11b"
rate = "11 Mbit/s"
basic_rate = "2 Mbit/s"
[ap]
queue = { kind = "droptail", limit = 75 }
[tcp]
variant = "reno"
window = 42
[[station]]
name = "one"
beta = 1.2
[[station]]
name = "other"
count = 4
beta = 1.2
"#;
/// Seconds from when all downloads stand until the box comes on.
const ALONE: u64 = 13;
/// Seconds that the downloads take: a while for the box, ten seconds for it to make them equal, and as long as they are
/// compared.
const END: u64 = ALONE + 10 + 10 + COMPARED + 1;
/// Seconds in which the stations are compared.
const COMPARED: u64 = 11;

/// A cell that is taken down whatever happens, with what was started in it.
struct Cell {
    id: String,
    children: Vec<Child>,
}

impl Cell {
    fn command(&self, host: &str, words: &[&str]) -> Command {
        let mut command = fairair();
        command.args(["testbed", "exec", host, "--id", &self.id, "--"]).args(words);
        command
    }

    fn start(&mut self, host: &str, words: &[&str]) {
        let child = self.command(host, words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.children.push(child);
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = (child.kill(), child.wait());
        }
        let _ = fairair().args(["testbed", "down", &self.id]).output();
    }
}

/// Seconds since 1970, as iperf3 tells when it began.
fn now_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock").as_secs()
}

/// Goodput of a download in some of its seconds, Mbit/s; iperf3 at the receiver tells it each second.
fn mean(told: &Value, seconds: Range<u64>) -> f64 {
    let rate = |own: &Value| own["sum"]["bits_per_second"].as_f64().expect("a rate") / 1e6;
    let all: Vec<_> = told["intervals"].as_array().expect("intervals").iter().map(rate).collect();
    let own = all.get(seconds.start as usize..seconds.end as usize).filter(|own| !own.is_empty());
    let own = own.unwrap_or_else(|| panic!("seconds {seconds:?} of {} of a download: {}", all.len(), told["error"]));
    own.iter().sum::<f64>() / own.len() as f64
}

/// Claim (detti2011 Figs. 6 and 12, with the box as it is sold): six downloads of one station get several times the share
/// of the others, and the same as the others from ten seconds after the box is switched on, whose stations it finds by
/// itself.
#[test]
fn the_live_box_makes_six_downloads_equal_to_one() {
    let Some(_turn) = turn("the_live_box_makes_six_downloads_equal_to_one") else { return };
    if !has_datapath("the_live_box_makes_six_downloads_equal_to_one") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = fairair().args(["testbed", "up"]).arg(scenario(&directory, FIVE_STATIONS)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let id = String::from_utf8_lossy(&output.stdout).split_whitespace().nth(1).unwrap().to_owned();
    let mut cell = Cell { id, children: Vec::new() };
    let stations = ["one", "one", "one", "one", "one", "one", "other-1", "other-2", "other-3", "other-4"];
    let ports: Vec<_> = (0..stations.len()).map(|index| (5301 + index).to_string()).collect();
    for port in &ports {
        cell.start("host", &["iperf3", "-s", "-1", "-p", port]);
    }
    for port in &ports {
        await_listener(&cell.id, port);
    }
    let seconds = END.to_string();
    let downloads = stations.iter().zip(&ports).map(|(station, port)| {
        let words = ["iperf3", "-c", "10.1.0.2", "-p", port, "-t", &seconds, "-R", "-C", "reno", "-J"];
        cell.command(station, &words).stdout(Stdio::piped()).spawn().unwrap()
    });
    let downloads: Vec<_> = downloads.collect();
    // iperf3's control connection, and that of the data, which has to pass the queue of those that were faster.
    wait_until("all downloads stand", || {
        let all = sockets(&cell.id, "-tnH");
        let stands =
            |port: &String| all.iter().filter(|socket| socket.starts_with("ESTAB") && is_at(socket, port)).count() == 2;
        ports.iter().all(stands)
    });
    let stand = now_s() + 1;
    std::thread::sleep(Duration::from_secs(ALONE));
    let config = directory.path().join("vsb.toml");
    let state = directory.path().join("state");
    // A little less than the cell carries: its 4.9 Mbit/s of goodput are more in IP bytes.
    let text = format!(
        "name = \"cell\"\nmode = \"bridged\"\nuplink = \"uplink\"\nstate = \"{}\"\n[[ap]]\nname = \"ap1\"\n\
         interface = \"ap0\"\ncapacity = \"4.9 Mbit/s\"\n",
        state.display()
    );
    std::fs::write(&config, text).unwrap();
    let until = now_s();
    cell.start("box", &[env!("CARGO_BIN_EXE_fairair"), "vsb", "run", config.to_str().unwrap()]);
    wait_until("the box is on", || {
        fairair().args(["vsb", "status", "--state"]).arg(&state).output().unwrap().status.success()
    });
    let on = now_s() + 1;
    let (mut before, mut after) = (vec![0.0; 5], vec![0.0; 5]);
    for (index, download) in downloads.into_iter().enumerate() {
        let output = download.wait_with_output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).expect("iperf3's JSON");
        // The connections began then; the data, and iperf3's seconds, a moment later.
        let began = told["start"]["timestamp"]["timesecs"].as_u64().expect("when it began");
        let station = index.saturating_sub(5);
        before[station] += mean(&told, stand + 2 - began..until - began - 3);
        after[station] += mean(&told, on + 10 - began..on + 10 - began + COMPARED);
    }
    let level = |rates: &[f64]| rates[0] / (rates[1..].iter().sum::<f64>() / 4.0);
    let total = |rates: &[f64]| rates.iter().sum::<f64>();
    println!("without the box: level {:.2}, {:.2} Mbit/s {before:.2?}", level(&before), total(&before));
    println!("with the box: level {:.2}, {:.2} Mbit/s {after:.2?}", level(&after), total(&after));
    assert!(level(&before) > 3.0, "without the box the station with six downloads has most: {before:?}");
    assert!((0.9..1.1).contains(&level(&after)), "{after:?}");
    assert!(total(&after) > 0.9 * total(&before), "the box costs more than C says: {before:?}, {after:?}");
}
