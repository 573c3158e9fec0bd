//! detti2011's answer to a scenario: its shares, times the capacity of their mix.

use crate::model::assumptions::{
    Check, all_delay_acks, no_errors, no_wired_delay, reno_windows, stations_never_overflow,
};
use crate::model::detti2011;
use crate::model::error::ModelError;
use crate::model::kinds::{Kinds, buffer};
use crate::model::prediction::{Model, Prediction, capacity_of};
use crate::packet::Direction;
use crate::scenario::Scenario;

pub(super) const MODEL: Model = Model {
    name: "detti2011",
    what: "shares of stations, queues and loss at an AP that loses packets; the total is the capacity model's",
    source: "detti2011 section 3, App. II and III",
    default_for: "",
    is_default: |_| false,
    assumptions: checks,
    answer,
};

/// Below this access priority the AP's buffer is not always full (detti2011, footnote 13).
const LOW_PRIORITY: f64 = 0.5;

fn answer(scenario: &Scenario) -> Result<Prediction, ModelError> {
    let kinds = Kinds::of(scenario)?;
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
    let total = capacity_of(scenario, &kinds, &shares, solution.p)?;
    let starvation = kinds.cell.solve()?.starves(&kinds.cell);
    let values = [
        ("indices, stations[].goodput_share", "detti2011 Eq. 3 (Tn: PFTK Eq. 37 with b = 2, T0 = RTT), App. III"),
        ("totals.goodput_bps, *.goodput_bps", "capacity, split by detti2011 Eq. 1"),
        ("ap_queue.drop_probability", "detti2011 Eq. 24"),
        ("ap_queue.mean_packets", "detti2011 Eq. 13; a5 where p > 0"),
        ("stations[].uplink_queue_mean_packets", "detti2011 Eqs. 12 and 23"),
    ];
    Ok(Prediction {
        flows: shares.iter().map(|share| share * total).collect(),
        ap_loss: Some(solution.p),
        ap_queue: Some(solution.q_ap),
        ap_services: None,
        station_queues: Some(solution.q.clone()),
        packets: None,
        section: MODEL.section(scenario, &values, starvation),
    })
}

fn checks(scenario: &Scenario, starvation: bool) -> Vec<Check> {
    let beta = scenario.stations.iter().all(|station| station.beta >= LOW_PRIORITY);
    vec![
        ("a1", no_wired_delay(scenario), "the radio is the bottleneck, and the wire adds no delay"),
        ("a2", stations_never_overflow(scenario), "the stations' queues hold the windows of their uploads"),
        ("a3", all_delay_acks(scenario) && reno_windows(scenario), "Reno with delayed ACKs"),
        (
            "a4",
            !starvation,
            "no connection is critically starved; where one is, the answer is the best case of fairness",
        ),
        ("a5", beta, "an AP that loses packets has a full buffer (access priorities of 0.5 or more)"),
        ("a6", true, "windows are PFTK's with T0 = RTT"),
        ("a7", no_errors(scenario), "no channel errors: the MAC serves packet by packet"),
    ]
}
