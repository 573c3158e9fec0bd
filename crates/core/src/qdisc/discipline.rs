//! The trait of a discipline, and what one offers that decides for itself which station an aggregate goes to.
//!
//! Under EDCA with aggregation a transmitter asks, whenever it builds a PPDU: which station ([`Txq::next_station`]), which
//! packets ([`Txq::dequeue_for`], until a limit of the aggregate is reached). Any other discipline is drained in its own
//! order into the MAC, which holds at most two aggregates a station and category.

use crate::packet::{Category, Direction, DropReason, NodeId, Packet};
use crate::units::{Bytes, Duration, Instant};

/// Where a discipline puts the packets that it gives up, each with its reason.
pub type Drops<P> = Vec<(P, DropReason)>;

/// A queue of packets with an order and a drop rule.
///
/// Call [`enqueue`](Self::enqueue) for each arrival and [`dequeue`](Self::dequeue) whenever the server is free. A
/// discipline conserves work: it never holds a packet back. The `observe_*` methods tell a discipline at the AP what else
/// it could see there; most need none of it.
pub trait Qdisc<P: Packet>: Send {
    /// Takes `packet` in. Whatever is dropped for it (itself, or one that waited) goes to `drops`.
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut Drops<P>);

    /// The next packet to serve; `None` if none waits. May drop others on the way (CoDel).
    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<P>;

    /// Packets waiting.
    fn len(&self) -> usize;

    /// Nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
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

impl<P: Packet, D: Qdisc<P> + ?Sized> Qdisc<P> for Box<D> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut Drops<P>) {
        (**self).enqueue(now, packet, drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<P> {
        (**self).dequeue(now, drops)
    }

    fn len(&self) -> usize {
        (**self).len()
    }

    fn is_empty(&self) -> bool {
        (**self).is_empty()
    }

    fn as_txq(&mut self) -> Option<&mut dyn Txq<P>> {
        (**self).as_txq()
    }

    fn observe_uplink(&mut self, now: Instant, packet: &P) {
        (**self).observe_uplink(now, packet);
    }

    fn observe_airtime(&mut self, now: Instant, station: NodeId, direction: Direction, airtime: Duration) {
        (**self).observe_airtime(now, station, direction, airtime);
    }
}

/// What the MAC holds of one category's packets that have left the queue and are not acknowledged yet.
pub trait Held {
    /// When the oldest packet for `station` that the MAC holds entered the queue; `None` when it holds none.
    fn oldest(&self, station: NodeId) -> Option<Instant>;

    /// Whether the MAC has a packet for `station` that may be sent now, again or for the first time.
    fn may_send(&self, station: NodeId) -> bool;

    /// Whether another packet for `station` has room in its BlockAck window.
    fn has_room(&self, station: NodeId) -> bool;
}

/// A discipline with a queue of its own for each station and category.
///
/// Packets are counted as departed by [`Txq::dequeue_for`]; from then on the MAC holds them. Air is reported by
/// [`Qdisc::observe_airtime`], of both directions.
pub trait Txq<P: Packet>: Qdisc<P> {
    /// Whether a packet of `category` waits that may be handed over.
    fn has_traffic(&self, category: Category) -> bool;

    /// The station that the next PPDU of `category` goes to, among those with packets here (and room in the MAC) and those
    /// whose packets the MAC holds for sending. `None`: nobody may be served now.
    fn next_station(&mut self, now: Instant, category: Category, held: &dyn Held) -> Option<NodeId>;

    /// The next packet of `category` for `station`; called until the PPDU is full. May drop others on the way (CoDel).
    fn dequeue_for(&mut self, now: Instant, station: NodeId, category: Category, drops: &mut Drops<P>) -> Option<P>;

    /// Of the packets handed over, so many, with so many bytes of IP in all, were acknowledged or given up.
    fn completed(&mut self, _now: Instant, _station: NodeId, _category: Category, _packets: usize, _bytes: Bytes) {}
}

/// A MAC that holds nothing.
pub(super) struct Nothing;

impl Held for Nothing {
    fn oldest(&self, _station: NodeId) -> Option<Instant> {
        None
    }

    fn may_send(&self, _station: NodeId) -> bool {
        false
    }

    fn has_room(&self, _station: NodeId) -> bool {
        true
    }
}
