//! What the strategy asks of a problem, whole or reduced.

use crate::problem::{Law, PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};
use crate::solve::certificate::{Certificate, Certifier};
use crate::solve::infeasible::{self, Contradiction};
use crate::solve::{DynSolver, Limits, Report, Unsupported};

/// Unknowns of a rigid body.
const RIGID_BODY: usize = 6;

/// A problem in either form, prepared.
pub(super) trait Posed {
    /// Its laws.
    fn laws(&self) -> &[Law];

    /// The residual of a solution, as far as it is needed to see whether it is accepted: its
    /// estimate may be infinite where it is not.
    fn residual_if_converged(&mut self, solution: &Solution, tolerance: &Tolerance) -> Residual;

    /// The whole residual.
    fn residual(&mut self, solution: &Solution) -> Residual;

    /// Runs a method from `solution`.
    fn run(
        &mut self,
        solver: &mut dyn DynSolver,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported>;

    /// What is proved of a solution.
    fn certify(&mut self, certifier: &mut Certifier, solution: &Solution) -> Certificate;

    /// The solution with these reactions.
    fn complete(&mut self, r: Vec<f64>) -> Solution;

    /// Sets a guess to zero.
    fn reset(&self, guess: &mut Solution);

    /// Rows that contradict each other, with the proof.
    fn contradiction(&self) -> Option<Contradiction>;

    /// Number of unknowns where more of them are coupled than a rigid body has: coordinates of
    /// joints. None for free bodies, and where only reactions are known.
    fn coordinates(&self) -> Option<usize>;

    /// Number of rows.
    fn rows(&self) -> usize {
        self.laws().iter().map(Law::rows).sum()
    }
}

/// A problem.
pub(super) struct Whole<'a> {
    pub problem: &'a Problem,
    pub prepared: &'a mut PreparedProblem,
}

impl Posed for Whole<'_> {
    fn coordinates(&self) -> Option<usize> {
        let coupled = self.problem.H.starts.windows(2).any(|row| row[1] - row[0] > RIGID_BODY);
        coupled.then_some(self.problem.n())
    }

    fn laws(&self) -> &[Law] {
        &self.problem.laws
    }

    fn residual_if_converged(&mut self, solution: &Solution, tolerance: &Tolerance) -> Residual {
        self.prepared.residual_if_converged(self.problem, solution, tolerance)
    }

    fn residual(&mut self, solution: &Solution) -> Residual {
        self.prepared.error(self.problem, solution)
    }

    fn run(
        &mut self,
        solver: &mut dyn DynSolver,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        solver.solve_prepared(self.problem, self.prepared, solution, limits)
    }

    fn certify(&mut self, certifier: &mut Certifier, solution: &Solution) -> Certificate {
        certifier.certify(self.problem, solution)
    }

    fn complete(&mut self, r: Vec<f64>) -> Solution {
        let mut solution = Solution { v: Vec::new(), r };
        momentum(self.prepared, self.problem, &mut solution);
        solution
    }

    fn reset(&self, guess: &mut Solution) {
        guess.reset(self.problem.n(), self.problem.rows());
    }

    fn contradiction(&self) -> Option<Contradiction> {
        infeasible::contradiction(self.problem)
    }
}

/// A reduced problem.
pub(super) struct Eliminated<'a> {
    pub reduced: &'a Reduced,
    pub prepared: PreparedProblem,
}

impl Posed for Eliminated<'_> {
    fn coordinates(&self) -> Option<usize> {
        None
    }

    fn laws(&self) -> &[Law] {
        &self.reduced.laws
    }

    fn residual_if_converged(&mut self, solution: &Solution, _: &Tolerance) -> Residual {
        self.residual(solution)
    }

    fn residual(&mut self, solution: &Solution) -> Residual {
        self.prepared.error_reduced(self.reduced, &solution.r)
    }

    fn run(
        &mut self,
        solver: &mut dyn DynSolver,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        solver.solve_reduced_within(self.reduced, solution, limits)
    }

    fn certify(&mut self, certifier: &mut Certifier, solution: &Solution) -> Certificate {
        certifier.certify_reduced(self.reduced, &solution.r)
    }

    fn complete(&mut self, r: Vec<f64>) -> Solution {
        Solution { v: Vec::new(), r }
    }

    fn reset(&self, guess: &mut Solution) {
        guess.r.fill(0.0);
    }

    fn contradiction(&self) -> Option<Contradiction> {
        infeasible::contradiction_reduced(self.reduced)
    }
}

/// `v ← H⁻¹(k + Jᵀ r)`, with r projected onto its laws.
pub(super) fn momentum(prepared: &mut PreparedProblem, problem: &Problem, solution: &mut Solution) {
    for (block, law) in problem.J.blocks().zip(&problem.laws) {
        law.project(&mut solution.r[block.range()]);
    }
    if solution.r.iter().any(|x| !x.is_finite()) {
        solution.r.fill(0.0);
    }
    solution.v.clear();
    solution.v.extend_from_slice(&problem.k);
    problem.J.add_transposed(&solution.r, &mut solution.v);
    prepared.factor().solve(&mut solution.v);
}
