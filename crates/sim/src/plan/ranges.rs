//! Between which values the parameters of remedies are tried.

use fairair_core::qdisc::Mac80211Params;
use fairair_core::remedy::lossless_buffer;
use fairair_core::scenario::{Enforce, Scenario, Station};
use fairair_core::units::Bitrate;

use super::change::Gear;

/// What the ranges of parameters follow.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    /// The largest queue that makes sense: what never overflows, or the AP's own.
    pub(super) largest: usize,
    /// Largest receive window.
    pub(super) window: u32,
    /// IP bytes of both directions that the cell carries, as reckoned.
    pub(super) capacity_bps: f64,
    /// Share of that which it carries at least where all stations get the same.
    pub(super) equal: f64,
    /// The box's largest capacity.
    pub(super) most: Bitrate,
    /// What the access point and its cell have, which no plan changes.
    pub(super) gear: Gear,
    /// Whether stations have weights or caps of their own, which policies by flow or direction do not know.
    pub(super) by_station: bool,
    /// Whether only what can be deployed today is looked at.
    pub(super) today: bool,
    /// Whether what is fragile is looked at, too.
    pub(super) thorough: bool,
    /// Whose weights and caps are parameters.
    pub(super) classes: Classes,
}

/// Stations and groups of stations, as the file names them, whose weights and caps in the box are parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes {
    /// Those that a goal wants to have more or less.
    pub(crate) weighed: Vec<Weighed>,
    /// Whether no goal tells these apart.
    pub(crate) alike: bool,
    /// Those that have to leave something to whom a goal names; they have one cap.
    pub(crate) capped: Vec<String>,
    /// Those that a goal wants to have a least goodput which is not the largest of all that goals want, and that.
    pub(crate) lesser: Vec<(String, Bitrate)>,
    /// Weak ones that no goal names, and a part of an equal share, which they keep at least.
    pub(crate) weak: Vec<(String, Bitrate)>,
    /// Weak ones that a goal wants to have a least goodput, and that: more than they need costs the others much air.
    pub(crate) held: Vec<(String, Bitrate)>,
    /// Those that only send, where a goal is a ratio and others name stations, and the weights with which equal shares would meet that.
    pub(crate) senders: Vec<(String, f64)>,
    /// Of these one has a weight or a cap of its own, in a thorough search; no goal tells them apart.
    pub(crate) any: Vec<String>,
}

impl Classes {
    /// Whether stations of that name are weak, and a goal wants a least goodput for them.
    pub(super) fn is_held(&self, of: &str) -> bool {
        self.held.iter().any(|(name, _)| name == of)
    }
}

/// A class and its part of the weight that is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Weighed {
    pub(crate) name: String,
    /// Its least goodput over the largest of all.
    pub(crate) part: f64,
    /// The air that this takes over the most that any takes.
    pub(crate) part_of_air: f64,
}

/// Place in the range of a queue's limits at which it holds all that windows allow.
const LONG_QUEUE: f64 = 0.8;

impl Ranges {
    /// For `scenario`, whose AP and stations exchange `packets_per_s` when the cell is full.
    pub(crate) fn new(scenario: &Scenario, packets_per_s: f64, classes: Classes) -> Self {
        Ranges {
            largest: lossless_buffer(scenario).max(scenario.ap.queue.limit()).clamp(10, 1500),
            window: scenario.flows().map(|(_, flow)| flow.tcp.window).max().unwrap_or(1),
            capacity_bps: packets_per_s / 2.0 * 1540.0 * 8.0,
            equal: equal(scenario),
            most: Enforce::most_in(&scenario.radio),
            gear: Gear::of(scenario),
            by_station: scenario
                .stations
                .iter()
                .any(|own| own.cap.is_some() || own.weight.to_bits() != 1.0_f64.to_bits()),
            today: false,
            thorough: false,
            classes,
        }
    }

    /// Linux' queue in turns by airtime or not. With another driver than the access point's it cannot be had today.
    pub(super) fn mac80211(&self, airtime: bool) -> Mac80211Params {
        Mac80211Params { airtime, rx_airtime: self.gear.reports_rx || !self.today, ..Mac80211Params::default() }
    }

    pub(super) fn packets(&self, x: f64) -> usize {
        between(1.0, self.largest as f64, x).round() as usize
    }

    /// A queue that holds all that windows allow. Where frames aggregate these may be some times as large as what other families try.
    pub(super) fn long_queue(&self) -> usize {
        if self.gear.aggregates { 2 * self.largest } else { self.packets(LONG_QUEUE) }
    }

    /// A buffer for window caps before such a queue. Where frames aggregate other families try shorter ones.
    pub(super) fn long_buffer(&self, x: f64) -> usize {
        let largest = self.largest as f64;
        if self.gear.aggregates { between(largest / 8.0, 4.0 * largest, x).round() as usize } else { self.packets(x) }
    }

    pub(super) fn rate(&self, low: f64, high: f64, x: f64) -> Bitrate {
        rounded(self.capacity_bps * between(low, high, x))
    }
}

/// Two digits and a half: a snippet is for people.
pub(super) fn rounded(bps: f64) -> Bitrate {
    let step = 10f64.powf(bps.max(1.0).log10().floor() - 2.0);
    Bitrate::from_bps(((bps / step).round() * step).max(10_000.0) as u64)
}

/// What a station's link carries in bit/s, its errors left out.
pub(super) fn carries(own: &Station) -> f64 {
    own.rate.as_bps() as f64 * (1.0 - own.frame_error.get())
}

/// Stations with flows.
pub(super) fn at_work(scenario: &Scenario) -> impl Iterator<Item = &Station> {
    scenario.stations.iter().filter(|station| !station.flows.is_empty())
}

/// What the links carry where each station gets the same bytes, over what they carry where each has the same time.
fn equal(scenario: &Scenario) -> f64 {
    let rates = || at_work(scenario).map(carries);
    let count = rates().count().max(1) as f64;
    let (mean, harmonic) = (rates().sum::<f64>() / count, count / rates().map(f64::recip).sum::<f64>());
    if mean > 0.0 && harmonic.is_finite() { (harmonic / mean).clamp(0.02, 1.0) } else { 1.0 }
}

/// From `low` to `high` in equal ratios.
pub(super) fn between(low: f64, high: f64, x: f64) -> f64 {
    low * (high / low).powf(x.clamp(0.0, 1.0))
}

/// The one of them at `x` in 0 to 1.
pub(super) fn pick<T: Copy>(of: &[T], x: f64) -> T {
    of[((x * of.len() as f64) as usize).min(of.len() - 1)]
}
