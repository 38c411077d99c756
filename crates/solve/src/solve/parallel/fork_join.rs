//! The fork–join of [`super::WorkerGroup`]: a caller and its helpers share the indices of one task
//! after another.
//!
//! 1. The caller writes the task and then its number into one cache line, the task slot, which
//!    helpers poll.
//! 2. Each lane has a claim counter: the number of its task, how many of its indices are claimed,
//!    and whether its helper claimed one. A helper that sees a new task claims index after index by
//!    compare-and-swap on the counter of its lane, until none is left. Then it writes the number of
//!    the task to `done`, which the caller polls.
//! 3. The caller finishes its own lane and polls `done` for a short while. Then it claims what is
//!    left in the other lanes, and closes them by claiming all. Where the closed counter says that
//!    the helper claimed an index, it waits for `done`.
//!
//! Why no helper works on a task that is over: it reads the number of a task that it has not worked
//! on, then the rest of the slot, and then claims an index by compare-and-swap, which succeeds for
//! that number only. So the lane was not closed and the slot not yet overwritten: the caller closes
//! all lanes of a task, or sees that their indices are used up, and waits for every helper that
//! claimed one, before it writes the slot again.
//!
//! Atomics and waiting come from `super::sync`, so that `tests/fork_join.rs` runs this very file
//! under loom, which tries the interleavings and the reorderings that the memory model allows.

#![allow(unsafe_code)]

use super::sync::{
    AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, SPINS_BEFORE_STEALING, Wait, spin_loop,
};
use std::cmp::Ordering::{Equal, Less};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// After so many long waits since they were asked for the helpers count as busy, and the caller
/// goes on alone.
pub const MAX_LONG_WAITS: usize = 2;

/// A claim counter: the number of the task, whether the helper took an index, how many indices are
/// claimed.
const HELPED_BIT: u64 = 1 << 20;
const CLAIMED_MASK: u64 = HELPED_BIT - 1;
const TASK_UNIT: u64 = 2 * HELPED_BIT;

/// A function of an index, for how many, and in how many lanes: the contents of the task slot.
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
        // SAFETY: `call` was made from such a function, and `data` is what it wants, valid while
        // the task is open.
        unsafe {
            std::mem::transmute::<*mut (), unsafe fn(*const (), usize)>(self.call)(self.data, i)
        }
    }

    /// The indices of a lane.
    fn range(&self, lane: usize) -> Range<usize> {
        lane * self.count / self.lanes..(lane + 1) * self.count / self.lanes
    }
}

/// Numbers that different threads write lie on lines of their own.
#[repr(align(64))]
struct OwnCacheLine<T>(T);

/// What belongs to one lane.
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

/// A caller (lane 0) and up to `LANES − 1` helpers.
pub struct ForkJoin<const LANES: usize> {
    slot: TaskSlot,
    lanes: [Lane; LANES],
    /// True while a task is shared.
    running: OwnCacheLine<AtomicBool>,
    /// How often the caller waited for long since the helpers were asked for.
    long_waits: AtomicUsize,
}

impl<const LANES: usize> Default for ForkJoin<LANES> {
    fn default() -> Self {
        let lane = |_| Lane {
            claims: OwnCacheLine(AtomicU64::new(0)),
            done: OwnCacheLine(AtomicU64::new(0)),
        };
        ForkJoin {
            slot: TaskSlot {
                number: AtomicU64::new(0),
                call: AtomicPtr::new(std::ptr::null_mut()),
                data: AtomicPtr::new(std::ptr::null_mut()),
                count: AtomicUsize::new(0),
                lanes: AtomicUsize::new(0),
                open: AtomicBool::new(false),
            },
            lanes: std::array::from_fn(lane),
            running: OwnCacheLine(AtomicBool::new(false)),
            long_waits: AtomicUsize::new(0),
        }
    }
}

/// Says that the helper is through with a task when dropped, so that a panic in it leaves nobody
/// waiting.
struct MarkDone<'a>(&'a Lane, u64);

impl Drop for MarkDone<'_> {
    fn drop(&mut self) {
        self.0.done.0.store(self.1, Release);
    }
}

/// Ends the helpers when dropped.
pub struct ReleaseHelpers<'a>(&'a AtomicBool);

impl Drop for ReleaseHelpers<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// Closes the task and waits for those who work on it, also if the caller's share of it panics.
struct FinishTask<'a, const LANES: usize>(&'a ForkJoin<LANES>, Task);

impl<const LANES: usize> Drop for FinishTask<'_, LANES> {
    fn drop(&mut self) {
        let FinishTask(group, task) = self;
        for lane in &group.lanes[1..task.lanes] {
            let done = || lane.done.0.load(Acquire) == task.number;
            // A helper that is through takes no more: its counter stays in its cache.
            if !done() && lane.close(task.number) && wait(done) {
                group.long_waits.fetch_add(1, SeqCst);
            }
        }
        group.running.0.store(false, SeqCst);
    }
}

