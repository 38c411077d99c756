//! Worker threads that stay awake for one solution: a sweep over some thousand contacts takes fifty
//! microseconds, about as long as waking a thread.
//!
//! [`WorkerGroup::with`] runs a method on the caller's thread and makes the other threads of its
//! pool helpers. A helper waits for tasks in a spin loop, then by yielding. A task is a function of
//! an index. Each thread owns a lane, an equal range of the indices, and the same one in every task
//! of the same size, so that it finds what it wrote in its own cache (between two cores a cache
//! line takes a quarter of a microsecond on some machines). When the caller has finished its own
//! lane it steals the remaining indices of the others: a late thread delays nobody. Results do not
//! depend on which thread computed them. [`super::fork_join`] is the protocol.
//!
//! The caller waits for a helper that the system has suspended in the middle of an index. On a
//! machine that is busy with other work one thread is then faster: after two such waits in one
//! solution the caller goes on alone, and so do the next solutions, first one, then three, seven,
//! up to 63, until the helpers are fast again.

#![allow(unsafe_code)]

use super::fork_join::ForkJoin;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// After so many long waits in one solution the helpers count as busy.
const MAX_LONG_WAITS: usize = 2;

/// The most solutions without helpers before they are tried again.
const MAX_SOLVES_ALONE: usize = 63;

/// Lanes at most; more threads do not help.
const MAX_LANES: usize = 64;

/// The threads of one solution.
#[derive(Default)]
pub(super) struct WorkerGroup {
    threads: ForkJoin<MAX_LANES>,
    /// Solutions to go without helpers, and how many there were the last time.
    alone: AtomicUsize,
    penalty: AtomicUsize,
}

impl WorkerGroup {
    /// Runs `method` with the threads of the caller's pool as helpers.
    pub(super) fn with<R: Send>(&self, method: impl FnOnce() -> R + Send) -> R {
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

    /// `f(i)` for all i below `count`, each once, on any thread; returns when all are done.
    pub(super) fn each<F: Fn(usize) + Sync>(&self, count: usize, f: F) {
        if self.busy() {
            (0..count).for_each(f);
        } else {
            self.threads.each(count, f);
        }
    }

    /// `f(i, chunk i of a, chunk i of b)`, chunks of `sizes` numbers each.
    pub(super) fn chunks<A: Send, B: Send>(
        &self,
        (a, b): (&mut [A], &mut [B]),
        sizes: (usize, usize),
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        let lengths = (a.len(), b.len());
        let (a, b) = (Start(a.as_mut_ptr()), Start(b.as_mut_ptr()));
        self.each(lengths.0.div_ceil(sizes.0), |i| {
            // SAFETY: within the slice, and chunks of different i do not overlap.
            let a = unsafe { a.chunk(i, sizes.0, lengths.0) };
            // SAFETY: as above.
            let b = unsafe { b.chunk(i, sizes.1, lengths.1) };
            f(i, a, b);
        });
    }
}

impl WorkerGroup {
    /// `f(i, range i of a, entry i of b)` for all entries of b; the ranges are in order and do not
    /// overlap.
    pub(super) fn ranges<A: Send, B: Send>(
        &self,
        (a, b): (&mut [A], &mut [B]),
        range: impl Fn(usize) -> Range<usize> + Sync,
        f: impl Fn(usize, &mut [A], &mut B) + Sync,
    ) {
        let all = || (0..b.len()).map(&range);
        assert!(
            all().all(|range| range.start <= range.end && range.end <= a.len()),
            "ranges within the slice"
        );
        assert!(
            all().zip(all().skip(1)).all(|(one, next)| one.end <= next.start),
            "one after the other"
        );
        let (a, count, b) = (Start(a.as_mut_ptr()), b.len(), Start(b.as_mut_ptr()));
        self.each(count, |i| {
            let mine = range(i);
            // SAFETY: within the slice, and no other range has a part of it (checked above, the
            // range of an index is always the same one).
            let mine = unsafe { std::slice::from_raw_parts_mut(a.at(mine.start), mine.len()) };
            // SAFETY: entry i of `count`, handed out once.
            f(i, mine, unsafe { &mut *b.at(i) });
        });
    }
}

/// The start of a slice that is handed out in chunks.
struct Start<T>(*mut T);

// SAFETY: chunks do not overlap, and are handed out once each.
unsafe impl<T: Send> Sync for Start<T> {}

impl<T> Start<T> {
    /// # Safety
    /// The slice has that many entries.
    unsafe fn at(&self, i: usize) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(i) }
    }

    /// # Safety
    /// The slice has `length` entries, and nobody else holds this chunk.
    #[allow(clippy::mut_from_ref)]
    unsafe fn chunk(&self, i: usize, size: usize, length: usize) -> &mut [T] {
        let start = length.min(i * size);
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(start), size.min(length - start)) }
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
                        workers.each(round % 7 * 150, |i| {
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
                pool.install(|| workers.with(|| workers.each(100, |i| assert_ne!(i, at))));
            }));
            assert!(caught.is_err());
        }
        let sum = AtomicUsize::new(0);
        pool.install(|| {
            workers.with(|| {
                workers.each(100, |i| {
                    sum.fetch_add(i, SeqCst);
                });
            });
        });
        assert_eq!(sum.load(SeqCst), 4950, "and the group works as before");
    }
}
