//! Sweeps in place of a guess.
//!
//! A sweep ([`crate::solve::psor`]) costs a thirtieth (280 spheres) to a two-hundred-and-fiftieth
//! (1190) of a factorization, and finds out which of the contacts push. What is left is the
//! business of a Newton step or two, or of the path from there. Factorizations after so many
//! sweeps, cone law:
//!
//! | | 0 | 10 | 30 | 100 | 300 | 600 |
//! |---|---|---|---|---|---|---|
//! | 595 spheres, early | 11 | 2 | 1 | 0 | 0 | 0 |
//! | 595 spheres, impact | 12 | 10 | 9 | 9 | 2 | 1 |
//! | 1190 spheres, impact | 16 | 15 | 14 | 12 | 10 | 6 |
//! | 1190 spheres, settled | 20 | 20 | 20 | 17 | 14 | 10 |
//! | wall, settled | 17 | 14 | 14 | 13 | 13 | 12 |
//! | four-bar linkages, settled | 12 | 11 | 10 | 10 | 9 | 8 |
//!
//! So: the more, the more contacts there are; few on a wall of bricks, where more do not pay. None
//! where masses are extreme (they would end nowhere), none on meshes (a sweep would be as dear as a
//! factorization), and none where joints outnumber contacts: they are solved exactly in each sweep,
//! thirty of which cost more than the two factorizations that they save.

use super::scaled::EXTREME_MASS_RATIO;
use super::{DEFAULT_FACTORIZATIONS, InteriorPoint, Run, Target, excess};
use crate::problem::{Law, Problem, Solution, Tolerance};
use crate::solve::{Sample, StoppingCriteria};

/// Sweeps without a guess: one for so many cones, within these bounds.
const CONES_PER_SWEEP: usize = 4;
/// See [`CONES_PER_SWEEP`].
const SWEEP_RANGE: std::ops::RangeInclusive<usize> = 100..=600;
/// Where rows outnumber the unknowns so many times (walls of bricks) reactions are far from unique
/// and sweeps slow: then [`SWEEPS_OF_REDUNDANT_PROBLEM`].
const REDUNDANT_ROW_RATIO: usize = 3;
/// See [`REDUNDANT_ROW_RATIO`].
const SWEEPS_OF_REDUNDANT_PROBLEM: u64 = 30;
/// Sweeps are held to this part of the tolerated velocities: what they leave is spread over many
/// rows, each of them right.
const VELOCITY_TOLERANCE_FACTOR: f64 = 0.05;

impl InteriorPoint {
    /// 2. Sweeps in place of a guess: true if they are all that was needed, none where they would
    ///    be in vain.
    pub(super) fn sweep(&mut self, run: &mut Run<'_>, guess: &mut Solution) -> Option<bool> {
        let Target::Problem(problem) = run.target else { return None };
        let cones = problem.laws.iter().filter(|law| **law != Law::Equality).count();
        let joints = problem.laws.len() - cones;
        if cones == 0 || joints > cones || !self.sweepable(problem) {
            return None;
        }
        let most = run
            .stop
            .work
            .unwrap_or(DEFAULT_FACTORIZATIONS)
            .saturating_mul(*SWEEP_RANGE.start() as u64);
        let usual =
            (cones / CONES_PER_SWEEP).clamp(*SWEEP_RANGE.start(), *SWEEP_RANGE.end()) as u64;
        let few = problem.rows() > REDUNDANT_ROW_RATIO * problem.n();
        let sweeps = if few { SWEEPS_OF_REDUNDANT_PROBLEM } else { usual }.min(most);
        let Tolerance { relative, velocity, bound, velocity_relative } = run.stop.tolerance;
        let tolerance = Tolerance {
            relative: VELOCITY_TOLERANCE_FACTOR * VELOCITY_TOLERANCE_FACTOR * relative,
            velocity: VELOCITY_TOLERANCE_FACTOR * velocity,
            bound,
            velocity_relative: VELOCITY_TOLERANCE_FACTOR * velocity_relative,
        };
        self.sweeps.settings.parallel = false;
        self.sweeps.settings.stop = StoppingCriteria { tolerance, work: Some(sweeps), ..*run.stop };
        let report = self.sweeps.sweep(problem, &mut self.prepared, guess);
        run.sweeps = report.work;
        if guess.v.iter().chain(&guess.r).any(|x| !x.is_finite()) {
            return None;
        }
        run.least = excess(&report.error, &run.stop.tolerance);
        run.error = report.error;
        run.best.clone_from(guess);
        run.history.extend(report.history.iter().map(|sample| Sample { work: 0, ..*sample }));
        Some(report.error.accepted(&tolerance))
    }

    /// Bodies alone, and no extreme masses.
    fn sweepable(&mut self, problem: &Problem) -> bool {
        let factor = self.prepared.factor();
        let small = (0..factor.cliques.len()).all(|c| factor.dense(c).is_some());
        let diagonal = (0..problem.n()).map(|i| problem.H.get(i, i));
        let (least, largest) =
            diagonal.fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
        small && largest <= EXTREME_MASS_RATIO * least
    }
}
