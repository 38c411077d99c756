//! Atomics and waiting of [`super::fork_join`]; its model test has loom's in their place.

use crate::solve::StoppingCriteria;
pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

/// Polls of `done` before stealing from a helper: about a microsecond.
pub(super) const SPINS_BEFORE_STEALING: u32 = 64;

/// Polls before yielding: some ten microseconds.
const SPINS_BEFORE_YIELDING: u32 = 2000;

/// No share of a task takes that long.
const LONG_WAIT: Duration = Duration::from_micros(500);

/// One wait for another thread.
#[derive(Default)]
pub(super) struct Wait {
    spins: u32,
    yielding_since: Option<Instant>,
}

impl Wait {
    /// Spins at first, then yields.
    pub(super) fn pause(&mut self) {
        self.spins += 1;
        if self.spins < SPINS_BEFORE_YIELDING {
            spin_loop();
        } else {
            self.yielding_since.get_or_insert_with(|| StoppingCriteria::default().now());
            std::thread::yield_now();
        }
    }

    /// True if the other thread seems to be suspended.
    pub(super) fn was_long(&self) -> bool {
        self.yielding_since.is_some_and(|since| since.elapsed() > LONG_WAIT)
    }
}
