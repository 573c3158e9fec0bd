//! The air of replica 0 and the AP's queue, as bytes that the page draws.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use fairair_core::mac::{Ppdu, Trace};
use fairair_core::packet::{Class, Direction, DropReason, NodeId};
use fairair_core::record::Series;
use fairair_core::scenario::Scenario;
use fairair_core::units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::{engine, limits};

/// Which part of the run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// From, in seconds from the start of the run; null: from the end of the warm-up.
    from_s: Option<f64>,
    /// So many seconds.
    seconds: f64,
}

/// What stands before the rows.
#[derive(Serialize)]
struct Head {
    from_s: f64,
    to_s: f64,
    /// Whether there was more in this part than the trace holds.
    is_cut: bool,
    /// The AP first.
    nodes: Vec<String>,
    /// Data rates in bit/s, ascending; rows name them by position.
    rates_bps: Vec<u64>,
    rows: usize,
    flows: Vec<Flow>,
    queue: Waiting,
}

/// A flow of the scenario.
#[derive(Serialize)]
struct Flow {
    /// Position of its station in `nodes`.
    node: usize,
    /// "up" or "down".
    direction: Direction,
}

/// Samples of the AP's queue and of the congestion windows, and the drops of the queue.
#[derive(Serialize)]
struct Waiting {
    /// Times of the samples, s.
    at_s: Vec<f64>,
    /// Packets that wait, by flow.
    packets: Vec<Vec<u32>>,
    /// Congestion window in segments, by flow; empty for UDP.
    cwnd: Vec<Vec<f32>>,
    /// At most [`limits::DROPS`].
    drops: Vec<Dropped>,
    /// All of this part.
    dropped: usize,
}

/// A packet that the AP's queue dropped.
#[derive(Serialize)]
struct Dropped {
    at_s: f64,
    flow: u32,
    what: &'static str,
    why: &'static str,
}

/// Bytes of a row.
const ROW: usize = 28;

/// The PPDUs of a part of replica 0: the length of a head as 4 bytes, the head as JSON filled up to a multiple of 8 with
/// spaces, then rows of 28 bytes, all little-endian.
pub(crate) fn air(scenario: &Scenario, part: Part) -> Response {
    let length = scenario.run.duration.as_secs_f64();
    let from_s = part.from_s.unwrap_or(scenario.run.warmup.as_secs_f64()).clamp(0.0, length);
    let to_s = (from_s + part.seconds.clamp(0.0, length)).min(length);
    let mut cut = scenario.clone();
    // What happens later does not change what happened before; a run needs some length.
    cut.run.duration =
        Duration::from_secs_f64(to_s).max(cut.run.warmup + Duration::from_millis(1)).min(scenario.run.duration);
    let mut trace = Trace::new(Instant::ZERO + Duration::from_secs_f64(from_s), limits::PPDUS);
    // About as many samples as the page has room for, but no more than memory has over a long warm-up.
    let samples = (limits::SAMPLES / scenario.flow_count().max(1)).clamp(40, 400) as f64;
    cut.run.sample_interval = Some(Duration::from_secs_f64(((to_s - from_s) / samples).max(to_s / 20_000.0).max(1e-4)));
    let record = engine::run(&cut, 0, Some(&mut |frame| trace.see(frame)));
    let queue = waiting(&record.series, scenario.flow_count(), from_s, to_s);
    let bytes = bytes(scenario, &trace, queue, from_s, to_s);
    ([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}

fn bytes(scenario: &Scenario, trace: &Trace, queue: Waiting, from_s: f64, to_s: f64) -> Vec<u8> {
    let mut rates: Vec<u64> = trace.ppdus.iter().map(|ppdu| ppdu.rate.as_bps()).collect();
    rates.sort_unstable();
    rates.dedup();
    let last = trace.ppdus.last().map_or(from_s, |ppdu| (ppdu.at + ppdu.duration).as_secs_f64());
    let head = Head {
        from_s,
        to_s: if trace.is_cut { last } else { to_s },
        is_cut: trace.is_cut,
        nodes: scenario.node_names().collect(),
        rates_bps: rates,
        rows: trace.ppdus.len(),
        flows: scenario.flows().map(|(station, flow)| Flow { node: station + 1, direction: flow.direction }).collect(),
        queue,
    };
    let mut json = serde_json::to_vec(&head).unwrap_or_default();
    json.resize((json.len() + 4).next_multiple_of(8) - 4, b' ');
    let mut bytes = Vec::with_capacity(4 + json.len() + ROW * trace.ppdus.len());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(json);
    for ppdu in &trace.ppdus {
        let place = |node: NodeId| node.position(scenario.stations.len()) as u16;
        row(&mut bytes, ppdu, [place(ppdu.transmitter), place(ppdu.receiver)], &head.rates_bps);
    }
    bytes
}

/// The part of `series` between two times.
fn waiting(series: &Series, flows: usize, from_s: f64, to_s: f64) -> Waiting {
    let at_s: Vec<f64> = series.at.iter().map(|at| at.as_secs_f64()).collect();
    let from = at_s.partition_point(|at| *at < from_s);
    let to = at_s.partition_point(|at| *at <= to_s);
    let part = |at: f64| (from_s..=to_s).contains(&at);
    // Behind those of the flows: probes of the box.
    let own = series.ap_queue_drops.iter().filter(|drop| drop.flow.index() < flows && part(drop.at.as_secs_f64()));
    let drop = |drop: &fairair_core::qdisc::Dropped| Dropped {
        at_s: drop.at.as_secs_f64(),
        flow: drop.flow.0,
        what: what(drop.class),
        why: why(drop.reason),
    };
    Waiting {
        at_s: at_s[from..to].to_vec(),
        packets: series.ap_queue_by_flow.iter().map(|column| column[from..to].to_vec()).collect(),
        cwnd: series.cwnd.iter().map(|column| column.get(from..to).unwrap_or_default().to_vec()).collect(),
        drops: own.clone().take(limits::DROPS).map(drop).collect(),
        dropped: own.count(),
    }
}

fn what(class: Class) -> &'static str {
    match class {
        Class::Data => "TCP data",
        Class::Ack => "TCP ACK",
        Class::Other => "datagram",
    }
}

fn why(reason: DropReason) -> &'static str {
    match reason {
        DropReason::QueueFull => "the queue was full",
        DropReason::PushedOut => "the queue was full, and the discipline preferred another packet",
        DropReason::Superseded => "a newer ACK of its flow took its place",
        DropReason::Codel => "CoDel tells the sender that packets wait too long",
        DropReason::Admission => "refused at random before the queue is full",
        DropReason::RetryLimit => "the MAC gave it up",
        DropReason::WireFull => "the buffer of the wire was full",
    }
}

fn row(bytes: &mut Vec<u8>, ppdu: &Ppdu, [transmitter, receiver]: [u16; 2], rates: &[u64]) {
    let rate = rates.binary_search(&ppdu.rate.as_bps()).unwrap_or_default();
    bytes.extend(ppdu.at.as_secs_f64().to_le_bytes());
    bytes.extend((ppdu.duration.as_nanos() as u32).to_le_bytes());
    bytes.extend(ppdu.bytes.to_le_bytes());
    for number in [transmitter, receiver, ppdu.mpdus, ppdu.lost] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend([ppdu.kind as u8, u8::from(ppdu.collided), rate as u8, ppdu.retries.min(255) as u8]);
}
