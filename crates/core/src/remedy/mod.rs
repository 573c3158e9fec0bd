//! The remedies by name: what each changes in a scenario, and what it takes to deploy it.

mod edca;
mod linux;

pub use self::edca::{hostapd, uci};
use self::linux::commands;

use crate::ap::{LimiterCapacity, LimiterShare, UplinkLimiterParams, WindowCapParams, WindowRule};
use crate::control::{AdaptiveParams, AirParams, CapacityParams, WceParams};
use crate::mac::EdcaParams;
use crate::packet::Direction;
use crate::qdisc::{
    AdaptiveBufferParams, AdmissionParams, AirtimeFqParams, DualQueueParams, FairQueueParams, FqCodelParams, LasParams,
    Mac80211Params, QdiscSpec, Share, ShareRule, TlasParams, TlasSafParams,
};
use crate::scenario::{Enforce, Scenario};
use crate::shaper::{Policy, VsbParams};
use crate::units::Bitrate;
use serde::Serialize;

/// What has to be changed to deploy a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deploy {
    /// Nothing: the cell as it is.
    Nothing,
    /// The access point's queue or forwarding.
    Ap,
    /// A box between gateway and access point; access point and stations stay as they are.
    Box,
}

impl Deploy {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Deploy::Nothing => "-",
            Deploy::Ap => "AP",
            Deploy::Box => "box",
        }
    }
}

/// A remedy.
#[derive(Clone, Copy)]
pub struct Remedy {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it changes.
    pub deploy: Deploy,
    /// What it has to know of the cell; empty: nothing.
    pub needs: &'static str,
    /// The paper or document that it comes from.
    pub source: &'static str,
    apply: fn(&mut Scenario),
}

/// What to write into the files of an access point, and of the live box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Paste {
    /// Lines of hostapd.conf.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hostapd: Vec<String>,
    /// The same as commands for OpenWrt, whose first radio is meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uci: Vec<String>,
    /// Commands of an access point with Linux, whose first radio is meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub linux: Vec<String>,
    /// Lines of vsb.toml.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vsb: Vec<String>,
}

impl Remedy {
    /// The remedy called `name`.
    pub fn named(name: &str) -> Option<&'static Remedy> {
        REMEDIES.iter().find(|remedy| remedy.name == name)
    }

    /// The scenario with this remedy: a queue takes the place of the AP's, other remedies are added to it. Sizes follow
    /// the scenario's buffer.
    pub fn applied(&self, scenario: &Scenario) -> Scenario {
        let mut scenario = scenario.clone();
        (self.apply)(&mut scenario);
        scenario
    }
}

/// What makes an access point of `scenario` contend, advertise and queue as that of `applied` does; `None` where nothing is to be written.
pub fn paste(scenario: &Scenario, applied: &Scenario) -> Option<Paste> {
    let edca = |of: &Scenario| of.radio.qos.map(|qos| qos.edca);
    let after = edca(applied).filter(|after| edca(scenario) != Some(*after));
    let lines = |of: fn(&EdcaParams) -> Vec<String>| after.as_ref().map(of).unwrap_or_default();
    let paste = Paste { hostapd: lines(hostapd), uci: lines(uci), linux: commands(scenario, applied), vsb: Vec::new() };
    (paste != Paste::default()).then_some(paste)
}

/// What may go wrong in the live network with the remedies of `scenario`, though the simulation is right: a fixed C beside slow stations, `wce`
/// where stations do not answer, and what reckons with full PPDUs in cells of 802.11n, ac and ax, where nobody knows beforehand how many packets a PPDU carries.
pub fn cautions(scenario: &Scenario) -> Vec<&'static str> {
    let boxed = scenario.enforce.as_ref();
    let air = boxed.is_some_and(|enforce| matches!(enforce.capacity, CapacityParams::Air(_)));
    let policy = boxed.is_some_and(|enforce| matches!(enforce.vsb.policy, Policy::Airtime));
    let limiter =
        scenario.ap.uplink_limiter.is_some_and(|params| params.capacity == UplinkLimiterParams::default().capacity);
    let mut cautions = Vec::new();
    let is_fixed = boxed.is_some_and(|enforce| matches!(enforce.capacity, CapacityParams::Fixed { .. }));
    if is_fixed && has_slow_station(scenario) {
        cautions.push(
            "a fixed C is what the cell carries at equal shares: while a slow station has more, the cell carries less, the queue stands in the \
             AP and the box divides nothing. Cap the slow stations, or write `adaptive`",
        );
    }
    if boxed.is_some_and(|enforce| matches!(enforce.capacity, CapacityParams::Wce(_))) {
        cautions.push("capacity `wce` collapses where stations do not answer its probes or sleep: `adaptive` does not");
    }
    if scenario.radio.qos.is_none() {
        return cautions;
    }
    if air {
        cautions.push(
            "capacity `air` takes A-MPDUs to be full, so that C is above what they carry where stations have little to send: `adaptive` measures it",
        );
    }
    if policy {
        cautions.push("policy `airtime` takes A-MPDUs to be full: a station with little to send at a time gets more air than its share");
    }
    if limiter {
        cautions.push("the uplink limiter begins with R = 4.6 Mbit/s of 802.11b and rises by a tenth a second: give its `capacity`");
    }
    cautions
}

