//! Claims: no packet appears or disappears without a reason, TCP streams arrive whole and in order, and the same seed
//! gives the same record, whatever the cell.

use proptest::prelude::*;

use fairair_core::mac::{AirBody, AirFrame, Reception};
use fairair_core::metrics::{Provenance, Report};
use fairair_core::packet::{Class, Kind, NodeId, Segment};
use fairair_core::qdisc::Histogram;
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::tcp::Variant;
use fairair_core::units::Instant;

/// Kinds of the AP's queue, and the rest of its table.
const QUEUES: [&str; 12] = [
    "\"droptail\", limit = 2",
    "\"droptail\", limit = 70",
    "\"las\"",
    "\"tlas\"",
    "\"tlas-saf\"",
    "\"dual-queue\"",
    "\"per-flow-fq\"",
    "\"per-station-fq\"",
    "\"fq-codel\"",
    "\"airtime-fq\"",
    "\"admission\"",
    "\"adaptive-buffer\"",
];

/// The text of a random small cell.
fn cell() -> impl Strategy<Value = String> {
    let station = (
        prop::sample::select(vec!["1", "2", "5.5", "11"]),
        0.0..0.4_f64,
        prop::sample::select(vec!["0.0", "1e-5"]),
        1_usize..60,
        prop::collection::vec(flow(), 1..4),
    );
    (
        prop::collection::vec(station, 1..6),
        prop::sample::select(QUEUES.to_vec()),
        prop::sample::select(vec!["short", "long", "120 us"]),
        prop::sample::select(vec!["standard", "ns2"]),
        prop::bool::ANY,
        prop::sample::select(vec!["0 ms", "3 ms", "50 ms"]),
        1_u32..8,
        any::<u32>(),
    )
        .prop_map(|(stations, queue, preamble, preset, eifs, delay, retry_limit, seed)| {
            let stations: Vec<String> = stations
                .into_iter()
                .enumerate()
                .map(|(nth, (rate, error, ber, queue, flows))| {
                    format!(
                        "[[station]]\nname = \"s{nth}\"\nrate = \"{rate} Mbit/s\"\nframe_error = {error}\n\
                         bit_error_rate = {ber}\nuplink_queue = {queue}\nflows = [{}]\n",
                        flows.join(", ")
                    )
                })
                .collect();
            let mut stations = stations.concat();
            if preset == "ns2" {
                // ns-2 has neither BBR nor Linux.
                stations = stations.replace("\"bbr\"", "\"cubic\"").replace(", profile = \"linux\"", "");
            }
            format!(
                "name = \"random\"\n[run]\nduration = \"6 s\"\nwarmup = \"0 s\"\nseed = {seed}\npreset = \"{preset}\"\n\
                 [radio]\nbasic_rate = \"1 Mbit/s\"\npreamble = \"{preamble}\"\neifs = {eifs}\nretry_limit = {retry_limit}\n\
                 [ap]\nqueue = {{ kind = {queue} }}\nuplink_queue = 20\n\
                 [wire]\ndelay = \"{delay}\"\nqueue = 40\n{stations}"
            )
        })
}

