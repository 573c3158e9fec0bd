//! What a plan may try: families of remedies and useful pairs, each a point in a unit cube away from a change.

use fairair_core::ap::{LimiterShare, WindowRule};
use fairair_core::control::{AdaptiveParams, AirParams, CapacityParams, WceParams};
use fairair_core::qdisc::{
    AdaptiveBufferParams, AdmissionParams, CwndSource, FqCodelParams, LasParams, Mac80211Params, QdiscSpec, Share,
    ShareRule, TlasParams, TlasSafParams,
};
use fairair_core::shaper::Policy;
use fairair_core::units::{Bitrate, Duration, Probability};

use super::change::{BoxChange, Change};
use super::queues::{airtime, companion, dual, fair, of_linux, rarer, short_of_linux};
use super::ranges::{Ranges, Weighed, between, pick, rounded};

/// Remedies of one kind, with some parameters each in 0 to 1.
pub(crate) struct Family {
    /// Its name in plans.
    pub(crate) name: &'static str,
    /// Parameters.
    pub(crate) dims: usize,
    /// Candidates of the first look.
    pub(crate) first: usize,
    /// First parameters of every other one of these: what people usually deploy, or what is often good; NaN leaves one free.
    pub(crate) usual: &'static [f64],
    /// How many kinds each parameter picks from, where all parameters pick: the first look has each combination once.
    pub(crate) kinds: &'static [usize],
    /// Which parameter of a box is its queue.
    queue: usize,
    make: fn(&Ranges, &[f64]) -> Change,
}

impl Family {
    /// The change at a point of the unit cube.
    pub(crate) fn change(&self, ranges: &Ranges, at: &[f64]) -> Change {
        (self.make)(ranges, at)
    }

    /// With every other candidate of the first look at these first parameters.
    const fn usually(self, usual: &'static [f64]) -> Self {
        Family { usual, ..self }
    }

    /// All parameters pick from so many.
    const fn picking(self, kinds: &'static [usize]) -> Self {
        Family { kinds, ..self }
    }

    /// With the box's queue as another parameter than the second.
    const fn queue_at(self, queue: usize) -> Self {
        Family { queue, ..self }
    }

    /// The same box with the live box's queue, a time with flows apart, where that at a point has one of packets: steps do not lead there.
    pub(crate) fn with_a_queue_of_time(&self, ranges: &Ranges, at: &[f64]) -> Option<(Vec<f64>, Change)> {
        let own = self.change(ranges, at).enforce.filter(|own| own.queue.is_some())?;
        let mut at = at.to_vec();
        *at.get_mut(self.queue)? = if own.batches { 0.3 } else { 0.1 };
        let change = self.change(ranges, &at);
        change.enforce.is_some_and(|own| own.queue.is_none()).then_some((at, change))
    }

    /// The same box with the policy per station, which a live box has in any cell.
    pub(crate) fn per_station(&self, ranges: &Ranges, at: &[f64]) -> Option<(Vec<f64>, Change)> {
        let own = self.change(ranges, at).enforce?;
        let mut at = at.to_vec();
        // The parameter before the queue.
        *at.get_mut(self.queue - 1)? = 0.1;
        let change = self.change(ranges, &at);
        let is_new = own.policy != Policy::PerStation;
        change.enforce.is_some_and(|own| is_new && own.policy == Policy::PerStation).then_some((at, change))
    }
}

const fn family(name: &'static str, dims: usize, first: usize, make: fn(&Ranges, &[f64]) -> Change) -> Family {
    Family { name, dims, first, usual: &[], kinds: &[], queue: 1, make }
}

fn ms(low: f64, high: f64, x: f64) -> Duration {
    Duration::from_micros(((between(low, high, x) * 10.0).round() * 100.0) as u64)
}

