//! What the cell measures.

use super::deadlines::Deadline;
use super::{Cell, CellPacket};
use crate::packet::{FlowId, NodeId};
use crate::record::{ApRecord, FlowRecord, Record};
use crate::units::Instant;

impl<P: CellPacket, T: Copy> Cell<'_, P, T> {
    /// What was measured up to `end`, with the counters of the `flows` that the driver has kept. The congestion windows of
    /// the series are the driver's too.
    pub fn record(mut self, end: Instant, flows: Vec<FlowRecord>) -> Record {
        for ap in self.access_points() {
            if let Some(watched) = self.bss.queue(ap).watched() {
                self.series.ap_queue_drops.append(&mut watched.take_drops());
            }
        }
        self.series.ap_queue_drops.sort_by_key(|dropped| dropped.at);
        let mut aps: Vec<ApRecord> =
            self.access_points().enumerate().map(|(at, ap)| self.ap_record(at, ap, end)).collect();
        let all = aps[1..].iter().fold(aps[0].clone(), |all, own| ApRecord {
            mac: all.mac + own.mac,
            queue: all.queue + &own.queue,
            uplink_queue: all.uplink_queue + &own.uplink_queue,
        });
        if aps.len() == 1 {
            aps.clear();
        }
        Record {
            seed: self.seed,
            measured: end.saturating_since(self.counted_from),
            flows,
            stations: (0..self.scenario.stations.len()).map(|index| self.bss.station_record(index, end)).collect(),
            access_points: aps,
            ap_mac: all.mac,
            ap_queue: all.queue,
            ap_delays: self.bss.ap_delays().cloned(),
            wire_drops: self.wires.drops(end, self.ap.limiter_queue().is_some()),
            ap_uplink_queue: all.uplink_queue,
            enforce: self.pools.record(end),
            series: self.series,
        }
    }

    /// What the access point at this position has counted.
    fn ap_record(&mut self, position: usize, ap: NodeId, end: Instant) -> ApRecord {
        ApRecord {
            mac: *self.bss.stats(ap),
            queue: self.bss.queue(ap).stats(end).clone(),
            // Only an AP that is alone may have a limiter.
            uplink_queue: match self.ap.limiter_queue() {
                Some(queue) => queue.stats(end).clone(),
                None => self.wires.uplink(position).stats(end).clone(),
            },
        }
    }

    /// Takes a sample of the time series and awaits the next one.
    pub(super) fn sample(&mut self, now: Instant) {
        self.series.at.push(now);
        let packets = self.access_points().map(|ap| self.bss.queue(ap).len() as u32).sum();
        self.series.ap_queue_packets.push(packets);
        if self.bss.queue(NodeId::AP).watched().is_some() {
            self.series.ap_queue_by_flow.resize_with(self.scenario.flow_count(), Vec::new);
            let flows = (0..).map(FlowId).zip(self.scenario.flows());
            for ((flow, (station, _)), column) in flows.zip(&mut self.series.ap_queue_by_flow) {
                let ap = self.bss.ap_of(station);
                column.push(self.bss.queue(ap).watched().map_or(0, |watched| watched.waiting(flow)));
            }
        }
        if let Some(interval) = self.scenario.run.sample_interval {
            self.deadlines.schedule(now + interval, Deadline::Sample);
        }
    }

    /// The warm-up is over: all counters begin afresh.
    pub(super) fn reset_stats(&mut self, now: Instant) {
        self.counted_from = now;
        self.bss.reset_stats(now);
        self.wires.reset_stats(now);
        self.ap.reset_stats(now);
        self.pools.reset_stats(now);
    }
}
