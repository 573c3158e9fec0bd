//! The air of replica 0, as bytes that the page draws.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use fairair_core::mac::{Ppdu, Trace};
use fairair_core::scenario::Scenario;
use fairair_core::units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::limits;

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
    fairair_sim::run_monitored(&cut, 0, Some(&mut |frame| trace.see(frame)));
    let bytes = bytes(scenario, &trace, from_s, to_s);
    ([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}

fn bytes(scenario: &Scenario, trace: &Trace, from_s: f64, to_s: f64) -> Vec<u8> {
    let mut rates: Vec<u64> = trace.ppdus.iter().map(|ppdu| ppdu.rate.as_bps()).collect();
    rates.sort_unstable();
    rates.dedup();
    let names = scenario.stations.iter().map(|station| station.name.clone());
    let last = trace.ppdus.last().map_or(from_s, |ppdu| (ppdu.at + ppdu.duration).as_secs_f64());
    let head = Head {
        from_s,
        to_s: if trace.is_cut { last } else { to_s },
        is_cut: trace.is_cut,
        nodes: std::iter::once("AP".to_owned()).chain(names).collect(),
        rates_bps: rates,
        rows: trace.ppdus.len(),
    };
    let mut json = serde_json::to_vec(&head).unwrap_or_default();
    json.resize((json.len() + 4).next_multiple_of(8) - 4, b' ');
    let mut bytes = Vec::with_capacity(4 + json.len() + ROW * trace.ppdus.len());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(json);
    for ppdu in &trace.ppdus {
        row(&mut bytes, ppdu, &head.rates_bps);
    }
    bytes
}

fn row(bytes: &mut Vec<u8>, ppdu: &Ppdu, rates: &[u64]) {
    let rate = rates.binary_search(&ppdu.rate.as_bps()).unwrap_or_default();
    bytes.extend(ppdu.at.as_secs_f64().to_le_bytes());
    bytes.extend((ppdu.duration.as_nanos() as u32).to_le_bytes());
    bytes.extend(ppdu.bytes.to_le_bytes());
    for number in [ppdu.transmitter.0 as u16, ppdu.receiver.0 as u16, ppdu.mpdus, ppdu.lost] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend([ppdu.kind as u8, u8::from(ppdu.collided), rate as u8, ppdu.retries.min(255) as u8]);
}
