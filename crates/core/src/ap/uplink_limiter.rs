//! `uplink-limiter`: the AP sends to the wire at half of what the cell can carry (detti2005 section 4.2).

use serde::{Deserialize, Serialize};

use super::LiveFlows;
use crate::packet::{Direction, Packet, TCP_IP_HEADER};
use crate::shaper::Pacer;
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// R: IP bytes of both directions that the cell carries when it is loaded by TCP without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimiterCapacity {
    /// As the user says.
    Given(Bitrate),
    /// What passes while the AP's queue towards the stations is never empty; begins with this rate.
    Auto(Bitrate),
}

/// Which part of R the uplink gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimiterShare {
    /// Half (detti2005).
    #[default]
    Half,
    /// By the uploads and downloads that are alive (named there as further study).
    Flows,
}

/// What the user chose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UplinkLimiterParams {
    /// R.
    pub capacity: LimiterCapacity,
    /// The uplink's part of it.
    pub share: LimiterShare,
    /// Bytes that may go ahead of the rate.
    pub burst: Bytes,
    /// `flows`: a connection without a packet for so long is no longer counted.
    pub flow_timeout: Duration,
}

/// What R begins with where it is measured: detti2005's 802.11b cell.
pub(super) const FIRST_R: Bitrate = Bitrate::from_bps(4_600_000);
/// How long a silent connection counts.
const FLOW_TIMEOUT: Duration = Duration::from_secs(10);

impl Default for UplinkLimiterParams {
    /// Half of an R that is measured, one segment of burst.
    fn default() -> Self {
        UplinkLimiterParams {
            capacity: LimiterCapacity::Auto(FIRST_R),
            share: LimiterShare::Half,
            burst: Bytes(1500),
            flow_timeout: FLOW_TIMEOUT,
        }
    }
}

/// Over how long R is measured, and how much a measurement weighs.
const SPAN: Duration = Duration::from_secs(1);
const WEIGHT: f64 = 0.1;

/// A token bucket behind the AP's uplink queue.
///
/// Show it every packet that crosses the radio with [`observe`](Self::observe), ask [`ready_at`](Self::ready_at) before
/// a packet leaves the queue for the wire, and [`charge`](Self::charge) it.
#[derive(Debug)]
pub struct UplinkLimiter {
    params: UplinkLimiterParams,
    pacer: Pacer,
    flows: LiveFlows,
    /// R in bit/s.
    capacity: f64,
    /// Largest payload seen.
    mss: u32,
    /// IP bytes in the span of measurement, its start, and whether the AP's queue was never seen empty in it.
    measured: (Bytes, Instant, bool),
}

impl UplinkLimiter {
    /// With a full bucket.
    pub fn new(params: UplinkLimiterParams) -> Self {
        let (LimiterCapacity::Given(capacity) | LimiterCapacity::Auto(capacity)) = params.capacity;
        UplinkLimiter {
            params,
            pacer: Pacer::new(Bitrate::from_bps((capacity.as_bps() / 2).max(1)), params.burst),
            flows: LiveFlows::new(params.flow_timeout),
            capacity: capacity.as_bps() as f64,
            mss: 0,
            measured: (Bytes(0), Instant::ZERO, true),
        }
    }

    /// A packet crossed the radio either way. `backlogged`: others wait in the AP for the stations.
    pub fn observe<P: Packet>(&mut self, now: Instant, packet: &P, backlogged: bool) {
        self.mss = self.mss.max(self.flows.observe(now, packet).unwrap_or_default());
        let (bytes, since, full) = &mut self.measured;
        *bytes += packet.ip_len();
        *full &= backlogged;
        let span = now.saturating_since(*since);
        if span < SPAN {
            return;
        }
        if matches!(self.params.capacity, LimiterCapacity::Auto(_)) && *full {
            let measured = bytes.as_bits() as f64 / span.as_secs_f64();
            self.capacity += WEIGHT * (measured - self.capacity);
        }
        self.measured = (Bytes(0), now, true);
        let rate = Bitrate::from_bps((self.capacity * self.share()).max(1.0) as u64);
        if rate != self.pacer.rate() {
            self.pacer.set_rate(now, rate);
        }
    }

