//! QoS cells as timed conversations: each test reads as what a monitor on the channel would print.

use fairair_core::mac::{AirBody, Bss, EdcaParams, MacParams, Phy, Reception, Rules, StationLink, Width};
use fairair_core::packet::{Category, Direction, NodeId, Segment};
use fairair_core::qdisc::{DropTail, Queue};
use fairair_core::scenario::Preset;
use fairair_core::units::{Bytes, Duration, Instant};

use crate::cell::{datagram, ns3, one_stream, qos};

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// Two stations and an AP with 802.11n, MCS 7, 20 MHz, and a monitor on the channel.
struct Cell {
    bss: Bss<Segment>,
    /// Instants in us and numbers of the packets that went up.
    delivered: Vec<(f64, u64)>,
}

impl Cell {
    fn new(change: impl Fn(&mut MacParams)) -> Self {
        let tx = one_stream(Phy::N, 7, Width::Mhz20);
        let mut params = ns3(tx);
        // No draw for first attempts: their backoff is zero slots.
        let edca = &mut qos(&mut params).edca;
        edca.ap.iter_mut().chain(&mut edca.stations).for_each(|access| access.cw_min = 0);
        change(&mut params);
        let link = |name: &str| StationLink {
            tx,
            beta: 1.0,
            frame_error: 0.0,
            bit_error_rate: 0.0,
            name: name.to_owned(),
            ap: NodeId::AP,
        };
        let queues = (0..3).map(|_| Queue::new(Box::new(DropTail::new(100)))).collect();
        let mut bss = Bss::new(params, &[link("sta1"), link("sta2")], queues, 1);
        bss.monitor();
        Cell { bss, delivered: Vec::new() }
    }

    /// `count` datagrams of 1500 bytes arrive at a station, or at the AP for station 1.
    fn data(&mut self, at: Instant, node: u32, count: u64, category: Category) {
        let (direction, station) = if node == 0 { (Direction::Down, 0) } else { (Direction::Up, node as usize - 1) };
        for seq in 0..count {
            self.bss.enqueue(at, NodeId(node), Segment { category, ..datagram(station, direction, seq) });
        }
    }

    /// Lets the cell run up to `until` and prints the channel: start and end in us, transmitter, frame.
    fn watch(&mut self, until: Instant) -> Vec<String> {
        while let Some(at) = self.bss.poll_timeout().filter(|at| *at <= until) {
            self.bss.handle_timeout(at);
            while let Some(delivery) = self.bss.poll_delivery() {
                self.delivered.push((at.as_nanos() as f64 / 1e3, delivery.packet.seq));
            }
        }
        let line = |frame: fairair_core::mac::AirFrame<Segment>| {
            let body = match frame.body {
                AirBody::Data { packet, more, sequence, retry } => {
                    let retry = if retry { " again" } else { "" };
                    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
                    format!("{:?} {sequence}{more}{retry}", packet.category)
                }
                AirBody::BlockAck { start, received } => format!("BA from {start}: {:b}", received[0]),
                AirBody::BlockAckReq { start } => format!("BAR from {start}"),
                AirBody::Ack => "ACK".to_owned(),
                AirBody::Rts => "RTS".to_owned(),
                AirBody::Cts => "CTS".to_owned(),
                AirBody::CfEnd => "CF-End".to_owned(),
                AirBody::CtsToSelf => "CTS-to-self".to_owned(),
            };
            let fate = if frame.reception == Reception::Collided { " collided" } else { "" };
            let (start, end) = (frame.at.as_nanos(), (frame.at + frame.duration).as_nanos());
            format!("{}-{} node{} {body}{fate}", start / 1000, end / 1000, frame.transmitter.0)
        };
        self.bss.drain_air().map(line).collect()
    }
}

const BE: Category = Category::BestEffort;

