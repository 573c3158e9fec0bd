//! What a replica leaves behind.

use fairair_core::mac::Bss;
use fairair_core::packet::{NodeId, Segment};
use fairair_core::record::{Record, StationRecord};
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
        let station = |bss: &mut Bss<Segment>, index: usize| {
            let node = NodeId::station(index);
            StationRecord {
                mac: *bss.stats(node),
                uplink_queue: bss.queue(node).stats(end).clone(),
                airtime_down: bss.airtime_down(index),
            }
        };
        Record {
            seed: self.seed,
            measured: self.scenario.run.duration - self.scenario.run.warmup,
            flows: self.flows.iter().map(Flow::record).collect(),
            stations: (0..self.scenario.stations.len()).map(|index| station(&mut self.bss, index)).collect(),
            ap_mac: *self.bss.stats(NodeId::AP),
            ap_queue: self.bss.queue(NodeId::AP).stats(end).clone(),
            ap_uplink_queue: match self.ap.limiter_queue() {
                Some(queue) => queue.stats(end).clone(),
                None => self.links[UP].queue.stats(end).clone(),
            },
            enforce: self.enforce.as_mut().map(|the_box| the_box.record(end)),
            series: self.series,
        }
    }
}
