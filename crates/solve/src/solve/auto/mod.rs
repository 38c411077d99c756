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
//! | coordinates of joints, with friction | interior-point, newton, psor, newton, psor, newton, interior-point, psor, newton |
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
//! Islands are solved on the threads of the caller's pool, large ones first, and put together in
//! their order: the bits do not depend on the number of threads. `Report::stages` lists what ran.
//!
//! When to use it: always, unless you know better. Cost: that of the method that was accepted, and
//! of those that were tried before it. All methods keep their memory: once there is room for as
//! many bodies, contacts and joints as a scene has, a step of rigid bodies allocates nothing
//! (`cargo test --test allocation`). Two things are built anew: the order of elimination for a
//! pattern of contacts that `pivot` or `interior-point` have not met before, and the boundary of a
//! soft body, which moves every step. Every rung is counted work, so that the choice is
//! reproducible to the bit. (Enzenhoefer2018) ranks iterates by energy in the same way.

mod island;
mod ladder;
mod posed;
mod proof;
mod summary;
mod worker;

pub use ladder::{Budget, LADDERS, Rung};

use super::{Limits, Method, ReducedSolver, Report, Solver, Status, StoppingCriteria, Unsupported};
use crate::problem::islands::Islands;
use crate::problem::{PreparedProblem, Problem, Reduced, Residual, Solution};
use posed::Eliminated;
use summary::{joined, renumbered};
use worker::{Shared, Worker};

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

/// From so many blocks on islands are shared out among threads.
const MIN_BLOCKS_FOR_THREADS: usize = 100;

/// The method.
pub struct Auto {
    settings: Settings,
    islands: Islands,
    /// Islands by size, the largest first, where several threads work on them.
    order: Vec<u32>,
    /// One for each thread.
    workers: Vec<Worker>,
    used: Vec<(Option<Method>, u64)>,
    last: Option<Method>,
}

impl Auto {
    /// The method with these settings.
    pub fn new(settings: Settings) -> Auto {
        Auto {
            settings,
            islands: Islands::default(),
            order: Vec::new(),
            workers: vec![Worker::new(&settings)],
            used: Vec::new(),
            last: None,
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

    fn count(&mut self, method: Option<Method>) {
        match self.used.iter_mut().find(|(m, _)| *m == method) {
            Some((_, n)) => *n += 1,
            None => self.used.push((method, 1)),
        }
    }
}

impl Solver for Auto {
    /// Solves island by island.
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let settings = Settings { stop: self.settings.stop.within(limits), ..self.settings };
        self.islands.set(problem);
        solution.v.resize(problem.n(), 0.0);
        self.last = None;
        let held = |i: usize| !self.islands.get(i).blocks.is_empty();
        let mut with_rows = (0..self.islands.len()).filter(|&i| held(i));
        if let (Some(i), None) = (with_rows.next(), with_rows.next()) {
            // One island beside bodies that nothing touches needs no copy.
            let (report, method) = self.workers[0].whole(&settings, problem, solution)?;
            (self.last, _) = (method, self.count(method));
            return Ok(renumbered(report, self.islands.get(i), problem));
        }
        let mut islands = std::mem::take(&mut self.islands);
        let report = self.islands(&settings, (problem, &islands), solution);
        std::mem::swap(&mut self.islands, &mut islands);
        report
    }
}

impl Auto {
    /// Solves all islands, and puts their answers and reports together in their order.
    fn islands(
        &mut self,
        settings: &Settings,
        (problem, islands): (&Problem, &Islands),
        solution: &mut Solution,
    ) -> Result<Report, Unsupported> {
        let threads = match problem.laws.len() < MIN_BLOCKS_FOR_THREADS {
            true => 1,
            false => rayon::current_num_threads().min(islands.len()).max(1),
        };
        self.order.clear();
        self.order.extend(0..islands.len() as u32);
        if threads > 1 {
            let size = |&i: &u32| std::cmp::Reverse(islands.get(i as usize).blocks.len());
            self.order.sort_unstable_by_key(|i| (size(i), *i));
        }
        while self.workers.len() < threads {
            self.workers.push(Worker::new(&self.settings));
        }
        let shared = Shared::new(settings, problem, islands, solution, &self.order);
        worker::run_all(&mut self.workers[..threads], &shared);
        let mut whole: Option<Report> = None;
        let mut largest = 0;
        let mut workers = std::mem::take(&mut self.workers);
        for i in 0..islands.len() {
            let part = islands.get(i);
            let mut found = workers[..threads].iter_mut().filter_map(|w| w.take(i));
            let done = found.next().expect("every island is solved");
            let Some((report, method)) = done.scatter(part, problem, solution)? else { continue };
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
        self.workers = workers;
        Ok(whole.unwrap_or_else(|| Report::new(Status::Converged, Residual::default())))
    }
}

impl ReducedSolver for Auto {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let settings = Settings { stop: self.settings.stop.within(limits), ..self.settings };
        let mut posed = Eliminated { reduced, prepared: PreparedProblem::of_reduced(reduced) };
        let (report, method) = self.workers[0].space.solve(&settings, &mut posed, solution);
        self.last = method;
        Ok(report)
    }
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
