//! Threads that stay awake for one solution: a sweep of some thousand contacts takes fifty microseconds, about as long as waking a thread.
//!
//! [`Team::with`] runs a method on the caller's thread and lends it the other threads of its pool. They wait for tasks by looking, first
//! without a pause, then giving way to others. A task is a function of an index. Each thread has a lane, an equal range of the indices, the
//! same in every task of so many indices: what it wrote it reads again, and finds it in its own cache (between two cores a line takes a
//! quarter of a microsecond on some machines). The caller, when its own lane is done, takes what is left in the others, so that a thread
//! that is late, or busy elsewhere, holds nobody up. What the results are does not depend on who computed them.
//!
//! How a task is shared:
//!
//! 1. The caller writes the task and opens it: `epoch` becomes odd.
//! 2. A helper that sees an odd epoch announces itself in `inside`, looks at the epoch again, and leaves if it has changed.
//!    Otherwise it takes the indices of its lane, one by one, until there are none, and leaves.
//! 3. The caller takes indices of all lanes, its own first. When there are none it closes the task (`epoch` becomes even) and waits until
//!    nobody is inside.
//!
//! A helper that is put to sleep by the system while inside is waited for: on a machine that is busy with other work the caller is then
//! better off alone. Twice in one solution, and it goes on alone; the next solutions do so from the start, first one, then three, seven, up
//! to 63, until the threads are as quick as they should be again.
//!
//! Both orders "announce, then look" and "close, then look" are sequentially consistent, so that one of the two sees the other: after step 3
//! no helper reads the task any more, and all indices are done.

#![allow(unsafe_code)]

use crate::solve::Stop;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Looks before giving way: some ten microseconds.
const LOOKS: u32 = 2000;

/// Helpers that were waited for `PATIENCE` so many times in one solution are busy elsewhere. No share of a task takes that long.
const LATE: usize = 2;
const PATIENCE: Duration = Duration::from_micros(500);

/// Solutions without helpers at most before they are tried again.
const ALONE: usize = 63;

/// Lanes at most; more threads share them.
const LANES: usize = 16;

/// A function of an index, and for how many.
#[derive(Clone, Copy)]
struct Task {
    call: unsafe fn(*const (), usize),
    data: *const (),
    count: usize,
}

/// Numbers that different threads write lie on lines of their own.
#[derive(Default)]
#[repr(align(64))]
struct Apart<T>(T);

/// The threads of one solution.
#[derive(Default)]
pub(super) struct Team {
    epoch: Apart<AtomicUsize>,
    /// How many indices of each lane are taken, or more.
    taken: [Apart<AtomicUsize>; LANES],
    inside: Apart<AtomicUsize>,
    /// True while helpers are wanted.
    open: Apart<AtomicBool>,
    /// Lanes in use.
    lanes: AtomicUsize,
    /// How often the caller waited for long, in this solution.
    late: AtomicUsize,
    /// Solutions to go without helpers, and how many there were the last time.
    alone: AtomicUsize,
    penalty: AtomicUsize,
    task: UnsafeCell<Option<Task>>,
}

// SAFETY: the task is written by the one caller of `each` while nobody is inside, and read by those inside alone.
unsafe impl Sync for Team {}
// SAFETY: nothing in it belongs to a thread; the task is only read between the steps of `each`.
unsafe impl Send for Team {}

/// Leaves when dropped, so that a panic in a task leaves nobody waiting.
struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Sends the helpers home when dropped.
struct Close<'a>(&'a AtomicBool);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// Closes the task and waits for those inside, also if the caller's share of it panics.
struct Finish<'a>(&'a Team);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.epoch.0.fetch_add(1, SeqCst);
        if wait(|| self.0.inside.0.load(SeqCst) == 0) {
            self.0.late.fetch_add(1, SeqCst);
        }
    }
}

/// Looks until `done`; true if that took long.
fn wait(done: impl Fn() -> bool) -> bool {
    let mut looks = 0;
    let mut given_way = None;
    while !done() {
        looks += 1;
        if looks < LOOKS {
            std::hint::spin_loop();
        } else {
            given_way.get_or_insert_with(|| Stop::default().clock());
            std::thread::yield_now();
        }
    }
    given_way.is_some_and(|since| since.elapsed() > PATIENCE)
}

/// # Safety
/// `data` is a `&F` that is still valid.
unsafe fn call<F: Fn(usize) + Sync>(data: *const (), i: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<F>())(i) }
}

