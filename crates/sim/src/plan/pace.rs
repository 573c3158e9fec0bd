//! Packets per second of a cell: how long a candidate has to be simulated, and which rates are worth trying, follow.

use fairair_core::mac::MacParams;
use fairair_core::model::capacity::{Stream, Transmitter, carry};
use fairair_core::model::dcf::Backoff;
use fairair_core::packet::TCP_IP_HEADER;
use fairair_core::qdisc::{Mac80211Params, QdiscSpec};
use fairair_core::scenario::Scenario;
use fairair_core::units::{Bytes, Duration};

use super::ranges::at_work;
use super::search::{is_steady, settled_s};

/// Where nothing can be reckoned.
const UNKNOWN: f64 = 800.0;

/// Packets per second of the full cell, acknowledgements included.
pub(super) fn of(scenario: &Scenario) -> f64 {
    if scenario.radio.qos.is_some() { measured(scenario) } else { reckoned(scenario) }
}

/// When the AP sends a segment to every station and is acknowledged, in single frames.
fn reckoned(scenario: &Scenario) -> f64 {
    let params = MacParams::new(&scenario.radio, scenario.run.preset);
    let Ok(backoff) = Backoff::new(&params, 1.0) else { return UNKNOWN };
    let node = || Transmitter { backoff: backoff.clone(), count: 1.0, streams: Vec::new() };
    let mut mix = vec![node()];
    for station in at_work(scenario) {
        let stream = |ip_len| Stream { packets: 1.0, ip_len, rate: station.rate, error: 0.0 };
        mix[0].streams.push(stream(Bytes(1500)));
        mix.push(Transmitter { streams: vec![stream(Bytes(TCP_IP_HEADER))], ..node() });
    }
    carry(&params, &mix).map_or(UNKNOWN, |load| load.mixes_per_s * 2.0 * (mix.len() as f64 - 1.0))
}

/// What the cell delivers in a short run, an acknowledgement a segment: aggregates are not reckoned. A cell whose queue lets slow
/// stations take all the air carries several times as much with turns by airtime, and so do the candidates that count.
fn measured(scenario: &Scenario) -> f64 {
    let mut fair = scenario.clone();
    fair.ap.queue = QdiscSpec::Mac80211(Mac80211Params::default());
    delivered(scenario.clone()).max(delivered(fair)).max(UNKNOWN)
}

fn delivered(mut short: Scenario) -> f64 {
    if is_steady(&short) {
        let settled = Duration::from_millis((settled_s(&short) * 1e3) as u64);
        (short.run.warmup, short.run.duration) = (settled + Duration::from_secs(2), settled + Duration::from_secs(5));
    }
    let record = crate::run(&short, 0);
    let bytes: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
    let mss = short.flows().map(|(_, flow)| flow.tcp.mss).max().unwrap_or(1460).max(1);
    2.0 * bytes as f64 / f64::from(mss) / record.measured.as_secs_f64().max(1e-9)
}
