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
    /// RFC 8289 section 5.5: the next packet to send; those dropped on the way go to `drops`.
    pub fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        params: &CodelParams,
        queue: &mut impl CodelQueue<P>,
        drops: &mut Drops<P>,
    ) -> Option<P> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now, params, queue);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                drops.extend(packet.map(|packet| (packet, DropReason::Codel)));
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now, params, queue);
                if ok_to_drop {
                    self.drop_next = control_law(params, self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            drops.extend(packet.map(|packet| (packet, DropReason::Codel)));
            (packet, _) = self.dodequeue(now, params, queue);
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
