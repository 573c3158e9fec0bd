//! Who starves under a configuration, by name: one meaning for plans and comparisons.

use fairair_core::metrics::{Period, Starved, judged, periods};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

/// Goodputs of a replica, and the max-min shares of them.
pub(crate) struct Seen {
    /// All of the measured time.
    pub(crate) whole: Period,
    /// Periods in which the same flows are there; one where that is all of the measured time.
    pub(crate) periods: Vec<Period>,
    /// Those of them in which nobody may starve.
    pub(crate) judged: Vec<Period>,
}

impl Seen {
    pub(crate) fn of(scenario: &Scenario, record: &Record) -> Self {
        Seen::beside(scenario, record, 1.0)
    }

    /// The same with the shares of `factor` times what was delivered.
    pub(crate) fn beside(scenario: &Scenario, record: &Record, factor: f64) -> Self {
        let periods = periods(scenario, record, factor);
        Seen { whole: Period::together(&periods), judged: judged(scenario, &periods), periods }
    }
}

/// Who is below `floor` of the max-min share in any of the replicas, or in a period of it: flows that are alike may starve in turn.
pub(crate) fn in_any(replicas: &[Seen], floor: f64) -> Starved {
    let mut all = Starved::default();
    for period in replicas.iter().flat_map(|seen| std::iter::once(&seen.whole).chain(&seen.judged)) {
        all.extend(period.starved(floor));
    }
    all
}

/// Stations that starve, and flows that starve at other stations, each by its number at its station, from 1.
pub(crate) fn names(scenario: &Scenario, starved: &Starved) -> Vec<String> {
    let station = |index: usize| scenario.stations.get(index).map_or("", |station| station.name.as_str());
    let stations = starved.stations.iter().map(|index| format!("station {}", station(*index)));
    let owners: Vec<usize> = scenario.flows().map(|(station, _)| station).collect();
    let flows = starved.flows.iter().filter_map(|flow| {
        let owner = *owners.get(*flow)?;
        let number = owners[..*flow].iter().filter(|other| **other == owner).count();
        (!starved.stations.contains(&owner)).then(|| format!("flow {} of {}", number + 1, station(owner)))
    });
    stations.chain(flows).collect()
}

#[cfg(test)]
mod tests {
    use fairair_core::metrics::MaxMin;

    use super::*;

    #[test]
    fn a_station_that_starves_counts_once_and_flows_of_others_one_by_one() {
        let text = "name = \"cell\"\n[run]\nduration = \"9 s\"\n[[station]]\nname = \"a\"\nflows = [{ direction = \"up\", count = 2 }]\n\
                    [[station]]\nname = \"b\"\nflows = [{ direction = \"down\" }, { direction = \"up\" }]\n";
        let scenario = Scenario::from_toml(text, "cell.toml").unwrap();
        // In the first replica all of a starves, in the second the upload of b.
        let replicas: [([f64; 4], [f64; 2]); 2] =
            [([1e3, 1e3, 2e6, 2e6], [2e3, 4e6]), ([1e6, 1e6, 2e6, 1e3], [2e6, 2.001e6])];
        let seen = replicas.map(|(flows, stations)| {
            let shares = MaxMin::of(&scenario, flows.iter().sum());
            let whole = Period { seconds: 9.0, flows: flows.to_vec(), stations: stations.to_vec(), shares };
            Seen { whole, periods: Vec::new(), judged: Vec::new() }
        });
        let starved = in_any(&seen, 0.05);
        assert_eq!(starved, Starved { flows: vec![0, 1, 3], stations: vec![0] });
        assert_eq!(names(&scenario, &starved), ["station a", "flow 2 of b"]);
    }
}
