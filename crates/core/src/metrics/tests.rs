//! Two replicas by hand, and the report on them.

use super::*;
use crate::mac::{Phy, Preamble};
use crate::packet::{Category, Direction, DropReason};
use crate::qdisc::{Histogram, QdiscSpec, QueueStats, SparseHistogram};
use crate::record::{FlowRecord, MacStats, Record, Series, StationRecord};
use crate::scenario::{Ap, Flow, Preset, Radio, Run, Scenario, Station, Traffic, Wire};
use crate::tcp::TcpParams;
use crate::units::{Bitrate, Duration, Instant, Probability};

fn flow(direction: Direction) -> Flow {
    Flow {
        direction,
        traffic: Traffic::Bulk,
        tcp: TcpParams::default(),
        start: Duration::ZERO,
        stop: None,
        wire: None,
        category: Category::BestEffort,
    }
}

fn station(name: &str, flows: &[Direction]) -> Station {
    Station {
        name: name.to_owned(),
        group: None,
        ap: 0,
        rate: Bitrate::mbps(11),
        tx: None,
        beta: 1.0,
        frame_error: Probability::ZERO,
        bit_error_rate: 0.0,
        uplink_queue: 1000,
        uplink_mac80211: None,
        weight: 1.0,
        cap: None,
        flows: flows.iter().copied().map(flow).collect(),
    }
}

/// A station with two uploads, two that download, and one without flows.
fn scenario() -> Scenario {
    Scenario {
        name: "by-hand".to_owned(),
        run: Run {
            duration: Duration::from_secs(12),
            warmup: Duration::from_secs(2),
            replicas: 2,
            seed: 7,
            start_spread: Duration::ZERO,
            sample_interval: None,
            preset: Preset::Standard,
        },
        radio: Radio {
            phy: Phy::B,
            rate: Bitrate::mbps(11),
            basic_rate: Bitrate::mbps(1),
            protection_rate: None,
            preamble: Preamble::Long,
            retry_limit: 7,
            eifs: true,
            cw_min: None,
            cw_max: None,
            qos: None,
        },
        access_points: Vec::new(),
        ap: Ap { queue: QdiscSpec::Droptail { limit: 75 }, uplink_queue: 100, window_cap: None, uplink_limiter: None },
        wire: Wire { rate: Bitrate::mbps(100), delay: Duration::ZERO, queue: 1000 },
        stations: vec![
            station("sta", &[Direction::Up, Direction::Up]),
            station("other-1", &[Direction::Down]),
            station("other-2", &[Direction::Down]),
            station("idle", &[]),
        ],
        enforce: None,
        events: Vec::new(),
    }
}

fn flow_record(station: usize, direction: Direction, delivered_bytes: u64) -> FlowRecord {
    FlowRecord {
        station,
        direction,
        tcp: true,
        delivered_bytes,
        sent_packets: 100,
        retransmits: 10,
        timeouts: Some(1),
        longest_timeout: None,
        fast_retransmits: Some(2),
        transfer_times: Vec::new(),
        busy: None,
        periods: Vec::new(),
    }
}

/// 10 s in which the four flows deliver these bytes.
fn record(delivered: [u64; 4]) -> Record {
    let mac = MacStats {
        attempts: 100,
        collisions: 25,
        frame_errors: 0,
        delivered: 75,
        discards: 1,
        airtime: Duration::from_secs(2),
        ..MacStats::default()
    };
    let queue = QueueStats {
        arrivals: [80, 20, 0],
        departures: [40, 10, 0],
        drops: std::array::from_fn(|reason| if reason == DropReason::QueueFull.index() { [40, 5, 0] } else { [0; 3] }),
        occupancy: 300_000_000_000,
        sojourn: Duration::from_secs(25),
        delays: Histogram::default(),
    };
    let mut ap_delays = SparseHistogram::default();
    (1..=20).for_each(|ms| ap_delays.record(Duration::from_millis(ms)));
    Record {
        seed: 1,
        measured: Duration::from_secs(10),
        flows: vec![
            flow_record(0, Direction::Up, delivered[0]),
            flow_record(0, Direction::Up, delivered[1]),
            flow_record(1, Direction::Down, delivered[2]),
            flow_record(2, Direction::Down, delivered[3]),
        ],
        stations: vec![
            StationRecord {
                mac,
                uplink_queue: queue.clone(),
                airtime_down: Duration::from_secs(1),
                ap_delays
            };
            4
        ],
        access_points: Vec::new(),
        ap_mac: mac,
        ap_queue: queue,
        ap_delays: None,
        ap_uplink_queue: QueueStats::default(),
        wire_drops: 0,
        enforce: None,
        series: Series::default(),
    }
}

