//! Phase A: semismooth Newton steps, corrected by sweeps.
//!
//! ```text
//!   1  (A (W + eps I) + B) dy = −F                         at y
//!   2  for t = 1, ½, … 1/32:
//!        c₀ = y + t dy;            take it if R(c₀) < 0.1 R(y)
//!        c₁ = ten sweeps from c₀;  take the better of both if R < 0.9 R(y)
//!      taken with t = 1 and no branch changed: further full steps by the same factor, while each halves R
//!   3  taken:    eps ← eps·(R(c)/R(y), at most 0.2, if t = 1; 0.7 if t ≥ ¼; else 2): proportional to R, so that the end is quadratic
//!      refused:  walk on from the full step for up to four steps, to where R < 0.9 R(y); if it is not found,
//!                back to y, eps ← 4 eps; sweep 20, 40, … times, kept only if R falls
//!   4  near a solution, where c₀ of t = 1 changes the branches of a few blocks alone and R yet hardly falls: leave, the path is short
//! ```
//!
//! R is the natural residual. Both candidates are needed: the step finds the long waves and the
//! statuses of many contacts at once, the sweeps correct the few that it gets wrong; but there are
//! problems on which sweeps alone go round in circles. The walk (a watchdog) leads out of many
//! places where R has a minimum that is no solution.

use super::run::{End, Run};

/// Most factorizations of this phase.
const MAX_STEPS: u64 = 60;
/// Refusals in a row after which the phase gives up: near a solution the next phase is cheaper, far
/// from one it leads nowhere.
const MAX_REFUSALS: u32 = 2;
const FAR_REFUSALS: u32 = 4;
/// Sweeps that correct a step.
pub(super) const CORRECTION_SWEEPS: usize = 10;
/// Steps that the walk may take, and how far R may rise on it.
const MAX_WALK_STEPS: u32 = 4;
const MAX_RESIDUAL_RISE: f64 = 10.0;
/// The shortest step that is tried.
const MIN_STEP_LENGTH: f64 = 1.0 / 32.0;
/// What counts as far, of the R that the sweeps left.
const FAR_RESIDUAL: f64 = 0.1;
/// The first weight.
const INITIAL_REGULARIZATION: f64 = 3e-3;
/// Branches that count as few, and what a step leaves of R if it hardly falls (step 4).
const FEW_CHANGES: usize = 5;
const SLOW_DECREASE: f64 = 0.3;

pub(super) fn run(run: &mut Run<'_, '_>) -> End {
    run.now.copy_from(&run.best);
    run.eps = INITIAL_REGULARIZATION;
    let far = FAR_RESIDUAL * run.first;
    let (mut refused, mut extra) = (0, 20);
    // The steps that a walk may still take; it began at `run.start`.
    let mut walk: Option<u32> = None;
    // How many branches the last full step changed.
    let mut changes = 0;
    for _ in 0..MAX_STEPS {
        if run.spent() {
            return End::Spent;
        }
        let wanted = 0.9 * if walk.is_some() { run.start.residual } else { run.now.residual };
        let before = run.now.residual;
        let solved = run.step_at_now(run.eps);
        if let Some(t) = if solved { search(run, wanted, &mut changes) } else { None } {
            (refused, walk) = (0, None);
            if run.look() || (t == 1.0 && changes == 0 && run.go_on(run.eps)) {
                return End::Passed;
            }
            let factor = if t == 1.0 {
                (run.now.residual / before).clamp(1e-3, 0.2)
            } else if t >= 0.25 {
                0.7
            } else {
                2.0
            };
            run.eps = (run.eps * factor).max(1e-10);
            if run.now.residual > SLOW_DECREASE * before
                && run.now.residual <= far
                && changes <= FEW_CHANGES
            {
                break;
            }
            continue;
        }
        if solved && walk.is_none() && run.now.residual <= far && changes <= FEW_CHANGES {
            break;
        }
        let left = walk.unwrap_or(MAX_WALK_STEPS);
        if solved && left > 0 && run.full.residual < MAX_RESIDUAL_RISE * wanted {
            if walk.is_none() {
                run.start.copy_from(&run.now);
            }
            walk = Some(left - 1);
            run.now.copy_from(&run.full);
            continue;
        }
        if walk.take().is_some() {
            run.now.copy_from(&run.start);
        }
        refused += 1;
        run.eps = (4.0 * run.eps).min(0.1);
        if sweep_on(run, &mut extra) {
            return End::Passed;
        }
        if refused >= if run.now.residual > far { FAR_REFUSALS } else { MAX_REFUSALS } {
            break;
        }
    }
    End::Stuck
}

/// Sweeps from `now`, more every time, and keeps the result if R falls; true if it passes.
fn sweep_on(run: &mut Run<'_, '_>, extra: &mut usize) -> bool {
    run.trial.copy_from(&run.now);
    run.form.sweeps(&mut run.trial, *extra, None);
    run.counts.sweeps += *extra as u64;
    *extra = (2 * *extra).min(400);
    if run.trial.residual < run.now.residual {
        std::mem::swap(&mut run.now, &mut run.trial);
        return run.look();
    }
    false
}

/// Step 2: moves `now` to where R is below `wanted` and returns t, or leaves it where it is;
/// `run.full` is the candidate of t = 1, and `changes` how many branches that step alone changes.
fn search(run: &mut Run<'_, '_>, wanted: f64, changes: &mut usize) -> Option<f64> {
    let mut t = 1.0;
    while t >= MIN_STEP_LENGTH {
        run.set_trial(t);
        if t == 1.0 {
            *changes = run.changes();
        }
        if run.trial.residual >= 0.1 * wanted {
            run.swept.copy_from(&run.trial);
            run.form.sweeps(&mut run.swept, CORRECTION_SWEEPS, None);
            run.counts.sweeps += CORRECTION_SWEEPS as u64;
            if run.swept.residual < run.trial.residual || run.trial.residual.is_nan() {
                std::mem::swap(&mut run.trial, &mut run.swept);
            }
        }
        if t == 1.0 {
            run.full.copy_from(&run.trial);
        }
        if run.trial.residual < wanted {
            std::mem::swap(&mut run.now, &mut run.trial);
            return Some(t);
        }
        t *= 0.5;
    }
    None
}
