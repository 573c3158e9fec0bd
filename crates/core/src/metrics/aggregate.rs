//! Records of replicas in, report out.

use std::collections::BTreeSet;

use super::cell::{Cell, Replica, drop_sides, mean_packets, sojourn_sides, total};
use super::report::{Directions, Indices, MacSection, Report, SCHEMA, SeriesReport, Totals, UntilCi};
use super::rows::{ApReport, DirectionReport, FlowReport, SizeTransfers, StationReport, Transport};
use super::{Estimate, fingerprint, jain_index, mean, sigma_over_mean};
use crate::packet::Direction;
use crate::record::{FlowRecord, MacStats, Record, StationRecord};
use crate::scenario::{Flow, Scenario, Station, Traffic};

/// Most stations for which the matrix of fairness levels is given.
const MATRIX_STATIONS: usize = 32;

/// What a report says about its making that the records do not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// What produced the records.
    pub engine: String,
    /// Version of the program.
    pub version: String,
    /// Replicas that were asked for.
    pub replicas_planned: u32,
    /// Whether the run was stopped before they were done.
    pub interrupted: bool,
    /// The wanted precision, if any.
    pub until_ci: Option<UntilCi>,
}

impl Report {
    /// The report on `records`, those of replicas 0, 1, ... of `scenario`.
    ///
    /// Records without measured time (or without the flow or station asked for) do not count.
    pub fn new(scenario: &Scenario, records: &[Record], provenance: Provenance) -> Report {
        Report::in_brief(scenario, records, provenance).identified(scenario, records)
    }

    /// As [`Report::new`], without the scenario and the fingerprint: they take longer than all the rest when a sweep
    /// reduces short runs to numbers.
    pub fn in_brief(scenario: &Scenario, records: &[Record], provenance: Provenance) -> Report {
        Report::of_cell(&Cell::new(scenario, records, true), records, provenance)
    }

    /// As [`Report::new`] for an engine that knows goodputs only: of `record` the flows' bytes and the time count. What
    /// else the engine knows it adds itself; all the rest is null.
    pub fn of_goodputs(scenario: &Scenario, record: &Record, provenance: Provenance) -> Report {
        let records = std::slice::from_ref(record);
        Report::of_cell(&Cell::new(scenario, records, false), records, provenance).identified(scenario, records)
    }

    fn identified(self, scenario: &Scenario, records: &[Record]) -> Report {
        let scenario = serde_json::to_value(scenario).unwrap_or_default();
        Report { scenario, fingerprint: fingerprint(records), ..self }
    }

    fn of_cell(cell: &Cell, records: &[Record], provenance: Provenance) -> Report {
        let scenario = cell.scenario;
        Report {
            schema: SCHEMA.to_owned(),
            engine: provenance.engine,
            version: provenance.version,
            scenario: serde_json::Value::Null,
            seed: scenario.run.seed,
            replicas: records.len() as u32,
            replicas_planned: provenance.replicas_planned,
            interrupted: provenance.interrupted,
            until_ci: provenance.until_ci,
            measured_s: records.first().map_or(0.0, |record| record.measured.as_secs_f64()),
            fingerprint: String::new(),
            totals: cell.totals(),
            directions: Directions { up: cell.direction(Direction::Up), down: cell.direction(Direction::Down) },
            indices: cell.indices(),
            access_points: cell.access_points(),
            ap_queue: cell.queue(|record| Some(&record.ap_queue)),
            ap_delay: cell.ap_delay(),
            ap_uplink_queue: cell.queue(|record| Some(&record.ap_uplink_queue)),
            enforce: cell.enforce(),
            losses: cell.losses(),
            mac: MacSection {
                ap: cell.mac(|record| Some(record.ap_mac)),
                stations: cell
                    .mac(|record| Some(record.stations.iter().fold(MacStats::default(), |sum, own| sum + own.mac))),
            },
            stations: cell.stations(),
            flows: cell.flows(),
            transfers: cell.transfers_by_size(),
            series: series(records),
            model: None,
            testbed: None,
        }
    }
}

impl<'a> Cell<'a> {
    fn totals(&self) -> Totals {
        Totals {
            goodput_bps: self.mean(|replica| Some(replica.total())),
            packets_per_second: self.mean(|replica| {
                let record = replica.record()?;
                let stations: u64 = record.stations.iter().map(|station| station.mac.delivered).sum();
                Some((record.ap_mac.delivered + stations) as f64 / replica.seconds)
            }),
        }
    }