/// From 0.02 to 0.98, three decimals.
fn share(x: f64) -> f64 {
    ((0.02 + 0.96 * x.clamp(0.0, 1.0)) * 1e3).round() / 1e3
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn queue(spec: QdiscSpec) -> Change {
    Change { queue: Some(spec), ..Change::default() }
}

/// Any cap of windows, with two parameters.
fn cap(ranges: &Ranges, rule: f64, buffer: f64) -> (WindowRule, usize) {
    (pick(&[WindowRule::Lossless, WindowRule::BOverN], rule), ranges.packets(buffer))
}

/// An uplink limiter that gives half of an R, from a range.
fn given(ranges: &Ranges, rate: f64) -> (LimiterShare, Option<Bitrate>) {
    (LimiterShare::Half, Some(ranges.rate(0.1, 1.5, rate)))
}

/// Such a one, or one that measures R and gives half of it or what flows have.
fn limiter(ranges: &Ranges, kind: u8, rate: f64) -> (LimiterShare, Option<Bitrate>) {
    match kind {
        0 => (LimiterShare::Half, None),
        1 => (LimiterShare::Flows, None),
        _ => given(ranges, rate),
    }
}

const POLICIES: [Policy; 4] = [Policy::PerStation, Policy::PerFlow, Policy::PerDirection, Policy::Airtime];

/// What stations have of their own stays.
fn policy(ranges: &Ranges, x: f64) -> Policy {
    if ranges.by_station { pick(&BY_STATION, x) } else { pick(&POLICIES, x) }
}

/// A box, with batches where the cell aggregates. The lower part of `queue` is that of the live box, a time at the rate of the class with
/// flows apart.
fn boxed(ranges: &Ranges, policy: Policy, queue: f64, capacity: CapacityParams) -> Change {
    let (from, low) = if ranges.gear.aggregates { (0.5, 0.5) } else { (0.4, 0.0) };
    let packets = between(1.0, 400.0, low + (queue - from) / (1.0 - from) * (1.0 - low)).round() as usize;
    let queue = Some(packets).filter(|_| queue >= from);
    let batches = ranges.gear.aggregates;
    Change { enforce: Some(BoxChange { policy, capacity, queue, batches }), ..Change::default() }
}

/// The same; where the cell aggregates, the ends of both parts of `queue` are boxes that send packet by packet, which needs nothing of the kernel.
fn of_either_kind(ranges: &Ranges, policy: Policy, queue: f64, capacity: CapacityParams) -> Change {
    let by_packets = ranges.gear.aggregates && !(0.15..0.8).contains(&queue);
    let queue = match queue {
        queue if !ranges.gear.aggregates || queue < 0.5 => queue,
        queue if by_packets => 0.5 + (queue - 0.8) * 2.5,
        queue => 0.5 + (queue - 0.5) / 0.6,
    };
    let change = boxed(ranges, policy, queue, capacity);
    Change { enforce: change.enforce.map(|own| BoxChange { batches: own.batches && !by_packets, ..own }), ..change }
}

fn adaptive(ranges: &Ranges, x: f64) -> CapacityParams {
    CapacityParams::Adaptive(AdaptiveParams { target: ms(2.0, 60.0, x), max: ranges.most, ..AdaptiveParams::default() })
}

fn air(ranges: &Ranges, x: f64) -> CapacityParams {
    // More than all of the air is no limit: what then stands in the AP is up to chance, now and then for long.
    let share = hundredths(between(0.5, 1.05, x));
    CapacityParams::Air(AirParams { share, max: ranges.most, ..AirParams::default() })
}

fn wce(ranges: &Ranges, x: f64) -> CapacityParams {
    let threshold = ms(6.0, 150.0, x);
    CapacityParams::Wce(WceParams { threshold, max: ranges.most, ..WceParams::default() })
}

fn fixed(ranges: &Ranges, x: f64) -> CapacityParams {
    CapacityParams::Fixed { rate: ranges.rate(0.3 * ranges.equal, 1.2, x) }
}

/// A short queue of data, and room for one ACK: a later ACK stands for those that are dropped, and the air of these carries data.
const FEW_ACKS: &[f64] = &[0.42, 0.0];

/// Turns by airtime.
const AS_LINUX: &[f64] = &[0.2];

/// The families of the access point.
pub(super) const AP: &[Family] = &[
    family("droptail", 1, 12, |r, x| queue(QdiscSpec::Droptail { limit: r.packets(x[0]) })),
    family("per-flow-fq", 1, 10, |r, x| queue(QdiscSpec::PerFlowFq(fair(r.packets(x[0]))))),
    family("per-station-fq", 1, 10, |r, x| queue(QdiscSpec::PerStationFq(fair(r.packets(x[0]))))),
    family("airtime-fq", 1, 10, |r, x| queue(airtime(r.packets(x[0])))),
    family("fq-codel", 2, 8, |_, x| {
        let limit = between(2.0, 2000.0, x[1]).round() as usize;
        queue(QdiscSpec::FqCodel(FqCodelParams { limit, target: ms(1.0, 100.0, x[0]), ..FqCodelParams::default() }))
    }),
    family("mac80211", 2, 8, |r, x| {
        let limit = between(64.0, 8192.0, 1.0 - x[1]).round() as usize;
        queue(QdiscSpec::Mac80211(Mac80211Params { limit, ..r.mac80211(x[0] < 0.5) }))
    }),
    family("las", 1, 6, |r, x| queue(QdiscSpec::Las(LasParams { limit: r.packets(x[0]) }))),
    family("tlas", 2, 6, |r, x| {
        let threshold = between(5.0, 500.0, x[1]).round() as _;
        queue(QdiscSpec::Tlas(TlasParams { limit: r.packets(x[0]), threshold, ..TlasParams::default() }))
    }),
    family("tlas-saf", 1, 6, |r, x| {
        let cwnd = CwndSource::Estimated;
        queue(QdiscSpec::TlasSaf(TlasSafParams { limit: r.packets(x[0]), cwnd, ..TlasSafParams::default() }))
    }),
    family("dual-queue", 3, 32, |r, x| queue(dual(r, r.packets(x[0]), r.packets(x[1]), Share::Fixed(share(x[2])))))
        .usually(FEW_ACKS),
    family("dual-queue, p = auto", 2, 10, |r, x| {
        queue(dual(r, r.packets(x[0]), r.packets(x[1]), Share::Rule(ShareRule::Auto)))
    }),
    family("dual-queue, p by formula", 2, 8, |r, x| {
        let rule = pick(&[ShareRule::Optimal, ShareRule::Modified], x[1]);
        queue(dual(r, r.packets(x[0]), r.packets(x[0]), Share::Rule(rule)))
    }),
    family("admission", 2, 10, |_, x| {
        let p_b = Probability::new((between(1e-4, 0.3, x[0]) * 1e4).round() / 1e4).unwrap_or_default();
        let limit = between(5.0, 1000.0, x[1]).round() as usize;
        queue(QdiscSpec::Admission(AdmissionParams { p_b, limit, ..AdmissionParams::default() }))
    }),
    family("adaptive-buffer", 2, 8, |_, x| {
        let (t, a) = (ms(3.0, 500.0, x[0]), (x[1] * 6.0).floor().min(5.0));
        let usual = AdaptiveBufferParams::default();
        queue(QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams { t, a: a as _, ..usual }))
    }),
    family("window-cap", 2, 14, |r, x| Change { window_cap: Some(cap(r, x[1], x[0])), ..Change::default() }),
    family("uplink-limiter", 2, 8, |r, x| Change {
        limiter: Some(limiter(r, pick(&[0, 1, 2], x[1]), x[0])),
        ..Change::default()
    }),
    family("queue + window-cap", 3, 22, |r, x| Change {
        queue: Some(companion(r, x[0], r.packets(x[1]))),
        window_cap: Some((WindowRule::Lossless, r.packets(x[2]))),
        ..Change::default()
    }),
    family("long queue + window-cap", 2, 8, |r, x| Change {
        queue: Some(companion(r, x[0], r.long_queue())),
        window_cap: Some((WindowRule::Lossless, r.long_buffer(x[1]))),
        ..Change::default()
    }),
    family("mac80211 + window-cap", 3, 12, |r, x| Change {
        window_cap: Some(cap(r, x[1], x[2])),
        ..queue(of_linux(r, x[0]))
    })
    .usually(AS_LINUX),
    family("other queue + window-cap", 3, 12, |r, x| Change {
        window_cap: Some((WindowRule::BOverN, r.packets(x[2]))),
        ..queue(rarer(r.packets(x[1]), x[0]))
    }),
    family("queue + uplink-limiter", 3, 30, |r, x| Change {
        queue: Some(companion(r, x[0], r.packets(x[1]))),
        limiter: Some(limiter(r, pick(&[0, 1, 2, 2], (x[2] * 1.25).min(1.0)), ((x[2] - 0.4) / 0.6).clamp(0.0, 1.0))),
        ..Change::default()
    }),
    family("Linux' queue + uplink-limiter", 3, 24, |r, x| Change {
        queue: Some(short_of_linux(r, x[0], x[1])),
        limiter: Some(given(r, x[2])),
        ..Change::default()
    }),
    family("window-cap + uplink-limiter", 2, 8, |r, x| Change {
        window_cap: Some((WindowRule::Lossless, r.packets(x[0]))),
        limiter: Some(given(r, x[1])),
        ..Change::default()
    }),
];

