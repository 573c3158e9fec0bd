//! The box as timed conversations.

use proptest::prelude::*;

use super::{LeafRule, Policy, QueueRule, Share, UdpRule, Vsb, VsbParams};
use crate::packet::{Direction, FlowId, Kind, NO_SACK, NodeId, Packet, Segment};
use crate::units::{Bitrate, Bytes, Duration, Instant};

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;
/// 1500 B last 2 ms.
const C: Bitrate = Bitrate::mbps(6);

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn packet(station: usize, direction: Direction, ip_len: u32, seq: u64) -> Segment {
    Segment {
        flow: FlowId(station as u32),
        station: NodeId::station(station),
        direction,
        kind: if ip_len > 40 { Kind::Data } else { Kind::Ack },
        incarnation: 1,
        category: crate::packet::Category::BestEffort,
        seq,
        payload: ip_len - 40,
        ack: 0,
        window: 0,
        cwnd: 0,
        push: false,
        sack: NO_SACK,
        ecn: crate::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

fn vsb(policy: Policy, shares: &[Share]) -> Vsb<Segment> {
    Vsb::new(VsbParams { policy, ..VsbParams::default() }, C, shares)
}

fn weights(weights: &[f64]) -> Vec<Share> {
    weights.iter().map(|weight| Share { weight: *weight, cap: None }).collect()
}

/// Serves a box whose every class always has packets until `end`; bytes by station.
fn serve(vsb: &mut Vsb<Segment>, offer: impl Fn(&mut Vsb<Segment>, Instant), end: Instant) -> Vec<u64> {
    let mut bytes = vec![0; 4];
    offer(vsb, Instant::ZERO);
    while let Some(at) = vsb.poll_timeout().filter(|at| *at < end) {
        while let Some(sent) = vsb.dequeue(at) {
            bytes[sent.station.station_index().unwrap()] += sent.ip_len().0;
        }
        offer(vsb, at);
    }
    bytes
}

/// Keeps `each` station at 20 packets of its kind.
fn top_up(each: &'static [(usize, Direction, u32)]) -> impl Fn(&mut Vsb<Segment>, Instant) {
    move |vsb, now| {
        for (station, direction, len) in each {
            while vsb.stations_backlog(*station) < 20 {
                assert!(vsb.enqueue(now, packet(*station, *direction, *len, 0)).is_none());
            }
        }
    }
}

impl Vsb<Segment> {
    fn stations_backlog(&self, station: usize) -> usize {
        self.backlog_of(NodeId::station(station), Instant::FAR_FUTURE)
    }
}

#[test]
fn packets_leave_at_c_and_the_first_of_a_silence_at_once() {
    let mut vsb = vsb(Policy::PerStation, &weights(&[1.0]));
    assert_eq!(vsb.poll_timeout(), None);
    vsb.enqueue(ms(10), packet(0, DOWN, 1500, 1));
    vsb.enqueue(ms(10), packet(0, UP, 1500, 2));
    assert_eq!(vsb.dequeue(ms(10)).unwrap().seq, 1);
    assert_eq!(vsb.dequeue(ms(10)), None);
    assert_eq!(vsb.poll_timeout(), Some(ms(12)));
    assert_eq!(vsb.dequeue(ms(12)).unwrap().seq, 2);
    assert_eq!(vsb.poll_timeout(), None);
    // An idle pool does not save up.
    vsb.enqueue(ms(100), packet(0, DOWN, 1500, 3));
    vsb.enqueue(ms(100), packet(0, DOWN, 1500, 4));
    assert_eq!(vsb.dequeue(ms(100)).unwrap().seq, 3);
    assert_eq!(vsb.poll_timeout(), Some(ms(102)));
}

#[test]
fn both_directions_of_a_station_wait_in_one_queue_of_200() {
    let mut vsb = vsb(Policy::PerStation, &weights(&[1.0, 1.0]));
    for seq in 0..200 {
        let direction = if seq % 2 == 0 { UP } else { DOWN };
        assert!(vsb.enqueue(ms(0), packet(0, direction, 1500, seq)).is_none());
    }
    assert!(vsb.enqueue(ms(0), packet(0, UP, 1500, 200)).is_some());
    assert!(vsb.enqueue(ms(0), packet(1, UP, 1500, 0)).is_none(), "the other station has a queue of its own");
    assert_eq!(vsb.stats(NodeId::station(0), ms(1)).queue.drops[0], [1, 0, 0]);
    assert_eq!(vsb.backlog, 201);
}

#[test]
fn stations_share_bytes_equally_whatever_direction_and_size() {
    let mut vsb = vsb(Policy::PerStation, &weights(&[1.0; 3]));
    let bytes = serve(&mut vsb, top_up(&[(0, UP, 1500), (1, DOWN, 300), (2, DOWN, 40)]), ms(6000));
    for own in &bytes[..3] {
        assert!((*own as f64 / 1.5e6 - 1.0).abs() < 0.01, "{bytes:?}");
    }
}

#[test]
fn weights_divide_and_idle_shares_go_to_the_others() {
    let mut shaper = vsb(Policy::PerStation, &weights(&[3.0, 1.0, 1.0]));
    let bytes = serve(&mut shaper, top_up(&[(0, DOWN, 1500), (1, UP, 1500)]), ms(6000));
    assert!((bytes[0] as f64 / bytes[1] as f64 - 3.0).abs() < 0.05, "{bytes:?}");
    assert!((bytes[0] + bytes[1]) as f64 > 4.49e6, "station 2 is idle: {bytes:?}");
}

#[test]
fn a_cap_holds_and_the_rest_goes_to_the_others() {
    let cap = Some(Bitrate::mbps(1));
    let mut vsb = vsb(Policy::PerStation, &[Share { cap, ..Share::default() }, Share::default()]);
    let bytes = serve(&mut vsb, top_up(&[(0, DOWN, 1500), (1, UP, 1500)]), ms(8000));
    assert!((bytes[0] as f64 / 1e6 - 1.0).abs() < 0.01, "1 Mbit/s for 8 s: {bytes:?}");
    assert!((bytes[1] as f64 / 5e6 - 1.0).abs() < 0.01, "{bytes:?}");
    // Alone it is still capped, and the box says when to look again.
    let mut vsb = Vsb::new(VsbParams::default(), C, &[Share { cap, ..Share::default() }]);
    let bytes = serve(&mut vsb, top_up(&[(0, DOWN, 1500)]), ms(8000));
    assert!((bytes[0] as f64 / 1e6 - 1.0).abs() < 0.01, "{bytes:?}");
}

#[test]
fn directions_or_flows_share_where_the_policy_says_so() {
    let mut by_direction = vsb(Policy::PerDirection, &weights(&[1.0; 3]));
    let bytes = serve(&mut by_direction, top_up(&[(0, UP, 1500), (1, DOWN, 1500), (2, DOWN, 1500)]), ms(6000));
    assert!((bytes[0] as f64 / (bytes[1] + bytes[2]) as f64 - 1.0).abs() < 0.01, "{bytes:?}");
    let mut by_flow = vsb(Policy::PerFlow, &weights(&[1.0; 2]));
    for seq in 0..300 {
        // Station 0 has flows 0 and 7, station 1 has flow 1.
        by_flow.enqueue(ms(0), packet(0, DOWN, 1500, seq));
        by_flow.enqueue(ms(0), Segment { flow: FlowId(7), ..packet(0, UP, 1500, seq) });
        by_flow.enqueue(ms(0), packet(1, DOWN, 1500, seq));
    }
    let served: Vec<_> = (0..90).map(|slot| by_flow.dequeue(ms(2 * slot)).unwrap().flow.0).collect();
    for flow in [0, 1, 7] {
        assert_eq!(served.iter().filter(|served| **served == flow).count(), 30);
    }
}

#[test]
fn uplink_udp_passes_by_the_box_unless_it_is_told_to_shape_it() {
    let takes = |vsb: &mut Vsb<Segment>, packet: &Segment| vsb.takes(ms(0), packet, true);
    let udp = |direction| Segment { kind: Kind::Udp, ..packet(0, direction, 1500, 0) };
    let mut shaper = vsb(Policy::PerStation, &weights(&[1.0]));
    assert!(
        !takes(&mut shaper, &udp(UP)) && takes(&mut shaper, &udp(DOWN)) && takes(&mut shaper, &packet(0, UP, 1500, 0))
    );
    shaper.bypass(&udp(UP));
    // 28 bytes of header instead of 40.
    assert_eq!(shaper.totals(NodeId::station(0)).up_bypassing, Bytes(1488));
    let shape = VsbParams { udp: UdpRule::Shape, ..VsbParams::default() };
    assert!(takes(&mut Vsb::new(shape, C, &weights(&[1.0])), &udp(UP)));
}

#[test]
fn sending_one_packet_at_a_time_gives_no_more_than_a_share() {
    // Station 0 answers each packet that it gets; station 1 has a standing queue. Bytes: 1500 against 300.
    let mut vsb = vsb(Policy::PerStation, &weights(&[1.0; 2]));
    let mut bytes = [0, 0];
    vsb.enqueue(ms(0), packet(0, UP, 1500, 0));
    for _ in 0..20 {
        vsb.enqueue(ms(0), packet(1, DOWN, 300, 0));
    }
    while let Some(at) = vsb.poll_timeout().filter(|at| *at < ms(6000)) {
        let sent = vsb.dequeue(at).expect("due");
        let station = sent.station.station_index().unwrap();
        bytes[station] += sent.ip_len().0;
        vsb.enqueue(at, Segment { seq: sent.seq + 1, ..sent });
    }
    assert!((bytes[0] as f64 / bytes[1] as f64 - 1.0).abs() < 0.01, "{bytes:?}");
}

proptest! {
    /// Whatever happens to C, weights and caps: nothing is lost but at the tail, and each station keeps its order.
    #[test]
    fn changes_of_c_and_shares_neither_drop_nor_reorder(
        steps in prop::collection::vec((0_usize..3, prop::bool::ANY, 40_u32..1500, 0_u64..4, 0_u8..12), 1..400),
        caps in prop::bool::ANY,
    ) {
        let cap = caps.then(|| Bitrate::mbps(1));
        let mut vsb = vsb(Policy::PerStation, &[Share { weight: 2.0, cap }, Share::default(), Share::default()]);
        let (mut now, mut sent, mut dropped) = (Instant::ZERO, 0_usize, 0_usize);
        let mut last = [None::<u64>; 3];
        for (seq, (station, up, len, wait, what)) in steps.iter().enumerate() {
            now += Duration::from_micros(wait * 700);
            match what {
                0 => vsb.set_capacity(now, Bitrate::from_bps(u64::from(*len) * 10_000)),
                1 => vsb.set_shares(now, &[Share { weight: f64::from(*len), cap: None }; 3]),
                _ => {}
            }
            let direction = if *up { UP } else { DOWN };
            dropped += usize::from(vsb.enqueue(now, packet(*station, direction, *len, seq as u64)).is_some());
            while let Some(out) = vsb.dequeue(now) {
                let station = out.station.station_index().unwrap();
                prop_assert!(last[station].is_none_or(|before| before < out.seq));
                last[station] = Some(out.seq);
                sent += 1;
            }
            prop_assert_eq!(sent + dropped + vsb.backlog, seq + 1);
        }
        while let Some(at) = vsb.poll_timeout() {
            prop_assert!(vsb.dequeue(at.max(now)).is_some(), "the box said that a packet may go");
            sent += 1;
        }
        prop_assert_eq!(sent + dropped, steps.len());
    }
}

fn timed(leaf: LeafRule, capacity: Bitrate, stations: usize) -> Vsb<Segment> {
    let params = VsbParams { queue: QueueRule::Auto, leaf, ..VsbParams::default() };
    Vsb::new(params, capacity, &weights(&vec![1.0; stations]))
}

/// How many packets of station 0 find room at `now`.
fn room(vsb: &mut Vsb<Segment>, now: Instant) -> usize {
    (0..10_000).take_while(|seq| vsb.enqueue(now, packet(0, UP, 1500, *seq)).is_none()).count()
}

#[test]
fn a_queue_of_auto_is_50_ms_of_the_rate_and_at_least_8_packets() {
    assert_eq!(room(&mut timed(LeafRule::Fifo, Bitrate::mbps(24), 1), ms(0)), 100, "24 Mbit/s for one");
    assert_eq!(room(&mut timed(LeafRule::Fifo, Bitrate::mbps(1), 1), ms(0)), 8);
    // Five that send: each has a fifth, and a sixth would be left for who comes.
    let mut five = timed(LeafRule::Fifo, Bitrate::mbps(60), 5);
    let mut now = ms(0);
    while now < ms(3000) {
        for station in 0..5 {
            while five.enqueue(now, packet(station, UP, 1500, 0)).is_none() {}
        }
        now = five.poll_timeout().expect("packets wait");
        five.dequeue(now);
    }
    let waits = five.stations_backlog(0);
    assert!((45..=60).contains(&waits), "50 ms at 12 Mbit/s are 50 packets: {waits}");
}

#[test]
fn with_flows_apart_an_ack_goes_first_and_a_flow_does_not_wait_for_another() {
    let order = |leaf| {
        let mut vsb = timed(leaf, C, 1);
        for seq in 0..5 {
            vsb.enqueue(ms(0), packet(0, UP, 1500, seq));
        }
        let other = Segment { flow: FlowId(7), ..packet(0, DOWN, 1500, 100) };
        vsb.enqueue(ms(0), other);
        vsb.enqueue(ms(0), packet(0, UP, 40, 200));
        std::iter::from_fn(|| vsb.dequeue_unpaced(ms(1))).map(|packet| packet.seq).collect::<Vec<_>>()
    };
    assert_eq!(order(LeafRule::Fifo), [0, 1, 2, 3, 4, 100, 200]);
    assert_eq!(order(LeafRule::Auto), [200, 0, 100, 1, 2, 3, 4]);
}

/// The limit is the class's: many flows hold no more than one, and the longest of them loses.
#[test]
fn with_flows_apart_many_flows_hold_no_more_than_one() {
    for (queue, most) in [(QueueRule::Auto, 100), (QueueRule::Packets(200), 200)] {
        let params = VsbParams { queue, leaf: LeafRule::Auto, ..VsbParams::default() };
        let mut vsb = Vsb::new(params, Bitrate::mbps(24), &weights(&[1.0]));
        let mut dropped = [0_usize; 10];
        for seq in 0..4000 {
            // The first flow sends as much as the others together.
            let flow = if seq % 2 == 0 { 0 } else { 1 + seq / 2 % 4 };
            let flow = [0, 1, 2, 3, 9][flow as usize];
            let own = Segment { flow: FlowId(flow as u32), ..packet(0, DOWN, 1500, seq) };
            if let Some((last, _)) = vsb.enqueue(ms(0), own) {
                dropped[last.flow.0 as usize] += 1;
            }
            assert!(vsb.backlog <= most, "{}", vsb.backlog);
        }
        assert_eq!(vsb.backlog + dropped.iter().sum::<usize>(), 4000);
        let mut left = [0_usize; 10];
        while let Some(sent) = vsb.dequeue_unpaced(ms(1)) {
            left[sent.flow.0 as usize] += 1;
        }
        let fair = most / 5;
        assert!(left.iter().all(|own| [0, fair - 1, fair, fair + 1].contains(own)), "{left:?}");
        // A ping's worth of another flow still finds room in a full class, and a flow may go empty by that.
        let mut small = Vsb::new(VsbParams { queue: QueueRule::Packets(1), ..params }, C, &weights(&[1.0]));
        assert!(small.enqueue(ms(0), packet(0, DOWN, 1500, 0)).is_none());
        let (last, _) = small.enqueue(ms(0), packet(0, DOWN, 40, 1)).expect("the longer one goes");
        assert_eq!((last.seq, small.dequeue_unpaced(ms(0)).map(|sent| sent.seq)), (0, Some(1)));
        assert_eq!((small.backlog, small.stations_backlog(0)), (0, 0));
    }
}

/// A flood of ACKs gets a quarter of the bytes ahead of a connection's data, no more.
#[test]
fn small_packets_starve_nobody_with_flows_apart() {
    let mut vsb = timed(LeafRule::Auto, Bitrate::mbps(100), 1);
    let (mut small, mut large) = (0, 0);
    for _ in 0..20_000 {
        vsb.enqueue(ms(0), packet(0, UP, 40, 0));
        vsb.enqueue(ms(0), packet(0, UP, 1500, 0));
        let sent = vsb.dequeue_unpaced(ms(0)).expect("packets wait").ip_len().0;
        if sent == 40 { small += sent } else { large += sent }
    }
    let share = small as f64 / (small + large) as f64;
    assert!((0.2..0.3).contains(&share), "{share}");
}

fn batching(batch: u64, shares: &[Share]) -> Vsb<Segment> {
    Vsb::new(VsbParams { batch: Bytes(batch), ..VsbParams::default() }, C, shares)
}

/// Four packets of a station leave together, and C pays for them before the next four. As in the kernel a burst goes on with the next
/// class where one has no more.
#[test]
fn a_batch_leaves_at_once_and_is_paid_afterwards() {
    let mut vsb = batching(5999, &weights(&[1.0, 1.0]));
    for seq in 0..6 {
        vsb.enqueue(ms(0), packet(0, DOWN, 1500, seq));
        vsb.enqueue(ms(0), packet(1, UP, 1500, seq));
    }
    let mut at = |now: u64| -> Vec<usize> {
        std::iter::from_fn(|| vsb.dequeue(ms(now))).map(|sent| sent.station.station_index().unwrap()).collect()
    };
    assert_eq!([at(0), at(7), at(8)], [vec![0; 4], vec![], vec![1; 4]]);
    assert_eq!([at(15), at(16)], [vec![], vec![0, 0, 1, 1]]);
}

/// With 50 stations a round of such batches would last 400 ms: it is cut to 100 ms, a packet each.
#[test]
fn a_round_of_batches_is_not_longer_than_a_tenth_of_a_second() {
    let mut vsb = batching(6000, &weights(&[1.0; 50]));
    let top_up = |vsb: &mut Vsb<Segment>, now: Instant| {
        for station in 0..50 {
            while vsb.stations_backlog(station) < 6 {
                vsb.enqueue(now, packet(station, DOWN, 1500, 0));
            }
        }
    };
    top_up(&mut vsb, ms(0));
    let mut last_seen = None;
    while let Some(at) = vsb.poll_timeout().filter(|at| *at < ms(2000)) {
        let together: Vec<Segment> = std::iter::from_fn(|| vsb.dequeue(at)).collect();
        if at > ms(1000) {
            assert_eq!(together.len(), 1, "at {at:?}");
            if together[0].station == NodeId::station(7) {
                let since = last_seen.replace(at).map(|before| at.saturating_since(before));
                assert!(since.is_none_or(|since| since == Duration::from_millis(100)), "{since:?}");
            }
        }
        top_up(&mut vsb, at);
    }
    assert!(last_seen.is_some());
}

#[test]
fn batches_keep_shares_weights_and_caps() {
    let offers: &[(usize, Direction, u32)] = &[(0, UP, 1500), (1, DOWN, 1400), (2, DOWN, 1300)];
    let mut equal = batching(24_000, &weights(&[1.0; 3]));
    let bytes = serve(&mut equal, top_up(offers), ms(6000));
    assert!(bytes[..3].iter().all(|own| (*own as f64 / 1.5e6 - 1.0).abs() < 0.03), "{bytes:?}");
    let capped = Share { weight: 1.0, cap: Some(Bitrate::from_bps(500_000)) };
    let mut shaper = batching(24_000, &[weights(&[3.0])[0], weights(&[1.0])[0], capped]);
    let bytes = serve(&mut shaper, top_up(&[(0, DOWN, 1500), (1, UP, 1500), (2, DOWN, 1500)]), ms(24_000));
    assert!((bytes[0] as f64 / bytes[1] as f64 - 3.0).abs() < 0.1, "{bytes:?}");
    assert!((bytes[2] as f64 / 1_500_000.0 - 1.0).abs() < 0.02, "{bytes:?}");
}

/// A class has room for four batches, unless a cap makes that long.
#[test]
fn with_auto_a_class_holds_four_batches() {
    let params = VsbParams { queue: QueueRule::Auto, batch: Bytes(24_000), ..VsbParams::default() };
    let slow = Share { weight: 1.0, cap: Some(Bitrate::from_bps(500_000)) };
    let mut vsb = Vsb::new(params, C, &[weights(&[1.0])[0], slow]);
    let mut held =
        |station: usize| (0..100).filter(|seq| vsb.enqueue(ms(0), packet(station, DOWN, 1500, *seq)).is_none()).count();
    // 50 ms of half of C would be 12 packets.
    assert_eq!([held(0), held(1)], [64, 8]);
}
