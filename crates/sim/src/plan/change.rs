//! A change of a cell: one remedy or several together, with their parameters, and how a scenario file writes them.

use fairair_core::ap::{LimiterCapacity, LimiterShare, UplinkLimiterParams, WindowCapParams, WindowRule};
use fairair_core::control::CapacityParams;
use fairair_core::packet::{Category, Direction};
use fairair_core::qdisc::QdiscSpec;
use fairair_core::scenario::{Enforce, Flow, Scenario, Traffic};
use fairair_core::shaper::{LeafRule, Policy, QueueRule, UdpRule, VsbParams};
use fairair_core::units::{Bitrate, Bytes};

const BEST_EFFORT: usize = Category::BestEffort.index();
/// Queues that access points have.
const OF_TODAY: [&str; 4] = ["droptail", "shared-fifo", "fq-codel", "mac80211"];

/// What the access point and its cell have, which no plan changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gear {
    /// 802.11n and later.
    pub(crate) aggregates: bool,
    /// Whether the driver reports the air of what is received; yes unless the file's queue says no.
    pub(crate) reports_rx: bool,
    /// Whether the access point has the queues of Linux.
    pub(crate) has_linux: bool,
}

impl Gear {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let silent = matches!(scenario.ap.queue, QdiscSpec::Mac80211(params) if !params.rx_airtime);
        let has_linux = matches!(scenario.ap.queue, QdiscSpec::Mac80211(_));
        Gear { aggregates: scenario.radio.qos.is_some(), reports_rx: !silent, has_linux }
    }
}

/// What a plan changes; `None` and empty leave the scenario's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Change {
    /// The AP's queue towards the stations.
    pub(crate) queue: Option<QdiscSpec>,
    /// A window cap for a buffer of so many packets.
    pub(crate) window_cap: Option<(WindowRule, usize)>,
    /// The uplink limiter, with an R that is given, or measured.
    pub(crate) limiter: Option<(LimiterShare, Option<Bitrate>)>,
    /// CWmin and AIFSN of best effort that the AP advertises to stations.
    pub(crate) told: Option<(u32, u32)>,
    /// The box.
    pub(crate) enforce: Option<BoxChange>,
    /// Weights of stations in the box, by the name in the file: a counted group has one, without a number.
    pub(crate) weights: Vec<(String, f64)>,
    /// Most that the box lets stations have, each of a group, by the same names.
    pub(crate) caps: Vec<(String, Bitrate)>,
}

/// The box of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoxChange {
    pub(crate) policy: Policy,
    pub(crate) capacity: CapacityParams,
    /// Packets that wait in a class; `None`: as in the live box, a time at the rate of the class with flows apart.
    pub(crate) queue: Option<usize>,
    /// Whether the class in turn sends a PPDU's packets at once, where the cell aggregates.
    pub(crate) batches: bool,
}

impl Change {
    /// What makes `changed` of `scenario`: queue, window cap, limiter, stations' CWmin and box; nothing else is compared.
    pub(crate) fn between(scenario: &Scenario, changed: &Scenario) -> Self {
        let (ap, was) = (&changed.ap, &scenario.ap);
        let limiter = ap.uplink_limiter.filter(|_| ap.uplink_limiter != was.uplink_limiter).map(|params| {
            let given = match params.capacity {
                LimiterCapacity::Given(rate) => Some(rate),
                LimiterCapacity::Auto(_) => None,
            };
            (params.share, given)
        });
        let enforce = changed.enforce.filter(|_| changed.enforce != scenario.enforce).map(|enforce| {
            let queue = match enforce.vsb.queue {
                QueueRule::Packets(queue) => Some(queue),
                QueueRule::Auto => None,
            };
            let batches = enforce.vsb.batch > Bytes(0);
            BoxChange { policy: enforce.vsb.policy, capacity: enforce.capacity, queue, batches }
        });
        let told = |scenario: &Scenario| {
            scenario.radio.qos.map(|qos| qos.edca.stations[BEST_EFFORT]).map(|access| (access.cw_min, access.aifsn))
        };
        let cap = ap.window_cap.filter(|_| ap.window_cap != was.window_cap);
        Change {
            queue: Some(ap.queue).filter(|queue| *queue != was.queue),
            window_cap: cap.map(|params| (params.rule, params.buffer)),
            limiter,
            told: told(changed).filter(|own| Some(*own) != told(scenario)),
            enforce,
            ..Change::default()
        }
    }

