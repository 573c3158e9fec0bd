//! Stations by the lists of access points: SNMP, hostapd, iw.

use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairair_core::mac::{MacParams, Phy, Preamble};
use fairair_core::scenario::{Preset, Radio};
use fairair_core::shaper::airtime_per_byte;
use fairair_core::units::Bitrate;
use fairair_linux::enforce::protocol::{Ask, ask};

use crate::agent::{Agent, Table, ber};
use crate::bench::{Bench, Place, needs_root};
use crate::worker::{down, goodputs, up};

/// An AP with 8 and one with 4 Mbit/s behind one switch.
const BANK: &str = "
[[ap]]
name = \"ap1\"
interface = \"lan\"
capacity = \"8 Mbit/s\"
[[ap]]
name = \"ap2\"
interface = \"lan\"
capacity = \"4 Mbit/s\"
[[discovery.snmp]]
ap = \"ap1\"
agent = \"127.0.0.1:1611\"
community = \"secret\"
table = \"mikrotik\"
every = \"1 s\"
[[discovery.snmp]]
ap = \"ap2\"
agent = \"127.0.0.1:1612\"
community = \"secret\"
table = \"mikrotik\"
every = \"1 s\"
";

const AIRTIME: &str = "policy = \"airtime\"
[[ap]]
name = \"ap1\"
interface = \"lan\"
phy = \"802.11b\"
capacity = \"4 Mbit/s\"
";

fn registration(mac: &str) -> (Vec<u32>, Vec<u8>) {
    let column = [1, 3, 6, 1, 4, 1, 14988, 1, 1, 1, 2, 1, 8];
    let octets = mac.split(':').map(|octet| u32::from_str_radix(octet, 16).expect("an octet"));
    (column.into_iter().chain(octets).chain([7]).collect(), ber(0x42, &54_000_000_u32.to_be_bytes()))
}

fn agent(bench: &Bench, port: u16, table: &Arc<Mutex<Table>>) -> Agent {
    let socket = bench.inside(Place::Box, || UdpSocket::bind(("127.0.0.1", port)).expect("bound"));
    Agent::with(socket, b"secret", table.clone())
}

/// Waits until `is_so`, at most for `seconds`.
#[track_caller]
fn wait(bench: &Bench, seconds: u64, what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(
            begin.elapsed() < Duration::from_secs(seconds),
            "not {what}: {}{}",
            bench.json(&["stations"]),
            bench.log()
        );
        sleep(Duration::from_millis(50));
    }
}

fn field(bench: &Bench, mac: &str, name: &str) -> serde_json::Value {
    let all = bench.json(&["stations"]);
    let list = all["stations"].as_array().expect("a list");
    list.iter().find(|station| station["mac"] == mac).map_or(serde_json::Value::Null, |station| station[name].clone())
}

/// detti2011, footnote 3: APs behind a switch, told apart by asking each for its stations. A station that roams has the
/// new AP's capacity; an agent that is silent holds up nothing.
#[test]
fn aps_behind_a_switch_are_told_apart_by_snmp() {
    needs_root!();
    let mut bench = Bench::new(1);
    let (one, other) = (bench.mac(Place::Stations), bench.mac(Place::Other));
    let tables = [&one, &other].map(|mac| Arc::new(Mutex::new(vec![registration(mac)])));
    let first = agent(&bench, 1611, &tables[0]);
    let second = agent(&bench, 1612, &tables[1]);
    bench.configure(BANK);
    bench.start(&[]);
    let rates = goodputs(&bench, &[down("10.1.0.2"), up("10.1.0.2"), down("10.1.9.9"), up("10.1.9.9")], 3, 10);
    let (at_one, at_two) = (rates[0] + rates[1], rates[2] + rates[3]);
    println!("8 and 4 Mbit/s behind one switch, by SNMP: {:.2} and {:.2} Mbit/s", at_one / 1e6, at_two / 1e6);
    assert!((field(&bench, &one, "ap"), field(&bench, &other, "ap")) == ("ap1".into(), "ap2".into()));
    assert!((0.85..1.0).contains(&(at_one / 8e6)) && (0.85..1.0).contains(&(at_two / 4e6)), "{rates:?}");

    // It appears at the first AP; the second has not noticed yet.
    let begin = Instant::now();
    *tables[0].lock().unwrap() = {
        let mut table = vec![registration(&one), registration(&other)];
        table.sort();
        table
    };
    wait(&bench, 20, "moved", || field(&bench, &other, "ap") == "ap1");
    println!("roamed {:.2} s after the AP's table said so", begin.elapsed().as_secs_f64());
    let rates = goodputs(&bench, &[down("10.1.0.2"), down("10.1.9.9")], 1, 3);
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.1 && rates[0] + rates[1] > 0.85 * 8e6, "{rates:?}");

    let silent = second.at;
    drop(second);
    // Somebody is there and says nothing: an agent that is gone would be noticed at once.
    let _mute = bench.inside(Place::Box, || {
        // A child that another test forks has the agent's socket until it runs its program.
        let mut socket = UdpSocket::bind(silent);
        for _ in 0..50 {
            if socket.is_ok() {
                break;
            }
            sleep(Duration::from_millis(20));
            socket = UdpSocket::bind(silent);
        }
        socket.expect("bound")
    });
    let told = || bench.json(&["status"])["status"]["troubles"].to_string();
    wait(&bench, 20, "told", || told().contains(&format!("snmp {silent}: no answer")));
    // A daemon that waited for it would be deaf for two seconds of each three, so most of this time would be waiting.
    let (begin, mut answers) = (Instant::now(), Vec::new());
    while begin.elapsed() < Duration::from_secs(9) {
        let asked = Instant::now();
        ask(&bench.state, Ask::Status).expect("the daemon is there").expect("it answers");
        answers.push(asked.elapsed());
        sleep(Duration::from_millis(300));
    }
    let waited = answers.iter().sum::<Duration>().as_secs_f64() / begin.elapsed().as_secs_f64();
    let slowest = answers.iter().max().expect("one at least");
    println!(
        "{} answers while an agent is silent: slowest {slowest:?}, {:.1} % of the time",
        answers.len(),
        waited * 100.0
    );
    assert!(waited < 1.0 / 3.0, "{answers:?}");
    assert_eq!(field(&bench, &one, "ap"), "ap1");
    assert!(first.asked.load(Ordering::SeqCst) > 10, "asked each second, twice a look");
}

