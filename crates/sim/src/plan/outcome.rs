//! A candidate and what is known of it.

use fairair_core::control::CapacityParams;
use fairair_core::metrics::Starved;
use fairair_core::scenario::Run;

use super::change::{BoxChange, Change, Gear};
use super::family::Family;
use super::goal::Term;
use super::share::Least;
use serde::Serialize;

/// A candidate before it is simulated.
pub(super) type Proposal = (Option<&'static Family>, Vec<f64>, Change);

/// A delay, 95th percentile in the AP and mean in the box, from which calls and games suffer, seconds.
pub const SHORT_S: f64 = 0.1;
/// What a longer one costs, as a share of goodput.
const LONG: f64 = 0.05;
/// A capacity that halves where one station sleeps costs as much as so much goodput.
const FRAGILE: f64 = 0.03;

/// A candidate and what the last rung that it reached says of it.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) family: &'static str,
    /// Where in its family's cube; empty for the cell as it is.
    pub(super) at: Vec<f64>,
    pub(super) of: Option<&'static Family>,
    pub(crate) change: Change,
    pub(crate) rung: u64,
    pub(crate) starved: Starved,
    /// Who has least of its share.
    pub(crate) least: Option<Least>,
    /// Why another seed may well show somebody who starves.
    pub(crate) risk: Option<String>,
    /// Whether more replicas should tell: a flow that has little waits so long for a timeout that another seed may cut it off, or so few
    /// replicas meet the goals by so little that more of them may not.
    pub(super) is_unclear: bool,
    /// How far from each goal, in tolerances, at the far end of the intervals.
    pub(crate) misses: Vec<f64>,
    /// The same of means and with a sign, of each station that a goal is about, of what is kept of the fairness, and of the floor.
    pub(super) terms: Vec<Term>,
    /// What was reached of each goal.
    pub(crate) reached: Vec<String>,
    /// Whether each goal is met by the means, and whether all are.
    pub(crate) means_met: Vec<bool>,
    pub(super) seems_met: bool,
    pub(crate) meets: bool,
    /// Sum of the misses, in tolerances; who starves counts ten.
    pub(super) shortfall: f64,
    /// How far a proof, whose intervals are narrower, may find it from the requirements.
    pub(super) may_lack: f64,
    /// Below or above the first goal that has two sides; `None` without such a goal.
    pub(super) side: Option<f64>,
    /// The same, also of a goal about all stations: of the station that is furthest from it.
    pub(super) lean: Option<f64>,
    pub(crate) goodput: f64,
    pub(crate) fairness: f64,
    pub(crate) delay_s: f64,
    pub(super) fingerprint: String,
    /// What a look at the scenario's own time says, where the proof is longer.
    pub(crate) own_time: Option<OwnTime>,
    /// Length, replicas and seed of the last rung.
    pub(crate) run: Run,
    pub(crate) report: fairair_core::metrics::Report,
}

/// What a plan has in the time that the scenario names, its start included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnTime {
    /// Measured time of each replica, seconds.
    pub measured_s: f64,
    /// How many of them.
    pub replicas: u32,
    /// Goodput of the cell, bit/s.
    pub goodput_bps: f64,
    /// Jain's index of the shares of the max-min shares, 0 to 1.
    pub fairness: f64,
    /// 95th percentile of the delay in the AP, the mean delay of the box added, seconds.
    pub delay_s: f64,
    /// What it has of each goal.
    pub reached: Vec<String>,
}

impl Outcome {
    /// The same of a look at the scenario's own time.
    pub(super) fn as_own_time(&self) -> OwnTime {
        OwnTime {
            measured_s: (self.run.duration - self.run.warmup).as_secs_f64(),
            replicas: self.run.replicas,
            goodput_bps: self.goodput,
            fairness: self.fairness,
            delay_s: self.delay_s,
            reached: self.reached.clone(),
        }
    }

    /// Takes what `own`, a look of the same candidate at the scenario's own time, says: each goal counts where it is further from met, and who
    /// starves in either time does. The other figures stay those of the proof.
    pub(super) fn judge_by(&mut self, own: &Outcome) {
        for index in 0..self.misses.len().min(own.misses.len()) {
            if own.misses[index] > self.misses[index] {
                self.misses[index] = own.misses[index];
                self.reached[index] = format!("{} in the file's own time", own.reached[index]);
            }
        }
        for (met, own) in self.means_met.iter_mut().zip(&own.means_met) {
            *met &= own;
        }
        self.seems_met &= own.seems_met;
        self.meets &= own.meets;
        self.shortfall = self.shortfall.max(own.shortfall);
        if self.starved.is_nobody() {
            self.starved.clone_from(&own.starved);
        }
        if self.risk.is_none() {
            self.risk.clone_from(&own.risk);
        }
        self.own_time = Some(own.as_own_time());
    }

    /// Whether a proof, which has more replicas, may well find that it meets the requirements.
    pub(super) fn is_likely(&self) -> bool {
        self.meets || self.may_lack <= 0.0
    }

    /// Whether stations that sleep or do not answer make it collapse: the estimator `wce`.
    pub(crate) fn is_fragile(&self) -> bool {
        let is_wce = |own: &BoxChange| matches!(own.capacity, CapacityParams::Wce(_));
        self.change.enforce.as_ref().is_some_and(is_wce)
    }

    /// What a plan is worth among those of about the same goodput: a fifth of the logarithm of Jain's index, 1 % for each
    /// doubling of the delay beyond 10 ms, 5 % for a delay beyond [`SHORT_S`], and half a per cent to one and a half for each
    /// thing that has to be changed, and [`FRAGILE`] for an estimator that sleeping stations mislead.
    pub(crate) fn utility(&self) -> f64 {
        let effort = match (self.change.remedies(), self.change.enforce.is_some()) {
            (0, _) => 0.0,
            (n, boxed) => 0.005 + 0.005 * f64::from(u8::from(boxed)) + 0.01 * (n as f64 - 1.0),
        } + 0.005 * f64::from(u8::from(!self.change.weights.is_empty() || !self.change.caps.is_empty()));
        let delay = 0.01 * (self.delay_s.max(0.01) / 0.01).log2() + if self.delay_s > SHORT_S { LONG } else { 0.0 };
        let fragile = if self.is_fragile() { FRAGILE } else { 0.0 };
        self.goodput.max(1.0).ln() + 0.2 * self.fairness.max(1e-3).ln() - delay - effort - fragile
    }
}

/// What is worth most of what meets the requirements and can be deployed, where `first`, which meets them, cannot.
pub(super) fn deployable<'a>(first: &Outcome, proved: &'a [Outcome], gear: Gear) -> Option<&'a Outcome> {
    let can_be_had = |outcome: &Outcome| outcome.change.not_today(gear).is_none();
    if !first.meets || can_be_had(first) {
        return None;
    }
    let today = proved.iter().filter(|outcome| outcome.meets && can_be_had(outcome));
    today.max_by(|a, b| a.utility().total_cmp(&b.utility()))
}

/// The first of all that are the same.
pub(super) fn distinct<T>(all: impl IntoIterator<Item = T>, same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for one in all {
        if !kept.iter().any(|known| same(known, &one)) {
            kept.push(one);
        }
    }
    kept
}
