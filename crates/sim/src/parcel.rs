//! A segment on its way through the cell: a handle, so that queues, sessions and wires move eight bytes a packet.
//!
//! Segments that have arrived or were dropped are used again, so that a steady cell allocates nothing.

use std::cell::RefCell;
use std::ops::Deref;

use fairair_core::cell::CellPacket;
use fairair_core::packet::{Category, Class, Direction, FlowId, NodeId, Packet, Segment, TcpView};
use fairair_core::units::{Bytes, Instant};

/// Segments that a thread keeps at most; cells hold more than this only while buffers without limit fill.
const KEPT: usize = 1 << 14;

thread_local! {
    /// A replica runs on one thread from its beginning to its end.
    #[allow(clippy::vec_box)] // What is kept is the allocation.
    static KEPT_SEGMENTS: RefCell<Vec<Box<Segment>>> = const { RefCell::new(Vec::new()) };
}

/// A segment behind a handle.
#[derive(Clone, Debug)]
pub(crate) struct Parcel(Box<Segment>);

impl Parcel {
    #[inline]
    pub(crate) fn new(segment: Segment) -> Self {
        match KEPT_SEGMENTS.with_borrow_mut(Vec::pop) {
            Some(mut kept) => {
                *kept = segment;
                Parcel(kept)
            }
            None => Parcel(Box::new(segment)),
        }
    }
}

impl Deref for Parcel {
    type Target = Segment;

    #[inline]
    fn deref(&self) -> &Segment {
        &self.0
    }
}

impl Packet for Parcel {
    #[inline]
    fn ip_len(&self) -> Bytes {
        self.0.ip_len()
    }

    #[inline]
    fn station(&self) -> NodeId {
        self.0.station
    }

    #[inline]
    fn flow(&self) -> FlowId {
        self.0.flow
    }

    #[inline]
    fn direction(&self) -> Direction {
        self.0.direction
    }

    #[inline]
    fn class(&self) -> Class {
        self.0.class()
    }

    #[inline]
    fn category(&self) -> Category {
        self.0.category
    }

    #[inline]
    fn tcp(&self) -> Option<TcpView> {
        self.0.tcp()
    }

    fn clamp_window(&mut self, window: Bytes) {
        self.0.clamp_window(window);
    }

    #[inline]
    fn enqueued_at(&self) -> Instant {
        self.0.enqueued_at
    }

    #[inline]
    fn set_enqueued_at(&mut self, now: Instant) {
        self.0.enqueued_at = now;
    }

    #[inline]
    fn discard(self) {
        KEPT_SEGMENTS.with_borrow_mut(|kept| {
            if kept.len() < KEPT {
                kept.push(self.0);
            }
        });
    }
}

impl CellPacket for Parcel {
    #[inline]
    fn scenario_flow(&self) -> Option<usize> {
        self.0.scenario_flow()
    }

    #[inline]
    fn probe(&self) -> Option<u64> {
        self.0.probe()
    }

    #[inline]
    fn is_traffic(&self) -> bool {
        self.0.is_traffic()
    }

    #[inline]
    fn is_for_stations(&self) -> bool {
        self.0.is_for_stations()
    }
}
