//! The parts of a simulated second: parsing, queueing, contention, TCP.

#![expect(missing_docs, reason = "the function that criterion_group! makes")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fairair_core::mac::{Bss, MacParams, StationLink};
use fairair_core::packet::{Direction, FlowId, Kind, NO_SACK, NodeId, Segment};
use fairair_core::qdisc::{DropTail, Queue};
use fairair_core::rng::Rng;
use fairair_core::scenario::{Preset, Scenario};
use fairair_core::tcp::{Receiver, Sender, TcpParams};
use fairair_core::units::{Duration, Instant};

const CELL: &str = include_str!("../../../scenarios/detti2011-five-stations.toml");

fn segment(station: usize) -> Segment {
    Segment {
        flow: FlowId(station as u32),
        station: NodeId::station(station),
        direction: Direction::Up,
        kind: Kind::Data,
        incarnation: 1,
        category: fairair_core::packet::Category::BestEffort,
        seq: 0,
        payload: 1460,
        ack: 0,
        window: 0,
        cwnd: 0,
        push: false,
        sack: NO_SACK,
        ecn: fairair_core::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

fn queue(c: &mut Criterion) {
    let mut queue = Queue::new(Box::new(DropTail::new(75)));
    let mut now = Instant::ZERO;
    c.bench_function("droptail: enqueue and dequeue", |b| {
        b.iter(|| {
            now += Duration::from_micros(1);
            queue.enqueue(now, black_box(segment(0)));
            queue.dequeue(now)
        });
    });
}

/// One exchange of a saturated cell: three steps of the medium and one arrival.
fn contention(c: &mut Criterion) {
    let mut scenario = Scenario::from_toml(CELL, "cell.toml").expect("the scenario is right");
    // A frame given up would not come back and leave its station silent.
    scenario.radio.retry_limit = u32::MAX;
    for stations in [2_usize, 10, 50] {
        let params = MacParams::new(&scenario.radio, Preset::Standard);
        let links: Vec<StationLink> = (0..stations)
            .map(|n| StationLink {
                tx: params.tx(scenario.radio.rate),
                beta: 1.0,
                frame_error: 0.0,
                bit_error_rate: 0.0,
                name: format!("s{n}"),
                ap: NodeId::AP,
            })
            .collect();
        let queues = (0..=stations).map(|_| Queue::new(Box::new(DropTail::new(10)))).collect();
        let mut bss = Bss::new(params, &links, queues, 1);
        for station in 0..stations {
            bss.enqueue(Instant::ZERO, NodeId::station(station), segment(station));
            bss.enqueue(Instant::ZERO, NodeId::station(station), segment(station));
        }
        c.bench_function(&format!("cell: an exchange among {stations} saturated stations"), |b| {
            b.iter(|| {
                while let Some(now) = bss.poll_timeout() {
                    bss.handle_timeout(now);
                    if let Some(delivery) = bss.poll_delivery() {
                        bss.enqueue(now, delivery.packet.station, delivery.packet);
                        break;
                    }
                }
            });
        });
    }
}

/// A full window in a lossless network: a segment, its ACK, the next segment.
fn tcp(c: &mut Criterion) {
    let params = TcpParams { delayed_ack: false, ..TcpParams::default() };
    let mut sender = Sender::connect(&params, None, &mut Rng::fork(1, "bench"));
    let mut receiver = Receiver::new(&params);
    let mut now = Instant::ZERO;
    let mut flight = std::collections::VecDeque::new();
    flight.extend(sender.poll_transmit(now));
    c.bench_function("TCP: a segment, its ACK, the next segment", |b| {
        b.iter(|| {
            now += Duration::from_micros(100);
            let segment = flight.pop_front().expect("a lossless flow never stops");
            receiver.handle_segment(now, segment.kind, segment.seq, segment.payload, segment.push);
            while let Some(ack) = receiver.poll_transmit() {
                sender.handle_ack(now, ack.kind, ack.ack, ack.window, &ack.sack);
            }
            while let Some(segment) = sender.poll_transmit(now) {
                flight.push_back(segment);
            }
        });
    });
}

fn parsing(c: &mut Criterion) {
    c.bench_function("scenario: parse and check", |b| {
        b.iter(|| Scenario::from_toml(black_box(CELL), "cell.toml"));
    });
}

criterion_group!(benches, parsing, queue, contention, tcp);
criterion_main!(benches);
