//! Phase B: proximal point, each step by semismooth Newton.
//!
//! ```text
//!   1  centre c = y;  solve the problem (W + eps I, q − eps c), which has no dependent rows, for y:
//!        Newton steps on F, halved until |F| falls below the larger of its last two values,
//!        each candidate also after ten sweeps of this regular problem (not in the careful form)
//!        until |F| ≤ 0.1 eps ‖y − c‖
//!   2  solved:  eps ← eps/2 (within 8 steps), 0.7 eps (within 15), unless a failure is recent
//!      failed:  back to c (or to the best y seen, if R fell tenfold);  eps ← 2 eps, held for some successes
//!   3  drift:   where two successive steps point the same way and R hardly falls, the next centre is
//!               put ahead, at P_K(y + tau (y − c)), tau = 1, 2, 4, … while that serves
//! ```
//!
//! This ends the cases in which dependent rows leave the reactions undetermined along many
//! directions.
//!
//! The careful form takes no sweeps, drifts wherever it may, holds eps longer and gives up later.
//! On `RockPile_tob1` (9 singular values of Newton's matrix below 1e-9 of the largest) it ends
//! after some 2500 factorizations from nothing; of twelve settings tried there (hold 3 to 10, eps
//! lowered up to 12 or 15 steps) eleven end, after 2350 to 2640, and one does not.

use super::form::Prox;
use super::run::{Centre, End, Run};
use crate::math::{dot, norm};
use crate::problem::law::MAX_ROWS;

/// Newton steps of one proximal step.
const MAX_NEWTON_STEPS: usize = 30;
/// Sweeps that correct a candidate.
const CORRECTION_SWEEPS: usize = 10;
/// R relative to the size of the reactions from which the drift is allowed at once.
const NEAR_RESIDUAL: f64 = 1e-7;

/// What the two forms of the phase differ in.
#[derive(Clone, Copy)]
struct Manner {
    /// Candidates are corrected by sweeps.
    sweeps: bool,
    /// Successes after a failure during which eps is not lowered.
    hold: u32,
    /// Flat outer steps after which the drift is allowed, and after which the phase gives up (for
    /// another to try).
    drift_after: u32,
    give_up: u32,
}

/// Quicker where contacts change their branches by the dozen.
const QUICK_PHASE: Manner = Manner { sweeps: true, hold: 2, drift_after: 10, give_up: 25 };
/// Where load moves between contacts at almost constant R.
const CAREFUL_PHASE: Manner = Manner { sweeps: false, hold: 4, drift_after: 0, give_up: 60 };

/// The state of the outer loop.
struct Outer {
    /// The centre, and the last step `y − c`, to see whether the next one points the same way.
    centre: Centre,
    hold: u32,
    failed_eps: f64,
    tau: f64,
    flat: u32,
}

pub(super) fn run(run: &mut Run<'_, '_>) -> End {
    proximal(run, QUICK_PHASE)
}

pub(super) fn careful(run: &mut Run<'_, '_>) -> End {
    proximal(run, CAREFUL_PHASE)
}

fn proximal(run: &mut Run<'_, '_>, manner: Manner) -> End {
    run.now.copy_from(&run.best);
    let mut centre = std::mem::take(&mut run.proximal);
    centre.at.clone_from(&run.now.y);
    for list in [&mut centre.last, &mut centre.u] {
        list.clear();
        list.resize(run.now.y.len(), 0.0);
    }
    let mut outer = Outer { centre, hold: 0, failed_eps: 0.0, tau: 1.0, flat: 0 };
    let end = steps(run, manner, &mut outer);
    run.proximal = outer.centre;
    end
}

/// One proximal step after another.
fn steps(run: &mut Run<'_, '_>, manner: Manner, outer: &mut Outer) -> End {
    let mut eps = (run.eps / 4.0).clamp(1e-4, 1e-2);
    loop {
        run.start.copy_from(&run.now);
        let before = run.start.residual;
        let Centre { at, u, .. } = &mut outer.centre;
        match inner(run, Step { eps, centre: at, sweeps: manner.sweeps }, u) {
            Inner::Passed => return End::Passed,
            Inner::Spent => return End::Spent,
            Inner::Solved(steps) => {
                run.counts.outer += 1;
                if run.look() {
                    return End::Passed;
                }
                let allowed = outer.flat >= manner.drift_after
                    || run.now.residual < NEAR_RESIDUAL * norm(&run.now.y).max(norm(&run.now.u));
                drift(run, outer, eps, before, allowed);
                if outer.hold > 0 {
                    outer.hold -= 1;
                } else if steps <= 8 {
                    eps = (0.5 * eps).max(1e-12);
                } else if steps <= 15 {
                    eps *= 0.7;
                }
            }
            Inner::Failed => {
                run.counts.outer += 1;
                if run.best.residual < 0.1 * before {
                    run.now.copy_from(&run.best);
                } else {
                    run.now.copy_from(&run.start);
                }
                outer.failed_eps = eps;
                eps = (2.0 * eps).min(1.0);
                outer.hold = manner.hold;
                outer.centre.at.copy_from_slice(&run.now.y);
            }
        }
        outer.flat = if run.best.residual < 0.9 * before { 0 } else { outer.flat + 1 };
        if outer.flat > manner.give_up {
            return End::Stuck;
        }
    }
}

