//! The replicas of a scenario, ready to be asked for estimates.

use std::collections::BTreeMap;

use super::rows::{ApDelay, ByClass, MacReport, QueueReport, Transfers};
use super::{Estimate, FLOOR, Starved, coefficient_of_variation, mean, starved};
use crate::packet::{Class, Direction, DropReason};
use crate::qdisc::QueueStats;
use crate::record::{Delays, FlowRecord, MacStats, Record, StationRecord};
use crate::scenario::Scenario;
use crate::units::{Duration, word};

/// A replica's record with the goodputs that most quantities are made of.
pub(super) struct Replica<'a> {
    record: &'a Record,
    /// Whether the record's counters were counted; else goodputs are all that is known.
    counted: bool,
    /// Measured seconds, more than zero.
    pub(super) seconds: f64,
    /// Goodput of each flow in bit/s.
    pub(super) flows: Vec<f64>,
    /// Goodput of each station in bit/s, up and down.
    pub(super) stations: Vec<[f64; 2]>,
}

impl<'a> Replica<'a> {
    fn new(record: &'a Record, counted: bool) -> Option<Self> {
        let seconds = record.measured.as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let flows: Vec<f64> = record.flows.iter().map(|flow| flow.delivered_bytes as f64 * 8.0 / seconds).collect();
        let mut stations = vec![[0.0; 2]; record.stations.len()];
        for (flow, goodput) in record.flows.iter().zip(&flows) {
            if let Some(station) = stations.get_mut(flow.station) {
                station[flow.direction as usize] += goodput;
            }
        }
        Some(Replica { record, counted, seconds, flows, stations })
    }

    /// Its counters; `None` where only goodputs are known, so that no quantity takes what nobody counted for a zero.
    pub(super) fn record(&self) -> Option<&'a Record> {
        self.counted.then_some(self.record)
    }

    /// Goodput of the cell, bit/s.
    pub(super) fn total(&self) -> f64 {
        total(&self.flows)
    }

    /// Who is critically starved.
    pub(super) fn starved(&self, scenario: &Scenario) -> Starved {
        starved(scenario, self.record, FLOOR)
    }

    /// Goodput of a station, bit/s.
    pub(super) fn station(&self, index: usize) -> Option<f64> {
        self.stations.get(index).map(|[up, down]| up + down)
    }

    /// Counters of a station.
    pub(super) fn station_record(&self, index: usize) -> Option<&'a StationRecord> {
        self.record()?.stations.get(index)
    }

    /// The flows of a direction with their goodputs in bit/s.
    pub(super) fn flows_of(&self, direction: Direction) -> impl Iterator<Item = (&FlowRecord, f64)> {
        let with_goodput = self.record.flows.iter().zip(self.flows.iter().copied());
        with_goodput.filter(move |(flow, _)| flow.direction == direction)
    }
}

/// All replicas of a scenario that measured something.
pub(super) struct Cell<'a> {
    /// What was run.
    pub(super) scenario: &'a Scenario,
    pub(super) replicas: Vec<Replica<'a>>,
}

impl<'a> Cell<'a> {
    /// `counted`: whether the records' counters were counted, or stand for goodputs alone.
    pub(super) fn new(scenario: &'a Scenario, records: &'a [Record], counted: bool) -> Self {
        let replicas = records.iter().filter_map(|record| Replica::new(record, counted)).collect();
        Cell { scenario, replicas }
    }

    /// Goodputs that can be compared: of the flows of a direction, or of both, that are there in any of the measured time.
    pub(super) fn goodputs_of(&self, replica: &Replica, direction: Option<Direction>) -> Vec<f64> {
        let flows = self.scenario.flows().zip(self.scenario.measured_flows()).zip(&replica.flows);
        let compared =
            flows.filter(|(((_, flow), measured), _)| *measured && direction.is_none_or(|d| d == flow.direction));
        compared.map(|(_, goodput)| *goodput).collect()
    }

