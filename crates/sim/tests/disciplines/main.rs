//! The AP's queue disciplines in the cells of the papers, with short runs: what docs/remedies.md says of them holds.
//!
//! Bounds are the project's unless a comment says otherwise; docs/remedies.md has the longer runs and names the bounds
//! that are missed. Those are held here to what is measured, so that a change of behaviour shows.

mod cells;
mod dual_queue;
mod fair;
mod las_family;
mod mac80211;

use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

/// Mean of a figure over replicas.
fn mean_over(replicas: u32, scenario: &Scenario, figure: impl Fn(&Record) -> f64) -> f64 {
    (0..replicas).map(|replica| figure(&fairair_sim::run(scenario, replica))).sum::<f64>() / f64::from(replicas)
}

/// Fails with the value when it is outside of the bounds.
#[track_caller]
fn assert_in(what: &str, value: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&value), "{what}: {value:.3} is not in {low}..{high}");
}
