//! The cells in which the papers measured their remedies, and the figures that they took there.

use fairair_core::mac::{Phy, Preamble};
use fairair_core::packet::{Category, Direction};
use fairair_core::qdisc::QdiscSpec;
use fairair_core::record::{FlowRecord, Record};
use fairair_core::scenario::{Ap, Flow, Preset, Radio, Run, Scenario, Station, Traffic, Wire};
use fairair_core::tcp::{TcpParams, Variant};
use fairair_core::units::{Bitrate, Bytes, Duration, Probability};

/// A long-lived flow with ns-2's TCP and receive window `window`.
fn bulk(direction: Direction, window: u32) -> Flow {
    let tcp = TcpParams { window, ..TcpParams::ns2() };
    Flow {
        direction,
        traffic: Traffic::Bulk,
        tcp,
        start: Duration::ZERO,
        stop: None,
        wire: None,
        category: Category::BestEffort,
    }
}

/// An 802.11b cell by ns-2's rules where all stations have `rate` and one flow each.
fn cell(name: String, queue: QdiscSpec, rate: Bitrate, delay: Duration, flows: Vec<Flow>) -> Scenario {
    let station = |(index, flow)| Station {
        name: format!("sta{index}"),
        group: None,
        ap: 0,
        rate,
        tx: None,
        beta: 1.0,
        frame_error: Probability::ZERO,
        bit_error_rate: 0.0,
        uplink_queue: 1000,
        uplink_mac80211: None,
        weight: 1.0,
        cap: None,
        flows: vec![flow],
    };
    Scenario {
        name,
        run: Run {
            duration: Duration::from_secs(220),
            warmup: Duration::from_secs(20),
            replicas: 1,
            seed: 1,
            start_spread: Duration::from_secs(1),
            sample_interval: None,
            preset: Preset::Ns2,
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
        ap: Ap { queue, uplink_queue: 10_000, window_cap: None, uplink_limiter: None },
        wire: Wire { rate: Bitrate::mbps(100), delay, queue: 10_000 },
        stations: flows.into_iter().enumerate().map(station).collect(),
        enforce: None,
        events: Vec::new(),
    }
}

fn flows(downloads: usize, uploads: usize, window: u32) -> Vec<Flow> {
    let downs = std::iter::repeat_n(bulk(Direction::Down, window), downloads);
    downs.chain(std::iter::repeat_n(bulk(Direction::Up, window), uploads)).collect()
}

/// ha2009: `m` downloads and `n` uploads at 2 Mb/s, window 42, 2 x 5 ms to the hosts.
pub(crate) fn ha2009(m: usize, n: usize, queue: QdiscSpec) -> Scenario {
    cell(format!("ha2009 m={m} n={n}"), queue, Bitrate::mbps(2), Duration::from_millis(10), flows(m, n, 42))
}

/// khademi2010: its radio of 11 Mb/s with a preamble of 120 us, 2 ms to the server, window 20.
fn khademi2010(name: String, queue: QdiscSpec, flows: Vec<Flow>) -> Scenario {
    let mut scenario = cell(name, queue, Bitrate::mbps(11), Duration::from_millis(2), flows);
    scenario.radio.preamble = Preamble::Lasting(Duration::from_micros(120));
    scenario
}

/// khademi2010 section 4.2: five downloads and five uploads for 300 s (Fig. 10).
pub(crate) fn khademi2010_directions(queue: QdiscSpec) -> Scenario {
    let mut scenario = khademi2010("khademi2010 5+5".into(), queue, flows(5, 5, 20));
    scenario.run.duration = Duration::from_secs(300);
    scenario
}

/// khademi2010 section 4.1: half of the stations download ten files of 1000 packets in sequence, the others a file of 10
/// packets in each burst, with burst and idle times of mean `mean` (Figs. 4-9).
///
/// One file a burst is our reading, as is that a burst and an idle time lie between two files: with files back to back
/// through the bursts, longer times would not mean less traffic, as section 5.1 has it; and with the idle time alone
/// the large files' CoV under LAS would fall beyond 30 stations at 500 ms already, not at 250 ms only.
pub(crate) fn khademi2010_sizes(stations: usize, mean: Duration, queue: QdiscSpec) -> Scenario {
    let files = |packets: u64, count, idle| Flow {
        traffic: Traffic::Files { size: Bytes(packets * 1460), count, burst: Duration::ZERO, idle },
        ..bulk(Direction::Down, 20)
    };
    let large = std::iter::repeat_n(files(1000, Some(10), Duration::ZERO), stations / 2);
    let small = std::iter::repeat_n(files(10, None, mean + mean), stations / 2);
    let mut scenario = khademi2010(format!("khademi2010 {stations} stations"), queue, large.chain(small).collect());
    scenario.run.warmup = Duration::ZERO;
    scenario
}

/// Transfer times in seconds of the small and of the large files of [`khademi2010_sizes`], from a run that ends when
/// the last large file does, or at `longest`.
pub(crate) fn transfer_times(mut scenario: Scenario, replica: u32, longest: Duration) -> [Vec<f64>; 2] {
    let half = scenario.stations.len() / 2;
    scenario.run.duration = longest;
    let record = fairair_sim::run(&scenario, replica);
    let end_of = |flow: &FlowRecord| if flow.transfer_times.len() < 10 { longest } else { sum(&flow.transfer_times) };
    // A large file starts when the one before it ends, so that their times add up to the run's length.
    let start = scenario.run.start_spread;
    let end = record.flows[..half].iter().map(end_of).max().unwrap_or(longest) + start;
    scenario.run.duration = end.min(longest);
    let record = fairair_sim::run(&scenario, replica);
    let seconds = |flows: &[FlowRecord]| {
        flows.iter().flat_map(|flow| &flow.transfer_times).map(|time| time.as_secs_f64()).collect()
    };
    [seconds(&record.flows[half..]), seconds(&record.flows[..half])]
}

fn sum(times: &[Duration]) -> Duration {
    times.iter().fold(Duration::ZERO, |sum, time| sum + *time)
}

/// pokhrel2016: 11 Mb/s, basic rate 2 Mb/s, Reno, window 45, 8 attempts, error `p_w` of each data frame, no wire delay.
pub(crate) fn pokhrel2016(downloads: usize, uploads: usize, p_w: f64, queue: QdiscSpec) -> Scenario {
    let mut flows = flows(downloads, uploads, 45);
    for flow in &mut flows {
        flow.tcp.variant = Variant::Reno;
    }
    let mut scenario = cell(format!("pokhrel2016 p_w={p_w}"), queue, Bitrate::mbps(11), Duration::ZERO, flows);
    scenario.radio.basic_rate = Bitrate::mbps(2);
    scenario.radio.retry_limit = 8;
    for station in &mut scenario.stations {
        station.frame_error = Probability::new(p_w).expect("an error probability");
    }
    scenario
}

/// detti2011 Fig. 6: station 1 has `downloads`, four others one each; window 42, delayed ACK, 802.11b at 11 Mb/s.
pub(crate) fn detti2011_fig6(downloads: usize, queue: QdiscSpec) -> Scenario {
    let flow =
        Flow { tcp: TcpParams { delayed_ack: true, ..bulk(Direction::Down, 42).tcp }, ..bulk(Direction::Down, 42) };
    let mut scenario = cell("detti2011 fig 6".into(), queue, Bitrate::mbps(11), Duration::ZERO, vec![flow; 5]);
    scenario.stations[0].flows = vec![flow; downloads];
    scenario.stations.iter_mut().for_each(|station| station.beta = 1.2);
    scenario
}

/// Stations at 11 and at 2 Mb/s, each with `flows`: a cell with the rate anomaly.
pub(crate) fn two_rates(flows: &[Direction], queue: QdiscSpec) -> Scenario {
    let all = flows.iter().map(|direction| bulk(*direction, 42)).collect();
    let mut scenario = cell("two rates".into(), queue, Bitrate::mbps(11), Duration::from_millis(10), all);
    for station in scenario.stations.iter_mut().skip(1).step_by(2) {
        station.rate = Bitrate::mbps(2);
    }
    scenario
}

/// Goodput of each flow of a direction in kb/s.
pub(crate) fn goodputs(record: &Record, direction: Direction) -> Vec<f64> {
    let flows = record.flows.iter().filter(|flow| flow.direction == direction);
    flows.map(|flow| flow.delivered_bytes as f64 * 8e-3 / record.measured.as_secs_f64()).collect()
}

/// Goodput of all flows in kb/s.
pub(crate) fn total(record: &Record) -> f64 {
    [Direction::Up, Direction::Down].iter().flat_map(|direction| goodputs(record, *direction)).sum()
}

/// Goodput of a mean upload over that of a mean download.
pub(crate) fn up_down_ratio(record: &Record) -> f64 {
    mean(&goodputs(record, Direction::Up)) / mean(&goodputs(record, Direction::Down)).max(1e-3)
}

/// Jain's index (khademi2010 Eq. 9).
pub(crate) fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|x| x * x).sum::<f64>())
}

