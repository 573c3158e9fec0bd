//! What good files become.

use super::{SMALLEST, good};
use crate::ap::{LimiterCapacity, LimiterShare, WindowRule};
use crate::control::{AdaptiveParams, AirParams, CapacityParams, WceParams};
use crate::mac::{Phy, Preamble};
use crate::packet::Direction;
use crate::qdisc::{CwndSource, QdiscSpec, TlasParams, TlasSafParams, Victim};
use crate::scenario::{Action, Preset, Scenario, TimedEvent, Traffic, Wire};
use crate::shaper::Policy;
use crate::tcp::{Profile, TcpParams, Variant};
use crate::units::{Bitrate, Bytes, Duration, Probability};

/// Every key that the format has, none at its default.
const EVERYTHING: &str = r#"
name = "everything"
[run]
duration = "2 min"
warmup = "20 s"
replicas = 3
seed = 18446744073709551615
start_spread = "0.1 s"
sample_interval = "100 ms"
preset = "ns2"
[radio]
phy = "802.11b"
rate = "5.5 Mbit/s"
basic_rate = "2 Mbit/s"
preamble = "120 us"
retry_limit = 4
eifs = false
cw_min = 15
cw_max = 255
frame_error = 0.1
bit_error_rate = 1e-6
[ap]
queue = { kind = "droptail", limit = 75 }
uplink_queue = 50
[wire]
rate = "10 Mbit/s"
delay = "1.5 ms"
queue = 200
[tcp]
variant = "cubic"
mss = "1000 B"
window = 10
initial_cwnd = 1
initial_ssthresh = 8
sack = true
limited_transmit = false
delayed_ack = true
delayed_ack_timeout = "40 ms"
initial_rto = "2 s"
min_rto = "1 s"
max_rto = "30 s"
granularity = "100 ms"
[[station]]
name = "one"
rate = "1 Mbit/s"
beta = 1.2
frame_error = 0.3
bit_error_rate = 1e-5
uplink_queue = 7
flows = [
    { direction = "up", count = 2, tcp = { window = 5 }, start = "1 s", stop = "90 s" },
    { direction = "down", kind = "files", size = "15 kB", files = 9, burst = "250 ms", idle = "1 s", wire = { delay = "50 ms" } },
]
[[station]]
name = "more"
count = 2
[[station.flows]]
direction = "down"
kind = "udp"
payload = "500 B"
[[station.flows]]
direction = "up"
kind = "udp"
rate = "1 Mbit/s"
[[station.flows]]
direction = "up"
kind = "quic"
[[station.flows]]
direction = "down"
kind = "quic"
variant = "bbr"
payload = "1200 B"
"#;

#[test]
fn the_smallest_file_gets_the_documented_defaults() {
    let scenario = good(SMALLEST);
    assert_eq!(scenario.run.warmup, Duration::from_secs(10));
    assert_eq!((scenario.run.replicas, scenario.run.seed), (5, 1));
    assert_eq!(scenario.run.start_spread, Duration::from_secs(1));
    assert_eq!((scenario.run.sample_interval, scenario.run.preset), (None, Preset::Standard));
    let radio = scenario.radio;
    assert_eq!((radio.phy, radio.rate, radio.basic_rate), (Phy::B, Bitrate::mbps(11), Bitrate::mbps(2)));
    assert_eq!((radio.preamble, radio.retry_limit, radio.eifs), (Preamble::Long, 7, true));
    assert_eq!((radio.cw_min, radio.cw_max), (None, None));
    assert_eq!(scenario.ap.queue, QdiscSpec::Droptail { limit: 100 });
    assert_eq!(scenario.ap.uplink_queue, 100);
    assert_eq!(scenario.wire, Wire { rate: Bitrate::mbps(100), delay: Duration::ZERO, queue: 10_000 });
    let [station] = &scenario.stations[..] else { panic!("one station") };
    assert_eq!((station.name.as_str(), station.rate, station.uplink_queue), ("a", Bitrate::mbps(11), 1000));
    assert_eq!((station.frame_error, station.flows.len()), (Probability::ZERO, 0));
    assert!((station.beta - 1.0).abs() < f64::EPSILON && station.bit_error_rate.abs() < f64::EPSILON);
}

