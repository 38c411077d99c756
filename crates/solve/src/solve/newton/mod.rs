//! The true law of Coulomb, to machine precision: sweeps, then semismooth Newton, then a proximal
//! point.
//!
//! # Equation
//!
//! ```text
//!   u = W r + q,   (u_k, r_k) ∈ Law_k      W = J H⁻¹ Jᵀ + E, never symmetrised; formed only where every clique of H is small
//! ```
//!
//! in joule-scaled variables `y_k = √a_k r_k`, `u_k/√a_k` with `a_k` the mean diagonal entry of
//! block k of W. Then `½ R²`, `R = ‖y − P_K(y − ũ)‖`, is the local error in joules, every weight is
//! a pure number, and units, frames and order of contacts do not matter.
//!
//! # Algorithm
//!
//! 1. If the guess passes, done: no sweep, no factorization.
//! 2. Phase 0 (`sweeping`): up to 50 Gauss–Seidel sweeps, every block solved exactly.
//! 3. Phase A (`corrected`): semismooth Newton steps on the Alart–Curnier function, corrected by
//!    sweeps, lightly regularised.
//! 4. Phase P (`path`): from piece to piece along Newton's path, where a contact has to change its
//!    branch before R can fall.
//! 5. A and P once more; a few full Newton steps without any regular term, for extreme mass ratios;
//!    then phase B (`proximal`): proximal point with the same Newton steps, for dependent rows.
//! 6. 3 to 5 again, as long as a round lowers R by a tenth and the budget lasts.
//! 7. What is not solved with half of the budget starts once more, from the answer of the convex
//!    law (by the interior point); where nothing slips that may be the answer as it is.
//! 8. What is not solved then starts a last time from nothing, by the proximal point without
//!    sweeps: contacts that slip nearly in parallel (singular values of Newton's matrix at 1e-9 of
//!    the largest), between which load moves at almost constant R, stop everything that looks for a
//!    shorter way (`RockPile_tob1`, 463 contacts: 500 factorizations in vain, then 2500 of this
//!    last attempt, in whatever order the contacts are given).
//!
//! An answer that passes by a hair is followed by a few more Newton steps where those are cheap and
//! the guess was nearly good (`polish`): the next problem of a simulation may then begin with it.
//!
//! In A and P a Newton step takes the factor of an earlier one where few blocks changed their
//! branch since (`near`): an update. The report counts both.
//!
//! Sweeps go through the blocks by the energy of their velocities without reactions, so that the
//! work does not depend on the order in which the blocks are given.
//!
//! The iterate of least R is what is returned, judged by [`crate::problem::error`].
//!
//! # When to use it
//!
//! For `Coulomb`, whenever more than a rough answer is wanted. For problems that are convex
//! throughout the interior point needs fewer factorizations on large piles; this method treats them
//! too. Not for settled piles of thousands of balls with friction and overlaps: with 4385 contacts,
//! some 750 of them slipping, 150 s (208 factorizations) left 5e-5 of the energy scale, and as long
//! on the fixed point on De Saxcé's shift 1e-3.
//!
//! # Cost
//!
//! A sweep: one pass over W (or over J and J H⁻¹) and one local solve per block. A Newton step: one
//! LU factorization (dense up to 120 rows that are not open; else sparse, over the contacts or over
//! the bodies, whichever is cheaper; its analysis is kept from solve to solve while the pattern
//! stays) and some ten sweeps. An update: three solves for every block that changed its branch, two
//! more and two products with W, less than half of a factorization of 150 rows, about as much as
//! one of a pile of 2020 contacts in the plane.
//!
//! (AlartCurnier1991), (DeSaxce1998), (Hager1989), (Ralph1994); compared with the methods of
//! (Acary2018) by `signorini bench newton`.

mod attempts;
mod block_matrix;
mod corrected;
mod delassus;
mod eliminated;
mod form;
mod mixed;
mod near;
mod path;
mod piece;
mod polish;
mod proximal;
mod quick;
mod run;
mod sweeping;
mod unique;

pub use piece::Branch;

use super::interior_point::InteriorPoint;
use super::{
    Counts, Limits, ReducedSolver, Report, Solver, Status, StoppingCriteria, Unsupported, add_phase,
};
use crate::math::norm;
use crate::problem::{PreparedProblem, Problem, Reduced, Residual, Solution};
use attempts::{Outcome, solve_again};
use delassus::Delassus;
use form::{Blocks, Form, Point};
use mixed::Mixed;
use run::{End, Space, Test};
use serde::Serialize;

/// From here on mass ratios are named as what stops the method.
const EXTREME_MASS_RATIO: f64 = 1e10;

