//! `auto`: picks a method per island, watches the error, escalates, returns the least-error iterate.
//!
//! 1. v = H⁻¹(k + Jᵀr) with the guess r: final where there are no rows. Cut the rest into islands.
//! 2. Judge the guess. Accepted: done, no work at all (a machine at rest).
//! 3. Otherwise walk along a ladder of methods, each from the best iterate so far, until one is accepted:
//!
//! | island | ladder |
//! |---|---|
//! | joints alone | direct, newton, interior-point |
//! | small, without friction | pivot, newton, interior-point, psor |
//! | small, with friction | newton, interior-point (associated law), psor, newton (a long budget) |
//! | large | psor (a first budget), newton, interior-point, psor, newton (a long budget) |
//!
//! On islands beyond [`Settings::factorable`] rows `newton`, and `interior-point` under the true Coulomb law, are left out:
//! their factorizations cost more than all the sweeps that the budget allows.
//!
//! 4. Return the iterate of least error, accepted ones first: least sum in joules relative to the island's scale, whatever the method.
//!
//! When to use it: always, unless you know better. Cost: that of the method that was accepted, and of those that were tried before it.
//! All methods keep their memory: once there is room for as many bodies, contacts and joints as a scene has, a step of rigid bodies
//! allocates nothing (`cargo test --test allocation`). Two things are made anew: the order of elimination for a pattern of
//! contacts that `pivot` or `interior-point` have not met before, and the boundary of a soft body, which moves every step.
//! Every rung is counted work, so that the choice is reproducible to the bit. [Enzenhoefer2018] ranks iterates by energy in the same way.

use super::{Both, Method, ReducedSolver, Report, Solver, Status, StoppingCriteria, Unsupported, add_phase};
use crate::problem::islands::{Island, Islands};
use crate::problem::{Judge, Law, Problem, Reduced, Residual, Solution, Tolerance};

/// Settings of [`Auto`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// When to stop; `work` limits each rung in its own unit.
    pub stop: StoppingCriteria,
    /// Islands of at most this many rows are small: exact methods come first.
    pub small: usize,
    /// Sweeps of the first rung on a large island.
    pub sweeps: u64,
    /// Factorizations of `newton` at most, so that a hard step goes on to the next rung; with friction, if all others fail too, ten times as
    /// many (where `stop.work` names no limit).
    pub factorizations: u64,
    /// Islands of more rows than this are left to sweeps (and `interior-point`, if all laws are convex).
    pub factorable: usize,
}

/// The last attempt of `newton` may take so many times the factorizations of the first: a bottle that rocks between two others takes it 300.
const LONG: u64 = 10;

impl Default for Settings {
    fn default() -> Settings {
        Settings { stop: StoppingCriteria::default(), small: 600, sweeps: 500, factorizations: 200, factorable: 3000 }
    }
}

/// One rung of the ladder.
struct Rung {
    method: Method,
    solver: Box<dyn Both>,
}

/// Islands, and the one at work as a problem of its own with its solution.
#[derive(Default)]
struct Parts {
    islands: Islands,
    cut: Problem,
    local: Solution,
}

/// The method.
pub struct Auto {
    settings: Settings,
    judge: Judge,
    direct: Vec<Rung>,
    exact: Vec<Rung>,
    frictional: Vec<Rung>,
    large: Vec<Rung>,
    best: Solution,
    parts: Parts,
    used: Vec<(Option<Method>, u64)>,
    last: Option<Method>,
}

impl Auto {
    /// The method with these settings.
    pub fn new(settings: Settings) -> Auto {
        let stop = settings.stop;
        let short = StoppingCriteria { work: Some(stop.work.unwrap_or(settings.sweeps)), ..stop };
        let exactly = StoppingCriteria { work: Some(stop.work.unwrap_or(settings.factorizations)), ..stop };
        let at_last = StoppingCriteria { work: Some(stop.work.unwrap_or(LONG * settings.factorizations)), ..stop };
        Auto {
            settings,
            judge: Judge::default(),
            direct: ladder(&[("direct", stop), ("newton", exactly), ("interior-point", stop), ("psor", stop)]),
            exact: ladder(&[("pivot", stop), ("newton", exactly), ("interior-point", stop), ("psor", stop)]),
            frictional: ladder(&[("newton", exactly), ("interior-point", stop), ("psor", stop), ("newton", at_last)]),
            large: ladder(&[("psor", short), ("newton", exactly), ("interior-point", stop), ("psor", stop), ("newton", at_last)]),
            best: Solution::default(),
            parts: Parts::default(),
            used: Vec::new(),
            last: None,
        }
    }

    /// How often each method had the last word on an island since this was made; none: the guess was good enough.
    pub fn used(&self) -> &[(Option<Method>, u64)] {
        &self.used
    }

