//! A toy: a method in one file. Steepest descent on the dual energy, step by step as
//! `docs/adding-a-method.md` says.
//!
//! ```text
//!   u = W r + q,   r ← P_K(r − t u)      t = 1 / largest row sum of W
//! ```
//!
//! 1. `u = W r + q`.
//! 2. `r ← P_K(r − t u)`, until the error is accepted.
//!
//! When: never; for convex laws it is the slowest method that works. Cost: one product with W per
//! iteration.
//!
//! To make it one of the methods: this file in `crates/solve/src/solve`, and one line in
//! `methods!`:
//! `SteepestDescent "steepest-descent" => |stop| Box::new(…::new(stop));`

use signorini_solve::problem::{
    PreparedProblem, Problem, Reduced, Solution, Tolerance, test_problems,
};
use signorini_solve::solve::{
    DynSolver, Limits, ReducedSolver, Report, Solver, Status, StoppingCriteria, Unsupported,
};

/// The method; its only setting is when to stop.
struct SteepestDescent {
    stop: StoppingCriteria,
}

impl ReducedSolver for SteepestDescent {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let stop = self.stop.within(limits);
        let mut prepared = PreparedProblem::of_reduced(reduced);
        let sum = |i: usize| reduced.W.row(i).1.iter().map(|w| w.abs()).sum::<f64>();
        let step = (0..reduced.rows()).map(sum).fold(f64::MIN_POSITIVE, f64::max).recip();
        let mut u = vec![0.0; reduced.rows()];
        let mut report = Report::new(Status::Budget, prepared.error_reduced(reduced, &solution.r));
        let mut r = solution.r.clone();
        while report.work < stop.work.unwrap_or(1000) && !report.error.accepted(&stop.tolerance) {
            if stop.deadline_passed() {
                report.reproducible = false;
                return Ok(report);
            }
            reduced.local_velocities(&r, &mut u);
            r.iter_mut().zip(&u).for_each(|(r, u)| *r -= step * u);
            reduced
                .laws
                .iter()
                .enumerate()
                .for_each(|(k, law)| law.project(&mut r[reduced.range(k)]));
            report.work += 1;
            let error = prepared.error_reduced(reduced, &r);
            if error.joule < report.error.joule {
                solution.r.clone_from(&r);
                report.error = error;
            }
        }
        if report.error.accepted(&stop.tolerance) {
            report.status = Status::Converged;
        }
        Ok(report)
    }
}

impl Solver for SteepestDescent {
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let bad = |what: String| Unsupported { method: "steepest-descent", what };
        let reduced = Reduced::of(problem).map_err(|why| bad(why.to_string()))?;
        let mut report = self.solve_reduced_within(&reduced, solution, limits)?;
        solution.v.clone_from(&problem.k);
        problem.J.add_transposed(&solution.r, &mut solution.v);
        let mut prepared = PreparedProblem::of(problem).map_err(|why| bad(why.to_string()))?;
        prepared.factor().solve(&mut solution.v);
        report.error = prepared.error(problem, solution);
        Ok(report)
    }
}

#[test]
fn a_method_in_one_file_solves_a_brick_that_slides() {
    let tolerance =
        Tolerance { relative: 1e-6, velocity: 1e-3, bound: Some(1.0), velocity_relative: 0.0 };
    let stop = StoppingCriteria { tolerance, work: Some(2000), ..Default::default() };
    let mut method: Box<dyn DynSolver> = Box::new(SteepestDescent { stop });
    let (mut solved, mut tried) = (0, 0);
    for known in test_problems::all().iter().filter(|known| known.problem.rows() <= 30) {
        let problem = &known.problem;
        tried += 1;
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report = method.solve(problem, &mut solution).expect("it treats every law");
        solved += usize::from(report.status == Status::Converged);
        let mut less = Solution::zero(problem.n(), problem.rows());
        let limits = Limits { work: Some(1), deadline: None };
        assert!(method.solve_within(problem, &mut less, &limits).unwrap().work <= 1);
    }
    // Coulomb's law, joints and mass ratios are too much for it here and there.
    assert!(2 * solved > tried, "{solved} of {tried} solved");
}