    fn direction(&self, direction: Direction) -> DirectionReport {
        let count = |replica: &Replica, counter: fn(&FlowRecord) -> Option<u64>| {
            flows_of(replica.record()?, direction).map(counter).sum::<Option<u64>>().map(|sum| sum as f64)
        };
        DirectionReport {
            flows: self.scenario.flows().filter(|(_, flow)| flow.direction == direction).count() as u32,
            goodput_bps: self.mean(|replica| {
                Some(total(&replica.flows_of(direction).map(|(_, goodput)| goodput).collect::<Vec<_>>()))
            }),
            mean_flow_goodput_bps: self.mean(|replica| mean(&self.goodputs_of(replica, Some(direction)))),
            sigma_over_mean: self.mean(|replica| sigma_over_mean(&self.goodputs_of(replica, Some(direction)))),
            retransmit_share: self.ratio(|replica| {
                Some((count(replica, |flow| Some(flow.retransmits))?, count(replica, |flow| Some(flow.sent_packets))?))
            }),
            timeouts: self.mean(|replica| count(replica, |flow| flow.timeouts)),
            transfers: self.transfers(|record| flows_of(record, direction)),
        }
    }

    fn transfers_by_size(&self) -> Vec<SizeTransfers> {
        let size = |traffic: Traffic| match traffic {
            Traffic::Files { size, .. } => Some(size.0),
            _ => None,
        };
        let sizes: Vec<Option<u64>> = self.scenario.flows().map(|(_, flow)| size(flow.traffic)).collect();
        let distinct: BTreeSet<u64> = sizes.iter().copied().flatten().collect();
        let of_size = |wanted: u64| {
            self.transfers(|record| {
                let flows = record.flows.iter().zip(&sizes);
                flows.filter(move |(_, size)| **size == Some(wanted)).map(|(flow, _)| flow)
            })
        };
        distinct.into_iter().map(|size_bytes| SizeTransfers { size_bytes, transfers: of_size(size_bytes) }).collect()
    }

    fn indices(&self) -> Indices {
        let scenario = self.scenario;
        let with_flows = scenario.measured_stations();
        let of = |replica: &Replica, direction: Direction| mean(&self.goodputs_of(replica, Some(direction)));
        let stations = |replica: &Replica| -> Option<Vec<f64>> {
            with_flows.iter().map(|index| replica.station(*index)).collect()
        };
        Indices {
            jain_flows: self.mean(|replica| jain_index(&self.goodputs_of(replica, None))),
            jain_stations: self.mean(|replica| jain_index(&stations(replica)?)),
            up_down_ratio: self.ratio(|replica| Some((of(replica, Direction::Up)?, of(replica, Direction::Down)?))),
            fairness_level_first_station: self.ratio(|replica| {
                let goodputs = stations(replica).filter(|_| with_flows.first() == Some(&0))?;
                Some((goodputs[0], mean(&goodputs[1..])?))
            }),
            fairness_level: self.fairness_levels(),
            starved_flows: self.mean(|replica| Some(replica.starved(self.scenario).flows.len() as f64)),
            starved_stations: self.mean(|replica| Some(replica.starved(self.scenario).stations.len() as f64)),
        }
    }

    fn fairness_levels(&self) -> Option<Vec<Vec<Estimate>>> {
        let stations = 0..self.scenario.stations.len();
        let eta = |i, j| self.ratio(|replica| Some((replica.station(i)?, replica.station(j)?)));
        (stations.len() <= MATRIX_STATIONS)
            .then(|| stations.clone().map(|i| stations.clone().map(|j| eta(i, j)).collect()).collect())
    }

    fn access_points(&self) -> Vec<ApReport> {
        if self.scenario.access_points.is_empty() {
            return Vec::new();
        }
        let of = |(ap, name): (usize, &str)| ApReport {
            name: name.to_owned(),
            goodput_bps: self.mean(|replica| {
                let own = self.scenario.stations.iter().enumerate().filter(|(_, station)| station.ap == ap);
                Some(total(&own.filter_map(|(index, _)| replica.station(index)).collect::<Vec<_>>()))
            }),
            queue: self.queue(|record| Some(&record.access_points.get(ap)?.queue)),
            uplink_queue: self.queue(|record| Some(&record.access_points.get(ap)?.uplink_queue)),
            mac: self.mac(|record| Some(record.access_points.get(ap)?.mac)),
        };
        self.scenario.access_point_names().enumerate().map(of).collect()
    }

    fn stations(&self) -> Vec<StationReport> {
        let rows = self.scenario.stations.iter().zip(groups(self.scenario)).enumerate();
        rows.map(|(index, (station, group))| self.station(index, &station.name, group)).collect()
    }