/// Bytes a round of two stations by what the model says of their air.
fn expected(fast: u64, slow: u64) -> f64 {
    let cost = |rate: u64| {
        let rate = Bitrate::from_bps(rate);
        let radio = Radio {
            phy: Phy::B,
            rate,
            basic_rate: Bitrate::mbps(1),
            protection_rate: None,
            preamble: Preamble::Long,
            retry_limit: 7,
            eifs: true,
            cw_min: None,
            cw_max: None,
            qos: None,
        };
        let mac = MacParams::new(&radio, Preset::Standard);
        airtime_per_byte(&mac, mac.tx(rate), 1460, 0.5)
    };
    cost(slow) / cost(fast)
}

fn quanta(bench: &Bench, fast: &str, slow: &str) -> f64 {
    let of = |mac: &str| field(bench, mac, "quantum").as_f64().unwrap_or(0.0);
    of(fast) / of(slow).max(1.0)
}

/// Rates of `iw station dump` become weights, and these shares: as much less as a slow station's bytes cost more air.
#[test]
fn rates_by_iw_become_airtime_weights() {
    needs_root!();
    let mut bench = Bench::new(1);
    let (fast, slow) = (bench.mac(Place::Stations), bench.mac(Place::Other));
    let asked = bench.directory.path().join("asked");
    bench.put_program(
        "iw",
        &format!(
            "echo \"$@\" >> {}\nprintf 'Station {fast} (on lan)\\n\\ttx bitrate:\\t11.0 MBit/s\\n'\n\
             printf 'Station {slow} (on lan)\\n\\ttx bitrate:\\t2.0 MBit/s\\n'\n",
            asked.display()
        ),
    );
    bench.configure(&format!("{AIRTIME}[discovery]\niw = [\"lan\"]\n"));
    bench.start(&[]);
    let transfers = [down("10.1.0.2"), down("10.1.9.9")];
    goodputs(&bench, &transfers, 0, 1);
    let expected = expected(11_000_000, 2_000_000);
    wait(&bench, 20, "weighted", || (quanta(&bench, &fast, &slow) / expected - 1.0).abs() < 0.01);
    let rates = goodputs(&bench, &transfers, 1, 4);
    println!("11 and 2 Mbit/s by iw: {:.2} times the goodput, {expected:.2} by the model", rates[0] / rates[1]);
    assert!((rates[0] / rates[1] / expected - 1.0).abs() < 0.1, "{rates:?}");
    let asked = std::fs::read_to_string(asked).expect("asked");
    assert!(asked.lines().all(|line| line == "dev lan station dump"), "{asked}");
}

/// The same by hostapd's control socket, which then hangs.
#[test]
fn rates_by_hostapd_become_airtime_weights() {
    needs_root!();
    let mut bench = Bench::new(1);
    let (fast, slow) = (bench.mac(Place::Stations), bench.mac(Place::Other));
    let path = bench.directory.path().join("wlan0");
    let socket = bench.inside(Place::Box, || UnixDatagram::bind(&path).expect("bound"));
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    bench.configure(&format!("{AIRTIME}[[discovery.hostapd]]\nsocket = {path:?}\n"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 200];
            while !is_over.load(Ordering::SeqCst) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                let asked = std::str::from_utf8(&buffer[..length]).expect("text");
                let answer = if asked == "STA-FIRST" {
                    format!("{fast}\nflags=[AUTH][ASSOC]\nsignal=-30\nrx_rate_info=20\ntx_rate_info=110\n")
                } else if asked == format!("STA-NEXT {fast}") {
                    format!("{slow}\nflags=[AUTH][ASSOC]\nsignal=-70\nrx_rate_info=20\ntx_rate_info=0\n")
                } else {
                    String::new()
                };
                // Who asked may have gone.
                let _ = socket.send_to_addr(answer.as_bytes(), &from);
            }
        });
        bench.start(&[]);
        goodputs(&bench, &[down("10.1.0.2"), down("10.1.9.9")], 0, 1);
        let expected = expected(11_000_000, 2_000_000);
        let is_weighted = || (quanta(&bench, &fast, &slow) / expected - 1.0).abs() < 0.01;
        let begin = Instant::now();
        while !is_weighted() && begin.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(50));
        }
        is_over.store(true, Ordering::SeqCst);
        assert!(is_weighted(), "{}{}", bench.json(&["stations"]), bench.log());
    });
    let told = || bench.json(&["status"])["status"]["troubles"].to_string();
    wait(&bench, 20, "told", || told().contains("no answer within 2s"));
}
