//! The fair disciplines by hand: who is served when, and who pays for an overflow.

use super::*;
use crate::packet::{Direction, DropReason, FlowId, Kind, NO_SACK, NodeId, Segment};
use crate::rng::Rng;
use crate::units::{Duration, Instant};

/// The `number`th packet of a flow of a station: data of a download, or an ACK for that many packets of an upload.
fn packet(kind: Kind, station: usize, flow: u32, number: u64) -> Segment {
    let data = kind == Kind::Data;
    Segment {
        flow: FlowId(flow),
        station: NodeId::station(station),
        direction: Direction::Down,
        kind,
        incarnation: 1,
        category: crate::packet::Category::BestEffort,
        seq: if data { (number - 1) * 1460 } else { 0 },
        payload: if data { 1460 } else { 0 },
        ack: if data { 0 } else { number * 1460 },
        window: 0,
        cwnd: 0,
        push: false,
        sack: NO_SACK,
        ecn: crate::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

fn data(station: usize, flow: u32, number: u64) -> Segment {
    packet(Kind::Data, station, flow, number)
}

fn ack(station: usize, flow: u32, number: u64) -> Segment {
    packet(Kind::Ack, station, flow, number)
}

/// Flows in the order of departure, and of drops.
fn play(spec: QdiscSpec, arrivals: &[Segment]) -> (Vec<u32>, Vec<(u32, DropReason)>) {
    let mut queue = build(spec, Rng::fork(1, "qdisc/ap"));
    let mut drops = Vec::new();
    for packet in arrivals {
        queue.enqueue(Instant::ZERO, *packet, &mut drops);
    }
    let served = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut Vec::new()));
    let served = served.map(|packet| packet.flow.0).collect();
    (served, drops.iter().map(|(packet, reason)| (packet.flow.0, *reason)).collect())
}

#[test]
fn flows_and_stations_take_turns() {
    let arrivals = [data(0, 1, 1), data(0, 1, 2), data(0, 1, 3), data(0, 2, 1), data(1, 3, 1), data(1, 3, 2)];
    let params = FairQueueParams { charge: Charge::Packet, ..FairQueueParams::default() };
    assert_eq!(play(QdiscSpec::PerFlowFq(params), &arrivals).0, [1, 2, 3, 1, 3, 1]);
    assert_eq!(play(QdiscSpec::PerStationFq(params), &arrivals).0, [1, 3, 1, 3, 1, 2]);
}

#[test]
fn the_longest_queue_pays_for_an_overflow() {
    let params = FairQueueParams { limit: 3, ..FairQueueParams::default() };
    let arrivals = [data(0, 1, 1), data(0, 1, 2), data(0, 2, 1), data(0, 2, 2), data(0, 3, 1)];
    let (served, drops) = play(QdiscSpec::PerFlowFq(params), &arrivals);
    assert_eq!(served, [1, 2, 3]);
    assert_eq!(drops, [(2, DropReason::QueueFull), (1, DropReason::PushedOut)]);
}

/// The ACK for packets 2-4 costs as much as three packets of data, and so many go before the next ACK. (Of the first ACK
/// the AP cannot know what is new in it: it costs 40 bytes.)
#[test]
fn an_ack_costs_what_it_acknowledges_when_charged_so() {
    let params = FairQueueParams { charge: Charge::Acknowledged, ..FairQueueParams::default() };
    let mut arrivals = vec![ack(0, 1, 1), ack(0, 1, 4), ack(0, 1, 5)];
    arrivals.extend((1..=6).map(|number| data(0, 2, number)));
    assert_eq!(play(QdiscSpec::PerFlowFq(params), &arrivals).0, [1, 1, 2, 2, 2, 1, 2, 2, 2]);
}

#[test]
fn codel_flows_take_turns_by_bytes() {
    let mut arrivals: Vec<Segment> = (1..=3).map(|number| data(0, 1, number)).collect();
    arrivals.extend((1..=80).map(|number| ack(0, 2, number)));
    let (served, _) = play(QdiscSpec::FqCodel(FqCodelParams::default()), &arrivals);
    // 1514 bytes are two packets of 1500 at first, as the deficit may go below zero, and 38 ACKs of 40.
    let acks_between: Vec<usize> = served.split(|flow| *flow == 1).map(<[u32]>::len).collect();
    assert_eq!(acks_between, [0, 0, 38, 42]);
}

/// Two downloads, one of a slow station whose frames take five times the air: it gets a fifth of the turns.
#[test]
fn stations_take_turns_by_air() {
    let mut queue = build(QdiscSpec::AirtimeFq(AirtimeFqParams::default()), Rng::fork(1, "qdisc/ap"));
    let mut served = [0; 2];
    for number in 1..=600 {
        for station in 0..2 {
            queue.enqueue(Instant::ZERO, data(station, station as u32, number), &mut Vec::new());
        }
        let packet = queue.dequeue(Instant::ZERO, &mut Vec::new()).expect("packets wait");
        let airtime = Duration::from_millis(if packet.flow.0 == 0 { 2 } else { 10 });
        queue.observe_airtime(Instant::ZERO, packet.station, Direction::Down, airtime);
        served[packet.flow.index()] += 1;
    }
    assert_eq!(served, [500, 100]);
}

/// An upload's own frames are charged to it: it waits for its ACKs until the download has had as much air.
#[test]
fn air_of_the_way_up_counts() {
    let mut queue = build(QdiscSpec::AirtimeFq(AirtimeFqParams::default()), Rng::fork(1, "qdisc/ap"));
    let (mut served, mut drops) = (Vec::new(), Vec::new());
    queue.observe_airtime(Instant::ZERO, NodeId::station(1), Direction::Up, Duration::from_millis(6));
    queue.enqueue(Instant::ZERO, ack(1, 1, 1), &mut drops);
    (1..=4).for_each(|number| queue.enqueue(Instant::ZERO, data(0, 0, number), &mut drops));
    while let Some(packet) = queue.dequeue(Instant::ZERO, &mut drops) {
        queue.observe_airtime(Instant::ZERO, packet.station, Direction::Down, Duration::from_millis(2));
        served.push(packet.flow.0);
    }
    assert_eq!(served, [0, 0, 0, 1, 0]);
}