fn provenance() -> Provenance {
    Provenance {
        engine: "by hand".to_owned(),
        version: "0".to_owned(),
        replicas_planned: 2,
        interrupted: false,
        until_ci: None,
    }
}

#[track_caller]
fn is(estimate: Estimate, mean: f64, n: u32) {
    let got = estimate.mean.expect("exists");
    assert!((got - mean).abs() < 1e-9 && estimate.n == n, "{estimate:?} is not {mean} over {n}");
}

#[test]
fn goodputs_and_indices_worked_by_hand() {
    let report = Report::new(&scenario(), &[record([10, 5, 0, 5]), record([10, 10, 5, 0])], provenance());
    // Replica 0: 8, 4, 0, 4 bit/s; replica 1: 8, 8, 4, 0.
    is(report.totals.goodput_bps, 18.0, 2);
    is(report.directions.up.mean_flow_goodput_bps, 7.0, 2);
    is(report.directions.down.mean_flow_goodput_bps, 2.0, 2);
    is(report.indices.up_down_ratio, 3.5, 2);
    // Flows: 16^2 / (4 * 96) and 20^2 / (4 * 144).
    is(report.indices.jain_flows, f64::midpoint(256.0 / 384.0, 400.0 / 576.0), 2);
    // Stations with flows: 12, 0, 4 and 16, 4, 0.
    is(report.indices.jain_stations, f64::midpoint(256.0 / 480.0, 400.0 / 816.0), 2);
    // 14 against the mean of 2 and 2.
    is(report.indices.fairness_level_first_station, 7.0, 2);
    // Deviation of one flow: half the difference over the mean; replica 0: 2/6, replica 1: 0.
    is(report.directions.up.sigma_over_mean, 1.0 / 6.0, 2);
    let eta = report.indices.fairness_level.expect("few stations");
    is(eta[0][1], 7.0, 2);
    is(eta[1][2], 1.0, 2);
    assert_eq!(eta[0][3], Estimate { mean: None, ci95: None, n: 2 });
    is(report.stations[0].goodput_share, 14.0 / 18.0, 2);
}

/// A download that is over before anything is measured has no part in what is compared; nor has its station.
#[test]
fn who_is_gone_before_the_measured_time_is_not_compared() {
    let mut scenario = scenario();
    scenario.stations[0].flows.truncate(1);
    scenario.stations[1].flows[0].stop = Some(Duration::from_secs(2));
    let mut own = record([10, 0, 0, 10]);
    own.flows.remove(1);
    let report = Report::new(&scenario, &[own.clone(), own], provenance());
    is(report.indices.up_down_ratio, 1.0, 2);
    is(report.indices.jain_flows, 1.0, 2);
    is(report.indices.jain_stations, 1.0, 2);
    is(report.indices.fairness_level_first_station, 1.0, 2);
    is(report.directions.down.mean_flow_goodput_bps, 8.0, 2);
    assert!(verdict(&report, &scenario).contains("Uploads and downloads get the same"));
    scenario.stations[2].flows[0].start = Duration::from_secs(12);
    assert!(!verdict(&report, &scenario).contains("ownloads"), "none is left");
}

#[test]
fn queues_and_transmitters_worked_by_hand() {
    let report = Report::new(&scenario(), &[record([10; 4]), record([10; 4])], provenance());
    is(report.ap_queue.mean_packets, 30.0, 2);
    is(report.ap_queue.mean_sojourn_s, 0.5, 2);
    assert_eq!(report.ap_delay.mean_s, report.ap_queue.mean_sojourn_s, "where the MAC holds one packet");
    is(report.ap_queue.drop_probability.data, 0.5, 2);
    is(report.ap_queue.drop_probability.ack, 0.25, 2);
    assert_eq!(report.ap_queue.drop_probability.other.mean, None);
    // All that waited as the measurement began is dropped, and little arrives.
    let mut late = record([10; 4]);
    late.ap_queue.arrivals[0] = 8;
    let late = Report::new(&scenario(), &[late.clone(), late], provenance());
    is(late.ap_queue.drop_probability.data, 0.5, 2);
    is(report.ap_queue.drops["queue-full"].data, 40.0, 2);
    is(report.mac.ap.collision_probability, 0.25, 2);
    is(report.mac.stations.attempts, 400.0, 2);
    is(report.stations[1].airtime_share, 0.3, 2);
    is(report.stations[1].airtime_down_share, 0.1, 2);
    let p95 = report.stations[1].ap_delay_p95_s;
    assert!((p95.mean.unwrap() / 0.019 - 1.0).abs() < 0.03 && p95.n == 2, "{p95:?}");
    is(report.stations[1].uplink_queue_drop_probability, 0.45, 2);
    // Five transmitters with 75 frames in 10 s.
    is(report.totals.packets_per_second, 37.5, 2);
    is(report.directions.up.retransmit_share, 0.1, 2);
    is(report.flows[3].fast_retransmits, 2.0, 2);
}