#[test]
fn every_key_reaches_its_field() {
    let scenario = good(EVERYTHING);
    let run = scenario.run;
    assert_eq!((run.duration, run.warmup), (Duration::from_secs(120), Duration::from_secs(20)));
    assert_eq!((run.replicas, run.seed, run.preset), (3, u64::MAX, Preset::Ns2));
    assert_eq!(run.start_spread, Duration::from_millis(100));
    assert_eq!(run.sample_interval, Some(Duration::from_millis(100)));
    let radio = scenario.radio;
    assert_eq!((radio.rate, radio.basic_rate), (Bitrate::from_bps(5_500_000), Bitrate::mbps(2)));
    assert_eq!(radio.preamble, Preamble::Lasting(Duration::from_micros(120)));
    assert_eq!((radio.retry_limit, radio.eifs, radio.cw_min, radio.cw_max), (4, false, Some(15), Some(255)));
    assert_eq!((scenario.ap.queue, scenario.ap.uplink_queue), (QdiscSpec::Droptail { limit: 75 }, 50));
    let wire = Wire { rate: Bitrate::mbps(10), delay: Duration::from_micros(1500), queue: 200 };
    assert_eq!(scenario.wire, wire);
    let tcp = TcpParams {
        profile: Profile::Rfc,
        variant: Variant::Cubic,
        mss: 1000,
        window: 10,
        initial_cwnd: 1,
        initial_ssthresh: Some(8),
        sack: true,
        ecn: false,
        limited_transmit: false,
        delayed_ack: true,
        delayed_ack_timeout: Duration::from_millis(40),
        initial_rto: Duration::from_secs(2),
        min_rto: Duration::from_secs(1),
        max_rto: Duration::from_secs(30),
        granularity: Duration::from_millis(100),
        preset: Preset::Ns2,
    };
    let names: Vec<_> = scenario.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["one", "more-1", "more-2"]);
    let one = &scenario.stations[0];
    assert_eq!((one.rate, one.frame_error.get(), one.uplink_queue), (Bitrate::mbps(1), 0.3, 7));
    assert_eq!((one.beta, one.bit_error_rate), (1.2, 1e-5));
    let [first, second, files] = &one.flows[..] else { panic!("three flows") };
    assert_eq!(first, second);
    assert_eq!((first.direction, first.traffic), (Direction::Up, Traffic::Bulk));
    assert_eq!(first.tcp, TcpParams { window: 5, ..tcp });
    assert_eq!((first.start, first.stop), (Duration::from_secs(1), Some(Duration::from_secs(90))));
    assert_eq!(first.wire, None);
    let (burst, idle) = (Duration::from_millis(250), Duration::from_secs(1));
    assert_eq!(files.traffic, Traffic::Files { size: Bytes(15_000), count: Some(9), burst, idle });
    assert_eq!(files.wire, Some(Wire { delay: Duration::from_millis(50), ..wire }));
    assert_eq!(files.tcp, tcp);
    let more = &scenario.stations[2];
    assert_eq!((more.rate, more.frame_error.get(), more.bit_error_rate), (radio.rate, 0.1, 1e-6));
    assert_eq!(more.flows[0].traffic, Traffic::UdpGreedy { payload: Bytes(500) });
    assert_eq!(more.flows[1].traffic, Traffic::UdpCbr { payload: Bytes(1472), rate: Bitrate::mbps(1) });
    // 33 bytes of a datagram are QUIC's headers and tag.
    assert_eq!((more.flows[2].traffic, more.flows[2].tcp), (Traffic::Quic, TcpParams::quic(Variant::Cubic, 1439)));
    assert_eq!((more.flows[3].traffic, more.flows[3].tcp), (Traffic::Quic, TcpParams::quic(Variant::Bbr, 1167)));
    assert_eq!(scenario.flow_count(), 11);
}