/// What access points of 802.11n and later advertise, with the queues of Linux or without.
pub(super) const MODERN_AP: &[Family] = &[
    family("edca", 2, 18, |_, x| Change { told: Some(told(x[0], x[1])), ..Change::default() }).picking(&[6, 3]),
    family("mac80211 + edca", 3, 36, |r, x| Change { told: Some(told(x[1], x[2])), ..queue(of_linux(r, x[0])) })
        .picking(&[2, 6, 3]),
];

/// A CWmin of stations above the usual 15, and an AIFSN.
fn told(window: f64, aifsn: f64) -> (u32, u32) {
    (pick(&[31, 63, 127, 255, 511, 1023], window), pick(&[3, 4, 5], aifsn))
}

/// A box with its usual queues, and the CWmin that the AP advertises.
pub(super) const MODERN_PAIRS: &[Family] = &[family("box + edca", 3, 12, |r, x| Change {
    told: Some(told(x[2], 0.0)),
    ..of_either_kind(r, pick(&BY_STATION, x[0]), 0.0, if x[1] < 0.4 { adaptive(r, x[1] / 0.4) } else { fixed(r, x[1]) })
})];

/// The policy per station, and the live box's queue.
const BY_STATIONS: &[f64] = &[0.1, 0.2];

/// The families of the box.
pub(super) const BOX: &[Family] = &[
    family("box, capacity = auto", 3, 24, |r, x| of_either_kind(r, policy(r, x[0]), x[1], adaptive(r, x[2])))
        .usually(BY_STATIONS),
    family("box, capacity = air", 3, 24, |r, x| of_either_kind(r, policy(r, x[0]), x[1], air(r, x[2])))
        .usually(BY_STATIONS),
    family("box, capacity fixed", 3, 24, |r, x| of_either_kind(r, policy(r, x[0]), x[1], fixed(r, x[2])))
        .usually(BY_STATIONS),
];