/// Step 3: the next centre, at y or (if that is `allowed`) ahead of it.
fn drift(run: &Run<'_, '_>, outer: &mut Outer, eps: f64, before: f64, allowed: bool) {
    let Centre { at, last, step, .. } = &mut outer.centre;
    step.clear();
    step.extend(run.now.y.iter().zip(&*at).map(|(y, c)| y - c));
    let cosine = dot(step, last) / (norm(step) * norm(last)).max(f64::MIN_POSITIVE);
    let drifting =
        allowed && cosine > 0.9 && run.now.residual > 0.9 * before && eps <= 4.0 * outer.failed_eps;
    if drifting && run.now.residual <= 1.02 * before {
        let blocks = run.form.blocks();
        for (k, law) in blocks.laws.iter().enumerate() {
            let range = blocks.range(k);
            let mut ahead = [0.0; MAX_ROWS];
            for (i, row) in range.clone().enumerate() {
                ahead[i] = run.now.y[row] + outer.tau * step[row];
            }
            law.project(&mut ahead[..range.len()]);
            at[range.clone()].copy_from_slice(&ahead[..range.len()]);
        }
        outer.tau = (2.0 * outer.tau).min(1e6);
    } else {
        at.copy_from_slice(&run.now.y);
        outer.tau = if drifting { (outer.tau / 8.0).max(1.0) } else { 1.0 };
    }
    std::mem::swap(last, step);
}

/// How a proximal step ended.
enum Inner {
    Passed,
    Solved(usize),
    Failed,
    Spent,
}

/// The regular problem of a proximal step, and whether candidates are corrected by sweeps.
#[derive(Clone, Copy)]
struct Step<'a> {
    eps: f64,
    centre: &'a [f64],
    sweeps: bool,
}

/// Step 1; `u` has room for the velocities of the regular problem.
fn inner(run: &mut Run<'_, '_>, problem: Step<'_>, u: &mut [f64]) -> Inner {
    let Step { eps, centre, .. } = problem;
    let mut merits = [0.0; MAX_NEWTON_STEPS + 1];
    merits[0] = regular(run, false, eps, centre, u);
    for step in 0..MAX_NEWTON_STEPS {
        let merit = merits[step];
        let moved =
            run.now.y.iter().zip(centre).map(|(y, c)| (y - c) * (y - c)).sum::<f64>().sqrt();
        let floor = 1e-16 * (norm(&run.now.y) + norm(&run.now.u));
        if step > 0 && merit <= (0.1 * eps * moved).max(floor) {
            return Inner::Solved(step);
        }
        if step >= 8 && merit > 0.9 * merits[step - 8] {
            return Inner::Failed;
        }
        if run.spent() {
            return Inner::Spent;
        }
        if !run.step(u, eps) {
            return Inner::Failed;
        }
        let reference = merit.max(if step > 0 { merits[step - 1] } else { 0.0 });
        if !search(run, problem, reference, u) {
            return Inner::Failed;
        }
        merits[step + 1] = regular(run, false, eps, centre, u);
        if run.look() {
            return Inner::Passed;
        }
    }
    Inner::Failed
}

/// Moves `now` to the first candidate whose merit is below `reference`.
fn search(run: &mut Run<'_, '_>, problem: Step<'_>, reference: f64, u: &mut [f64]) -> bool {
    let Step { eps, centre, sweeps } = problem;
    let mut t = 1.0;
    for _ in 0..8 {
        run.set_trial(t);
        let mut merit = regular(run, true, eps, centre, u);
        if sweeps && (merit.is_nan() || merit > 0.5 * reference) {
            run.swept.copy_from(&run.trial);
            run.form.sweeps(&mut run.swept, CORRECTION_SWEEPS, Some(Prox { eps, centre }));
            run.counts.sweeps += CORRECTION_SWEEPS as u64;
            std::mem::swap(&mut run.trial, &mut run.swept);
            let corrected = regular(run, true, eps, centre, u);
            if corrected < merit || merit.is_nan() {
                merit = corrected;
            } else {
                std::mem::swap(&mut run.trial, &mut run.swept);
            }
        }
        if merit < reference {
            std::mem::swap(&mut run.now, &mut run.trial);
            return true;
        }
        t *= 0.5;
    }
    false
}

/// The velocities of the regular problem, `u + eps (y − c)`, and |F| there; of `trial` or of `now`.
fn regular(run: &Run<'_, '_>, trial: bool, eps: f64, centre: &[f64], u: &mut [f64]) -> f64 {
    let point = if trial { &run.trial } else { &run.now };
    for i in 0..u.len() {
        u[i] = point.u[i] + eps * (point.y[i] - centre[i]);
    }
    let blocks = run.form.blocks();
    let mut sum = 0.0;
    for (k, law) in blocks.laws.iter().enumerate() {
        let range = blocks.range(k);
        let piece = super::piece::Piece::of(law, &point.y[range.clone()], &u[range]);
        sum += piece.f.iter().map(|x| x * x).sum::<f64>();
    }
    sum.sqrt()
}
