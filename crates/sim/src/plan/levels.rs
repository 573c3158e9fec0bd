//! Who gets how much beside whom: among those that are there at the same time and ask for all that they can get.

use fairair_core::metrics::{Estimate, MaxMin, Period};
use fairair_core::packet::Direction;
use fairair_core::scenario::{Flow, Traffic};

use super::look::Sample;
use crate::starved::Seen;

/// A period of a replica: seconds, goodputs, and who has a share of its own to be compared by, since it is there and asks for what it can get.
struct Compared<'a> {
    seconds: f64,
    goodputs: &'a [f64],
    greedy: Vec<usize>,
}

/// Positions that have a share and are not limited by themselves.
fn greedy(shares: &[Option<f64>], limited: &[bool]) -> Vec<usize> {
    (0..shares.len()).filter(|index| shares[*index].is_some() && !limited[*index]).collect()
}

fn greedy_stations(shares: &MaxMin) -> Vec<usize> {
    greedy(&shares.stations, &shares.station_is_limited)
}

fn greedy_flows(shares: &MaxMin) -> Vec<usize> {
    greedy(&shares.flows, &shares.flow_is_limited)
}

/// Mean of some of the goodputs; nothing of none.
fn mean<'i>(goodputs: &[f64], of: impl Iterator<Item = &'i usize> + Clone) -> Option<f64> {
    let count = of.clone().count();
    (count > 0).then(|| of.map(|index| goodputs[*index]).sum::<f64>() / count as f64)
}

/// Two sides of a ratio over all periods that have both, each weighted with its length.
fn pooled<'a>(
    periods: impl Iterator<Item = Compared<'a>>,
    sides: impl Fn(&Compared<'a>) -> Option<(f64, f64)>,
) -> Option<(f64, f64)> {
    let weighted = periods.filter_map(|own| sides(&own).map(|(a, b)| (own.seconds * a, own.seconds * b)));
    weighted.reduce(|(a, b), (c, d)| (a + c, b + d))
}

impl Sample<'_> {
    /// The periods of a replica with the goodputs and the greedy that are asked for. Where the same flows are there all the time, the scenario
    /// says who is greedy; else what was seen does.
    fn compared<'a>(
        &'a self,
        seen: &'a Seen,
        goodputs: fn(&Period) -> &Vec<f64>,
        greedy: fn(&MaxMin) -> Vec<usize>,
    ) -> impl Iterator<Item = Compared<'a>> {
        let is_one = seen.periods.len() == 1;
        seen.periods.iter().map(move |own| Compared {
            seconds: own.seconds,
            goodputs: goodputs(own),
            greedy: greedy(if is_one { &self.shares } else { &own.shares }),
        })
    }

    fn stations_compared<'a>(&'a self, seen: &'a Seen) -> impl Iterator<Item = Compared<'a>> {
        self.compared(seen, |own| &own.stations, greedy_stations)
    }

    /// Stations, and the goodput of each over the mean of the others that are there with it and not limited by themselves. A station that
    /// is limited by itself is right if it gets its demand (half, if computed from pauses of files), and no more than the others.
    pub(crate) fn levels(&self) -> Vec<(usize, Estimate)> {
        let always = greedy_stations(&self.shares);
        let over_others = |index: usize| {
            let sides = |own: &Compared<'_>| {
                let others = own.greedy.iter().filter(|other| **other != index);
                Some((own.goodputs[index], mean(own.goodputs, others)?)).filter(|_| own.greedy.contains(&index))
            };
            Estimate::of_ratio(self.seen.iter().map(|seen| pooled(self.stations_compared(seen), sides)))
        };
        let satisfied = |index: usize| {
            let files = self.scenario.stations[index].flows.iter().any(is_files);
            let pair = |Seen { whole: Period { stations, shares, .. }, .. }: &Seen| {
                let asked = shares.stations[index].filter(|asked| *asked > 0.0)?;
                let enough = if files { 0.5 * asked } else { asked };
                Some((stations[index].min(enough), enough))
            };
            Estimate::of_ratio(self.seen.iter().map(pair))
        };
        // Who gets more than those who take all they can get, takes it from them.
        let over_greedy = |index: usize| {
            let pair = |seen: &Seen| Some((seen.whole.stations[index], mean(&seen.whole.stations, always.iter())?));
            Estimate::of_ratio(self.seen.iter().map(pair))
        };
        let level = |index: usize| match over_others(index) {
            level if level.n > 0 => Some(level),
            _ if always.contains(&index) => None,
            // Who asked for nothing in any replica has that.
            _ => match (satisfied(index), over_greedy(index)) {
                (own, _) if own.n == 0 => None,
                (_, more) if more.mean.is_some_and(|more| more > 1.0) => Some(more),
                (own, _) => Some(own),
            },
        };
        (0..self.scenario.stations.len()).filter_map(|index| Some((index, level(index)?))).collect()
    }

    /// Goodput of the first station over the mean of the others that are there with it and not limited by themselves, or of all others.
    pub(crate) fn first_level(&self) -> Estimate {
        let with_flows: Vec<usize> =
            (1..self.scenario.stations.len()).filter(|index| self.shares.stations[*index].is_some()).collect();
        let sides = |own: &Compared<'_>| {
            let others = own.greedy.iter().filter(|other| **other != 0);
            Some((own.goodputs[0], mean(own.goodputs, others)?))
        };
        Estimate::of_ratio(self.seen.iter().map(|seen| {
            let there = self.stations_compared(seen).zip(&seen.periods);
            let there = there.filter(|(_, period)| seen.periods.len() == 1 || period.shares.stations[0].is_some());
            let others =
                || Some((seen.whole.stations[0], mean(&seen.whole.stations, with_flows.iter()).unwrap_or(0.0)));
            pooled(there.map(|(own, _)| own), sides).or_else(others)
        }))
    }

    /// Mean goodput of a download over that of an upload: of flows that are there together and not limited by themselves where both
    /// directions have any, else of all.
    pub(crate) fn down_up(&self) -> Estimate {
        let directions: Vec<Direction> = self.scenario.flows().map(|(_, flow)| flow.direction).collect();
        let side = |goodputs: &[f64], flows: &[usize], direction: Direction| {
            mean(goodputs, flows.iter().filter(|index| directions[**index] == direction))
        };
        let sides = |own: &Compared<'_>| {
            let side = |direction| side(own.goodputs, &own.greedy, direction);
            Some((side(Direction::Down)?, side(Direction::Up)?))
        };
        let all: Vec<usize> = (0..directions.len()).collect();
        Estimate::of_ratio(self.seen.iter().map(|seen| {
            let side = |direction| side(&seen.whole.flows, &all, direction).unwrap_or(0.0);
            let of_greedy = pooled(self.compared(seen, |own| &own.flows, greedy_flows), sides);
            of_greedy.or_else(|| Some((side(Direction::Down), side(Direction::Up))))
        }))
    }
}

