//! Interior point: Mehrotra for rows, Nesterov–Todd for friction cones, exact at any mass ratio.
//!
//! # Equation
//!
//! The associated laws are the optimality conditions of a convex problem, and of it the central
//! path
//!
//! ```text
//!   H v = k + Jᵀ r,    u = J v + E r + w,    u ∘ r = μ e,  u, r inside their cones,    μ → 0
//! ```
//!
//! # Algorithm
//!
//! 1. Scale to joules ([`scaled`]): unit masses, Lorentz cones, W with mean diagonal 1.
//! 2. A guess whose error is accepted is the answer. Without a guess sweeps make one, or the answer
//!    ([`swept`]). Otherwise semismooth Newton steps from it ([`newton`]), then the path from it,
//!    moved inside.
//! 3. Where it is no better than nothing: solve the system with W = I ([`start`]); equality rows
//!    alone are done here. Newton steps from there.
//! 4. Inside the cones: predictor, corrector, further correctors with one factorization ([`path`],
//!    [`kkt`], [`cone`]).
//! 5. The error in joules. When the active set has settled, Newton steps; they are kept only if
//!    they pay.
//! 6. Accepted: done. No progress, or reactions that grow along a ray that contradicts w
//!    ([`infeasible`]): say so.
//!
//! `Law::Coulomb`, and the skew part of a reduced W, go through [`super::shift`].
//!
//! # When to use it
//!
//! Where the answer must be exact whatever the masses, the friction and the redundancy: on 50
//! stored problems of six to 7140 unknowns 0–18 factorizations after sweeps (3.7 on average), 1–21
//! without sweeps, by Newton steps and the path (9.1). In the thesis's experiment the path alone
//! takes 9 iterations for 64 spheres and 16 to 19 for 280 to 1190 (`signorini papers balls`). For a
//! rough answer of a large pile sweeps are cheaper; for a sequence of small frictionless problems
//! pivoting is.
//!
//! # Cost per iteration
//!
//! One sparse LDLᵀ of the (n + m) system less the rows of friction, whose pattern and analysis are
//! kept between iterations and between calls, and 2–6 back-substitutions of it (each 1/4–1/40 of
//! the factorization).
//!
//! (Mangoni2018, chapters 4 and 5, with the errata); (Vandenberghe2010); (Gondzio1996);
//! (DeSaxce1998).

pub mod cone;
mod descent;
mod follow;
pub mod infeasible;
pub mod kkt;
pub mod newton;
pub mod path;
pub mod scaled;
pub mod start;
mod swept;

use super::psor::Psor;
use super::shift::{self, Section, Shift, excess};
use super::{
    Counts, Limits, PathSample, ReducedSolver, Report, Sample, Solver, Status, StoppingCriteria,
    Unsupported, add_phase, solve_by_own_preparation,
};
use crate::problem::{PreparedProblem, Problem, Reduced, Residual, Solution};
use kkt::{Diagonal, Kkt};
use newton::Newton;
use path::{Path, Point};
use scaled::Scaled;
use serde::{Deserialize, Serialize};

/// How the guess is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Warm {
    /// Nothing.
    #[serde(alias = "none")]
    Cold,
    /// Its velocities; reactions and slacks as in a cold start.
    Partial,
    /// All of it as it is, moved off the boundary by next to nothing.
    Full,
    /// All of it: tried as the answer, then by Newton steps, then moved inside by as much as it is
    /// wrong; without a guess, sweeps make one.
    #[default]
    Best,
}

/// Options of the method.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// When to stop; work is counted in factorizations (default 100 per convex problem).
    pub stop: StoppingCriteria,
    /// How the guess is used.
    pub warm: Warm,
    /// The path alone, as in the thesis: no sweeps before it, no Newton steps before or on it.
    pub path_alone: bool,
    /// How a step of the path is found.
    pub steps: path::Steps,
    /// Without a guess begin at u = r = e, v = 0 in place of the solution of a system with W = I.
    pub unit_start: bool,
}