/// Polls `done`; true if that took long.
fn wait(done: impl Fn() -> bool) -> bool {
    let mut waiting = Wait::default();
    while !done() {
        waiting.pause();
    }
    waiting.was_long()
}

/// # Safety
/// `data` is a `&F` that is still valid.
unsafe fn call<F: Fn(usize) + Sync>(data: *const (), i: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<F>())(i) }
}

impl<const LANES: usize> ForkJoin<LANES> {
    /// Asks for `helpers` helpers until the result is dropped; none if they are asked for already.
    pub fn open(&self, helpers: usize) -> Option<ReleaseHelpers<'_>> {
        if self.slot.open.swap(true, SeqCst) {
            return None;
        }
        self.long_waits.store(0, SeqCst);
        self.slot.lanes.store(LANES.min(helpers + 1), SeqCst);
        Some(ReleaseHelpers(&self.slot.open))
    }

    /// True while helpers are asked for.
    pub fn is_open(&self) -> bool {
        self.slot.open.load(SeqCst)
    }

    /// How often the caller waited for long since the helpers were asked for.
    pub fn long_waits(&self) -> usize {
        self.long_waits.load(SeqCst)
    }

    /// Helps as thread number `number` until the helpers are released; the caller is number zero.
    pub fn help(&self, number: usize) {
        let Some(lane) = self.lanes.get(number) else { return };
        // Of a task that was there before, and may be over, this thread knows nothing: it begins
        // with the next.
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
                // SAFETY: this thread claimed the index: the caller waits for it before it lets go
                // of the task.
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

    /// `f(i)` for all i below `count`, each once, on any thread; returns when all are done.
    /// A call within another one, or beside it, runs on its own thread alone.
    pub fn each<F: Fn(usize) + Sync>(&self, count: usize, f: F) {
        let shared = (2..CLAIMED_MASK as usize).contains(&count)
            && self.is_open()
            && self.long_waits() < MAX_LONG_WAITS;
        if !shared || self.running.0.swap(true, SeqCst) {
            (0..count).for_each(f);
            return;
        }
        let (slot, call) = (&self.slot, call::<F> as unsafe fn(*const (), usize));
        let (number, lanes) = (slot.number.load(Relaxed) + 1, slot.lanes.load(Relaxed));
        let data = (&raw const f).cast_mut().cast();
        let task = Task { number, call: call as *mut (), data, count, lanes };
        // Release: who reads any of these afterwards finds all claim counters of the task before
        // closed.
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
                    spin_loop();
                    continue;
                }
                let Some(index) = lane.claim(number, range.len(), false) else { break };
                // SAFETY: the task is open.
                unsafe { task.run(range.start + index) };
            }
        }
    }

    /// `f(i, chunk i of a, chunk i of b)`, chunks of `sizes` numbers each.
    pub fn chunks<A: Send, B: Send>(
        &self,
        (a, b): (&mut [A], &mut [B]),
        sizes: (usize, usize),
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        let (a_parts, b_parts) = (Parts::of(a), Parts::of(b));
        let part = |i: usize, size: usize, length: usize| {
            let start = length.min(i * size);
            start..start + size.min(length - start)
        };
        let lengths = (a_parts.length, b_parts.length);
        self.each(lengths.0.div_ceil(sizes.0), |i| {
            // SAFETY: chunks of different i do not overlap, and each i comes once.
            let a = unsafe { a_parts.part(part(i, sizes.0, lengths.0)) };
            // SAFETY: as above.
            let b = unsafe { b_parts.part(part(i, sizes.1, lengths.1)) };
            f(i, a, b);
        });
    }

    /// `f(i, a[starts[i]..starts[i + 1]], b[i])` for all entries of b.
    pub fn ranges<A: Send, B: Send>(
        &self,
        (a, b): (&mut [A], &mut [B]),
        starts: &[usize],
        f: impl Fn(usize, &mut [A], &mut B) + Sync,
    ) {
        assert!(starts.len() > b.len() && starts.is_sorted(), "one range after the other");
        let (a_parts, b_parts) = (Parts::of(a), Parts::of(b));
        self.each(b_parts.length, |i| {
            // SAFETY: the ranges are in order (checked above), and each i comes once.
            let mine = unsafe { a_parts.part(starts[i]..starts[i + 1]) };
            // SAFETY: entry i, which comes once.
            let entry = unsafe { b_parts.part(i..i + 1) };
            f(i, mine, &mut entry[0]);
        });
    }
}

/// A slice that is handed out in parts.
struct Parts<'a, T> {
    start: *mut T,
    length: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: who takes parts sees to it that they do not overlap ([`Parts::part`]).
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
    fn of(slice: &'a mut [T]) -> Parts<'a, T> {
        Parts { start: slice.as_mut_ptr(), length: slice.len(), slice: PhantomData }
    }

    /// # Safety
    /// Nobody else holds what lies in this range.
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.length, "parts of the slice");
        // SAFETY: within the slice (checked above), which is borrowed; the rest is the caller's
        // promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}
