//! CoDel (RFC 8289), written once over [`Packet`]: a host lends its queue and says where drops go.

use serde::{Deserialize, Serialize};

use super::Drops;
use crate::packet::{DropReason, Packet};
use crate::units::{Duration, Instant};

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodelParams {
    /// TARGET: acceptable standing sojourn time. RFC 8289 section 4.2: 5 ms.
    pub target: Duration,
    /// INTERVAL: a worst-case RTT. RFC 8289 section 4.2: 100 ms.
    pub interval: Duration,
    /// Largest packet in bytes: a queue of no more is never a standing one (RFC 8289 section 5.4, `maxpacket`).
    pub max_packet: u64,
}

/// A queue that CoDel serves.
pub trait CodelQueue<P> {
    /// The packet that has waited longest.
    fn pop(&mut self) -> Option<P>;
    /// Bytes that wait behind it.
    fn bytes(&self) -> u64;
}

/// What CoDel remembers between packets (RFC 8289 section 5.1, with its names).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodelState {
    /// When the sojourn time will have been above target for an interval; `None`: it is below.
    first_above_time: Option<Instant>,
    /// Time of the next drop.
    drop_next: Instant,
    /// Packets dropped since the drop state was entered, and at its last entry.
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl CodelState {
    /// RFC 8289 section 5.5: the next packet to send; those dropped on the way go to `drops`. A packet whose ends know ECN is marked
    /// and sent where another is dropped, as in Linux (`codel_dequeue`).
    pub fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        params: &CodelParams,
        queue: &mut impl CodelQueue<P>,
        drops: &mut Drops<P>,
    ) -> Option<P> {
        let (mut packet, ok_to_drop) = self.dodequeue(now, params, queue);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if packet.as_mut().is_some_and(Packet::mark) {
                    self.drop_next = control_law(params, self.drop_next, self.count);
                    return packet;
                }
                drops.extend(packet.map(|packet| (packet, DropReason::Codel)));
                (packet, self.dropping) = self.dodequeue(now, params, queue);
                if self.dropping {
                    self.drop_next = control_law(params, self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            if !packet.as_mut().is_some_and(Packet::mark) {
                drops.extend(packet.map(|packet| (packet, DropReason::Codel)));
                (packet, _) = self.dodequeue(now, params, queue);
            }
            self.dropping = true;
            // Dropping again soon after: start near the rate that controlled the queue last time.
            let delta = self.count - self.lastcount;
            let recent = now.saturating_since(self.drop_next) < params.interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = control_law(params, now, self.count);
            self.lastcount = self.count;
        }
        packet
    }

    /// A host dropped a packet of the queue for want of room: as good a signal as one of CoDel's own.
    pub fn count_overflow(&mut self) {
        self.count += 1;
    }

    /// RFC 8289 section 5.4: a packet, and whether it may be dropped.
    fn dodequeue<P: Packet>(
        &mut self,
        now: Instant,
        params: &CodelParams,
        queue: &mut impl CodelQueue<P>,
    ) -> (Option<P>, bool) {
        let Some(packet) = queue.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        let sojourn = now.saturating_since(packet.enqueued_at());
        if sojourn < params.target || queue.bytes() <= params.max_packet {
            self.first_above_time = None;
            return (Some(packet), false);
        }
        let at = *self.first_above_time.get_or_insert(now + params.interval);
        (Some(packet), now >= at)
    }
}

