//! Rule by rule; docs/mac80211.md names the kernel's function of each.

use super::*;
use crate::packet::{DropReason, FlowId, Kind, NO_SACK, Segment};

const BE: Category = Category::BestEffort;

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn packet(station: usize, flow: u32, payload: u32, at: Instant) -> Segment {
    Segment {
        flow: FlowId(flow),
        station: NodeId::station(station),
        direction: Direction::Down,
        kind: Kind::Data,
        incarnation: 1,
        seq: 0,
        payload,
        ack: 0,
        window: 0,
        cwnd: 0,
        push: false,
        sack: NO_SACK,
        ecn: crate::packet::Ecn::NONE,
        category: BE,
        enqueued_at: at,
    }
}

/// The queues, and what they drop.
struct Bench {
    queues: Mac80211<Segment>,
    drops: Drops<Segment>,
}

impl Bench {
    fn new(params: Mac80211Params) -> Self {
        Bench { queues: Mac80211::new(params), drops: Vec::new() }
    }

    fn fill(&mut self, station: usize, flow: u32, payload: u32, packets: usize) {
        for _ in 0..packets {
            self.queues.enqueue(Instant::ZERO, packet(station, flow, payload, Instant::ZERO), &mut self.drops);
        }
    }

    fn take(&mut self, now: Instant, station: usize) -> Option<Segment> {
        self.queues.dequeue_for(now, NodeId::station(station), BE, &mut self.drops)
    }

    fn flows(&mut self, station: usize, packets: usize) -> Vec<u32> {
        (0..packets).filter_map(|_| self.take(Instant::ZERO, station)).map(|packet| packet.flow.0).collect()
    }

    fn next(&mut self) -> Option<usize> {
        self.queues.next_station(Instant::ZERO, BE, &Nothing).and_then(NodeId::station_index)
    }

    /// Serves so many PPDUs of one packet that take `air` us by station, and counts them.
    fn serve(&mut self, ppdus: usize, air: &[u64]) -> Vec<u64> {
        let mut used = vec![0; air.len()];
        for _ in 0..ppdus {
            let station = self.next().expect("somebody waits");
            let (id, took) = (NodeId::station(station), Duration::from_micros(air[station]));
            let packet = self.take(Instant::ZERO, station).expect("it was chosen");
            self.queues.observe_airtime(Instant::ZERO, id, Direction::Down, took);
            self.queues.completed(Instant::ZERO, id, BE, 1, packet.ip_len());
            used[station] += air[station];
        }
        used
    }
}

fn usual() -> Mac80211Params {
    Mac80211Params::default()
}

/// So few flows that two of them collide.
fn one_flow() -> Mac80211Params {
    Mac80211Params { flows: 1, ..usual() }
}

#[test]
fn flows_take_turns_by_a_quantum_of_bytes() {
    let mut bench = Bench::new(usual());
    bench.fill(0, 1, 1460, 3);
    bench.fill(0, 2, 260, 15);
    let order = bench.flows(0, 12);
    // 1500 bytes of the first, then five times 300 bytes of the second, or one after the other by the deficit.
    let first = order.iter().take(7).filter(|flow| **flow == 1).count();
    assert_eq!((first, order.iter().filter(|flow| **flow == 1).count()), (2, 2), "{order:?}");
}

#[test]
fn a_new_flow_goes_before_those_that_had_their_turn() {
    let mut bench = Bench::new(usual());
    bench.fill(0, 1, 1460, 5);
    assert_eq!(bench.flows(0, 2), [1, 1]);
    bench.fill(0, 2, 0, 1);
    assert_eq!(bench.flows(0, 2), [2, 1]);
}

#[test]
fn a_collision_with_another_stations_flow_goes_to_the_default_flow() {
    let mut bench = Bench::new(one_flow());
    bench.fill(0, 1, 1460, 2);
    bench.fill(1, 2, 1460, 2);
    // Station 2's packets are its own in spite of the one hashed flow.
    assert_eq!((bench.flows(1, 9), bench.flows(0, 9)), (vec![2, 2], vec![1, 1]));
    // The flow is free again and serves whom it hashes.
    bench.fill(1, 3, 1460, 1);
    bench.fill(1, 4, 1460, 1);
    assert_eq!(bench.flows(1, 9), [3, 4]);
}

#[test]
fn an_overflow_drops_the_head_of_the_fattest_flow() {
    for params in [Mac80211Params { limit: 100, ..usual() }, Mac80211Params { memory: Bytes(100 * 2304), ..usual() }] {
        let mut bench = Bench::new(params);
        bench.fill(0, 1, 1460, 80);
        bench.fill(1, 2, 100, 20);
        assert!(bench.drops.is_empty());
        bench.fill(2, 3, 100, 1);
        // At most 32 packets, half of the flow.
        assert_eq!(bench.drops.len(), 32);
        assert!(bench.drops.iter().all(|(packet, reason)| packet.flow.0 == 1 && *reason == DropReason::PushedOut));
        assert_eq!(bench.queues.len(), 69);
    }
}

#[test]
fn flows_are_under_codel_with_20_and_100_ms() {
    for (codel, expected) in [(true, 1), (false, 0)] {
        let mut bench = Bench::new(Mac80211Params { codel, ..usual() });
        bench.fill(0, 1, 1460, 200);
        assert!(bench.take(ms(19), 0).is_some() && bench.take(ms(21), 0).is_some());
        assert!(bench.take(ms(120), 0).is_some());
        assert!(bench.drops.is_empty(), "above target for less than an interval");
        assert!(bench.take(ms(122), 0).is_some());
        assert_eq!(bench.drops.len(), expected);
        assert!(bench.drops.iter().all(|(_, reason)| *reason == DropReason::Codel));
    }
}

