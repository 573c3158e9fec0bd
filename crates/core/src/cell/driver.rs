//! Between the cell and its driver.

use crate::control::Probe;
use crate::packet::{Kind, NodeId, Packet, Segment};

/// What the cell must know of a packet besides what queues and MAC see.
pub trait CellPacket: Packet + Clone + Send + 'static {
    /// Position of its flow among the scenario's; `None`: it belongs to none.
    fn scenario_flow(&self) -> Option<usize>;

    /// Number of the box's probe that it is, or that it replies to.
    fn probe(&self) -> Option<u64>;

    /// Whether it is traffic of its station. What only keeps the network going (ICMP, ARP) is not: the box must not take who
    /// answers a ping for a sender of UDP.
    #[inline]
    fn is_traffic(&self) -> bool {
        self.probe().is_none()
    }

    /// A packet from a station: whether it is for other stations too, or for them alone.
    #[inline]
    fn is_for_stations(&self) -> bool {
        false
    }
}

impl CellPacket for Segment {
    fn scenario_flow(&self) -> Option<usize> {
        Some(self.flow.index())
    }

    fn probe(&self) -> Option<u64> {
        matches!(self.kind, Kind::Echo | Kind::EchoReply).then_some(self.seq)
    }
}

/// What the cell tells its driver. `T` are the driver's timers.
#[derive(Debug)]
pub enum Output<P, T> {
    /// A packet has reached its end: the fixed host (`Up`) or its station (`Down`). A probe has reached the station that is
    /// to answer it; the reply to a probe that no box of this cell has sent has reached the AP.
    Arrival(P),
    /// A packet from a station that is for other stations too has reached the AP: the driver copies it as it finds right,
    /// with [`Cell::forward_to_station`](super::Cell::forward_to_station) and [`Cell::forward_to_wire`](super::Cell::forward_to_wire).
    Relay(P),
    /// The box wants an echo request: the driver makes it and hands it to [`Cell::forward_to_station`](super::Cell::forward_to_station).
    Probe(Probe),
    /// The queue of a node gave a frame to the MAC or ran empty, after [`Cell::notify_fetches`](super::Cell::notify_fetches).
    Fetched(NodeId),
    /// A timer of the driver is due.
    Timer(T),
    /// A sample of the time series was taken.
    Sample,
    /// The warm-up is over: counters begin afresh.
    WarmupEnd,
    /// A period of the measured time ends, and another one begins.
    PeriodEnd,
}
