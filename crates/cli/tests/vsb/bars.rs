//! What must hold at size: changes under load lose and reorder nothing; a thousand stations.
//!
//! `cargo test --release -p fairair --test vsb bars -- --nocapture --test-threads 1` prints the figures.

use std::fmt::Write as _;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root};
use crate::worker::{now_ms, spawn};

const STATIONS: u32 = 1000;
/// One at a time: the kernel's neighbour table has room for 1024 entries in all namespaces together.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// `count` stations from 10.1.0.2 on, the first with weight `weight`.
fn stations(count: u32, weight: u32) -> String {
    let mut text = String::new();
    for own in 0..count {
        let (high, low) = ((own + 2) >> 8, (own + 2) & 255);
        let _ = write!(
            text,
            "[[station]]\nname = \"s{own}\"\naddresses = [\"10.1.{high}.{low}\"]\nweight = {}\n",
            weight + own % 2
        );
    }
    text
}

fn one_ap(rate: &str) -> String {
    format!(
        "udp = \"shape\"\n[[ap]]\nname = \"ap1\"\ninterface = \"lan\"\ncapacity = \"{rate}\"\n[discovery]\nneighbours = false\nfirst_sight = false\n"
    )
}

/// Bar: changing C, weights, caps, adding and removing 1000 stations under 10,000 packets a second loses none and
/// reorders none.
#[test]
fn changes_under_load_lose_and_reorder_nothing() {
    needs_root!();
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut bench = Bench::new(STATIONS);
    bench.configure(&format!("{}{}", one_ap("200 Mbit/s"), stations(STATIONS, 1)));
    bench.start(&[]);
    let end = now_ms() + 16_000;
    let sink = spawn(&bench, Place::Stations, &format!("count 6001 {end}"));
    std::thread::sleep(Duration::from_millis(300));
    let source = spawn(&bench, Place::Host, &format!("flood 6001 {STATIONS} 10000 {}", end - 2000));
    std::thread::sleep(Duration::from_secs(1));
    let changes = [
        format!("{}{}", one_ap("300 Mbit/s"), stations(STATIONS, 1)),
        format!("{}{}", one_ap("300 Mbit/s"), stations(STATIONS, 3)),
        format!("{}{}", one_ap("300 Mbit/s"), stations(STATIONS, 3).replace("weight", "cap = \"50 Mbit/s\"\nweight")),
        one_ap("300 Mbit/s"),
        format!("{}{}", one_ap("200 Mbit/s"), stations(STATIONS, 1)),
    ];
    for change in changes {
        bench.configure(&change);
        let begin = Instant::now();
        let reload = bench.vsb(&["reload"]);
        assert!(reload.status.success(), "{}", String::from_utf8_lossy(&reload.stderr));
        println!("reload of {STATIONS} stations: {:.0} ms in all", begin.elapsed().as_secs_f64() * 1e3);
    }
    let still = now_ms() < end - 2000;
    let sent = source.wait_with_output().unwrap();
    let sent: u64 = word(&String::from_utf8_lossy(&sent.stdout), "SENT ");
    let text = String::from_utf8_lossy(&sink.wait_with_output().unwrap().stdout).into_owned();
    let (received, reordered): (u64, u64) = (word(&text, "COUNTED "), word(&text, "REORDERED "));
    println!("{sent} packets sent, {} lost, {reordered} reordered", sent - received);
    assert!(still, "the load ended before the changes did");
    assert!(sent > 50_000, "{sent}");
    assert_eq!((received, reordered), (sent, 0));
}

