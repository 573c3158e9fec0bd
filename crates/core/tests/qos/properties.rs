//! What holds in every QoS cell: no packet is lost or doubled unnoticed, packets go up in order, no limit is exceeded.

use std::collections::BTreeMap;

use proptest::prelude::*;

use fairair_core::mac::{
    AccessParams, Aggregation, AirBody, AirFrame, Bss, LONGEST_PPDU, MacParams, Phy, Reception, Rules, StationLink,
    TxVector, Width,
};
use fairair_core::packet::{Category, Direction, FlowId, NodeId, Packet, Segment};
use fairair_core::qdisc::{DropTail, FqCodel, FqCodelParams, Qdisc, Queue, SharedFifo, SharedFifoParams};
use fairair_core::units::{Bytes, Duration, Instant};

use crate::cell::{datagram, ns3, one_stream, qos};

/// A random cell.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone, Debug)]
struct Plan {
    phys: Vec<(Phy, u8)>,
    aggregation: Option<(u64, usize)>,
    amsdu: Option<u64>,
    txop_us: [u64; 2],
    cw_min: u32,
    bar: bool,
    rts: Option<u64>,
    retry_limit: Option<u32>,
    lifetime_ms: Option<u64>,
    early: bool,
    all_categories: bool,
    ns3_rules: bool,
    frame_error: f64,
    queue: u8,
    limit: usize,
    arrivals: Vec<(u64, u32, bool, u8)>,
    seed: u64,
}

fn plan() -> impl Strategy<Value = Plan> {
    let phy = prop::sample::select(vec![Phy::N, Phy::Ac, Phy::Ax]);
    let cell = (
        prop::collection::vec((phy, 0_u8..8), 1..5),
        prop::option::weighted(0.8, (2_000_u64..300_000, prop::sample::select(vec![2_usize, 8, 64, 256]))),
        prop::array::uniform2(prop::sample::select(vec![0_u64, 0, 1_500, 4_000])),
        prop::sample::select(vec![0_u32, 1, 7, 15]),
        any::<bool>(),
        prop::option::weighted(0.3, 0_u64..4_000),
        prop::option::of(1_u32..8),
        prop::option::weighted(0.3, 1_u64..50),
    );
    let rest = (
        (any::<[bool; 3]>(), prop::option::of(256_u64..12_000)),
        prop_oneof![Just(0.0), 0.0..0.6_f64],
        0_u8..3,
        1_usize..200,
        prop::collection::vec((0_u64..400, 0_u32..10, any::<bool>(), 0_u8..4), 1..1500),
        any::<u64>(),
    );
    (cell, rest).prop_map(|((phys, aggregation, txop_us, cw_min, bar, rts, retry_limit, lifetime_ms), rest)| {
        let (([early, all_categories, ns3_rules], amsdu), frame_error, queue, limit, arrivals, seed) = rest;
        Plan {
            phys,
            aggregation,
            amsdu,
            txop_us,
            cw_min,
            bar,
            rts,
            retry_limit,
            lifetime_ms,
            early,
            all_categories,
            ns3_rules,
            frame_error,
            queue,
            limit,
            arrivals,
            seed,
        }
    })
}

impl Plan {
    fn tx(&self) -> Vec<TxVector> {
        self.phys.iter().map(|(phy, index)| one_stream(*phy, *index, Width::Mhz20)).collect()
    }

    fn params(&self) -> MacParams {
        let mut params = ns3(self.tx()[0]);
        if !self.ns3_rules {
            let standard = Rules::of(fairair_core::scenario::Preset::Standard);
            params.rules = standard;
            params.after_bad_frame = params.difs + Duration::from_micros(60);
        }
        let qos = qos(&mut params);
        qos.aggregation = self.aggregation.map(|(max_bytes, window)| Aggregation::new(Bytes(max_bytes), window));
        qos.amsdu = self.amsdu.map(Bytes);
        for (side, txop_us) in [&mut qos.edca.ap, &mut qos.edca.stations].into_iter().zip(self.txop_us) {
            for access in side.iter_mut() {
                *access =
                    AccessParams { cw_min: self.cw_min, cw_max: 1023, txop: Duration::from_micros(txop_us), ..*access };
            }
        }
        qos.bar = self.bar;
        qos.rts_above = self.rts.map(Bytes);
        qos.retry_limit = self.retry_limit;
        qos.lifetime = self.lifetime_ms.map(Duration::from_millis);
        qos.hand_up_early = self.early;
        if self.all_categories {
            qos.categories = [true; 4];
        }
        params
    }