impl Team {
    /// Runs `method` with the threads of the caller's pool at hand.
    pub(super) fn with<R: Send>(&self, method: impl FnOnce() -> R + Send) -> R {
        let helpers = rayon::current_num_threads() - 1;
        let alone = self.alone.load(SeqCst);
        if helpers == 0 || alone > 0 || self.open.0.swap(true, SeqCst) {
            self.alone.store(alone.saturating_sub(1), SeqCst);
            return method();
        }
        self.late.store(0, SeqCst);
        self.lanes.store(LANES.min(helpers + 1), SeqCst);
        let run = || {
            let _close = Close(&self.open.0);
            method()
        };
        let result = rayon::join(run, || self.lend(helpers)).0;
        let penalty = if self.busy() { ALONE.min(2 * self.penalty.load(SeqCst) + 1) } else { 0 };
        self.penalty.store(penalty, SeqCst);
        self.alone.store(penalty, SeqCst);
        result
    }

    /// True if the helpers of this solution have other things to do.
    fn busy(&self) -> bool {
        self.late.load(SeqCst) >= LATE
    }

    /// Helps with `threads` threads, as far as the pool has them to spare.
    fn lend(&self, threads: usize) {
        if threads > 1 && self.open.0.load(SeqCst) {
            rayon::join(|| self.help(threads), || self.lend(threads - 1));
        } else {
            self.help(threads);
        }
    }

    /// Helps as thread number `number`; the caller is number zero.
    fn help(&self, number: usize) {
        let mut last = 0;
        while self.open.0.load(SeqCst) {
            wait(|| {
                let epoch = self.epoch.0.load(SeqCst);
                (epoch % 2 == 1 && epoch != last) || !self.open.0.load(SeqCst)
            });
            let epoch = self.epoch.0.load(SeqCst);
            if epoch.is_multiple_of(2) || epoch == last {
                continue;
            }
            self.inside.0.fetch_add(1, SeqCst);
            let _leave = Leave(&self.inside.0);
            if self.epoch.0.load(SeqCst) == epoch {
                last = epoch;
                // SAFETY: inside and open: the caller waits for us before it changes the task or lets go of its data.
                unsafe { self.take(&(*self.task.get()).expect("an open task is there"), number % self.lanes.load(SeqCst)) };
            }
        }
    }

    /// Takes indices of one lane until there are none.
    ///
    /// # Safety
    /// The task's data are valid.
    unsafe fn take(&self, task: &Task, lane: usize) {
        let lanes = self.lanes.load(SeqCst);
        let (start, end) = (lane * task.count / lanes, (lane + 1) * task.count / lanes);
        loop {
            let i = start + self.taken[lane].0.fetch_add(1, SeqCst);
            if i >= end {
                return;
            }
            // SAFETY: the caller's promise.
            unsafe { (task.call)(task.data, i) };
        }
    }

    /// `f(i)` for all i below `count`, each once, on any thread; returns when all are done. To be called by one thread at a time.
    pub(super) fn each<F: Fn(usize) + Sync>(&self, count: usize, f: F) {
        if count < 2 || self.busy() || !self.open.0.load(SeqCst) || self.epoch.0.load(SeqCst) % 2 == 1 {
            (0..count).for_each(f);
            return;
        }
        let task = Task { call: call::<F>, data: (&raw const f).cast(), count };
        // SAFETY: nobody is inside: the last task was waited for, and there is one caller.
        unsafe { *self.task.get() = Some(task) };
        let lanes = self.lanes.load(SeqCst);
        self.taken[..lanes].iter().for_each(|taken| taken.0.store(0, SeqCst));
        self.epoch.0.fetch_add(1, SeqCst);
        let _finish = Finish(self);
        // SAFETY: `f` lives until the end of this function, and `Finish` waits for all others before that.
        (0..lanes).for_each(|lane| unsafe { self.take(&task, lane) });
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

/// The start of a slice that is handed out in chunks.
struct Start<T>(*mut T);

// SAFETY: chunks do not overlap, and are handed out once each.
unsafe impl<T: Send> Sync for Start<T> {}

impl<T> Start<T> {
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
            let team = Team::default();
            let counts: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
            pool(threads).install(|| {
                team.with(|| {
                    for round in 0..300 {
                        team.each(round % 7 * 150, |i| {
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
        let team = Team::default();
        let (mut a, mut b) = (vec![0; 1003], vec![0; 11]);
        pool(3).install(|| {
            team.with(|| {
                team.chunks((&mut a, &mut b), (100, 1), |i, a, b| {
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
        let team = Team::default();
        let pool = pool(2);
        for at in [0, 57, 99] {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                pool.install(|| team.with(|| team.each(100, |i| assert_ne!(i, at))));
            }));
            assert!(caught.is_err());
        }
        let sum = AtomicUsize::new(0);
        pool.install(|| {
            team.with(|| {
                team.each(100, |i| {
                    sum.fetch_add(i, SeqCst);
                });
            });
        });
        assert_eq!(sum.load(SeqCst), 4950, "and the team is as good as new");
    }
}
