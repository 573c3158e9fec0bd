//! Flows and their rates as the AP sees them pass.

use super::flow_table::FlowTable;
use crate::packet::{Class, Packet};
use crate::units::{Duration, Instant};

/// A sender waits for its retransmission timer at most so long (RFC 6298 section 2.5).
const MAX_RTO: Duration = Duration::from_secs(60);

/// What was seen of a flow. Sequence numbers are the data's in either direction.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Packets on the way down by class, halved now and then.
    down: [u32; 3],
    /// An upload's data that went up, the ACKs of it that came from the wire, and those that went on to the station.
    up_sent: u64,
    up_acked: u64,
    up_ack_served: u64,
    /// A download's data that came from the wire, and the ACKs of it that went up.
    down_sent: u64,
    down_acked: u64,
    /// Payload that arrived in order since the last report, in bytes.
    up_progress: u64,
    down_progress: u64,
}

/// Which way a flow's payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Download,
    Upload,
    Other,
}

/// What a [`Census`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// m: downloads.
    pub(super) downloads: usize,
    /// n: uploads.
    pub(super) uploads: usize,
    /// Flows that are not TCP.
    pub(super) others: usize,
    /// Payload bytes of all downloads, and of all uploads, acknowledged since the last report.
    pub(super) down_bytes: u64,
    pub(super) up_bytes: u64,
}

/// Counts flows by observation.
///
/// A TCP flow is a download if most of its packets on the way down are data, and an upload if most are ACKs. It counts
/// while one of its packets, on either way, was seen within `timeout`; with data outstanding for as long as its sender
/// may wait for its timer. Without the latter a starved flow would drop out of the mean that is to save it.
#[derive(Debug)]
pub(super) struct Census {
    flows: FlowTable<Seen>,
    timeout: Duration,
}

impl Census {
    pub(super) fn new(timeout: Duration) -> Self {
        Census { flows: FlowTable::new(MAX_RTO.max(timeout)), timeout }
    }

    /// A packet arrives from the wire.
    pub(super) fn observe_down<P: Packet>(&mut self, now: Instant, packet: &P) {
        let seen = self.flows.touch(now, packet.flow());
        let down = &mut seen.down[packet.class().index()];
        *down = down.saturating_add(1);
        let Some(tcp) = packet.tcp() else { return };
        if packet.class() == Class::Ack {
            if tcp.syn {
                (seen.up_sent, seen.up_acked, seen.up_ack_served) = (0, 0, 0);
            }
            seen.up_progress += advance(&mut seen.up_acked, tcp.ack);
        } else {
            if tcp.syn {
                (seen.down_sent, seen.down_acked) = (0, 0);
            }
            seen.down_sent = seen.down_sent.max(tcp.seq + u64::from(tcp.payload));
        }
    }

    /// An ACK leaves for its station.
    pub(super) fn observe_served<P: Packet>(&mut self, now: Instant, ack: &P) {
        if let Some(tcp) = ack.tcp() {
            let seen = self.flows.touch(now, ack.flow());
            seen.up_ack_served = seen.up_ack_served.max(tcp.ack);
        }
    }

    /// A packet arrives from the radio.
    pub(super) fn observe_up<P: Packet>(&mut self, now: Instant, packet: &P) {
        // What is not TCP is counted where it queues: on the way down.
        let Some(tcp) = packet.tcp() else { return };
        let seen = self.flows.touch(now, packet.flow());
        if packet.class() == Class::Ack {
            seen.down_progress += advance(&mut seen.down_acked, tcp.ack);
        } else {
            seen.up_sent = seen.up_sent.max(tcp.seq + u64::from(tcp.payload));
        }
    }

