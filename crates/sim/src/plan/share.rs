//! What each flow and station has of its max-min share, and whether another seed may show it below the floor.

use fairair_core::metrics::{Period, Starved};
use fairair_core::scenario::{Flow, Scenario, Traffic};
use fairair_core::units::Duration;
use serde::Serialize;

use crate::starved::{Seen, names};

/// A share must exceed the floor by this factor in every replica, and a floor above half by a quarter of what is above it: a share closer to
/// the floor is below it with other seeds.
pub(super) const MARGIN: f64 = 1.25;
/// Fewer replicas say nothing of how much they differ.
const ENOUGH: usize = 6;
/// Least distance of the mean from the floor, in standard deviations.
const DEVIATIONS: f64 = 3.0;
/// A replica with less than this share of the mean of the others, and so many of their standard deviations below that, stands alone.
const LONE: (f64, f64) = (0.5, 4.0);

/// Who has least of its max-min share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Least {
    /// A station, or a flow of one.
    pub who: String,
    /// What it has of its share, mean of the replicas.
    pub share: f64,
    /// The same in the replica in which that is least.
    pub lowest: f64,
}

impl std::fmt::Display for Least {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Least { who, share, lowest } = self;
        write!(f, "{who} has {:.1} % of its max-min share, {:.1} % in one replica", share * 100.0, lowest * 100.0)
    }
}

/// What a flow or a station has of its share.
pub(super) struct Share {
    who: Starved,
    /// By replica; those in which it asked for nothing are left out.
    parts: Vec<f64>,
    /// It asks for files with pauses, at random.
    at_random: bool,
}

/// Goodputs and shares of flows or stations.
type Goodputs<'a> = (&'a [f64], &'a [Option<f64>]);

/// What all flows and stations have of their shares.
pub(super) fn of(scenario: &Scenario, seen: &[Seen]) -> Vec<Share> {
    let parts = |of: fn(&Period) -> Goodputs<'_>, index: usize, at_random: bool| -> Vec<f64> {
        let part = |period: &Period| {
            let (goodputs, shares) = of(period);
            Some(goodputs[index] / shares[index].filter(|share| *share > 0.0)?)
        };
        let of_replica = |seen: &Seen| {
            let part = seen.judged.iter().filter_map(part).fold(part(&seen.whole)?, f64::min);
            // More than it asked for helps nobody in another replica.
            Some(if at_random { part.min(1.0) } else { part })
        };
        seen.iter().filter_map(of_replica).collect()
    };

    let flows = scenario.flows().enumerate().map(|(index, (_, flow))| {
        let at_random = pauses(flow);
        let parts = parts(|own| (&own.flows, &own.shares.flows), index, at_random);
        Share { who: Starved { flows: vec![index], stations: Vec::new() }, parts, at_random }
    });
    let stations = scenario.stations.iter().enumerate().map(|(index, station)| {
        let at_random = station.flows.iter().any(pauses) && !station.flows.iter().any(is_greedy);
        let parts = parts(|own| (&own.stations, &own.shares.stations), index, at_random);
        Share { who: Starved { flows: Vec::new(), stations: vec![index] }, parts, at_random }
    });
    // Where a station has one flow, the station is named.
    stations.chain(flows).filter(|share| !share.parts.is_empty()).collect()
}

/// Whether a flow asks for files with pauses.
fn pauses(flow: &Flow) -> bool {
    matches!(flow.traffic, Traffic::Files { idle, .. } if idle > Duration::ZERO)
}

/// Whether a flow sends all it can.
pub(super) fn is_greedy(flow: &Flow) -> bool {
    !pauses(flow) && !matches!(flow.traffic, Traffic::UdpCbr { .. })
}

impl Share {
    fn mean(&self) -> f64 {
        mean(&self.parts)
    }