#[test]
fn transfers_are_averaged_within_a_replica_first() {
    let mut records = [record([10; 4]), record([10; 4])];
    records[0].flows[2].transfer_times = vec![Duration::from_secs(1), Duration::from_secs(3)];
    let report = Report::new(&scenario(), &records, provenance());
    let transfers = report.directions.down.transfers;
    is(transfers.count, 1.0, 2);
    is(transfers.mean_s, 2.0, 1);
    // Sample deviation sqrt(2) over 2.
    is(transfers.cov, 0.5_f64.sqrt(), 1);
    assert_eq!(report.directions.up.transfers.mean_s.mean, None);
}

#[test]
fn neighbours_that_differ_in_their_number_alone_are_a_group() {
    let mut scenario = scenario();
    let groups = |scenario: &Scenario| -> Vec<String> {
        Report::new(scenario, &[], provenance()).stations.into_iter().map(|station| station.group).collect()
    };
    assert_eq!(groups(&scenario), ["sta", "other", "other", "idle"]);
    scenario.stations[2].beta = 1.2;
    assert_eq!(groups(&scenario), ["sta", "other-1", "other-2", "idle"]);
}

#[test]
fn what_does_not_exist_is_null_in_json_and_the_json_reads_back() {
    let mut sampled = record([0; 4]);
    sampled.series =
        Series { at: vec![Instant::ZERO], ap_queue_packets: vec![3], cwnd: vec![vec![1.5]; 4], ..Series::default() };
    for records in [vec![], vec![Record::default()], vec![sampled, record([0; 4])]] {
        let report = Report::new(&scenario(), &records, provenance());
        let json = serde_json::to_string(&report).unwrap();
        assert!(!json.contains("-0.0"), "{json}");
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(value["indices"]["up_down_ratio"]["mean"].is_null(), "{json}");
        assert!(value["indices"]["jain_flows"]["mean"].is_null());
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }
}

/// Consumers rely on these paths.
#[test]
fn the_promised_paths_hold_mean_ci95_and_n() {
    let report = Report::new(&scenario(), &[record([9, 8, 7, 6]), record([6, 7, 8, 9])], provenance());
    let value = serde_json::to_value(&report).unwrap();
    for path in [
        "/directions/up/mean_flow_goodput_bps",
        "/directions/down/mean_flow_goodput_bps",
        "/totals/goodput_bps",
        "/indices/jain_flows",
        "/indices/jain_stations",
        "/indices/up_down_ratio",
        "/indices/fairness_level_first_station",
        "/ap_queue/mean_packets",
        "/ap_queue/drop_probability/data",
        "/ap_queue/drop_probability/ack",
        "/stations/0/goodput_up_bps",
        "/stations/0/goodput_down_bps",
        "/stations/0/goodput_bps",
        "/stations/0/uplink_queue_mean_packets",
    ] {
        let estimate = value.pointer(path).unwrap_or_else(|| panic!("{path} is missing"));
        assert!(estimate["mean"].is_f64() && estimate["ci95"].is_f64() && estimate["n"] == 2, "{path}: {estimate}");
    }
    assert!(value.pointer("/ap_queue/drop_probability/other/mean").unwrap().is_null());
    assert_eq!(value["stations"][0]["name"], "sta");
}

/// `UPDATE_SCHEMA=1 cargo test` writes the file anew.
#[test]
fn the_committed_schema_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/result.schema.json");
    let generated = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == generated, "docs/result.schema.json is out of date: run UPDATE_SCHEMA=1 cargo test");
}
