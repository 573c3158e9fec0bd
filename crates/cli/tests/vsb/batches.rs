//! Several packets of a station at once, for radios that aggregate.

use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{reload, stop, two};

const PARAMETER: &str = "/sys/module/sch_htb/parameters/htb_hysteresis";

fn hysteresis() -> String {
    fs::read_to_string(PARAMETER).unwrap_or_else(|_| "0".to_owned()).trim().to_owned()
}

/// Sends twice what the pool carries to both stations for three seconds; packets that each got in the last two, and the mean number that came in a
/// row.
fn in_rows(bench: &Bench) -> ([u32; 2], f64) {
    let to = bench.inside(Place::Stations, || UdpSocket::bind("0.0.0.0:7001").expect("bound"));
    to.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    let from = bench.inside(Place::Host, || UdpSocket::bind("10.2.0.2:0").expect("bound"));
    let begin = Instant::now();
    let sender = std::thread::spawn(move || {
        let mut payload = [0; 1472];
        for sent in 0_u64.. {
            let due = begin + Duration::from_micros(sent * 300);
            if begin.elapsed() > Duration::from_secs(3) {
                return;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let station = (sent % 2) as u8;
            payload[0] = station;
            // What the box drops is not an error here.
            let _ = from.send_to(&payload, (std::net::Ipv4Addr::new(10, 1, 0, 2 + station), 7001));
        }
    });
    let (mut counts, mut rows, mut before) = ([0; 2], 0, None);
    let mut packet = [0; 2000];
    while begin.elapsed() < Duration::from_secs(3) {
        if to.recv(&mut packet).is_err() || begin.elapsed() < Duration::from_secs(1) {
            continue;
        }
        let station = usize::from(packet[0]);
        counts[station] += 1;
        rows += u32::from(before.replace(station) != Some(station));
    }
    sender.join().expect("sent");
    (counts, f64::from(counts[0] + counts[1]) / f64::from(rows.max(1)))
}

/// The kernel's HTB sends batches where its parameter is set: the box sets it, keeps it set, and puts it back.
#[test]
fn a_station_sends_several_packets_in_a_row_and_the_kernel_is_as_before_afterwards() {
    needs_root!();
    let before = hysteresis();
    let batches = format!("batch = \"24 kB\"\n{}", two());
    // The parameter is the machine's.
    let mut bench = Bench::alone(2);
    bench.configure(&two());
    bench.start(&[]);
    bench.settle();
    let (counts, row) = in_rows(&bench);
    println!("a packet at a time: {counts:?} packets, {row:.1} in a row");
    assert!(row < 3.0, "{row}");
    bench.configure(&batches);
    reload(&bench);
    let (counts, row) = in_rows(&bench);
    println!("batches of 24 kB: {counts:?} packets, {row:.1} in a row");
    assert!(row > 12.0, "{row}");
    let [a, b] = counts.map(f64::from);
    assert!((a / b - 1.0).abs() < 0.05, "{counts:?}");
    // 20 Mbit/s of packets of 1500 B for two seconds.
    assert!(((a + b) / 3333.0 - 1.0).abs() < 0.03, "{counts:?}");
    // Somebody else puts it back.
    fs::write(PARAMETER, "0").expect("written");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(hysteresis(), "1");
    bench.configure(&two());
    reload(&bench);
    assert_eq!(hysteresis(), before);
    // After a kill the next one knows what was there before.
    bench.configure(&batches);
    reload(&bench);
    bench.daemon().kill().expect("killed");
    bench.daemon().wait().expect("gone");
    assert_eq!(hysteresis(), "1");
    bench.start(&[]);
    stop(&bench);
    assert_eq!(hysteresis(), before);
}
