//! What every discipline keeps, whatever its rules: one list of checks for all kinds.

use std::collections::BTreeMap;

use proptest::prelude::{Strategy, TestCaseError, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;
use crate::packet::{Direction, DropReason, FlowId, Kind, NO_SACK, NodeId, Segment};
use crate::rng::Rng;
use crate::units::{Duration, Instant, Probability};

/// All kinds by default, and smaller or in their other modes: small limits are where the rules meet.
fn specs() -> Vec<QdiscSpec> {
    let mut specs = QdiscSpec::all();
    specs.extend(QdiscSpec::all().into_iter().map(small));
    specs.push(QdiscSpec::TlasSaf(TlasSafParams {
        limit: 4,
        threshold: 2,
        cwnd: CwndSource::Estimated,
        victim: Victim::Last,
    }));
    specs.push(QdiscSpec::Tlas(TlasParams { limit: 4, threshold: 2, victim: Victim::Last }));
    for rule in [ShareRule::Optimal, ShareRule::Modified] {
        specs.push(QdiscSpec::DualQueue(DualQueueParams { p: Share::Rule(rule), ..DualQueueParams::default() }));
    }
    specs.push(QdiscSpec::PerFlowFq(FairQueueParams { limit: 3, charge: Charge::Packet }));
    specs.push(QdiscSpec::PerStationFq(FairQueueParams { limit: 3, charge: Charge::Packet }));
    specs
}

/// The kind with little room.
fn small(spec: QdiscSpec) -> QdiscSpec {
    match spec {
        QdiscSpec::Tlas(params) => QdiscSpec::Tlas(TlasParams { limit: 3, threshold: 2, ..params }),
        QdiscSpec::TlasSaf(params) => QdiscSpec::TlasSaf(TlasSafParams { limit: 3, threshold: 2, ..params }),
        QdiscSpec::DualQueue(params) => {
            QdiscSpec::DualQueue(DualQueueParams { data: 2, ack: 2, other: 1, p: Share::Fixed(0.6), ..params })
        }
        QdiscSpec::FqCodel(params) => QdiscSpec::FqCodel(FqCodelParams { limit: 6, quantum: 100, ..params }),
        QdiscSpec::Admission(params) => QdiscSpec::Admission(AdmissionParams {
            limit: 3,
            p_b: Probability::new(0.3).expect("a probability"),
            ..params
        }),
        QdiscSpec::AdaptiveBuffer(_) => {
            QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams { t: Duration::from_millis(2), a: 1, alpha: 0.5, b_max: 4 })
        }
        QdiscSpec::Mac80211(params) => QdiscSpec::Mac80211(Mac80211Params { limit: 6, quantum: 100, ..params }),
        spec => with_limit(spec, 3),
    }
}

/// The kind with another `limit`, which all but a few have.
fn with_limit(spec: QdiscSpec, limit: usize) -> QdiscSpec {
    let mut fields = serde_json::to_value(spec).expect("a specification is a table");
    fields["limit"] = limit.into();
    serde_json::from_value(fields).expect("it has a limit, or has an arm of its own above")
}

/// Most packets that may wait.
fn capacity(spec: QdiscSpec) -> usize {
    match spec {
        QdiscSpec::DualQueue(params) => spec.limit() + params.other,
        _ => spec.limit(),
    }
}

