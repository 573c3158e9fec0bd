//! From a scenario to a report: which model answers, what each value comes from, and which assumptions the scenario
//! breaks.

use super::assumptions::{self, Check};
use super::error::ModelError;
use super::kinds::{Kinds, buffer};
use super::prediction::{Model, Prediction, capacity_of, sources};
use super::{detti2011, dual, pokhrel2016, shares};
use crate::metrics::ModelSection;
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::qdisc::QdiscSpec;
use crate::scenario::Scenario;
use crate::units::Bytes;

/// Asks `model`, or the one that applies: [`Model::Unified`] for drop-tail, whose domain holds the papers' and which is
/// as a rule the nearest to the simulator in them too (docs/models.md), [`Model::Ha2009`] for a dual queue with a known
/// p, [`Model::Shares`] for what shares by rule.
///
/// # Errors
/// The scenario has something that the model knows nothing about.
pub fn predict(scenario: &Scenario, model: Option<Model>) -> Result<Prediction, ModelError> {
    match model.unwrap_or_else(|| applying(scenario)) {
        Model::Unified => by_unified(scenario, &Kinds::of(scenario)?),
        Model::Detti2011 => by_detti2011(scenario, &Kinds::of(scenario)?),
        Model::Pokhrel2016 => by_pokhrel2016(scenario, &Kinds::of(scenario)?),
        Model::Ha2009 => dual::predict(scenario),
        Model::Shares => shares::predict(scenario),
    }
}

fn applying(scenario: &Scenario) -> Model {
    if shares::applies(scenario) {
        Model::Shares
    } else if matches!(scenario.ap.queue, QdiscSpec::DualQueue(_)) {
        Model::Ha2009
    } else {
        Model::Unified
    }
}

fn section(
    scenario: &Scenario,
    kinds: &Kinds,
    model: Model,
    values: &[(&str, &str)],
    checks: fn(&Scenario, bool) -> Vec<Check>,
) -> Result<ModelSection, ModelError> {
    let starvation = kinds.cell.solve()?.starves(&kinds.cell);
    Ok(ModelSection {
        name: model.name().to_owned(),
        values: sources(values),
        assumptions: assumptions::of(scenario, checks(scenario, starvation)),
        starvation,
    })
}

fn by_unified(scenario: &Scenario, kinds: &Kinds) -> Result<Prediction, ModelError> {
    let answer = kinds.cell.solve()?;
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
        ("stations[].uplink_queue_mean_packets", "unified: Little's law with D_i of a closed M^X/M/1"),
    ];
    Ok(Prediction {
        model: Model::Unified,
        flows: flows.collect(),
        ap_loss: Some(answer.p),
        ap_queue: Some(answer.q_ap),
        ap_services: Some(answer.ap_packets),
        station_queues: Some(kinds.station.iter().map(|kind| answer.q[*kind]).collect()),
        packets: Some(answer.packets),
        section: section(scenario, kinds, Model::Unified, &values, assumptions::unified)?,
    })
}