/// Bar: forwarding at least 75 % of the same box without shaping, traffic to many stations, 1000 of them in 20 pools;
/// the daemon under 5 % of a core and under 60 MB. Rates and loads are printed, since they are the machine's too.
#[test]
fn a_thousand_stations_in_twenty_pools() {
    needs_root!();
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut bench = Bench::new(STATIONS);
    let flood = |bench: &Bench| {
        let end = now_ms() + 5000;
        let sink = spawn(bench, Place::Stations, &format!("count 6001 {end}"));
        std::thread::sleep(Duration::from_millis(300));
        let source = spawn(bench, Place::Host, &format!("flood 6001 {STATIONS} 10000000 {}", end - 500));
        source.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&sink.wait_with_output().unwrap().stdout).into_owned();
        word::<f64>(&text, "COUNTED ") / 4.2
    };
    let mut config = String::from("udp = \"shape\"\n");
    for pool in 0..20 {
        // 50 stations each: 10.1.0.0/26 and on hold 64 addresses.
        let (high, low) = ((pool * 64) >> 8, (pool * 64) & 255);
        let _ = write!(
            config,
            "[[ap]]\nname = \"ap{pool}\"\ninterface = \"lan\"\nprefixes = [\"10.1.{high}.{low}/26\"]\ncapacity = \"10000 Mbit/s\"\n"
        );
    }
    config += "[discovery]\nneighbours = true\n";
    config += &stations(STATIONS, 1);
    bench.configure(&config);
    let mut ratios = Vec::new();
    for _ in 0..3 {
        let without = flood(&bench);
        bench.start(&[]);
        let with = flood(&bench);
        let id = bench.daemon().id();
        let before = cpu_ticks(id);
        std::thread::sleep(Duration::from_secs(5));
        let load = (cpu_ticks(id) - before) as f64 / 100.0 / 5.0;
        let memory = resident_kb(id);
        println!(
            "without {without:.0}, with {with:.0} packets/s: {:.3}; daemon {:.1} % of a core, {:.1} MB",
            with / without,
            load * 100.0,
            memory as f64 / 1e3
        );
        assert!(memory < 60_000, "{memory} kB");
        ratios.push(with / without);
        assert!(bench.vsb(&["stop"]).status.success());
        bench.daemon().wait().unwrap();
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("forwarding with the box over without: mean {mean:.3}");
}

fn cpu_ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn resident_kb(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    word(&status, "VmRSS:")
}

#[track_caller]
fn word<T: std::str::FromStr>(text: &str, before: &str) -> T {
    let word = text.split(before).nth(1).and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no {before} in {text}"))
}

/// Worker: numbered packets to `stations` stations in turn, at `rate` a second, until `end_ms`.
pub(crate) fn flood(port: u16, stations: u32, rate: u64, end_ms: u64) {
    let socket = UdpSocket::bind("10.2.0.2:0").expect("bound");
    let begin = Instant::now();
    let (mut sent, mut turn) = (0_u64, 0_u32);
    let mut numbers = vec![0_u64; stations as usize];
    while now_ms() < end_ms {
        let due = (begin.elapsed().as_secs_f64() * rate as f64) as u64;
        for _ in 0..due.saturating_sub(sent).min(64) {
            let own = turn + 2;
            let to = std::net::Ipv4Addr::new(10, 1, (own >> 8) as u8, (own & 255) as u8);
            let mut packet = [0; 200];
            packet[..8].copy_from_slice(&numbers[turn as usize].to_be_bytes());
            packet[8..12].copy_from_slice(&turn.to_be_bytes());
            if socket.send_to(&packet, (to, port)).is_ok() {
                numbers[turn as usize] += 1;
                sent += 1;
            }
            turn = (turn + 1) % stations;
        }
        if due <= sent {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
    println!("SENT {sent}");
}

/// Worker: counts what comes to any station until `end_ms`, and what comes out of order.
pub(crate) fn count(port: u16, end_ms: u64) {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).expect("a socket");
    socket.bind(&std::net::SocketAddr::from(([0, 0, 0, 0], port)).into()).expect("bound");
    socket.set_recv_buffer_size(32 << 20).expect("set");
    let socket: UdpSocket = socket.into();
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    // The address that a packet was sent to is not told, so packets say the number of their station.
    let (mut counted, mut reordered) = (0_u64, 0_u64);
    let mut next = std::collections::HashMap::new();
    let mut packet = [0; 2048];
    while now_ms() < end_ms {
        let Ok((length, _)) = socket.recv_from(&mut packet) else { continue };
        if length < 12 {
            continue;
        }
        let number = u64::from_be_bytes(*packet.first_chunk().expect("eight bytes"));
        counted += 1;
        let station = u32::from_be_bytes(*packet[8..].first_chunk().expect("four bytes"));
        let next = next.entry(station).or_insert(0);
        reordered += u64::from(number < *next);
        *next = number + 1;
    }
    println!("COUNTED {counted} REORDERED {reordered}");
}