    /// When the next packet may go to the wire.
    pub fn ready_at(&self) -> Instant {
        self.pacer.ready_at()
    }

    /// A packet goes to the wire.
    pub fn charge(&mut self, now: Instant, len: Bytes) {
        self.pacer.charge(now, len);
    }

    /// The uplink's part of R.
    fn share(&self) -> f64 {
        let (up, down) = (self.flows.count(Direction::Up) as f64, self.flows.count(Direction::Down) as f64);
        if self.params.share == LimiterShare::Half || up + down < 1.0 {
            return 0.5;
        }
        // Equal flows: an upload sends segments up, a download ACKs.
        let (ack, segment) = (TCP_IP_HEADER as f64, f64::from(self.mss) + TCP_IP_HEADER as f64);
        (up * segment + down * ack) / ((up + down) * (segment + ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, Kind, NO_SACK, NodeId, Segment};

    const PARAMS: UplinkLimiterParams = UplinkLimiterParams {
        capacity: LimiterCapacity::Given(Bitrate::mbps(4)),
        share: LimiterShare::Half,
        burst: Bytes(1500),
        flow_timeout: Duration::from_secs(10),
    };

    fn data(flow: u32, direction: Direction) -> Segment {
        Segment {
            flow: FlowId(flow),
            station: NodeId::station(0),
            direction,
            kind: Kind::Data,
            incarnation: 1,
            category: crate::packet::Category::BestEffort,
            seq: 0,
            payload: 1460,
            ack: 0,
            window: 0,
            cwnd: 0,
            push: false,
            sack: NO_SACK,
            ecn: crate::packet::Ecn::NONE,
            enqueued_at: Instant::ZERO,
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn half_of_r_whatever_the_flows() {
        let mut limiter = UplinkLimiter::new(PARAMS);
        for ms in 0..3000 {
            limiter.observe(at(ms), &data(0, Direction::Up), true);
        }
        assert_eq!(limiter.pacer.rate(), Bitrate::mbps(2));
        limiter.charge(at(3000), Bytes(1500));
        limiter.charge(at(3000), Bytes(1500));
        assert_eq!(limiter.ready_at(), at(3006), "1500 B ahead, 1500 B last 6 ms");
    }

    #[test]
    fn the_share_follows_the_flows() {
        let mut limiter = UplinkLimiter::new(UplinkLimiterParams { share: LimiterShare::Flows, ..PARAMS });
        for ms in 0..1500 {
            limiter.observe(at(ms), &data(0, Direction::Up), true);
        }
        // Uploads alone: all but the room for their ACKs.
        assert!((limiter.pacer.rate().as_bps() as f64 / (4e6 * 1500.0 / 1540.0) - 1.0).abs() < 1e-6);
        for ms in 1500..3000 {
            limiter.observe(
                at(ms),
                &data((ms % 4) as u32, if ms % 4 == 0 { Direction::Up } else { Direction::Down }),
                true,
            );
        }
        let share = (1500.0 + 3.0 * 40.0) / (4.0 * 1540.0);
        assert!((limiter.pacer.rate().as_bps() as f64 / (4e6 * share) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn r_is_measured_only_while_the_cell_is_full() {
        let params = UplinkLimiterParams { capacity: LimiterCapacity::Auto(Bitrate::mbps(4)), ..PARAMS };
        let mut limiter = UplinkLimiter::new(params);
        for ms in 0..20_000 {
            limiter.observe(at(ms), &data(0, Direction::Up), ms % 500 != 0);
        }
        assert_eq!(limiter.pacer.rate(), Bitrate::mbps(2), "the queue was seen empty");
        // 1500 B a millisecond are 12 Mbit/s.
        for ms in 20_000..100_000 {
            limiter.observe(at(ms), &data(0, Direction::Up), true);
        }
        assert!((limiter.pacer.rate().as_bps() as f64 / 6e6 - 1.0).abs() < 0.01, "{}", limiter.pacer.rate());
    }
}
