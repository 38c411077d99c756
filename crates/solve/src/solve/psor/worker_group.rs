//! Worker threads that stay awake for one solution: a sweep over some thousand contacts takes fifty microseconds,
//! about as long as waking a thread.
//!
//! [`WorkerGroup::with`] runs a method on the caller's thread and makes the other threads of its pool helpers. A helper
//! waits for tasks in a spin loop, then by yielding. A task is a function of an index. Each thread owns a lane, an equal
//! range of the indices, and the same one in every task of the same size, so that it finds what it wrote in its own cache
//! (between two cores a cache line takes a quarter of a microsecond on some machines). When the caller has finished its own
//! lane it steals the remaining indices of the others: a late thread delays nobody. Results do not depend on which
//! thread computed them.
//!
//! Protocol (a transfer of a cache line between cores takes as long as sweeping a dozen contacts, so there are few):
//!
//! 1. The caller writes the task and then its number into one cache line, the task slot, which helpers poll.
//! 2. Each lane has a claim counter: the number of its task, how many of its indices are claimed, and whether its helper
//!    claimed one. A helper that sees a new task claims index after index by compare-and-swap on the counter of its lane,
//!    until none is left. Then it writes the number of the task to `done`, which the caller polls.
//! 3. The caller finishes its own lane and polls `done` for a short while. Then it claims what is left in the other lanes,
//!    and closes them by claiming all. Where the closed counter says that the helper claimed an index, it waits for `done`.
//!
//! The caller waits for a helper that the system has suspended in the middle of an index. On a machine that is busy with
//! other work one thread is then faster: after two such waits in one solution the caller goes on alone, and so do the next
//! solutions, first one, then three, seven, up to 63, until the helpers are fast again.
//!
//! Why no helper works on a task that is over: it reads the number of a task that it has not worked on, then the rest of the
//! slot, and then claims an index by compare-and-swap, which succeeds for that number only. So the lane was not closed and
//! the slot not yet overwritten: the caller closes all lanes of a task, or sees that their indices are used up, and waits for
//! every helper that claimed one, before it writes the slot again.

#![allow(unsafe_code)]

use crate::solve::StoppingCriteria;
use std::cmp::Ordering::{Equal, Less};
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};
use std::time::Duration;

/// Polls before yielding: some ten microseconds.
const SPINS_BEFORE_YIELDING: u32 = 2000;

/// After so many waits of at least `LONG_WAIT` in one solution the helpers count as busy. No share of a task takes that long.
const MAX_LONG_WAITS: usize = 2;
const LONG_WAIT: Duration = Duration::from_micros(500);

/// The most solutions without helpers before they are tried again.
const MAX_SOLVES_ALONE: usize = 63;

/// Polls of `done` before stealing from a helper: about a microsecond.
const SPINS_BEFORE_STEALING: u32 = 64;

/// Lanes at most; more threads do not help.
const MAX_LANES: usize = 64;

/// A claim counter: the number of the task, whether the helper took an index, how many indices are claimed.
const HELPED_BIT: u64 = 1 << 20;
const CLAIMED_MASK: u64 = HELPED_BIT - 1;
const TASK_UNIT: u64 = 2 * HELPED_BIT;

/// A function of an index, for how many, and in how many lanes: the contents of the task slot.
#[derive(Default)]
#[repr(align(64))]
struct TaskSlot {
    /// Number of the last task.
    number: AtomicU64,
    call: AtomicPtr<()>,
    data: AtomicPtr<()>,
    count: AtomicUsize,
    lanes: AtomicUsize,
    /// True while helpers are wanted.
    open: AtomicBool,
}

/// A task as read from the slot.
#[derive(Clone, Copy)]
struct Task {
    number: u64,
    call: *mut (),
    data: *mut (),
    count: usize,
    lanes: usize,
}

impl Task {
    /// # Safety
    /// The task is open: the caller of `each` has not closed it, or waits for this index.
    unsafe fn run(&self, i: usize) {
        // SAFETY: `call` was made from such a function, and `data` is what it wants, valid while the task is open.
        unsafe { std::mem::transmute::<*mut (), unsafe fn(*const (), usize)>(self.call)(self.data, i) }
    }

    /// The indices of a lane.
    fn range(&self, lane: usize) -> Range<usize> {
        lane * self.count / self.lanes..(lane + 1) * self.count / self.lanes
    }
}

/// Numbers that different threads write lie on lines of their own.
#[derive(Default)]
#[repr(align(64))]
struct OwnCacheLine<T>(T);

/// What belongs to one lane.
#[derive(Default)]
struct Lane {
    claims: OwnCacheLine<AtomicU64>,
    /// Number of the last task that the helper is through with.
    done: OwnCacheLine<AtomicU64>,
}