fn by_detti2011(scenario: &Scenario, kinds: &Kinds) -> Result<Prediction, ModelError> {
    let mut stations = Vec::new();
    for station in &scenario.stations {
        let count = |way: Direction| station.flows.iter().filter(|flow| flow.direction == way).count() as u32;
        let windows: Vec<u32> = station.flows.iter().map(|flow| kinds.window(flow)).collect();
        if windows.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(ModelError::Unsupported { what: "a station whose flows have different windows".to_owned() });
        }
        let window = windows.first().map_or(1.0, |window| f64::from(*window));
        stations.push(detti2011::Station {
            n_up: count(Direction::Up),
            n_dw: count(Direction::Down),
            window,
            beta: station.beta,
        });
    }
    let cell = detti2011::Cell { stations, buffer: buffer(scenario)?, approximate: false, wire: 0.0 };
    let solution = cell.solve()?;
    let share = |station: usize, way: Direction| {
        let row = &cell.stations[station];
        let n = if way == Direction::Up { row.n_up } else { row.n_dw };
        solution.goodput[station][way as usize] / f64::from(n.max(1))
    };
    let shares: Vec<f64> = scenario.flows().map(|(station, flow)| share(station, flow.direction)).collect();
    let total = capacity_of(scenario, kinds, &shares, solution.p)?;
    let values = [
        ("indices, stations[].goodput_share", "detti2011 Eq. 3 (Tn: PFTK Eq. 37 with b = 2, T0 = RTT), App. III"),
        ("totals.goodput_bps, *.goodput_bps", "capacity, split by detti2011 Eq. 1"),
        ("ap_queue.drop_probability", "detti2011 Eq. 24"),
        ("ap_queue.mean_packets", "detti2011 Eq. 13; a5 where p > 0"),
        ("stations[].uplink_queue_mean_packets", "detti2011 Eqs. 12 and 23"),
    ];
    Ok(Prediction {
        model: Model::Detti2011,
        flows: shares.iter().map(|share| share * total).collect(),
        ap_loss: Some(solution.p),
        ap_queue: Some(solution.q_ap),
        ap_services: None,
        station_queues: Some(solution.q.clone()),
        packets: None,
        section: section(scenario, kinds, Model::Detti2011, &values, assumptions::detti2011)?,
    })
}

fn by_pokhrel2016(scenario: &Scenario, kinds: &Kinds) -> Result<Prediction, ModelError> {
    let unlike = |what: &str| Err(ModelError::Unsupported { what: what.to_owned() });
    let with_flows: Vec<_> = scenario.stations.iter().filter(|station| !station.flows.is_empty()).collect();
    let Some(first) = with_flows.first() else { return Err(ModelError::NoFlows) };
    if with_flows.iter().any(|station| station.flows.len() != 1) {
        return unlike("stations with more than one flow");
    }
    let alike = |station: &&crate::scenario::Station| {
        station.rate == first.rate
            && station.frame_error == first.frame_error
            && kinds.window(&station.flows[0]) == kinds.window(&first.flows[0])
            && station.flows[0].tcp.mss == first.flows[0].tcp.mss
    };
    if !with_flows.iter().all(alike) {
        return unlike("stations of different rates, errors or windows");
    }
    let count = |way| scenario.flows().filter(|(_, flow)| flow.direction == way).count() as u32;
    let tcp = first.flows[0].tcp;
    let cell = pokhrel2016::Cell {
        params: kinds.cell.params,
        rate: first.rate,
        segment: Bytes(u64::from(tcp.mss) + TCP_IP_HEADER),
        n_u: count(Direction::Up),
        n_d: count(Direction::Down),
        p_w: first.frame_error.get(),
        window: f64::from(kinds.window(&first.flows[0])),
    };
    let solution = cell.with_buffer(buffer(scenario)?)?;
    let each = |way| match way {
        Direction::Up => solution.up / f64::from(cell.n_u.max(1)),
        Direction::Down => solution.down / f64::from(cell.n_d.max(1)),
    };
    let values = [
        ("flows[].goodput_bps", "pokhrel2016 Eqs. 12, 13, with Appendix A of our own"),
        ("ap_queue.drop_probability", "pokhrel2016 Eq. 21"),
        ("ap_queue.mean_packets", "pokhrel2016 Eqs. 20 and 21: all windows, at most B"),
    ];
    Ok(Prediction {
        model: Model::Pokhrel2016,
        flows: scenario.flows().map(|(_, flow)| each(flow.direction) * f64::from(tcp.mss) * 8.0).collect(),
        ap_loss: Some(solution.p_b),
        ap_queue: Some(cell.in_flight(&solution).min(buffer(scenario)?)),
        ap_services: None,
        station_queues: None,
        packets: None,
        section: section(scenario, kinds, Model::Pokhrel2016, &values, |scenario, _| {
            assumptions::pokhrel2016(scenario)
        })?,
    })
}

#[cfg(test)]
#[path = "prediction_tests.rs"]
mod tests;
