//! `adaptive-buffer`: a FIFO whose size follows the service rate (Li and Leith, khademi2010 Eqs. 7-8).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Drops, Qdisc};
use crate::packet::{DropReason, Packet};
use crate::units::{Duration, Instant};

/// Parameters of [`AdaptiveBuffer`]. The paper gives no values; the defaults are ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveBufferParams {
    /// T: queueing delay to hold. Default 200 ms.
    #[serde(rename = "target")]
    pub t: Duration,
    /// a: packets on top, for short-term changes of the service rate. Default 5.
    pub a: usize,
    /// alpha: weight of the past in the mean service time, in `[0, 1)`. Default 0.999.
    pub alpha: f64,
    /// B_max: most packets that wait, at least 1. Default 400.
    pub b_max: usize,
}

impl Default for AdaptiveBufferParams {
    fn default() -> Self {
        AdaptiveBufferParams { t: Duration::from_millis(200), a: 5, alpha: 0.999, b_max: 400 }
    }
}

/// A FIFO of `min(T / T_serv + a, B_max)` packets, where T_serv is the mean time that the MAC takes for one.
///
/// When the size shrinks, packets that wait stay; arrivals are dropped until the queue is below it.
#[derive(Debug)]
pub struct AdaptiveBuffer<P> {
    params: AdaptiveBufferParams,
    waiting: VecDeque<P>,
    /// T_serv in nanoseconds; `None` before the first packet was served.
    t_serv: Option<f64>,
    /// Samples in `t_serv`, up to the number at which `alpha` alone decides.
    samples: f64,
    /// t_s: when the packet in service came to the MAC.
    t_s: Option<Instant>,
}

impl<P> AdaptiveBuffer<P> {
    /// An empty queue of size B_max until the service rate is known.
    pub fn new(params: AdaptiveBufferParams) -> Self {
        AdaptiveBuffer { params, waiting: VecDeque::with_capacity(256), t_serv: None, samples: 0.0, t_s: None }
    }

    /// B of khademi2010 Eq. 7.
    fn size(&self) -> usize {
        let AdaptiveBufferParams { t, a, b_max, .. } = self.params;
        let Some(t_serv) = self.t_serv else { return b_max };
        let b = t.as_nanos() as f64 / t_serv.max(1.0) + a as f64;
        (b as usize).clamp(1, b_max.max(1))
    }

    /// khademi2010 Eq. 8, `T_serv = alpha T_serv + (1 - alpha)(t_e - t_s)`. Until enough samples are in, their plain
    /// mean: the first service time alone would decide for a thousand packets.
    fn served(&mut self, t_s: Instant, t_e: Instant) {
        let sample = (t_e - t_s).as_nanos() as f64;
        self.samples += 1.0;
        let alpha = self.params.alpha.min(1.0 - 1.0 / self.samples);
        self.t_serv = Some(alpha * self.t_serv.unwrap_or(sample) + (1.0 - alpha) * sample);
    }
}

impl<P: Packet + Send> Qdisc<P> for AdaptiveBuffer<P> {
    fn enqueue(&mut self, _now: Instant, packet: P, drops: &mut Drops<P>) {
        if self.waiting.len() < self.size() {
            self.waiting.push_back(packet);
        } else {
            drops.push((packet, DropReason::QueueFull));
        }
    }

    /// The MAC asks for the next packet when it is done with the last one, given-up ones included: that is t_e.
    fn dequeue(&mut self, now: Instant, _drops: &mut Drops<P>) -> Option<P> {
        if let Some(t_s) = self.t_s.take() {
            self.served(t_s, now);
        }
        let packet = self.waiting.pop_front();
        self.t_s = packet.is_some().then_some(now);
        packet
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// khademi2010 Eq. 7: T / T_serv + a, and B_max when the service is fast.
    #[test]
    fn the_size_follows_the_service_time() {
        let mut buffer: AdaptiveBuffer<crate::packet::Segment> = AdaptiveBuffer::new(AdaptiveBufferParams::default());
        assert_eq!(buffer.size(), 400);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        (0..10).for_each(|_| buffer.served(at(0), at(8)));
        assert_eq!(buffer.size(), 200 / 8 + 5);
        (0..20_000).for_each(|_| buffer.served(at(0), at(20)));
        assert_eq!(buffer.size(), 200 / 20 + 5);
    }
}