/// A margin below this counts as close to changing, in what is said of a run that failed.
const CLOSE_MARGIN: f64 = 1e-3;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// When to stop; work is counted in factorizations (default 700; 6000 up to 4000 rows).
    pub stop: StoppingCriteria,
    /// Beside the tolerance in joules: the largest relative natural residual, both as the
    /// literature takes it (`‖r − P(r − ũ)‖ / max(‖q‖, ‖r‖, ‖u‖)`, (Acary2018)) and in joule-scaled
    /// variables. Of first order where the energy is of second. `None`: not asked for.
    pub residual: Option<f64>,
}

/// On which branch of its law a block ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ContactStatus {
    /// Open, stick or slip.
    pub branch: Branch,
    /// How far from changing: the distance of `y − u` from the next branch relative to its length.
    /// 0: on the border; at most 1.
    pub margin: f64,
}

/// What is known of the uniqueness of v.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unique {
    /// There is one v: the laws are convex.
    Yes,
    /// No other v nearby: every Coulomb contact is clear of its borders, and no change of the
    /// reactions that keeps the (linearised) law moves anything.
    Locally,
    /// Not known: some Coulomb contact is on a border, or such a change exists.
    #[default]
    Unknown,
}

/// The method, with its work space.
#[derive(Default)]
pub struct Newton {
    settings: Settings,
    prepared: PreparedProblem,
    delassus: Delassus,
    mixed: Mixed,
    contacts: Vec<ContactStatus>,
    unique: Option<Unique>,
    /// The last answer, whether its form is `delassus`, and whether it is one.
    answer: Point,
    condensed: bool,
    converged: bool,
    space: Space,
    /// The reactions that are judged, those with their velocities, and the scales of the blocks.
    r: Vec<f64>,
    judged: Solution,
    root: Vec<f64>,
    convex: Box<Convex>,
}

/// The convex law's problem, its answer, and the method that finds it.
#[derive(Default)]
struct Convex {
    interior: InteriorPoint,
    problem: Problem,
    answer: Solution,
}

impl Newton {
    /// A solver with these settings.
    pub fn new(settings: Settings) -> Newton {
        Newton { settings, ..Newton::default() }
    }

    /// The status of every block at the last solution (in the order of the laws).
    pub fn contacts(&self) -> &[ContactStatus] {
        &self.contacts
    }

    /// Whether v of the last solution is the only one. Found out when asked for: where contacts
    /// slip it costs three factorizations.
    pub fn unique(&mut self) -> Unique {
        let Newton { delassus, mixed, contacts, answer, condensed, converged, unique, .. } = self;
        let form: &mut dyn Form = if *condensed { delassus } else { mixed };
        let found = || match unique::of(form, contacts, answer) {
            // What is near a point that is no solution says nothing.
            Unique::Locally if !*converged => Unique::Unknown,
            known => known,
        };
        *unique.get_or_insert_with(found)
    }

    /// Where nothing slips, the answer of the convex law is one of the true law too. It comes with
    /// velocities of its own: under extreme mass ratios those that are computed anew from the
    /// reactions are lost in rounding. Its error, if it is accepted.
    fn try_associated(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        outcome: &mut Outcome,
    ) -> Option<Residual> {
        let answer = &self.convex.answer;
        let error = self.prepared.error(problem, answer);
        if !error.accepted(&self.settings.stop.tolerance) {
            return None;
        }
        scaled_point(problem, &self.mixed.blocks, answer, &mut outcome.best);
        outcome.end = End::Passed;
        add_phase(&mut outcome.phases, "convex answer", Counts::default());
        solution.clone_from(answer);
        Some(error)
    }

    /// 1. The report on the guess as it stands, if it passes: an answer is its own best guess, and
    ///    comes back unchanged.
    fn kept(&mut self, problem: &Problem, guess: &Solution, condensed: bool) -> Option<Report> {
        let right = guess.v.len() == problem.n() && guess.r.len() == problem.rows();
        let given = || guess.r.iter().chain(&guess.v);
        if !right || given().all(|x| *x == 0.0) || given().any(|x| !x.is_finite()) {
            return None;
        }
        let tolerance = &self.settings.stop.tolerance;
        let error = self.prepared.residual_if_converged(problem, guess, tolerance);
        if !error.accepted(tolerance) {
            return None;
        }
        let (blocks, mut point) = (&self.mixed.blocks, self.space.spare.pop().unwrap_or_default());
        scaled_point(problem, blocks, guess, &mut point);
        let close = self
            .settings
            .residual
            .is_none_or(|most| run::literal(blocks, &point, (0.0, 0.0)) <= most);
        self.keep(close, point, error, condensed)
    }

