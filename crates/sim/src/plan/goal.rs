//! What a user wishes for, and how far a result is from it.

use std::fmt;
use std::str::FromStr;

use fairair_core::metrics::Estimate;
use fairair_core::packet::Direction;
use fairair_core::scenario::Scenario;
use fairair_core::units::{Bitrate, Duration};

use super::look::{Sample, is_files};

/// A wish about a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// Goodput of the first station over the mean of the others. At 1: of every station over the mean of the others, but
    /// for those that ask for less.
    Level(f64),
    /// Mean goodput of a download over that of an upload, of flows that are not limited by themselves.
    DownUp(f64),
    /// Least goodput of a station, or of each station of a group.
    Goodput {
        /// Name of a station, or the common part of `name-1` to `name-N`.
        who: String,
        /// At least this.
        least: Bitrate,
    },
    /// Most that the 95th percentile of the delay of a station's packets in the AP's queue may be, with its mean delay in
    /// the box.
    Delay {
        /// As above; empty: all packets together, and the box's delay at the station where it is longest.
        who: String,
        /// At most this.
        most: Duration,
    },
    /// Longest mean transfer time of a station's files.
    Files {
        /// As above; empty: the smallest files of the cell.
        who: String,
        /// At most this.
        most: Duration,
    },
}

const HOW: &str = "write level=1, down/up=2, up/down=0.5, \"sta1 >= 2 Mbit/s\", \"delay(web) <= 100ms\" or \
                   \"files(web) <= 500ms\"";

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((who, least)) = text.split_once(">=") {
            let least = least.trim().parse().map_err(|error| format!("`{}`: {error}", least.trim()))?;
            let who = who.trim().to_owned();
            return if who.is_empty() { Err(HOW.to_owned()) } else { Ok(Goal::Goodput { who, least }) };
        }
        if let Some((what, most)) = text.split_once("<=") {
            let most: Duration = most.trim().parse().map_err(|error| format!("`{}`: {error}", most.trim()))?;
            if most == Duration::ZERO {
                return Err("no queue and no file takes a time of zero".to_owned());
            }
            let what = what.trim();
            let (what, who) = match what.strip_suffix(')').and_then(|open| open.split_once('(')) {
                Some((what, who)) => (what.trim(), who.trim().to_owned()),
                None => (what, String::new()),
            };
            return match what {
                "delay" => Ok(Goal::Delay { who, most }),
                "files" => Ok(Goal::Files { who, most }),
                other => Err(format!("`{other}` is no goal: {HOW}")),
            };
        }
        let (name, number) = text.split_once('=').ok_or(HOW)?;
        let ratio: f64 = number.trim().parse().map_err(|_| format!("`{}` is no number: {HOW}", number.trim()))?;
        if !(ratio.is_finite() && (0.001..=1000.0).contains(&ratio)) {
            return Err("a ratio between 0.001 and 1000 is needed".to_owned());
        }
        match name.trim() {
            "level" => Ok(Goal::Level(ratio)),
            "down/up" => Ok(Goal::DownUp(ratio)),
            "up/down" => Ok(Goal::DownUp(1.0 / ratio)),
            other => Err(format!("`{other}` is no goal: {HOW}")),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |who: &str| if who.is_empty() { String::new() } else { format!("({who})") };
        match self {
            Goal::Level(level) => write!(f, "level={level}"),
            Goal::DownUp(ratio) => write!(f, "down/up={ratio}"),
            Goal::Goodput { who, least } => write!(f, "{who} >= {least}"),
            Goal::Delay { who, most } => write!(f, "delay{} <= {most}", of(who)),
            Goal::Files { who, most } => write!(f, "files{} <= {most}", of(who)),
        }
    }
}

impl Goal {
    /// Positions of the stations that it names; all for a goal without a name.
    pub(crate) fn stations(&self, scenario: &Scenario) -> Vec<usize> {
        let (Goal::Goodput { who, .. } | Goal::Delay { who, .. } | Goal::Files { who, .. }) = self else {
            return (0..scenario.stations.len()).collect();
        };
        let all = scenario.stations.iter().enumerate();
        all.filter(|(_, station)| who.is_empty() || is_meant(who, &station.name)).map(|(index, _)| index).collect()
    }

    /// The station or group that it names.
    pub(crate) fn who(&self) -> Option<&str> {
        match self {
            Goal::Goodput { who, .. } | Goal::Delay { who, .. } | Goal::Files { who, .. } => {
                Some(who.as_str()).filter(|who| !who.is_empty())
            }
            Goal::Level(_) | Goal::DownUp(_) => None,
        }
    }

