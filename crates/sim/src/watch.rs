//! Who watches a long run: how far it is, and whether it is to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// How far a run is, in replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Replicas that are done.
    pub done: u32,
    /// Replicas that are planned by now; the number may grow.
    pub planned: u32,
}

/// What a caller lends to a run.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Stops the run once it is set: no further replica starts, those under way are waited for, and the result covers
    /// what is complete.
    pub cancel: &'a AtomicBool,
    /// Called when replicas are planned and after each replica, on the thread that ran it, one call at a time. Neither
    /// number ever falls.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Watch<'_> {
    /// Whether the run is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::SeqCst)
    }
}

/// Counts for a [`Watch`] what is planned and done.
pub struct Counter<'a> {
    watch: Watch<'a>,
    progress: Mutex<Progress>,
}

impl<'a> Counter<'a> {
    /// Nothing is planned and done yet.
    pub fn new(watch: Watch<'a>) -> Self {
        Counter { watch, progress: Mutex::default() }
    }

    /// So many replicas more are planned.
    pub fn plan(&self, more: u32) {
        self.tell(|progress| progress.planned = progress.planned.saturating_add(more));
    }

    /// One more replica is done.
    pub fn done(&self) {
        self.tell(|progress| progress.done += 1);
    }

    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut progress);
        // The lock is held, so that calls come one at a time and in order.
        (self.watch.progress)(*progress);
    }
}