    /// Where something has to be changed: `-`, `AP`, `box` or `AP+box`.
    pub(crate) fn deploy(&self) -> &'static str {
        let queues = self.queue.is_some() || self.window_cap.is_some() || self.limiter.is_some();
        let ap = queues || self.told.is_some();
        match (ap, self.enforce.is_some()) {
            (false, false) => "-",
            (true, false) => "AP",
            (false, true) => "box",
            (true, true) => "AP+box",
        }
    }

    /// Remedies in it.
    pub(crate) fn remedies(&self) -> usize {
        let of_ap = [self.queue.is_some(), self.window_cap.is_some(), self.limiter.is_some(), self.told.is_some()];
        of_ap.into_iter().chain([self.enforce.is_some()]).filter(|part| *part).count()
    }

    /// What of it no access point and no box has today, beside `gear`; `None`: all of it can be deployed.
    pub(crate) fn not_today(&self, gear: Gear) -> Option<String> {
        let charges = |queue: &QdiscSpec| matches!(queue, QdiscSpec::Mac80211(own) if own.airtime && own.rx_airtime);
        let driver = (!gear.reports_rx && self.queue.as_ref().is_some_and(charges)).then(|| {
            "a driver that reports the air of what is received, which the file says this access point does not (rx_airtime = false)".to_owned()
        });
        let queue = self.queue.map(|queue| queue.kind()).filter(|kind| !OF_TODAY.contains(kind));
        let queue = queue.map(|kind| format!("the queue `{kind}`"));
        let cap = self.window_cap.map(|_| "the window cap".to_owned());
        let limiter = match self.limiter {
            Some((_, None)) => Some("an uplink limiter that measures R".to_owned()),
            Some((LimiterShare::Flows, _)) => Some("an uplink limiter that counts flows".to_owned()),
            _ => None,
        };
        let of_box = self.lacks_of_box(gear.aggregates).map(str::to_owned);
        let parts: Vec<String> = [queue, driver, cap, limiter, of_box].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }

    /// What of its box the live box does not have.
    pub(super) fn lacks_of_box(&self, aggregates: bool) -> Option<&'static str> {
        let BoxChange { policy, capacity, .. } = self.enforce?;
        let counts_air = matches!(capacity, CapacityParams::Air(_));
        let reckons = counts_air || matches!(policy, Policy::Airtime | Policy::AirtimePhy);
        match aggregates && reckons {
            true => Some("a box that reckons with the air of 802.11n and later"),
            // It counts the air of stations.
            _ if counts_air && !policy.is_by_station() => Some("a box that counts air but has no classes of stations"),
            _ => None,
        }
    }

    /// The scenario with it.
    pub(crate) fn applied(&self, scenario: &Scenario) -> Scenario {
        let mut changed = scenario.clone();
        if let Some(queue) = self.queue {
            changed.ap.queue = queue;
        }
        if let Some((rule, buffer)) = self.window_cap {
            let mss = default_mss(scenario);
            changed.ap.window_cap = Some(WindowCapParams::usual(rule, buffer, mss, scenario.wire.delay));
        }
        if let Some((share, capacity)) = self.limiter {
            let usual = UplinkLimiterParams::default();
            let capacity = capacity.map_or(usual.capacity, LimiterCapacity::Given);
            changed.ap.uplink_limiter = Some(UplinkLimiterParams { share, capacity, ..usual });
        }
        if let (Some((cw_min, aifsn)), Some(qos)) = (self.told, &mut changed.radio.qos) {
            let stations = &mut qos.edca.stations[BEST_EFFORT];
            (stations.cw_min, stations.aifsn) = (cw_min, aifsn);
            stations.cw_max = stations.cw_max.max(cw_min);
        }
        if let Some(BoxChange { policy, capacity, queue, batches }) = self.enforce {
            let usual = Enforce::usual_box(&scenario.radio);
            let usual = VsbParams { batch: if batches { usual.batch } else { Bytes(0) }, ..usual };
            let vsb = match queue {
                Some(packets) => VsbParams { policy, queue: QueueRule::Packets(packets), ..usual },
                None => VsbParams { policy, queue: QueueRule::Auto, leaf: LeafRule::Auto, ..usual },
            };
            changed.enforce = Some(Enforce { vsb: VsbParams { udp: udp(scenario), ..vsb }, capacity });
        }
        for (name, weight) in &self.weights {
            for station in changed.stations.iter_mut().filter(|station| station.name_in_file() == name) {
                station.weight = *weight;
            }
        }
        for (name, cap) in &self.caps {
            for station in changed.stations.iter_mut().filter(|station| station.name_in_file() == name) {
                station.cap = Some(*cap);
            }
        }
        changed
    }
}

/// What a box does with UDP from stations: QUIC answers to losses, and an upload that passes by the box would take the air of the others.
fn udp(scenario: &Scenario) -> UdpRule {
    let uploads = scenario.flows().filter(|(_, flow)| flow.direction == Direction::Up);
    let is_quic = |flow: &Flow| flow.traffic == Traffic::Quic;
    let usual = if uploads.map(|(_, flow)| flow).any(is_quic) { UdpRule::Shape } else { UdpRule::BypassUplink };
    scenario.enforce.map_or(usual, |own| own.vsb.udp)
}

/// Whether UDP of stations passes by a box in front of them.
pub(super) fn passes_by(scenario: &Scenario) -> bool {
    scenario.flows().any(|(_, flow)| flow_passes_by(scenario, flow))
}

/// Whether a flow does.
pub(super) fn flow_passes_by(scenario: &Scenario, flow: &Flow) -> bool {
    let is_udp = matches!(flow.traffic, Traffic::UdpGreedy { .. } | Traffic::UdpCbr { .. });
    is_udp && flow.direction == Direction::Up && udp(scenario) == UdpRule::BypassUplink
}

/// The segment size that a window cap takes for a connection until it has seen one: the reader's default.
fn default_mss(scenario: &Scenario) -> u32 {
    scenario.flows().map(|(_, flow)| flow.tcp.mss).max().unwrap_or(1460).max(1)
}