    /// The method that had the last word on the island with most blocks of the last problem; none: the guess was good enough.
    pub fn last(&self) -> Option<Method> {
        self.last
    }

    /// Makes the judge one of `problem` and the guess admissible.
    fn prepare(&mut self, problem: &Problem, solution: &mut Solution) -> Result<(), Unsupported> {
        self.judge.prepare(problem).map_err(|e| Unsupported { method: "auto", what: e.to_string() })?;
        momentum(&mut self.judge, problem, solution);
        Ok(())
    }

    /// Solves one island that is prepared.
    fn island(&mut self, problem: &Problem, solution: &mut Solution) -> Result<(Report, Option<Method>), Unsupported> {
        let tolerance = self.settings.stop.tolerance;
        // The estimate, two thirds of the judge's work, matters where the rest is accepted.
        let mut best = self.judge.look(problem, solution, &tolerance);
        let mut total = Report::new(Status::Stalled, best);
        let mut last = None;
        if best.accepted(&tolerance) {
            total.status = Status::Converged;
            return Ok((total, last));
        }
        self.best.clone_from(solution);
        let Auto { settings, judge, direct, exact, frictional, large, .. } = self;
        let rungs = match kind(&problem.laws, settings.small) {
            Kind::Joints => direct,
            Kind::Exact => exact,
            Kind::Frictional => frictional,
            Kind::Large => large,
        };
        for rung in rungs {
            if !affordable(rung.method, &problem.laws, settings.factorable) {
                continue;
            }
            solution.clone_from(&self.best);
            let Ok(report) = rung.solver.solve_judged(problem, judge, solution) else { continue };
            add_work(&mut total, &report);
            if better(&report.error, &best, &tolerance) {
                (best, last) = (report.error, Some(rung.method));
                total.status = report.status;
                self.best.clone_from(solution);
            }
            if best.accepted(&tolerance) || report.status == Status::Infeasible || settings.stop.late() {
                break;
            }
        }
        solution.clone_from(&self.best);
        total.error = if best.estimate.is_finite() { best } else { self.judge.error(problem, solution) };
        if best.accepted(&tolerance) {
            total.status = Status::Converged;
        }
        Ok((total, last))
    }
}

impl Solver for Auto {
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Result<Report, Unsupported> {
        self.prepare(problem, solution)?;
        let mut parts = std::mem::take(&mut self.parts);
        let report = self.islands(problem, &mut parts, solution);
        self.parts = parts;
        report
    }
}

