//! What a remedy that shares by rule promises: its shares, times the capacity R of the mix that they make.
//!
//! Ours (docs/models.md, section Shares). Equal shares are those of the fair queues, of the Virtual Shared Bottleneck,
//! of the uplink limiter and of the dual queue with feedback. R is what sizes the box and the limiter.

use crate::ap::LimiterShare;
use crate::control::CapacityParams;
use crate::metrics::Assumption;
use crate::model::air::reckoned_capacity;
use crate::model::assumptions::{Check, no_errors, steady};
use crate::model::error::ModelError;
use crate::model::kinds::{Kinds, wire_delay};
use crate::model::prediction::{Model, Prediction, capacity_of};
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::qdisc::{QdiscSpec, Share, ShareRule};
use crate::scenario::{Enforce, Flow, Scenario, Station};
use crate::shaper::{Policy, airtime_per_byte, phy_rate_weight};
use crate::units::Bitrate;

pub(super) const MODEL: Model = Model {
    name: "shares",
    what: "what fair queues, the box and the uplink limiter promise: equal shares, times the capacity of the cell",
    source: "ours",
    default_for: "what shares by rule: fair queues, a dual queue with feedback, the box, the uplink limiter",
    is_default: |scenario| rule(scenario).is_some(),
    assumptions: checks,
    answer,
};

/// What is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equal {
    Flows,
    Directions,
    Stations,
    Airtime,
    PhyRate,
}

/// The rule that decides, and whether the box has it.
fn rule(scenario: &Scenario) -> Option<(Equal, &'static str)> {
    if let Some(enforce) = scenario.enforce {
        return Some(match enforce.vsb.policy {
            Policy::PerStation => (Equal::Stations, "detti2011 section 4.1"),
            Policy::Airtime => (Equal::Airtime, "detti2011 App. V by airtime"),
            Policy::AirtimePhy => (Equal::PhyRate, "detti2011 App. V"),
            Policy::PerDirection => (Equal::Directions, "detti2011 App. V, Fig. 13"),
            Policy::PerFlow => (Equal::Flows, "detti2011 App. V, Fig. 14"),
        });
    }
    if let Some(limiter) = scenario.ap.uplink_limiter {
        return Some(match limiter.share {
            LimiterShare::Half => (Equal::Directions, "detti2005 section 4.2"),
            LimiterShare::Flows => (Equal::Flows, "detti2005 section 5"),
        });
    }
    match scenario.ap.queue {
        QdiscSpec::PerFlowFq(_) => Some((Equal::Flows, "a turn a flow")),
        QdiscSpec::PerStationFq(_) => Some((Equal::Stations, "a turn a station")),
        QdiscSpec::AirtimeFq(_) => Some((Equal::Airtime, "airtime in turns")),
        QdiscSpec::DualQueue(dual) if dual.p == Share::Rule(ShareRule::Auto) => {
            Some((Equal::Flows, "feedback on ha2009 Eq. 12"))
        }
        _ => None,
    }
}

/// Shares by rule, times capacity.
///
/// # Errors
/// Nothing in the scenario shares by rule, or a station has a cap.
fn answer(scenario: &Scenario) -> Result<Prediction, ModelError> {
    let unsupported = |what: String| Err(ModelError::Unsupported { what });
    let Some((equal, source)) = rule(scenario) else {
        let what = format!("an AP queue that is `{}`: it does not share by rule", scenario.ap.queue.kind());
        return unsupported(what);
    };
    if scenario.enforce.is_some() && scenario.stations.iter().any(|station| station.cap.is_some()) {
        return unsupported("a station with a cap".to_owned());
    }
    let kinds = Kinds::with_buffer(scenario, scenario.ap.queue.limit() as f64)?;
    let shares = shares(scenario, &kinds, equal);
    let mut total = capacity_of(scenario, &kinds, &shares, 0.0)?;
    match scenario.enforce {
        Some(Enforce { capacity: CapacityParams::Fixed { rate }, .. }) => {
            total = total.min(payload_of(scenario, &shares, rate));
        }
        Some(Enforce { capacity: CapacityParams::Air(air), vsb }) => {
            let c = air.share * reckoned_capacity(scenario, vsb.policy).as_bps() as f64;
            let c = Bitrate::from_bps(c as u64).clamp(air.min, air.max);
            total = total.min(payload_of(scenario, &shares, c));
        }
        _ => {}
    }
    let flows: Vec<f64> = shares.iter().map(|share| share * total).collect();
    let backlogged = Assumption {
        name: "backlogged".to_owned(),
        holds: can_use_it(scenario, &kinds, &flows),
        what: "every flow's window over its wired round trip is more than its share".to_owned(),
    };
    let equation = format!("shares: {source}");
    let values = [
        ("flows[].goodput_bps", equation.as_str()),
        ("totals", "capacity R of the mix; what the box or limiter is sized by"),
    ];
    let mut section = MODEL.section(scenario, &values, false);
    section.assumptions.push(backlogged);
    Ok(Prediction {
        flows,
        ap_loss: None,
        ap_queue: None,
        ap_services: None,
        station_queues: None,
        packets: None,
        section,
    })
}

