//! What a replica leaves behind.

use fairair_core::packet::NodeId;
use fairair_core::record::Record;
use fairair_core::units::Instant;

use super::{UP, World};
use crate::events::Event;
use crate::flow::Flow;

impl World<'_> {
    pub(super) fn sample(&mut self, now: Instant) {
        self.series.at.push(now);
        self.series.ap_queue_packets.push(self.bss.queue(NodeId::AP).len() as u32);
        for (column, flow) in self.series.cwnd.iter_mut().zip(&self.flows) {
            if flow.is_tcp() {
                column.push(flow.sender.as_ref().map_or(0.0, |sender| sender.cwnd() as f32));
            }
        }
        if let Some(interval) = self.scenario.run.sample_interval {
            self.events.schedule(now + interval, Event::Sample);
        }
    }

    pub(super) fn record(mut self, end: Instant) -> Record {
        Record {
            seed: self.seed,
            measured: self.scenario.run.duration - self.scenario.run.warmup,
            flows: self.flows.iter().map(Flow::record).collect(),
            stations: (0..self.scenario.stations.len()).map(|index| self.bss.station_record(index, end)).collect(),
            ap_mac: *self.bss.stats(NodeId::AP),
            ap_queue: self.bss.queue(NodeId::AP).stats(end).clone(),
            ap_uplink_queue: match self.ap.limiter_queue() {
                Some(queue) => queue.stats(end).clone(),
                None => self.links[UP].queue.stats(end).clone(),
            },
            enforce: self.enforcer.as_mut().map(|enforcer| enforcer.record(end)),
            series: self.series,
        }
    }
}
