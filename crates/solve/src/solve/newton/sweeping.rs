//! Phase 0: Gauss–Seidel sweeps with exact local solves.
//!
//! Each block is solved alone with the others held, in order, up to 50 times over; the iterate is
//! looked at after 1, 2, 3, 4, 6, 9, … sweeps. Two thirds of the problems met in practice end here.

use super::run::{End, Run};

/// Looks are spaced by half of what is done: a look costs about a sweep.
const SWEEPS_BETWEEN_TESTS: [usize; 11] = [1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 50];

pub(super) fn run(run: &mut Run<'_, '_>) -> End {
    let mut done = 0;
    for at in SWEEPS_BETWEEN_TESTS {
        run.form.sweeps(&mut run.now, at - done, None);
        run.counts.sweeps += (at - done) as u64;
        done = at;
        if run.look() {
            return End::Passed;
        }
        if run.stop.deadline_passed() {
            run.late = true;
            return End::Spent;
        }
    }
    run.now.copy_from(&run.best);
    run.first = run.best.residual;
    End::Stuck
}
