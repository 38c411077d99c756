//! A few Newton steps from an answer that passes by a hair.
//!
//! Sweeps end where the tolerance is just met. In a simulation the next problem begins with this
//! answer, and finds it just outside: a box at rest is then solved anew in every step, and what the
//! tolerance allows, divided by the time step, comes back as the gap of the next step. Steps that
//! cost as much as a few sweeps leave an answer that stays good: the next problems need no work.
//!
//! That is so where the guess was nearly good ([`NEAR_GUESS`]): what moves changes too much for any
//! answer to be good again.
//!
//! 1. Newton's step; where it does not halve R, ten sweeps correct the branches that it gets wrong.
//! 2. Again, at most three times, until R is a tenth of what passes.
//! 3. The residual decides: where it refuses the polished answer, the answer that passed stays.

use super::corrected::CORRECTION_SWEEPS;
use super::run::{End, Run};

/// R of a guess over what passes, up to which the next problem is taken to be alike.
pub(super) const NEAR_GUESS: f64 = 10.0;
/// What is left of the tolerance, in R, so that an answer is good for the next problem too.
const POLISH_TOLERANCE_FACTOR: f64 = 0.1;
/// Newton steps at most.
const MAX_STEPS: usize = 3;
/// The most that a step may cost, in sweeps.
const MAX_SWEEPS: f64 = 20.0;
/// Weight of the regular term: rows may depend on each other.
const POLISH_REGULARIZATION: f64 = 1e-6;

pub(super) fn run(run: &mut Run<'_, '_>) -> End {
    let enough =
        |run: &Run<'_, '_>| run.test.excess(run.form.blocks(), &run.now) <= POLISH_TOLERANCE_FACTOR;
    if enough(run) || run.form.step_in_sweeps() > MAX_SWEEPS {
        return End::Passed;
    }
    run.start.copy_from(&run.now);
    for _ in 0..MAX_STEPS {
        if enough(run) || run.spent() || !run.step_at_now(POLISH_REGULARIZATION) {
            break;
        }
        run.set_trial(1.0);
        if !(run.trial.residual < 0.5 * run.now.residual) {
            run.form.sweeps(&mut run.trial, CORRECTION_SWEEPS, None);
            run.counts.sweeps += CORRECTION_SWEEPS as u64;
        }
        if !(run.trial.residual < 0.5 * run.now.residual) {
            break;
        }
        std::mem::swap(&mut run.now, &mut run.trial);
    }
    if run.now.residual < run.start.residual && !run.look() {
        std::mem::swap(&mut run.now, &mut run.start);
        // The error that is reported is that of the answer.
        (run.test.prepared)(&run.now.y);
    }
    End::Passed
}
