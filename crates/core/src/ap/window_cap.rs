//! `window-cap`: the AP lowers the receive window in passing segments so that its buffer cannot overflow.

use serde::{Deserialize, Serialize};

use super::LiveFlows;
use super::uplink_limiter::FIRST_R;
use crate::packet::{Direction, Packet, TCP_IP_HEADER};
use crate::units::{Bitrate, Bytes, Duration, Instant};

/// How large a window may be, with a buffer of B packets, `N_u` uploads and `N_d` downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRule {
    /// B / (2 N), N the larger of `N_u` and `N_d` (detti2005 section 4.1).
    Lossless,
    /// floor(B / (`N_u` + `N_d`)).
    BOverN,
    /// `W_B` + `W_D` of khademi2010 Eqs. 4-6, as printed. Meant for one upload and `N` downloads.
    Tfbr,
    /// The same with the `W_B` that solves khademi2010 Eq. 3, which the printed Eq. 4 does not.
    TfbrExact,
}

/// What the user chose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowCapParams {
    /// The rule.
    pub rule: WindowRule,
    /// B, packets that wait in the AP at most.
    pub buffer: usize,
    /// A connection without a packet for so long is no longer counted.
    pub flow_timeout: Duration,
    /// Payload of a full segment until a connection has shown one.
    pub mss: u32,
    /// `tfbr`: `delay_wired` + `delay_wireless` of khademi2010 Eq. 6.
    pub delay: Duration,
    /// `tfbr`: `thr_total` of khademi2010 Eq. 6.
    pub throughput: Bitrate,
}

/// How long a silent connection counts.
const FLOW_TIMEOUT: Duration = Duration::from_secs(10);

impl WindowCapParams {
    /// `rule` for an AP that holds `buffer` packets, with connections of `mss` over a wire of `delay`.
    pub fn usual(rule: WindowRule, buffer: usize, mss: u32, delay: Duration) -> Self {
        WindowCapParams { rule, buffer, flow_timeout: FLOW_TIMEOUT, mss, delay, throughput: FIRST_R }
    }
}

/// Rewrites windows.
///
/// Show it every packet that passes the AP, either way, with [`handle`](Self::handle). It honours what the host says:
/// windows are only ever lowered, never below one segment.
#[derive(Debug)]
pub struct WindowCap {
    params: WindowCapParams,
    flows: LiveFlows,
}

impl WindowCap {
    /// Knows of no connection yet.
    pub fn new(params: WindowCapParams) -> Self {
        WindowCap { params, flows: LiveFlows::new(params.flow_timeout) }
    }

    /// A packet passes the AP.
    pub fn handle<P: Packet>(&mut self, now: Instant, packet: &mut P) {
        if packet.tcp().is_none() {
            return;
        }
        let mss = self.flows.observe(now, packet).unwrap_or(self.params.mss);
        let packets = self.window(mss).max(1.0);
        packet.clamp_window(Bytes((packets * f64::from(mss)) as u64));
    }

    /// The window in segments, by the connections that are alive.
    fn window(&self, mss: u32) -> f64 {
        let b = self.params.buffer as f64;
        let (up, down) = (self.flows.count(Direction::Up), self.flows.count(Direction::Down));
        match self.params.rule {
            WindowRule::Lossless => (b / (2 * up.max(down)).max(1) as f64).floor(),
            WindowRule::BOverN => (b / (up + down).max(1) as f64).floor(),
            WindowRule::Tfbr => (printed_w_b(b, down as f64) + self.w_d(down, mss)).floor(),
            WindowRule::TfbrExact => (exact_w_b(b, down as f64) + self.w_d(down, mss)).floor(),
        }
    }

    /// khademi2010 Eq. 6: what the wire holds, in segments.
    fn w_d(&self, n: usize, mss: u32) -> f64 {
        let bits = self.params.delay.as_secs_f64() * self.params.throughput.as_bps() as f64;
        bits / (4.0 * (n as f64 + 1.0) * (f64::from(mss) + TCP_IP_HEADER as f64) * 8.0)
    }
}

/// khademi2010 Eq. 4 as printed.
fn printed_w_b(b: f64, n: f64) -> f64 {
    let n2 = n * n;
    (-2.0 * n2 - 3.0 * b + (4.0 * n2 + 12.0 * n2 * b + 6.0 * n2 * b * b).sqrt()) / (2.0 * n2 - 3.0)
}

