//! What `unified` answers in cells of 802.11n, ac and ax, with a shared FIFO or mac80211 at the AP.

use crate::mac::QosParams;
use crate::model::assumptions::{Check, steady};
use crate::model::error::ModelError;
use crate::model::modern::Cell;
use crate::model::prediction::{Model, Prediction};
use crate::packet::{Category, Direction};
use crate::qdisc::{Mac80211Params, QdiscSpec};
use crate::scenario::{Preset, Scenario};
use crate::tcp::{Profile, Variant};

/// Stations each way, and round trips of the wire in seconds, of the cells that the model was held to.
const MOST_STATIONS: usize = 20;
const LONGEST_WIRE: f64 = 0.060;

/// Whether a scenario is one of these cells.
pub(super) fn applies(scenario: &Scenario) -> bool {
    let queue = matches!(scenario.ap.queue, QdiscSpec::SharedFifo(_) | QdiscSpec::Mac80211(_));
    scenario.radio.qos.is_some() && queue && scenario.enforce.is_none()
}

/// The answer, as one of `model`.
pub(super) fn answer(scenario: &Scenario, model: &Model) -> Result<Prediction, ModelError> {
    let cell = Cell::of(scenario)?;
    let answer = cell.solve();
    let stations = cell.goodputs(&answer);
    let values = [
        ("flows[].goodput_bps", "modern: turns at the AP, PPDUs, windows of CUBIC"),
        ("totals", "modern: Bianchi's fixed point with AIFS and windows of AP and stations, A-MPDUs"),
        ("ap_queue.drop_probability", "modern: what the shared FIFO cannot hold or serve"),
    ];
    Ok(Prediction {
        flows: scenario.flows().map(|(station, _)| stations[station]).collect(),
        ap_loss: cell.fifo_loss(&answer),
        ap_queue: None,
        ap_services: None,
        station_queues: None,
        packets: Some(answer.packets),
        section: model.section(scenario, &values, cell.starves(&answer)),
    })
}

pub(super) fn checks(scenario: &Scenario, starvation: bool) -> Vec<Check> {
    let of = |way: Direction| scenario.flows().filter(|(_, flow)| flow.direction == way).count();
    let (up, down) = (of(Direction::Up), of(Direction::Down));
    let near = |(_, flow): (usize, &crate::scenario::Flow)| {
        2.0 * crate::model::kinds::wire_delay(scenario, flow) <= LONGEST_WIRE + 1e-9
    };
    let cubic =
        scenario.flows().all(|(_, flow)| flow.tcp.profile == Profile::Linux && flow.tcp.variant == Variant::Cubic);
    let plain = scenario.stations.iter().all(|station| {
        station.beta.to_bits() == 1.0_f64.to_bits() && station.uplink_mac80211.is_none() && station.flows.len() <= 1
    });
    let usual = match scenario.ap.queue {
        QdiscSpec::Mac80211(params) => {
            let Mac80211Params { airtime, rx_airtime, .. } = params;
            params == Mac80211Params { airtime, rx_airtime, ..Mac80211Params::default() }
        }
        _ => true,
    };
    let fifo = matches!(scenario.ap.queue, QdiscSpec::SharedFifo(_));
    vec![
        ("edca", edca(scenario), "best effort without TXOPs and RTS, by the standard's rules"),
        ("steady", steady(scenario), "all flows last from the warm-up to the end, and no event happens"),
        ("cubic", cubic, "hosts are Linux with CUBIC"),
        ("plain", plain, "a station has one flow, a FIFO of its own and no priority"),
        ("queue", usual, "mac80211 has its usual limits, CoDel and AQL"),
        (
            "range",
            up <= MOST_STATIONS && down <= MOST_STATIONS && scenario.flows().all(near),
            "at most 20 stations each way and 60 ms of wire, as in the cells that it was held to",
        ),
        (
            "order",
            !(fifo && up > 0 && down > 0),
            "uploads and downloads do not compete for a shared FIFO, where their ratio is an order of magnitude at best",
        ),
        (
            "starvation",
            !starvation,
            "no flow is critically starved; where one is, its goodput is an order of magnitude at best",
        ),
    ]
}

/// Whether an access is one PPDU and its answer.
pub(super) fn edca(scenario: &Scenario) -> bool {
    let Some(QosParams { edca, rts_above, rts_longer, .. }) = scenario.mac().qos else { return false };
    let best_effort = Category::BestEffort.index();
    let single = [edca.ap, edca.stations].iter().all(|access| access[best_effort].txop.as_nanos() == 0);
    single && rts_above.is_none() && rts_longer.is_none() && scenario.run.preset == Preset::Standard
}