    fn queue(&self) -> Queue<Classed> {
        let discipline: Box<dyn Qdisc<Classed>> = match self.queue {
            0 => Box::new(DropTail::new(self.limit)),
            1 => Box::new(FqCodel::new(FqCodelParams::default())),
            _ => Box::new(SharedFifo::new(SharedFifoParams { limit: self.limit, count_unacknowledged: self.early })),
        };
        Queue::new(discipline)
    }
}

/// A segment with a category.
#[derive(Clone, Debug, PartialEq)]
struct Classed(Segment, Category);

impl Packet for Classed {
    fn ip_len(&self) -> Bytes {
        self.0.ip_len()
    }
    fn station(&self) -> NodeId {
        self.0.station()
    }
    fn flow(&self) -> FlowId {
        self.0.flow()
    }
    fn direction(&self) -> Direction {
        self.0.direction()
    }
    fn class(&self) -> fairair_core::packet::Class {
        self.0.class()
    }
    fn category(&self) -> Category {
        self.1
    }
    fn tcp(&self) -> Option<fairair_core::packet::TcpView> {
        self.0.tcp()
    }
    fn clamp_window(&mut self, window: Bytes) {
        self.0.clamp_window(window);
    }
    fn enqueued_at(&self) -> Instant {
        self.0.enqueued_at()
    }
    fn set_enqueued_at(&mut self, now: Instant) {
        self.0.set_enqueued_at(now);
    }
}

/// Frames as lines: start and end in us, transmitter, content.
fn shown(frames: &[AirFrame<Classed>]) -> Vec<String> {
    let line = |frame: &AirFrame<Classed>| {
        let us = |at: Instant| at.as_nanos() as f64 / 1e3;
        let kind = match &frame.body {
            AirBody::Data { packet, sequence, retry, .. } => format!("{:?} {sequence} {retry}", packet.1),
            other => format!("{other:?}"),
        };
        let end = us(frame.at + frame.duration);
        format!("{} to {end} node{} {kind} {:?}", us(frame.at), frame.transmitter.0, frame.reception)
    };
    frames.iter().map(line).collect()
}

/// What a run left behind.
#[derive(Debug, Default, PartialEq)]
struct Trace {
    /// Time, receiver, station, category, number.
    deliveries: Vec<(Instant, NodeId, NodeId, Category, u64)>,
    frames: Vec<AirFrame<Classed>>,
    arrived: usize,
    dropped: u64,
    discarded: u64,
    waiting: usize,
}