/// A box whose C stations mislead by sleeping; only in a thorough search.
pub(super) const FRAGILE: &[Family] =
    &[family("box, capacity = wce", 3, 12, |r, x| of_either_kind(r, policy(r, x[0]), x[1], wce(r, x[2])))
        .usually(BY_STATIONS)];

/// A box and a queue in the AP.
pub(super) const PAIRS: &[Family] = &[family("box + AP queue", 4, 16, |r, x| Change {
    queue: Some(companion(r, x[2], r.packets(x[3]))),
    ..of_either_kind(r, policy(r, x[0]), x[1], adaptive(r, 0.3))
})];

/// A box whose policy knows weights and caps; `x` begins with its policy, queue and capacity.
fn by_station(r: &Ranges, x: &[f64]) -> Change {
    of_either_kind(r, pick(&BY_STATION, x[0]), x[1], followed_or_known(r, x[2]))
}

/// A box with weights.
fn weighted(r: &Ranges, x: &[f64]) -> Change {
    let (policy, weight) = (pick(&BY_STATION, x[0]), between(0.05, 20.0, x[3]));
    let part = |own: &Weighed| if policy == Policy::Airtime { own.part_of_air } else { own.part };
    let of = |own: &Weighed| (own.name.clone(), hundredths(weight * part(own)).max(0.01));
    Change { weights: r.classes.weighed.iter().map(of).collect(), ..by_station(r, x) }
}