/// Whether a station with less than half of the highest rate may take what it gets.
fn has_slow_station(scenario: &Scenario) -> bool {
    let with_flows = || scenario.stations.iter().filter(|station| !station.flows.is_empty());
    let highest = with_flows().map(|station| station.rate.as_bps()).max().unwrap_or(0);
    with_flows().any(|station| station.cap.is_none() && station.rate.as_bps() * 2 < highest)
}

const fn in_ap(name: &'static str, needs: &'static str, source: &'static str, apply: fn(&mut Scenario)) -> Remedy {
    Remedy { name, deploy: Deploy::Ap, needs, source, apply }
}

const fn in_box(name: &'static str, needs: &'static str, source: &'static str, apply: fn(&mut Scenario)) -> Remedy {
    Remedy { name, deploy: Deploy::Box, needs, source, apply }
}

/// All remedies; the first one is to leave the cell as it is.
pub const REMEDIES: &[Remedy] = &[
    Remedy { name: "none", deploy: Deploy::Nothing, needs: "", source: "the scenario", apply: |_| {} },
    in_ap("droptail", "", "baseline", |s| queue(s, |limit| QdiscSpec::Droptail { limit })),
    in_ap("buffer-sizing", "windows of all flows", "detti2005 Eq. 1", |s| {
        s.ap.queue = QdiscSpec::Droptail { limit: lossless_buffer(s) };
    }),
    in_ap("las", "TCP headers", "khademi2010 2.3", |s| queue(s, |limit| QdiscSpec::Las(LasParams { limit }))),
    in_ap("tlas", "TCP headers", "khademi2010 2.3", |s| {
        queue(s, |limit| QdiscSpec::Tlas(TlasParams { limit, ..TlasParams::default() }));
    }),
    in_ap("tlas-saf", "TCP headers, cwnd", "khademi2010 3", |s| {
        queue(s, |limit| QdiscSpec::TlasSaf(TlasSafParams { limit, ..TlasSafParams::default() }));
    }),
    in_ap("dual-queue:optimal", "TCP headers, window", "ha2009 Eq. 13", |s| dual_queue(s, ShareRule::Optimal)),
    in_ap("dual-queue:modified", "TCP headers, window", "ha2009 4.1", |s| dual_queue(s, ShareRule::Modified)),
    in_ap("dual-queue:auto", "TCP headers", "ours", |s| dual_queue(s, ShareRule::Auto)),
    in_ap("per-flow-fq", "flows", "Wu et al.", |s| {
        queue(s, |limit| QdiscSpec::PerFlowFq(FairQueueParams { limit, ..FairQueueParams::default() }));
    }),
    in_ap("per-station-fq", "", "design 4", |s| {
        queue(s, |limit| QdiscSpec::PerStationFq(FairQueueParams { limit, ..FairQueueParams::default() }));
    }),
    in_ap("fq-codel", "flows", "RFC 8290", |s| s.ap.queue = QdiscSpec::FqCodel(FqCodelParams::default())),
    in_ap("airtime-fq", "airtime", "mac80211", |s| {
        queue(s, |limit| QdiscSpec::AirtimeFq(AirtimeFqParams { limit, ..AirtimeFqParams::default() }));
    }),
    in_ap("mac80211", "airtime", "Linux", |s| s.ap.queue = QdiscSpec::Mac80211(Mac80211Params::default())),
    in_ap("edca", "stations that send and receive", "ours", advertise),
    in_ap("mac80211+edca", "airtime, stations that send and receive", "Linux, ours", |s| {
        s.ap.queue = QdiscSpec::Mac80211(Mac80211Params::default());
        advertise(s);
    }),
    in_ap("admission", "channel errors, flows", "pokhrel2016 5", |s| {
        s.ap.queue = QdiscSpec::Admission(AdmissionParams::default());
    }),
    in_ap("adaptive-buffer", "", "khademi2010 Eqs. 7-8", |s| {
        s.ap.queue = QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams::default());
    }),
    in_ap("window-cap:lossless", "TCP headers, flows, buffer", "detti2005 4.1", |s| {
        window_cap(s, WindowRule::Lossless);
    }),
    in_ap("window-cap:b-over-n", "TCP headers, flows, buffer", "khademi2010 Eq. 2", |s| {
        window_cap(s, WindowRule::BOverN);
    }),
    in_ap("window-cap:tfbr", "TCP headers, one upload", "khademi2010 Eqs. 4-6", |s| window_cap(s, WindowRule::Tfbr)),
    in_ap("uplink-limiter", "R (measured)", "detti2005 4.2", |s| limiter(s, LimiterShare::Half)),
    in_ap("uplink-limiter:flows", "R (measured), flows", "detti2005 5", |s| limiter(s, LimiterShare::Flows)),
    in_box("vsb", "C (measured)", "detti2011 4", |s| vsb(s, Policy::PerStation)),
    in_box("vsb:wce", "C (measured)", "detti2011 4.2.1", |s| {
        let capacity = CapacityParams::Wce(WceParams { max: fastest(s), ..WceParams::default() });
        boxed(s, Policy::PerStation, capacity);
    }),
    in_box("vsb:air", "PHY rates", "ours", |s| {
        let capacity = CapacityParams::Air(AirParams { max: fastest(s), ..AirParams::default() });
        boxed(s, Policy::PerStation, capacity);
    }),
    in_box("vsb:airtime", "C (measured), PHY rates", "detti2011 App. V", |s| vsb(s, Policy::Airtime)),
    in_box("vsb:per-direction", "C (measured)", "detti2011 App. V", |s| vsb(s, Policy::PerDirection)),
    in_box("vsb:per-flow", "C (measured), flows", "detti2011 App. V", |s| vsb(s, Policy::PerFlow)),
];