/// The positive W with B = W + 4 N sqrt(0.38 (W^2 + 2 W) / 3), khademi2010 Eq. 3.
fn exact_w_b(b: f64, n: f64) -> f64 {
    // (B - W)^2 = k (W^2 + 2 W), a quadratic (k - 1) W^2 + 2 (k + B) W - B^2 = 0.
    let k = 16.0 * n * n * 0.38 / 3.0;
    let half = k + b;
    if (k - 1.0).abs() < 1e-9 {
        return b * b / (2.0 * half);
    }
    // In the form that stays exact when k is near 1, and that needs no case for k < 1.
    b * b / (half + (half * half + (k - 1.0) * b * b).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, Kind, NO_SACK, NodeId, Segment};

    const PARAMS: WindowCapParams = WindowCapParams {
        rule: WindowRule::Lossless,
        buffer: 100,
        flow_timeout: Duration::from_secs(10),
        mss: 1460,
        delay: Duration::ZERO,
        throughput: Bitrate::mbps(5),
    };

    fn segment(flow: u32, direction: Direction, kind: Kind) -> Segment {
        Segment {
            flow: FlowId(flow),
            station: NodeId::station(flow as usize),
            direction,
            kind,
            incarnation: 1,
            category: crate::packet::Category::BestEffort,
            seq: 0,
            payload: if kind == Kind::Data { 1000 } else { 0 },
            ack: 0,
            window: 42 * 1460,
            cwnd: 0,
            push: false,
            sack: NO_SACK,
            ecn: crate::packet::Ecn::NONE,
            enqueued_at: Instant::ZERO,
        }
    }

    #[test]
    fn the_window_follows_the_live_flows() {
        let secs = |s| Instant::ZERO + Duration::from_secs(s);
        let mut cap = WindowCap::new(PARAMS);
        let mut window = |at, flow, direction, kind| {
            let mut packet = segment(flow, direction, kind);
            cap.handle(secs(at), &mut packet);
            packet.window
        };
        // One download: its SYN-ACK already carries B / 2, but the host's window is smaller.
        assert_eq!(window(0, 0, Direction::Up, Kind::SynAck), 42 * 1460);
        // Three uploads: B / 6 = 16.7 segments, 1460 B until data has passed.
        for flow in 1..4 {
            window(1, flow, Direction::Up, Kind::Syn);
        }
        assert_eq!(window(1, 1, Direction::Down, Kind::SynAck), 16 * 1460);
        window(2, 1, Direction::Up, Kind::Data);
        assert_eq!(window(2, 1, Direction::Down, Kind::Ack), 16 * 1000);
        // Flows 2 and 3 are silent for ten seconds, and so is the download: one upload is left, B / 2.
        assert_eq!(window(13, 1, Direction::Down, Kind::Ack), 50 * 1000);
    }

    #[test]
    fn at_least_one_segment_and_udp_is_left_alone() {
        let mut cap = WindowCap::new(WindowCapParams { buffer: 2, rule: WindowRule::BOverN, ..PARAMS });
        for flow in 0..9 {
            cap.handle(Instant::ZERO, &mut segment(flow, Direction::Down, Kind::Syn));
        }
        let mut ack = segment(3, Direction::Up, Kind::Ack);
        cap.handle(Instant::ZERO, &mut ack);
        assert_eq!(ack.window, 1460);
        let mut udp = segment(3, Direction::Up, Kind::Udp);
        cap.handle(Instant::ZERO, &mut udp);
        assert_eq!(udp.window, 42 * 1460);
    }

    #[test]
    fn khademi2010_equation_4_is_not_the_inverse_of_equation_3() {
        let eq3 = |w: f64, n: f64| w + 4.0 * n * (0.38 * (w * w + 2.0 * w) / 3.0).sqrt();
        for n in [1.0, 2.0, 5.0, 10.0, 30.0] {
            for b in [20.0, 50.0, 100.0, 500.0] {
                assert!((eq3(exact_w_b(b, n), n) - b).abs() < 1e-6 * b, "B = {b}, N = {n}");
            }
        }
        // With ten downloads and B = 100 Eq. 3 wants 5.5 segments, the printed Eq. 4 allows 11 and needs twice the buffer.
        assert!((exact_w_b(100.0, 10.0) - 5.6).abs() < 0.1, "{}", exact_w_b(100.0, 10.0));
        assert!((printed_w_b(100.0, 10.0) - 10.0).abs() < 0.3, "{}", printed_w_b(100.0, 10.0));
    }
}
