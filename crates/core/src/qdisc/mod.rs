//! Queue disciplines: who waits, who goes next, who is dropped and why.
//!
//! A discipline is one file that implements [`Qdisc`] plus one arm in [`build`]. It never counts:
//! [`Queue`] wraps it, stamps arrivals and keeps the statistics, so that all disciplines are
//! measured alike and packets in = out + dropped + queued holds by one check.

mod droptail;
mod histogram;
mod queue;

pub use droptail::DropTail;
pub use histogram::Histogram;
pub use queue::{Queue, QueueStats};

use serde::{Deserialize, Serialize};

use crate::packet::{DropReason, Packet};
use crate::units::Instant;

/// Where a discipline puts the packets that it gives up, each with its reason.
pub type Drops<P> = Vec<(P, DropReason)>;

/// A queue of packets with an order and a drop rule.
///
/// Call [`enqueue`](Self::enqueue) for each arrival and [`dequeue`](Self::dequeue) whenever the
/// server is free; after `dequeue` returned `None` although packets wait (a shaper), ask
/// [`poll_timeout`](Self::poll_timeout) when to try again.
pub trait Qdisc<P: Packet>: Send {
    /// Takes `packet` in. Whatever is dropped for it (itself, or one that waited) goes to `drops`.
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut Drops<P>);

    /// The next packet to serve, if one may go now. May drop others on the way (CoDel).
    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<P>;

    /// Packets waiting.
    fn len(&self) -> usize;

    /// Nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When a packet that waits may go; `None` when `dequeue` never holds one back.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// A discipline and its parameters, as a scenario names it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QdiscSpec {
    /// First in, first out; a packet that finds `limit` waiting is dropped.
    Droptail {
        /// Most packets that wait, at least 1.
        limit: usize,
    },
}

/// Builds the discipline that `spec` describes.
pub fn build<P: Packet + Send + 'static>(spec: QdiscSpec) -> Box<dyn Qdisc<P>> {
    match spec {
        QdiscSpec::Droptail { limit } => Box::new(DropTail::new(limit)),
    }
}