    /// As [`Newton::kept`], of a reduced problem.
    fn kept_reduced(&mut self, reduced: &Reduced, guess: &Solution) -> Option<Report> {
        if guess.r.len() != reduced.rows()
            || guess.r.iter().all(|x| *x == 0.0)
            || guess.r.iter().any(|x| !x.is_finite())
        {
            return None;
        }
        let error = self.prepared.error_reduced(reduced, &guess.r);
        if !error.accepted(&self.settings.stop.tolerance) {
            return None;
        }
        let mut point = self.space.spare.pop().unwrap_or_default();
        scaled_guess(&self.delassus.blocks, &guess.r, &mut point.y);
        point.u.clear();
        point.u.resize(point.y.len(), 0.0);
        self.delassus.velocities(&mut point);
        let free = (norm(&reduced.q), norm(self.delassus.free()));
        let close = self
            .settings
            .residual
            .is_none_or(|most| run::literal(&self.delassus.blocks, &point, free) <= most);
        self.keep(close, point, error, true)
    }

    /// The report on a guess that stands at `best`, if it is `close` enough.
    fn keep(
        &mut self,
        close: bool,
        best: Point,
        error: Residual,
        condensed: bool,
    ) -> Option<Report> {
        if !close {
            self.space.spare.push(best);
            return None;
        }
        let mut outcome = Outcome { end: End::Passed, best, ..Outcome::default() };
        add_phase(&mut outcome.phases, "guess", Counts::default());
        Some(self.report(outcome, error, condensed))
    }

    /// What is said about a run that left this error. Its answer and memory are kept.
    fn report(&mut self, mut outcome: Outcome, error: Residual, condensed: bool) -> Report {
        self.set_contacts(&mut outcome, condensed);
        self.space.spare.push(std::mem::take(&mut outcome.best));
        let status = match outcome.end {
            End::Passed => Status::Converged,
            _ if self.settings.residual.is_none()
                && error.accepted(&self.settings.stop.tolerance) =>
            {
                Status::Converged
            }
            End::Spent => Status::Budget,
            End::Stuck => Status::Stalled,
        };
        self.converged = status == Status::Converged;
        let mut report = Report::new(status, error);
        report.iterations = outcome.counts.factorizations;
        report.work = outcome.counts.factorizations;
        report.reproducible = !outcome.late;
        report.counts = outcome.counts;
        report.history = std::mem::take(&mut outcome.history);
        report.phases = std::mem::take(&mut outcome.phases);
        if report.phases.is_empty() {
            add_phase(&mut report.phases, "guess", Counts::default());
        }
        if status != Status::Converged {
            report.notes.push(self.obstacle(&outcome, &error));
        }
        report
    }

    /// What stopped the method, for a person.
    fn obstacle(&self, outcome: &Outcome, error: &Residual) -> String {
        let a = self.prepared.a();
        // The largest over the smallest mean diagonal entry of W.
        let ratio = a.iter().fold(0.0f64, |m, a| m.max(*a))
            / a.iter().fold(f64::INFINITY, |m, a| m.min(*a));
        let why = match outcome.end {
            End::Spent if outcome.late => "time ran out",
            End::Spent => "the factorizations ran out",
            _ if ratio > EXTREME_MASS_RATIO => {
                "the masses differ too much for double precision: velocities are lost in the \
                    rounding of the reactions"
            }
            _ => "no phase lowers the error: contacts that slip nearly in parallel, or no solution",
        };
        let near = self.contacts.iter().filter(|contact| contact.margin < CLOSE_MARGIN).count();
        format!(
            "stopped in the phase `{}` since {why}: relative error {:.1e}, worst is block {}; \
                {near} of {} blocks are within {CLOSE_MARGIN} of \
             changing between open, stick and slip; W's diagonal entries differ by {ratio:.0e}",
            outcome.last,
            error.relative(),
            error.worst_block,
            self.contacts.len(),
        )
    }

    fn set_contacts(&mut self, outcome: &mut Outcome, condensed: bool) {
        std::mem::swap(&mut self.answer, &mut outcome.best);
        self.condensed = condensed;
        self.unique = None;
        let blocks = if condensed { &self.delassus.blocks } else { &self.mixed.blocks };
        self.contacts.clear();
        for (k, law) in blocks.laws.iter().enumerate() {
            let range = blocks.range(k);
            let (y, u) = (&self.answer.y[range.clone()], &self.answer.u[range]);
            let branch = piece::Piece::of(law, y, u).branch;
            self.contacts.push(ContactStatus { branch, margin: piece::margin(law, y, u) });
        }
    }
}

