//! Phase A: semismooth Newton steps, corrected by sweeps.
//!
//! ```text
//!   1  (A (W + eps I) + B) dy = −F                         at y
//!   2  for t = 1, ½, … 1/16:
//!        c₀ = y + t dy;            take it if R(c₀) < 0.1 R(y)
//!        c₁ = ten sweeps from c₀;  take the better of both if R < 0.9 R(y)
//!   3  taken:    eps ← eps·(0.2 if t = 1, 0.7 if t ≥ ¼, else 2)
//!      refused:  eps ← 4 eps; sweep 50 … 400 times, kept only if R falls
//! ```
//!
//! R is the natural residual. Both candidates are needed: the step finds the long waves and the
//! statuses of many contacts at once, the sweeps mend the few that it gets wrong; but there are problems on which sweeps alone go round in circles.

use super::run::{End, Run};

/// Most factorizations of this phase.
const STEPS: u64 = 60;
/// Refusals in a row after which the phase gives up.
const REFUSALS: u32 = 5;
/// Sweeps that correct a step.
const CORRECTION: usize = 10;

pub(super) fn run(run: &mut Run<'_>) -> End {
    run.eps = 1e-3;
    let (mut refused, mut extra) = (0, 50);
    for _ in 0..STEPS {
        if run.spent() {
            return End::Spent;
        }
        let u = std::mem::take(&mut run.now.u);
        let solved = run.step(&u, run.eps);
        run.now.u = u;
        match if solved { search(run) } else { None } {
            Some(t) => {
                refused = 0;
                let factor = if t == 1.0 {
                    0.2
                } else if t >= 0.25 {
                    0.7
                } else {
                    2.0
                };
                run.eps = (run.eps * factor).max(1e-10);
                if run.look() {
                    return End::Passed;
                }
            }
            None => {
                refused += 1;
                run.eps = (4.0 * run.eps).min(0.1);
                run.trial.copy_from(&run.now);
                run.form.sweeps(&mut run.trial, extra, None);
                run.counts.sweeps += extra as u64;
                extra = (2 * extra).min(400);
                if run.trial.residual < run.now.residual {
                    std::mem::swap(&mut run.now, &mut run.trial);
                    if run.look() {
                        return End::Passed;
                    }
                }
                if refused >= REFUSALS {
                    return End::Stuck;
                }
            }
        }
    }
    End::Stuck
}

/// Step 2: moves `now` and returns t, or leaves it where it is.
fn search(run: &mut Run<'_>) -> Option<f64> {
    let before = run.now.residual;
    let mut t = 1.0;
    while t >= 1.0 / 16.0 {
        run.trial.copy_from(&run.now);
        for (y, dy) in run.trial.y.iter_mut().zip(&run.dy) {
            *y += t * dy;
        }
        run.form.velocities(&mut run.trial);
        if run.trial.residual >= 0.1 * before {
            run.swept.copy_from(&run.trial);
            run.form.sweeps(&mut run.swept, CORRECTION, None);
            run.counts.sweeps += CORRECTION as u64;
            if !(run.trial.residual <= run.swept.residual) {
                std::mem::swap(&mut run.trial, &mut run.swept);
            }
        }
        if run.trial.residual < 0.9 * before {
            std::mem::swap(&mut run.now, &mut run.trial);
            return Some(t);
        }
        t *= 0.5;
    }
    None
}