/// Windows for stations by the rule of `edca`; cells without EDCA stay as they are.
fn advertise(scenario: &mut Scenario) {
    if let Some(edca) = scenario.radio.qos.map(|qos| edca::by_rule(scenario, qos.edca))
        && let Some(qos) = &mut scenario.radio.qos
    {
        qos.edca = edca;
    }
}

/// Packets that the scenario's AP has room for.
fn buffer(scenario: &Scenario) -> usize {
    scenario.ap.queue.limit()
}

fn window_cap(scenario: &mut Scenario, rule: WindowRule) {
    let mss = scenario.flows().map(|(_, flow)| flow.tcp.mss).max().unwrap_or_default().max(1);
    scenario.ap.window_cap = Some(WindowCapParams::usual(rule, buffer(scenario), mss, scenario.wire.delay));
}

/// The uplink limiter with a measured R. It begins with that of detti2005's 802.11b cell; with aggregates with 0.7 of the PHY rate, about
/// what a full cell carries of it, since the measurement takes ten seconds to move far.
fn limiter(scenario: &mut Scenario, share: LimiterShare) {
    let usual = UplinkLimiterParams::default();
    let first = Bitrate::from_bps(scenario.radio.rate.as_bps() / 10 * 7);
    let capacity = if scenario.radio.qos.is_some() { LimiterCapacity::Auto(first) } else { usual.capacity };
    scenario.ap.uplink_limiter = Some(UplinkLimiterParams { capacity, share, ..usual });
}

/// The box with our capacity controller.
fn vsb(scenario: &mut Scenario, policy: Policy) {
    let capacity = CapacityParams::Adaptive(AdaptiveParams { max: fastest(scenario), ..AdaptiveParams::default() });
    boxed(scenario, policy, capacity);
}

fn boxed(scenario: &mut Scenario, policy: Policy, capacity: CapacityParams) {
    let vsb = VsbParams { policy, ..Enforce::usual_box(&scenario.radio) };
    scenario.enforce = Some(Enforce { vsb, capacity });
}

/// More than the cell carries.
fn fastest(scenario: &Scenario) -> Bitrate {
    Enforce::most_in(&scenario.radio)
}

fn queue(scenario: &mut Scenario, spec: impl Fn(usize) -> QdiscSpec) {
    scenario.ap.queue = spec(buffer(scenario));
}