/// A box with one cap.
fn capped(r: &Ranges, x: &[f64]) -> Change {
    let cap = |name: &String| (name.clone(), r.rate(0.01, 0.6, x[3]));
    Change { caps: r.classes.capped.iter().map(cap).collect(), ..by_station(r, x) }
}

/// Caps that are each so many times a rate.
fn caps(rates: &[(String, Bitrate)], factor: f64) -> impl Iterator<Item = (String, Bitrate)> + '_ {
    rates.iter().map(move |(name, rate)| (name.clone(), rounded(rate.as_bps() as f64 * factor)))
}

/// Caps of the weak, from little more than a goal wants for them.
fn held(r: &Ranges, x: f64) -> Vec<(String, Bitrate)> {
    caps(&r.classes.held, between(1.03, 4.0, x)).collect()
}

/// Only where a goal tells stations apart; half of the looks at aggregates are at what the live box has.
pub(super) const WEIGHTS: &[Family] = &[family("box with weights", 4, 20, weighted)];
pub(super) const MODERN_WEIGHTS: &[Family] = &[family("box with weights", 4, 32, weighted).usually(BY_STATIONS)];

/// A box that gives one of several classes that goals name a weight: the others may have what they want as it is.
pub(super) const ONE_WEIGHTED: &[Family] = &[family("box, one weighted", 5, 20, |r, x| Change {
    weights: vec![(pick_name(&r.classes.weighed, x[4], |own| &own.name), hundredths(between(0.05, 20.0, x[3])))],
    ..by_station(r, x)
})
.usually(BY_STATIONS)];

/// Only where others have to leave something to whom a goal names; likewise.
pub(super) const CAPS: &[Family] = &[family("box with caps", 4, 16, capped)];
pub(super) const MODERN_CAPS: &[Family] = &[family("box with caps", 4, 32, capped).usually(BY_STATIONS)];

/// A box with caps that differ; only where goals name stations. Others are capped and, near what a lesser goal wants for them, those that such
/// goals name; without such goals one class of the others is.
pub(super) const SOME_CAPPED: &[Family] = &[family("box, some capped", 5, 16, |r, x| {
    let (rate, classes) = (r.rate(0.01, 0.6, x[3]), &r.classes);
    let caps = if classes.lesser.is_empty() {
        vec![(pick_name(&classes.capped, x[4], |name| name), rate)]
    } else {
        let lesser = caps(&classes.lesser, between(1.05, 3.0, x[4]));
        classes.capped.iter().map(|name| (name.clone(), rate)).chain(lesser).collect()
    };
    Change { caps, ..by_station(r, x) }
})
.usually(BY_STATIONS)];

/// A cap that leaves a weak station little more than a goal wants for it, the policy per station, and the live box's queue.
const HARDLY_MORE: &[f64] = &[0.05, 0.1, 0.2];

/// A box with a cap of weak stations, near the least goodput that a goal wants for them.
pub(super) const HELD: &[Family] =
    &[family("box, the weak capped", 4, 24, |r, x| Change { caps: held(r, x[0]), ..by_station(r, &x[1..]) })
        .usually(HARDLY_MORE)
        .queue_at(2)];

