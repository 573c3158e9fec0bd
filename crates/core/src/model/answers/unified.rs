//! The unified model's answer to a scenario with a drop-tail queue, or to one of today.

use super::modern;
use crate::model::assumptions::{Check, reno_windows, stations_never_overflow, steady};
use crate::model::error::ModelError;
use crate::model::kinds::Kinds;
use crate::model::prediction::{Model, Prediction};
use crate::scenario::Scenario;

pub(super) const MODEL: Model = Model {
    name: "unified",
    what: "goodput of every flow, queues, losses and starvation under buffer loss, channel errors, unequal rates and priorities at once",
    source: "ours",
    default_for: "drop-tail; whatever no other model takes",
    is_default: |_| true,
    assumptions: checks,
    answer,
};

fn answer(scenario: &Scenario) -> Result<Prediction, ModelError> {
    if modern::applies(scenario) {
        return modern::answer(scenario, &MODEL);
    }
    let kinds = Kinds::of(scenario)?;
    let answer = kinds.cell.solve()?;
    let starvation = answer.starves(&kinds.cell);
    let flows = scenario.flows().zip(&kinds.flow).map(|((station, flow), position)| {
        answer.flows[kinds.station[station]][*position].goodput * f64::from(flow.tcp.mss) * 8.0
    });
    let values = [
        (
            "flows[].goodput_bps",
            "unified: windows of PFTK Eqs. 32 and 37 over round trips in AP services, times capacity",
        ),
        ("totals", "capacity: Kumar et al.'s fixed point with unsaturated nodes, for the mix of unified"),
        ("ap_queue.drop_probability", "unified: p, from arrivals (1 - p) = services"),
        ("ap_queue.mean_packets", "unified: Q, the buffer where p > 0"),
        ("ap_queue.mean_sojourn_s", "Little's law"),
        ("ap_delay.mean_s", "Little's law"),
        ("stations[].uplink_queue_mean_packets", "unified: Little's law with D_i of a closed M^X/M/1"),
    ];
    Ok(Prediction {
        flows: flows.collect(),
        ap_loss: Some(answer.p),
        ap_queue: Some(answer.q_ap),
        ap_services: Some(answer.ap_packets),
        station_queues: Some(kinds.station.iter().map(|kind| answer.q[*kind]).collect()),
        packets: Some(answer.packets),
        section: MODEL.section(scenario, &values, starvation),
    })
}

fn checks(scenario: &Scenario, starvation: bool) -> Vec<Check> {
    if modern::applies(scenario) {
        return modern::checks(scenario, starvation);
    }
    vec![
        ("steady", steady(scenario), "all flows last from the warm-up to the end, and no event happens"),
        ("stations", stations_never_overflow(scenario), "the stations' queues hold the windows of their uploads"),
        ("reno", reno_windows(scenario), "windows grow and shrink as Reno's"),
        (
            "starvation",
            !starvation,
            "no flow is critically starved; where one is, its goodput is an order of magnitude at best",
        ),
    ]
}
