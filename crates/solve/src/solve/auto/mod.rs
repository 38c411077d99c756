//! `auto`: picks a method per island, watches the error, escalates, returns the least-error
//! iterate.
//!
//! 1. Cut into islands. v = H⁻¹(k + Jᵀr) with the guess r: final where there are no rows.
//! 2. The error of the guess. Accepted: done, no work at all (a machine at rest).
//! 3. Otherwise walk along a ladder of methods, each from the best iterate so far, until one is
//!    accepted:
//!
//! | island | ladder |
//! |---|---|
//! | joints alone | direct, interior-point, newton, psor |
//! | small, without friction | pivot, newton, interior-point, psor |
//! | small, with friction | newton, psor, interior-point, newton, psor, newton, interior-point, psor, newton |
//! | large | psor, newton, psor, newton, newton, interior-point, psor, newton |
//!
//! Each visit has a larger budget than the one before ([`LADDERS`] names them), so that an island
//! that suits one method does not wait for the whole budget of another.
//!
//! On islands beyond [`Settings::factorable`] rows `newton` with a long budget, and
//! `interior-point` under the true Coulomb law, are left out, beyond half as many again all of
//! `newton`: their factorizations cost more than all the sweeps that the budgets allow.
//!
//! With [`Settings::certify`] an answer of small local error is certified ([`super::certificate`]);
//! without it, only one that nothing but the estimate stands against: on a small island at once, on
//! a larger one when all rungs have been tried.
//! The upper end takes the estimate's place where it is within the tolerance; a lower end beyond it
//! refutes the answer: the certificate's own reactions, then the next rung from zero, take its
//! place. `Infeasible` is said only with a proof ([`super::infeasible`]), which is looked for when
//! a second rung of a small island fails with a long budget, or all of a larger one.
//!
//! 4. Return the iterate of least error, accepted ones first: least sum in joules relative to the
//!    island's scale, whatever the method.
//!
//! When to use it: always, unless you know better. Cost: that of the method that was accepted, and
//! of those that were tried before it. All methods keep their memory: once there is room for as
//! many bodies, contacts and joints as a scene has, a step of rigid bodies allocates nothing
//! (`cargo test --test allocation`). Two things are built anew: the order of elimination for a
//! pattern of contacts that `pivot` or `interior-point` have not met before, and the boundary of a
//! soft body, which moves every step. Every rung is counted work, so that the choice is
//! reproducible to the bit. (Enzenhoefer2018) ranks iterates by energy in the same way.

mod ladder;
mod proof;
mod summary;

pub use ladder::{Budget, LADDERS, Rung};

use super::certificate::Certifier;
use super::infeasible;
use super::{
    DynSolver, Method, ReducedSolver, Report, Solver, Status, StoppingCriteria, Unsupported,
};
use crate::problem::islands::Islands;
use crate::problem::{PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};
use ladder::{affordable, kind};
use proof::Proof;
use summary::{add_work, joined, renumbered};

/// Settings of [`Auto`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// When to stop; `work` limits each rung in its own unit.
    pub stop: StoppingCriteria,
    /// Islands of at most this many rows are small: exact methods come first.
    pub small: usize,
    /// Islands of more rows than this are left to sweeps (and `interior-point`, if all laws are
    /// convex).
    pub factorable: usize,
    /// Factorizations of the last attempt of `newton`, where all others failed (and `stop.work`
    /// names no limit); none: as many as it takes by itself.
    pub last_factorizations: Option<u64>,
    /// Certify what is accepted (up to `factorable` rows): about as much work again.
    pub certify: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            stop: StoppingCriteria::default(),
            small: 600,
            factorable: 3000,
            last_factorizations: Some(2000),
            certify: false,
        }
    }
}

/// Islands, and the one at work as a problem of its own with its solution.
#[derive(Default)]
struct Parts {
    islands: Islands,
    cut: Problem,
    local: Solution,
}

/// One solver of each method, shared by all rungs.
struct Solvers(Vec<(Method, Box<dyn DynSolver>)>);

impl Solvers {
    fn new(settings: &Settings) -> Solvers {
        let alone = Method::ALL.iter().filter(|method| **method != Method::Auto);
        Solvers(alone.map(|&method| (method, method.build(settings.stop))).collect())
    }

