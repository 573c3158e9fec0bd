//! The LAS family by hand: each test reads as arrivals, then the order of departures and what was dropped.

use super::*;
use crate::packet::{Direction, DropReason, FlowId, Kind, NO_SACK, NodeId, Segment};
use crate::rng::Rng;
use crate::units::Instant;

/// A packet of 1460 bytes of a download, the `number`th of its connection; TCP says that `cwnd` packets may be out.
fn data(flow: u32, number: u64, cwnd: u32) -> Segment {
    Segment {
        flow: FlowId(flow),
        station: NodeId::station(0),
        direction: Direction::Down,
        kind: Kind::Data,
        incarnation: 1,
        category: crate::packet::Category::BestEffort,
        seq: (number - 1) * 1460,
        payload: 1460,
        ack: 0,
        window: 0,
        cwnd,
        push: false,
        sack: NO_SACK,
        ecn: crate::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

/// An ACK for the `number`th packet of an upload.
fn ack(flow: u32, number: u64) -> Segment {
    Segment { kind: Kind::Ack, seq: 0, payload: 0, ack: number * 1460, cwnd: 0, ..data(flow, 1, 0) }
}

/// Lets the packets arrive and then leave: "flow:number" in the order of departure, and of drops with their reasons.
fn play(spec: QdiscSpec, arrivals: &[Segment]) -> (Vec<String>, Vec<String>) {
    let mut queue = build(spec, Rng::fork(1, "qdisc/ap"));
    let mut drops = Vec::new();
    for packet in arrivals {
        queue.enqueue(Instant::ZERO, *packet, &mut drops);
    }
    let served = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut Vec::new()));
    let name = |packet: &Segment| {
        format!("{}:{}", packet.flow.0, packet.ack.max(packet.seq + u64::from(packet.payload)) / 1460)
    };
    let served = served.map(|packet| name(&packet)).collect();
    (served, drops.iter().map(|(packet, reason)| format!("{} {reason:?}", name(packet))).collect())
}

fn las(limit: usize) -> QdiscSpec {
    QdiscSpec::Las(LasParams { limit })
}

/// Threshold: 10 packets.
fn tlas(limit: usize) -> QdiscSpec {
    QdiscSpec::Tlas(TlasParams { limit, threshold: 10, victim: Victim::Below })
}

fn tlas_saf(limit: usize, cwnd: CwndSource) -> QdiscSpec {
    QdiscSpec::TlasSaf(TlasSafParams { limit, threshold: 10, cwnd, victim: Victim::Below })
}

#[test]
fn las_serves_who_got_least_and_counts_the_other_direction_of_an_upload() {
    let (served, drops) = play(las(9), &[data(1, 500, 20), ack(2, 30), data(3, 2, 2), data(1, 501, 20), ack(4, 700)]);
    assert_eq!(served, ["3:2", "2:30", "1:500", "1:501", "4:700"]);
    assert!(drops.is_empty());
}

#[test]
fn las_drops_the_end_of_a_full_queue() {
    let (served, drops) = play(las(2), &[data(1, 500, 20), data(2, 30, 20), data(3, 2, 2), data(1, 501, 20)]);
    assert_eq!(served, ["3:2", "2:30"]);
    assert_eq!(drops, ["1:500 PushedOut", "1:501 QueueFull"]);
}

#[test]
fn tlas_serves_above_the_threshold_in_the_order_of_arrival() {
    let (served, _) = play(tlas(9), &[data(1, 500, 20), data(2, 11, 20), data(3, 10, 9), ack(4, 3)]);
    assert_eq!(served, ["4:3", "3:10", "1:500", "2:11"]);
}

#[test]
fn tlas_makes_room_below_the_threshold_first() {
    let full = [data(1, 500, 20), data(2, 8, 8)];
    let (_, drops) = play(tlas(2), &[full[0], full[1], data(3, 7, 7), data(4, 9, 9), data(5, 600, 20)]);
    assert_eq!(drops, ["2:8 PushedOut", "4:9 QueueFull", "5:600 QueueFull"]);
    let (served, drops) = play(tlas(2), &[data(1, 500, 20), data(2, 501, 20), data(3, 7, 7)]);
    assert_eq!(served, ["3:7", "1:500"]);
    assert_eq!(drops, ["2:501 PushedOut"]);
}

