//! `direct`: equality rows alone, in one factorization.
//!
//! ```text
//!   W r = −q,   W = J H⁻¹ Jᵀ + E,   q = J H⁻¹ k + w;      v = H⁻¹(k + Jᵀ r)        [Mangoni2018, eq. 4.27]
//! ```
//!
//! 1. Form W (sparse: two joints couple only through a common clique of H).
//! 2. Scale it to a unit diagonal, factor it with [`Semidefinite`]: rows that depend on others are left out and listed.
//! 3. Solve; refine while the error falls.
//!
//! When to use it: mechanisms without contact, with redundant joints or without. `v` is unique; the reactions
//! are a basic solution (zero in the dependent rows), bounded but not unique when rows are dependent.
//! If a row that was left out is not satisfied by the others, the joints contradict each other: `Infeasible`.
//!
//! Cost: one solve with H per row, one sparse factorization of W, three solves.

use super::{ReducedSolver, Report, Solver, Status, Stop, Unsupported};
use crate::math::semidefinite::Semidefinite;
use crate::math::sparse::Csr;
use crate::problem::{Judge, Law, Problem, Reduced, Solution};

/// Settings of [`Direct`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// When to call the answer good (the work is one factorization, whatever this says).
    pub stop: Stop,
}

/// The method.
pub struct Direct {
    settings: Settings,
    judge: Judge,
}

/// Refinement steps at most; each gains the digits that the factorization has.
const REFINEMENTS: u64 = 4;

impl Direct {
    /// The method with these settings.
    pub fn new(settings: Settings) -> Direct {
        Direct { settings, judge: Judge::default() }
    }
}

impl Solver for Direct {
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Result<Report, Unsupported> {
        supported(&problem.laws)?;
        let bad = |e: crate::problem::Invalid| Unsupported { method: "direct", what: e.to_string() };
        self.judge.prepare(problem).map_err(bad)?;
        let system = System::new(&Reduced::of(problem).map_err(bad)?);
        let mut best: Option<(Solution, crate::problem::Error)> = None;
        let mut point = Solution { v: problem.k.clone(), r: vec![0.0; problem.rows()] };
        self.judge.factor().solve(&mut point.v);
        let mut u = vec![0.0; problem.rows()];
        for _ in 0..REFINEMENTS {
            problem.local_velocities(&point.v, &point.r, &mut u);
            system.correct(&u, &mut point.r);
            point.v.copy_from_slice(&problem.k);
            problem.J.add_transposed(&point.r, &mut point.v);
            self.judge.factor().solve(&mut point.v);
            let error = self.judge.error(problem, &point);
            if best.as_ref().is_some_and(|(_, b)| error.joule >= b.joule) {
                break;
            }
            best = Some((point.clone(), error));
        }
        let (point, error) = best.expect("the first step is always kept");
        solution.clone_from(&point);
        problem.local_velocities(&solution.v, &solution.r, &mut u);
        Ok(self.report(error, &system, &u))
    }
}

impl ReducedSolver for Direct {
    fn solve_reduced(&mut self, reduced: &Reduced, solution: &mut Solution) -> Result<Report, Unsupported> {
        supported(&reduced.laws)?;
        if reduced.asymmetry() > crate::problem::SYMMETRY {
            return Err(Unsupported { method: "direct", what: "a W that is not symmetric".into() });
        }
        self.judge.prepare_reduced(reduced);
        let system = System::new(reduced);
        let mut best: Option<(Vec<f64>, crate::problem::Error)> = None;
        let (mut r, mut u) = (vec![0.0; reduced.rows()], vec![0.0; reduced.rows()]);
        for _ in 0..REFINEMENTS {
            reduced.local_velocities(&r, &mut u);
            system.correct(&u, &mut r);
            let error = self.judge.error_reduced(reduced, &r);
            if best.as_ref().is_some_and(|(_, b)| error.joule >= b.joule) {
                break;
            }
            best = Some((r.clone(), error));
        }
        let (r, error) = best.expect("the first step is always kept");
        reduced.local_velocities(&r, &mut u);
        solution.r = r;
        Ok(self.report(error, &system, &u))
    }
}

impl Direct {
    /// The report on a point with these local velocities.
    fn report(&self, error: crate::problem::Error, system: &System, u: &[f64]) -> Report {
        let tolerance = &self.settings.stop.tolerance;
        let conflict: Vec<usize> = system.dependent.iter().copied().filter(|&i| u[i].abs() > tolerance.velocity).collect();
        let status = match (error.accepted(tolerance), conflict.is_empty()) {
            (true, _) => Status::Converged,
            (false, false) => Status::Infeasible,
            (false, true) => Status::Stalled,
        };
        let mut report = Report::new(status, error);
        report.iterations = 1;
        report.work = 1;
        report.counts.factorizations = 1;
        report.conflict = conflict;
        report.dependent = system.dependent.clone();
        report
    }
}

fn supported(laws: &[Law]) -> Result<(), Unsupported> {
    match laws.iter().find(|law| **law != Law::Equality) {
        Some(law) => Err(Unsupported { method: "direct", what: format!("{} rows", law.name()) }),
        None => Ok(()),
    }
}

/// W with unit diagonal, factored.
struct System {
    /// 1/√W_ii, or 0 for a row that nothing moves.
    scale: Vec<f64>,
    factor: Semidefinite,
    dependent: Vec<usize>,
}

impl System {
    fn new(reduced: &Reduced) -> System {
        let diagonal = |i: usize| reduced.W.get(i, i);
        let scale: Vec<f64> = (0..reduced.rows()).map(|i| if diagonal(i) > 0.0 { diagonal(i).sqrt().recip() } else { 0.0 }).collect();
        let mut scaled: Csr = reduced.W.clone();
        for i in 0..scaled.rows {
            for p in scaled.starts[i]..scaled.starts[i + 1] {
                scaled.values[p] *= scale[i] * scale[scaled.columns[p] as usize];
            }
        }
        let factor = Semidefinite::factor(&scaled);
        let dependent = factor.dependent();
        System { scale, factor, dependent }
    }

    /// `r ← r − W⁻¹ u`.
    fn correct(&self, u: &[f64], r: &mut [f64]) {
        let mut x: Vec<f64> = u.iter().zip(&self.scale).map(|(u, s)| u * s).collect();
        self.factor.solve(&mut x);
        for i in 0..r.len() {
            r[i] -= x[i] * self.scale[i];
        }
    }
}