    /// The solver of a rung, with the budget of that rung.
    fn limited(
        &mut self,
        method: Method,
        budget: Budget,
        settings: &Settings,
    ) -> &mut dyn DynSolver {
        let at = self.0.iter().position(|(of, _)| *of == method);
        let solver = &mut self.0[at.expect("every method but auto has a solver")].1;
        solver.set_work(budget.work(settings));
        solver.as_mut()
    }
}

/// The method.
pub struct Auto {
    settings: Settings,
    prepared: PreparedProblem,
    solvers: Solvers,
    best: Solution,
    parts: Parts,
    used: Vec<(Option<Method>, u64)>,
    last: Option<Method>,
    certifier: Certifier,
}

impl Auto {
    /// The method with these settings.
    pub fn new(settings: Settings) -> Auto {
        Auto {
            settings,
            prepared: PreparedProblem::default(),
            solvers: Solvers::new(&settings),
            best: Solution::default(),
            parts: Parts::default(),
            used: Vec::new(),
            last: None,
            certifier: Certifier::default(),
        }
    }

    /// How often each method had the last word on an island since it was built; none: the guess
    /// was good enough.
    pub fn used(&self) -> &[(Option<Method>, u64)] {
        &self.used
    }

    /// The method that had the last word on the island with most blocks of the last problem; none:
    /// the guess was good enough.
    pub fn last(&self) -> Option<Method> {
        self.last
    }

    /// A guess was kept without asking: nothing moves.
    pub fn keep_guess(&mut self) {
        self.last = None;
        self.count(None);
    }

    /// Prepares `problem` and projects the guess onto its laws.
    fn prepare(&mut self, problem: &Problem, solution: &mut Solution) -> Result<(), Unsupported> {
        self.prepared
            .prepare(problem)
            .map_err(|e| Unsupported { method: "auto", what: e.to_string() })?;
        momentum(&mut self.prepared, problem, solution);
        Ok(())
    }

    /// Solves one island that is prepared.
    fn island(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
    ) -> Result<(Report, Option<Method>), Unsupported> {
        let tolerance = self.settings.stop.tolerance;
        // The estimate, two thirds of the work of a residual, matters where the rest is accepted.
        let mut best = self.prepared.residual_if_converged(problem, solution, &tolerance);
        let mut total = Report::new(Status::Stalled, best);
        let mut last = None;
        let mut proof = Proof::new(&self.settings, problem.rows());
        self.certified(&mut proof, problem, solution, &mut best);
        if best.accepted(&tolerance) {
            total.error = best;
            proof.conclude(&mut total, true);
            return Ok((total, last));
        }
        self.best.clone_from(solution);
        let rungs = kind(&problem.laws, self.settings.small).rungs();
        for (tried, &(method, budget)) in rungs.iter().enumerate() {
            if !affordable(method, budget, &problem.laws, self.settings.factorable) {
                continue;
            }
            let mut prepared = std::mem::take(&mut self.prepared);
            solution.clone_from(&self.best);
            if proof.refuted {
                solution.reset(problem.n(), problem.rows());
            }
            let solver = self.solvers.limited(method, budget, &self.settings);
            let result = solver.solve_prepared(problem, &mut prepared, solution);
            self.prepared = prepared;
            let Ok(report) = result else { continue };
            add_work(&mut total, &report);
            let mut error = report.error;
            proof.certify |= self.undecided(&error, problem.rows(), self.settings.small);
            self.certified(&mut proof, problem, solution, &mut error);
            if better(&error, &best, &tolerance) {
                (best, last) = (error, Some(method));
                total.status = report.status;
                self.best.clone_from(solution);
            }
            if best.accepted(&tolerance) || self.settings.stop.deadline_passed() {
                break;
            }
            let small = budget.is_long() && problem.rows() <= self.settings.small;
            if tried > 0 && proof.look(report.status == Status::Infeasible || small) {
                proof.found = infeasible::contradiction(problem);
            }
            if proof.found.is_some() {
                break;
            }
        }
        solution.clone_from(&self.best);
        if !proof.certify && self.undecided(&best, problem.rows(), self.settings.factorable) {
            proof.certify = true;
            self.certified(&mut proof, problem, solution, &mut best);
        }
        total.error =
            if best.estimate.is_finite() { best } else { self.prepared.error(problem, solution) };
        let late = self.settings.stop.deadline_passed();
        if !best.accepted(&tolerance)
            && !late
            && proof.look(problem.rows() <= self.settings.factorable)
        {
            proof.found = infeasible::contradiction(problem);
        }
        proof.conclude(&mut total, best.accepted(&tolerance));
        Ok((total, last))
    }