#[test]
fn presets_move_the_defaults_and_explicit_keys_win() {
    let ns2 = SMALLEST.replace("[[station]]", "preset = \"ns2\"\n[[station]]") + "flows = [{ direction = \"up\" }]\n";
    let scenario = good(&ns2);
    assert_eq!(scenario.radio.basic_rate, Bitrate::mbps(1));
    assert_eq!(scenario.stations[0].flows[0].tcp, TcpParams::ns2());
    let scenario = good(&format!("{ns2}[tcp]\nwindow = 42\n[radio]\nbasic_rate = \"2 Mbit/s\"\n"));
    assert_eq!(scenario.radio.basic_rate, Bitrate::mbps(2));
    assert_eq!(scenario.stations[0].flows[0].tcp, TcpParams { window: 42, ..TcpParams::ns2() });
    let scenario = good(&format!("{ns2}[radio]\nphy = \"802.11a\"\n"));
    assert_eq!(scenario.radio.basic_rate, Bitrate::mbps(24));
}

#[test]
fn defaults_fit_the_phy_the_rate_and_short_runs() {
    for (radio, rate, basic) in [
        ("phy = \"802.11a\"", 54, 24),
        ("phy = \"802.11g\"", 54, 24),
        ("phy = \"802.11g\"\nrate = \"12 Mbit/s\"", 12, 12),
        ("rate = \"1 Mbit/s\"", 1, 1),
    ] {
        let scenario = good(&format!("{SMALLEST}[radio]\n{radio}\n"));
        let expected = (Bitrate::mbps(rate), Bitrate::mbps(basic));
        assert_eq!((scenario.radio.rate, scenario.radio.basic_rate), expected);
        assert_eq!(scenario.stations[0].rate, Bitrate::mbps(rate));
    }
    let short = good(&SMALLEST.replace("60 s", "6 ms"));
    assert_eq!(short.run.start_spread, Duration::from_micros(600));
    assert_eq!(short.run.warmup, Duration::from_millis(1));
    let shortest = good(&SMALLEST.replace("60 s", "1 ns"));
    assert_eq!(shortest.run.warmup, Duration::ZERO);
}

#[test]
fn a_count_names_stations_from_one_and_one_keeps_the_name() {
    let named = |count: &str| -> Vec<String> {
        good(&format!("{SMALLEST}{count}")).stations.into_iter().map(|station| station.name).collect()
    };
    assert_eq!(named(""), ["a"]);
    assert_eq!(named("count = 1"), ["a"]);
    assert_eq!(named("count = 3"), ["a-1", "a-2", "a-3"]);
    assert_eq!(named("count = 100000").len(), 100_000);
}

#[test]
fn dotted_keys_inline_tables_and_windows_line_ends_mean_the_same() {
    let inline = "name = \"t\"\nrun = { duration = \"60 s\" }\nstation = [{ name = \"a\" }]\n";
    let dotted = "name = \"t\"\nrun.duration = \"60 s\"\n[[station]]\nname = \"a\"\n";
    for text in [inline, dotted, &SMALLEST.replace('\n', "\r\n")] {
        assert_eq!(good(text), good(SMALLEST));
    }
}

#[test]
fn json_keeps_everything_and_shows_units() {
    for text in [SMALLEST, EVERYTHING] {
        let scenario = good(text);
        let json = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
    }
    let json = serde_json::to_value(good(EVERYTHING)).unwrap();
    assert_eq!(json["run"]["duration"], "120 s");
    assert_eq!(json["radio"]["rate"], "5.5 Mbit/s");
    assert_eq!(json["wire"]["delay"], "1500 us");
    assert_eq!(json["stations"][0]["flows"][2]["traffic"]["size"], "15000 B");
}