/// A box with weights, and a cap of weak stations near the least goodput that a goal wants for them: who is weak is not helped by a weight, and who
/// is named is not by caps of all others.
pub(super) const WEIGHED_AND_HELD: &[Family] = &[family("box with weights, the weak capped", 5, 24, |r, x| {
    let weight = between(0.5, 20.0, x[4]);
    let of = |own: &Weighed| (own.name.clone(), weight * own.part);
    with_weights(r, r.classes.weighed.iter().map(of), x)
})
.usually(HARDLY_MORE)
.queue_at(2)];

/// The same where only weak stations are named, and another goal is a ratio: those that send have weights, near those of equal shares.
pub(super) const SENDERS_AND_HELD: &[Family] = &[family("box with weights, the weak capped", 5, 48, |r, x| {
    let near = between(0.5, 2.0, x[3]);
    let weights = r.classes.senders.iter().map(|(name, weight)| (name.clone(), near * weight));
    with_weights(r, weights, &[x[0], x[4], x[2], x[1]])
})
.usually(&[0.12, f64::NAN, 0.2, 0.45, 0.1])
.queue_at(2)];

/// Weights of those that are not held, and caps of those that are; `x`: cap, policy, queue and capacity.
fn with_weights(r: &Ranges, weights: impl Iterator<Item = (String, f64)>, x: &[f64]) -> Change {
    let weights = weights.filter(|(name, _)| !r.classes.is_held(name));
    Change {
        weights: weights.map(|(name, weight)| (name, hundredths(weight).max(0.01))).collect(),
        caps: held(r, x[0]),
        ..by_station(r, &x[1..])
    }
}

/// What a cap of the weak that no goal names leaves them.
fn left(r: &Ranges, x: f64) -> Vec<(String, Bitrate)> {
    caps(&r.classes.weak, between(1.0, 8.0, x)).collect()
}

/// A box with a cap of weak stations that no goal names: what they send and receive costs the others much air.
pub(super) const LEFT: &[Family] =
    &[family("box, the weak capped", 4, 24, |r, x| Change { caps: left(r, x[3]), ..by_station(r, x) })
        .usually(BY_STATIONS)];

/// The same with weights.
pub(super) const WEIGHED_AND_LEFT: &[Family] =
    &[family("box with weights, the weak capped", 5, 32, |r, x| Change { caps: left(r, x[4]), ..weighted(r, x) })
        .usually(BY_STATIONS)];

/// A box that treats one class of stations in another way; only in a thorough search.
pub(super) const ANY: &[Family] = &[
    family("box, a class weighted", 5, 16, |r, x| Change {
        weights: vec![(pick_name(&r.classes.any, x[4], |name| name), hundredths(between(0.05, 20.0, x[3])))],
        ..by_station(r, x)
    }),
    family("box, a class capped", 5, 16, |r, x| Change {
        caps: vec![(pick_name(&r.classes.any, x[4], |name| name), r.rate(0.01, 0.6, x[3]))],
        ..by_station(r, x)
    }),
];

fn pick_name<T>(of: &[T], x: f64, name: fn(&T) -> &String) -> String {
    of.get(((x * of.len() as f64) as usize).min(of.len().saturating_sub(1))).map(name).cloned().unwrap_or_default()
}

/// Policies that know weights and caps.
const BY_STATION: [Policy; 2] = [Policy::PerStation, Policy::Airtime];

/// A capacity that follows probes, or one that is known: by the air of each frame where a frame has the air to itself.
fn followed_or_known(ranges: &Ranges, x: f64) -> CapacityParams {
    match x {
        x if x < 0.5 => adaptive(ranges, x * 2.0),
        x if ranges.gear.aggregates => fixed(ranges, x * 2.0 - 1.0),
        x => air(ranges, x * 2.0 - 1.0),
    }
}

mod beside_linux;
#[cfg(test)]
mod tests;

pub(super) use beside_linux::{BESIDE_LINUX, LEFT_BESIDE_LINUX, WEIGHED_AND_LEFT_BESIDE_LINUX, WEIGHTS_BESIDE_LINUX};