    fn lowest(&self) -> f64 {
        self.parts.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Whether one replica has far less than all others, which are alike: what happened there happens seldom, and may last.
    fn has_lone(&self) -> bool {
        let mut rest = self.parts.clone();
        rest.sort_by(f64::total_cmp);
        let lowest = rest.remove(0);
        rest.len() >= ENOUGH && lowest < LONE.0 * mean(&rest) && mean(&rest) - lowest > LONE.1 * deviation(&rest)
    }

    /// Why another seed may well show it below `floor`: in a replica it has hardly more, or its mean is not above by so many standard
    /// deviations. `strict`: few replicas have to be further from it, as their deviation is not well known.
    fn risk(&self, floor: f64, strict: bool) -> Option<Risk> {
        let count = self.parts.len();
        if self.lowest() < (MARGIN * floor).min(floor + (MARGIN - 1.0) * (1.0 - floor)) {
            return Some(Risk::Low);
        }
        if count < ENOUGH {
            return None;
        }
        // One-sided bounds that hold for 99 % of the replicas with a confidence of 90 %: 4.3 deviations of 6 replicas, 3 of 24.
        let away = if strict { (2.6 + 10.0 / count as f64).max(DEVIATIONS) } else { DEVIATIONS };
        if self.at_random {
            // What follows from chance of demand is skew: a part that is half of the mean is as likely as one that is twice as much.
            let logs: Vec<f64> = self.parts.iter().map(|part| part.ln()).collect();
            let differ = deviation(&logs);
            return (mean(&logs) - away * differ < floor.ln()).then_some(Risk::Wild { differ: differ.exp_m1() });
        }
        if strict && self.has_lone() {
            return Some(Risk::Lone);
        }
        let differ = deviation(&self.parts);
        (self.mean() - away * differ < floor).then(|| Risk::Wild { differ: differ / self.mean() })
    }
}

/// What points to somebody below the floor with other seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Risk {
    /// It has hardly more in some replica.
    Low,
    /// Its replicas differ by so much, as a share of what it has: one standard deviation.
    Wild { differ: f64 },
    /// In one replica it has far less than in all others.
    Lone,
}

/// Who has hardly more than `floor` in some replica, and least of its share.
pub(super) fn low(scenario: &Scenario, shares: &[Share], floor: f64) -> Option<String> {
    let low = shares.iter().filter(|share| share.risk(floor, false) == Some(Risk::Low));
    least(scenario, low).map(|least| least.to_string())
}

/// Why somebody may be below `floor` with other seeds, by who has least of its share for that reason: first who is close to the floor, then
/// whose replicas differ too much.
pub(super) fn risk(scenario: &Scenario, shares: &[Share], floor: f64, strict: bool) -> Option<String> {
    if let Some(low) = low(scenario, shares, floor) {
        return Some(low);
    }
    let risky = shares.iter().filter_map(|share| Some((share, share.risk(floor, strict)?)));
    let differs = |risk: &Risk| if let Risk::Wild { differ } = risk { *differ } else { 0.0 };
    let (share, risk) = risky.max_by(|a, b| differs(&a.1).total_cmp(&differs(&b.1)))?;
    let least = least(scenario, std::iter::once(share))?;
    Some(match risk {
        Risk::Lone => format!("{least}, far less than in all others"),
        _ => format!("{least}: its replicas differ by {:.0} %", differs(&risk) * 100.0),
    })
}

/// Part of its share from which on in every replica a flow is not about to be cut off, however long it waits for a path of its own.
const MUCH: f64 = 0.6;

/// Whether a flow has little of its share in some replica.
pub(super) fn has_little(shares: &[Share], flow: usize) -> bool {
    shares.iter().any(|own| own.who.flows == [flow] && own.lowest() < MUCH)
}