    /// What was seen since the last report.
    pub(super) fn report(&mut self, now: Instant) -> Count {
        let mut count = Count::default();
        for (silent, seen) in self.flows.iter_mut(now) {
            let role = seen.role();
            let patience = if seen.has_outstanding(role) { MAX_RTO } else { self.timeout };
            if silent <= patience {
                match role {
                    Role::Download => count.downloads += 1,
                    Role::Upload => count.uploads += 1,
                    Role::Other => count.others += 1,
                }
                if role == Role::Download {
                    count.down_bytes += seen.down_progress;
                } else {
                    count.up_bytes += seen.up_progress;
                }
            }
            seen.forget_progress();
        }
        count
    }
}

impl Seen {
    fn role(&self) -> Role {
        let [data, acks, others] = self.down;
        if others > data + acks {
            Role::Other
        } else if data > acks {
            Role::Download
        } else {
            Role::Upload
        }
    }

    /// Whether the sender waits for an ACK.
    fn has_outstanding(&self, role: Role) -> bool {
        match role {
            Role::Download => self.down_sent > self.down_acked,
            Role::Upload => self.up_sent > self.up_ack_served,
            Role::Other => false,
        }
    }

    fn forget_progress(&mut self) {
        (self.up_progress, self.down_progress) = (0, 0);
        // What a flow did long ago weighs little; one that pauses stays what it was.
        if self.down.iter().sum::<u32>() > 64 {
            self.down = self.down.map(|packets| packets / 2);
        }
    }
}

/// Follows an ACK number and tells its growth. A flow that is met in the middle has not moved all its bytes just now.
fn advance(highest: &mut u64, ack: u64) -> u64 {
    let growth = if *highest == 0 { 0 } else { ack.saturating_sub(*highest) };
    *highest = ack.max(*highest);
    growth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, FlowId, Kind, NO_SACK, NodeId, Segment};

    fn segment(kind: Kind, flow: u32, bytes: u64) -> Segment {
        let data = kind != Kind::Ack;
        Segment {
            flow: FlowId(flow),
            station: NodeId::station(0),
            direction: Direction::Down,
            kind,
            incarnation: 1,
            category: crate::packet::Category::BestEffort,
            seq: if data { bytes - 1000 } else { 0 },
            payload: if data { 1000 } else { 0 },
            ack: if data { 0 } else { bytes },
            window: 0,
            cwnd: 0,
            push: false,
            sack: NO_SACK,
            ecn: crate::packet::Ecn::NONE,
            enqueued_at: Instant::ZERO,
        }
    }

    fn at(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn directions_are_told_apart_and_progress_is_what_was_acknowledged() {
        let mut census = Census::new(Duration::from_secs(5));
        census.observe_down(at(0), &segment(Kind::Data, 1, 9_000));
        census.observe_up(at(0), &segment(Kind::Ack, 1, 2_000));
        census.observe_up(at(0), &segment(Kind::Ack, 1, 5_000));
        census.observe_up(at(0), &segment(Kind::Data, 2, 8_000));
        census.observe_down(at(0), &segment(Kind::Ack, 2, 1_000));
        census.observe_down(at(0), &segment(Kind::Ack, 2, 8_000));
        census.observe_down(at(0), &segment(Kind::Udp, 3, 1_000));
        let expected = Count { downloads: 1, uploads: 1, others: 1, down_bytes: 3_000, up_bytes: 7_000 };
        assert_eq!(census.report(at(1)), expected);
        assert_eq!(census.report(at(2)), Count { down_bytes: 0, up_bytes: 0, ..expected });
    }

    /// An upload whose last ACK was dropped waits for its timer; one that got it is over.
    #[test]
    fn flows_that_wait_for_their_timer_still_count() {
        let mut census = Census::new(Duration::from_secs(5));
        for flow in [1, 2] {
            census.observe_up(at(0), &segment(Kind::Data, flow, 8_000));
            census.observe_down(at(0), &segment(Kind::Ack, flow, 8_000));
        }
        census.observe_served(at(0), &segment(Kind::Ack, 1, 8_000));
        assert_eq!(census.report(at(1)).uploads, 2);
        assert_eq!(census.report(at(6)).uploads, 1);
        assert_eq!(census.report(at(61)).uploads, 0);
    }
}