    /// Nothing but the estimate stands against it: a certificate decides, where there are few rows.
    fn undecided(&self, error: &Residual, rows: usize, most: usize) -> bool {
        let tolerance = &self.settings.stop.tolerance;
        rows <= most && error.accepted_locally(tolerance) && !error.accepted(tolerance)
    }

    /// Puts the certificate's figure in place of the estimate where it decides: upper end within
    /// the tolerance, or lower end beyond it. In the second case the certificate's own reactions
    /// take the answer's place if they are better. Returns whether it was refuted.
    fn certified(
        &mut self,
        proof: &mut Proof,
        problem: &Problem,
        solution: &mut Solution,
        error: &mut Residual,
    ) -> bool {
        let tolerance = self.settings.stop.tolerance;
        if !(proof.certify && error.accepted_locally(&tolerance)) {
            return false;
        }
        let certificate = self.certifier.certify(problem, solution);
        let Some(witness) = proof.weigh(certificate, &tolerance, error) else { return false };
        let mut other = Solution { v: Vec::new(), r: witness };
        if other.r.len() == problem.rows() {
            momentum(&mut self.prepared, problem, &mut other);
            let mut judged = self.prepared.error(problem, &other);
            let again = self.certifier.certify(problem, &other);
            if judged.accepted_locally(&tolerance)
                && proof.weigh(again, &tolerance, &mut judged).is_none()
            {
                (*solution, *error) = (other, judged);
                proof.refuted = false;
                return false;
            }
        }
        true
    }
}

impl Solver for Auto {
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Result<Report, Unsupported> {
        let mut parts = std::mem::take(&mut self.parts);
        let report = self.islands(problem, &mut parts, solution);
        self.parts = parts;
        report
    }
}

impl Auto {
    /// Solves island by island.
    fn islands(
        &mut self,
        problem: &Problem,
        parts: &mut Parts,
        solution: &mut Solution,
    ) -> Result<Report, Unsupported> {
        let Parts { islands, cut, local } = parts;
        islands.set(problem);
        solution.v.resize(problem.n(), 0.0);
        let held = |islands: &Islands, i: usize| !islands.get(i).blocks.is_empty();
        let alone = (0..islands.len()).filter(|&i| held(islands, i)).count() == 1;
        let mut whole: Option<Report> = None;
        let mut largest = 0;
        self.last = None;
        for i in 0..islands.len() {
            if alone && !held(islands, i) {
                continue;
            }
            // One island beside bodies that nothing touches needs no copy.
            let (report, method) = if alone {
                self.prepare(problem, solution)?;
                self.island(problem, solution)?
            } else {
                islands.cut(i, problem, cut);
                islands.get(i).gather(problem, solution, local);
                self.prepare(cut, local)?;
                let out = if held(islands, i) { Some(self.island(cut, local)?) } else { None };
                islands.get(i).scatter(problem, local, solution);
                // Where there are no rows v = H⁻¹ k is final.
                let Some(out) = out else { continue };
                out
            };
            let part = islands.get(i);
            self.count(method);
            if part.blocks.len() > largest {
                (largest, self.last) = (part.blocks.len(), method);
            }
            let report = renumbered(report, part, problem);
            whole = Some(match whole {
                None => report,
                Some(sum) => joined(sum, report),
            });
        }
        Ok(whole.unwrap_or_else(|| Report::new(Status::Converged, Residual::default())))
    }
}