/// Who of `shares` has least of its share.
pub(super) fn least<'a>(scenario: &Scenario, shares: impl Iterator<Item = &'a Share>) -> Option<Least> {
    let least = shares.min_by(|a, b| a.mean().total_cmp(&b.mean()))?;
    let who = names(scenario, &least.who).into_iter().next()?;
    Some(Least { who, share: least.mean(), lowest: least.lowest() })
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

fn deviation(of: &[f64]) -> f64 {
    let mean = mean(of);
    let squares: f64 = of.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / (of.len() as f64 - 1.0).max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(parts: &[f64], at_random: bool) -> Share {
        Share { who: Starved::default(), parts: parts.to_vec(), at_random }
    }

    /// As a proof of six replicas showed it, of which two of sixty others were below the floor.
    #[test]
    fn who_sits_on_the_floor_is_at_risk() {
        let on_it = [0.054, 0.058, 0.055, 0.056, 0.057, 0.055];
        assert_eq!(share(&on_it, false).risk(0.05, true), Some(Risk::Low), "hardly more than the floor");
        assert_eq!(share(&on_it, false).risk(0.04, false), None);
        assert_eq!(share(&on_it.map(|part| 1.5 * part), false).risk(0.05, true), None);
        // All above, but they differ.
        let wild = [0.08, 0.2, 0.09, 0.3, 0.15, 0.1];
        assert!(matches!(share(&wild, false).risk(0.05, true), Some(Risk::Wild { .. })));
        // A single short look knows its own replica only.
        assert!(share(&[0.06], false).risk(0.05, false).is_some() && share(&[0.07], false).risk(0.05, false).is_none());
    }

    /// An upload whose acknowledgements a short queue drops now and then loses all of a window, and is silent for as long as its timeouts double: of 24
    /// replicas one showed it, of 20 others one starved.
    #[test]
    fn one_replica_far_below_all_others_is_a_risk() {
        let mut parts: Vec<f64> = (0..23).map(|n| 0.65 + 0.002 * f64::from(n % 5)).collect();
        assert_eq!(share(&parts, false).risk(0.05, true), None);
        parts.push(0.254);
        assert_eq!(share(&parts, false).risk(0.05, true), Some(Risk::Lone));
        assert_eq!(share(&parts, false).risk(0.05, false), None, "a short look cannot tell");
        // Who differs anyway has no lone one.
        let wild: Vec<f64> = (0..24).map(|n| 0.4 + 0.03 * f64::from(n)).collect();
        assert_eq!(share(&wild, false).risk(0.05, true), None);
    }

    /// A floor near one leaves a margin that a cell can have.
    #[test]
    fn a_high_floor_can_be_kept() {
        let near = [0.973, 0.974, 0.973, 0.972, 0.973, 0.974];
        assert_eq!(share(&near, false).risk(0.81, true), None);
        assert_eq!(share(&near, false).risk(0.9, true), None);
        assert_eq!(share(&near, false).risk(0.97, true), Some(Risk::Low));
    }

    #[test]
    fn chance_of_demand_is_no_risk_and_hunger_is() {
        let quiet = [1.0, 0.45, 1.0, 0.8, 0.3, 1.0];
        assert!(share(&quiet, true).risk(0.05, true).is_none());
        assert!(share(&[0.2, 0.09, 0.5, 0.07, 0.3, 0.1], true).risk(0.05, true).is_some());
        assert!(share(&[1.0, 1.0, 0.0, 1.0, 1.0, 1.0], true).risk(0.05, true).is_some());
    }

    /// A station far above the floor in every replica is not named for its least, but for what its replicas differ by.
    #[test]
    fn who_is_named_is_at_risk_for_what_is_told() {
        let text = "name = \"two\"\nrun.duration = \"10 s\"\n[[station]]\nname = \"web\"\ncount = 2\nflows = [{ direction = \"down\" }]\n";
        let scenario = Scenario::from_toml(text, "two.toml").unwrap();
        let of = |parts: &[f64], index: usize| Share {
            who: Starved { flows: Vec::new(), stations: vec![index] },
            ..share(parts, false)
        };
        let wild = of(&[0.8, 1.9, 0.8, 2.0, 1.0, 1.6], 0);
        let told = risk(&scenario, &[wild, of(&[0.5; 6], 1)], 0.05, true).unwrap();
        assert_eq!(
            told,
            "station web-1 has 135.0 % of its max-min share, 80.0 % in one replica: its replicas differ by 41 %"
        );
        let near = of(&[0.06; 6], 1);
        let told = risk(&scenario, &[of(&[0.8, 1.9, 0.8, 2.0, 1.0, 1.6], 0), near], 0.05, true).unwrap();
        assert!(told.starts_with("station web-2 has 6.0 %") && !told.contains("differ"), "{told}");
        assert_eq!(risk(&scenario, &[of(&[0.5; 6], 1)], 0.05, true), None);
    }
}
