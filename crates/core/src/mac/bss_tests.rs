//! The cell as timed conversations: each test reads as what a monitor on the channel would print.

use proptest::prelude::*;

use super::{AirBody, Bss, MacParams, Phy, Preamble, Reception, StationLink};
use crate::packet::{Direction, FlowId, Kind, NO_SACK, NodeId, Packet, Segment};
use crate::qdisc::{DropTail, Queue};
use crate::scenario::{Preset, Radio};
use crate::units::{Bitrate, Duration, Instant};

const RADIO: Radio = Radio {
    phy: Phy::B,
    rate: Bitrate::mbps(11),
    basic_rate: Bitrate::mbps(2),
    protection_rate: None,
    preamble: Preamble::Long,
    retry_limit: 7,
    eifs: true,
    cw_min: None,
    cw_max: None,
    qos: None,
};
const AP: NodeId = NodeId::AP;
const STA1: NodeId = NodeId::station(0);
const STA2: NodeId = NodeId::station(1);
const STA3: NodeId = NodeId::station(2);

/// No draw: every backoff is zero slots, so that whoever contends collides.
const NO_BACKOFF: Radio = Radio { cw_min: Some(0), cw_max: Some(0), ..RADIO };

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// A segment of 1500 B (data) or 40 B (ACK) between the AP and `station`.
fn segment(station: NodeId, direction: Direction, payload: u32) -> Segment {
    let kind = if payload > 0 { Kind::Data } else { Kind::Ack };
    Segment {
        flow: FlowId(station.0),
        station,
        direction,
        kind,
        incarnation: 1,
        category: crate::packet::Category::BestEffort,
        seq: 0,
        payload,
        ack: 0,
        window: 0,
        cwnd: 0,
        push: false,
        sack: NO_SACK,
        ecn: crate::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

/// Three stations and an AP with a monitor on the channel.
struct Cell {
    bss: Bss<Segment>,
    delivered: u64,
}

#[allow(clippy::large_types_passed_by_value)] // Copies of RADIO with a change are easy to read.
impl Cell {
    fn new(radio: Radio, preset: Preset, frame_error: f64) -> Self {
        Cell::of(["sta1", "sta2", "sta3"], radio, preset, frame_error, 1)
    }

    fn of(names: [&str; 3], radio: Radio, preset: Preset, frame_error: f64, seed: u64) -> Self {
        let link = |name: &str| StationLink {
            tx: radio.tx(radio.rate),
            beta: 1.0,
            frame_error,
            bit_error_rate: 0.0,
            name: name.to_owned(),
            ap: AP,
        };
        let stations = names.map(link);
        let queues = (0..4).map(|_| Queue::new(Box::new(DropTail::new(5)))).collect();
        let mut bss = Bss::new(MacParams::new(&radio, preset), &stations, queues, seed);
        bss.monitor();
        Cell { bss, delivered: 0 }
    }

    fn standard(radio: Radio) -> Self {
        Cell::new(radio, Preset::Standard, 0.0)
    }

    /// A data segment for the other side arrives in the queue of `node`; from the AP it goes to station 1.
    fn data(&mut self, at: Instant, node: NodeId) {
        self.enqueue(at, node, 1460);
    }

    fn enqueue(&mut self, at: Instant, node: NodeId, payload: u32) {
        let packet = match node {
            AP => segment(STA1, Direction::Down, payload),
            station => segment(station, Direction::Up, payload),
        };
        self.bss.enqueue(at, node, packet);
    }

    /// Lets the cell run up to `until` and prints the channel: start in us, transmitter, frame.
    fn watch(&mut self, until: Instant) -> Vec<String> {
        while let Some(at) = self.bss.poll_timeout().filter(|at| *at <= until) {
            self.bss.handle_timeout(at);
            self.delivered += u64::from(self.bss.poll_delivery().is_some());
        }
        self.bss
            .drain_air()
            .map(|frame| {
                let body = match frame.body {
                    AirBody::Data { retry: true, .. } => "retry",
                    AirBody::Data { retry: false, .. } => "data",
                    AirBody::Ack => "ack",
                    _ => "a frame of EDCA",
                };
                let fate = match frame.reception {
                    Reception::Decoded => "",
                    Reception::Collided => " collided",
                    Reception::Corrupted => " corrupted",
                };
                let start = frame.at.as_nanos() as f64 / 1e3;
                format!("{start} node{} {body} {} us{fate}", frame.transmitter.0, frame.duration.as_nanos() / 1000)
            })
            .collect()
    }

    /// The starts of the data frames in `watch`.
    fn starts(&mut self, until: Instant) -> Vec<f64> {
        let start = |line: &String| line.split(' ').next().unwrap().parse().unwrap();
        self.watch(until).iter().filter(|line| !line.contains("ack")).map(start).collect()
    }
}

#[test]
fn a_frame_on_an_idle_medium_goes_at_the_next_slot_and_is_answered_after_sifs() {
    let mut cell = Cell::standard(RADIO);
    cell.data(us(1003), STA1);
    // Slots run from DIFS after the last activity (here 0): 50 + n * 20.
    assert_eq!(cell.watch(us(10_000)), ["1010 node1 data 1310 us", "2330 node0 ack 248 us"]);
    assert_eq!(cell.bss.poll_timeout(), None);
}

#[test]
fn a_station_called_ap_draws_its_own_backoffs() {
    let mut cell = Cell::of(["ap", "sta2", "sta3"], RADIO, Preset::Standard, 0.0, 1);
    cell.data(us(1010), AP);
    cell.data(us(1010), STA1);
    // They collide once; with one stream of draws for both they would do so until the retry limit.
    assert_eq!(cell.watch(us(200_000)).iter().filter(|line| line.contains("ack")).count(), 2);
}

#[test]
fn a_frame_whose_ifs_is_interrupted_draws_a_backoff() {
    // Stations 1 and 2 collide, the AP's frame arrives in the EIFS after it, and a collider may return before that is
    // over. 802.11-2007 clause 9.2.5.1: access without backoff needs a
    // medium that stays idle.
    let starts_at_once = (0..20).filter(|seed| {
        let mut cell = Cell::of(["sta1", "sta2", "sta3"], RADIO, Preset::Standard, 0.0, *seed);
        cell.data(us(1010), STA1);
        cell.data(us(1010), STA2);
        cell.watch(us(2320));
        // The longest a listener waits: EIFS ends at 2320 + 364 us. Colliders return from 2320 + 222 us on.
        cell.data(us(2400), AP);
        let frames = cell.watch(us(60_000));
        let Some(first) = frames.iter().position(|line| line.contains("node0 data")) else { return false };
        // An early collider was first, answered, and the AP followed DIFS after the ACK.
        first > 0 && {
            let number = |line: &String| line.split(' ').next().unwrap().parse::<f64>().unwrap();
            let ack = number(&frames[first - 1]);
            frames[first - 1].contains("ack") && (number(&frames[first]) - (ack + 248.0 + 50.0)).abs() < 0.5
        }
    });
    // By chance one draw in 32 is zero.
    assert!(starts_at_once.count() <= 2);
}

#[test]
fn a_frame_that_arrives_during_another_waits_for_difs_and_backoff() {
    let mut cell = Cell::standard(RADIO);
    cell.data(us(1010), STA1);
    cell.watch(us(1500));
    cell.data(us(1500), STA2);
    // The exchange of station 1 ends at 1010 + 1310 + 10 + 248 = 2578 us; DIFS ends at 2628 us.
    let second = cell.starts(us(10_000))[0];
    let slots = (second - 2628.0) / 20.0;
    assert!(slots.fract() == 0.0 && (0.0..=31.0).contains(&slots), "{slots} slots");
}

#[test]
fn the_next_frame_of_the_same_node_waits_for_its_post_backoff() {
    let mut seen = std::collections::BTreeSet::new();
    for start in 0..60 {
        let mut cell = Cell::standard(RADIO);
        // Draws differ because each cell sends another number of frames first.
        for frame in 0..start {
            cell.data(us(frame * 100_000), STA1);
            cell.watch(us(frame * 100_000 + 90_000));
        }
        cell.data(us(start * 100_000), STA1);
        cell.data(us(start * 100_000), STA1);
        let starts = cell.starts(us(start * 100_000 + 90_000));
        seen.insert(((starts[1] - starts[0] - 1310.0 - 10.0 - 248.0 - 50.0) / 20.0) as i64);
    }
    assert!(seen.len() > 15 && *seen.last().unwrap() <= 31 && *seen.first().unwrap() >= 0, "{seen:?}");
}

#[test]
fn a_post_backoff_that_ran_out_in_silence_is_not_waited_for_again() {
    let mut cell = Cell::standard(RADIO);
    cell.data(us(1010), STA1);
    cell.watch(us(50_000));
    cell.data(us(50_000), STA1);
    // The slots of the idle period began at 2628 us: 2628 + 2369 * 20 = 50 008.
    assert_eq!(cell.watch(us(60_000))[0], "50008 node1 data 1310 us");
}

#[test]
fn countdowns_that_end_together_collide_and_senders_return_after_the_ack_timeout() {
    let mut cell = Cell::standard(NO_BACKOFF);
    cell.data(us(1010), STA1);
    cell.watch(us(1500));
    cell.data(us(1500), STA2);
    cell.data(us(1500), STA3);
    // ACK timeout: 10 + 20 + 192 = 222 us after the frames' end (3938). Listeners wait EIFS = 364 us; the senders use
    // the listeners' slots (4302 - n * 20) from there: 4162.
    assert_eq!(
        cell.watch(us(4200))[1..],
        [
            "2628 node2 data 1310 us collided",
            "2628 node3 data 1310 us collided",
            "4162 node2 retry 1310 us collided",
            "4162 node3 retry 1310 us collided"
        ]
    );
}

#[test]
fn a_listener_waits_eifs_after_a_collision_or_difs_without_eifs() {
    for (eifs, expected) in [(true, "4162 node2 retry"), (false, "3988 node0 data")] {
        // Windows of one slot: the colliders' second window is 0..=1023, far away from the listener's zero.
        let mut cell = Cell::standard(Radio { eifs, ..NO_BACKOFF });
        cell.data(us(1010), STA1);
        cell.watch(us(1500));
        cell.data(us(1500), STA2);
        cell.data(us(1500), STA3);
        cell.watch(us(2700));
        cell.data(us(2700), AP);
        // With EIFS the colliders come first, at 4162; without it the AP does, 50 us after the frames' end.
        let first = cell.watch(us(4400)).swap_remove(0);
        assert!(first.starts_with(expected), "{first}");
    }
}

#[test]
fn a_frame_is_given_up_after_the_retry_limit() {
    let mut cell = Cell::new(RADIO, Preset::Standard, 1.0);
    cell.data(us(1010), STA1);
    cell.data(us(1010), STA1);
    let frames = cell.watch(us(1_000_000));
    assert_eq!(frames.len(), 14);
    assert!(frames.iter().all(|line| line.ends_with("corrupted")));
    assert_eq!(frames.iter().filter(|line| line.contains("retry")).count(), 12);
    let stats = *cell.bss.stats(STA1);
    assert_eq!((stats.attempts, stats.frame_errors, stats.discards, stats.delivered), (14, 14, 2, 0));
    assert_eq!(cell.delivered, 0);
}

#[test]
fn frame_errors_spare_acks_and_bit_errors_grow_with_length() {
    // `frame_error` is about frames with payload (pokhrel2016): an ACK of 40 B passes even at 1.0.
    let mut cell = Cell::new(RADIO, Preset::Standard, 1.0);
    cell.enqueue(us(1010), STA1, 0);
    assert_eq!(cell.watch(us(10_000)).len(), 2);
}

#[test]
fn ns2_draws_a_backoff_on_an_idle_medium_and_counts_from_the_arrival() {
    let mut cell = Cell::new(NO_BACKOFF, Preset::Ns2, 0.0);
    cell.data(us(1003), STA1);
    // 1534 B at 11 Mbit/s without rounding: 1115.636 us + 192; DIFS after the arrival.
    assert_eq!(cell.watch(us(10_000))[0], "1053 node1 data 1307 us");
}

#[test]
fn ns2_listeners_and_overheard_colliders_wait_eifs_and_difs_but_the_longest_frame_does_not() {
    let mut cell = Cell::new(NO_BACKOFF, Preset::Ns2, 0.0);
    cell.data(us(1000), STA1);
    cell.watch(us(1500));
    cell.data(us(1500), STA2);
    cell.enqueue(us(1500), STA3, 0);
    // Frames of 1500 and 40 B collide at `start`; the long one ends 1307.6 us later. Its sender heard nothing and counts
    // from SIFS + ACK + 4 us + DIFS = 312 us on; the other heard it spoilt and waits EIFS + DIFS = 414 us.
    let frames = cell.watch(us(9_000));
    let start = |n: usize| frames[n].split(' ').next().unwrap().parse::<f64>().unwrap();
    assert!(frames[1].ends_with("collided") && frames[2].ends_with("collided"), "{frames:?}");
    assert!(frames[3].contains("node2 retry"), "{frames:?}");
    assert!((start(3) - start(1) - 1307.636 - 312.0).abs() < 0.01, "{frames:?}");
}

#[test]
fn air_time_is_booked_on_the_sender_and_for_downlink_frames_on_the_station_too() {
    let mut cell = Cell::standard(RADIO);
    cell.data(us(1010), AP);
    cell.watch(us(10_000));
    let exchange = Duration::from_micros(1310 + 10 + 248);
    assert_eq!(cell.bss.stats(AP).airtime, exchange);
    assert_eq!(cell.bss.airtime_down(0), exchange);
    assert_eq!(cell.bss.stats(STA1).airtime, Duration::ZERO);
}

proptest! {
    /// Packets in = delivered + dropped + given up + waiting, whatever arrives when, and the channel's frames never
    /// overlap unless they are marked as collided.
    #[test]
    fn packets_are_conserved(
        arrivals in prop::collection::vec((0_u64..3_000, 0_u32..4, prop::bool::ANY), 1..200),
        frame_error in 0.0_f64..0.9,
        ns2 in prop::bool::ANY,
        cw in prop::option::of(0_u32..40),
    ) {
        let preset = if ns2 { Preset::Ns2 } else { Preset::Standard };
        let mut cell = Cell::new(Radio { cw_min: cw, cw_max: cw, ..RADIO }, preset, frame_error);
        let mut now = Instant::ZERO;
        let mut busy_until = Instant::ZERO;
        for (gap, node, long) in &arrivals {
            now += Duration::from_micros(*gap);
            while let Some(at) = cell.bss.poll_timeout().filter(|at| *at <= now) {
                cell.bss.handle_timeout(at);
                cell.delivered += u64::from(cell.bss.poll_delivery().is_some());
                for frame in cell.bss.drain_air() {
                    prop_assert!(frame.at >= busy_until || frame.reception == Reception::Collided);
                    busy_until = busy_until.max(frame.at + frame.duration);
                }
            }
            cell.enqueue(now, NodeId(*node), if *long { 1460 } else { 0 });
        }
        let (mut dropped, mut discarded, mut waiting) = (0, 0, 0);
        for node in (0..4).map(NodeId) {
            discarded += cell.bss.stats(node).discards;
            waiting += cell.bss.backlog(node) as u64;
            let stats = cell.bss.queue(node).stats(now);
            dropped += stats.drops.iter().flatten().sum::<u64>();
        }
        // A frame that was delivered and awaits its MAC ACK has left the node already.
        prop_assert_eq!(arrivals.len() as u64, cell.delivered + dropped + discarded + waiting);
    }
}

#[test]
fn ip_lengths_and_classes_of_segments() {
    assert_eq!(segment(STA1, Direction::Up, 1460).ip_len().0, 1500);
    assert_eq!(segment(STA1, Direction::Up, 0).ip_len().0, 40);
}
