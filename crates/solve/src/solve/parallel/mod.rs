//! Worker threads that stay awake for one solution: a sweep over some thousand contacts takes fifty
//! microseconds, about as long as waking a thread.
//!
//! [`WorkerGroup::with`] runs a method on the caller's thread and makes the other threads of its
//! pool helpers. A helper waits for tasks in a spin loop, then by yielding. A task is a function of
//! an index. Each thread owns a lane, an equal range of the indices, and the same one in every task
//! of the same size, so that it finds what it wrote in its own cache (between two cores a cache
//! line takes a quarter of a microsecond on some machines). When the caller has finished its own
//! lane it steals the remaining indices of the others: a late thread delays nobody. Results do not
//! depend on which thread computed them. [`fork_join`] is the protocol, and hands out the parts of
//! slices; nothing here or elsewhere needs `unsafe` to share them.
//!
//! The caller waits for a helper that the system has suspended in the middle of an index. On a
//! machine that is busy with other work one thread is then faster: after two such waits in one
//! solution the caller goes on alone, and so do the next solutions, first one, then three, seven,
//! up to 63, until the helpers are fast again.

mod fork_join;
pub(crate) mod passes;
mod sync;

use fork_join::{ForkJoin, MAX_LONG_WAITS};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// The most solutions without helpers before they are tried again.
const MAX_SOLVES_ALONE: usize = 63;

/// Lanes at most; more threads do not help.
const MAX_LANES: usize = 64;

/// The threads of one solution.
#[derive(Default)]
pub(crate) struct WorkerGroup {
    threads: ForkJoin<MAX_LANES>,
    /// Solutions to go without helpers, and how many there were the last time.
    alone: AtomicUsize,
    penalty: AtomicUsize,
}

impl WorkerGroup {
    /// Runs `method` with the threads of the caller's pool as helpers.
    pub(crate) fn with<R: Send>(&self, method: impl FnOnce() -> R + Send) -> R {
        let helpers = rayon::current_num_threads() - 1;
        let alone = self.alone.load(SeqCst);
        let asked = if helpers == 0 || alone > 0 { None } else { self.threads.open(helpers) };
        let Some(release) = asked else {
            self.alone.store(alone.saturating_sub(1), SeqCst);
            return method();
        };
        let run = || {
            let _release = release;
            method()
        };
        let result = rayon::join(run, || self.spawn_helpers(helpers)).0;
        let penalty =
            if self.busy() { MAX_SOLVES_ALONE.min(2 * self.penalty.load(SeqCst) + 1) } else { 0 };
        self.penalty.store(penalty, SeqCst);
        self.alone.store(penalty, SeqCst);
        result
    }

    /// True if the helpers of this solution are busy with other work.
    fn busy(&self) -> bool {
        self.threads.long_waits() >= MAX_LONG_WAITS
    }

    /// Helps with `threads` threads, as far as the pool has them to spare.
    fn spawn_helpers(&self, threads: usize) {
        if threads > 1 && self.threads.is_open() {
            rayon::join(|| self.threads.help(threads), || self.spawn_helpers(threads - 1));
        } else {
            self.threads.help(threads);
        }
    }

    /// `f(i, chunk i of a, chunk i of b)`, chunks of `sizes` numbers each.
    pub(crate) fn chunks<A: Send, B: Send>(
        &self,
        slices: (&mut [A], &mut [B]),
        sizes: (usize, usize),
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        self.threads.chunks(slices, sizes, f);
    }

    /// `f(i, a[starts[i]..starts[i + 1]], b[i])` for all entries of b.
    pub(crate) fn ranges<A: Send, B: Send>(
        &self,
        slices: (&mut [A], &mut [B]),
        starts: &[usize],
        f: impl Fn(usize, &mut [A], &mut B) + Sync,
    ) {
        self.threads.ranges(slices, starts, f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn every_index_is_done_once_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let workers = WorkerGroup::default();
            let counts: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
            pool(threads).install(|| {
                workers.with(|| {
                    for round in 0..300 {
                        workers.threads.each(round % 7 * 150, |i| {
                            counts[i].fetch_add(1, SeqCst);
                        });
                    }
                });
            });
            for (i, count) in counts.iter().enumerate() {
                let want = (0..300).filter(|round| i < round % 7 * 150).count();
                assert_eq!(count.load(SeqCst), want, "{i} on {threads} threads");
            }
        }
    }

    #[test]
    fn chunks_cover_two_slices() {
        let workers = WorkerGroup::default();
        let (mut a, mut b) = (vec![0; 1003], vec![0; 11]);
        pool(3).install(|| {
            workers.with(|| {
                workers.chunks((&mut a, &mut b), (100, 1), |i, a, b| {
                    a.fill(i);
                    b[0] = a.len();
                });
            });
        });
        assert!(a.iter().enumerate().all(|(i, &x)| x == i / 100));
        assert_eq!(b, [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 3]);
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let workers = WorkerGroup::default();
        let pool = pool(2);
        for at in [0, 57, 99] {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                pool.install(|| workers.with(|| workers.threads.each(100, |i| assert_ne!(i, at))));
            }));
            assert!(caught.is_err());
        }
        let sum = AtomicUsize::new(0);
        pool.install(|| {
            workers.with(|| {
                workers.threads.each(100, |i| {
                    sum.fetch_add(i, SeqCst);
                });
            });
        });
        assert_eq!(sum.load(SeqCst), 4950, "and the group works as before");
    }
}
