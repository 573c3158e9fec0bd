//! Boxes before an access point that gets the queue of Linux: the box says who gets what, and the AP lets packets of one station wait for an
//! aggregate without those of another.

use fairair_core::control::CapacityParams;

use super::{BY_STATION, Family, adaptive, family, fixed, hundredths, left, of_either_kind};
use crate::plan::change::Change;
use crate::plan::queues::of_linux;
use crate::plan::ranges::{Ranges, between, pick};

/// Any policy, the live box's queue and packet by packet: the AP makes the aggregates.
const BY_PACKETS: &[f64] = &[f64::NAN, 0.1];
/// The same with a little less weight of senders, whose ACKs pass the box, too.
const NEARLY_EQUAL: &[f64] = &[f64::NAN, 0.1, 0.45];

/// Any such box. A C that is fixed gives the same in each replica, where one that follows probes differs.
pub(crate) const BESIDE_LINUX: &[Family] = &[
    family("box + mac80211", 4, 12, |r, x| beside(r, x, adaptive(r, x[2]), x[3])).usually(BY_PACKETS),
    family("box, capacity fixed + mac80211", 4, 16, |r, x| beside(r, x, fixed(r, x[2]), x[3])).usually(BY_PACKETS),
];

/// The same with weights.
pub(crate) const WEIGHTS_BESIDE_LINUX: &[Family] = &[family("box with weights + mac80211", 5, 32, |r, x| Change {
    weights: weights(r, x[2]),
    ..beside(r, x, fixed(r, x[3]), x[4])
})
.usually(NEARLY_EQUAL)];

/// The same with a cap of weak stations that no goal names.
pub(crate) const LEFT_BESIDE_LINUX: &[Family] = &[family("box, the weak capped + mac80211", 5, 24, |r, x| Change {
    caps: left(r, x[4]),
    ..beside(r, x, fixed(r, x[2]), x[3])
})
.usually(BY_PACKETS)];

/// The same with weights and such a cap.
pub(crate) const WEIGHED_AND_LEFT_BESIDE_LINUX: &[Family] =
    &[family("box with weights, the weak capped + mac80211", 6, 32, |r, x| Change {
        weights: weights(r, x[2]),
        caps: left(r, x[5]),
        ..beside(r, x, fixed(r, x[3]), x[4])
    })
    .usually(NEARLY_EQUAL)];

fn beside(r: &Ranges, x: &[f64], capacity: CapacityParams, linux: f64) -> Change {
    let policy = pick(&BY_STATION, x[0]);
    Change { queue: Some(of_linux(r, linux)), ..of_either_kind(r, policy, x[1], capacity) }
}

/// Weights in the proportion that goals want.
fn weights(r: &Ranges, x: f64) -> Vec<(String, f64)> {
    let weight = if r.classes.alike { between(0.2, 5.0, x) } else { between(0.05, 20.0, x) };
    r.classes.weighed.iter().map(|own| (own.name.clone(), hundredths(weight * own.part).max(0.01))).collect()
}
