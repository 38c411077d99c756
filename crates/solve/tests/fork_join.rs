//! The fork–join of the sweeps under loom: every interleaving of a caller and a helper, with every
//! reordering that the memory model allows, up to a bounded number of preemptions. The file under
//! test is the one that is shipped; loom's atomics stand in place of the standard library's. loom
//! reports an index that two threads work on, a helper that reads a task which is half written or
//! over, and a wait without end.
//!
//! One helper: lanes share nothing but the slot, which helpers only read. (Two threads that poll
//! keep loom busy with each other without end.) Stress tests with more of them are beside the code.
#![allow(unsafe_code)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

#[path = "../src/solve/parallel/fork_join.rs"]
// The stand-in of loom for a wait has no state.
#[allow(dead_code, clippy::default_constructed_unit_structs)]
mod fork_join;

/// What `fork_join` takes from the standard library, from loom.
mod sync {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};

    /// Steals at the second look: longer waits add no new order of events.
    pub const SPINS_BEFORE_STEALING: u32 = 1;

    #[derive(Default)]
    pub struct Wait;

    impl Wait {
        pub fn pause(&mut self) {
            loom::thread::yield_now();
        }

        pub fn was_long(&self) -> bool {
            false
        }
    }
}

/// Cells that the indices of a task write: loom reports two threads that hold the same one.
struct Cells(Vec<UnsafeCell<u64>>);

// SAFETY: loom checks every access.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

impl Cells {
    fn new(count: usize) -> Cells {
        Cells((0..count).map(|_| UnsafeCell::new(0)).collect())
    }

    fn add(&self, i: usize, x: u64) {
        // SAFETY: loom checks that nobody else holds the cell.
        self.0[i].with_mut(|cell| unsafe { *cell += x });
    }

    fn sum(&self) -> u64 {
        // SAFETY: as above.
        self.0.iter().map(|cell| cell.with(|cell| unsafe { *cell })).sum()
    }
}

/// Runs tasks of these sizes on a caller and `helpers` helpers that come at any moment, in every
/// order of events with at most `preemptions` forced changes of thread.
fn model(sizes: &'static [usize], helpers: usize, preemptions: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let group = Arc::new(fork_join::ForkJoin::<2>::default());
        let release = group.open(helpers).expect("nobody else asks");
        let threads: Vec<_> = (1..=helpers)
            .map(|number| {
                let group = group.clone();
                thread::spawn(move || group.help(number))
            })
            .collect();
        for (round, &size) in sizes.iter().enumerate() {
            // Made anew for each task: a helper that is late would touch what is gone.
            let cells = Cells::new(size);
            let step = round as u64 + 1;
            group.each(size, |i| cells.add(i, step));
            assert_eq!(cells.sum(), step * size as u64, "each index once, all visible");
        }
        drop(release);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn one_helper_and_one_task() {
    model(&[2], 1, 3);
}

/// Tasks of different functions follow each other: a helper that comes while the second is written
/// must not run it with the numbers of the first. A helper that began with the task in the slot did
/// so once.
#[test]
fn one_helper_and_tasks_that_follow_each_other() {
    model(&[2, 3], 1, 2);
}

/// A task of fewer lanes is still in the slot when helpers come: its function is gone. Helpers that
/// began with what they found there once ran it.
#[test]
fn a_helper_leaves_the_task_of_an_earlier_group_alone() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let group = Arc::new(fork_join::ForkJoin::<2>::default());
        let alone = group.open(0).expect("nobody else asks");
        let runs = Arc::new(Cells::new(2));
        group.each(2, |i| runs.add(i, 1));
        drop(alone);
        let release = group.open(1).expect("nobody else asks");
        let helper = {
            let group = group.clone();
            thread::spawn(move || group.help(1))
        };
        let cells = Cells::new(2);
        group.each(2, |i| cells.add(i, 1));
        assert_eq!((runs.sum(), cells.sum()), (2, 2), "each index once");
        drop(release);
        helper.join().unwrap();
    });
}
