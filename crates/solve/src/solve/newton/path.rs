//! Phase P: from piece to piece along Newton's path.
//!
//! Where the residual lies in directions that the rows of the present branches cannot reduce
//! (nearly singular matrix, huge step, R almost constant along it), halving the step does not help:
//! a contact has to change its branch. So
//!
//! ```text
//!   0  where the first full step changes the branches of many blocks, the path is too long: leave it
//!   1  (A (W + eps I) + B) dy = −F                at y, eps small
//!   2  if the full step cuts R to 0.6, take it
//!   3  else go along ±dy to the first place where some block reaches another branch, and just beyond
//!   4  where dy points straight back over the border just crossed, the path turns: go along −dy
//! ```
//!
//! Inside a piece F is nearly linear and `F(y + t dy) = (1 − t) F`; on −dy it grows, as in Lemke's
//! method, of which this is the relative for curved pieces (Ralph1994). One block changes per
//! piece: the factor of an earlier piece serves for many ([`super::near`]). No sweeps.

use super::piece::first_change;
use super::run::{End, Run};
use crate::problem::law::MAX_ROWS;

/// Most pieces.
const MAX_PIECES: usize = 60;
/// Branches that the first full step may change. Of seven problems looked at, five that the path
/// helped began with 1 to 14, two that it did not help with 41 and 127.
const MAX_CHANGES_PER_PIECE: usize = 20;
/// How far R may rise above where the phase began: on the way through a nearly singular piece it
/// does so a hundredfold.
const MAX_RESIDUAL_RISE: f64 = 1e3;
/// What a full step must leave of R.
const FULL_STEP_DECREASE: f64 = 0.6;
/// Weight of the regular term at first; ten times as much after each failure, of which there may be
/// this many.
const INITIAL_REGULARIZATION: f64 = 1e-6;
const MAX_FAILURES: u32 = 4;
/// Steps without the regular term.
const MAX_BARE_STEPS: u32 = 8;
/// A step relative to dy below which a border counts as the one just crossed.
const CROSSED_BORDER_STEP: f64 = 1e-6;

pub(super) fn run(run: &mut Run<'_, '_>) -> End {
    run.now.copy_from(&run.best);
    let highest = MAX_RESIDUAL_RISE * run.now.residual;
    let (mut eps, mut failures, mut sign, mut crossed) = (INITIAL_REGULARIZATION, 0, 1.0, None);
    for piece in 0..MAX_PIECES {
        if run.spent() {
            return End::Spent;
        }
        let mut moved = false;
        if run.step_near_now(eps) {
            run.set_trial(1.0);
            if piece == 0 && run.changes() > MAX_CHANGES_PER_PIECE {
                break;
            }
            if run.trial.residual < FULL_STEP_DECREASE * run.now.residual {
                (sign, crossed, moved) = (1.0, None, true);
            } else if let Some((t, block)) = next_border(run, &mut sign, crossed) {
                run.set_trial(sign * (t * (1.0 + 1e-9) + 1e-13));
                moved = run.trial.residual <= highest;
                crossed = if moved { Some(block) } else { crossed };
            }
        }
        if moved {
            std::mem::swap(&mut run.now, &mut run.trial);
            if run.look() {
                return End::Passed;
            }
        } else {
            failures += 1;
            eps *= 10.0;
            if failures > MAX_FAILURES {
                break;
            }
        }
    }
    End::Stuck
}

/// Full Newton steps without any regular term, wherever they lead: what extreme mass ratios need,
/// where the least compliance moves the light end of a stack by metres per second. The best iterate
/// is kept.
pub(super) fn bare(run: &mut Run<'_, '_>) -> End {
    run.now.copy_from(&run.best);
    for _ in 0..MAX_BARE_STEPS {
        if run.spent() {
            return End::Spent;
        }
        if !run.step_at_now(0.0) {
            break;
        }
        run.set_trial(1.0);
        if !run.trial.residual.is_finite() {
            break;
        }
        std::mem::swap(&mut run.now, &mut run.trial);
        if run.look() {
            return End::Passed;
        }
    }
    End::Stuck
}

/// Steps 3 and 4: how far to the next border along `sign dy` (the sign may turn), and whose it is.
/// `trial` is the full step.
fn next_border(run: &Run<'_, '_>, sign: &mut f64, crossed: Option<usize>) -> Option<(f64, usize)> {
    let ahead = border(run, *sign, None)?;
    if Some(ahead.1) == crossed && ahead.0 < CROSSED_BORDER_STEP {
        *sign = -*sign;
        return border(run, *sign, crossed);
    }
    Some(ahead)
}

/// The nearest border along `sign dy`; that of `skip` counts only if it is not at hand.
fn border(run: &Run<'_, '_>, sign: f64, skip: Option<usize>) -> Option<(f64, usize)> {
    let blocks = run.form.blocks();
    let mut nearest = None;
    let mut least = f64::INFINITY;
    for (k, law) in blocks.laws.iter().enumerate() {
        let range = blocks.range(k);
        let d = range.len();
        let (mut z, mut dz) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        for (i, row) in range.enumerate() {
            z[i] = run.now.y[row] - run.now.u[row];
            dz[i] = sign * (run.trial.y[row] - run.trial.u[row] - z[i]);
        }
        let t = first_change(law, &z[..d], &dz[..d]);
        if t < least && !(Some(k) == skip && t < CROSSED_BORDER_STEP) {
            least = t;
            nearest = Some((t, k));
        }
    }
    nearest
}