/// RFC 8289 section 5.3: drops come closer with the square root of their number.
fn control_law(params: &CodelParams, t: Instant, count: u32) -> Instant {
    t + Duration::from_nanos((params.interval.as_nanos() as f64 / f64::from(count).sqrt()) as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::packet::{Direction, FlowId, Kind, NO_SACK, NodeId, Segment};

    const PARAMS: CodelParams =
        CodelParams { target: Duration::from_millis(5), interval: Duration::from_millis(100), max_packet: 1500 };

    struct Fifo(VecDeque<Segment>);

    impl CodelQueue<Segment> for Fifo {
        fn pop(&mut self) -> Option<Segment> {
            self.0.pop_front()
        }

        fn bytes(&self) -> u64 {
            self.0.iter().map(|packet| packet.ip_len().0).sum()
        }
    }

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn packet(at: Instant) -> Segment {
        Segment {
            flow: FlowId(0),
            station: NodeId::station(0),
            direction: Direction::Down,
            kind: Kind::Data,
            incarnation: 0,
            category: crate::packet::Category::BestEffort,
            seq: 0,
            payload: 1460,
            ack: 0,
            window: 0,
            cwnd: 0,
            push: false,
            sack: NO_SACK,
            ecn: crate::packet::Ecn::NONE,
            enqueued_at: at,
        }
    }

    /// Serves a packet every 10 ms that has waited `sojourn` ms, and tells when CoDel drops.
    fn drops(from: u64, to: u64, state: &mut CodelState, sojourn: u64, waiting: usize) -> Vec<u64> {
        let mut times = Vec::new();
        for now in (from..to).step_by(10) {
            let mut queue = Fifo(std::iter::repeat_n(packet(ms(now - sojourn)), waiting).collect());
            let mut drops = Vec::new();
            let sent = state.dequeue(ms(now), &PARAMS, &mut queue, &mut drops);
            assert!(sent.is_some() && drops.iter().all(|(_, reason)| *reason == DropReason::Codel));
            times.extend(drops.iter().map(|_| now));
        }
        times
    }

    /// The first drop after an interval above target, then after interval / sqrt(count), rounded up to a service.
    #[test]
    fn a_standing_queue_is_dropped_ever_faster() {
        let mut state = CodelState::default();
        assert_eq!(drops(1_000, 1_500, &mut state, 50, 9), [1_100, 1_200, 1_280, 1_330, 1_380, 1_430, 1_470]);
    }

    /// Where others are dropped, packets whose ends know ECN are marked and go on.
    #[test]
    fn packets_that_may_be_marked_are_not_dropped() {
        let (mut state, mut marked) = (CodelState::default(), Vec::new());
        let capable = crate::packet::Ecn { capable: true, ..crate::packet::Ecn::NONE };
        for now in (1_000..1_500).step_by(10) {
            let waiting = std::iter::repeat_n(Segment { ecn: capable, ..packet(ms(now - 50)) }, 9);
            let (mut queue, mut drops) = (Fifo(waiting.collect()), Vec::new());
            let sent = state.dequeue(ms(now), &PARAMS, &mut queue, &mut drops).unwrap();
            assert_eq!((drops.len(), queue.0.len()), (0, 8));
            marked.extend(sent.ecn.marked.then_some(now));
        }
        assert_eq!(marked, [1_100, 1_200, 1_280, 1_330, 1_380, 1_430, 1_470]);
    }

    #[test]
    fn short_waits_and_single_packets_are_left_alone() {
        assert!(drops(1_000, 3_000, &mut CodelState::default(), 4, 9).is_empty());
        assert!(drops(1_000, 3_000, &mut CodelState::default(), 500, 2).is_empty());
    }

    #[test]
    fn a_queue_that_was_short_once_has_an_interval_again() {
        let mut state = CodelState::default();
        assert_eq!(drops(1_000, 1_090, &mut state, 50, 9), [0; 0]);
        assert_eq!(drops(1_090, 1_100, &mut state, 1, 9), [0; 0]);
        assert_eq!(drops(1_100, 1_210, &mut state, 50, 9), [1_200]);
    }

    /// Back within 16 intervals: the rate of drops goes on nearly where it was, not from the start.
    #[test]
    fn a_queue_that_stands_again_soon_is_dropped_at_the_old_rate() {
        let mut state = CodelState::default();
        let first = drops(1_000, 2_000, &mut state, 50, 9);
        drops(2_000, 2_100, &mut state, 1, 9);
        let again = drops(2_100, 2_300, &mut state, 50, 9);
        assert!(first.len() > 10 && again.len() > 3, "{again:?}");
    }
}
