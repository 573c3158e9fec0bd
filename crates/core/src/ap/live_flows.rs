//! Which TCP connections are alive, by what passes the AP.

use std::collections::BTreeMap;

use crate::packet::{Class, Direction, FlowId, Packet};
use crate::units::{Duration, Instant};

/// The connections that showed a packet lately, and which way their data goes.
#[derive(Debug)]
pub struct LiveFlows {
    timeout: Duration,
    flows: BTreeMap<FlowId, Live>,
    /// Live flows by [`Direction`] of their data.
    counts: [usize; 2],
    next_sweep: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Live {
    direction: Direction,
    seen_at: Instant,
    /// Largest payload seen, in bytes.
    mss: u32,
}

impl LiveFlows {
    /// A connection without a packet for `timeout` is over.
    pub fn new(timeout: Duration) -> Self {
        LiveFlows { timeout, flows: BTreeMap::new(), counts: [0; 2], next_sweep: Instant::ZERO }
    }

    /// A packet passes; returns the largest payload that its connection has shown, if any.
    pub fn observe<P: Packet>(&mut self, now: Instant, packet: &P) -> Option<u32> {
        let view = packet.tcp()?;
        // A SYN and segments with payload run with the data, ACKs against it.
        let direction = match packet.class() {
            Class::Data => packet.direction(),
            Class::Ack | Class::Other => packet.direction().reverse(),
        };
        let counts = &mut self.counts;
        let flow = self.flows.entry(packet.flow()).or_insert_with(|| {
            counts[direction as usize] += 1;
            Live { direction, seen_at: now, mss: 0 }
        });
        flow.seen_at = now;
        flow.mss = flow.mss.max(view.payload);
        let mss = flow.mss;
        if now >= self.next_sweep {
            self.sweep(now);
        }
        (mss > 0).then_some(mss)
    }

    /// Connections whose data goes `direction`.
    pub fn count(&self, direction: Direction) -> usize {
        self.counts[direction as usize]
    }

    fn sweep(&mut self, now: Instant) {
        self.next_sweep = now + Duration::from_secs(1);
        let (timeout, counts) = (self.timeout, &mut self.counts);
        self.flows.retain(|_, flow| {
            let alive = now < flow.seen_at + timeout;
            if !alive {
                counts[flow.direction as usize] -= 1;
            }
            alive
        });
    }
}