fn flow() -> impl Strategy<Value = String> {
    let tcp = (
        prop::sample::select(Variant::ALL.map(|variant| format!("{variant:?}").to_lowercase()).to_vec()),
        1_u32..50,
        prop::bool::ANY,
        prop::bool::ANY,
        prop::sample::select(vec![1, 100, 536, 1460, 2256]),
    )
        .prop_map(|(variant, window, sack, delayed, mss)| {
            let rules = if variant == "bbr" {
                "profile = \"linux\"".to_owned()
            } else {
                format!("sack = {sack}, delayed_ack = {delayed}")
            };
            format!("tcp = {{ variant = \"{variant}\", window = {window}, {rules}, mss = \"{mss} B\" }}")
        });
    let kind = prop::sample::select(vec![
        "",
        "",
        "kind = \"files\", size = \"14600 B\", idle = \"100 ms\", ",
        "kind = \"files\", size = \"1 B\", burst = \"50 ms\", idle = \"50 ms\", ",
        "kind = \"quic\", ",
        "kind = \"quic\", variant = \"bbr\", stop = \"2 s\", ",
        "kind = \"udp\", payload = \"1000 B\", ",
        "kind = \"udp\", payload = \"100 B\", rate = \"200 kbit/s\", ",
        "stop = \"1500 ms\", ",
        "kind = \"files\", size = \"50 kB\", start = \"1 s\", stop = \"2500 ms\", ",
        "wire = { rate = \"300 kbit/s\", delay = \"20 ms\", queue = 3 }, ",
        "kind = \"files\", size = \"3 MB\", files = 2, wire = { delay = \"120 ms\" }, ",
    ]);
    (prop::sample::select(vec!["up", "down"]), kind, tcp).prop_map(|(direction, kind, tcp)| {
        let tcp = if kind.contains("udp") || kind.contains("quic") { "count = 1".to_owned() } else { tcp };
        format!("{{ direction = \"{direction}\", {kind}{tcp} }}")
    })
}

fn total(by_class: &[u64; 3]) -> u64 {
    by_class.iter().sum()
}

/// Packets in = out + dropped + waiting for every queue of a cell that was measured from its start.
fn check_queues(record: &Record) -> Result<(), TestCaseError> {
    let queues = record.stations.iter().map(|station| &station.uplink_queue);
    for queue in queues.chain([&record.ap_queue, &record.ap_uplink_queue]) {
        let dropped: u64 = Class::ALL.iter().map(|class| queue.dropped(*class)).sum();
        let waiting = total(&queue.arrivals).checked_sub(total(&queue.departures) + dropped);
        prop_assert!(waiting.is_some_and(|waiting| waiting <= 20_000), "{queue:?}");
    }
    // What left a radio queue was delivered, given up, or is the one frame in service.
    let transmitters = record.stations.iter().map(|station| (&station.uplink_queue, &station.mac));
    for (queue, mac) in transmitters.chain([(&record.ap_queue, &record.ap_mac)]) {
        let in_service = total(&queue.departures) - mac.delivered - mac.discards;
        prop_assert!(in_service <= 1, "{queue:?} {mac:?}");
        prop_assert_eq!(mac.attempts >= mac.delivered + mac.collisions + mac.frame_errors, true);
    }
    // What the stations delivered arrived at the AP's queue towards the wire.
    let uplink: u64 = record.stations.iter().map(|station| station.mac.delivered).sum();
    prop_assert_eq!(uplink, total(&record.ap_uplink_queue.arrivals));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_and_streams_are_whole(text in cell()) {
        let scenario = Scenario::from_toml(&text, "random.toml").unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        // Watch the channel: payload that was decoded, the highest in-order acknowledgement, frames in order.
        let flows = scenario.flow_count();
        let mut decoded = vec![0_u64; flows];
        let mut acknowledged = vec![0_u64; flows];
        let mut last_start = 0;
        let mut in_order = true;
        let record = fairair_sim::run_monitored(&scenario, 0, Some(&mut |frame| {
            in_order &= frame.at.as_nanos() >= last_start;
            last_start = frame.at.as_nanos();
            if let AirBody::Data { packet, .. } = &frame.body
                && frame.reception == Reception::Decoded
            {
                let flow = packet.flow.index();
                decoded[flow] += u64::from(packet.payload);
                if packet.kind == Kind::Ack && packet.incarnation == 1 {
                    acknowledged[flow] = acknowledged[flow].max(packet.ack);
                }
            }
        }));
        prop_assert!(in_order, "frames start in order");
        check_queues(&record)?;
        for (index, flow) in record.flows.iter().enumerate() {
            // Nothing is delivered that did not cross the radio, and nothing acknowledged that was not delivered.
            prop_assert!(flow.delivered_bytes <= decoded[index], "flow {index} of\n{text}");
            if flow.transfer_times.is_empty() {
                prop_assert!(acknowledged[index] <= flow.delivered_bytes, "flow {index} of\n{text}");
            }
            prop_assert!(flow.retransmits <= flow.sent_packets);
        }
        // Who monitors also gets what waits by flow, and each drop.
        let mut record = record;
        prop_assert!(record.series.ap_queue_by_flow.iter().all(|waits| waits.len() == record.series.at.len()));
        let dropped: u64 = Class::ALL.iter().map(|class| record.ap_queue.dropped(*class)).sum();
        prop_assert_eq!(record.series.ap_queue_drops.len() as u64, dropped, "of\n{}", text);
        record.series.ap_queue_by_flow.clear();
        record.series.ap_queue_drops.clear();
        prop_assert_eq!(&record, &fairair_sim::run(&scenario, 0), "the monitor changes nothing, the seed decides");
    }
}