    fn station(&self, index: usize, name: &str, group: String) -> StationReport {
        let goodput =
            |direction: Direction| self.mean(move |replica| Some(replica.stations.get(index)?[direction as usize]));
        let own = |replica: &Replica<'a>| replica.station_record(index);
        let uplink = |replica: &Replica<'a>| own(replica).map(|own| &own.uplink_queue);
        let seconds_of_air = |station: &StationRecord| (station.mac.airtime + station.airtime_down).as_secs_f64();
        StationReport {
            name: name.to_owned(),
            group,
            goodput_up_bps: goodput(Direction::Up),
            goodput_down_bps: goodput(Direction::Down),
            goodput_bps: self.mean(|replica| replica.station(index)),
            goodput_share: self.ratio(|replica| Some((replica.station(index)?, replica.total()))),
            airtime_share: self.mean(|replica| Some(seconds_of_air(own(replica)?) / replica.seconds)),
            airtime_down_share: self.mean(|replica| Some(own(replica)?.airtime_down.as_secs_f64() / replica.seconds)),
            ap_delay_p95_s: self.mean(|replica| Some(own(replica)?.ap_delays.quantile(0.95)?.as_secs_f64())),
            uplink_queue_mean_packets: self.mean(|replica| Some(mean_packets(uplink(replica)?, replica))),
            uplink_queue_mean_sojourn_s: self.ratio(|replica| uplink(replica).map(sojourn_sides)),
            uplink_queue_drop_probability: self.ratio(|replica| uplink(replica).map(drop_sides)),
            mac: self.mac(|record| Some(record.stations.get(index)?.mac)),
        }
    }

    fn flows(&self) -> Vec<FlowReport> {
        let row = |(index, (station, flow)): (usize, (usize, &Flow))| {
            let count = |counter: fn(&FlowRecord) -> Option<u64>| {
                self.mean(|replica| counter(replica.record()?.flows.get(index)?).map(|count| count as f64))
            };
            FlowReport {
                station: self.scenario.stations[station].name.clone(),
                direction: flow.direction,
                transport: match flow.traffic {
                    Traffic::Bulk | Traffic::Files { .. } => Transport::Tcp,
                    Traffic::Quic => Transport::Quic,
                    Traffic::UdpGreedy { .. } | Traffic::UdpCbr { .. } => Transport::Udp,
                },
                goodput_bps: self.mean(|replica| replica.flows.get(index).copied()),
                sent_packets: count(|flow| Some(flow.sent_packets)),
                retransmits: count(|flow| Some(flow.retransmits)),
                timeouts: count(|flow| flow.timeouts),
                fast_retransmits: count(|flow| flow.fast_retransmits),
                transfers: self.transfers(|record| record.flows.get(index).into_iter()),
            }
        };
        self.scenario.flows().enumerate().map(row).collect()
    }
}

/// The flows of a direction.
fn flows_of(record: &Record, direction: Direction) -> impl Iterator<Item = &FlowRecord> {
    record.flows.iter().filter(move |flow| flow.direction == direction)
}

/// The time series of replica 0, if it has one.
fn series(records: &[Record]) -> Option<SeriesReport> {
    let series = &records.first()?.series;
    (!series.at.is_empty()).then(|| SeriesReport {
        replica: 0,
        at_s: series.at.iter().map(|at| at.as_secs_f64()).collect(),
        ap_queue_packets: series.ap_queue_packets.clone(),
        cwnd_segments: series.cwnd.clone(),
    })
}

/// Of each station the name that it shares with neighbours of its kind, else its own.
fn groups(scenario: &Scenario) -> Vec<String> {
    let stations = &scenario.stations;
    let alike = |a: &Station, b: &Station| {
        stem(&a.name) == stem(&b.name)
            && Station { name: String::new(), ..a.clone() } == Station { name: String::new(), ..b.clone() }
    };
    let joined: Vec<bool> = stations.windows(2).map(|pair| alike(&pair[0], &pair[1])).collect();
    let joined_at = |index: usize| joined.get(index).copied().unwrap_or(false);
    let grouped = |index: usize| joined_at(index) || index.checked_sub(1).is_some_and(joined_at);
    let name = |(index, station): (usize, &Station)| {
        if grouped(index) { stem(&station.name).to_owned() } else { station.name.clone() }
    };
    stations.iter().enumerate().map(name).collect()
}

/// A name without the number at its end.
fn stem(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_', '.', '#', ' ']);
    if stem.is_empty() { name } else { stem }
}