    /// What is wrong with asking this of `scenario`: the mistake and its remedy.
    pub(crate) fn mistake(&self, scenario: &Scenario) -> Option<(String, String)> {
        let wrong = |what: &str, help: &str| Some((what.to_owned(), help.to_owned()));
        let directions = |up| scenario.flows().any(|(_, flow)| (flow.direction == Direction::Up) == up);
        let with_flows = scenario.stations.iter().filter(|station| !station.flows.is_empty()).count();
        let first_is_idle = scenario.stations.first().is_some_and(|station| station.flows.is_empty());
        let meant = self.stations(scenario);
        match self {
            Goal::DownUp(_) if !(directions(true) && directions(false)) => {
                wrong("the scenario has flows in one direction only", "down/up needs uploads and downloads")
            }
            Goal::Level(_) if with_flows < 2 => {
                wrong("the scenario has one station with flows", "a fairness level needs two")
            }
            Goal::Level(level) if (level - 1.0).abs() > f64::EPSILON && first_is_idle => {
                wrong("the first station has no flows", "a level other than 1 is the first station's: put it first")
            }
            Goal::Goodput { who, .. } | Goal::Delay { who, .. } | Goal::Files { who, .. } if meant.is_empty() => {
                let names: Vec<&str> = scenario.stations.iter().take(20).map(|s| s.name.as_str()).collect();
                let help = format!("the scenario has {}", names.join(", "));
                Some((format!("the goal `{self}` names `{who}`, and no station or group has that name"), help))
            }
            Goal::Files { .. } if !meant.iter().any(|index| has_files(scenario, *index)) => {
                wrong(&format!("the goal `{self}` is about files, and nobody there fetches any"), "name who does")
            }
            _ => None,
        }
    }

    /// Whether two goals ask for different values of the same ratio.
    pub(crate) fn contradicts(&self, other: &Goal) -> bool {
        match (self, other) {
            (Goal::Level(a), Goal::Level(b)) | (Goal::DownUp(a), Goal::DownUp(b)) => (a / b).ln().abs() > 1e-9,
            _ => false,
        }
    }

    /// How far `sample` is from it, in tolerances; met at 0. `doubt` half-widths of the confidence intervals count
    /// against it, and only `margin` (0 to 1) of the tolerance is allowed.
    pub(crate) fn miss(&self, sample: &Sample, tolerance: f64, margin: f64, doubt: f64) -> f64 {
        let allowed = tolerance.ln_1p();
        let ratio = |estimate: Estimate, wanted: f64| (off(estimate, wanted, doubt) / allowed - margin).max(0.0);
        // A bound has no tolerance of its own; a margin keeps what was simulated away from it.
        let room = 1.0 + tolerance * (1.0 - margin);
        let below = |estimate: Estimate, most: f64| match estimate.mean {
            Some(mean) => {
                let worst = mean + doubt * estimate.ci95.unwrap_or(0.0);
                ((worst * room / most).max(1e-12).ln() / allowed).max(0.0)
            }
            None => f64::INFINITY,
        };
        match self {
            Goal::Level(level) if (level - 1.0).abs() < f64::EPSILON => {
                sample.levels().into_iter().map(|level| ratio(level, 1.0)).fold(0.0, f64::max)
            }
            Goal::Level(level) => ratio(sample.first_level(), *level),
            Goal::DownUp(wanted) => ratio(sample.down_up(), *wanted),
            Goal::Goodput { least, .. } => {
                let least = least.as_bps() as f64;
                let miss = |index: usize| {
                    let goodput = sample.station(index);
                    let worst = goodput.mean.unwrap_or(0.0) - doubt * goodput.ci95.unwrap_or(0.0);
                    if worst > 0.0 { ((least * room / worst).ln() / allowed).max(0.0) } else { f64::INFINITY }
                };
                self.stations(sample.scenario).into_iter().map(miss).fold(0.0, f64::max)
            }
            Goal::Delay { most, .. } => below(self.delay(sample), most.as_secs_f64()),
            Goal::Files { most, .. } => below(self.files(sample), most.as_secs_f64()),
        }
    }

    /// The logarithm of what `sample` has of a goal that one can miss on two sides, over what is wanted: below 0 it has too little.
    /// `None` for goals about all stations and about time.
    pub(crate) fn side(&self, sample: &Sample) -> Option<f64> {
        // A least goodput with a little to spare.
        const SPARE: f64 = 0.05;
        let over = |estimate: Estimate, wanted: f64| Some((estimate.mean.filter(|mean| *mean > 0.0)? / wanted).ln());
        match self {
            Goal::Level(level) if (level - 1.0).abs() > f64::EPSILON => over(sample.first_level(), *level),
            Goal::DownUp(wanted) => over(sample.down_up(), *wanted),
            Goal::Goodput { least, .. } => {
                let parts = self.stations(sample.scenario).into_iter().map(|index| sample.station(index));
                let over = |station| Some(over(station, least.as_bps() as f64)? - SPARE);
                parts.map(over).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
            }
            Goal::Level(_) | Goal::Delay { .. } | Goal::Files { .. } => None,
        }
    }

