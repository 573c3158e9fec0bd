//! `dual-queue`: TCP data and ACKs apart, served at random (ha2009 section 3).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::census::{Census, Count};
use super::dual_share::{Share, ShareControl, ShareRule};
use super::{Drops, Qdisc};
use crate::packet::{Class, DropReason, Packet};
use crate::rng::Rng;
use crate::units::{Duration, Instant};

/// Parameters of [`DualQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DualQueueParams {
    /// Q_D: most data packets that wait, at least 1. Default 50 (ha2009 section 3.2).
    pub data: usize,
    /// Q_A: most ACKs that wait, at least 1. Default 50 (ha2009 section 3.2).
    pub ack: usize,
    /// Most packets that wait and are not TCP, at least 1. Default 50. Ours: ha2009 section 3.4 names the third queue.
    pub other: usize,
    /// p, the probability that data are served: a number, `optimal`, `modified` or `auto`. Default `auto`.
    pub p: Share,
    /// w_r of Eq. 13: receive window in packets. Default 42 (ha2009 section 2).
    pub window: u32,
    /// A flow that has nothing outstanding is counted for so long after its last packet. Default 5 s. Ours.
    pub flow_timeout: Duration,
}

impl Default for DualQueueParams {
    fn default() -> Self {
        DualQueueParams {
            data: 50,
            ack: 50,
            other: 50,
            p: Share::Rule(ShareRule::Auto),
            window: 42,
            flow_timeout: Duration::from_secs(5),
        }
    }
}

/// Distance of the reports that p follows.
const REPORT: Duration = Duration::from_millis(250);

/// Three FIFOs of their own size. For each service one is drawn; if it is empty another is served.
///
/// Packets that are not TCP have a queue of their own, which is drawn as often as flows of that kind are among all
/// flows; between data and ACKs decides p.
#[derive(Debug)]
pub struct DualQueue<P> {
    /// By [`Class`].
    queues: [VecDeque<P>; 3],
    limits: [usize; 3],
    share: ShareControl,
    census: Census,
    /// Whether p follows the census at all.
    counts: bool,
    count: Count,
    reported_at: Instant,
    rng: Rng,
}

impl<P> DualQueue<P> {
    /// Empty queues that are drawn from `rng`.
    pub fn new(params: DualQueueParams, rng: Rng) -> Self {
        let limits = [params.data, params.ack, params.other];
        DualQueue {
            queues: limits.map(|limit| VecDeque::with_capacity(limit.min(256))),
            limits,
            share: ShareControl::new(params.p, params.window, params.ack),
            census: Census::new(params.flow_timeout),
            counts: matches!(params.p, Share::Rule(_)),
            count: Count::default(),
            reported_at: Instant::ZERO,
            rng,
        }
    }

    /// The queue to serve.
    fn draw(&mut self) -> Option<Class> {
        let has = |class: Class| !self.queues[class.index()].is_empty();
        let (data, ack) = (has(Class::Data), has(Class::Ack));
        if has(Class::Other) {
            let tcp_flows = self.count.downloads + self.count.uploads;
            let flows = self.count.others.max(1);
            let share = flows as f64 / (flows + tcp_flows) as f64;
            if !(data || ack) || self.rng.chance(share) {
                return Some(Class::Other);
            }
        }
        match (data, ack) {
            (false, false) => None,
            (true, false) => Some(Class::Data),
            (true, true) if self.rng.chance(self.share.p()) => Some(Class::Data),
            (_, true) => Some(Class::Ack),
        }
    }

    fn follow_census(&mut self, now: Instant) {
        if now.saturating_since(self.reported_at) >= REPORT {
            self.reported_at = now;
            self.count = self.census.report(now);
            self.share.update(&self.count);
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for DualQueue<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut Drops<P>) {
        let class = packet.class();
        // With a fixed p and TCP alone the number of flows has no effect.
        if self.counts || class == Class::Other || self.count.others > 0 {
            self.census.observe_down(now, &packet);
            self.follow_census(now);
        }
        let queue = &mut self.queues[class.index()];
        if queue.len() < self.limits[class.index()] {
            queue.push_back(packet);
        } else {
            drops.push((packet, DropReason::QueueFull));
        }
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut Drops<P>) -> Option<P> {
        let class = self.draw()?;
        let packet = self.queues[class.index()].pop_front()?;
        if self.counts && class == Class::Ack {
            self.census.observe_served(now, &packet);
        }
        Some(packet)
    }

    fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    fn observe_uplink(&mut self, now: Instant, packet: &P) {
        if self.counts {
            self.census.observe_up(now, packet);
        }
    }
}
