//! What a user requires, and how far a result is from it.

mod terms;
mod text;

use fairair_core::metrics::Estimate;
use fairair_core::model::air::goodputs_alone;
use fairair_core::packet::Direction;
use fairair_core::scenario::reader::nearest;
use fairair_core::scenario::{Action, Scenario, Station, Traffic};
use fairair_core::units::{Bitrate, Duration};

pub(crate) use terms::Term;

use super::levels::is_files;
use super::look::Sample;

/// A requirement of a cell.
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

impl Goal {
    /// Whether it bounds a time.
    pub(crate) fn is_time(&self) -> bool {
        matches!(self, Goal::Delay { .. } | Goal::Files { .. })
    }

    /// Positions of the stations that it names; all for a goal without a name.
    pub(crate) fn stations(&self, scenario: &Scenario) -> Vec<usize> {
        let is_named = |name: &str| self.who().is_none_or(|who| is_meant(who, name));
        (0..scenario.stations.len()).filter(|index| is_named(&scenario.stations[*index].name)).collect()
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
                let help = known(scenario, who);
                Some((format!("the goal `{self}` names `{who}`, and no station or group has that name"), help))
            }
            Goal::Goodput { least, .. } => {
                self.more_than_asked(scenario, *least).or_else(|| self.excess(scenario, *least))
            }
            Goal::Delay { .. } if !meant.iter().any(|index| gets_packets(scenario, *index)) => wrong(
                &format!("the goal `{self}` is about packets in the AP's queue, and nobody that it names gets any"),
                "it only sends datagrams: name a station that receives, or write a least goodput",
            ),
            Goal::Files { .. } if !meant.iter().any(|index| has_files(scenario, *index)) => wrong(
                &format!("the goal `{self}` is about files, but no station that it names fetches files"),
                "name a station with flows of files",
            ),
            Goal::Files { most, .. } => self.too_soon(scenario, *most),
            _ => None,
        }
    }

    /// The mistake of a least goodput beyond what a station with nothing but streams asks for.
    fn more_than_asked(&self, scenario: &Scenario, least: Bitrate) -> Option<(String, String)> {
        let asked = |index: usize| {
            let station = &scenario.stations[index];
            let rates = station.flows.iter().map(|flow| match flow.traffic {
                Traffic::UdpCbr { rate, .. } => Some(rate.as_bps()),
                _ => None,
            });
            Some((&station.name, Bitrate::from_bps(rates.sum::<Option<u64>>()?)))
        };
        let (name, asked) =
            self.stations(scenario).into_iter().filter_map(asked).min_by_key(|(_, rate)| rate.as_bps())?;
        (least.as_bps() > asked.as_bps()).then(|| {
            let what = format!("the goal `{self}` exceeds what station {name} asks for: its streams have {asked}");
            (what, format!("ask for less than {asked}, or give its flows a higher rate"))
        })
    }

    /// The mistake of files that are to end sooner than the link carries their bytes, after a round trip.
    fn too_soon(&self, scenario: &Scenario, most: Duration) -> Option<(String, String)> {
        if rates_change(scenario) {
            return None;
        }
        let meant = self.stations(scenario);
        let files = scenario.flows().filter(|(station, _)| meant.contains(station)).filter_map(|(station, flow)| {
            let Traffic::Files { size, .. } = flow.traffic else { return None };
            let round_trip = flow.wire.unwrap_or(scenario.wire).delay * 2;
            Some((size.time_at(scenario.stations[station].rate) + round_trip, size, round_trip, station))
        });
        // Without a name the goal is about the smallest files.
        let longest = if self.who().is_some() { files.max() } else { files.min() };
        longest.filter(|(least, ..)| *least > most).map(|(_, size, round_trip, station)| {
            let own = &scenario.stations[station];
            let what = format!("the goal `{self}` exceeds the link of station {}: {size} at {}", own.name, own.rate);
            let alone = (size.time_at(alone(scenario)[station]) + round_trip).as_secs_f64();
            (
                what,
                format!(
                    "ask for more than {alone:.2} s, which a file takes in an idle cell, its slow start not counted"
                ),
            )
        })
    }

    /// The mistake of a least goodput that the links cannot carry, even if the air were theirs alone and frames had no headers.
    fn excess(&self, scenario: &Scenario, least: Bitrate) -> Option<(String, String)> {
        if rates_change(scenario) {
            return None;
        }
        let rates: Vec<f64> =
            self.stations(scenario).into_iter().map(|index| scenario.stations[index].rate.as_bps() as f64).collect();
        let most = 1.0 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>();
        let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        (least.as_bps() as f64 > most).then(|| {
            let slowest = Bitrate::from_bps(slowest as u64);
            let who = if rates.len() == 1 {
                format!("its link has {slowest}")
            } else {
                format!("{} stations share the air, the slowest link has {slowest}", rates.len())
            };
            let what = format!("the goal `{self}` exceeds the capacity of the cell: {who}");
            let alone = alone(scenario);
            let air: f64 = self.stations(scenario).into_iter().map(|index| 1.0 / alone[index].as_bps() as f64).sum();
            (what, format!("ask for less than about {}", Bitrate::from_bps((1.0 / air) as u64).rounded(2)))
        })
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
                sample.levels().into_iter().map(|(_, level)| ratio(level, 1.0)).fold(0.0, f64::max)
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

    /// The same, for equal shares of the station whose share is furthest from that.
    pub(crate) fn lean(&self, sample: &Sample) -> Option<f64> {
        if !matches!(self, Goal::Level(level) if (level - 1.0).abs() < f64::EPSILON) {
            return self.side(sample);
        }
        let logs = sample.levels().into_iter().filter_map(|(_, level)| level.mean.filter(|mean| *mean > 0.0));
        logs.map(f64::ln).max_by(|a, b| a.abs().total_cmp(&b.abs()))
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
        let who = self.who();
        if who.is_none()
            && let Some(shortest) = sample.report.transfers.first()
            && shortest.transfers.mean_s.mean.is_some()
        {
            return shortest.transfers.mean_s;
        }
        let meant = self.stations(sample.scenario);
        let flows = sample.scenario.flows().zip(&sample.report.flows).enumerate();
        let fetching = flows.filter(|(_, ((station, flow), _))| meant.contains(station) && is_files(flow));
        longest(fetching.map(|(index, (_, row))| match row.transfers.mean_s {
            Estimate { mean: None, .. } => sample.under_way(index),
            mean => mean,
        }))
    }

    /// What was reached, for people.
    pub(crate) fn reached(&self, sample: &Sample) -> String {
        let number = |estimate: Estimate| estimate.mean.map_or("none".to_owned(), |mean| format!("{mean:.3}"));
        let ms = |estimate: Estimate| match estimate.mean {
            None => "none".to_owned(),
            Some(s) if s >= 10.0 => format!("{s:.2} s"),
            Some(s) => format!("{:.1} ms", s * 1e3),
        };
        let name = |index: usize| &sample.scenario.stations[index].name;
        match self {
            Goal::Level(level) if (level - 1.0).abs() < f64::EPSILON => {
                let furthest =
                    |a: &(usize, Estimate), b: &(usize, Estimate)| off(a.1, 1.0, 0.0).total_cmp(&off(b.1, 1.0, 0.0));
                let furthest = sample.levels().into_iter().max_by(furthest);
                furthest.map_or("1".to_owned(), |(who, level)| format!("{} ({})", number(level), name(who)))
            }
            Goal::Level(_) => number(sample.first_level()),
            Goal::DownUp(_) => number(sample.down_up()),
            Goal::Goodput { .. } => {
                let meant = self.stations(sample.scenario);
                let all = meant.iter().filter_map(|index| Some((*index, sample.station(*index).mean?)));
                let least = all.min_by(|a, b| a.1.total_cmp(&b.1));
                let whose = |index| if meant.len() > 1 { format!(" ({})", name(index)) } else { String::new() };
                least.map_or("none".to_owned(), |(who, bps)| format!("{:.3} Mbit/s{}", bps / 1e6, whose(who)))
            }
            Goal::Delay { .. } => ms(self.delay(sample)),
            // No file ended: this is what its rate says.
            Goal::Files { .. } => match self.files(sample) {
                own @ Estimate { n: 0, mean: Some(_), .. } => format!("about {}", ms(own)),
                own => ms(own),
            },
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

/// Whether something passes the AP's queue to the station: data, or acknowledgements.
fn gets_packets(scenario: &Scenario, station: usize) -> bool {
    let flows = &scenario.stations[station].flows;
    flows.iter().any(|flow| {
        flow.direction == Direction::Down
            || matches!(flow.traffic, Traffic::Bulk | Traffic::Files { .. } | Traffic::Quic)
    })
}

/// Which names a goal can give, groups before their stations, and the one that looks like `who`.
fn known(scenario: &Scenario, who: &str) -> String {
    let stations = &scenario.stations;
    let mut groups: Vec<&str> = stations.iter().map(Station::name_in_file).collect();
    groups.dedup();
    let listed = |group: &&str| {
        let count = stations.iter().filter(|own| own.group.as_deref() == Some(*group)).count();
        if count > 0 { format!("{group} ({group}-1 to {group}-{count})") } else { (*group).to_owned() }
    };
    let names: Vec<&str> = groups.iter().copied().chain(stations.iter().map(|own| own.name.as_str())).collect();
    let near = nearest(who, &names).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    format!("{near}the scenario has {}", groups.iter().take(20).map(listed).collect::<Vec<_>>().join(", "))
}

fn has_files(scenario: &Scenario, station: usize) -> bool {
    scenario.stations[station].flows.iter().any(is_files)
}
/// What each station carries alone: as reckoned for TCP, else the rate of its link, since a datagram may be longer than a segment and nothing
/// acknowledges it.
pub(super) fn alone(scenario: &Scenario) -> Vec<Bitrate> {
    let of = |(station, tcp): (&Station, Bitrate)| {
        let has_datagrams =
            station.flows.iter().any(|flow| matches!(flow.traffic, Traffic::UdpCbr { .. } | Traffic::UdpGreedy { .. }));
        if has_datagrams { station.rate } else { tcp }
    };
    scenario.stations.iter().zip(goodputs_alone(scenario)).map(of).collect()
}

/// Whether a station has other rates later: those of its start bound nothing.
pub(super) fn rates_change(scenario: &Scenario) -> bool {
    scenario.events.iter().any(|event| matches!(event.action, Action::Rate { .. }))
}
