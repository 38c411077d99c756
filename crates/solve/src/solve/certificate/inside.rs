//! From a little outside K* into it: the cheapest change of velocity that gives every block a
//! margin.
//!
//! With α the largest lack of normal velocity, solve the homogeneous problem
//!
//! ```text
//!   δu = W η + û/α − κ n,   (δu, η) ∈ Law∞        y ← y + α η
//! ```
//!
//! roughly, by sweeps: then `û + α W η ∈ K* + α κ n`, up to what the sweeps left. Law∞ holds the
//! directions in which reactions may grow without end: an interval with finite bounds asks for
//! nothing. Blocks that are far inside are shortened first, which keeps them feasible and the
//! energies alike.

use super::active::Equalities;
use super::frame::{Base, Frame, Velocities, lack_of_block};
use crate::problem::{Law, Reduced, Solution, Tolerance};
use crate::solve::{Method, StoppingCriteria};

/// Sweeps and margins that are tried, one after another.
const SWEEPS_AND_MARGINS: [(u64, f64); 4] = [(50, 0.3), (200, 0.3), (200, 1.0), (800, 1.0)];
/// Up to so many rows the exact method is tried as well.
const MAX_FACTORED_ROWS: usize = 600;
/// Blocks whose velocity exceeds this many times α are shortened.
const MAX_VELOCITY_RATIO: f64 = 1e3;

/// Moves `y` until its velocities are strictly feasible; true if they are.
pub(super) fn shift(
    frame: &Frame,
    base: &Base,
    equalities: &mut Equalities,
    y: &mut Vec<f64>,
) -> bool {
    let mut at = Velocities::default();
    frame.velocities(base, y, &mut at);
    let alpha = frame.lack(base, &at).normal;
    if alpha <= 0.0 {
        return true;
    }
    if !alpha.is_finite() {
        return false;
    }
    let mut homogeneous = Reduced {
        name: String::new(),
        W: frame.w().clone(),
        q: vec![0.0; y.len()],
        laws: frame.laws.iter().map(Law::recession).collect(),
        row_starts: frame.starts.clone(),
        names: Vec::new(),
    };
    let exact = (y.len() <= MAX_FACTORED_ROWS).then_some((Method::Newton, 60, 1.0));
    for (method, work, margin) in
        SWEEPS_AND_MARGINS.iter().map(|&(work, margin)| (Method::Psor, work, margin)).chain(exact)
    {
        ask(frame, &at, alpha, margin, &mut homogeneous);
        let mut answer = Solution::zero(0, y.len());
        let tolerance = Tolerance {
            relative: 1e-6,
            velocity: 0.1 * margin,
            bound: Some(f64::MAX),
            velocity_relative: 0.0,
        };
        let stop = StoppingCriteria { tolerance, work: Some(work), ..StoppingCriteria::default() };
        if method.build(stop).solve_reduced(&homogeneous, &mut answer).is_err() {
            continue;
        }
        let mut trial: Vec<f64> = y.iter().zip(&answer.r).map(|(y, eta)| y + alpha * eta).collect();
        equalities.hold(frame, base, &mut trial);
        let mut there = Velocities::default();
        frame.velocities(base, &trial, &mut there);
        if frame.lack(base, &there).normal <= 0.0 {
            *y = trial;
            return true;
        }
    }
    false
}

/// The right-hand side of the homogeneous problem.
fn ask(frame: &Frame, at: &Velocities, alpha: f64, margin: f64, out: &mut Reduced) {
    for (k, law) in frame.laws.iter().enumerate() {
        let range = frame.range(k);
        let q = &mut out.q[range.clone()];
        let (u, noise) = (&at.u[range.clone()], &at.noise[range]);
        let length = crate::math::norm(u);
        let factor = if length > MAX_VELOCITY_RATIO * alpha {
            MAX_VELOCITY_RATIO / length
        } else {
            alpha.recip()
        };
        q.iter_mut().zip(u).for_each(|(q, u)| *q = factor * u);
        let lack = lack_of_block(law, u, noise).max(0.0);
        match law.recession() {
            Law::Equality => q.fill(0.0),
            // Downwards where only the lower side is open.
            Law::Interval { hi: 0.0, .. } => q[0] += margin,
            _ if length > MAX_VELOCITY_RATIO * alpha => q[0] += factor * lack - margin,
            _ => q[0] -= margin,
        }
    }
}