#[test]
fn what_waits_goes_as_one_ppdu_and_is_acknowledged_as_one() {
    let mut cell = Cell::new(|_| ());
    cell.data(us(0), 1, 3, BE);
    // AIFS is 43 us; 2 x 1544 + 1542 B are 143 symbols behind 36 us of preamble.
    assert_eq!(
        cell.watch(us(5_000)),
        [
            "43-651 node1 BestEffort 0",
            "43-651 node1 BestEffort 1",
            "43-651 node1 BestEffort 2",
            "667-699 node0 BA from 0: 111",
        ]
    );
    // ns-3 hands each MPDU up when it is complete.
    assert_eq!(cell.delivered.iter().map(|(_, seq)| *seq).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(cell.delivered[0].0 < 300.0 && (cell.delivered[2].0 - 651.0).abs() < 0.01, "{:?}", cell.delivered);
    assert_eq!(cell.bss.stats(NodeId(1)).qos.mpdus, 3);
}

#[test]
fn packets_join_in_an_amsdu_as_long_as_it_may_be() {
    let mut cell = Cell::new(|params| qos(params).amsdu = Some(Bytes(3_839)));
    cell.data(us(0), 1, 3, BE);
    // The A-MSDU has 1524 + 1522 B, and a third packet does not fit; 3080 + 1542 B are 143 symbols behind 36 us of preamble.
    assert_eq!(
        cell.watch(us(5_000)),
        ["43-651 node1 BestEffort 0 and 1 more", "43-651 node1 BestEffort 1", "667-699 node0 BA from 0: 11"]
    );
    assert_eq!(cell.delivered.iter().map(|(_, seq)| *seq).collect::<Vec<_>>(), [0, 1, 2]);
    // Both packets of the A-MSDU arrive with its last byte.
    assert!((cell.delivered[0].0 - cell.delivered[1].0).abs() < 0.001, "{:?}", cell.delivered);
    let stats = cell.bss.stats(NodeId(1));
    assert_eq!((stats.qos.mpdus, stats.delivered), (2, 3));
}

#[test]
fn a_lone_mpdu_is_answered_by_an_ack_and_a_standard_receiver_hands_up_at_the_end() {
    let mut cell = Cell::new(|params| qos(params).hand_up_early = false);
    cell.data(us(1_000), 1, 1, BE);
    // The medium has been idle for long: the frame goes at the next slot boundary after AIFS.
    assert_eq!(cell.watch(us(5_000)), ["1006-1234 node1 BestEffort 0", "1250-1278 node0 ACK"]);
    assert_eq!(cell.delivered, [(1234.0, 0)]);
}

#[test]
fn after_a_collision_blockackreqs_go_first_and_the_data_again() {
    let mut cell = Cell::new(|params| qos(params).edca.stations[BE.index()].cw_min = 15);
    cell.data(us(0), 1, 2, BE);
    cell.data(us(0), 2, 2, BE);
    let frames = cell.watch(us(20_000));
    assert!(frames[..4].iter().all(|line| line.starts_with("43-463") && line.ends_with("collided")), "{frames:#?}");
    // A sender waits for 45 us, then SIFS and three slots.
    let next: u64 = frames[4].split_once('-').unwrap().0.parse().unwrap();
    assert!(next >= 463 + 88 && (next - 463 - 88).is_multiple_of(9), "{frames:#?}");
    for node in 1..=2 {
        let own = |line: &&String| line.contains(&format!("node{node} ")) && !line.contains("collided");
        let decoded: Vec<_> = frames.iter().filter(own).map(|line| line.split_once("node").unwrap().1).collect();
        assert_eq!(decoded[0][2..], *"BAR from 0", "{frames:#?}");
        assert_eq!(
            decoded[1..].iter().map(|line| &line[2..]).collect::<Vec<_>>(),
            ["BestEffort 0 again", "BestEffort 1 again"]
        );
    }
    // The first BlockAck of each says that nothing came, the second that all did.
    let answers: Vec<_> =
        frames.iter().filter_map(|line| line.split_once("BA from 0: ")).map(|(_, bits)| bits).collect();
    assert_eq!(answers.iter().filter(|bits| **bits == "0").count(), 2, "{frames:#?}");
    assert_eq!(answers.iter().filter(|bits| **bits == "11").count(), 2);
    assert_eq!(cell.delivered.len(), 4);
}

#[test]
fn without_blockackreqs_the_data_go_again_at_once() {
    let mut cell = Cell::new(|params| qos(params).bar = false);
    cell.data(us(0), 1, 2, BE);
    cell.data(us(0), 2, 2, BE);
    let frames = cell.watch(us(20_000));
    assert!(frames.iter().all(|line| !line.contains("BAR")), "{frames:#?}");
    assert_eq!(cell.delivered.len(), 4);
}

#[test]
fn exchanges_of_a_txop_are_sifs_apart_and_cf_end_gives_the_rest_back() {
    let mut cell = Cell::new(|params| {
        qos(params).aggregation = None;
        qos(params).edca.stations[BE.index()].txop = Duration::from_micros(1_000);
    });
    cell.data(us(0), 1, 5, BE);
    let frames = cell.watch(us(980));
    assert_eq!(
        frames,
        [
            "43-271 node1 BestEffort 0",
            "287-315 node0 ACK",
            "331-559 node1 BestEffort 1",
            "575-603 node0 ACK",
            "619-847 node1 BestEffort 2",
            "863-891 node0 ACK",
            // A fourth exchange of 272 us does not fit before 1043 us; CF-End at 6 Mbit/s does.
            "907-959 node1 CF-End",
        ]
    );
    assert_eq!(cell.bss.stats(NodeId(1)).qos.txops, 1);
}

/// What a TXOP leaves unused without room for CF-End is nobody's: a voice sender with limits of 1484 to 1600 us left a best-effort
/// sender without a frame while others had to wait for it.
#[test]
fn the_unused_end_of_a_txop_does_not_keep_others_silent() {
    for txop in (1_400..1_640).step_by(20) {
        let mut cell = Cell::new(|params| {
            params.rules = Rules::of(Preset::Standard);
            let qos = qos(params);
            qos.categories = [true, false, true, false];
            qos.edca = EdcaParams::HOSTAPD;
            qos.edca.stations[0].txop = Duration::from_micros(txop);
        });
        for at in 0..200 {
            cell.data(us(at * 10_000), 1, 60, Category::Voice);
            cell.data(us(at * 10_000), 2, 4, BE);
            cell.watch(us((at + 1) * 10_000));
        }
        assert!(cell.bss.backlog(NodeId(1)) > 0, "the voice sender always has something to send");
        let sent = cell.bss.stats(NodeId(2)).qos.mpdus;
        assert!(sent > 100, "TXOP {txop} us: {sent} MPDUs of best effort");
    }
}

#[test]
fn rts_and_cts_precede_what_is_longer_than_the_threshold() {
    let mut cell = Cell::new(|params| qos(params).rts_above = Some(Bytes(1_600)));
    cell.data(us(0), 1, 2, BE);
    assert_eq!(
        cell.watch(us(5_000)),
        [
            "43-71 node1 RTS",
            "87-115 node0 CTS",
            "131-551 node1 BestEffort 0",
            "131-551 node1 BestEffort 1",
            "567-599 node0 BA from 0: 11",
        ]
    );
    cell.data(us(10_000), 1, 1, BE);
    assert_eq!(cell.watch(us(20_000))[0], "10002-10230 node1 BestEffort 2");
}

#[test]
fn rts_precedes_what_lasts_longer_than_the_threshold() {
    let mut cell = Cell::new(|params| qos(params).rts_longer = Some(Duration::from_micros(300)));
    cell.data(us(0), 1, 2, BE);
    assert_eq!(cell.watch(us(5_000))[..2], ["43-71 node1 RTS", "87-115 node0 CTS"], "420 us of data");
    cell.data(us(10_000), 1, 1, BE);
    assert_eq!(cell.watch(us(20_000))[0], "10002-10230 node1 BestEffort 2", "228 us of data");
}

/// ns-3 detects a preamble after 4 us: both counts are zero, but the slots of AP and station are 2 us apart.
#[test]
fn who_begins_before_a_frame_is_noticed_collides_with_it() {
    let mut cell = Cell::new(|params| {
        let qos = qos(params);
        qos.aggregation = None;
        let (ap, station) = (&mut qos.edca.ap[BE.index()], &mut qos.edca.stations[BE.index()]);
        (ap.cw_min, station.cw_min, station.aifsn) = (0, 0, 5);
        // 20 us are left after the first ACK: too short for CF-End, so that the AP waits for the end of the TXOP.
        station.txop = Duration::from_micros(292);
    });
    cell.data(us(0), 1, 2, BE);
    assert_eq!(cell.watch(us(100)), ["61-289 node1 BestEffort 0"]);
    cell.data(us(100), 0, 1, BE);
    assert_eq!(
        cell.watch(us(700))[..3],
        ["305-333 node0 ACK", "394-622 node1 BestEffort 1 collided", "396-624 node0 BestEffort 0 collided",]
    );
}

#[test]
fn of_two_categories_of_a_node_the_urgent_one_goes_first() {
    let mut cell = Cell::new(|params| {
        qos(params).categories = [true, false, true, false];
        // Both end their wait together.
        qos(params).edca.ap[Category::Voice.index()].aifsn = 3;
    });
    cell.data(us(0), 0, 1, BE);
    cell.data(us(0), 0, 1, Category::Voice);
    let frames = cell.watch(us(5_000));
    assert_eq!(frames[..3], ["43-271 node0 Voice 0", "287-315 node1 ACK", "331-383 node0 CF-End"]);
    assert!(frames[3].contains("node0 BestEffort 0") && !frames[3].contains("again"), "{frames:#?}");
    let stats = cell.bss.stats(NodeId::AP);
    assert_eq!((stats.collisions, stats.qos.mpdu_retries), (0, 0), "an internal collision is none on the air");
}

/// Under DCF's rule the station would wait for ever: the AP leaves no idle slot.
#[test]
fn a_waiting_function_loses_a_slot_at_the_end_of_each_aifs() {
    let mut cell = Cell::new(|params| {
        qos(params).aggregation = None;
        qos(params).edca.ap[BE.index()].cw_max = 0;
        qos(params).edca.stations[BE.index()].cw_min = 15;
    });
    cell.data(us(0), 0, 40, BE);
    cell.watch(us(100));
    cell.data(us(100), 1, 1, BE);
    let frames = cell.watch(us(20_000));
    let exchanges =
        frames.iter().take_while(|line| !line.contains("node1 BestEffort")).filter(|line| line.contains("ACK")).count();
    assert!((1..=16).contains(&exchanges), "{frames:#?}");
    let first = frames.iter().find(|line| line.contains("node1 BestEffort")).unwrap();
    assert!(first.ends_with("collided"), "the AP, too, sends at the end of AIFS: {first}");
}
