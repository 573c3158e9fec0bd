//! ha2009's answer to a scenario whose AP has a dual queue: Eqs. 1-7 and 13, with R from the capacity of the mix.

use super::assumptions;
use super::capacity::{self, Stream, Transmitter};
use super::dcf::Backoff;
use super::error::ModelError;
use super::ha2009::{Cell, modified_p, optimal_p};
use super::kinds::Kinds;
use super::prediction::{Model, Prediction, sources};
use crate::metrics::ModelSection;
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::qdisc::{DualQueueParams, QdiscSpec, Share, ShareRule};
use crate::scenario::Scenario;
use crate::units::Bytes;

/// Rounds of the search for R; it contracts by half or better each round.
const ROUNDS: u32 = 40;

/// Goodputs under the dual queue of `scenario`.
///
/// # Errors
/// Another queue, something beside it that changes the shares, or windows that differ.
pub(super) fn predict(scenario: &Scenario) -> Result<Prediction, ModelError> {
    let unsupported = |what: &str| Err(ModelError::Unsupported { what: what.to_owned() });
    let QdiscSpec::DualQueue(dual) = scenario.ap.queue else {
        return unsupported("a single queue: ha2009 is about an AP with a dual queue");
    };
    if scenario.enforce.is_some() || scenario.ap.uplink_limiter.is_some() {
        return unsupported("a box or an uplink limiter beside the dual queue");
    }
    let kinds = Kinds::with_buffer(scenario, (dual.data + dual.ack) as f64)?;
    let windows: Vec<u32> = scenario.flows().map(|(_, flow)| kinds.window(flow)).collect();
    let Some(window) = windows.first().copied() else { return Err(ModelError::NoFlows) };
    if windows.iter().any(|other| *other != window) {
        return unsupported("flows of different windows: w_r is one");
    }
    let tau = |way: Direction| -> Vec<f64> {
        let flows = scenario.flows().filter(|(_, flow)| flow.direction == way);
        flows.map(|(_, flow)| 2.0 * super::kinds::wire_delay(scenario, flow)).collect()
    };
    let (tau_d, tau_u) = (tau(Direction::Down), tau(Direction::Up));
    let p = share(&dual, tau_d.len() as u32, tau_u.len() as u32)?;
    let mut cell =
        Cell { window: f64::from(window), q_d: dual.data as f64, q_a: dual.ack as f64, p, rate: 300.0, tau_d, tau_u };
    for _ in 0..ROUNDS {
        let rate = services(scenario, &kinds, &cell)?;
        let moved = (rate / cell.rate - 1.0).abs();
        cell.rate = f64::midpoint(cell.rate, rate);
        if moved < 1e-9 {
            break;
        }
    }
    let values = [
        ("flows[].goodput_bps", "ha2009 Eqs. 1-4 (downloads), 6-7 (uploads)"),
        ("totals", "ha2009, with R from the capacity of the mix"),
        ("ap_queue.mean_packets", "ha2009 section 3.3: 3/4 of Q_D, and Q_A; all windows where they fit"),
    ];
    Ok(Prediction {
        model: Model::Ha2009,
        flows: by_flow(scenario, &cell)?,
        ap_loss: None,
        ap_queue: Some(waiting(&cell)?),
        ap_services: Some(cell.rate),
        station_queues: None,
        packets: None,
        section: ModelSection {
            name: Model::Ha2009.name().to_owned(),
            values: sources(&values),
            assumptions: assumptions::of(scenario, assumptions::ha2009(scenario)),
            starvation: false,
        },
    })
}

/// p in force. Feedback (`auto`) begins with Eq. 13; a queue that stays empty leaves all services to the other.
fn share(dual: &DualQueueParams, m: u32, n: u32) -> Result<f64, ModelError> {
    const NEARLY: f64 = 1e-6;
    let (window, q_a) = (f64::from(dual.window), dual.ack as f64);
    let p = match (dual.p, m, n) {
        (_, 0, _) => 0.0,
        (_, _, 0) => 1.0,
        (Share::Fixed(p), ..) => p,
        (Share::Rule(ShareRule::Modified), ..) => modified_p(m, n, window, q_a)?,
        (Share::Rule(ShareRule::Optimal | ShareRule::Auto), ..) => optimal_p(m, n, window, q_a)?,
    };
    Ok(p.clamp(NEARLY, 1.0 - NEARLY))
}

