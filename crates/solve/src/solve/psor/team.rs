//! Threads that stay awake for one solution: a sweep of some thousand contacts takes fifty microseconds, about as long as waking a thread.
//!
//! [`Team::with`] runs a method on the caller's thread and lends it the other threads of its pool. They wait for tasks by looking, first
//! without a pause, then giving way to others. A task is a function of an index. Each thread has a lane, an equal range of the indices, the
//! same in every task of so many indices: what it wrote it reads again, and finds it in its own cache (between two cores a line takes a
//! quarter of a microsecond on some machines). The caller, when its own lane is done, takes what is left in the others, so that a thread
//! that is late, or busy elsewhere, holds nobody up. What the results are does not depend on who computed them.
//!
//! How a task is shared, with as few lines going between cores as can be (each takes as long as sweeping a dozen contacts):
//!
//! 1. The caller writes the task and then its number, on one line: the board, which helpers look at.
//! 2. Each lane has a ticket: the number of the task it is about, how many of its indices are taken, and whether its helper took one. A
//!    helper that sees a new task takes index after index by exchanging the ticket of its lane, which nobody else touches as a rule, until
//!    there are none; then it writes the number of the task where the caller looks for it (`done`).
//! 3. The caller does its own lane and waits a little for the others. Then it takes what is left in the lanes that are not done by their
//!    tickets, and closes these by taking all. Where the closed ticket says that the helper took an index, it waits until that one is done.
//!
//! A helper that is put to sleep by the system while inside is waited for: on a machine that is busy with other work the caller is then
//! better off alone. Twice in one solution, and it goes on alone; the next solutions do so from the start, first one, then three, seven, up
//! to 63, until the threads are as quick as they should be again.
//!
//! Why no helper works on a task that is gone: it reads the number of a task that it has not worked on, then the rest of the board, and then
//! exchanges its ticket, which succeeds for that number only. So the ticket was not closed, and the board not yet written anew: the caller
//! closes all tickets of a task, or sees that they are used up, and waits for who was faster, before it writes to the board again.

#![allow(unsafe_code)]

use crate::solve::StoppingCriteria;
use std::cmp::Ordering::{Equal, Less};
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};
use std::time::Duration;

/// Looks before giving way: some ten microseconds.
const LOOKS: u32 = 2000;

/// Helpers that were waited for `PATIENCE` so many times in one solution are busy elsewhere. No share of a task takes that long.
const LATE: usize = 2;
const PATIENCE: Duration = Duration::from_micros(500);

/// Solutions without helpers at most before they are tried again.
const ALONE: usize = 63;

/// Looks at `done` before taking what is left to a helper: about a microsecond.
const LOOKS_BEFORE_TAKING: u32 = 64;

/// Lanes at most; more threads do not help.
const LANES: usize = 64;

/// A ticket: the number of the task, whether the helper took an index, how many indices are taken.
const HELPED: u64 = 1 << 20;
const TAKEN: u64 = HELPED - 1;
const NUMBER: u64 = 2 * HELPED;

/// A function of an index, for how many, and in how many lanes: all that the board shows.
#[derive(Default)]
#[repr(align(64))]
struct Board {
    /// Number of the last task.
    number: AtomicU64,
    call: AtomicPtr<()>,
    data: AtomicPtr<()>,
    count: AtomicUsize,
    lanes: AtomicUsize,
    /// True while helpers are wanted.
    open: AtomicBool,
}

/// A task as read from the board.
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
struct Apart<T>(T);

/// What belongs to one lane.
#[derive(Default)]
struct Lane {
    ticket: Apart<AtomicU64>,
    /// Number of the last task that the helper is through with.
    done: Apart<AtomicU64>,
}

impl Lane {
    /// Takes an index of this task, below `length`; none if there is none, or the task is over.
    fn take(&self, number: u64, length: usize, helper: bool) -> Option<usize> {
        let mark = if helper { HELPED } else { 0 };
        let next = |ticket: u64| match (ticket / NUMBER).cmp(&number) {
            Less if length > 0 => Some(number * NUMBER + mark + 1),
            Equal if ticket & TAKEN < length as u64 => Some((ticket | mark) + 1),
            _ => None,
        };
        let before = self.ticket.0.fetch_update(AcqRel, Acquire, next).ok()?;
        Some(if before / NUMBER == number { (before & TAKEN) as usize } else { 0 })
    }

    /// Lets nobody take an index of this task any more; true if the helper took one.
    fn close(&self, number: u64) -> bool {
        let before = self.ticket.0.swap(number * NUMBER + TAKEN, AcqRel);
        before / NUMBER == number && before & HELPED > 0
    }
}

/// The threads of one solution.
pub(super) struct Team {
    board: Board,
    lanes: [Lane; LANES],
    /// True while a task is shared.
    running: Apart<AtomicBool>,
    /// How often the caller waited for long, in this solution.
    late: AtomicUsize,
    /// Solutions to go without helpers, and how many there were the last time.
    alone: AtomicUsize,
    penalty: AtomicUsize,
}

