//! What a replica shows, period by period: while other flows are there, others have a share.

use std::ops::Range;

use super::demand::{Asked, Known, PATIENCE_S, UNDER_WAY};
use super::starvation::{Demand, MaxMin, Starved};
use crate::record::{FlowRecord, PeriodRecord, Record};
use crate::scenario::{Flow, Scenario, Traffic};
use crate::units::Duration;

/// A period of a replica's measured time in which the same flows are there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Period {
    /// Its length.
    pub seconds: f64,
    /// Goodput of each flow in bit/s.
    pub flows: Vec<f64>,
    /// Goodput of each station in bit/s.
    pub stations: Vec<f64>,
    /// The max-min shares.
    pub shares: MaxMin,
}

/// Who has next to nothing in a shorter period may have been unlucky.
const LONG_S: f64 = 10.0;

impl MaxMin {
    /// The shares of what `record` says was delivered. Files with pauses are asked for at random, and how many are left of a given number
    /// nobody knows: such a flow asks for no more than it could have had in the time in which a file was under way. Datagrams that were
    /// not sent were not asked for.
    pub fn of_replica(scenario: &Scenario, record: &Record) -> Self {
        MaxMin::of_multiple(scenario, record, 1.0)
    }

    /// The shares of `factor` times what `record` says was delivered: a remedy that takes from everybody is judged by what there was.
    pub fn of_multiple(scenario: &Scenario, record: &Record, factor: f64) -> Self {
        let own = periods(scenario, record, factor);
        let all: f64 = own.iter().map(|period| period.seconds).sum();
        MaxMin::over(own.into_iter().map(|Period { seconds, shares, .. }| (seconds / all, shares)).collect())
    }
}

impl Period {
    /// The same without the shares of those who ask for files with pauses: a period is short for what they ask for at random.
    fn of_steady(mut self, scenario: &Scenario) -> Period {
        let pauses = |flow: &Flow| matches!(flow.traffic, Traffic::Files { idle, .. } if idle > Duration::ZERO);
        for ((station, flow), share) in scenario.flows().zip(&mut self.shares.flows) {
            if pauses(flow) {
                *share = None;
                self.shares.stations[station] = None;
            }
        }
        self
    }
}

/// The periods of a replica in which nobody may starve, whatever it has in others: none where the same flows are there all the time, which the
/// whole says all of.
pub fn judged_periods(scenario: &Scenario, record: &Record, factor: f64) -> Vec<Period> {
    let all = periods(scenario, record, factor);
    if all.len() == 1 {
        return Vec::new();
    }
    let long = all.into_iter().filter(|period| period.seconds >= LONG_S);
    long.map(|period| period.of_steady(scenario)).collect()
}

/// Who is below `floor` of the max-min share in a replica, or in one of its [`judged_periods`].
pub fn starved(scenario: &Scenario, record: &Record, floor: f64) -> Starved {
    let whole = whole(scenario, record, 1.0);
    let shares = MaxMin::of_replica(scenario, record);
    let mut all = shares.starved(floor, &whole.flows, &whole.stations);
    for Period { flows, stations, shares, .. } in judged_periods(scenario, record, 1.0) {
        all.extend(shares.starved(floor, &flows, &stations));
    }
    all
}

/// The periods of a replica ([`Scenario::periods`]) with the shares of `factor` times what was delivered in each; the whole measured time where
/// the record has no periods.
pub fn periods(scenario: &Scenario, record: &Record, factor: f64) -> Vec<Period> {
    let periods = scenario.periods();
    let count = periods.len();
    if count == 1 || record.flows.iter().any(|flow| flow.periods.len() != count) {
        return vec![whole(scenario, record, factor)];
    }
    let of = |(number, period): (usize, Range<Duration>)| {
        let length = period.end - period.start;
        one(scenario, record, (period, length), factor, &|flow| flow.periods[number])
    };
    periods.into_iter().enumerate().map(of).collect()
}

/// The whole measured time as one period.
fn whole(scenario: &Scenario, record: &Record, factor: f64) -> Period {
    let period = scenario.run.warmup..scenario.run.duration;
    one(scenario, record, (period, record.measured), factor, &FlowRecord::whole)
}

/// A period of so much time, and what flows show in it.
fn one(
    scenario: &Scenario,
    record: &Record,
    (period, length): (Range<Duration>, Duration),
    factor: f64,
    of: &dyn Fn(&FlowRecord) -> PeriodRecord,
) -> Period {
    let seconds = length.as_secs_f64().max(1e-9);
    let counted: Vec<PeriodRecord> = record.flows.iter().map(of).collect();
    let flows: Vec<f64> = counted.iter().map(|own| own.delivered_bytes as f64 * 8.0 / seconds).collect();
    let mut stations = vec![0.0; scenario.stations.len()];
    for (flow, goodput) in record.flows.iter().zip(&flows) {
        stations[flow.station] += goodput;
    }
    let known = |flow: usize| {
        let own = counted.get(flow)?;
        let waited = own.busy.map(|busy| (busy.as_secs_f64() - PATIENCE_S).max(0.0) / seconds);
        Some(Known { waited, sent_per_s: own.sent_packets.saturating_sub(UNDER_WAY) as f64 / seconds })
    };
    let asked = scenario.flows().enumerate().map(|(index, (station, flow))| {
        let asked = Asked::of(scenario, flow, period.clone());
        (station, asked.and_then(|asked| asked.within(flow, known(index))))
    });
    let asked: Vec<Demand> = asked.collect();
    let total: f64 = flows.iter().sum();
    Period { seconds, stations, shares: MaxMin::among(scenario, &asked, factor * total), flows }
}