/// The most factorizations of one convex problem, if not said otherwise.
const DEFAULT_FACTORIZATIONS: u64 = 100;
/// A guess is moved inside if it is at least this much better than no reactions, in √J per cone.
const MAX_GUESS_MERIT_RATIO: f64 = 0.3;
/// The part of its error by which [`Warm::Full`] moves the guess inside.
const FULL_WARM_MARGIN: f64 = 1e-3;
/// Newton steps are not tried where the active rows per unknown exceed this: from the first system.
const MAX_ACTIVE_RATIO_COLD: f64 = 0.5;
/// With more cones than this the first system says less: then [`MAX_ACTIVE_RATIO_LARGE`] holds.
const LARGE_CONE_COUNT: usize = 1000;
/// See [`LARGE_CONE_COUNT`].
const MAX_ACTIVE_RATIO_LARGE: f64 = 0.2;
/// With so few cones they are tried in any case.
const SMALL_CONE_COUNT: usize = 64;
/// As [`MAX_ACTIVE_RATIO_COLD`], from a guess of the caller: the step before had the same active
/// rows, and Newton's system was solvable there.
const MAX_ACTIVE_RATIO_WARM: f64 = 1.2;
/// As [`MAX_ACTIVE_RATIO_COLD`], from what sweeps leave.
const MAX_ACTIVE_RATIO_SWEPT: f64 = 1.0;
/// As [`MAX_ACTIVE_RATIO_COLD`], from the path; there the active set is the true one.
const MAX_ACTIVE_RATIO_ON_PATH: f64 = 1.1;

/// The method and its work space; kept from step to step it keeps the analysis of the pattern.
#[derive(Default)]
pub struct InteriorPoint {
    settings: Settings,
    prepared: PreparedProblem,
    scaled: Scaled,
    kkt: Kkt,
    path: Path,
    newton: Newton,
    diagonal: Diagonal,
    sweeps: Psor,
    shift: Shift,
    space: Space,
    /// `scaled` and `kkt` hold the matrices of the problem at hand.
    laid_out: bool,
}

/// Iterates that are kept from solve to solve.
#[derive(Default)]
struct Space {
    guess: Solution,
    best: Solution,
    at: Solution,
    /// Scaled velocities and reactions of a start, and where Newton steps lead from there.
    v: Vec<f64>,
    r: Vec<f64>,
    step_v: Vec<f64>,
    step_r: Vec<f64>,
    u: Vec<f64>,
    glued: start::Glued,
    point: Point,
    /// Active sets at the last iterate, one for each kind of try, and room for one more.
    patterns: [Vec<u8>; 3],
}

impl InteriorPoint {
    /// The method with these settings.
    pub fn new(settings: Settings) -> InteriorPoint {
        InteriorPoint { settings, ..InteriorPoint::default() }
    }

    /// The settings, to be changed between calls.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }
}

impl Solver for InteriorPoint {
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let own: (_, fn(&mut Self) -> &mut PreparedProblem) =
            ("interior-point", |own| &mut own.prepared);
        solve_by_own_preparation(self, own, (problem, solution), limits)
    }

    fn solve_prepared(
        &mut self,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let stop = self.settings.stop.within(limits);
        if shift::needed(&problem.laws) {
            let (warm, mut known) = (self.settings.warm, Known::Nothing);
            let mut shift = std::mem::take(&mut self.shift);
            let mut result = shift.solve(
                problem,
                solution,
                (&stop, Section::Round),
                prepared,
                |p, s, stop, prepared| {
                    std::mem::swap(&mut self.prepared, prepared);
                    let report = self.convex(
                        Target::Problem(p),
                        std::mem::replace(&mut known, Known::Matrices),
                        s,
                        stop,
                    );
                    std::mem::swap(&mut self.prepared, prepared);
                    // Whatever the first starts from, the others start from the answer before.
                    self.settings.warm = Warm::Best;
                    Ok(report)
                },
            );
            (self.settings.warm, self.shift) = (warm, shift);
            // What is proved of a cone is not proved of Coulomb's law.
            if let Ok(report) = &mut result {
                super::infeasible::confirm(problem, report, &[]);
            }
            result
        } else {
            std::mem::swap(&mut self.prepared, prepared);
            let report = self.convex(Target::Problem(problem), Known::Nothing, solution, &stop);
            std::mem::swap(&mut self.prepared, prepared);
            Ok(report)
        }
    }
}

