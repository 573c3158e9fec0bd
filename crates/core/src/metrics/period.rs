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

impl Period {
    /// All periods of a replica as one.
    pub fn together(periods: &[Period]) -> Period {
        if let [one] = periods {
            return one.clone();
        }
        let seconds: f64 = periods.iter().map(|own| own.seconds).sum();
        let mean = |of: fn(&Period) -> &Vec<f64>| -> Vec<f64> {
            let count = periods.first().map_or(0, |own| of(own).len());
            (0..count).map(|index| periods.iter().map(|own| own.seconds / seconds * of(own)[index]).sum()).collect()
        };
        let shares = periods.iter().map(|own| (own.seconds / seconds, own.shares.clone())).collect();
        Period {
            seconds,
            flows: mean(|own| &own.flows),
            stations: mean(|own| &own.stations),
            shares: MaxMin::over(shares),
        }
    }

    /// Who is below `floor` of the max-min share.
    pub fn starved(&self, floor: f64) -> Starved {
        self.shares.starved(floor, &self.flows, &self.stations)
    }

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

/// Those of all `periods` of a replica in which nobody may starve, whatever it has in others: none where the same flows are there all the time,
/// which the whole says all of.
pub fn judged(scenario: &Scenario, periods: &[Period]) -> Vec<Period> {
    if periods.len() == 1 {
        return Vec::new();
    }
    let long = periods.iter().filter(|period| period.seconds >= LONG_S);
    long.map(|period| period.clone().of_steady(scenario)).collect()
}

/// Who is below `floor` of the max-min share in a replica, or in one of its periods that are [`judged`].
pub fn starved(scenario: &Scenario, record: &Record, floor: f64) -> Starved {
    let periods = periods(scenario, record, 1.0);
    let mut all = Period::together(&periods).starved(floor);
    for period in judged(scenario, &periods) {
        all.extend(period.starved(floor));
    }
    all
}

/// The periods of a replica ([`Scenario::periods`]) with the shares of `factor` times what was delivered in each: a remedy that takes from
/// everybody is judged by what there was. The whole measured time where the record has no periods.
///
/// Files with pauses are asked for at random, and how many are left of a given number nobody knows: such a flow asks for no more than it could
/// have had in the time in which a file was under way. Datagrams that were not sent were not asked for.
pub fn periods(scenario: &Scenario, record: &Record, factor: f64) -> Vec<Period> {
    let periods = scenario.periods();
    let count = periods.len();
    if count == 1 || record.flows.iter().any(|flow| flow.periods.len() != count) {
        let whole = scenario.run.warmup..scenario.run.duration;
        return vec![one(scenario, record, (whole, record.measured), factor, &FlowRecord::whole)];
    }
    let of = |(number, period): (usize, Range<Duration>)| {
        let length = period.end - period.start;
        one(scenario, record, (period, length), factor, &|flow| flow.periods[number])
    };
    periods.into_iter().enumerate().map(of).collect()
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
