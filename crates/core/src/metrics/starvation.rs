//! Who starves: what each flow and station would have if the cell were shared max-min by what they ask for, and who
//! gets next to nothing of that.

use super::demand::Asked;
use crate::scenario::Scenario;

/// Goodput below this share of the max-min share is starvation ("critically starved").
pub const FLOOR: f64 = 0.05;

/// Steps of the bisection for the water level: more than a double's mantissa needs.
const BISECTIONS: usize = 100;

/// The max-min shares of a cell, in bit/s of goodput.
///
/// All flows rise together until the goodput of the cell is given away; a flow that asks for less keeps what it asks
/// for. Stations rise together in the same way, a station asking for what its flows ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaxMin {
    /// One a flow, in the scenario's order; none for a flow that cannot be judged.
    pub flows: Vec<Option<f64>>,
    /// One a station, in the scenario's order; none without a flow that can be judged.
    pub stations: Vec<Option<f64>>,
    /// Whether a flow asks for less than an equal part.
    pub flow_is_limited: Vec<bool>,
    /// Whether a station asks for less than an equal part.
    pub station_is_limited: Vec<bool>,
}

/// Positions of those that starve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Starved {
    /// Flows.
    pub flows: Vec<usize>,
    /// Stations.
    pub stations: Vec<usize>,
}

impl Starved {
    /// Nobody starves.
    pub fn is_nobody(&self) -> bool {
        self.flows.is_empty() && self.stations.is_empty()
    }

    /// Adds those of another replica or period.
    pub fn extend(&mut self, others: Starved) {
        for (own, others) in [(&mut self.flows, others.flows), (&mut self.stations, others.stations)] {
            own.extend(others);
            own.sort_unstable();
            own.dedup();
        }
    }
}

/// What a flow of a station asks for; `None`: it cannot be judged.
pub(super) type Demand = (usize, Option<Asked>);

impl MaxMin {
    /// The shares of `total_bps` of goodput among the flows of `scenario`. Where flows come and go, those that are there share what the cell
    /// carries, which is taken to be the same all the time.
    pub fn of(scenario: &Scenario, total_bps: f64) -> Self {
        let measured = (scenario.run.duration - scenario.run.warmup).as_secs_f64().max(1e-9);
        let asked: Vec<(f64, Vec<Demand>)> = scenario
            .periods()
            .into_iter()
            .map(|period| {
                let asked = |flow| Asked::of(scenario, flow, period.clone())?.within(flow, None);
                let own = scenario.flows().map(|(station, flow)| (station, asked(flow)));
                ((period.end - period.start).as_secs_f64() / measured, own.collect())
            })
            .collect();
        let all = |own: &[Demand]| own.iter().filter_map(|(_, asked)| Some((*asked)?.at(f64::MAX))).sum::<f64>();
        let demands: Vec<(f64, f64)> = asked.iter().map(|(part, own)| (*part, all(own))).collect();
        let carried = |capacity: f64| demands.iter().map(|(part, all)| part * capacity.min(*all)).sum();
        // What nobody asks for is left over.
        let capacity = if asked.len() == 1 { total_bps } else { water_level(total_bps, carried) };
        let shares = asked.iter().map(|(part, own)| (*part, MaxMin::among(scenario, own, capacity)));
        MaxMin::over(shares.collect())
    }

    /// The shares of `total_bps` among those who ask for something.
    pub(super) fn among(scenario: &Scenario, asked: &[Demand], total_bps: f64) -> Self {
        let flow_at = |level: f64, (_, asked): &Demand| asked.map(|asked| asked.at(level));
        let level = water_level(total_bps, |level| asked.iter().filter_map(|flow| flow_at(level, flow)).sum());
        let flows: Vec<Option<f64>> = asked.iter().map(|flow| flow_at(level, flow)).collect();
        let stations_at = |level: f64| -> Vec<Option<f64>> {
            let mut sums: Vec<Option<f64>> = vec![None; scenario.stations.len()];
            for (station, own) in asked.iter().filter_map(|flow| Some((flow.0, flow_at(level, flow)?))) {
                sums[station] = Some(sums[station].unwrap_or(0.0) + own);
            }
            sums.into_iter().map(|sum| sum.map(|sum| sum.min(level))).collect()
        };
        let of_stations = water_level(total_bps, |level| stations_at(level).into_iter().flatten().sum());
        let stations = stations_at(of_stations);
        MaxMin {
            flow_is_limited: flows.iter().map(|share| is_limited(*share, level)).collect(),
            station_is_limited: stations.iter().map(|share| is_limited(*share, of_stations)).collect(),
            flows,
            stations,
        }
    }

    /// The shares of several periods together, each with its part of the time.
    pub(super) fn over(mut periods: Vec<(f64, MaxMin)>) -> Self {
        if periods.len() == 1 {
            return periods.remove(0).1;
        }
        let together = |of: fn(&MaxMin) -> &Vec<Option<f64>>| -> (Vec<Option<f64>>, Vec<bool>) {
            let count = periods.first().map_or(0, |(_, own)| of(own).len());
            let sum = |index: usize| {
                let parts = periods.iter().filter_map(|(part, own)| Some(part * of(own)[index]?));
                parts.reduce(|a, b| a + b)
            };
            let sums: Vec<Option<f64>> = (0..count).map(sum).collect();
            // Who is always there and asks for all has the most in each.
            let most = |own: &MaxMin| of(own).iter().flatten().copied().fold(0.0, f64::max);
            let level: f64 = periods.iter().map(|(part, own)| part * most(own)).sum();
            let limited = sums.iter().map(|share| is_limited(*share, level)).collect();
            (sums, limited)
        };
        let (flows, flow_is_limited) = together(|own| &own.flows);
        let (stations, station_is_limited) = together(|own| &own.stations);
        MaxMin { flows, stations, flow_is_limited, station_is_limited }
    }

    /// Flows and stations with less than `floor` of their share, given goodputs in bit/s.
    pub fn starved(&self, floor: f64, flows: &[f64], stations: &[f64]) -> Starved {
        let below = |shares: &[Option<f64>], goodputs: &[f64]| -> Vec<usize> {
            let pairs = shares.iter().zip(goodputs).enumerate();
            pairs.filter_map(|(index, (share, goodput))| (*goodput < floor * (*share)?).then_some(index)).collect()
        };
        Starved { flows: below(&self.flows, flows), stations: below(&self.stations, stations) }
    }
}

/// A bulk flow asks for all that it is given: less than 99 % of the level is a limit of its own.
fn is_limited(share: Option<f64>, level: f64) -> bool {
    share.is_some_and(|share| share < 0.99 * level)
}

/// The level at which `sum` reaches `total`; what exceeds all demands is left over.
fn water_level(total: f64, sum: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, total.max(0.0) * 1e3 + 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if sum(middle) < total { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
#[path = "starvation_tests.rs"]
mod tests;
