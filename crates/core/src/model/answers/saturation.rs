//! Greedy datagrams in cells of 802.11n, ac and ax.

use crate::mac::Phy;
use crate::model::assumptions::{Check, steady};
use crate::model::error::ModelError;
use crate::model::modern::Saturation;
use crate::model::prediction::{Model, Prediction};
use crate::scenario::{Preset, Scenario, Traffic};

pub(super) const MODEL: Model = Model {
    name: "saturation",
    what: "goodput of greedy datagrams in cells of 802.11n, ac and ax: EDCA with windows of AP and stations, TXOPs, A-MPDUs, errors",
    source: "Bianchi 2000, Kumar et al., Robinson and Randhawa 2004",
    default_for: "greedy datagrams alone in cells of 802.11n, ac and ax",
    is_default: |scenario| {
        let is_greedy = |flow: &crate::scenario::Flow| matches!(flow.traffic, Traffic::UdpGreedy { .. });
        scenario.radio.qos.is_some() && scenario.flows().all(|(_, flow)| is_greedy(flow))
    },
    assumptions: checks,
    answer,
};

fn answer(scenario: &Scenario) -> Result<Prediction, ModelError> {
    let saturation = Saturation::of(scenario)?;
    let values = [(
        "flows[].goodput_bps",
        "saturation: Bianchi's fixed point with AIFS, windows and TXOPs of AP and stations, A-MPDUs and errors",
    )];
    Ok(Prediction {
        flows: scenario.flows().map(|(station, _)| saturation.stations[station]).collect(),
        ap_loss: None,
        ap_queue: None,
        ap_services: None,
        station_queues: None,
        packets: None,
        section: MODEL.section(scenario, &values, false),
    })
}

fn checks(scenario: &Scenario, _starvation: bool) -> Vec<Check> {
    let (mac, radio) = (scenario.mac(), &scenario.radio);
    let no_rts = mac.qos.is_some_and(|qos| qos.rts_above.is_none() && qos.rts_longer.is_none());
    let standard = scenario.run.preset == Preset::Standard;
    let modern = scenario.stations.iter().all(|station| !matches!(radio.station_tx(station).phy(), Phy::B));
    let plain = scenario.stations.iter().all(|s| s.bit_error_rate <= 0.0 && s.beta.to_bits() == 1.0_f64.to_bits());
    vec![
        ("edca", no_rts && standard, "no RTS, the standard's rules"),
        ("steady", steady(scenario), "all flows last from the warm-up to the end, and no event happens"),
        ("plain", plain && modern, "no bit errors, no priorities, no station of 802.11b"),
    ]
}
