//! A segment on its way through the cell: a handle, so that queues, sessions and wires move eight bytes a packet.
//!
//! Segments that have arrived or were dropped are used again, so that a steady cell allocates nothing.

use std::cell::RefCell;
use std::ops::Deref;

use fairair_core::cell::CellPacket;
use fairair_core::packet::{Category, Class, Direction, FlowId, NodeId, Packet, Segment, TcpView};
use fairair_core::units::{Bytes, Instant};

use crate::flow::BLANK;

/// Segments that a thread keeps at most; cells hold more than this only while buffers without limit fill.
const MOST_KEPT: usize = 1 << 14;
/// Segments that are made at first. When none is left, as many again are made as there are: new maxima of packets under way stay rare events.
const FIRST_MADE: usize = 512;

/// Segments of a thread that carry nothing now.
#[allow(clippy::vec_box)] // What is kept is the allocation.
struct Pool {
    kept: Vec<Box<Segment>>,
    made: usize,
}

thread_local! {
    /// A replica runs on one thread from its beginning to its end.
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { kept: Vec::new(), made: 0 }) };
}

#[allow(clippy::unnecessary_box_returns)] // The allocation is what is handed on.
impl Pool {
    #[inline]
    fn take(&mut self) -> Box<Segment> {
        self.kept.pop().unwrap_or_else(|| self.grow())
    }

    /// A replica begins: what the last one had under way at its end is gone.
    fn begin(&mut self) {
        self.kept.clear();
        self.made = 0;
    }

    #[cold]
    fn grow(&mut self) -> Box<Segment> {
        let batch = self.made.clamp(FIRST_MADE, MOST_KEPT);
        self.made += batch;
        self.kept.extend((1..batch).map(|_| Box::new(BLANK)));
        Box::new(BLANK)
    }
}

/// A replica begins on this thread.
pub(crate) fn begin() {
    POOL.with_borrow_mut(Pool::begin);
}

/// A segment behind a handle.
#[derive(Clone, Debug)]
pub(crate) struct Parcel(Box<Segment>);

impl Parcel {
    #[inline]
    pub(crate) fn new(segment: Segment) -> Self {
        let mut parcel = POOL.with_borrow_mut(Pool::take);
        *parcel = segment;
        Parcel(parcel)
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

    fn mark(&mut self) -> bool {
        self.0.mark()
    }

    #[inline]
    fn discard(self) {
        POOL.with_borrow_mut(|pool| {
            if pool.kept.len() < MOST_KEPT {
                pool.kept.push(self.0);
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
}
