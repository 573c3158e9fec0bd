//! What the cell measures.

use super::deadlines::Deadline;
use super::wires::UP;
use super::{Cell, CellPacket};
use crate::packet::{FlowId, NodeId};
use crate::record::{FlowRecord, Record};
use crate::units::Instant;

impl<P: CellPacket, T: Copy> Cell<'_, P, T> {
    /// What was measured up to `end`, with the counters of the `flows` that the driver has kept. The congestion windows of
    /// the series are the driver's too.
    pub fn record(mut self, end: Instant, flows: Vec<FlowRecord>) -> Record {
        if let Some(watched) = self.bss.queue(NodeId::AP).watched() {
            self.series.ap_queue_drops = watched.take_drops();
        }
        Record {
            seed: self.seed,
            measured: end.saturating_since(self.counted_from),
            flows,
            stations: (0..self.scenario.stations.len()).map(|index| self.bss.station_record(index, end)).collect(),
            ap_mac: *self.bss.stats(NodeId::AP),
            ap_queue: self.bss.queue(NodeId::AP).stats(end).clone(),
            ap_delays: self.bss.ap_delays().cloned(),
            wire_drops: self.wires.drops(end, if self.ap.limiter_queue().is_some() { UP } else { UP + 1 }),
            ap_uplink_queue: match self.ap.limiter_queue() {
                Some(queue) => queue.stats(end).clone(),
                None => self.wires.uplink().stats(end).clone(),
            },
            enforce: self.enforcer.as_mut().map(|enforcer| enforcer.record(end)),
            series: self.series,
        }
    }

    /// Takes a sample of the time series and awaits the next one.
    pub(super) fn sample(&mut self, now: Instant) {
        self.series.at.push(now);
        self.series.ap_queue_packets.push(self.bss.queue(NodeId::AP).len() as u32);
        if let Some(watched) = self.bss.queue(NodeId::AP).watched() {
            self.series.ap_queue_by_flow.resize_with(self.scenario.flow_count(), Vec::new);
            for (flow, column) in (0..).map(FlowId).zip(&mut self.series.ap_queue_by_flow) {
                column.push(watched.waiting(flow));
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
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.reset_stats(now);
        }
    }
}
