//! Which of a model's assumptions a scenario keeps.

use crate::metrics::Assumption;
use crate::packet::Direction;
use crate::qdisc::{QdiscSpec, Share, ShareRule};
use crate::scenario::Scenario;
use crate::tcp::Variant;

/// Below this access priority the AP's buffer is not always full (detti2011, footnote 13; design ruling 13).
const LOW_PRIORITY: f64 = 0.5;

/// What is asked of a scenario: name, whether it is kept, what it is.
pub(super) type Check = (&'static str, bool, &'static str);

/// A model's `checks` of `scenario` as assumptions, with what all models assume.
pub(super) fn of(scenario: &Scenario, checks: Vec<Check>) -> Vec<Assumption> {
    let row = |(name, holds, what): Check| Assumption { name: name.to_owned(), holds, what: what.to_owned() };
    // All models are of DCF; cells of 802.11a, b and g keep this by their kind.
    let dcf = scenario.radio.qos.is_some().then_some(("dcf", false, "one frame an access: 802.11a, b or g"));
    let mixed = scenario.radio.protection_rate;
    let one_phy =
        mixed.map(|_| ("phy", false, "stations of one PHY: no CTS-to-self, the same contention windows for all"));
    dcf.into_iter().chain(one_phy).chain(checks).map(row).collect()
}

pub(super) fn detti2011(scenario: &Scenario, starvation: bool) -> Vec<Check> {
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

pub(super) fn ha2009(scenario: &Scenario) -> Vec<Check> {
    let (mut feedback, mut known) = (false, true);
    if let QdiscSpec::DualQueue(dual) = scenario.ap.queue {
        feedback = dual.p == Share::Rule(ShareRule::Auto);
        known = matches!(dual.p, Share::Fixed(_)) || scenario.flows().all(|(_, flow)| flow.tcp.window == dual.window);
    }
    vec![
        ("synchronised", true, "downloads lose packets at the same time"),
        ("timeouts", true, "windows never wait for a timeout; many uploads with few ACKs do"),
        ("ACKs", !scenario.flows().any(|(_, flow)| flow.tcp.delayed_ack), "an ACK a segment"),
        ("errors", no_errors(scenario), "no channel errors"),
        ("p", !feedback, "p is known; with `auto` it is Eq. 13's, from which feedback departs"),
        ("w_r", known, "the rule for p knows the flows' window"),
        ("steady", steady(scenario), "all flows last from the warm-up to the end, and no event happens"),
    ]
}

pub(super) fn shares(scenario: &Scenario) -> Vec<Check> {
    vec![
        ("losses", no_errors(scenario), "the channel gives up no segment: no channel errors"),
        ("steady", steady(scenario), "all flows last from the warm-up to the end, and no event happens"),
        ("lossless", true, "the shares are kept, and no capacity is lost in keeping them: the best case"),
    ]
}

pub(super) fn pokhrel2016(scenario: &Scenario) -> Vec<Check> {
    let up: u32 =
        scenario.flows().filter(|(_, flow)| flow.direction == Direction::Up).map(|(_, flow)| flow.tcp.window).sum();
    let fits = super::kinds::buffer(scenario).is_ok_and(|buffer| f64::from(up) <= buffer);
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

pub(super) fn unified(scenario: &Scenario, starvation: bool) -> Vec<Check> {
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

fn steady(scenario: &Scenario) -> bool {
    let warmup = scenario.run.warmup;
    scenario.events.is_empty() && scenario.flows().all(|(_, flow)| flow.start <= warmup && flow.stop.is_none())
}

fn no_wired_delay(scenario: &Scenario) -> bool {
    let own = |wire: crate::scenario::Wire| wire.delay.as_nanos() == 0;
    own(scenario.wire) && scenario.flows().all(|(_, flow)| flow.wire.is_none_or(own))
}

fn stations_never_overflow(scenario: &Scenario) -> bool {
    scenario.stations.iter().all(|station| {
        let up = station.flows.iter().filter(|flow| flow.direction == Direction::Up);
        up.map(|flow| flow.tcp.window as usize).sum::<usize>() <= station.uplink_queue
    })
}

fn all_delay_acks(scenario: &Scenario) -> bool {
    scenario.flows().all(|(_, flow)| flow.tcp.delayed_ack)
}

fn reno_windows(scenario: &Scenario) -> bool {
    scenario.flows().all(|(_, flow)| matches!(flow.tcp.variant, Variant::Reno | Variant::Newreno))
}

fn no_errors(scenario: &Scenario) -> bool {
    scenario.stations.iter().all(|station| station.frame_error.get() <= 0.0 && station.bit_error_rate <= 0.0)
}
