//! Answers that come with their certificate.

use super::{Certifier, Ends, Settings, Standing};
use crate::problem::{PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};
use crate::solve::{DynSolver, Limits, ReducedSolver, Report, Solver, Status, Unsupported};

/// What a certificate makes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The upper end is within the tolerance: it takes the estimate's place.
    Within,
    /// The lower end is beyond the tolerance, and proved.
    Refuted,
    /// Neither.
    Undecided,
}

impl Ends {
    /// Weighs an answer: puts the upper end in place of the estimate where it is within the
    /// tolerance, the lower end where it is proved to be beyond. With Coulomb's shift frozen
    /// neither end is a proof: it may replace an estimate, not refute an answer.
    pub fn weigh(&self, tolerance: &Tolerance, error: &mut Residual) -> Weight {
        let limit = tolerance.largest_bound() * error.estimate_scale();
        if self.lower > limit && self.standing != Standing::Estimated {
            error.estimate = error.estimate.max(self.lower);
            return Weight::Refuted;
        }
        if self.upper <= limit {
            error.estimate = self.upper;
            return Weight::Within;
        }
        Weight::Undecided
    }

    /// Two parts of a problem that do not touch each other.
    pub fn plus(&self, other: &Ends) -> Ends {
        Ends {
            standing: self.standing.max(other.standing),
            upper: self.upper + other.upper,
            lower: self.lower + other.lower,
            moved: self.moved.max(other.moved),
        }
    }
}

impl Certifier {
    /// Certifies the answer of a report whose local error is accepted; the figure decides where the
    /// estimate did.
    pub fn attach(
        &mut self,
        problem: &Problem,
        solution: &Solution,
        tolerance: &Tolerance,
        report: &mut Report,
    ) {
        if report.error.accepted_locally(tolerance) {
            let ends = self.certify(problem, solution).ends();
            settle(report, ends, tolerance);
        }
    }

    /// As [`Certifier::attach`], of a reduced problem.
    pub fn attach_reduced(
        &mut self,
        reduced: &Reduced,
        r: &[f64],
        tolerance: &Tolerance,
        report: &mut Report,
    ) {
        if report.error.accepted_locally(tolerance) {
            let ends = self.certify_reduced(reduced, r).ends();
            settle(report, ends, tolerance);
        }
    }
}

fn settle(report: &mut Report, ends: Ends, tolerance: &Tolerance) {
    report.certificate = Some(ends);
    match ends.weigh(tolerance, &mut report.error) {
        Weight::Within if report.error.accepted(tolerance) => report.status = Status::Converged,
        Weight::Refuted if report.status == Status::Converged => {
            report.status = Status::Stalled;
            report.notes.push("an answer that looked accepted was proved to be further off".into());
        }
        _ => {}
    }
}

/// A method whose answers come with their certificate.
pub struct Certified {
    method: Box<dyn DynSolver>,
    certifier: Certifier,
    tolerance: Tolerance,
}

impl Certified {
    /// The method with this tolerance.
    pub fn new(method: Box<dyn DynSolver>, tolerance: Tolerance, settings: Settings) -> Certified {
        Certified { method, certifier: Certifier::new(settings), tolerance }
    }
}

impl Solver for Certified {
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let mut report = self.method.solve_within(problem, solution, limits)?;
        self.certifier.attach(problem, solution, &self.tolerance, &mut report);
        Ok(report)
    }

    fn solve_prepared(
        &mut self,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let mut report = self.method.solve_prepared(problem, prepared, solution, limits)?;
        self.certifier.attach(problem, solution, &self.tolerance, &mut report);
        Ok(report)
    }
}

impl ReducedSolver for Certified {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let mut report = self.method.solve_reduced_within(reduced, solution, limits)?;
        self.certifier.attach_reduced(reduced, &solution.r, &self.tolerance, &mut report);
        Ok(report)
    }
}
