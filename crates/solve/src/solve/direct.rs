//! `direct`: equality rows alone, in one factorization.
//!
//! ```text
//!   W r = −q,   W = J H⁻¹ Jᵀ + E,   q = J H⁻¹ k + w;      v = H⁻¹(k + Jᵀ r)        (Mangoni2018, eq. 4.27)
//! ```
//!
//! 1. Form W (sparse: two joints couple only through a common clique of H).
//! 2. Scale it to a unit diagonal, factor it with [`Semidefinite`]: rows that depend on others are
//!    left out and listed.
//! 3. Solve; refine while the error falls.
//!
//! When to use it: mechanisms without contact, with redundant joints or without. `v` is unique; the
//! reactions are a basic solution (zero in the dependent rows), bounded but not unique when rows
//! are dependent. If a row that was left out is not satisfied by the others, the joints contradict
//! each other: `Infeasible`.
//!
//! Cost: one solve with H per row, one sparse factorization of W, three solves.

use super::{
    Limits, ReducedSolver, Report, Solver, Status, StoppingCriteria, Unsupported,
    solve_by_own_preparation,
};
use crate::math::ldlt::Semidefinite;
use crate::math::sparse::Csr;
use crate::problem::reduced::Reducer;
use crate::problem::{Law, PreparedProblem, Problem, Reduced, Residual, Solution};

/// Settings of [`Direct`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// When to call the answer good (the work is one factorization, whatever this says).
    pub stop: StoppingCriteria,
}

/// The method; keeps its memory.
#[derive(Default)]
pub struct Direct {
    settings: Settings,
    prepared: PreparedProblem,
    reducer: Reducer,
    reduced: Reduced,
    system: System,
    point: Solution,
    u: Vec<f64>,
}

/// Refinement steps at most; each gains the digits that the factorization has.
const MAX_REFINEMENTS: u64 = 4;

impl Direct {
    /// The method with these settings.
    pub fn new(settings: Settings) -> Direct {
        Direct { settings, ..Direct::default() }
    }

    /// Rows that depend on others in the last problem, ascending: their reactions are not unique.
    pub fn dependent(&self) -> &[usize] {
        &self.system.dependent
    }
}

impl Solver for Direct {
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let own: (_, fn(&mut Self) -> &mut PreparedProblem) = ("direct", |own| &mut own.prepared);
        solve_by_own_preparation(self, own, (problem, solution), limits)
    }

    fn solve_prepared(
        &mut self,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
        _limits: &Limits,
    ) -> Result<Report, Unsupported> {
        supported(&problem.laws)?;
        let Direct { reducer, reduced, system, point, u, .. } = self;
        reducer.reduce(problem, prepared.factor(), reduced);
        system.set(reduced);
        u.resize(problem.rows(), 0.0);
        point.r.clear();
        point.r.resize(problem.rows(), 0.0);
        point.v.clone_from(&problem.k);
        prepared.factor().solve(&mut point.v);
        let mut best: Option<Residual> = None;
        for _ in 0..MAX_REFINEMENTS {
            problem.local_velocities(&point.v, &point.r, u);
            system.correct(u, &mut point.r);
            point.v.copy_from_slice(&problem.k);
            problem.J.add_transposed(&point.r, &mut point.v);
            prepared.factor().solve(&mut point.v);
            let error = prepared.error(problem, point);
            if best.is_some_and(|b| error.joule >= b.joule) {
                break;
            }
            best = Some(error);
            solution.clone_from(point);
        }
        problem.local_velocities(&solution.v, &solution.r, u);
        Ok(self.report(best.expect("the first step is always kept")))
    }
}

impl ReducedSolver for Direct {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        _limits: &Limits,
    ) -> Result<Report, Unsupported> {
        supported(&reduced.laws)?;
        if reduced.asymmetry() > crate::problem::SYMMETRY_TOLERANCE {
            return Err(Unsupported { method: "direct", what: "a W that is not symmetric".into() });
        }
        let Direct { prepared, system, point, u, .. } = self;
        prepared.prepare_reduced(reduced);
        system.set(reduced);
        u.resize(reduced.rows(), 0.0);
        point.r.clear();
        point.r.resize(reduced.rows(), 0.0);
        let mut best: Option<Residual> = None;
        for _ in 0..MAX_REFINEMENTS {
            reduced.local_velocities(&point.r, u);
            system.correct(u, &mut point.r);
            let error = prepared.error_reduced(reduced, &point.r);
            if best.is_some_and(|b| error.joule >= b.joule) {
                break;
            }
            best = Some(error);
            solution.r.clone_from(&point.r);
        }
        reduced.local_velocities(&solution.r, u);
        Ok(self.report(best.expect("the first step is always kept")))
    }
}

impl Direct {
    /// The report on the point with the local velocities `u`.
    fn report(&self, error: Residual) -> Report {
        let tolerance = &self.settings.stop.tolerance;
        // Where the error is accepted, nothing that was left out contradicts the rest.
        let accepted = error.accepted(tolerance);
        let broken = |i: &usize| !accepted && self.u[*i].abs() > tolerance.velocity;
        let conflict: Vec<usize> = self.system.dependent.iter().copied().filter(broken).collect();
        let status = match (accepted, conflict.is_empty()) {
            (true, _) => Status::Converged,
            (false, false) => Status::Infeasible,
            (false, true) => Status::Stalled,
        };
        let mut report = Report::new(status, error);
        report.iterations = 1;
        report.work = 1;
        report.counts.factorizations = 1;
        report.conflict = conflict;
        report.dependent = self.system.dependent.len();
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
#[derive(Default)]
struct System {
    /// 1/√W_ii, or 0 for a row that nothing moves.
    scale: Vec<f64>,
    scaled: Csr,
    factor: Semidefinite,
    dependent: Vec<usize>,
    x: Vec<f64>,
}

impl System {
    fn set(&mut self, reduced: &Reduced) {
        let System { scale, scaled, factor, dependent, .. } = self;
        let diagonal = |i: usize| reduced.W.get(i, i);
        scale.clear();
        scale.extend(
            (0..reduced.rows())
                .map(|i| if diagonal(i) > 0.0 { diagonal(i).sqrt().recip() } else { 0.0 }),
        );
        scaled.clone_from(&reduced.W);
        for i in 0..scaled.rows {
            for p in scaled.starts[i]..scaled.starts[i + 1] {
                scaled.values[p] *= scale[i] * scale[scaled.columns[p] as usize];
            }
        }
        factor.set(scaled);
        factor.dependent_into(dependent);
    }

    /// `r ← r − W⁻¹ u`.
    fn correct(&mut self, u: &[f64], r: &mut [f64]) {
        self.x.clear();
        self.x.extend(u.iter().zip(&self.scale).map(|(u, s)| u * s));
        self.factor.solve(&mut self.x);
        for i in 0..r.len() {
            r[i] -= self.x[i] * self.scale[i];
        }
    }
}
