//! Who watches a long run: how far it is, and whether it is to stop.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// How far a run is, in replicas; a plan, in replicas of a first look, of which a longer one is several.
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
    /// Stops the run once it is set: no further replica starts, and the result covers what is complete. Those under way are waited
    /// for, unless none is complete: there is nothing to report then, and a first one may last for ever.
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

/// Says of replicas under way whether they are abandoned.
pub(crate) struct UnderWay<'a> {
    watch: Watch<'a>,
    any_complete: AtomicBool,
}

impl<'a> UnderWay<'a> {
    /// None is complete yet.
    pub(crate) fn new(watch: Watch<'a>) -> Self {
        UnderWay { watch, any_complete: AtomicBool::new(false) }
    }

    /// The run is to stop and no replica is complete.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.watch.is_cancelled() && !self.any_complete.load(Ordering::SeqCst)
    }

    /// A replica is complete.
    pub(crate) fn complete(&self) {
        self.any_complete.store(true, Ordering::SeqCst);
    }
}

/// Counts for a [`Watch`] what is planned and done.
pub struct Counter<'a> {
    watch: Watch<'a>,
    progress: Mutex<Progress>,
    /// Told as planned where less is.
    expected: AtomicU32,
}

impl<'a> Counter<'a> {
    /// Nothing is planned and done yet.
    pub fn new(watch: Watch<'a>) -> Self {
        Counter { watch, progress: Mutex::default(), expected: AtomicU32::new(0) }
    }

    /// So many are expected in all, before they are planned one part after the other: what is left can be reckoned from the start.
    pub fn expect(&self, all: u32) {
        self.expected.fetch_max(all, Ordering::SeqCst);
    }

    /// So many replicas more are planned.
    pub fn plan(&self, more: u32) {
        self.tell(|progress| progress.planned = progress.planned.saturating_add(more));
    }

    /// One more replica is done.
    pub fn done(&self) {
        self.done_of(1);
    }

    /// A replica that was planned as `parts` is done.
    pub fn done_of(&self, parts: u32) {
        self.tell(|progress| progress.done = progress.done.saturating_add(parts));
    }

    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut progress);
        // The lock is held, so that calls come one at a time and in order.
        let planned = progress.planned.max(self.expected.load(Ordering::SeqCst));
        (self.watch.progress)(Progress { planned, ..*progress });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_told_before_it_is_planned() {
        let told = Mutex::new(Vec::new());
        let progress = |Progress { done, planned }| told.lock().unwrap().push((done, planned));
        let cancel = AtomicBool::new(false);
        let counter = Counter::new(Watch { cancel: &cancel, progress: &progress });
        counter.plan(2);
        counter.expect(10);
        counter.done();
        counter.plan(6);
        counter.done_of(3);
        counter.plan(6);
        assert_eq!(*told.lock().unwrap(), [(0, 2), (1, 10), (1, 10), (4, 10), (4, 14)]);
    }
}