/// Every file of a lossy cell is delivered to its last byte.
#[test]
fn files_arrive_whole_through_loss_and_channel_errors() {
    for (variant, rules) in [
        ("reno", "sack = false"),
        ("newreno", "sack = false"),
        ("newreno", "sack = true"),
        ("cubic", "sack = true"),
        ("cubic", "profile = \"linux\""),
        ("bbr", "profile = \"linux\""),
    ] {
        let text = format!(
            r#"
            name = "files"
            [run]
            duration = "400 s"
            warmup = "0 s"
            [radio]
            retry_limit = 2
            frame_error = 0.2
            [ap]
            queue = {{ kind = "droptail", limit = 8 }}
            [tcp]
            variant = "{variant}"
            {rules}
            [[station]]
            name = "sta"
            count = 4
            flows = [
                {{ direction = "down", kind = "files", size = "100001 B", files = 5 }},
                {{ direction = "up", kind = "files", size = "100001 B", files = 5 }},
            ]
            "#
        );
        let scenario = Scenario::from_toml(&text, "files.toml").unwrap();
        let record = fairair_sim::run(&scenario, 0);
        for flow in &record.flows {
            assert_eq!((flow.transfer_times.len(), flow.delivered_bytes), (5, 500_005), "{variant}, {rules}");
        }
        assert!(record.flows.iter().any(|flow| flow.retransmits > 0));
    }
}

/// Two greedy sources once waited for a backlog that the queue had no room for, for ever.
#[test]
fn greedy_sources_share_a_queue_that_is_smaller_than_their_wishes() {
    let text = r#"
        name = "greedy"
        [run]
        duration = "10 s"
        [[station]]
        name = "sta"
        uplink_queue = 1
        flows = [{ direction = "up", kind = "udp", payload = "1000 B", count = 3 }]
    "#;
    let record = fairair_sim::run(&Scenario::from_toml(text, "greedy.toml").unwrap(), 0);
    let delivered: Vec<u64> = record.flows.iter().map(|flow| flow.delivered_bytes).collect();
    assert!(delivered.iter().max().unwrap() - delivered.iter().min().unwrap() <= 3000, "{delivered:?}");
    assert_eq!(record.stations[0].uplink_queue.dropped(Class::Other), 0);
}

/// Sources in step with each other once starved each other at the AP's queue for a whole run.
#[test]
fn greedy_downloads_share_the_ap() {
    let text = r#"
        name = "greedy"
        [run]
        duration = "20 s"
        [radio]
        phy = "802.11a"
        [[station]]
        name = "sta"
        count = 6
        flows = [{ direction = "down", kind = "udp" }]
    "#;
    let record = fairair_sim::run(&Scenario::from_toml(text, "greedy.toml").unwrap(), 0);
    let delivered: Vec<u64> = record.flows.iter().map(|flow| flow.delivered_bytes).collect();
    let mean = delivered.iter().sum::<u64>() / 6;
    assert!(delivered.iter().all(|bytes| bytes.abs_diff(mean) < mean / 10), "{delivered:?}");
}

