//! The heap of deadlines: what is due when, besides the radio.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::units::Instant;

/// What is due. `T` are the driver's timers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deadline<T> {
    /// A packet arrives at the end of the wired link with this index, or the link may serve the next one.
    Link(u32),
    /// A timer of the driver.
    Driver(T),
    /// A packet may leave the AP's uplink limiter.
    Limiter,
    /// A packet may leave the pool of the box with this number.
    Shaper(u32),
    /// That pool's controller is due.
    Control(u32),
    /// A sleeping station takes the probe with this number.
    Answer(u32),
    /// The timed event of the scenario with this position.
    Script(u32),
    /// A sample of the time series is due.
    Sample,
    /// The measured time begins.
    WarmupEnd,
    /// A period of it ends.
    PeriodEnd,
}

/// A deadline in the heap: the earliest is the greatest, and of equal times the one that was scheduled first.
#[derive(Debug)]
struct Entry<T> {
    at: Instant,
    number: u64,
    deadline: Deadline<T>,
}

impl<T> Ord for Entry<T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

/// Links that come up for almost every packet: their wake-ups stand beside the heap. [`Deadline::Link`] with these numbers.
pub(super) const BUSY_LINKS: usize = 2;

/// Deadlines in the order of time; equal times in the order of scheduling.
#[derive(Debug)]
pub(super) struct Deadlines<T> {
    heap: BinaryHeap<Entry<T>>,
    /// Wake-ups of the busy links with their numbers, the next one last. There are few: each is set before the one that was set last.
    links: [Vec<(Instant, u64)>; BUSY_LINKS],
    /// When and where the first of all is due.
    first: (Instant, u64),
    scheduled: u64,
}

impl<T: Copy> Deadlines<T> {
    pub(super) const fn new() -> Self {
        let first = (Instant::FAR_FUTURE, 0);
        Deadlines { heap: BinaryHeap::new(), links: [const { Vec::new() }; BUSY_LINKS], first, scheduled: 0 }
    }

    #[inline]
    pub(super) fn schedule(&mut self, at: Instant, deadline: Deadline<T>) {
        self.scheduled += 1;
        self.first = self.first.min((at, self.scheduled));
        match deadline {
            Deadline::Link(link) if (link as usize) < BUSY_LINKS => {
                let wakeups = &mut self.links[link as usize];
                let later = wakeups.iter().rposition(|(other, _)| *other > at).map_or(0, |position| position + 1);
                wakeups.insert(later, (at, self.scheduled));
            }
            _ => self.heap.push(Entry { at, number: self.scheduled, deadline }),
        }
    }

    /// Makes sure that `deadline` comes up at `at` or before; what comes up before looks again.
    ///
    /// `wakeup` says when it is going to come up: [`Instant::FAR_FUTURE`] when it is not in the heap.
    #[inline]
    pub(super) fn arm(&mut self, wakeup: &mut Instant, at: Option<Instant>, deadline: Deadline<T>) {
        if let Some(at) = at
            && at < *wakeup
        {
            *wakeup = at;
            self.schedule(at, deadline);
        }
    }

    /// When the next deadline is due; [`Instant::FAR_FUTURE`] when there is none.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        self.first.0
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Deadline<T>> {
        let first = self.first;
        let link = self.links.iter().position(|wakeups| wakeups.last() == Some(&first));
        let deadline = match link {
            Some(link) => self.links[link].pop().map(|_| Deadline::Link(link as u32)),
            None => self.heap.pop().map(|entry| entry.deadline),
        };
        self.first = self.heap.peek().map_or((Instant::FAR_FUTURE, 0), |entry| (entry.at, entry.number));
        for wakeups in &self.links {
            if let Some(wakeup) = wakeups.last() {
                self.first = self.first.min(*wakeup);
            }
        }
        deadline
    }
}

/// Whether the wake-up that has come up at `now` is the one that counts; if so, none is in the heap any more.
#[inline]
pub(super) fn is_current(wakeup: &mut Instant, now: Instant) -> bool {
    let current = *wakeup == now;
    if current {
        *wakeup = Instant::FAR_FUTURE;
    }
    current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_up_by_time_and_then_in_the_order_of_scheduling() {
        let at = Instant::from_nanos;
        let mut deadlines = Deadlines::new();
        for (ns, timer) in [(5, 'a'), (2, 'b'), (5, 'c'), (2, 'd')] {
            deadlines.schedule(at(ns), Deadline::Driver(timer));
        }
        assert_eq!(deadlines.next_at(), at(2));
        let order = std::iter::from_fn(|| deadlines.pop()).map(|deadline| match deadline {
            Deadline::Driver(timer) => timer,
            other => panic!("{other:?} was not scheduled"),
        });
        assert_eq!(order.collect::<String>(), "bdac");
        assert_eq!(deadlines.next_at(), Instant::FAR_FUTURE);
    }

    #[test]
    fn a_wake_up_is_set_only_when_it_comes_before_the_one_that_is() {
        let at = Instant::from_nanos;
        let (mut deadlines, mut wakeup) = (Deadlines::<()>::new(), Instant::FAR_FUTURE);
        for ns in [7, 9, 3] {
            deadlines.arm(&mut wakeup, Some(at(ns)), Deadline::Limiter);
        }
        deadlines.arm(&mut wakeup, None, Deadline::Limiter);
        assert_eq!((wakeup, deadlines.heap.len()), (at(3), 2));
        assert!(is_current(&mut wakeup, at(3)) && !is_current(&mut wakeup, at(7)), "the later one is out of date");
    }
}