impl ReducedSolver for Auto {
    fn solve_reduced(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
    ) -> Result<Report, Unsupported> {
        let tolerance = self.settings.stop.tolerance;
        let mut prepared = PreparedProblem::of_reduced(reduced);
        let mut best = prepared.error_reduced(reduced, &solution.r);
        let mut total = Report::new(Status::Stalled, best);
        let mut proof = Proof::new(&self.settings, reduced.rows());
        self.certified_reduced(&mut proof, reduced, solution, &mut best);
        self.best.clone_from(solution);
        let rungs = kind(&reduced.laws, self.settings.small).rungs();
        for (tried, &(method, budget)) in rungs.iter().enumerate() {
            if best.accepted(&tolerance)
                || self.settings.stop.deadline_passed()
                || proof.found.is_some()
            {
                break;
            }
            if !affordable(method, budget, &reduced.laws, self.settings.factorable) {
                continue;
            }
            solution.clone_from(&self.best);
            if proof.refuted {
                solution.r.fill(0.0);
            }
            let solver = self.solvers.limited(method, budget, &self.settings);
            let Ok(report) = solver.solve_reduced(reduced, solution) else { continue };
            add_work(&mut total, &report);
            let mut error = report.error;
            proof.certify |= self.undecided(&error, reduced.rows(), self.settings.small);
            self.certified_reduced(&mut proof, reduced, solution, &mut error);
            if better(&error, &best, &tolerance) {
                (best, self.last, total.status) = (error, Some(method), report.status);
                self.best.clone_from(solution);
            }
            let small = budget.is_long() && reduced.rows() <= self.settings.small;
            if tried > 0
                && !best.accepted(&tolerance)
                && proof.look(report.status == Status::Infeasible || small)
            {
                proof.found = infeasible::contradiction_reduced(reduced);
            }
        }
        solution.clone_from(&self.best);
        if !proof.certify && self.undecided(&best, reduced.rows(), self.settings.factorable) {
            proof.certify = true;
            self.certified_reduced(&mut proof, reduced, solution, &mut best);
        }
        total.error = best;
        proof.conclude(&mut total, best.accepted(&tolerance));
        Ok(total)
    }
}

impl Auto {
    /// As [`Auto::certified`].
    fn certified_reduced(
        &mut self,
        proof: &mut Proof,
        reduced: &Reduced,
        solution: &mut Solution,
        error: &mut Residual,
    ) {
        let tolerance = self.settings.stop.tolerance;
        if !(proof.certify && error.accepted_locally(&tolerance)) {
            return;
        }
        let certificate = self.certifier.certify_reduced(reduced, &solution.r);
        let Some(witness) = proof.weigh(certificate, &tolerance, error) else { return };
        if witness.len() == reduced.rows() {
            let mut judged = PreparedProblem::of_reduced(reduced).error_reduced(reduced, &witness);
            let again = self.certifier.certify_reduced(reduced, &witness);
            if judged.accepted_locally(&tolerance)
                && proof.weigh(again, &tolerance, &mut judged).is_none()
            {
                (solution.r, *error) = (witness, judged);
                proof.refuted = false;
            }
        }
    }

    fn count(&mut self, method: Option<Method>) {
        match self.used.iter_mut().find(|(m, _)| *m == method) {
            Some((_, n)) => *n += 1,
            None => self.used.push((method, 1)),
        }
    }
}

/// `v ← H⁻¹(k + Jᵀ r)`, with r projected onto its laws.
fn momentum(prepared: &mut PreparedProblem, problem: &Problem, solution: &mut Solution) {
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

/// True if `a` is the better error: accepted before others, then by the sum, or if both sums are
/// rounding, by the estimate.
fn better(a: &Residual, b: &Residual, tolerance: &Tolerance) -> bool {
    let rank = |e: &Residual| (!e.accepted(tolerance), e.joule + 1e-6 * e.estimate);
    rank(a) < rank(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_above_names_the_ladders_as_they_are() {
        let rows: Vec<Vec<&str>> = include_str!("mod.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! | "))
            .map(|row| row.trim_end_matches(" |").split(" | ").collect())
            .skip(1)
            .collect();
        let method = |cell: &str| cell.split(" (").next().map(str::to_string);
        let listed: Vec<(String, Vec<String>)> = rows
            .iter()
            // A comma within parentheses does not occur.
            .map(|row| (row[0].to_string(), row[1].split(", ").filter_map(method).collect()))
            .collect();
        let ladders: Vec<(String, Vec<String>)> = LADDERS
            .iter()
            .map(|(kind, rungs)| {
                (kind.to_string(), rungs.iter().map(|(m, _)| m.name().to_string()).collect())
            })
            .collect();
        assert_eq!(listed, ladders);
    }
}
