//! pokhrel2016's answer to a scenario of like stations with one flow each.

use crate::model::assumptions::{Check, no_wired_delay};
use crate::model::error::ModelError;
use crate::model::kinds::{Kinds, buffer};
use crate::model::pokhrel2016;
use crate::model::prediction::{Model, Prediction};
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::scenario::{Scenario, Station};
use crate::units::Bytes;

pub(super) const MODEL: Model = Model {
    name: "pokhrel2016",
    what: "up and down goodput with channel errors and buffer losses; one flow a station, all stations alike",
    source: "pokhrel2016",
    default_for: "",
    is_default: |_| false,
    assumptions: checks,
    answer,
};

fn answer(scenario: &Scenario) -> Result<Prediction, ModelError> {
    let kinds = Kinds::of(scenario)?;
    let unlike = |what: &str| Err(ModelError::Unsupported { what: what.to_owned() });
    let with_flows: Vec<_> = scenario.stations.iter().filter(|station| !station.flows.is_empty()).collect();
    let Some(first) = with_flows.first() else { return Err(ModelError::NoFlows) };
    if with_flows.iter().any(|station| station.flows.len() != 1) {
        return unlike("stations with more than one flow");
    }
    let alike = |station: &&Station| {
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
    let starvation = kinds.cell.solve()?.starves(&kinds.cell);
    let values = [
        ("flows[].goodput_bps", "pokhrel2016 Eqs. 12, 13, with Appendix A of our own"),
        ("ap_queue.drop_probability", "pokhrel2016 Eq. 21"),
        ("ap_queue.mean_packets", "pokhrel2016 Eqs. 20 and 21: all windows, at most B"),
    ];
    Ok(Prediction {
        flows: scenario.flows().map(|(_, flow)| each(flow.direction) * f64::from(tcp.mss) * 8.0).collect(),
        ap_loss: Some(solution.p_b),
        ap_queue: Some(cell.in_flight(&solution).min(buffer(scenario)?)),
        ap_services: None,
        station_queues: None,
        packets: None,
        section: MODEL.section(scenario, &values, starvation),
    })
}

fn checks(scenario: &Scenario, _starvation: bool) -> Vec<Check> {
    let up: u32 =
        scenario.flows().filter(|(_, flow)| flow.direction == Direction::Up).map(|(_, flow)| flow.tcp.window).sum();
    let fits = buffer(scenario).is_ok_and(|buffer| f64::from(up) <= buffer);
    vec![
        ("A1", fits, "lost ACKs do no harm: the uploads' windows alone do not fill the buffer"),
        ("A2", scenario.flow_count() > 1 && no_wired_delay(scenario), "the AP always has a packet"),
        (
            "A3",
            scenario.stations.iter().all(|station| (station.beta - 1.0).abs() < 1e-9),
            "stations answer at once: equal access priorities",
        ),
        ("ACKs", !scenario.flows().any(|(_, flow)| flow.tcp.delayed_ack), "an ACK a segment"),
        (
            "errors",
            scenario.stations.iter().all(|station| station.bit_error_rate <= 0.0),
            "the channel spoils segments only",
        ),
    ]
}