/// Both queues together are as large as the buffer was, as ha2009 compares them.
fn dual_queue(scenario: &mut Scenario, rule: ShareRule) {
    let half = (buffer(scenario) / 2).max(1);
    let window = scenario.flows().map(|(_, flow)| flow.tcp.window).max();
    let usual = DualQueueParams::default();
    scenario.ap.queue = QdiscSpec::DualQueue(DualQueueParams {
        data: half,
        ack: half,
        p: Share::Rule(rule),
        window: window.unwrap_or(usual.window),
        ..usual
    });
}

/// detti2005 Eq. 1: room for all segments of downloads and all ACKs of uploads that the windows allow.
pub fn lossless_buffer(scenario: &Scenario) -> usize {
    let acks = |flow: &crate::scenario::Flow| match flow.direction {
        // A delayed ACK stands for two segments.
        Direction::Up if flow.tcp.delayed_ack => flow.tcp.window.div_ceil(2),
        _ => flow.tcp.window,
    };
    scenario.flows().map(|(_, flow)| acks(flow) as usize).sum::<usize>().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> Scenario {
        let text = r#"
            name = "cell"
            [run]
            duration = "10 s"
            [ap]
            queue = { kind = "droptail", limit = 80 }
            [tcp]
            window = 30
            [[station]]
            name = "sta"
            count = 3
            flows = [{ direction = "up" }, { direction = "down" }]
        "#;
        Scenario::from_toml(text, "cell.toml").unwrap()
    }

    #[test]
    fn a_fixed_c_beside_a_slow_station_without_a_cap_is_dangerous() {
        let box_of = |capacity: &str, slow: &str| {
            let text = format!(
                "name = \"x\"\n[run]\nduration = \"9 s\"\n[enforce]\ncapacity = {capacity}\n[[station]]\nname = \"near\"\nflows = [{{ direction = \"up\" }}]\n\
                 [[station]]\nname = \"far\"\n{slow}\nflows = [{{ direction = \"down\" }}]\n"
            );
            cautions(&Scenario::from_toml(&text, "x.toml").unwrap()).len()
        };
        assert_eq!(box_of("\"3 Mbit/s\"", "rate = \"2 Mbit/s\""), 1);
        assert_eq!(box_of("\"3 Mbit/s\"", "rate = \"2 Mbit/s\"\ncap = \"300 kbit/s\""), 0);
        assert_eq!(box_of("\"3 Mbit/s\"", ""), 0);
        assert_eq!(box_of("{ kind = \"adaptive\" }", "rate = \"2 Mbit/s\""), 0);
    }

    #[test]
    fn names_are_unique() {
        let names: Vec<&str> = REMEDIES.iter().map(|remedy| remedy.name).collect();
        assert!(names.iter().enumerate().all(|(n, name)| !names[..n].contains(name)));
    }

    #[test]
    fn what_takes_aggregates_to_be_full_is_said() {
        let text =
            "name = \"cell\"\n[run]\nduration = \"10 s\"\n[radio]\nphy = \"802.11n\"\n[[station]]\nname = \"a\"\n";
        let modern = Scenario::from_toml(text, "cell.toml").unwrap();
        let cautious: Vec<&str> = REMEDIES
            .iter()
            .filter(|remedy| !cautions(&remedy.applied(&modern)).is_empty())
            .map(|remedy| remedy.name)
            .collect();
        assert_eq!(cautious, ["vsb:wce", "vsb:air", "vsb:airtime"]);
        let of_b = REMEDIES.iter().filter(|remedy| !cautions(&remedy.applied(&cell())).is_empty());
        assert_eq!(of_b.map(|remedy| remedy.name).collect::<Vec<_>>(), ["vsb:wce"]);
    }

    #[test]
    fn sizes_follow_the_buffer_of_the_cell() {
        let queue = |name: &str| Remedy::named(name).unwrap().applied(&cell()).ap.queue;
        assert_eq!(queue("none"), cell().ap.queue);
        assert_eq!(queue("las"), QdiscSpec::Las(LasParams { limit: 80 }));
        assert!(
            matches!(queue("dual-queue:auto"), QdiscSpec::DualQueue(p) if (p.data, p.ack, p.window) == (40, 40, 30))
        );
        // Three downloads of 30 segments, three uploads of 15 ACKs.
        assert_eq!(queue("buffer-sizing"), QdiscSpec::Droptail { limit: 135 });
    }
}
