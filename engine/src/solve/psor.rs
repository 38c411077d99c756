//! Projected fixed-point sweeps, in their plainest form: r_k ← P_K(r_k − ũ_k / a_k), one block after the other.

use super::{ReducedSolver, Report, Sample, Solver, Status, Stop, Unsupported};
use crate::math::sparse::Csr;
use crate::problem::{Error, Judge, Law, Problem, Reduced, Solution};
use std::time::Instant;

/// Settings of [`Psor`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// When to stop.
    pub stop: Stop,
}

/// Projected sweeps.
pub struct Psor {
    settings: Settings,
}

impl Psor {
    /// The method with these settings.
    pub fn new(settings: Settings) -> Psor {
        Psor { settings }
    }

    fn sweeps(&self, reduced: &Reduced, r: &mut [f64], mut judge: impl FnMut(&[f64]) -> Error) -> Report {
        let (stop, begun) = (&self.settings.stop, Instant::now());
        let steps: Vec<f64> = (0..reduced.laws.len()).map(|k| step(&reduced.W, reduced.range(k))).collect();
        let mut best = (judge(r), r.to_vec());
        let mut report = Report::new(Status::Budget, best.0);
        let mut u = [0.0; 3];
        while report.work < stop.work.unwrap_or(1000) {
            if best.0.accepted(&stop.tolerance) {
                report.status = Status::Converged;
                break;
            }
            if stop.late() {
                report.reproducible = false;
                break;
            }
            for (k, law) in reduced.laws.iter().enumerate() {
                let range = reduced.range(k);
                for (u, i) in u.iter_mut().zip(range.clone()) {
                    *u = reduced.W.row_dot(i, r) + reduced.q[i];
                }
                u[0] += law.shift(&u[..law.rows()]);
                for (r, u) in r[range.clone()].iter_mut().zip(u) {
                    *r -= u / steps[k];
                }
                Law::project(law, &mut r[range]);
            }
            report.work += 1;
            let error = judge(r);
            if !error.joule.is_finite() {
                report.status = Status::Stalled;
                break;
            }
            if error.joule < best.0.joule {
                best = (error, r.to_vec());
            }
            if stop.history {
                report.history.push(Sample {
                    work: report.work,
                    joule: error.joule,
                    best: best.0.joule,
                    wall: begun.elapsed().as_secs_f64(),
                });
            }
        }
        r.copy_from_slice(&best.1);
        report.iterations = report.work;
        report.error = best.0;
        report
    }
}

/// A step below 1/‖W_kk‖.
fn step(w: &Csr, range: std::ops::Range<usize>) -> f64 {
    let sum: f64 = range.map(|i| w.get(i, i).max(0.0)).sum();
    if sum > 0.0 { sum } else { 1.0 }
}

impl Solver for Psor {
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Result<Report, Unsupported> {
        let bad = |e: crate::problem::Invalid| Unsupported { method: "psor", what: e.to_string() };
        let mut judge = Judge::of(problem).map_err(bad)?;
        let reduced = Reduced::of(problem).map_err(bad)?;
        let mut factor = crate::math::cliques::CliqueFactor::default();
        factor.factor(&problem.H).map_err(|_| Unsupported { method: "psor", what: "this H".into() })?;
        let mut velocities = |r: &[f64]| {
            let mut v = problem.k.clone();
            problem.J.add_transposed(r, &mut v);
            factor.solve(&mut v);
            v
        };
        let mut r = solution.r.clone();
        let report = self.sweeps(&reduced, &mut r, |r| judge.error(problem, &Solution { v: velocities(r), r: r.to_vec() }));
        solution.v = velocities(&r);
        solution.r = r;
        Ok(report)
    }
}

impl ReducedSolver for Psor {
    fn solve_reduced(&mut self, reduced: &Reduced, solution: &mut Solution) -> Result<Report, Unsupported> {
        let mut judge = Judge::of_reduced(reduced);
        Ok(self.sweeps(reduced, &mut solution.r, |r| judge.error_reduced(reduced, r)))
    }
}
