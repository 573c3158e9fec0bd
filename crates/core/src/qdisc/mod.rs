//! Queue disciplines: who waits, who goes next, who is dropped and why.
//!
//! A discipline is one file that implements [`Qdisc`], a variant of [`QdiscSpec`] and an arm of
//! [`build`]. It never counts: [`Queue`] wraps it, stamps arrivals and keeps the statistics, so that
//! all disciplines are measured alike and packets in = out + dropped + queued holds by one check.

mod adaptive_buffer;
mod admission;
mod airtime_fq;
mod backlogs;
mod census;
mod codel;
mod droptail;
mod dual_queue;
mod dual_share;
mod fair_queue;
mod flow_table;
mod fq_codel;
mod histogram;
mod las;
mod mac80211;
mod queue;
mod service;
mod shared_fifo;
mod spec;
mod tlas;
mod tlas_saf;
mod txq;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fair_tests;
#[cfg(test)]
mod las_tests;

pub use adaptive_buffer::{AdaptiveBuffer, AdaptiveBufferParams};
pub use admission::{Admission, AdmissionParams, Refusable};
pub use airtime_fq::{AirtimeFq, AirtimeFqParams};
pub use codel::{CodelParams, CodelQueue, CodelState};
pub use droptail::DropTail;
pub use dual_queue::{DualQueue, DualQueueParams};
pub use dual_share::{Share, ShareRule};
pub use fair_queue::{Charge, FairKey, FairQueue, FairQueueParams};
pub use fq_codel::{FqCodel, FqCodelParams};
pub use histogram::Histogram;
pub use las::{Las, LasParams};
pub use mac80211::{Mac80211, Mac80211Params};
pub use queue::{Queue, QueueStats};
pub use shared_fifo::{SharedFifo, SharedFifoParams};
pub use spec::QdiscSpec;
pub use tlas::{Tlas, TlasParams, Victim};
pub use tlas_saf::{CwndSource, TlasSaf, TlasSafParams};
pub use txq::{Held, Txq};

use crate::packet::{Direction, DropReason, NodeId, Packet};
use crate::rng::Rng;
use crate::units::{Duration, Instant};

/// Where a discipline puts the packets that it gives up, each with its reason.
pub type Drops<P> = Vec<(P, DropReason)>;

/// A queue of packets with an order and a drop rule.
///
/// Call [`enqueue`](Self::enqueue) for each arrival and [`dequeue`](Self::dequeue) whenever the
/// server is free; after `dequeue` returned `None` although packets wait (a shaper), ask
/// [`poll_timeout`](Self::poll_timeout) when to try again. The `observe_*` methods tell a discipline
/// at the AP what else it could see there; most need none of it.
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

    /// The discipline as one that decides which station an aggregate goes to; `None` when it does not.
    fn as_txq(&mut self) -> Option<&mut dyn Txq<P>> {
        None
    }

    /// A packet from a station came to the AP over the radio.
    fn observe_uplink(&mut self, _now: Instant, _packet: &P) {}

    /// A frame from (`Up`) or to (`Down`) `station`, decoded or not, or the MAC ACK to it, takes `airtime`.
    fn observe_airtime(&mut self, _now: Instant, _station: NodeId, _direction: Direction, _airtime: Duration) {}
}

/// Builds the discipline that `spec` describes. `rng` is its own stream; most draw nothing.
pub fn build<P: Packet + Send + 'static>(spec: QdiscSpec, rng: Rng) -> Box<dyn Qdisc<P>> {
    match spec {
        QdiscSpec::Droptail { limit } => Box::new(DropTail::new(limit)),
        QdiscSpec::Las(params) => Box::new(Las::new(params)),
        QdiscSpec::Tlas(params) => Box::new(Tlas::new(params)),
        QdiscSpec::TlasSaf(params) => Box::new(TlasSaf::new(params)),
        QdiscSpec::DualQueue(params) => Box::new(DualQueue::new(params, rng)),
        QdiscSpec::PerFlowFq(params) => Box::new(FairQueue::new(params, FairKey::Flow)),
        QdiscSpec::PerStationFq(params) => Box::new(FairQueue::new(params, FairKey::Station)),
        QdiscSpec::FqCodel(params) => Box::new(FqCodel::new(params)),
        QdiscSpec::AirtimeFq(params) => Box::new(AirtimeFq::new(params)),
        QdiscSpec::Admission(params) => Box::new(Admission::new(params, rng)),
        QdiscSpec::AdaptiveBuffer(params) => Box::new(AdaptiveBuffer::new(params)),
        QdiscSpec::Mac80211(params) => Box::new(Mac80211::new(params)),
        QdiscSpec::SharedFifo(params) => Box::new(SharedFifo::new(params)),
    }
}