/// Whether a flow sends files.
pub(super) fn is_files(flow: &Flow) -> bool {
    matches!(flow.traffic, Traffic::Files { .. })
}

#[cfg(test)]
mod tests {
    use fairair_core::scenario::Scenario;

    use super::*;

    /// How much of a given number of files is left when the measured time begins, no scenario says: the record does.
    #[test]
    fn a_station_whose_last_file_was_under_way_has_a_level() {
        let text = r#"
            name = "late"
            [run]
            duration = "12 s"
            warmup = "2 s"
            [[station]]
            name = "guest"
            flows = [{ direction = "down", kind = "files", size = "40 MB", files = 1 }]
            [[station]]
            name = "reader"
            count = 2
            flows = [{ direction = "down" }]
        "#;
        let levels = |text: &str| {
            let scenario = Scenario::from_toml(text, "late.toml").unwrap();
            Sample::new(&scenario, vec![crate::run(&scenario, 0)], false).levels()
        };
        let own = levels(text);
        assert_eq!(own.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(own[0].1.mean.is_some_and(|level| level > 0.9), "{own:?}");
        // All of a file that came before is no part of it.
        assert_eq!(levels(&text.replace("40 MB", "10 kB")).len(), 2);
    }

    /// Downloads that are there before others come, and an AP whose turns are theirs: who comes late has its part of what is left, or much more.
    #[test]
    fn who_comes_late_is_compared_with_those_who_are_there_then() {
        let text = |queue: &str| {
            format!(
                r#"
                name = "late"
                [run]
                duration = "60 s"
                warmup = "5 s"
                [ap]
                queue = {queue}
                [[station]]
                name = "early"
                count = 2
                flows = [{{ direction = "down" }}]
                [[station]]
                name = "late"
                count = 2
                flows = [{{ direction = "up", start = "40 s" }}]
                "#
            )
        };
        let levels = |queue: &str| -> Vec<f64> {
            let scenario = Scenario::from_toml(&text(queue), "late.toml").unwrap();
            let sample = Sample::new(&scenario, vec![crate::run(&scenario, 0)], false);
            sample.levels().into_iter().map(|(_, level)| level.mean.unwrap()).collect()
        };
        let fair = levels("{ kind = \"airtime-fq\", limit = 60 }");
        assert!(fair.len() == 4 && fair.iter().all(|level| (level - 1.0).abs() < 0.1), "{fair:?}");
        let unfair = levels("{ kind = \"droptail\", limit = 30 }");
        assert!(unfair[2] > 1.5 && unfair[3] > 1.5, "{unfair:?}");
    }

    /// A user of the web whose files go first gets more than those who send all they can: the level shows it.
    #[test]
    fn who_asks_for_less_may_still_have_too_much() {
        let text = r#"
            name = "web"
            [run]
            duration = "40 s"
            warmup = "5 s"
            [ap]
            queue = { kind = "las", limit = 60 }
            [[station]]
            name = "bulk"
            count = 3
            flows = [{ direction = "down" }]
            [[station]]
            name = "web"
            count = 3
            flows = [{ direction = "down", kind = "files", size = "2 MB", burst = "3 s", idle = "3 s" }]
        "#;
        let levels = |text: &str| {
            let scenario = Scenario::from_toml(text, "web.toml").unwrap();
            Sample::new(&scenario, vec![crate::run(&scenario, 0)], false).levels()
        };
        let most =
            |levels: Vec<(usize, Estimate)>| levels[3..].iter().filter_map(|(_, own)| own.mean).fold(0.0, f64::max);
        let preferred = most(levels(text));
        let fair = most(levels(&text.replace("\"las\"", "\"per-station-fq\"")));
        assert!(preferred > 1.2 && fair < 1.1, "{preferred} {fair}");
    }
}