    /// The delay that a goal of this kind is about, at the station where it is longest.
    fn delay(&self, sample: &Sample) -> Estimate {
        match self {
            Goal::Delay { who, .. } if !who.is_empty() => {
                longest(self.stations(sample.scenario).into_iter().map(|index| sample.station_delay(index)))
            }
            _ => sample.delay(),
        }
    }

    /// Mean transfer time, of the station's flow where it is longest.
    fn files(&self, sample: &Sample) -> Estimate {
        match self {
            Goal::Files { who, .. } if !who.is_empty() => {
                let meant = self.stations(sample.scenario);
                let flows = sample.scenario.flows().zip(&sample.report.flows);
                longest(
                    flows
                        .filter(|((station, flow), _)| meant.contains(station) && is_files(flow))
                        .map(|(_, row)| row.transfers.mean_s),
                )
            }
            _ => sample.report.transfers.first().map(|short| short.transfers.mean_s).unwrap_or_default(),
        }
    }

    /// What was reached, for people.
    pub(crate) fn reached(&self, sample: &Sample) -> String {
        let number = |estimate: Estimate| estimate.mean.map_or("none".to_owned(), |mean| format!("{mean:.3}"));
        let ms = |estimate: Estimate| estimate.mean.map_or("none".to_owned(), |s| format!("{:.1} ms", s * 1e3));
        match self {
            Goal::Level(level) if (level - 1.0).abs() < f64::EPSILON => {
                let furthest = |a: &Estimate, b: &Estimate| off(*a, 1.0, 0.0).total_cmp(&off(*b, 1.0, 0.0));
                sample.levels().into_iter().max_by(furthest).map_or("1".to_owned(), number)
            }
            Goal::Level(_) => number(sample.first_level()),
            Goal::DownUp(_) => number(sample.down_up()),
            Goal::Goodput { .. } => {
                let least = self.stations(sample.scenario).into_iter().filter_map(|index| sample.station(index).mean);
                least.reduce(f64::min).map_or("none".to_owned(), |bps| format!("{:.3} Mbit/s", bps / 1e6))
            }
            Goal::Delay { .. } => ms(self.delay(sample)),
            Goal::Files { .. } => ms(self.files(sample)),
        }
    }
}

/// Distance of a ratio from the one wished for on a logarithmic scale, at the far end of the interval; infinite when
/// there is none.
fn off(ratio: Estimate, wanted: f64, doubt: f64) -> f64 {
    match ratio.mean {
        Some(mean) if mean > 0.0 && mean.is_finite() => {
            (mean / wanted).ln().abs() + doubt * ratio.relative_half_width().unwrap_or(0.0)
        }
        _ => f64::INFINITY,
    }
}

/// The largest mean; none when one is missing.
fn longest(estimates: impl Iterator<Item = Estimate>) -> Estimate {
    let key = |estimate: &Estimate| estimate.mean.unwrap_or(f64::INFINITY);
    estimates.max_by(|a, b| key(a).total_cmp(&key(b))).unwrap_or_default()
}

/// Whether `who` names the station called `name`, or a group that it is of: `web` for `web-1`.
pub(super) fn is_meant(who: &str, name: &str) -> bool {
    let number = name.strip_prefix(who).and_then(|rest| rest.strip_prefix('-'));
    name == who || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn has_files(scenario: &Scenario, station: usize) -> bool {
    scenario.stations[station].flows.iter().any(is_files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_written_and_refused() {
        assert_eq!("level=1".parse(), Ok(Goal::Level(1.0)));
        assert_eq!("down/up = 2".parse(), Ok(Goal::DownUp(2.0)));
        assert_eq!("up/down=4".parse(), Ok(Goal::DownUp(0.25)));
        let (who, most) = ("web".to_owned(), Duration::from_millis(100));
        assert_eq!("sta1>=2Mbit/s".parse(), Ok(Goal::Goodput { who: "sta1".into(), least: Bitrate::mbps(2) }));
        assert_eq!("delay(web) <= 100ms".parse(), Ok(Goal::Delay { who: who.clone(), most }));
        assert_eq!("files( web )<=100 ms".parse(), Ok(Goal::Files { who, most }));
        assert_eq!("files<=100ms".parse(), Ok(Goal::Files { who: String::new(), most }));
        for text in ["level=1", "sta1 >= 2 Mbit/s", "delay(web) <= 100 ms", "files <= 1 s"] {
            let goal: Goal = text.parse().unwrap();
            assert_eq!(goal.to_string().parse(), Ok(goal));
        }
        for wrong in [
            "",
            "level",
            "level=x",
            "level=0",
            "level=-1",
            "speed=2",
            "down/up=inf",
            "level=nan",
            ">=2Mbit/s",
            "a>=2",
            "speed<=1ms",
            "delay<=0ms",
            "delay(web)<=5",
        ] {
            assert!(wrong.parse::<Goal>().is_err(), "{wrong}");
        }
    }
}