/// What happens to a queue.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The next packet of the flow arrives from the wire.
    Arrive(u32),
    /// The server takes a packet, if there is one, so many microseconds later.
    Serve(u16),
    /// An ACK of the flow passes on its way up and takes air.
    Uplink(u32),
    /// The flow's connection ends and a new one begins.
    Reopen(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let flow = || 0..9_u32;
    let step = prop_oneof![
        5 => flow().prop_map(Step::Arrive),
        3 => any::<u16>().prop_map(Step::Serve),
        1 => flow().prop_map(Step::Uplink),
        1 => flow().prop_map(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..400)
}

/// Downloads, uploads and UDP, three of each, on three stations. Ids are sparse, as hashes would be.
fn packet(flow: u32, incarnation: u32, number: u64) -> Segment {
    let kind = match flow % 3 {
        0 => Kind::Data,
        1 => Kind::Ack,
        _ => Kind::Udp,
    };
    let payload = if kind == Kind::Ack { 0 } else { 1460 };
    Segment {
        flow: FlowId(flow * 477_218_588),
        station: NodeId::station(flow as usize / 3),
        direction: Direction::Down,
        kind,
        incarnation,
        category: crate::packet::Category::BestEffort,
        seq: if kind == Kind::Ack { 0 } else { number * 1460 },
        payload,
        ack: if kind == Kind::Ack { number * 1460 } else { 0 },
        window: 0,
        cwnd: (number % 8) as u32 + 1,
        push: false,
        sack: NO_SACK,
        ecn: crate::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

/// Packet number within its connection.
fn number(segment: &Segment) -> u64 {
    segment.seq.max(segment.ack) / 1460
}

/// A queue with its books, checked at every step.
struct Bench {
    queue: Box<dyn Qdisc<Segment>>,
    capacity: usize,
    now: Instant,
    drops: Drops<Segment>,
    sent: [(u32, u64); 9],
    arrived: usize,
    served: Vec<Segment>,
    dropped: Vec<(Segment, DropReason)>,
}

impl Bench {
    fn run(spec: QdiscSpec, seed: u64, steps: &[Step]) -> Result<Bench, TestCaseError> {
        let mut bench = Bench {
            queue: build(spec, Rng::fork(seed, "qdisc/ap")),
            capacity: capacity(spec),
            now: Instant::ZERO,
            drops: Vec::new(),
            sent: [(0, 0); 9],
            arrived: 0,
            served: Vec::new(),
            dropped: Vec::new(),
        };
        for step in steps {
            bench.step(*step)?;
        }
        while !bench.queue.is_empty() {
            bench.step(Step::Serve(10_000))?;
        }
        prop_assert_eq!(bench.arrived, bench.served.len() + bench.dropped.len());
        Ok(bench)
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Arrive(flow) => {
                let (incarnation, next) = &mut self.sent[flow as usize];
                *next += 1;
                let mut segment = packet(flow, *incarnation, *next);
                segment.enqueued_at = self.now;
                self.arrived += 1;
                self.queue.enqueue(self.now, segment, &mut self.drops);
            }
            Step::Serve(micros) => {
                self.now += Duration::from_micros(u64::from(micros));
                let waiting = self.queue.len();
                let served = self.queue.dequeue(self.now, &mut self.drops);
                // Work-conserving, all of them: a packet that waits goes, unless all were dropped on the way.
                prop_assert!(served.is_some() || waiting == self.drops.len(), "{waiting} wait and none goes");
                if let Some(segment) = served {
                    self.queue.observe_airtime(
                        self.now,
                        segment.station,
                        Direction::Down,
                        Duration::from_micros(u64::from(micros)),
                    );
                }
                self.served.extend(served);
            }
            Step::Uplink(flow) => {
                let (incarnation, next) = self.sent[flow as usize];
                let up = Segment { direction: Direction::Up, kind: Kind::Ack, ..packet(flow, incarnation, next) };
                self.queue.observe_uplink(self.now, &up);
                self.queue.observe_airtime(self.now, up.station, Direction::Up, Duration::from_micros(500));
            }
            Step::Reopen(flow) => {
                let (incarnation, next) = &mut self.sent[flow as usize];
                *incarnation += 1;
                *next = 0;
            }
        }
        self.dropped.append(&mut self.drops);
        let waiting = self.queue.len();
        prop_assert!(waiting <= self.capacity, "{waiting} wait where {} may", self.capacity);
        prop_assert_eq!(waiting == 0, self.queue.is_empty());
        prop_assert_eq!(self.arrived, self.served.len() + self.dropped.len() + waiting);
        Ok(())
    }
}

/// Packets of a connection that arrive in the order of their sequence numbers leave in it.
fn in_order(served: &[Segment]) -> Result<(), TestCaseError> {
    let mut highest: BTreeMap<(FlowId, u32), u64> = BTreeMap::new();
    for segment in served {
        let last = highest.entry((segment.flow, segment.incarnation)).or_default();
        prop_assert!(number(segment) > *last, "{segment:?} after {last}");
        *last = number(segment);
    }
    Ok(())
}

proptest! {
    #[test]
    fn packets_are_conserved_limits_kept_and_the_server_never_waits(steps in steps(), seed in any::<u64>()) {
        for spec in specs() {
            Bench::run(spec, seed, &steps)?;
        }
    }

    #[test]
    fn flows_are_not_reordered(steps in steps(), seed in any::<u64>()) {
        for spec in specs() {
            in_order(&Bench::run(spec, seed, &steps)?.served)?;
        }
    }

    #[test]
    fn the_seed_decides_all(steps in steps(), seed in any::<u64>()) {
        for spec in specs() {
            let (one, other) = (Bench::run(spec, seed, &steps)?, Bench::run(spec, seed, &steps)?);
            prop_assert_eq!(one.served, other.served);
            prop_assert_eq!(one.dropped, other.dropped);
        }
    }
}

/// serde knows the kinds by itself and names them when it meets another: so none can be missing from the list.
#[test]
fn the_list_has_every_kind_and_every_kind_has_defaults() {
    let unknown = serde_json::from_str::<QdiscSpec>(r#"{ "kind": "?" }"#).expect_err("there is no such kind");
    let message = unknown.to_string();
    let (_, names) = message.split_once("expected one of ").expect("serde lists the kinds");
    let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    assert_eq!(names, QdiscSpec::all().iter().map(QdiscSpec::kind).collect::<Vec<_>>());
    for spec in QdiscSpec::all().into_iter().skip(1) {
        let text = format!(r#"{{ "kind": "{}" }}"#, spec.kind());
        assert_eq!(serde_json::from_str::<QdiscSpec>(&text).expect("defaults"), spec);
    }
}

#[test]
fn specs_survive_a_round_trip_and_refuse_unknown_keys() {
    for spec in specs() {
        let text = serde_json::to_string(&spec).expect("plain values");
        assert_eq!(serde_json::from_str::<QdiscSpec>(&text).expect("its own output"), spec);
        let typo = text.replacen('{', r#"{"limmit":1,"#, 1);
        serde_json::from_str::<QdiscSpec>(&typo).expect_err("an unknown key");
    }
}