impl Auto {
    /// Solves island by island.
    fn islands(&mut self, problem: &Problem, parts: &mut Parts, solution: &mut Solution) -> Result<Report, Unsupported> {
        let Parts { islands, cut, local } = parts;
        islands.set(problem);
        let held = |islands: &Islands, i: usize| !islands.get(i).blocks.is_empty();
        let alone = (0..islands.len()).filter(|&i| held(islands, i)).count() == 1;
        let mut whole: Option<Report> = None;
        let mut largest = 0;
        self.last = None;
        for i in 0..islands.len() {
            if !held(islands, i) {
                continue;
            }
            // One island beside bodies that nothing touches needs no copy.
            let (report, method) = if alone {
                self.island(problem, solution)?
            } else {
                islands.cut(i, problem, cut);
                islands.get(i).gather(problem, solution, local);
                self.prepare(cut, local)?;
                let out = self.island(cut, local)?;
                islands.get(i).scatter(problem, local, solution);
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
    fn solve_reduced(&mut self, reduced: &Reduced, solution: &mut Solution) -> Result<Report, Unsupported> {
        let tolerance = self.settings.stop.tolerance;
        let mut judge = Judge::of_reduced(reduced);
        let mut best = judge.error_reduced(reduced, &solution.r);
        let mut total = Report::new(Status::Stalled, best);
        self.best.clone_from(solution);
        let rungs = match kind(&reduced.laws, self.settings.small) {
            Kind::Joints => &mut self.direct,
            Kind::Exact => &mut self.exact,
            Kind::Frictional => &mut self.frictional,
            Kind::Large => &mut self.large,
        };
        for rung in rungs {
            if best.accepted(&tolerance) || self.settings.stop.late() {
                break;
            }
            if !affordable(rung.method, &reduced.laws, self.settings.factorable) {
                continue;
            }
            solution.clone_from(&self.best);
            let Ok(report) = rung.solver.solve_reduced(reduced, solution) else { continue };
            add_work(&mut total, &report);
            if better(&report.error, &best, &tolerance) {
                (best, self.last, total.status) = (report.error, Some(rung.method), report.status);
                self.best.clone_from(solution);
            }
        }
        solution.clone_from(&self.best);
        total.error = best;
        if best.accepted(&tolerance) {
            total.status = Status::Converged;
        }
        Ok(total)
    }
}

impl Auto {
    fn count(&mut self, method: Option<Method>) {
        match self.used.iter_mut().find(|(m, _)| *m == method) {
            Some((_, n)) => *n += 1,
            None => self.used.push((method, 1)),
        }
    }
}

/// What an island is like.
enum Kind {
    Joints,
    Exact,
    Frictional,
    Large,
}

fn kind(laws: &[Law], small: usize) -> Kind {
    let rows: usize = laws.iter().map(Law::rows).sum();
    if laws.iter().all(|l| matches!(l, Law::Equality)) {
        Kind::Joints
    } else if rows > small {
        Kind::Large
    } else if laws.iter().all(|l| l.friction().is_none()) {
        Kind::Exact
    } else {
        Kind::Frictional
    }
}

/// Whether a method pays on an island with these laws.
fn affordable(method: Method, laws: &[Law], factorable: usize) -> bool {
    let rows: usize = laws.iter().map(Law::rows).sum();
    let convex = || laws.iter().all(|l| !matches!(l, Law::Coulomb { .. }));
    match method.name() {
        "newton" | "pivot" => rows <= factorable,
        "interior-point" => rows <= factorable || convex(),
        _ => true,
    }
}

/// The methods of these names that exist.
fn ladder(names: &[(&str, StoppingCriteria)]) -> Vec<Rung> {
    names.iter().filter_map(|(name, stop)| Method::named(name).map(|method| Rung { method, solver: method.build(*stop) })).collect()
}

/// `v ← H⁻¹(k + Jᵀ r)`, with r made admissible.
fn momentum(judge: &mut Judge, problem: &Problem, solution: &mut Solution) {
    for (block, law) in problem.J.blocks().zip(&problem.laws) {
        law.project(&mut solution.r[block.range()]);
    }
    if solution.r.iter().any(|x| !x.is_finite()) {
        solution.r.fill(0.0);
    }
    solution.v.clear();
    solution.v.extend_from_slice(&problem.k);
    problem.J.add_transposed(&solution.r, &mut solution.v);
    judge.factor().solve(&mut solution.v);
}

/// True if `a` is the better error: accepted before others, then by the sum, or if both sums are rounding, by the estimate.
fn better(a: &Residual, b: &Residual, tolerance: &Tolerance) -> bool {
    let rank = |e: &Residual| (!e.accepted(tolerance), e.joule + 1e-6 * e.estimate);
    rank(a) < rank(b)
}

fn add_work(total: &mut Report, part: &Report) {
    total.iterations += part.iterations;
    total.work += part.work;
    total.reproducible &= part.reproducible;
    total.counts = total.counts.plus(&part.counts);
    part.phases.iter().for_each(|(name, counts)| add_phase(&mut total.phases, name, *counts));
    total.history.extend_from_slice(&part.history);
    total.conflict.clone_from(&part.conflict);
    total.dependent = total.dependent.max(part.dependent);
    total.notes.extend_from_slice(&part.notes);
}

/// The report of an island in the numbers of the whole problem.
fn renumbered(mut report: Report, island: Island<'_>, problem: &Problem) -> Report {
    let block = |k: usize| island.blocks.get(k).map_or(0, |&b| b as usize);
    let e = &mut report.error;
    if !island.blocks.is_empty() {
        // The row keeps its place within its block.
        let mut local = 0;
        for &k in &island.blocks[..e.worst_block.min(island.blocks.len() - 1)] {
            local += problem.J.block(k as usize).rows;
        }
        let within = e.worst_row.saturating_sub(local);
        e.worst_block = block(e.worst_block);
        e.worst_row = problem.J.row_starts[e.worst_block] + within;
        e.fastest_block = block(e.fastest_block);
    }
    report.conflict.iter_mut().for_each(|k| *k = block(*k));
    report
}

/// Two islands as one.
fn joined(a: Report, b: Report) -> Report {
    let mut sum = a;
    let dependent = sum.dependent + b.dependent;
    add_work(&mut sum, &b);
    sum.dependent = dependent;
    if sum.status == Status::Converged {
        sum.status = b.status;
    }
    let (x, y) = (sum.error, b.error);
    // The worst block is known by its share: an island's sum stands for its worst block.
    let worst = if y.joule > x.joule { y } else { x };
    let fastest = if y.velocity > x.velocity { y.fastest_block } else { x.fastest_block };
    sum.error = Residual {
        joule: x.joule + y.joule,
        scale: x.scale + y.scale,
        estimate: x.estimate + y.estimate,
        velocity: x.velocity.max(y.velocity),
        momentum: x.momentum + y.momentum,
        momentum_velocity: x.momentum_velocity.max(y.momentum_velocity),
        worst_block: worst.worst_block,
        worst_row: worst.worst_row,
        fastest_block: fastest,
    };
    sum
}
