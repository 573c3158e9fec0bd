//! Who starves: what each flow and station would have if the cell were shared max-min by what they ask for, and who
//! gets next to nothing of that.

use crate::packet::TCP_IP_HEADER;
use crate::record::Record;
use crate::scenario::{Flow, Scenario, Traffic, Wire};
use crate::units::Duration;

/// Goodput below this share of the max-min share is starvation ("critically starved").
pub const FLOOR: f64 = 0.05;

/// A file may take so many seconds before its user is said to wait for it: connections are set up, and a first packet may be lost.
const PATIENCE_S: f64 = 1.0;

/// Datagrams that may still be under way.
const UNDER_WAY: u64 = 1;

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
}

impl MaxMin {
    /// The shares of `total_bps` of goodput among the flows of `scenario`.
    pub fn of(scenario: &Scenario, total_bps: f64) -> Self {
        MaxMin::among(scenario, total_bps, |_| None)
    }

    /// The shares of what `record` says was delivered. Files with pauses are asked for at random, and how many are left of a given number
    /// nobody knows: such a flow asks for no more than it could have had in the time in which a file was under way. Datagrams that were
    /// not sent were not asked for.
    pub fn of_replica(scenario: &Scenario, record: &Record) -> Self {
        MaxMin::of_multiple(scenario, record, 1.0)
    }

    /// The shares of `factor` times what `record` says was delivered: a remedy that takes from everybody is judged by what there was.
    pub fn of_multiple(scenario: &Scenario, record: &Record, factor: f64) -> Self {
        let seconds = record.measured.as_secs_f64().max(1e-9);
        let total_bps = record.flows.iter().map(|flow| flow.delivered_bytes as f64 * 8.0).sum::<f64>() / seconds;
        let known = |flow: usize| {
            let own = record.flows.get(flow)?;
            let waited = own.busy.map(|busy| (busy.as_secs_f64() - PATIENCE_S).max(0.0) / seconds);
            Some(Known { waited, sent_per_s: own.sent_packets.saturating_sub(UNDER_WAY) as f64 / seconds })
        };
        MaxMin::among(scenario, factor * total_bps, known)
    }

    /// `known`: what was seen of a flow.
    fn among(scenario: &Scenario, total_bps: f64, known: impl Fn(usize) -> Option<Known>) -> Self {
        let flows = scenario.flows().enumerate();
        let asked: Vec<(usize, Option<Asked>)> = flows
            .map(|(index, (station, flow))| {
                (station, Asked::of(scenario, flow).and_then(|asked| asked.within(flow, known(index))))
            })
            .collect();
        let flow_at = |level: f64, (_, asked): &(usize, Option<Asked>)| asked.map(|asked| asked.at(level));
        let level = water_level(total_bps, |level| asked.iter().filter_map(|flow| flow_at(level, flow)).sum());
        let flows: Vec<Option<f64>> = asked.iter().map(|flow| flow_at(level, flow)).collect();
        let station_at = |level: f64, index: usize| -> Option<f64> {
            let own = asked.iter().filter(|(station, _)| *station == index);
            let sums: Vec<f64> = own.filter_map(|flow| flow_at(level, flow)).collect();
            (!sums.is_empty()).then(|| sums.iter().sum::<f64>().min(level))
        };
        let count = scenario.stations.len();
        let of_stations = water_level(total_bps, |level| (0..count).filter_map(|index| station_at(level, index)).sum());
        let stations: Vec<Option<f64>> = (0..count).map(|index| station_at(of_stations, index)).collect();
        // A bulk flow asks for all that it is given: less than 99 % of the level is a limit of its own.
        let limited = |share: &Option<f64>, level: f64| share.is_some_and(|share| share < 0.99 * level);
        MaxMin {
            flow_is_limited: flows.iter().map(|share| limited(share, level)).collect(),
            station_is_limited: stations.iter().map(|share| limited(share, of_stations)).collect(),
            flows,
            stations,
        }
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

/// The level at which `sum` reaches `total`; what exceeds all demands is left over.
fn water_level(total: f64, sum: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, total.max(0.0) * 1e3 + 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if sum(middle) < total { low = middle } else { high = middle }
    }
    low
}

/// What a replica showed of a flow.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// In which part of the measured time it has waited for files, if it has any.
    waited: Option<f64>,
    /// Packets that it sent.
    sent_per_s: f64,
}