#[test]
fn stations_have_equal_air_and_not_equal_packets() {
    let mut bench = Bench::new(usual());
    for station in 0..3 {
        bench.fill(station, station as u32, 1460, 2_000);
    }
    let used = bench.serve(2_000, &[100, 100, 1_700]);
    let mean = used.iter().sum::<u64>() as f64 / 3.0;
    assert!(used.iter().all(|used| (*used as f64 / mean - 1.0).abs() < 0.02), "{used:?}");
}

#[test]
fn without_airtime_stations_take_turns() {
    let mut bench = Bench::new(Mac80211Params { airtime: false, ..usual() });
    for station in 0..3 {
        bench.fill(station, station as u32, 1460, 100);
    }
    let used = bench.serve(99, &[100, 100, 1_700]);
    assert_eq!(used, [3_300, 3_300, 56_100]);
}

#[test]
fn received_air_is_charged_too() {
    let mut bench = Bench::new(usual());
    bench.fill(0, 1, 1460, 100);
    bench.fill(1, 2, 1460, 100);
    bench.queues.observe_airtime(Instant::ZERO, NodeId::station(1), Direction::Up, Duration::from_millis(5));
    let used = bench.serve(40, &[100, 100]);
    assert_eq!(used, [4_000, 0], "5 ms of uplink count as 50 PPDUs");
}

#[test]
fn received_air_is_not_charged_where_the_driver_does_not_report_it() {
    let mut bench = Bench::new(Mac80211Params { rx_airtime: false, ..usual() });
    bench.fill(0, 1, 1460, 100);
    bench.fill(1, 2, 1460, 100);
    bench.queues.observe_airtime(Instant::ZERO, NodeId::station(1), Direction::Up, Duration::from_millis(5));
    let used = bench.serve(40, &[100, 100]);
    assert!(used.iter().all(|used| (1_900..=2_100).contains(used)), "5 ms of uplink count for nothing: {used:?}");
}

#[test]
fn a_station_that_comes_goes_to_the_head() {
    let mut bench = Bench::new(usual());
    bench.fill(0, 1, 1460, 10);
    assert_eq!(bench.next(), Some(0));
    bench.fill(1, 2, 1460, 1);
    assert_eq!(bench.next(), Some(1));
}

/// A station whose bytes take 1 us each, for the limits of pending air: 1500 bytes are 1.5 ms.
fn with_known_rate(aql: bool) -> Bench {
    let mut bench = Bench::new(Mac80211Params { aql, airtime: false, ..usual() });
    for station in 0..4 {
        bench.fill(station, station as u32, 1460, 100);
        let id = NodeId::station(station);
        assert!(bench.take(Instant::ZERO, station).is_some());
        bench.queues.observe_airtime(Instant::ZERO, id, Direction::Down, Duration::from_micros(1_500));
        bench.queues.completed(Instant::ZERO, id, BE, 1, Bytes(1500));
    }
    bench
}

#[test]
fn a_station_may_hold_12_ms_while_all_hold_less_than_24_and_5_ms_always() {
    let mut bench = with_known_rate(true);
    // 12 ms: eight packets.
    assert_eq!(bench.flows(0, 20).len(), 8);
    assert_eq!(bench.flows(1, 20).len(), 8);
    // All hold 24 ms: 5 ms are left, four packets.
    assert_eq!(bench.flows(2, 20).len(), 4);
    // Somebody's are sent.
    bench.queues.completed(Instant::ZERO, NodeId::station(0), BE, 8, Bytes(12_000));
    assert_eq!(bench.flows(2, 20).len(), 4);
    assert_eq!(with_known_rate(false).flows(0, 20).len(), 20);
}

#[test]
fn a_station_above_its_limit_is_passed_over_and_nobody_may_be_served_when_all_are() {
    let mut bench = with_known_rate(true);
    bench.flows(0, 20);
    for _ in 0..6 {
        assert_ne!(bench.next(), Some(0));
    }
    for station in 1..4 {
        bench.flows(station, 20);
    }
    assert_eq!(bench.next(), None);
    assert!(bench.queues.has_traffic(BE));
}

/// A MAC that has packets of one station to send again.
struct Again(NodeId);

impl Held for Again {
    fn oldest(&self, _: NodeId) -> Option<Instant> {
        None
    }
    fn may_send(&self, station: NodeId) -> bool {
        station == self.0
    }
    fn has_room(&self, _: NodeId) -> bool {
        false
    }
}

/// Otherwise a lost aggregate would keep its station from sending for ever.
#[test]
fn what_is_sent_again_is_not_held_back_by_its_own_air() {
    let mut bench = with_known_rate(true);
    assert_eq!(bench.flows(0, 20).len(), 8);
    let station = NodeId::station(0);
    let turns: Vec<_> = (0..4).map(|_| bench.queues.next_station(Instant::ZERO, BE, &Again(station))).collect();
    assert!(turns.contains(&Some(station)), "{turns:?}");
    assert!(bench.take(Instant::ZERO, 0).is_none(), "but nothing new");
}

/// What the driver holds is sent in the station's turn, also when nothing waits here.
#[test]
fn stations_whose_packets_the_driver_holds_are_on_the_list() {
    let mut bench = Bench::new(usual());
    bench.fill(0, 1, 1460, 1);
    bench.fill(1, 2, 1460, 1);
    assert!(bench.take(Instant::ZERO, 1).is_some());
    let station = NodeId::station(1);
    assert_eq!(bench.queues.next_station(Instant::ZERO, BE, &Again(station)), Some(station));
    // A station without room in its BlockAck window stays on the list.
    assert_eq!(bench.next(), Some(0));
}
