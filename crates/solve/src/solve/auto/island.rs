//! One island, or one reduced problem: stage after stage until one is accepted.

use super::Settings;
use super::ladder::{Budget, affordable, kind};
use super::posed::Posed;
use super::proof::Proof;
use super::summary::add_work;
use crate::problem::{Residual, Solution, Tolerance};
use crate::solve::certificate::Certifier;
use crate::solve::{DynSolver, Limits, Method, Report, Stage, Status, add_stage};

/// One solver of each method, the best iterate, and what certifies it.
pub(super) struct Space {
    solvers: Vec<(Method, Box<dyn DynSolver>)>,
    best: Solution,
    certifier: Certifier,
}

impl Space {
    pub fn new(settings: &Settings) -> Space {
        let alone = Method::ALL.iter().filter(|method| **method != Method::Auto);
        Space {
            solvers: alone.map(|&method| (method, method.build(settings.stop))).collect(),
            best: Solution::default(),
            certifier: Certifier::default(),
        }
    }

    /// Solves a problem from the guess in `solution`; the method that had the last word, none if
    /// the guess was good enough.
    pub fn solve(
        &mut self,
        settings: &Settings,
        posed: &mut dyn Posed,
        solution: &mut Solution,
    ) -> (Report, Option<Method>) {
        let tolerance = settings.stop.tolerance;
        // The estimate, two thirds of the work of a residual, matters where the rest is accepted.
        let mut error = posed.residual_if_converged(solution, &tolerance);
        let mut run = Run {
            rows: posed.rows(),
            posed,
            settings,
            certifier: &mut self.certifier,
            proof: Proof::default(),
            total: Report::new(Status::Stalled, error),
            last: None,
            best: error,
        };
        run.proof = Proof::new(settings, run.rows);
        run.certify(solution, &mut error);
        run.best = error;
        if error.accepted(&tolerance) {
            add_stage(&mut run.total.stages, Stage::guess());
        } else {
            self.best.clone_from(solution);
            run.climb(&mut self.solvers, &mut self.best, solution);
            solution.clone_from(&self.best);
        }
        run.conclude(solution)
    }
}

/// The state of one island.
struct Run<'a> {
    posed: &'a mut dyn Posed,
    rows: usize,
    settings: &'a Settings,
    certifier: &'a mut Certifier,
    proof: Proof,
    total: Report,
    last: Option<Method>,
    best: Residual,
}

impl Run<'_> {
    /// Stage after stage, each from the best iterate so far.
    fn climb(
        &mut self,
        solvers: &mut [(Method, Box<dyn DynSolver>)],
        best: &mut Solution,
        solution: &mut Solution,
    ) {
        let Settings { stop, small, factorable, .. } = *self.settings;
        let rungs = kind(self.posed.laws(), self.posed.coordinates(), small).rungs();
        for (tried, &(method, budget)) in rungs.iter().enumerate() {
            if stop.deadline_passed() {
                (self.total.reproducible, self.total.status) = (false, Status::Budget);
                break;
            }
            if !affordable(method, budget, self.posed.laws(), factorable) {
                continue;
            }
            solution.clone_from(best);
            if self.proof.refuted {
                self.posed.reset(solution);
            }
            let at = solvers.iter().position(|(of, _)| *of == method);
            let solver = solvers[at.expect("every method but auto has a solver")].1.as_mut();
            let limits = Limits { work: budget.work(self.settings), deadline: stop.deadline };
            let Ok(report) = self.posed.run(solver, solution, &limits) else { continue };
            let mut error = report.error;
            self.proof.certify |= self.undecided(&error, small);
            self.certify(solution, &mut error);
            if better(&error, &self.best, &stop.tolerance) {
                (self.best, self.last) = (error, Some(method));
                self.total.status = report.status;
                best.clone_from(solution);
            }
            let accepted = self.best.accepted(&stop.tolerance);
            self.add(
                &report,
                Stage { solved: accepted.into(), ..Stage::of(method, &limits, &report) },
            );
            if accepted || self.contradicts(tried, budget, report.status) {
                break;
            }
        }
    }

    fn add(&mut self, report: &Report, stage: Stage) {
        add_work(&mut self.total, report);
        add_stage(&mut self.total.stages, stage);
    }

    /// Whether a contradiction is proved, where a stage that failed gives reason to look for one.
    fn contradicts(&mut self, tried: usize, budget: Budget, status: Status) -> bool {
        let small = budget.is_long() && self.rows <= self.settings.small;
        if tried > 0
            && !self.settings.stop.deadline_passed()
            && self.proof.look(status == Status::Infeasible || small)
        {
            self.proof.found = self.posed.contradiction();
        }
        self.proof.found.is_some()
    }

    /// What is said of the best iterate.
    fn conclude(mut self, solution: &mut Solution) -> (Report, Option<Method>) {
        let Settings { stop, factorable, .. } = *self.settings;
        let late = stop.deadline_passed();
        if !late && !self.proof.certify && self.undecided(&self.best, usize::MAX) {
            self.proof.certify = true;
            let mut error = self.best;
            self.certify(solution, &mut error);
            self.best = error;
        }
        self.total.error = match self.best.estimate.is_finite() {
            true => self.best,
            false => self.posed.residual(solution),
        };
        let accepted = self.best.accepted(&stop.tolerance);
        if !accepted && !late && self.proof.look(self.rows <= factorable) {
            self.proof.found = self.posed.contradiction();
        }
        let mut total = self.total;
        self.proof.conclude(&mut total, accepted);
        (total, self.last)
    }

    /// Nothing but the estimate stands against it: a certificate decides, where there are few rows.
    fn undecided(&self, error: &Residual, most_rows: usize) -> bool {
        let tolerance = &self.settings.stop.tolerance;
        self.rows <= most_rows && error.accepted_locally(tolerance) && !error.accepted(tolerance)
    }

    /// Puts the certificate's figure in place of the estimate where it decides: upper end within
    /// the tolerance, or lower end beyond it. In the second case the certificate's own reactions
    /// take the answer's place if they are better.
    fn certify(&mut self, solution: &mut Solution, error: &mut Residual) {
        let tolerance = self.settings.stop.tolerance;
        if !(self.proof.certify && error.accepted_locally(&tolerance)) {
            return;
        }
        let certificate = self.posed.certify(self.certifier, solution);
        let Some(witness) = self.proof.weigh(certificate, &tolerance, error) else { return };
        if witness.len() != self.rows {
            return;
        }
        let other = self.posed.complete(witness);
        let mut judged = self.posed.residual(&other);
        let again = self.posed.certify(self.certifier, &other);
        if judged.accepted_locally(&tolerance)
            && self.proof.weigh(again, &tolerance, &mut judged).is_none()
        {
            solution.r = other.r;
            if !other.v.is_empty() {
                solution.v = other.v;
            }
            *error = judged;
            self.proof.refuted = false;
        }
    }
}

/// True if `a` is the better error: accepted before others, then by the sum, or if both sums are
/// rounding, by the estimate.
fn better(a: &Residual, b: &Residual, tolerance: &Tolerance) -> bool {
    let rank = |e: &Residual| (!e.accepted(tolerance), e.joule + 1e-6 * e.estimate);
    rank(a) < rank(b)
}