/// What a flow asks for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// Part of the measured time in which it is there.
    present: f64,
    /// Most that it takes while it sends: its rate, its window over the round trip of its wires, or its wires.
    most: f64,
    /// Files with pauses: bits of a file, mean seconds of a burst and of a pause.
    paused: Option<(f64, f64, f64)>,
    /// A given number of files that began before the measured time: how many of them are left is not known.
    is_left: bool,
    /// In which part of the measured time it has waited for files, where that is known and says more than the rest.
    waited: Option<f64>,
}

impl Asked {
    /// Nothing for a flow that is not there in the measured time.
    fn of(scenario: &Scenario, flow: &Flow) -> Option<Self> {
        let (from, to) = (scenario.run.warmup, scenario.run.duration);
        let measured = (to.as_secs_f64() - from.as_secs_f64()).max(1e-9);
        let begins = flow.start.max(from).as_secs_f64();
        let ends = flow.stop.unwrap_or(to).min(to).as_secs_f64();
        let present = ((ends - begins) / measured).clamp(0.0, 1.0);
        if present <= 0.0 {
            return None;
        }
        let wires = std::iter::once(&scenario.wire).chain(&flow.wire);
        let mut most = wires.clone().map(|wire| wire_goodput(wire, flow)).fold(f64::INFINITY, f64::min);
        let round_trip: f64 = wires.map(|wire| 2.0 * wire.delay.as_secs_f64()).sum();
        let (mut paused, mut is_left) = (None, false);
        match flow.traffic {
            Traffic::Bulk => most = most.min(windows(flow, round_trip)),
            Traffic::Files { size, count, burst, idle } => {
                most =
                    most.min(windows(flow, round_trip)).min(size.as_bits() as f64 / set_up(flow, size.0, round_trip));
                is_left = count.is_some() && flow.start < from;
                if let Some(count) = count.filter(|_| !is_left) {
                    most = most.min(f64::from(count) * size.as_bits() as f64 / measured / present);
                }
                if idle > Duration::ZERO {
                    paused = Some((size.as_bits() as f64, burst.as_secs_f64(), idle.as_secs_f64()));
                }
            }
            Traffic::Quic | Traffic::UdpGreedy { .. } => {}
            Traffic::UdpCbr { rate, .. } => most = most.min(rate.as_bps() as f64),
        }
        Some(Asked { present, most, paused, is_left, waited: None })
    }

    /// With what is known of `flow`; nothing where that is needed and is not there.
    fn within(self, flow: &Flow, known: Option<Known>) -> Option<Self> {
        let Some(Known { waited, sent_per_s }) = known else { return Some(self).filter(|own| !own.is_left) };
        if self.is_left && waited.is_none() {
            return None;
        }
        let sent = match flow.traffic {
            Traffic::UdpCbr { payload, .. } => sent_per_s * payload.as_bits() as f64 / self.present,
            _ => f64::INFINITY,
        };
        let waited = waited.filter(|_| self.paused.is_some() || self.is_left);
        Some(Asked { waited, most: self.most.min(sent), ..self })
    }

    /// What it takes where nobody gets more than `level` bit/s at a time.
    fn at(self, level: f64) -> f64 {
        let sending = level.min(self.most);
        let most = self.waited.map_or(f64::INFINITY, |waited| waited * sending);
        let asked = self.present
            * match self.paused {
                None => sending,
                Some(_) if sending <= 0.0 => 0.0,
                Some((bits, burst, idle)) => {
                    // A file that has begun is brought to its end.
                    let on = burst.max(bits / sending);
                    sending * on / (on + idle)
                }
            };
        asked.min(most)
    }
}