    /// Estimate of a quantity that each replica has.
    pub(super) fn mean(&self, quantity: impl Fn(&Replica<'a>) -> Option<f64>) -> Estimate {
        Estimate::of_mean(self.replicas.iter().map(quantity))
    }

    /// Estimate of a quotient, from its two sides in each replica.
    pub(super) fn ratio(&self, sides: impl Fn(&Replica<'a>) -> Option<(f64, f64)>) -> Estimate {
        Estimate::of_ratio(self.replicas.iter().map(sides))
    }

    /// Transfers of the flows that `flows` picks from a replica.
    pub(super) fn transfers<I>(&self, flows: impl Fn(&'a Record) -> I) -> Transfers
    where
        I: Iterator<Item = &'a FlowRecord>,
    {
        let seconds = |record: &'a Record| -> Vec<f64> {
            flows(record).flat_map(|flow| &flow.transfer_times).map(|time| time.as_secs_f64()).collect()
        };
        let times: Vec<Vec<f64>> = self.replicas.iter().filter_map(Replica::record).map(seconds).collect();
        Transfers {
            count: Estimate::of_mean(times.iter().map(|times| Some(times.len() as f64))),
            mean_s: Estimate::of_mean(times.iter().map(|times| mean(times))),
            cov: Estimate::of_mean(times.iter().map(|times| coefficient_of_variation(times))),
        }
    }

    /// A queue, by where a record has it.
    pub(super) fn queue(&self, stats: impl for<'r> Fn(&'r Record) -> Option<&'r QueueStats>) -> QueueReport {
        let by_class = |estimate: &dyn Fn(Class) -> Estimate| {
            let [data, ack, other] = Class::ALL.map(estimate);
            ByClass { data, ack, other }
        };
        let of = |replica: &Replica<'a>| replica.record().and_then(&stats);
        let quantile = |q: f64| self.mean(|replica| of(replica)?.delays.quantile(q).map(Duration::as_secs_f64));
        let arrivals = |replica: &Replica<'a>, class: Class| Some(of(replica)?.arrivals[class.index()] as f64);
        let drops = |reason: DropReason| {
            let of = |class: Class| self.mean(|replica| Some(of(replica)?.drops[reason.index()][class.index()] as f64));
            (word(&reason), by_class(&of))
        };
        QueueReport {
            mean_packets: self.mean(|replica| Some(mean_packets(of(replica)?, replica))),
            mean_sojourn_s: self.ratio(|replica| Some(sojourn_sides(of(replica)?))),
            p95_sojourn_s: quantile(0.95),
            p99_sojourn_s: quantile(0.99),
            arrivals: by_class(&|class| self.mean(|replica| arrivals(replica, class))),
            drops: self.reasons().map(drops).collect(),
            drop_probability: by_class(&|class| {
                self.ratio(|replica| {
                    let own = of(replica)?;
                    Some(drop_share(own.dropped(class), own.arrivals[class.index()], own.departures[class.index()]))
                })
            }),
        }
    }

    /// Delay in the AP on the way to the stations.
    pub(super) fn ap_delay(&self) -> ApDelay {
        let quantile = |q: f64| {
            self.mean(|replica| {
                let record = replica.record()?;
                let times = record.ap_delays.as_ref().map_or(&record.ap_queue.delays, |delays| &delays.times);
                times.quantile(q).map(Duration::as_secs_f64)
            })
        };
        let mean_s = self.ratio(|replica| {
            let record = replica.record()?;
            let sent = |delays: &Delays| (delays.sum.as_secs_f64(), delays.count as f64);
            Some(record.ap_delays.as_ref().map_or_else(|| sojourn_sides(&record.ap_queue), sent))
        });
        ApDelay { mean_s, p95_s: quantile(0.95), p99_s: quantile(0.99) }
    }

    /// Why packets are dropped: none where no engine counted them.
    fn reasons(&self) -> impl Iterator<Item = DropReason> {
        let is_counted = self.replicas.iter().any(|replica| replica.counted) || self.replicas.is_empty();
        DropReason::ALL.into_iter().filter(move |_| is_counted)
    }

    /// Packets lost anywhere, by reason.
    pub(super) fn losses(&self) -> BTreeMap<String, Estimate> {
        let of = |reason: DropReason| self.mean(|replica| Some(lost(replica.record()?, reason) as f64));
        self.reasons().map(|reason| (word(&reason), of(reason))).collect()
    }

    /// A transmitter, by where a record has it.
    pub(super) fn mac(&self, stats: impl Fn(&Record) -> Option<MacStats>) -> MacReport {
        let of = |replica: &Replica<'a>| replica.record().and_then(&stats);
        let count = |counter: fn(&MacStats) -> u64| self.mean(|replica| Some(counter(&of(replica)?) as f64));
        let qos = self.replicas.iter().filter_map(Replica::record).any(|record| {
            let stations = record.stations.iter().map(|station| station.mac);
            stations.chain([record.ap_mac]).any(|mac| mac.qos.txops > 0)
        });
        let of_qos = |counter: fn(&MacStats) -> u64| qos.then(|| count(counter));
        MacReport {
            attempts: count(|mac| mac.attempts),
            collision_probability: self
                .ratio(|replica| of(replica).map(|stats| (stats.collisions as f64, stats.attempts as f64))),
            frame_errors: count(|mac| mac.frame_errors),
            delivered: count(|mac| mac.delivered),
            discards: count(|mac| mac.discards),
            airtime_share: self.mean(|replica| of(replica).map(|stats| stats.airtime.as_secs_f64() / replica.seconds)),
            ppdus: of_qos(|mac| mac.qos.ppdus),
            mpdus_per_ppdu: qos.then(|| {
                self.ratio(|replica| of(replica).map(|stats| (stats.qos.mpdus as f64, stats.qos.ppdus as f64)))
            }),
            txops: of_qos(|mac| mac.qos.txops),
            mpdu_retries: of_qos(|mac| mac.qos.mpdu_retries),
            answers_missed: of_qos(|mac| mac.qos.answers_missed),
            bars: of_qos(|mac| mac.qos.bars),
            rts: of_qos(|mac| mac.qos.rts),
        }
    }
}

/// Packets of a replica lost for `reason`.
fn lost(record: &Record, reason: DropReason) -> u64 {
    let stations = record.stations.iter();
    let boxed = record.enforce.iter().flat_map(|enforce| &enforce.stations).map(|station| &station.queue);
    let queues = stations.clone().map(|station| &station.uplink_queue).chain(boxed);
    let queues = queues.chain([&record.ap_queue, &record.ap_uplink_queue]);
    let in_queues: u64 = queues.flat_map(|queue| queue.drops[reason.index()]).sum();
    let elsewhere = match reason {
        DropReason::RetryLimit => stations.map(|station| station.mac.discards).sum::<u64>() + record.ap_mac.discards,
        DropReason::WireFull => record.wire_drops,
        _ => 0,
    };
    in_queues + elsewhere
}

/// The sum, plain zero of nothing (the standard library's is -0.0).
pub(super) fn total(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value)
}

/// Mean over time of the packets that wait.
pub(super) fn mean_packets(stats: &QueueStats, replica: &Replica) -> f64 {
    stats.occupancy as f64 / 1e9 / replica.seconds
}

/// Sum of the waiting times in seconds, and packets served.
pub(super) fn sojourn_sides(stats: &QueueStats) -> (f64, f64) {
    (stats.sojourn.as_secs_f64(), stats.departures.iter().sum::<u64>() as f64)
}

/// Both sides of the share of a queue's packets that it drops.
pub(super) fn drop_sides(stats: &QueueStats) -> (f64, f64) {
    let drops: u64 = Class::ALL.into_iter().map(|class| stats.dropped(class)).sum();
    drop_share(drops, stats.arrivals.iter().sum(), stats.departures.iter().sum())
}

/// Drops over arrivals; over all that left where more were dropped than arrived, since they waited as the measurement began.
fn drop_share(drops: u64, arrivals: u64, departures: u64) -> (f64, f64) {
    (drops as f64, if drops > arrivals { drops + departures } else { arrivals } as f64)
}
