//! Replicas side by side: as many threads as wanted, the same results in the same order.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rayon::ThreadPoolBuildError;

/// Threads that run replicas.
pub struct Pool {
    threads: rayon::ThreadPool,
}

impl Pool {
    /// A pool of `jobs` threads; 0 takes one a processor.
    ///
    /// # Errors
    /// When the system does not give the threads.
    pub fn new(jobs: usize) -> Result<Self, ThreadPoolBuildError> {
        Ok(Pool { threads: rayon::ThreadPoolBuilder::new().num_threads(jobs).build()? })
    }

    /// How many threads it has.
    pub fn jobs(&self) -> usize {
        self.threads.current_num_threads()
    }

    /// Runs `simulate` on each replica and returns its results in replica order.
    ///
    /// Replicas start in order, one after another as threads come free. Once `cancel` is set, no further
    /// replica starts, and those under way are waited for; the results are then those of the first few replicas of the
    /// range, without gaps: the same as of a run that had asked for so many. `on_done` is called on a
    /// worker thread after each replica, in the order in which they end.
    ///
    /// # Panics
    /// When `simulate` panics: with its panic, once the replicas under way have ended. No further replica starts.
    pub fn run<T: Send>(
        &self,
        replicas: Range<u32>,
        cancel: &AtomicBool,
        simulate: impl Fn(u32) -> T + Sync,
        on_done: impl Fn(u32) + Sync,
    ) -> Vec<T> {
        let next = AtomicU32::new(replicas.start);
        let failed = AtomicBool::new(false);
        let take = || {
            // Looking at the flag comes first: a number that is taken is run, so that no gap is left.
            let cancelled = cancel.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            let replica = if cancelled { None } else { Some(next.fetch_add(1, Ordering::Relaxed)) };
            replica.filter(|replica| *replica < replicas.end)
        };
        let done = Mutex::new(Vec::new());
        self.threads.broadcast(|_| {
            while let Some(replica) = take() {
                let result = catch_unwind(AssertUnwindSafe(|| simulate(replica))).unwrap_or_else(|panic| {
                    failed.store(true, Ordering::Relaxed);
                    resume_unwind(panic)
                });
                done.lock().expect("no thread panics while it holds the lock").push((replica, result));
                on_done(replica);
            }
        });
        let mut done = done.into_inner().expect("no thread panics while it holds the lock");
        done.sort_by_key(|(replica, _)| *replica);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn never() -> AtomicBool {
        AtomicBool::new(false)
    }

    #[test]
    fn results_come_in_replica_order_whatever_the_threads() {
        for jobs in [1, 2, 7] {
            let pool = Pool::new(jobs).unwrap();
            assert_eq!(pool.jobs(), jobs);
            let slow_first = |replica: u32| {
                std::thread::sleep(Duration::from_millis(u64::from(10 - replica)));
                replica * replica
            };
            assert_eq!(pool.run(3..9, &never(), slow_first, |_| ()), [9, 16, 25, 36, 49, 64], "{jobs} threads");
        }
    }

    #[test]
    fn cancelling_leaves_the_first_replicas_without_gaps() {
        for jobs in [1, 3] {
            let cancel = never();
            let ended = Mutex::new(Vec::new());
            let results = Pool::new(jobs).unwrap().run(
                0..1000,
                &cancel,
                |replica| {
                    if replica == 4 {
                        cancel.store(true, Ordering::Relaxed);
                    }
                    replica
                },
                |replica| ended.lock().unwrap().push(replica),
            );
            assert!(results.len() >= 5 && results.len() < 1000, "{}", results.len());
            assert!(results.iter().copied().eq(0..results.len() as u32));
            assert_eq!(ended.into_inner().unwrap().len(), results.len(), "every replica is announced");
        }
    }

    #[test]
    fn a_panic_in_a_replica_starts_no_further_one_and_leaves_the_pool_usable() {
        for jobs in [1, 2] {
            let pool = Pool::new(jobs).unwrap();
            let begun = AtomicU32::new(0);
            let simulate = |replica: u32| {
                begun.fetch_add(1, Ordering::Relaxed);
                assert!(replica != 2, "a hook that panics");
                std::thread::sleep(Duration::from_millis(1));
            };
            let run = || pool.run(0..10_000, &never(), simulate, |_| ());
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
            assert!(begun.into_inner() < 5_000, "others went on");
            assert_eq!(pool.run(0..3, &never(), |replica| replica, |_| ()), [0, 1, 2]);
        }
    }

    #[test]
    fn an_empty_range_and_a_set_flag_run_nothing() {
        let pool = Pool::new(2).unwrap();
        assert!(pool.run(5..5, &never(), |replica| replica, |_| ()).is_empty());
        assert!(pool.run(0..5, &AtomicBool::new(true), |replica| replica, |_| ()).is_empty());
    }
}