/// Segments per second of each flow, in the scenario's order.
fn segments(scenario: &Scenario, cell: &Cell) -> Result<Vec<f64>, ModelError> {
    let (mut down, mut up) = (cell.downloads()?.into_iter(), cell.uploads()?.into_iter());
    let rates = scenario.flows().map(|(_, flow)| match flow.direction {
        Direction::Down => down.next(),
        Direction::Up => up.next(),
    });
    Ok(rates.map(Option::unwrap_or_default).collect())
}

fn by_flow(scenario: &Scenario, cell: &Cell) -> Result<Vec<f64>, ModelError> {
    let rates = segments(scenario, cell)?;
    Ok(scenario.flows().zip(rates).map(|((_, flow), rate)| rate * f64::from(flow.tcp.mss) * 8.0).collect())
}

/// R: what the AP sends per second when p of it are segments, and the stations what these answer and release.
fn services(scenario: &Scenario, kinds: &Kinds, cell: &Cell) -> Result<f64, ModelError> {
    let params = &kinds.cell.params;
    let mut mix = vec![Transmitter { backoff: Backoff::new(params, 1.0)?, count: 1.0, streams: Vec::new() }];
    for station in &scenario.stations {
        mix.push(Transmitter { backoff: Backoff::new(params, station.beta)?, count: 1.0, streams: Vec::new() });
    }
    let rates = segments(scenario, cell)?;
    let (m, n) = (cell.tau_d.len() as f64, cell.tau_u.len() as f64);
    for ((station, flow), rate) in scenario.flows().zip(rates) {
        let kind = &kinds.cell.stations[kinds.station[station]];
        let data = Bytes(u64::from(flow.tcp.mss) + TCP_IP_HEADER);
        let ack = Bytes(TCP_IP_HEADER);
        let b = if flow.tcp.delayed_ack { 2.0 } else { 1.0 };
        let stream = |packets, ip_len, error| Stream { packets, ip_len, rate: kind.rate, error };
        let segments = rate / cell.rate;
        if flow.direction == Direction::Down {
            mix[0].streams.push(stream(cell.p / m, data, kind.data_error));
            mix[station + 1].streams.push(stream(cell.p / m / b, ack, kind.ack_error));
        } else {
            // ACKs of which none is lost are fewer than the share of the queue that holds them.
            mix[0].streams.push(stream(((1.0 - cell.p) / n).min(segments / b), ack, kind.ack_error));
            mix[station + 1].streams.push(stream(segments, data, kind.data_error));
        }
    }
    let sent: f64 = mix[0].streams.iter().map(|stream| stream.packets).sum();
    Ok(capacity::carry(params, &mix)?.mixes_per_s * sent)
}

/// Packets in both queues.
fn waiting(cell: &Cell) -> Result<f64, ModelError> {
    let in_wire = |rates: &[f64], tau: &[f64]| rates.iter().zip(tau).map(|(rate, tau)| rate * tau).sum::<f64>();
    let (m, n) = (cell.tau_d.len() as f64, cell.tau_u.len() as f64);
    let fit = |flows: f64, rates: &[f64], tau: &[f64]| (flows * cell.window - in_wire(rates, tau)).max(0.0);
    let (down, up) = (cell.downloads()?, cell.uploads()?);
    let data = if cell.q_d < m * cell.window { 0.75 * cell.q_d } else { fit(m, &down, &cell.tau_d) };
    let acks = if cell.q_a < n * cell.window { cell.q_a } else { fit(n, &up, &cell.tau_u) };
    Ok(data + acks)
}
