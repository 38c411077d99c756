//! After warm-up a step on two threads allocates nothing, on either of them. A program of its own:
//! allocations of all threads are counted, and no other test may run beside it.
#![allow(unsafe_code)]

mod common;

use common::{cuboid, floor};
use glam::DVec3;
use signorini_mechanics::scene::State;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::problem::Tolerance;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the allocations of all threads.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: hands every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_step_on_two_threads_allocates_nothing() {
    // More than 512 pairs and 2500 contacts: collision in portions, sweeps in two subdomains.
    let mut scene = floor("boxes", 0.5, 0.0);
    for i in 0..216 {
        let (x, y, z) = (i % 6, i / 6 % 6, i / 36);
        let aside = 0.1 * (z % 2) as f64;
        let place =
            DVec3::new(0.2 * x as f64 + aside, 0.2 * y as f64 + aside, 0.1 + 0.2 * z as f64);
        cuboid(&mut scene, &format!("box {i}"), 1.0, DVec3::splat(0.2), place);
    }
    let mut settings = Settings::with_time_step(1e-3);
    settings.stop.tolerance =
        Tolerance { relative: 1e-3, velocity: 1e-2, bound: Some(1.0), velocity_relative: 0.0 };
    settings.stop.work = Some(40);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (count, rows) = pool.install(|| {
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        let mut run = |steps: usize| {
            for _ in 0..steps {
                stepper.step(&scene, &mut state).unwrap();
            }
            stepper.assembly().problem.rows()
        };
        run(40);
        let before = COUNT.load(Ordering::SeqCst);
        let rows = run(6);
        (COUNT.load(Ordering::SeqCst) - before, rows)
    });
    assert!(rows > 3 * 2500, "two subdomains: {rows} rows");
    assert_eq!(count, 0);
}