impl Lane {
    /// Claims an index of this task, below `length`; none if there is none, or the task is over.
    fn claim(&self, number: u64, length: usize, helper: bool) -> Option<usize> {
        let mark = if helper { HELPED_BIT } else { 0 };
        let next = |claims: u64| match (claims / TASK_UNIT).cmp(&number) {
            Less if length > 0 => Some(number * TASK_UNIT + mark + 1),
            Equal if claims & CLAIMED_MASK < length as u64 => Some((claims | mark) + 1),
            _ => None,
        };
        let before = self.claims.0.fetch_update(AcqRel, Acquire, next).ok()?;
        Some(if before / TASK_UNIT == number { (before & CLAIMED_MASK) as usize } else { 0 })
    }

    /// Lets nobody claim an index of this task any more; true if the helper took one.
    fn close(&self, number: u64) -> bool {
        let before = self.claims.0.swap(number * TASK_UNIT + CLAIMED_MASK, AcqRel);
        before / TASK_UNIT == number && before & HELPED_BIT > 0
    }
}

/// The threads of one solution.
pub(super) struct WorkerGroup {
    slot: TaskSlot,
    lanes: [Lane; MAX_LANES],
    /// True while a task is shared.
    running: OwnCacheLine<AtomicBool>,
    /// How often the caller waited for long, in this solution.
    late: AtomicUsize,
    /// Solutions to go without helpers, and how many there were the last time.
    alone: AtomicUsize,
    penalty: AtomicUsize,
}

impl Default for WorkerGroup {
    fn default() -> WorkerGroup {
        WorkerGroup {
            slot: TaskSlot::default(),
            lanes: std::array::from_fn(|_| Lane::default()),
            running: OwnCacheLine::default(),
            late: AtomicUsize::new(0),
            alone: AtomicUsize::new(0),
            penalty: AtomicUsize::new(0),
        }
    }
}

/// Says that the helper is through with a task when dropped, so that a panic in it leaves nobody waiting.
struct MarkDone<'a>(&'a Lane, u64);

impl Drop for MarkDone<'_> {
    fn drop(&mut self) {
        self.0.done.0.store(self.1, Release);
    }
}

/// Ends the helpers when dropped.
struct ReleaseHelpers<'a>(&'a AtomicBool);

impl Drop for ReleaseHelpers<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// Closes the task and waits for those who work on it, also if the caller's share of it panics.
struct FinishTask<'a>(&'a WorkerGroup, Task);

impl Drop for FinishTask<'_> {
    fn drop(&mut self) {
        let FinishTask(workers, task) = self;
        for lane in &workers.lanes[1..task.lanes] {
            let done = || lane.done.0.load(Acquire) == task.number;
            // A helper that is through takes no more: its counter stays in its cache.
            if !done() && lane.close(task.number) && wait(done) {
                workers.late.fetch_add(1, SeqCst);
            }
        }
        workers.running.0.store(false, SeqCst);
    }
}

/// Polls `done`; true if that took long.
fn wait(done: impl Fn() -> bool) -> bool {
    let mut spins = 0;
    let mut given_way = None;
    while !done() {
        spins += 1;
        if spins < SPINS_BEFORE_YIELDING {
            std::hint::spin_loop();
        } else {
            given_way.get_or_insert_with(|| StoppingCriteria::default().now());
            std::thread::yield_now();
        }
    }
    given_way.is_some_and(|since| since.elapsed() > LONG_WAIT)
}

/// # Safety
/// `data` is a `&F` that is still valid.
unsafe fn call<F: Fn(usize) + Sync>(data: *const (), i: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<F>())(i) }
}

impl WorkerGroup {
    /// Runs `method` with the threads of the caller's pool as helpers.
    pub(super) fn with<R: Send>(&self, method: impl FnOnce() -> R + Send) -> R {
        let helpers = rayon::current_num_threads() - 1;
        let alone = self.alone.load(SeqCst);
        if helpers == 0 || alone > 0 || self.slot.open.swap(true, SeqCst) {
            self.alone.store(alone.saturating_sub(1), SeqCst);
            return method();
        }
        self.late.store(0, SeqCst);
        self.slot.lanes.store(MAX_LANES.min(helpers + 1), SeqCst);
        let run = || {
            let _release = ReleaseHelpers(&self.slot.open);
            method()
        };
        let result = rayon::join(run, || self.spawn_helpers(helpers)).0;
        let penalty = if self.busy() { MAX_SOLVES_ALONE.min(2 * self.penalty.load(SeqCst) + 1) } else { 0 };
        self.penalty.store(penalty, SeqCst);
        self.alone.store(penalty, SeqCst);
        result
    }