impl ReducedSolver for InteriorPoint {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let stop = self.settings.stop.within(limits);
        if shift::needed(&reduced.laws) || reduced.asymmetry() > 1e-14 {
            let (warm, mut known) = (self.settings.warm, Known::Nothing);
            let mut result =
                shift::solve_reduced(reduced, solution, &stop, Section::Round, |p, s, stop| {
                    let report = self.convex(
                        Target::Reduced(p),
                        std::mem::replace(&mut known, Known::Matrices),
                        s,
                        stop,
                    );
                    self.settings.warm = Warm::Best;
                    Ok(report)
                });
            self.settings.warm = warm;
            if let (true, Ok(report)) = (shift::needed(&reduced.laws), &mut result) {
                super::infeasible::confirm_reduced(reduced, report, &[]);
            }
            result
        } else {
            Ok(self.convex(Target::Reduced(reduced), Known::Nothing, solution, &stop))
        }
    }
}

/// The problem at hand, in either form.
#[derive(Clone, Copy)]
enum Target<'a> {
    Problem(&'a Problem),
    Reduced(&'a Reduced),
}

impl Target<'_> {
    /// A guess of the wrong size is none.
    fn fit(self, solution: &mut Solution) {
        let (n, rows) = match self {
            Target::Problem(problem) => (problem.n(), problem.rows()),
            Target::Reduced(reduced) => (solution.v.len(), reduced.rows()),
        };
        if solution.v.len() != n || solution.r.len() != rows {
            *solution = Solution::zero(n, rows);
        }
    }
}

/// What is known of the problem at hand from the outer iteration, beside its residual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Nothing.
    Nothing,
    /// Only the right-hand side has changed since the last call.
    Matrices,
}

/// The state of one convex solve.
struct Run<'a> {
    target: Target<'a>,
    stop: &'a StoppingCriteria,
    started: std::time::Instant,
    first_factorization: u64,
    best: Solution,
    least: f64,
    error: Residual,
    at: Solution,
    iterations: u64,
    newton: u64,
    sweeps: u64,
    history: Vec<Sample>,
    path: Vec<PathSample>,
    notes: Vec<String>,
}

/// Why a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The error is accepted.
    Accepted,
    /// Work or time is used up.
    Budget,
    /// This phase leads nowhere.
    Stuck,
}

impl InteriorPoint {
    /// Solves under the convex laws.
    fn convex(
        &mut self,
        target: Target<'_>,
        known: Known,
        solution: &mut Solution,
        stop: &StoppingCriteria,
    ) -> Report {
        self.prepare(target, known);
        target.fit(solution);
        let mut space = std::mem::take(&mut self.space);
        space.guess.clone_from(solution);
        space.best.clone_from(solution);
        let mut run = Run {
            target,
            stop,
            started: stop.now(),
            first_factorization: self.kkt.factorizations,
            best: std::mem::take(&mut space.best),
            least: f64::INFINITY,
            error: Residual::default(),
            at: std::mem::take(&mut space.at),
            iterations: 0,
            newton: 0,
            sweeps: 0,
            history: Vec::new(),
            path: Vec::new(),
            notes: Vec::new(),
        };
        let end = self.phases(&mut run, &mut space);
        if run.least == f64::INFINITY {
            // Nothing finite came up: the guess goes back as it was, with what it is worth.
            run.error = self.judged(target, &run.best);
        }
        let status = match end {
            _ if run.error.accepted(&stop.tolerance) => Status::Converged,
            End::Accepted => Status::Converged,
            End::Budget => Status::Budget,
            End::Stuck => Status::Stalled,
        };
        let mut report = Report::new(status, run.error);
        if status != Status::Converged && self.laid_out {
            let [before, after] = &self.path.reactions;
            let growth = after.iter().zip(before).map(|(a, b)| a - b).collect();
            self.scaled.scale(&run.best, &mut space.v, &mut space.r);
            report.conflict =
                infeasible::conflict(&self.scaled, &[growth, after.clone(), space.r.clone()]);
            if !report.conflict.is_empty() {
                report.status = Status::Infeasible;
            }
        }
        solution.clone_from(&run.best);
        report.iterations = run.iterations;
        report.work = self.kkt.factorizations - run.first_factorization;
        report.counts =
            Counts { factorizations: report.work, sweeps: run.sweeps, ..Counts::default() };
        report.history = run.history;
        report.path = run.path;
        report.notes = run.notes;
        let counts = |sweeps: u64, factorizations: u64| Counts {
            sweeps,
            factorizations,
            ..Counts::default()
        };
        for (name, counts) in [
            ("sweeps", counts(run.sweeps, 0)),
            ("newton", counts(0, run.newton)),
            ("path", counts(0, report.work - run.newton)),
        ] {
            if counts != Counts::default() {
                add_phase(&mut report.phases, name, counts);
            }
        }
        (space.best, space.at) = (run.best, run.at);
        self.space = space;
        report.reproducible = !(status == Status::Budget && stop.deadline_passed());
        report
    }

