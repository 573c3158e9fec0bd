//! A wired link in one direction: a queue, a rate, a delay.

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::qdisc::{DropTail, Queue};
use crate::units::{Bitrate, Duration, Instant};

/// Serves its queue at `rate` and delivers `delay` after the last bit.
///
/// Inputs are [`enqueue`](Self::enqueue) and [`poll_delivery`](Self::poll_delivery), the latter at
/// [`poll_timeout`](Self::poll_timeout) until it is `None`.
pub struct Link<P> {
    /// Packets that wait for the wire.
    pub queue: Queue<P>,
    rate: Bitrate,
    delay: Duration,
    /// When the last bit of the packet in transmission leaves.
    busy_until: Instant,
    /// Packets beyond the queue with their arrival times.
    in_flight: VecDeque<(Instant, P)>,
}

impl<P: Packet + Send + 'static> Link<P> {
    /// A link with room for `limit` waiting packets.
    pub fn new(limit: usize, rate: Bitrate, delay: Duration) -> Self {
        Link {
            queue: Queue::new(Box::new(DropTail::new(limit))),
            rate,
            delay,
            busy_until: Instant::ZERO,
            in_flight: VecDeque::with_capacity(64),
        }
    }

    /// A packet arrives at the sending end.
    pub fn enqueue(&mut self, now: Instant, packet: P) {
        self.queue.enqueue(now, packet);
        if self.busy_until <= now {
            self.serve(now);
        }
    }

    /// When to call [`Self::poll_delivery`]: a packet arrives, or the next one may be sent.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let arrival = self.in_flight.front().map(|(at, _)| *at);
        let departure = (!self.queue.is_empty()).then_some(self.busy_until);
        match (arrival, departure) {
            (Some(a), Some(d)) => Some(a.min(d)),
            (a, d) => a.or(d),
        }
    }

    /// A packet that has arrived at the far end by `now`.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<P> {
        if self.busy_until <= now {
            self.serve(now);
        }
        self.in_flight.pop_front_if(|(at, _)| *at <= now).map(|(_, packet)| packet)
    }

    fn serve(&mut self, now: Instant) {
        if let Some(packet) = self.queue.dequeue(now) {
            self.busy_until = now + packet.ip_len().time_at(self.rate);
            self.in_flight.push_back((self.busy_until + self.delay, packet));
        }
    }
}