/// Jain's index over the goodputs of all flows.
pub(crate) fn jain_of_flows(record: &Record) -> f64 {
    let shares: Vec<f64> =
        [Direction::Up, Direction::Down].iter().flat_map(|direction| goodputs(record, *direction)).collect();
    jain(&shares)
}

/// Mean time in the AP's queue of the packets that left it, in milliseconds.
pub(crate) fn sojourn_ms(record: &Record) -> f64 {
    let served: u64 = record.ap_queue.departures.iter().sum();
    record.ap_queue.sojourn.as_secs_f64() * 1e3 / served.max(1) as f64
}

/// Mean time from one packet's start of service to the next one's in a queue that never empties, in milliseconds.
pub(crate) fn service_ms(record: &Record) -> f64 {
    let served: u64 = record.ap_queue.departures.iter().sum();
    record.measured.as_secs_f64() * 1e3 / served.max(1) as f64
}

/// Air that each station used, both directions, in seconds.
pub(crate) fn airtimes(record: &Record) -> Vec<f64> {
    let stations = record.stations.iter();
    stations.map(|station| (station.mac.airtime + station.airtime_down).as_secs_f64()).collect()
}

/// Arithmetic mean.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Coefficient of variation.
pub(crate) fn cov(values: &[f64]) -> f64 {
    let mean = mean(values);
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (values.len() as f64 - 1.0);
    variance.sqrt() / mean
}
