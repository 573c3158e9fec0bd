//! A cell and its results by hand, for tests of what is printed.

use fairair_core::mac::{Phy, Preamble};
use fairair_core::metrics::{Provenance, Report};
use fairair_core::packet::{Category, Direction, DropReason};
use fairair_core::qdisc::{Histogram, QdiscSpec, QueueStats, SparseHistogram};
use fairair_core::record::{FlowRecord, MacStats, Record, Series, StationRecord};
use fairair_core::scenario::{Ap, Flow, Preset, Radio, Run, Scenario, Station, Traffic, Wire};
use fairair_core::tcp::TcpParams;
use fairair_core::units::{Bitrate, Duration, Probability};

/// One station with three uploads, four that download.
pub(crate) fn scenario() -> Scenario {
    scenario_of(4)
}

/// One station with three uploads, `others` that download.
pub(crate) fn scenario_of(others: usize) -> Scenario {
    let mut stations = vec![station("sta1".to_owned(), &[Direction::Up; 3])];
    stations.extend((1..=others).map(|number| station(format!("other-{number}"), &[Direction::Down])));
    let rate = Bitrate::mbps(11);
    Scenario {
        name: "by-hand".to_owned(),
        run: Run {
            duration: Duration::from_secs(12),
            warmup: Duration::from_secs(2),
            replicas: 3,
            seed: 7,
            start_spread: Duration::ZERO,
            sample_interval: None,
            preset: Preset::Standard,
        },
        radio: Radio {
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
        },
        access_points: Vec::new(),
        ap: Ap { queue: QdiscSpec::Droptail { limit: 75 }, uplink_queue: 100, window_cap: None, uplink_limiter: None },
        wire: Wire { rate: Bitrate::mbps(100), delay: Duration::ZERO, queue: 1000 },
        stations,
        enforce: None,
        events: Vec::new(),
    }
}

fn station(name: String, flows: &[Direction]) -> Station {
    let flow = |direction: &Direction| Flow {
        direction: *direction,
        traffic: Traffic::Bulk,
        tcp: TcpParams::default(),
        start: Duration::ZERO,
        stop: None,
        wire: None,
        category: Category::BestEffort,
    };
    Station {
        name,
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
        flows: flows.iter().map(flow).collect(),
    }
}

/// The report on three replicas of [`scenario`].
pub(crate) fn report() -> Report {
    report_of(&scenario(), 3)
}

/// The report on `replicas` replicas, each a little different.
pub(crate) fn report_of(scenario: &Scenario, replicas: u32) -> Report {
    let records: Vec<Record> = (0..replicas).map(|replica| record(scenario, u64::from(replica))).collect();
    let provenance = Provenance {
        engine: "by hand".to_owned(),
        version: "0".to_owned(),
        replicas_planned: replicas,
        interrupted: false,
        until_ci: None,
    };
    Report::new(scenario, &records, provenance)
}

/// 10 s: an upload gets about 1.6 Mb/s, a download about 90 kb/s and more with its station's number.
fn record(scenario: &Scenario, replica: u64) -> Record {
    let flows = scenario.flows().map(|(station, flow)| FlowRecord {
        station,
        direction: flow.direction,
        tcp: true,
        delivered_bytes: match flow.direction {
            Direction::Up => 2_000_000 + 20_000 * replica,
            Direction::Down => 100_000 + 3_000 * station as u64 + 7_000 * replica,
        },
        sent_packets: 1500,
        retransmits: 15 + replica,
        timeouts: Some(2),
        longest_timeout: None,
        fast_retransmits: Some(10),
        transfer_times: Vec::new(),
        busy: None,
        periods: Vec::new(),
    });
    let mac = |attempts: u64, airtime: u64| MacStats {
        attempts,
        collisions: attempts / 20 + replica,
        frame_errors: 0,
        delivered: attempts - attempts / 20 - replica,
        discards: 0,
        airtime: Duration::from_millis(airtime),
        ..MacStats::default()
    };
    let station = |station: &Station| {
        let uploads = station.flows.iter().any(|flow| flow.direction == Direction::Up);
        StationRecord {
            mac: if uploads { mac(4000, 6_000) } else { mac(60, 30) },
            uplink_queue: QueueStats {
                arrivals: [4000, 0, 0],
                departures: [4000, 0, 0],
                occupancy: if uploads { 412_000_000_000 } else { 1_000_000_000 },
                sojourn: Duration::from_secs(400),
                delays: Histogram::default(),
                ..QueueStats::default()
            },
            airtime_down: Duration::from_millis(if uploads { 800 } else { 120 }),
            ap_delays: SparseHistogram::default(),
        }
    };
    Record {
        seed: replica,
        measured: Duration::from_secs(10),
        flows: flows.collect(),
        stations: scenario.stations.iter().map(station).collect(),
        access_points: Vec::new(),
        ap_mac: mac(2400, 1_600),
        ap_delays: None,
        ap_queue: QueueStats {
            arrivals: [600, 2600, 0],
            departures: [450, 1950, 0],
            drops: std::array::from_fn(|reason| {
                if reason == DropReason::QueueFull.index() { [150, 640 + replica, 0] } else { [0; 3] }
            }),
            occupancy: 721_000_000_000,
            sojourn: Duration::from_secs(700),
            delays: Histogram::default(),
        },
        ap_uplink_queue: QueueStats::default(),
        wire_drops: 0,
        enforce: None,
        series: Series::default(),
    }
}

/// Compares with the committed text in crates/cli/tests/golden; `UPDATE_GOLDEN=1 cargo test` writes it anew.
#[track_caller]
pub(crate) fn golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{} has changed (UPDATE_GOLDEN=1 cargo test accepts it):\n{text}", path.display());
}