#[test]
fn tlas_makes_room_at_the_end_when_asked_to() {
    let last = QdiscSpec::Tlas(TlasParams { limit: 3, threshold: 10, victim: Victim::Last });
    // The last above the threshold goes before any below it; among those below alone, who got the most.
    let full = [data(1, 500, 20), data(6, 400, 20), data(2, 8, 8)];
    let more = [data(3, 9, 9), data(4, 7, 7), data(5, 10, 10), data(7, 1, 1)];
    let (served, drops) = play(last, &[full.as_slice(), more.as_slice()].concat());
    assert_eq!(served, ["7:1", "4:7", "2:8"]);
    assert_eq!(drops, ["6:400 PushedOut", "1:500 PushedOut", "5:10 QueueFull", "3:9 PushedOut"]);
    // Of TLAS-SAF it is the newest ACK.
    let last = TlasSafParams { limit: 3, threshold: 10, cwnd: CwndSource::Revealed, victim: Victim::Last };
    let (served, drops) = play(QdiscSpec::TlasSaf(last), &[ack(1, 100), data(2, 90, 20), data(3, 2, 2), data(4, 3, 3)]);
    assert_eq!(served, ["3:2", "4:3", "2:90"]);
    assert_eq!(drops, ["1:100 PushedOut"]);
}

#[test]
fn tlas_saf_keeps_the_newest_ack_of_a_flow_in_the_place_of_the_oldest() {
    let arrivals = [ack(1, 100), data(2, 90, 20), ack(1, 101), ack(3, 50), ack(1, 102), ack(4, 9), ack(4, 10)];
    let (served, drops) = play(tlas_saf(9, CwndSource::Revealed), &arrivals);
    assert_eq!(served, ["4:9", "4:10", "1:102", "2:90", "3:50"]);
    assert_eq!(drops, ["1:100 Superseded", "1:101 Superseded"]);
}

#[test]
fn tlas_saf_gives_an_acks_place_to_who_needs_it() {
    // To a flow below the threshold, when none of those waits.
    let (served, drops) =
        play(tlas_saf(3, CwndSource::Revealed), &[ack(1, 100), ack(2, 50), data(3, 90, 20), data(4, 2, 2)]);
    assert_eq!(served, ["4:2", "1:100", "3:90"]);
    assert_eq!(drops, ["2:50 PushedOut"]);
    // To data whose loss would cost a timeout, but to no other.
    let (served, drops) =
        play(tlas_saf(2, CwndSource::Revealed), &[ack(1, 100), data(2, 90, 20), data(3, 40, 4), data(3, 40, 3)]);
    assert_eq!(served, ["2:90", "3:40"]);
    assert_eq!(drops, ["3:40 QueueFull", "1:100 PushedOut"]);
    // Without an ACK to give, the last packet goes for a flow below the threshold; data above find no room.
    let (served, drops) = play(tlas_saf(1, CwndSource::Revealed), &[data(2, 90, 20), data(3, 40, 1), data(4, 2, 2)]);
    assert_eq!(served, ["4:2"]);
    assert_eq!(drops, ["3:40 QueueFull", "2:90 PushedOut"]);
}

#[test]
fn tlas_saf_estimates_the_window_from_the_acks_that_pass() {
    let mut queue = build(tlas_saf(1, CwndSource::Estimated), Rng::fork(1, "qdisc/ap"));
    let mut drops = Vec::new();
    queue.enqueue(Instant::ZERO, ack(1, 100), &mut drops);
    // Of flow 2 36 packets have arrived: the 40th is the fourth that is out, the 39th the third.
    queue.observe_uplink(Instant::ZERO, &Segment { direction: Direction::Up, ..ack(2, 36) });
    queue.enqueue(Instant::ZERO, data(2, 40, 1), &mut drops);
    assert_eq!(drops.pop().map(|(packet, reason)| (packet.kind, reason)), Some((Kind::Data, DropReason::QueueFull)));
    queue.enqueue(Instant::ZERO, data(2, 39, 20), &mut drops);
    assert_eq!(drops.pop().map(|(packet, reason)| (packet.kind, reason)), Some((Kind::Ack, DropReason::PushedOut)));
}

#[test]
fn a_new_connection_of_a_flow_starts_without_service() {
    let syn = Segment { kind: Kind::Syn, seq: 0, payload: 0, incarnation: 2, ..data(1, 1, 1) };
    let (served, _) = play(tlas(9), &[data(1, 500, 20), data(2, 5, 5), syn, data(1, 1, 2)]);
    assert_eq!(served, ["1:0", "1:1", "2:5", "1:500"]);
}