/// `y ←` scaled reactions.
fn scaled(root: &[f64], starts: &[usize], r: &[f64], y: &mut Vec<f64>) {
    y.clear();
    y.extend_from_slice(r);
    for k in 0..root.len() {
        y[starts[k]..starts[k + 1]].iter_mut().for_each(|x| *x *= root[k]);
    }
}

/// `y ←` the guess in scaled variables; nothing where it is not a finite vector of the right size.
fn scaled_guess(blocks: &Blocks, r: &[f64], y: &mut Vec<f64>) {
    if r.len() == blocks.rows() && r.iter().all(|x| x.is_finite()) {
        scaled(&blocks.root, &blocks.starts, r, y);
    } else {
        y.clear();
        y.resize(blocks.rows(), 0.0);
    }
}

/// `point ←` a solution in scaled variables, with its own velocities.
fn scaled_point(problem: &Problem, blocks: &Blocks, solution: &Solution, point: &mut Point) {
    scaled_guess(blocks, &solution.r, &mut point.y);
    point.v.clear();
    point.u.resize(point.y.len(), 0.0);
    problem.local_velocities(&solution.v, &solution.r, &mut point.u);
    for k in 0..blocks.len() {
        point.u[blocks.range(k)].iter_mut().for_each(|u| *u /= blocks.root[k]);
    }
    point.residual = blocks.natural_squared(&point.y, &point.u).sqrt();
}

/// `r ←` reactions from scaled ones.
fn plain(root: &[f64], starts: &[usize], y: &[f64], r: &mut Vec<f64>) {
    r.clear();
    r.extend_from_slice(y);
    for k in 0..root.len() {
        r[starts[k]..starts[k + 1]].iter_mut().for_each(|x| *x /= root[k]);
    }
}

fn unsupported(what: impl ToString) -> Unsupported {
    Unsupported { method: "newton", what: what.to_string() }
}

impl ReducedSolver for Newton {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        if reduced.rows() == 0 {
            solution.r.clear();
            self.contacts.clear();
            self.unique = Some(Unique::Yes);
            return Ok(Report::new(Status::Converged, Default::default()));
        }
        reduced.check().map_err(unsupported)?;
        let stop = self.settings.stop.within(limits);
        let settings = Settings { stop, ..self.settings };
        self.prepared.prepare_reduced(reduced);
        self.delassus.blocks.set(&reduced.laws, &reduced.row_starts, self.prepared.a());
        self.delassus.set(&reduced.W, &reduced.q);
        self.delassus.eliminated.clear();
        if let Some(report) = self.kept_reduced(reduced, solution) {
            return Ok(report);
        }
        let Newton { prepared, delassus, space, r, root, convex, .. } = self;
        scaled_guess(&delassus.blocks, &solution.r, &mut space.now.y);
        root.clone_from(&delassus.blocks.root);
        let (root, starts) = (&*root, &reduced.row_starts);
        let free = (norm(&reduced.q), norm(delassus.free()));
        let (scale, velocity) =
            (prepared.scale(), settings.stop.tolerance.largest_velocity(prepared.speed()));
        let mut judged = Residual::default();
        let mut judging = |y: &[f64]| {
            plain(root, starts, y, r);
            judged = prepared.error_reduced(reduced, r);
            judged.accepted(&settings.stop.tolerance)
        };
        let (tolerance, residual) = (settings.stop.tolerance, settings.residual);
        let test = Test {
            scale,
            velocity,
            tolerance,
            residual,
            free,
            prepared: &mut judging,
            ask_below: f64::INFINITY,
        };
        let begin = |stop: &StoppingCriteria, y: &mut Vec<f64>| {
            let Convex { interior, answer, .. } = &mut **convex;
            interior.settings_mut().stop = *stop;
            answer.reset(0, reduced.rows());
            let report = interior.solve_reduced(&reduced.clone().associated(), answer).ok()?;
            scaled(root, starts, &answer.r, y);
            Some(report.counts.factorizations)
        };
        let outcome = solve_again(delassus, test, &settings, space, begin);
        plain(root, starts, &outcome.best.y, &mut solution.r);
        // What passed was judged last.
        let error = if outcome.end == End::Passed {
            judged
        } else {
            self.prepared.error_reduced(reduced, &solution.r)
        };
        Ok(self.report(outcome, error, true))
    }
}