/// Datagrams are not sent again: what was sent and did not arrive is in the losses, each with its reason.
#[test]
fn every_lost_datagram_has_a_reason() {
    let text = r#"
        name = "losses"
        [run]
        duration = "20 s"
        warmup = "0 s"
        replicas = 1
        [radio]
        retry_limit = 2
        frame_error = 0.3
        [ap]
        queue = { kind = "droptail", limit = 20 }
        [[station]]
        name = "through-a-wire"
        flows = [
            { direction = "down", kind = "udp", rate = "2 Mbit/s", stop = "10 s", wire = { rate = "1 Mbit/s", queue = 3 } },
            { direction = "up", kind = "udp", rate = "2 Mbit/s", stop = "10 s", wire = { rate = "500 kbit/s", queue = 3 } },
        ]
        [[station]]
        name = "through-the-radio"
        flows = [{ direction = "down", kind = "udp", rate = "8 Mbit/s", stop = "10 s" }]
    "#;
    let scenario = Scenario::from_toml(text, "losses.toml").unwrap_or_else(|error| panic!("{error:?}"));
    let record = fairair_sim::run(&scenario, 0);
    let sent: u64 = record.flows.iter().map(|flow| flow.sent_packets).sum();
    let arrived: u64 = record.flows.iter().map(|flow| flow.delivered_bytes / 1472).sum();
    let provenance = Provenance {
        engine: "simulator".to_owned(),
        version: String::new(),
        replicas_planned: 1,
        interrupted: false,
        until_ci: None,
    };
    let losses = Report::new(&scenario, &[record], provenance).losses;
    let lost = |reason: &str| losses[reason].mean.unwrap_or_default() as u64;
    assert!(["queue-full", "retry-limit", "wire-full"].map(lost).iter().all(|lost| *lost > 100), "{losses:?}");
    assert_eq!(losses.keys().map(|reason| lost(reason)).sum::<u64>(), sent - arrived, "{losses:?}");
}

/// The delay in the AP is what a monitor of the channel sees: from arrival to the first frame. A drop-tail queue gives the MAC what it holds long
/// before; `mac80211` when a PPDU is built.
#[test]
fn the_delay_in_the_ap_ends_on_the_air() {
    for (queue, least) in [("\"droptail\", limit = 60", 1.2), ("\"mac80211\"", 1.0)] {
        let text = format!(
            r#"
            name = "delays"
            [run]
            duration = "3 s"
            warmup = "1 s"
            [radio]
            phy = "802.11ac"
            frame_error = 0.1
            rts = "1000 B"
            [ap]
            queue = {{ kind = {queue} }}
            [[station]]
            name = "reader"
            count = 6
            flows = [{{ direction = "down" }}]
            [[station]]
            name = "writer"
            flows = [{{ direction = "up" }}]
            "#
        );
        let scenario = Scenario::from_toml(&text, "delays.toml").unwrap_or_else(|error| panic!("{error:?}"));
        let from = Instant::ZERO + scenario.run.warmup;
        let mut seen = Histogram::enabled();
        let mut monitor = |frame: &AirFrame<Segment>| {
            if let AirBody::Data { packet, retry: false, .. } = frame.body
                && frame.transmitter == NodeId::AP
                && frame.at >= from
            {
                seen.record(frame.at.saturating_since(packet.enqueued_at));
            }
        };
        let record = fairair_sim::run_monitored(&scenario, 0, Some(&mut monitor));
        let delays = record.ap_delays.unwrap();
        assert_eq!(delays.times, seen, "{queue}");
        let held = delays.sum.as_secs_f64() / delays.count as f64;
        let waited = record.ap_queue.sojourn.as_secs_f64() / record.ap_queue.departures.iter().sum::<u64>() as f64;
        assert!(delays.count == seen.counts().iter().sum::<u64>() && held > least * waited, "{queue}: {held} {waited}");
    }
}
