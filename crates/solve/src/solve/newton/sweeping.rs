//! Phase 0: Gauss–Seidel sweeps with exact local solves.
//!
//! Each block is solved alone with the others held, in order, up to 50 times over; the iterate is
//! looked at after 1, 2, 3, 4, 6, 9, … sweeps. Two thirds of the problems met in practice end here.
//!
//! Sweeps that would still be at it when Newton's method is done are not waited for: with the rate
//! at which R falls, `ln(excess)/ln(1/rate)` sweeps are left, and [`NEWTON_STEPS`] steps with their
//! corrections are taken as what Newton's method costs.

use super::corrected::CORRECTION_SWEEPS;
use super::run::{End, Run};

/// Looks are spaced by half of what is done: a look costs about a sweep.
const SWEEPS_BETWEEN_TESTS: [usize; 11] = [1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 50];
/// Sweeps before which nothing is given up: Newton's method that begins earlier takes more steps on
/// falling dominoes and standing robots.
const FIRST_SWEEPS: usize = 12;
/// Newton steps that a solve takes from a good start.
const NEWTON_STEPS: f64 = 3.0;

pub(super) fn run(run: &mut Run<'_, '_>) -> End {
    let mut done = 0;
    let mut before = f64::INFINITY;
    for at in SWEEPS_BETWEEN_TESTS {
        run.form.sweeps(&mut run.now, at - done, None);
        run.counts.sweeps += (at - done) as u64;
        if run.look() {
            return End::Passed;
        }
        if run.stop.deadline_passed() {
            run.late = true;
            return End::Spent;
        }
        let fall = (before / run.now.residual).ln() / (at - done) as f64;
        (done, before) = (at, run.now.residual);
        if done > FIRST_SWEEPS && slow(run, fall) {
            break;
        }
    }
    run.now.copy_from(&run.best);
    run.first = run.best.residual;
    End::Stuck
}

/// Whether sweeps that lower ln R by `fall` each take longer than Newton's method.
fn slow(run: &mut Run<'_, '_>, fall: f64) -> bool {
    let excess = run.test.excess(run.form.blocks(), &run.now);
    // Where R rises or stays nothing is known of the end.
    let left = if fall > 0.0 { excess.max(1.0).ln() / fall } else { f64::INFINITY };
    left > NEWTON_STEPS * CORRECTION_SWEEPS as f64
        && left > NEWTON_STEPS * (run.form.step_in_sweeps() + CORRECTION_SWEEPS as f64)
}
