//! What the assumptions of models ask of a scenario; each model lists its own in [`super::answers`].

use crate::metrics::Assumption;
use crate::packet::Direction;
use crate::scenario::{Scenario, Wire};
use crate::tcp::Variant;

/// What is asked of a scenario: name, whether it is kept, what it is.
pub(super) type Check = (&'static str, bool, &'static str);

/// A model's `checks` of `scenario` as assumptions, with what all models assume.
pub(super) fn of(scenario: &Scenario, checks: Vec<Check>) -> Vec<Assumption> {
    let row = |(name, holds, what): Check| Assumption { name: name.to_owned(), holds, what: what.to_owned() };
    // Models are of DCF unless they ask about EDCA; cells of 802.11a, b and g keep this by their kind.
    let of_edca = checks.iter().any(|(name, ..)| *name == "edca");
    let is_outside = scenario.radio.qos.is_some() && !of_edca;
    let dcf = is_outside.then_some(("dcf", false, "one frame an access: 802.11a, b or g"));
    let mixed = scenario.radio.protection_rate;
    let one_phy =
        mixed.map(|_| ("phy", false, "stations of one PHY: no CTS-to-self, the same contention windows for all"));
    dcf.into_iter().chain(one_phy).chain(checks).map(row).collect()
}

pub(super) fn steady(scenario: &Scenario) -> bool {
    let warmup = scenario.run.warmup;
    scenario.events.is_empty() && scenario.flows().all(|(_, flow)| flow.start <= warmup && flow.stop.is_none())
}

pub(super) fn no_wired_delay(scenario: &Scenario) -> bool {
    let own = |wire: Wire| wire.delay.as_nanos() == 0;
    own(scenario.wire) && scenario.flows().all(|(_, flow)| flow.wire.is_none_or(own))
}

pub(super) fn stations_never_overflow(scenario: &Scenario) -> bool {
    scenario.stations.iter().all(|station| {
        let up = station.flows.iter().filter(|flow| flow.direction == Direction::Up);
        up.map(|flow| flow.tcp.window as usize).sum::<usize>() <= station.uplink_queue
    })
}

pub(super) fn all_delay_acks(scenario: &Scenario) -> bool {
    scenario.flows().all(|(_, flow)| flow.tcp.delayed_ack)
}

pub(super) fn reno_windows(scenario: &Scenario) -> bool {
    scenario.flows().all(|(_, flow)| matches!(flow.tcp.variant, Variant::Reno | Variant::Newreno))
}

pub(super) fn no_errors(scenario: &Scenario) -> bool {
    scenario.stations.iter().all(|station| station.frame_error.get() <= 0.0 && station.bit_error_rate <= 0.0)
}

/// What a prediction of `goodputs` (bit/s, of each flow in the scenario's order) breaks where a wire carries less than its flows would get: models
/// know the air alone. Nothing where the wires are fast enough.
pub(super) fn broken_bottleneck(scenario: &Scenario, goodputs: &[f64]) -> Option<Assumption> {
    let flows = || scenario.flows().zip(goodputs).map(|((_, flow), goodput)| (flow, *goodput));
    let is_slower = |wire: Wire, goodput: f64| (wire.rate.as_bps() as f64) < goodput;
    let of = |way: Direction| flows().filter(|(flow, _)| flow.direction == way).map(|(_, goodput)| goodput).sum();
    let is_broken = [Direction::Up, Direction::Down].map(of).into_iter().any(|sum: f64| is_slower(scenario.wire, sum))
        || flows().any(|(flow, goodput)| flow.wire.is_some_and(|own| is_slower(own, goodput)));
    is_broken.then(|| Assumption {
        name: "bottleneck".to_owned(),
        holds: false,
        what: "the air is the bottleneck: no wire is slower than what its flows get".to_owned(),
    })
}
