//! A prediction in the schema of results.

use super::prediction::Prediction;
use crate::metrics::{ByClass, Estimate, Provenance, Report};
use crate::qdisc::QueueStats;
use crate::record::{FlowRecord, MacStats, Record, StationRecord};
use crate::scenario::Scenario;
use crate::units::Duration;

impl Prediction {
    /// The answer in the schema of all engines. What the model knows has `n` = 1 and no interval; what it does not know
    /// is null with `n` = 0.
    pub fn report(&self, scenario: &Scenario, version: &str) -> Report {
        let measured = scenario.run.duration.saturating_sub(scenario.run.warmup);
        let provenance = Provenance {
            engine: "model".to_owned(),
            version: version.to_owned(),
            replicas_planned: 1,
            interrupted: false,
            until_ci: None,
        };
        let record = self.record(scenario, measured);
        let mut report = Report::of_goodputs(scenario, &record, provenance);
        self.add(&mut report, &record);
        report.model = Some(self.section.clone());
        report
    }

    /// Counters as a run would have left them, for the indices to be computed by the same code.
    fn record(&self, scenario: &Scenario, measured: Duration) -> Record {
        let seconds = measured.as_secs_f64();
        let occupancy = |packets: f64| (packets * seconds * 1e9) as u128;
        let flow = |((station, flow), goodput): ((usize, &crate::scenario::Flow), &f64)| FlowRecord {
            station,
            direction: flow.direction,
            tcp: true,
            delivered_bytes: (goodput * seconds / 8.0).round() as u64,
            sent_packets: 0,
            retransmits: 0,
            timeouts: None,
            longest_timeout: None,
            fast_retransmits: None,
            transfer_times: Vec::new(),
            busy: None,
            periods: Vec::new(),
        };
        let station = |index: usize| StationRecord {
            uplink_queue: QueueStats {
                occupancy: occupancy(self.station_queues.as_ref().map_or(0.0, |queues| queues[index])),
                ..QueueStats::default()
            },
            ..StationRecord::default()
        };
        Record {
            seed: scenario.run.seed,
            measured,
            flows: scenario.flows().zip(&self.flows).map(flow).collect(),
            stations: (0..scenario.stations.len()).map(station).collect(),
            ap_mac: MacStats {
                delivered: self.packets.map_or(0, |packets| (packets * seconds).round() as u64),
                ..MacStats::default()
            },
            ap_queue: QueueStats { occupancy: occupancy(self.ap_queue.unwrap_or(0.0)), ..QueueStats::default() },
            ..Record::default()
        }
    }

    /// Adds what the model knows beside goodputs, to a report in which all else is null.
    fn add(&self, report: &mut Report, record: &Record) {
        let known = |value: Option<f64>| match value {
            Some(value) => Estimate { mean: Some(value), ci95: None, n: 1 },
            None => Estimate::default(),
        };
        let seconds = record.measured.as_secs_f64();
        let mean_packets = |queue: &QueueStats| queue.occupancy as f64 / 1e9 / seconds;
        let services = self.ap_services.filter(|services| *services > 0.0);
        report.totals.packets_per_second = known(self.packets.map(|_| record.ap_mac.delivered as f64 / seconds));
        let queue = &mut report.ap_queue;
        queue.mean_packets = known(self.ap_queue.map(|_| mean_packets(&record.ap_queue)));
        queue.mean_sojourn_s = known(self.ap_queue.zip(services).map(|(queue, services)| queue / services));
        report.ap_delay.mean_s = queue.mean_sojourn_s;
        let loss = known(self.ap_loss);
        queue.drop_probability = ByClass { data: loss, ack: loss, ..ByClass::default() };
        if self.station_queues.is_some() {
            for (row, station) in report.stations.iter_mut().zip(&record.stations) {
                row.uplink_queue_mean_packets = known(Some(mean_packets(&station.uplink_queue)));
            }
        }
    }
}