/// Payload that a wire carries of a flow's full packets.
fn wire_goodput(wire: &Wire, flow: &Flow) -> f64 {
    let mss = f64::from(flow.tcp.mss);
    wire.rate.as_bps() as f64 * mss / (mss + TCP_IP_HEADER as f64)
}

/// A window a round trip.
fn windows(flow: &Flow, round_trip: f64) -> f64 {
    f64::from(flow.tcp.window) * f64::from(flow.tcp.mss) * 8.0 / round_trip
}

/// Least time that a file of `bytes` takes: the handshake and the rounds of slow start.
fn set_up(flow: &Flow, bytes: u64, round_trip: f64) -> f64 {
    let segments = bytes as f64 / f64::from(flow.tcp.mss.max(1));
    let rounds = (segments / f64::from(flow.tcp.initial_cwnd.max(1)) + 1.0).log2().ceil().max(1.0);
    round_trip * (1.0 + rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FlowRecord;

    fn cell(stations: &str) -> Scenario {
        let text = format!("name = \"cell\"\n[run]\nduration = \"120 s\"\nwarmup = \"20 s\"\n{stations}");
        Scenario::from_toml(&text, "cell.toml").unwrap()
    }

    #[track_caller]
    fn close(got: Option<f64>, expected: f64) {
        let got = got.expect("can be judged");
        assert!((got / expected - 1.0).abs() < 1e-6, "{got} is not {expected}");
    }

    #[test]
    fn who_asks_for_less_leaves_the_rest_to_the_others() {
        let scenario = cell(
            r#"
            [[station]]
            name = "sensor"
            flows = [{ direction = "up", kind = "udp", rate = "50 kbit/s" }]
            [[station]]
            name = "bulk"
            count = 2
            flows = [{ direction = "down" }]
            [[station]]
            name = "idle"
            "#,
        );
        let shares = MaxMin::of(&scenario, 4_050_000.0);
        close(shares.flows[0], 50_000.0);
        close(shares.flows[1], 2_000_000.0);
        assert_eq!(shares.station_is_limited, [true, false, false, false]);
        assert_eq!(shares.stations[3], None);
        let starved =
            shares.starved(FLOOR, &[50_000.0, 90_000.0, 3_910_000.0], &[50_000.0, 90_000.0, 3_910_000.0, 0.0]);
        assert_eq!(starved, Starved { flows: vec![1], stations: vec![1] });
        assert!(shares.starved(0.01, &[50_000.0, 90_000.0, 0.9e6], &[5e4, 9e4, 1e6, 0.0]).is_nobody());
    }

    #[test]
    fn a_station_of_many_flows_has_one_share_and_its_flows_have_one_each() {
        let scenario = cell(
            r#"
            [[station]]
            name = "greedy"
            flows = [{ direction = "up", count = 3 }]
            [[station]]
            name = "modest"
            flows = [{ direction = "down" }]
            "#,
        );
        let shares = MaxMin::of(&scenario, 4e6);
        close(shares.flows[3], 1e6);
        close(shares.stations[0], 2e6);
        close(shares.stations[1], 2e6);
        assert!(!shares.flow_is_limited[0] && !shares.station_is_limited[1]);
    }

    #[test]
    fn pauses_windows_and_absences_are_limits_of_the_flow() {
        let scenario = cell(
            r#"
            [[station]]
            name = "web"
            flows = [{ direction = "down", kind = "files", size = "10 kB", burst = "500 ms", idle = "500 ms" }]
            [[station]]
            name = "satellite"
            flows = [{ direction = "down", tcp = { window = 4 }, wire = { delay = "300 ms" } }]
            [[station]]
            name = "late"
            flows = [{ direction = "down", start = "70 s" }]
            [[station]]
            name = "bulk"
            flows = [{ direction = "up" }]
            [[station]]
            name = "over"
            flows = [{ direction = "up", kind = "files", size = "1 MB", files = 1 }]
            "#,
        );
        let shares = MaxMin::of(&scenario, 4e6);
        close(shares.flows[1], 4.0 * 1460.0 * 8.0 / 0.6);
        let level = (4e6 - shares.flows[1].unwrap()) / 2.0;
        // Half of the time each; the bulk upload all of it.
        close(shares.flows[0], level / 2.0);
        close(shares.flows[2], level / 2.0);
        close(shares.flows[3], level);
        assert_eq!(shares.flows[4], None, "it may be over before anything is measured");
        assert_eq!(shares.flow_is_limited, [true, true, true, false, false]);
    }

    #[test]
    fn nothing_to_share_starves_nobody_and_does_not_hang() {
        let scenario = cell("[[station]]\nname = \"a\"\nflows = [{ direction = \"up\" }]");
        assert!(MaxMin::of(&scenario, 0.0).starved(FLOOR, &[0.0], &[0.0]).is_nobody());
    }

    fn record(scenario: &Scenario, seen: &[(f64, f64)]) -> Record {
        let flow = |((station, flow), (goodput, busy_s)): ((usize, &Flow), &(f64, f64))| FlowRecord {
            station,
            direction: flow.direction,
            tcp: true,
            delivered_bytes: (goodput * 100.0 / 8.0) as u64,
            sent_packets: 0,
            retransmits: 0,
            timeouts: None,
            longest_timeout: None,
            fast_retransmits: None,
            transfer_times: Vec::new(),
            busy: (*busy_s > 0.0).then(|| Duration::from_secs_f64(*busy_s)),
        };
        let flows = scenario.flows().zip(seen).map(flow).collect();
        Record { measured: Duration::from_secs(100), flows, ..Record::default() }
    }

    /// A web user that asked for one file in 100 s and got it has what it asked for; one that waited all the time for it has not.
    #[test]
    fn a_quiet_user_of_the_web_does_not_starve_and_one_that_waits_in_vain_does() {
        let scenario = cell(
            r#"
            [[station]]
            name = "web"
            flows = [{ direction = "down", kind = "files", size = "100 kB", burst = "1 s", idle = "1 s" }]
            [[station]]
            name = "bulk"
            flows = [{ direction = "down" }]
            "#,
        );
        let starved = |web: (f64, f64)| {
            let shares = MaxMin::of_replica(&scenario, &record(&scenario, &[web, (4e6, 0.0)]));
            shares.starved(FLOOR, &[web.0, 4e6], &[web.0, 4e6])
        };
        let who = Starved { flows: vec![0], stations: vec![0] };
        assert!(starved((8e3, 0.5)).is_nobody(), "one file, in half a second");
        assert!(starved((8e3, 4.0)).is_nobody(), "in 4 s, at 0.2 Mbit/s");
        assert_eq!(starved((8e3, 60.0)), who, "in a minute");
        assert_eq!(starved((0.0, 60.0)), who, "none of it");
        assert_eq!(starved((30e3, 99.0)), who, "file after file, each slow");
        assert!(starved((0.0, 0.3)).is_nobody(), "it began only just");
        // A given number of files, which began before anything was measured, and no pauses.
        let counted = cell(
            r#"
            [[station]]
            name = "guest"
            flows = [{ direction = "down", kind = "files", size = "100 kB", files = 1000 }]
            [[station]]
            name = "bulk"
            flows = [{ direction = "down" }]
            "#,
        );
        let starved = |guest: (f64, f64)| {
            let shares = MaxMin::of_replica(&counted, &record(&counted, &[guest, (4e6, 0.0)]));
            shares.starved(FLOOR, &[guest.0, 4e6], &[guest.0, 4e6])
        };
        assert_eq!(starved((66e3, 100.0)), who, "it waits for them all the time");
        assert!(starved((66e3, 1.5)).is_nobody(), "the last ones, in a second");
        assert!(starved((0.0, 0.0)).is_nobody(), "they are over");
        // What it asked for on average is the most that counts.
        let full = MaxMin::of_replica(&scenario, &record(&scenario, &[(1e6, 100.0), (3e6, 0.0)]));
        assert_eq!(full.flows, MaxMin::of(&scenario, 4e6).flows);
    }
}