fn checks(scenario: &Scenario, _starvation: bool) -> Vec<Check> {
    vec![
        ("losses", no_errors(scenario), "the channel gives up no segment: no channel errors"),
        ("steady", steady(scenario), "all flows last from the warm-up to the end, and no event happens"),
        ("lossless", true, "the shares are kept, and no capacity is lost in keeping them: the best case"),
    ]
}

/// Payload in bit/s of flows with `shares` in a box at C = `rate`.
fn payload_of(scenario: &Scenario, shares: &[f64], rate: Bitrate) -> f64 {
    let sum = |of: &dyn Fn(&Flow) -> f64| -> f64 {
        scenario.flows().zip(shares).map(|((_, flow), share)| share * of(flow)).sum()
    };
    rate.as_bps() as f64 * sum(&|flow| f64::from(flow.tcp.mss)) / sum(&ip_bytes) / sum(&|_| 1.0)
}

/// IP bytes that cross the radio for a segment of `flow`, its ACK included.
fn ip_bytes(flow: &Flow) -> f64 {
    let acks = if flow.tcp.delayed_ack { 0.5 } else { 1.0 };
    f64::from(flow.tcp.mss) + TCP_IP_HEADER as f64 * (1.0 + acks)
}

/// Segments of each flow relative to the others', in the scenario's order; they sum to 1.
fn shares(scenario: &Scenario, kinds: &Kinds, equal: Equal) -> Vec<f64> {
    let boxed = scenario.enforce.is_some();
    let of_direction = |way: Direction| scenario.flows().filter(|(_, flow)| flow.direction == way).count() as f64;
    let share = |(station, flow): (usize, &Flow)| {
        let row = &scenario.stations[station];
        // The box counts bytes of both directions; queues count segments.
        let a_segment = if boxed { 1.0 / ip_bytes(flow) } else { 1.0 };
        let weight = if boxed { row.weight } else { 1.0 };
        let within = |flows: f64| a_segment / flows;
        match equal {
            Equal::Flows => a_segment,
            Equal::Directions => within(of_direction(flow.direction)),
            Equal::Stations => weight * within(row.flows.len() as f64),
            Equal::Airtime => weight * within(row.flows.len() as f64) / airtime(kinds, row, flow),
            Equal::PhyRate => weight * within(row.flows.len() as f64) * phy_rate_weight(row.rate),
        }
    };
    let raw: Vec<f64> = scenario.flows().map(share).collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|share| share / sum).collect()
}

fn airtime(kinds: &Kinds, station: &Station, flow: &Flow) -> f64 {
    let acks = if flow.tcp.delayed_ack { 0.5 } else { 1.0 };
    airtime_per_byte(&kinds.cell.params, kinds.cell.params.tx(station.rate), flow.tcp.mss, acks)
}

fn can_use_it(scenario: &Scenario, kinds: &Kinds, flows: &[f64]) -> bool {
    scenario.flows().zip(flows).all(|((_, flow), goodput)| {
        let round_trip = 2.0 * wire_delay(scenario, flow);
        goodput * round_trip <= f64::from(kinds.window(flow)) * f64::from(flow.tcp.mss) * 8.0
    })
}
