//! What hardly moves and slides is solved to more digits than the tolerance asks for.
//!
//! A velocity that is wrong by the tolerance in one step is where the next one begins: a block that
//! is about to slide would creep by the sum of these errors, many times the tolerance times the
//! duration. From the method's answer Newton's method takes one or two factorizations.

use super::Choice;
use crate::problem::{Law, Tolerance};
use crate::solve::newton::{self, Newton};
use crate::solve::{Solver, StoppingCriteria};

/// The velocity tolerance of slow motions, of that of the step; that of energies is its square.
const FINER: f64 = 1e-3;
/// Factorizations that it may take.
const MAX_FACTORIZATIONS: u64 = 10;

/// Work space.
#[derive(Default)]
pub(super) struct Refinement {
    newton: Option<Box<Newton>>,
    tolerance: Tolerance,
}

impl Choice {
    /// Solves the island at hand from `found` into `answer`; true if that is the same motion and
    /// more exact. Joints and motors are held to the tolerance: islands with any are left alone.
    pub(super) fn refine(&mut self, tolerance: &Tolerance) -> bool {
        let Choice { refinement, part, prepared, answer, found, counts, .. } = self;
        if part.laws.iter().any(|law| !matches!(law, Law::Coulomb { .. })) {
            return false;
        }
        let coarse = prepared.error(part, found);
        let fine = Tolerance {
            relative: FINER * FINER * tolerance.relative,
            velocity: FINER * tolerance.velocity,
            bound: Some(f64::MAX),
            velocity_relative: 0.0,
        };
        if !coarse.accepted(tolerance) || coarse.velocity <= fine.velocity {
            return false;
        }
        if refinement.newton.is_none() || refinement.tolerance != fine {
            let work = Some(MAX_FACTORIZATIONS);
            let stop = StoppingCriteria { tolerance: fine, work, ..StoppingCriteria::default() };
            let settings = newton::Settings { stop, ..newton::Settings::default() };
            refinement.newton = Some(Box::new(Newton::new(settings)));
            refinement.tolerance = fine;
        }
        let Some(newton) = &mut refinement.newton else { return false };
        answer.clone_from(found);
        let Ok(report) = newton.solve(part, answer) else { return false };
        *counts = counts.plus(&report.counts);
        // A motion of its own would be another choice.
        let far = |(a, b): (&f64, &f64)| (a - b).abs() > 10.0 * tolerance.velocity;
        report.error.accepted(tolerance)
            && report.error.velocity < coarse.velocity
            && !answer.v.iter().zip(&found.v).any(far)
    }
}