#[test]
fn the_box_reads_a_rate_a_word_or_a_machine() {
    let with =
        |capacity: &str| good(&format!("{SMALLEST}[enforce]\npolicy = \"airtime\"\n{capacity}\n")).enforce.unwrap();
    assert_eq!(with("").vsb.policy, Policy::Airtime);
    for auto in ["", "capacity = \"auto\"", "capacity = { kind = \"adaptive\" }"] {
        assert_eq!(with(auto).capacity, CapacityParams::Adaptive(AdaptiveParams::default()));
    }
    let rate = Bitrate::from_bps(4_500_000);
    for fixed in ["capacity = \"4.5 Mbit/s\"", "capacity = { kind = \"fixed\", rate = \"4.5 Mbit/s\" }"] {
        assert_eq!(with(fixed).capacity, CapacityParams::Fixed { rate });
    }
    let wce = with("capacity = { kind = \"wce\", step = \"50 kbit/s\", max = \"5 Mbit/s\" }").capacity;
    let expected = WceParams { step: Bitrate::from_bps(50_000), max: Bitrate::mbps(5), ..WceParams::default() };
    assert_eq!(wce, CapacityParams::Wce(expected));
    let air = with(
        "capacity = { kind = \"air\", share = 0.9, interval = \"80 ms\", min = \"1 Mbit/s\", max = \"30 Mbit/s\" }",
    );
    let interval = Duration::from_millis(80);
    let expected = AirParams { share: 0.9, interval, min: Bitrate::mbps(1), max: Bitrate::mbps(30) };
    assert_eq!(air.capacity, CapacityParams::Air(expected));
    assert_eq!(good(SMALLEST).enforce, None);
}

#[test]
fn the_las_family_has_keys_of_its_own() {
    let queue = |queue: &str| good(&format!("{SMALLEST}[ap]\nqueue = {{ {queue} }}\n")).ap.queue;
    assert_eq!(queue("kind = \"tlas\""), QdiscSpec::Tlas(TlasParams::default()));
    assert_eq!(TlasParams::default().victim, Victim::Below);
    let tlas = TlasParams { limit: 60, threshold: 40, victim: Victim::Last };
    assert_eq!(queue("kind = \"tlas\", limit = 60, threshold = 40, victim = \"last\""), QdiscSpec::Tlas(tlas));
    let saf = TlasSafParams { cwnd: CwndSource::Estimated, victim: Victim::Last, ..TlasSafParams::default() };
    assert_eq!(queue("kind = \"tlas-saf\", cwnd = \"estimated\", victim = \"last\""), QdiscSpec::TlasSaf(saf));
}

#[test]
fn events_stand_in_the_order_of_time_and_name_groups() {
    let scenario = good(&format!(
        "{SMALLEST}[[station]]\nname = \"b\"\ncount = 2\n\
         [[event]]\nat = \"9 s\"\nkind = \"rate\"\nstation = \"b\"\nrate = \"2 Mbit/s\"\n\
         [[event]]\nat = \"3 s\"\nkind = \"silence\"\nlasts = \"1 s\"\n\
         [[event]]\nat = \"9 s\"\nkind = \"deaf\"\n"
    ));
    let at = Duration::from_secs;
    assert_eq!(
        scenario.events,
        [
            TimedEvent { at: at(3), action: Action::Silence { lasts: at(1) } },
            TimedEvent { at: at(9), action: Action::Rate { stations: vec![1, 2], rate: Bitrate::mbps(2), tx: None } },
            TimedEvent { at: at(9), action: Action::Deaf { stations: vec![0, 1, 2], on: true } },
        ]
    );
}

#[test]
fn the_ap_rewrites_windows_and_limits_the_uplink() {
    let ap = |keys: &str| good(&format!("{SMALLEST}[ap]\n{keys}\n")).ap;
    let cap = ap("queue = { kind = \"droptail\", limit = 75 }\nwindow_cap = \"lossless\"").window_cap.unwrap();
    assert_eq!((cap.rule, cap.buffer, cap.mss), (WindowRule::Lossless, 75, 1460));
    let cap = ap("window_cap = { kind = \"tfbr\", buffer = 50, delay = \"10 ms\" }").window_cap.unwrap();
    assert_eq!((cap.rule, cap.buffer, cap.delay), (WindowRule::Tfbr, 50, Duration::from_millis(10)));
    let limiter = ap("uplink_limiter = { capacity = \"4.7 Mbit/s\", share = \"flows\" }").uplink_limiter.unwrap();
    assert_eq!(limiter.capacity, LimiterCapacity::Given(Bitrate::from_bps(4_700_000)));
    assert_eq!(limiter.share, LimiterShare::Flows);
    let limiter = ap("uplink_limiter = { capacity = \"auto\" }").uplink_limiter.unwrap();
    assert!(matches!(limiter.capacity, LimiterCapacity::Auto(_)));
}
