//! A prediction in the schema of results.

use super::prediction::Prediction;
use crate::metrics::{ByClass, Estimate, MacReport, Provenance, Report, Transfers};
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
        let mut report = Report::new(scenario, &[self.record(scenario, measured)], provenance);
        self.blank(&mut report);
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
            timeouts: 0,
            fast_retransmits: 0,
            transfer_times: Vec::new(),
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

    /// Takes out what the model does not know.
    fn blank(&self, report: &mut Report) {
        let none = Estimate::default();
        let no_mac = MacReport::default();
        let no_transfers = Transfers::default();
        if self.packets.is_none() {
            report.totals.packets_per_second = none;
        }
        for direction in [&mut report.directions.up, &mut report.directions.down] {
            (direction.retransmit_share, direction.timeouts, direction.transfers) = (none, none, no_transfers);
        }
        let known = |value: Option<f64>| value.map_or(none, |value| Estimate { mean: Some(value), ci95: None, n: 1 });
        let loss = known(self.ap_loss);
        for queue in [&mut report.ap_queue, &mut report.ap_uplink_queue] {
            queue.mean_sojourn_s = none;
            queue.arrivals = ByClass::default();
            queue.drop_probability = ByClass::default();
            queue.drops.clear();
        }
        report.ap_uplink_queue.mean_packets = none;
        (report.ap_queue.drop_probability.data, report.ap_queue.drop_probability.ack) = (loss, loss);
        if self.ap_queue.is_none() {
            report.ap_queue.mean_packets = none;
        }
        let services = self.ap_services.filter(|services| *services > 0.0);
        report.ap_queue.mean_sojourn_s = known(self.ap_queue.zip(services).map(|(queue, services)| queue / services));
        (report.mac.ap, report.mac.stations) = (no_mac, no_mac);
        for station in &mut report.stations {
            (station.airtime_share, station.airtime_down_share, station.mac) = (none, none, no_mac);
            (station.uplink_queue_mean_sojourn_s, station.uplink_queue_drop_probability) = (none, none);
            if self.station_queues.is_none() {
                station.uplink_queue_mean_packets = none;
            }
        }
        for flow in &mut report.flows {
            (flow.sent_packets, flow.retransmits, flow.timeouts, flow.fast_retransmits) = (none, none, none, none);
            flow.transfers = no_transfers;
        }
    }
}
