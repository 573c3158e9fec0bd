//! `udp = "auto"`: what is answered is shaped, what is not passes by.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairair_core::units::Bitrate;

use crate::bench::{Bench, Place, needs_root};
use crate::operator::until;

/// A sender of 1 Mbit/s, and the other end, which answers every second datagram if it `answers`.
struct Talk {
    goes_on: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Talk {
    fn start(bench: &Bench, station: &str, host: &str, port: u16, answers: bool) -> Talk {
        let address = |ip: &str, port| SocketAddr::new(ip.parse::<IpAddr>().expect("an address"), port);
        let (near, far) = (address(station, port), address(host, port));
        let own = bench.inside(Place::Stations, || UdpSocket::bind(near).expect("bound"));
        let other = bench.inside(Place::Host, || UdpSocket::bind(far).expect("bound"));
        other.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
        let goes_on = Arc::new(AtomicBool::new(true));
        let (sends, hears) = (Arc::clone(&goes_on), Arc::clone(&goes_on));
        let sender = std::thread::spawn(move || {
            let begin = Instant::now();
            for sent in 1_u32.. {
                if !sends.load(Ordering::Relaxed) {
                    return;
                }
                let _ = own.send_to(&[0; 1222], far);
                std::thread::sleep(
                    (begin + Duration::from_millis(10) * sent).saturating_duration_since(Instant::now()),
                );
            }
        });
        let listener = std::thread::spawn(move || {
            let mut datagram = [0; 1500];
            let mut count = 0_u32;
            while hears.load(Ordering::Relaxed) {
                if other.recv(&mut datagram).is_ok() {
                    count += 1;
                    if answers && count.is_multiple_of(2) {
                        let _ = other.send_to(&[0; 30], near);
                    }
                }
            }
        });
        Talk { goes_on, threads: vec![sender, listener] }
    }

    fn end(self) {
        self.goes_on.store(false, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("ended");
        }
    }
}

/// The set of flows that are shaped, as nftables lists it.
fn shaped(bench: &Bench, family: &str, version: u8) -> String {
    bench.run(Place::Box, &["nft", "list", "set", family, "fairair", &format!("answers{version}")])
}

fn rate(bench: &Bench, name: &str) -> f64 {
    let stations = bench.json(&["stations"]);
    let own = stations["stations"].as_array().expect("a list").iter().find(|own| own["name"] == name);
    own.map_or(0.0, |own| own["rate"].as_str().expect("text").parse::<Bitrate>().expect("a rate").as_bps() as f64)
}

fn configuration(interface: &str, more: &str) -> String {
    format!(
        "udp = \"auto\"\n{more}[[ap]]\nname = \"ap1\"\ninterface = \"{interface}\"\ncapacity = \"10 Mbit/s\"\n[[station]]\nname = \"a\"\n\
         addresses = [\"10.1.0.2\", \"fd01::2\"]\n"
    )
}

#[test]
fn udp_that_is_answered_is_shaped_and_other_udp_passes_by() {
    needs_root!();
    let bench = Bench::shaping_light(2, &configuration("lan", ""));
    let talks = [
        Talk::start(&bench, "10.1.0.2", "10.2.0.2", 7001, true),
        Talk::start(&bench, "10.1.0.2", "10.2.0.2", 7002, false),
        Talk::start(&bench, "fd01::2", "fd02::2", 7003, true),
    ];
    let told = |bench: &Bench| bench.json(&["explain", "a"]).to_string();
    until(10, &bench, || {
        told(&bench).contains("its flows of UDP: 2 with answers (shaped), 1 without answers (past the box)")
    });
    let flows = shaped(&bench, "inet", 4);
    assert!(flows.contains("10.1.0.2 . 7001 . 10.2.0.2 . 7001") && !flows.contains("7002"), "{flows}");
    assert!(shaped(&bench, "inet", 6).contains("fd01::2 . 7003 . fd02::2 . 7003"));
    // What comes back does not count as going up.
    let counted = |set: &str| -> u64 {
        let listed = bench.run(Place::Box, &["nft", "list", "set", "inet", "fairair", set]);
        let element = listed.split("10.1.0.2 . 7001").nth(1).unwrap_or_else(|| panic!("{listed}"));
        element
            .split("packets ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .expect("a counter")
            .parse()
            .expect("a number")
    };
    let (up, back) = (counted("fup4"), counted("fback4"));
    assert!((1.8..2.2).contains(&(up as f64 / back as f64)), "{up} up, {back} back");
    // Its class has what is shaped, and explain what is not.
    until(5, &bench, || (1.7e6..2.6e6).contains(&rate(&bench, "a")));
    assert!(told(&bench).contains("Mbit/s of UDP, which passes the box by"), "{}", told(&bench));
    // Others take the decision away.
    bench.run(Place::Box, &["nft", "flush", "set", "inet", "fairair", "answers4"]);
    until(3, &bench, || shaped(&bench, "inet", 4).contains("7001"));
    talks.into_iter().for_each(Talk::end);
    until(15, &bench, || !shaped(&bench, "inet", 4).contains("700") && !shaped(&bench, "inet", 6).contains("700"));
    assert_eq!(bench.json(&["status"])["status"]["troubles"].to_string(), "[]", "{}", bench.log());
}

/// A bridge sees addresses, too.
#[test]
fn udp_that_is_answered_is_shaped_on_a_bridge_and_by_flow() {
    needs_root!();
    for policy in ["per-station", "per-flow"] {
        let mut bench = Bench::light(2);
        bench.bridge();
        let text = configuration("lan0", &format!("mode = \"bridged\"\npolicy = \"{policy}\"\n"));
        bench.configure(text.split("[[station]]").next().expect("text"));
        bench.start(&[]);
        let talks = [
            Talk::start(&bench, "10.1.0.2", "10.2.0.2", 7001, true),
            Talk::start(&bench, "10.1.0.2", "10.2.0.2", 7002, false),
        ];
        until(10, &bench, || shaped(&bench, "bridge", 4).contains("10.1.0.2 . 7001 . 10.2.0.2 . 7001"));
        assert!(!shaped(&bench, "bridge", 4).contains("7002"));
        talks.into_iter().for_each(Talk::end);
        assert_eq!(bench.json(&["status"])["status"]["troubles"].to_string(), "[]", "{}", bench.log());
    }
}