    /// True if the helpers of this solution are busy with other work.
    fn busy(&self) -> bool {
        self.late.load(SeqCst) >= MAX_LONG_WAITS
    }

    /// Helps with `threads` threads, as far as the pool has them to spare.
    fn spawn_helpers(&self, threads: usize) {
        if threads > 1 && self.slot.open.load(SeqCst) {
            rayon::join(|| self.help_with_tasks(threads), || self.spawn_helpers(threads - 1));
        } else {
            self.help_with_tasks(threads);
        }
    }

    /// Helps as thread number `number`; the caller is number zero.
    fn help_with_tasks(&self, number: usize) {
        let Some(lane) = self.lanes.get(number) else { return };
        // Of a task that was there before, and may be over, this thread knows nothing: it begins with the next.
        let mut last = self.slot.number.load(Acquire);
        while self.slot.open.load(SeqCst) {
            wait(|| self.slot.number.load(Acquire) != last || !self.slot.open.load(Acquire));
            let task = self.task();
            if std::mem::replace(&mut last, task.number) == task.number || number >= task.lanes {
                continue;
            }
            let range = task.range(number);
            let Some(mut next) = lane.claim(task.number, range.len(), true) else { continue };
            let _mark_done = MarkDone(lane, task.number);
            loop {
                // SAFETY: we have taken this index: the caller waits for us before it lets go of the task.
                unsafe { task.run(range.start + next) };
                match lane.claim(task.number, range.len(), true) {
                    Some(index) => next = index,
                    None => break,
                }
            }
        }
    }

    /// The task in the slot: consistent if an index of it can be claimed afterwards.
    fn task(&self) -> Task {
        let slot = &self.slot;
        Task {
            number: slot.number.load(Acquire),
            call: slot.call.load(Acquire),
            data: slot.data.load(Acquire),
            count: slot.count.load(Acquire),
            lanes: slot.lanes.load(Acquire),
        }
    }

    /// `f(i)` for all i below `count`, each once, on any thread; returns when all are done. To be called by one thread at a time.
    pub(super) fn each<F: Fn(usize) + Sync>(&self, count: usize, f: F) {
        let shared = (2..CLAIMED_MASK as usize).contains(&count) && !self.busy() && self.slot.open.load(SeqCst);
        if !shared || self.running.0.swap(true, SeqCst) {
            (0..count).for_each(f);
            return;
        }
        let (slot, call) = (&self.slot, call::<F> as unsafe fn(*const (), usize));
        let (number, lanes) = (slot.number.load(Relaxed) + 1, slot.lanes.load(Relaxed));
        let task = Task { number, call: call as *mut (), data: (&raw const f).cast_mut().cast(), count, lanes };
        // Release: who reads any of these afterwards finds all claim counters of the task before closed.
        slot.call.store(task.call, Release);
        slot.data.store(task.data, Release);
        slot.count.store(count, Release);
        slot.number.store(number, Release);
        // `f` lives until the end of this function, and this waits for all others before that.
        let _finish = FinishTask(self, task);
        // SAFETY: the task is open.
        task.range(0).for_each(|i| unsafe { task.run(i) });
        for (l, lane) in self.lanes.iter().enumerate().take(lanes).skip(1) {
            let (mut spins, range) = (0, task.range(l));
            while lane.done.0.load(Acquire) != number {
                spins += 1;
                if spins < SPINS_BEFORE_STEALING {
                    std::hint::spin_loop();
                    continue;
                }
                let Some(index) = lane.claim(number, range.len(), false) else { break };
                // SAFETY: the task is open.
                unsafe { task.run(range.start + index) };
            }
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
    /// `f(i, range i of a, entry i of b)` for all entries of b; the ranges are in order and do not overlap.
    pub(super) fn ranges<A: Send, B: Send>(
        &self,
        (a, b): (&mut [A], &mut [B]),
        range: impl Fn(usize) -> Range<usize> + Sync,
        f: impl Fn(usize, &mut [A], &mut B) + Sync,
    ) {
        let all = || (0..b.len()).map(&range);
        assert!(all().all(|range| range.start <= range.end && range.end <= a.len()), "ranges within the slice");
        assert!(all().zip(all().skip(1)).all(|(one, next)| one.end <= next.start), "one after the other");
        let (a, count, b) = (Start(a.as_mut_ptr()), b.len(), Start(b.as_mut_ptr()));
        self.each(count, |i| {
            let mine = range(i);
            // SAFETY: within the slice, and no other range has a part of it (checked above, the range of an index is always the same one).
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