impl Default for Team {
    fn default() -> Team {
        Team {
            board: Board::default(),
            lanes: std::array::from_fn(|_| Lane::default()),
            running: Apart::default(),
            late: AtomicUsize::new(0),
            alone: AtomicUsize::new(0),
            penalty: AtomicUsize::new(0),
        }
    }
}

/// Says that the helper is through with a task when dropped, so that a panic in it leaves nobody waiting.
struct Leave<'a>(&'a Lane, u64);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.done.0.store(self.1, Release);
    }
}

/// Sends the helpers home when dropped.
struct Close<'a>(&'a AtomicBool);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// Closes the task and waits for those who work on it, also if the caller's share of it panics.
struct Finish<'a>(&'a Team, Task);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let Finish(team, task) = self;
        for lane in &team.lanes[1..task.lanes] {
            let done = || lane.done.0.load(Acquire) == task.number;
            // A helper that is through takes no more: its ticket stays in its cache.
            if !done() && lane.close(task.number) && wait(done) {
                team.late.fetch_add(1, SeqCst);
            }
        }
        team.running.0.store(false, SeqCst);
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
            given_way.get_or_insert_with(|| StoppingCriteria::default().now());
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
        if helpers == 0 || alone > 0 || self.board.open.swap(true, SeqCst) {
            self.alone.store(alone.saturating_sub(1), SeqCst);
            return method();
        }
        self.late.store(0, SeqCst);
        self.board.lanes.store(LANES.min(helpers + 1), SeqCst);
        let run = || {
            let _close = Close(&self.board.open);
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
        if threads > 1 && self.board.open.load(SeqCst) {
            rayon::join(|| self.help(threads), || self.lend(threads - 1));
        } else {
            self.help(threads);
        }
    }

    /// Helps as thread number `number`; the caller is number zero.
    fn help(&self, number: usize) {
        let Some(lane) = self.lanes.get(number) else { return };
        // Of a task that was there before, and may be over, this thread knows nothing: it begins with the next.
        let mut last = self.board.number.load(Acquire);
        while self.board.open.load(SeqCst) {
            wait(|| self.board.number.load(Acquire) != last || !self.board.open.load(Acquire));
            let task = self.task();
            if std::mem::replace(&mut last, task.number) == task.number || number >= task.lanes {
                continue;
            }
            let range = task.range(number);
            let Some(mut next) = lane.take(task.number, range.len(), true) else { continue };
            let _leave = Leave(lane, task.number);
            loop {
                // SAFETY: we have taken this index: the caller waits for us before it lets go of the task.
                unsafe { task.run(range.start + next) };
                match lane.take(task.number, range.len(), true) {
                    Some(index) => next = index,
                    None => break,
                }
            }
        }
    }

    /// What the board shows: a whole task if an index of it can be taken afterwards.
    fn task(&self) -> Task {
        let board = &self.board;
        Task {
            number: board.number.load(Acquire),
            call: board.call.load(Acquire),
            data: board.data.load(Acquire),
            count: board.count.load(Acquire),
            lanes: board.lanes.load(Acquire),
        }
    }

    /// `f(i)` for all i below `count`, each once, on any thread; returns when all are done. To be called by one thread at a time.
    pub(super) fn each<F: Fn(usize) + Sync>(&self, count: usize, f: F) {
        let shared = (2..TAKEN as usize).contains(&count) && !self.busy() && self.board.open.load(SeqCst);
        if !shared || self.running.0.swap(true, SeqCst) {
            (0..count).for_each(f);
            return;
        }
        let (board, call) = (&self.board, call::<F> as unsafe fn(*const (), usize));
        let (number, lanes) = (board.number.load(Relaxed) + 1, board.lanes.load(Relaxed));
        let task = Task { number, call: call as *mut (), data: (&raw const f).cast_mut().cast(), count, lanes };
        // Release: who reads any of these afterwards finds all tickets of the task before closed.
        board.call.store(task.call, Release);
        board.data.store(task.data, Release);
        board.count.store(count, Release);
        board.number.store(number, Release);
        // `f` lives until the end of this function, and this waits for all others before that.
        let _finish = Finish(self, task);
        // SAFETY: the task is open.
        task.range(0).for_each(|i| unsafe { task.run(i) });
        for (l, lane) in self.lanes.iter().enumerate().take(lanes).skip(1) {
            let (mut looks, range) = (0, task.range(l));
            while lane.done.0.load(Acquire) != number {
                looks += 1;
                if looks < LOOKS_BEFORE_TAKING {
                    std::hint::spin_loop();
                    continue;
                }
                let Some(index) = lane.take(number, range.len(), false) else { break };
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

impl Team {
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