fn run(plan: &Plan) -> Trace {
    let links: Vec<StationLink> = plan
        .tx()
        .into_iter()
        .enumerate()
        .map(|(n, tx)| StationLink {
            tx,
            beta: 1.0,
            frame_error: plan.frame_error,
            bit_error_rate: 0.0,
            name: format!("s{n}"),
            ap: NodeId::AP,
        })
        .collect();
    let stations = links.len();
    let queues = (0..=stations).map(|_| plan.queue()).collect();
    let mut bss = Bss::new(plan.params(), &links, queues, plan.seed);
    bss.monitor();
    let mut trace = Trace::default();
    let advance = |bss: &mut Bss<Classed>, trace: &mut Trace, until: Instant| {
        while let Some(now) = bss.poll_timeout().filter(|now| *now <= until) {
            bss.handle_timeout(now);
            while let Some(delivery) = bss.poll_delivery() {
                let Classed(segment, category) = delivery.packet;
                trace.deliveries.push((now, delivery.receiver, segment.station, category, segment.seq));
            }
            trace.frames.extend(bss.drain_air());
        }
    };
    let mut now = Instant::ZERO;
    for (number, (gap, node, long, category)) in plan.arrivals.iter().enumerate() {
        now += Duration::from_micros(*gap);
        advance(&mut bss, &mut trace, now);
        let node = *node as usize % (2 * stations);
        let (direction, station) =
            if node < stations { (Direction::Up, node) } else { (Direction::Down, node - stations) };
        let mut segment = datagram(station, direction, number as u64);
        segment.payload = if *long { 1472 } else { 12 };
        let from = if direction == Direction::Up { NodeId::station(station) } else { NodeId::AP };
        bss.enqueue(
            now,
            from,
            Classed(
                segment,
                if plan.all_categories { Category::ALL[usize::from(*category)] } else { Category::BestEffort },
            ),
        );
    }
    // Half of the plans stop in the middle of things.
    let idle = if plan.seed.is_multiple_of(2) { Duration::from_secs(5) } else { Duration::ZERO };
    advance(&mut bss, &mut trace, now + idle);
    trace.arrived = plan.arrivals.len();
    for node in (0..=stations as u32).map(NodeId) {
        trace.discarded += bss.stats(node).discards;
        trace.waiting += bss.backlog(node);
        trace.dropped += bss.queue(node).stats(now + idle).drops.iter().flatten().sum::<u64>();
    }
    trace
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn qos_cells_keep_their_books_and_limits(plan in plan()) {
        let trace = run(&plan);
        prop_assert_eq!(&trace, &run(&plan), "the seed decides");

        // Conservation: what was handed up early is not held any more, so nothing counts twice.
        let accounted = trace.deliveries.len() + trace.dropped as usize + trace.discarded as usize + trace.waiting;
        let in_flight = trace.arrived.abs_diff(accounted);
        // An A-MSDU of 11,398 bytes holds 178 of the shorter packets.
        let early = if plan.amsdu.is_some() { 178 * 256 } else { 256 };
        prop_assert!(in_flight <= if plan.early { early } else { 0 }, "{} of {}", accounted, trace.arrived);
        if plan.seed.is_multiple_of(2) {
            prop_assert_eq!(in_flight, 0);
            // With the smallest windows twenty functions may collide for ever.
            if plan.cw_min >= 7 {
                prop_assert_eq!(trace.waiting, 0, "a cell without arrivals runs empty");
            }
        }

        // Order: within a station, direction and category.
        let mut last = BTreeMap::new();
        for (_, receiver, station, category, number) in &trace.deliveries {
            if plan.queue != 1 {
                let key = (*receiver == NodeId::AP, *station, plan.all_categories.then_some(*category));
                let before = last.insert(key, *number);
                prop_assert!(before.is_none_or(|before| before < *number), "in order");
            }
        }

        // Limits, PPDU by PPDU.
        let (mut busy_until, mut first_start) = (Instant::ZERO, Instant::ZERO);
        let unnoticed = plan.params().rules.unnoticed;
        let mut ppdu: (Instant, NodeId, Vec<u16>) = (Instant::ZERO, NodeId::AP, Vec::new());
        let window = plan.params().qos.unwrap().window() as u16;
        for (nth, frame) in trace.frames.iter().enumerate() {
            prop_assert!(frame.duration <= LONGEST_PPDU || !matches!(frame.body, AirBody::Data { .. }), "{frame:?}");
            let together = frame.at.saturating_since(first_start) <= unnoticed;
            if !together {
                first_start = frame.at;
            }
            prop_assert!(frame.at >= busy_until || together, "frames overlap: {:#?}", shown(&trace.frames[nth.saturating_sub(8)..=nth]));
            busy_until = busy_until.max(frame.at + frame.duration);
            if let AirBody::Data { sequence, .. } = &frame.body {
                if (frame.at, frame.transmitter) != (ppdu.0, ppdu.1) {
                    ppdu = (frame.at, frame.transmitter, Vec::new());
                }
                ppdu.2.push(*sequence);
                let span = sequence.wrapping_sub(ppdu.2[0]) % 4096;
                prop_assert!(span < window, "{span} of {window}");
            }
            if frame.reception == Reception::Collided {
                let initial = matches!(frame.body, AirBody::Data { .. } | AirBody::Rts | AirBody::BlockAckReq { .. });
                prop_assert!(initial, "only what begins an exchange collides");
            }
        }
    }
}