    fn prepare(&mut self, target: Target<'_>, known: Known) {
        self.laid_out &= known == Known::Matrices;
        if let Target::Reduced(reduced) = target {
            self.prepared.prepare_reduced(reduced);
        }
        self.path.reset();
        self.path.how = self.settings.steps;
    }

    /// 1. The scaled problem and the pattern of its system, as far as they are not there yet.
    fn lay_out(&mut self, target: Target<'_>) {
        match (target, self.laid_out) {
            (Target::Problem(problem), true) => self.scaled.set_right_hand_side(problem),
            (Target::Problem(problem), false) => self.scaled.set(problem, self.prepared.a()),
            (Target::Reduced(reduced), true) => self.scaled.set_right_hand_side_reduced(reduced),
            (Target::Reduced(reduced), false) => {
                self.scaled.set_reduced(reduced, self.prepared.a())
            }
        }
        if !std::mem::replace(&mut self.laid_out, true) {
            self.kkt.prepare(&self.scaled);
        }
    }

    fn phases(&mut self, run: &mut Run<'_>, space: &mut Space) -> End {
        let given = |guess: &Solution| {
            let all = || guess.v.iter().chain(&guess.r);
            all().any(|x| *x != 0.0) && all().all(|x| x.is_finite())
        };
        let mut warm = given(&space.guess);
        if self.settings.warm == Warm::Best && !self.settings.path_alone && !warm {
            match self.sweep(run, &mut space.guess) {
                Some(true) => return End::Accepted,
                swept => warm = swept.is_some(),
            }
        }
        self.lay_out(run.target);
        match self.settings.warm {
            Warm::Full | Warm::Best if warm => match self.start_at_guess(run, space) {
                End::Stuck => self.start_cold(run, space, false),
                end => end,
            },
            Warm::Partial if warm => self.start_cold(run, space, true),
            _ => self.start_cold(run, space, false),
        }
    }

    /// 2. The guess as it is, by Newton steps, and moved inside by as much as it is wrong; `Stuck`
    ///    where that is too much.
    fn start_at_guess(&mut self, run: &mut Run<'_>, space: &mut Space) -> End {
        self.scaled.scale(&space.guess, &mut space.v, &mut space.r);
        self.project(&mut space.r);
        // What sweeps leave is not enough, even if it is accepted: see [`swept`].
        if self.consider(run, &space.v, &space.r) && run.sweeps == 0 {
            return End::Accepted;
        }
        let max_active_ratio =
            if run.sweeps > 0 { MAX_ACTIVE_RATIO_SWEPT } else { MAX_ACTIVE_RATIO_WARM };
        if self.settings.warm == Warm::Best
            && !self.settings.path_alone
            && self.promising(max_active_ratio, &space.v, &space.r)
        {
            let end = self.descend(run, 1.0, space);
            if end != End::Stuck {
                return end;
            }
        }
        let Space { v, r, u, point, .. } = space;
        let degree = self.scaled.degree();
        let margin = (2.0 * self.newton.merit(&self.scaled, v, r) / degree.max(1) as f64).sqrt();
        let nothing = (2.0 * self.prepared.scale() / degree.max(1) as f64).sqrt();
        if degree == 0 || !(margin < MAX_GUESS_MERIT_RATIO * nothing) {
            return End::Stuck;
        }
        u.resize(self.scaled.rows(), 0.0);
        self.scaled.local_velocities(v, r, u);
        let margin =
            if self.settings.warm == Warm::Full { FULL_WARM_MARGIN * margin } else { margin };
        start::inside(&self.scaled, (v, r), u, margin, point);
        self.follow(run, space)
    }