impl Solver for Newton {
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        check(problem)?;
        self.prepared.prepare(problem).map_err(unsupported)?;
        Ok(self.solve_checked(problem, solution, limits))
    }

    fn solve_prepared(
        &mut self,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        check(problem)?;
        std::mem::swap(&mut self.prepared, prepared);
        let report = self.solve_checked(problem, solution, limits);
        std::mem::swap(&mut self.prepared, prepared);
        Ok(report)
    }
}

impl Newton {
    /// Solves a prepared problem.
    fn solve_checked(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Report {
        let stop = self.settings.stop.within(limits);
        let settings = Settings { stop, ..self.settings };
        let starts = &problem.J.row_starts;
        self.mixed.blocks.set(&problem.laws, starts, self.prepared.a());
        self.mixed.set(problem, self.prepared.factor());
        let condensed = self.mixed.prefers_delassus();
        if condensed {
            let (w, q) = self.mixed.delassus();
            self.delassus.blocks.set(&problem.laws, starts, self.prepared.a());
            self.delassus.set(w, q);
            self.delassus.eliminated.clear();
            // Fewer rows are always factored as a dense matrix.
            if problem.rows() > delassus::MAX_DENSE_ROWS {
                self.mixed.eliminate(&mut self.delassus.eliminated);
            }
        }
        if let Some(report) = self.kept(problem, solution, condensed) {
            return report;
        }
        let Newton { prepared, delassus, mixed, space, r, judged: point, root, convex, .. } = self;
        scaled_guess(&mixed.blocks, &solution.r, &mut space.now.y);
        root.clone_from(&mixed.blocks.root);
        let root = &*root;
        let (scale, velocity) =
            (prepared.scale(), settings.stop.tolerance.largest_velocity(prepared.speed()));
        let mut judged = Residual::default();
        let mut judging = |y: &[f64]| {
            plain(root, starts, y, r);
            complete(problem, prepared, r, point);
            judged = prepared.error(problem, point);
            judged.accepted(&settings.stop.tolerance)
        };
        let (tolerance, residual) = (settings.stop.tolerance, settings.residual);
        let test = Test {
            scale,
            velocity,
            tolerance,
            residual,
            free: (0.0, 0.0),
            prepared: &mut judging,
            ask_below: f64::INFINITY,
        };
        let form: &mut dyn Form = if condensed { delassus } else { mixed };
        let mut associated = false;
        let begin = |stop: &StoppingCriteria, y: &mut Vec<f64>| {
            let Convex { interior, problem: convex, answer } = &mut **convex;
            interior.settings_mut().stop = *stop;
            convex.clone_from(problem);
            convex.laws.iter_mut().for_each(|law| *law = law.associated());
            answer.reset(problem.n(), problem.rows());
            let report = interior.solve(convex, answer);
            associated = true;
            scaled(root, starts, &answer.r, y);
            Some(report.ok()?.counts.factorizations)
        };
        let mut outcome = solve_again(form, test, &settings, space, begin);
        plain(root, starts, &outcome.best.y, r);
        complete(problem, &mut self.prepared, &self.r, solution);
        let mut error = if outcome.end == End::Passed {
            judged
        } else {
            self.prepared.error(problem, solution)
        };
        if associated && settings.residual.is_none() && outcome.end != End::Passed {
            error = self.try_associated(problem, solution, &mut outcome).unwrap_or(error);
        }
        self.report(outcome, error, condensed)
    }
}

/// `v = H⁻¹ (k + Jᵀ r)`.
fn complete(problem: &Problem, prepared: &mut PreparedProblem, r: &[f64], solution: &mut Solution) {
    solution.v.clone_from(&problem.k);
    problem.J.add_transposed(r, &mut solution.v);
    prepared.factor().solve(&mut solution.v);
    solution.r.clear();
    solution.r.extend_from_slice(r);
}

/// Sizes and finite numbers; H is checked by its factorization.
fn check(problem: &Problem) -> Result<(), Unsupported> {
    let (n, m) = (problem.n(), problem.rows());
    let sizes = [
        problem.H.cols == n,
        problem.k.len() == n,
        problem.J.cols == n,
        problem.E.len() == m,
        problem.w.len() == m,
    ];
    if n == 0 || sizes.contains(&false) || problem.laws.len() != problem.J.block_count() {
        return Err(unsupported("a problem whose sizes do not fit"));
    }
    for (what, values) in [
        ("H", &problem.H.values),
        ("k", &problem.k),
        ("J", &problem.J.values),
        ("E", &problem.E),
        ("w", &problem.w),
    ] {
        if values.iter().any(|x| !x.is_finite()) {
            return Err(unsupported(format!("{what} with numbers that are not finite")));
        }
    }
    Ok(())
}