    /// 3. The first system, Newton steps from there, and the path; `partial`: the velocities of the
    ///    guess take the place of its own.
    fn start_cold(&mut self, run: &mut Run<'_>, space: &mut Space, partial: bool) -> End {
        if self.used_up(run) {
            return End::Budget;
        }
        if self.settings.unit_start && self.scaled.degree() > 0 {
            return self.start_at_unit(run, space);
        }
        let Space { guess, v, r, glued, .. } = space;
        if let Err(bad) = start::glued(&self.scaled, &mut self.kkt, &mut self.diagonal, glued) {
            run.notes
                .push(format!("first system: pivot {:.1e} at unknown {}", bad.pivot, bad.unknown));
            return End::Stuck;
        }
        if partial {
            self.scaled.scale(guess, &mut glued.v, r);
        }
        v.clone_from(&glued.v);
        r.clone_from(&glued.r);
        self.project(r);
        if self.consider(run, v, r) {
            return End::Accepted;
        }
        let (degree, active_ratio) =
            (self.scaled.degree(), self.newton.active_ratio(&self.scaled, v, r));
        let max_active_ratio =
            if degree > LARGE_CONE_COUNT { MAX_ACTIVE_RATIO_LARGE } else { MAX_ACTIVE_RATIO_COLD };
        let few = active_ratio < max_active_ratio || degree <= SMALL_CONE_COUNT;
        if degree == 0 || (few && !self.settings.path_alone) {
            let end = self.descend(run, 1.0, space);
            if end != End::Stuck || degree == 0 {
                return end;
            }
        }
        // 4 to 6. The path; the reactions of the first system reach over a few contacts only, those
        // of a pile over its height.
        let deep = if active_ratio < MAX_ACTIVE_RATIO_ON_PATH {
            (degree as f64 / 500.0).powf(1.5).clamp(1.0, 30.0)
        } else {
            1.0
        };
        start::cold(&self.scaled, &space.glued, deep, &mut space.u, &mut space.point);
        self.follow(run, space)
    }

    /// u = r = e, v = 0, in the unit in which no reactions at all are wrong by one per cone.
    fn start_at_unit(&mut self, run: &mut Run<'_>, space: &mut Space) -> End {
        let Space { v, r, u, point, .. } = space;
        v.clear();
        v.resize(self.scaled.n(), 0.0);
        r.clear();
        r.resize(self.scaled.rows(), 0.0);
        u.clone_from(r);
        let unit = (2.0 * self.prepared.scale() / self.scaled.degree() as f64).sqrt();
        start::inside(&self.scaled, (v, r), u, unit.max(f64::MIN_POSITIVE), point);
        self.follow(run, space)
    }

    /// Judges a scaled point and keeps it if it is the best; true if it is accepted.
    fn consider(&mut self, run: &mut Run<'_>, v: &[f64], r: &[f64]) -> bool {
        self.scaled.unscale(v, r, &mut run.at);
        if run.at.v.iter().chain(&run.at.r).any(|x| !x.is_finite()) {
            return false;
        }
        let error = self.judged(run.target, &run.at);
        let figure = excess(&error, &run.stop.tolerance);
        if figure < run.least || run.least == f64::INFINITY {
            run.least = figure;
            run.error = error;
            std::mem::swap(&mut run.best, &mut run.at);
        }
        if run.stop.history {
            let work = self.kkt.factorizations - run.first_factorization;
            run.history.push(Sample {
                work,
                joule: error.joule,
                best: run.error.joule,
                wall: run.started.elapsed().as_secs_f64(),
            });
        }
        error.accepted(&run.stop.tolerance)
    }

    fn judged(&mut self, target: Target<'_>, solution: &Solution) -> Residual {
        match target {
            Target::Problem(problem) => self.prepared.error(problem, solution),
            Target::Reduced(reduced) => self.prepared.error_reduced(reduced, &solution.r),
        }
    }

    fn used_up(&self, run: &Run<'_>) -> bool {
        self.kkt.factorizations - run.first_factorization
            >= run.stop.work.unwrap_or(DEFAULT_FACTORIZATIONS)
            || run.stop.deadline_passed()
    }

    fn project(&self, r: &mut [f64]) {
        for block in &self.scaled.blocks {
            let mut x = block.pick(r);
            block.kind.project(&mut x);
            block.put(&x, r);
        }
    }
}
