//! `pivot`: exact answers by an active set, one row at a time.
//!
//! # Equation
//!
//! With one-row blocks `lo_i ≤ r_i ≤ hi_i` (equality ±∞, unilateral [0, ∞), interval; friction
//! cones become pyramids, [`pyramid`]) the problem is the convex quadratic program and its dual
//!
//! ```text
//!   min_v ½ vᵀHv − kᵀv + …                    min_r ½ rᵀWr + qᵀr,  lo ≤ r ≤ hi          W = J H⁻¹ Jᵀ + E
//!   [ H  J_Fᵀ ] [  v   ]   [ k + J_Nᵀ r_N ]
//!   [ J_F −E  ] [ −r_F ] = [ −w_F         ]    F: free rows (u = 0),  N: rows fixed at a bound
//! ```
//!
//! W is never formed: the walk lives in the sparse system on the left, whose factor `L D Lᵀ` gains
//! and loses rows along paths of its elimination tree ([`crate::math::ldlt::Updatable`]); a row
//! that is not in F is absent from it. (Tasora2005, §3)
//!
//! # Algorithm
//!
//! 1. F ← the rows whose guess lies strictly between its bounds (a cold start: equality rows; of a
//!    large problem: those that a few hundred sweeps leave so). Factor; rows that depend on others
//!    stay out. While many rows are wrong at the minimum over F, all of them change sides at once,
//!    as long as that makes them fewer (JudicePires1994). Go to the minimum over F; a row that
//!    meets its bound on the way is fixed there. Repeat.
//! 2. u ← J v + E r + w. Choose the fixed row i that violates its law with the greatest energy
//!    `½u_i²/W_ii`; none: step 4.
//! 3. Row i enters:
//!    * a. the response to one unit of r_i with `u_F` held: `K_F (dv, −dr) = (J_iᵀ, 0)`, stiffness
//!      `s = J_i dv + E_i`;
//!    * b. step to `u_i = 0`, to the other bound of r_i, or to the first free row that meets a
//!      bound. With s = 0 (row i depends on F) only the last two exist: a *dual-only step*, v stays
//!      as it is;
//!    * c. no end: the free rows with dr ≠ 0 and i contradict each other: infeasible;
//!    * d. a free row stopped us: it leaves F, back to a. Else i joins F (or stays at its other
//!      bound), back to 2.
//! 4. Factor anew, refine with residuals summed in twice the precision, and look again (2); with
//!    nothing to do: the end.
//!
//! # Why it ends
//!
//! Within 3 rows only leave F, so a–d repeat at most |F| + 1 times. The dual energy falls with
//! derivative `u_i` < 0 along the step of r_i, and the last step of 3 has positive length: if it
//! ends by u_i = 0 because |u_i|/s > 0, if by the other bound because hi > lo; steps of length zero
//! (ties) come only before it. So the energy at the end of 3 is strictly less than at its
//! beginning. At the end of 3 the point is the minimum over (F, values of N): each such choice is
//! visited at most once, and there are finitely many. No rule against cycling is needed; F stays
//! independent throughout, since a dependent row enters only after one of those it depends on has
//! left. (GoldfarbIdnani1983) In rounding arithmetic, ties go to the row that moves most,
//! violations below the rounding of their own sums do not count, and a row that has entered 40
//! times is put aside (the residual in joules decides in the end).
//!
//! # When to use it
//!
//! Up to a few thousand unilateral rows; mechanisms, redundant contacts, extreme mass ratios;
//! sequences of similar problems (a guess with the right active set costs one factorization); as a
//! referee. Not for large piles from a cold start: the number of pivots is at least the number of
//! active rows.
//!
//! # Cost
//!
//! Per pivot one solve with L, one update along a path, one product with J: linear in the size of
//! L, which is linear in the number of bodies for chains and trees.
//!
//! `Coulomb` blocks go through the fixed point on De Saxcé's shift around the convex problem.

mod dense;
mod order;
mod pyramid;
mod sparse;
mod walk;

pub use pyramid::{pyramid, pyramid_reduced};

use self::dense::Dense;
use self::pyramid::Pyramids;
use self::sparse::{Sparse, SparseBasis};
use self::walk::{Basis, End, Walk, Workspace};
use crate::math::ldlt::Updatable;
use crate::math::sparse::Csr;
use crate::problem::{Law, PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};
use crate::solve::infeasible;
use crate::solve::lemke::{self, Lemke};
use crate::solve::psor::{self, Psor};
use crate::solve::shift::{self, Section, Shift};
use crate::solve::{
    Counts, Limits, ReducedSolver, Report, Sample, Solver, Status, StoppingCriteria, Unsupported,
    solve_by_own_preparation,
};

/// Differences between W and its transposed up to this part of the largest entry are rounding.
const ROUNDING_ASYMMETRY: f64 = 1e-10;
/// Up to this much skew part the outer iteration contracts.
const MAX_CONTRACTING_SKEW: f64 = 0.02;
/// Largest dense tableau, in rows.
const MAX_DENSE_ROWS: usize = 2000;
/// And largest one for a second try.
const MAX_DENSE_ROWS_OF_RETRY: usize = 600;
/// A cold start with more rows than this begins with sweeps.
const MIN_ROWS_FOR_SWEEPS: usize = 200;
/// So many; they cost no more than a few factorizations.
const STARTING_SWEEPS: u64 = 1500;
/// With a stored W, where a sweep costs more.
const STARTING_SWEEPS_REDUCED: u64 = 200;
/// They end earlier if this is reached: the active rows are known by then.
const STARTING_TOLERANCE: Tolerance =
    Tolerance { relative: 1e-16, velocity: 1e-9, bound: None, velocity_relative: 0.0 };

/// How the method works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// When to stop; work is counted in pivots (default 50 per row).
    pub stop: StoppingCriteria,
    /// Edges of the pyramid that stands for a three-row friction cone, at least 3.
    pub facets: usize,
    /// Begin a cold start of more than 200 rows with sweeps and block pivots; without, every row
    /// enters by itself.
    pub swept: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { stop: StoppingCriteria::default(), facets: 8, swept: true }
    }
}

/// The method, with its factor: a problem with the pattern of the last one is not analysed again.
#[derive(Default)]
pub struct Pivot {
    settings: Settings,
    prepared: PreparedProblem,
    state: Sparse,
    workspace: Workspace,
    sweeps: Psor,
    shift: Shift,
    dependent: Vec<usize>,
    /// The ray on which the last walk ended, in the rows of the problem (m); empty: none.
    ray: Vec<f64>,
}

impl Pivot {
    /// The method with these settings.
    pub fn new(settings: Settings) -> Pivot {
        Pivot { settings, ..Pivot::default() }
    }

    /// Rows that depend on others in the last problem, ascending: their reactions are not unique. A
    /// cone is named by its first row.
    pub fn dependent(&self) -> &[usize] {
        &self.dependent
    }

    /// Entries of the factor below its diagonal.
    pub fn factor_len(&self) -> usize {
        self.state.factor_len()
    }

    fn unsupported(what: impl ToString) -> Unsupported {
        Unsupported { method: "pivot", what: what.to_string() }
    }
}

impl Solver for Pivot {
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let own: (_, fn(&mut Self) -> &mut PreparedProblem) = ("pivot", |own| &mut own.prepared);
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
        let mut result = if shift::needed(&problem.laws) {
            let section = Section::Polygon(self.settings.facets.max(3));
            let mut shift = std::mem::take(&mut self.shift);
            let result = shift.solve(
                problem,
                solution,
                (&stop, section),
                prepared,
                |convex, solution, stop, prepared| self.convex(convex, solution, stop, prepared),
            );
            self.shift = shift;
            result
        } else {
            self.convex(problem, solution, &stop, prepared)
        };
        if let Ok(report) = &mut result {
            infeasible::confirm(problem, report, &self.ray);
        }
        result
    }
}

impl ReducedSolver for Pivot {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let stop = self.settings.stop.within(limits);
        let mut result = if shift::needed(&reduced.laws) {
            let section = Section::Polygon(self.settings.facets.max(3));
            shift::solve_reduced(reduced, solution, &stop, section, |convex, solution, stop| {
                self.convex_reduced(convex, solution, stop)
            })
        } else {
            self.convex_reduced(reduced, solution, &stop)
        };
        if let Ok(report) = &mut result {
            infeasible::confirm_reduced(reduced, report, &self.ray);
        }
        result
    }
}

impl Pivot {
    /// A problem without `Coulomb` blocks, prepared.
    fn convex(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        stop: &StoppingCriteria,
        prepared: &mut PreparedProblem,
    ) -> Result<Report, Unsupported> {
        if problem.laws.iter().all(|law| law.friction().is_none()) {
            let walked = self.walk(problem, solution, stop)?;
            self.ray.clone_from(&self.workspace.ray);
            self.dependent.clone_from(&self.workspace.dependent);
            let mut report = walked.report(prepared.error(problem, solution), stop, |row| row);
            report.dependent = self.dependent.len();
            return Ok(report);
        }
        let pyramids = Pyramids::new(&problem.laws, self.settings.facets);
        let polyhedral = pyramids.unfold_problem(problem);
        let mut inner = pyramids.guess(problem, solution);
        let walked = self.walk(&polyhedral, &mut inner, stop)?;
        pyramids.fold(&inner.r, &mut solution.r);
        self.ray.resize(problem.rows(), 0.0);
        pyramids.fold(&self.workspace.ray, &mut self.ray);
        solution.v.copy_from_slice(&inner.v[..problem.n()]);
        let error = prepared.error(problem, solution);
        let mut report = walked.report(error, stop, |row| pyramids.block(row));
        pyramids.dependent(&self.workspace.dependent, &self.workspace.tight, &mut self.dependent);
        report.dependent = self.dependent.len();
        if approximated(&problem.laws) {
            let own = PreparedProblem::of(&polyhedral)
                .map_err(Pivot::unsupported)?
                .error(&polyhedral, &inner);
            report.notes.push(note_on_pyramids(self.settings.facets, own.relative()));
        }
        Ok(report)
    }

    /// A reduced problem without `Coulomb` blocks: the walk on the symmetric part of W, its small
    /// skew part in the outer iteration of [`shift`]; Lemke's method if the skew part is large, or
    /// if the walk fails (W may be indefinite).
    fn convex_reduced(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        stop: &StoppingCriteria,
    ) -> Result<Report, Unsupported> {
        let pyramids = Pyramids::new(&reduced.laws, self.settings.facets);
        let polyhedral = pyramids.unfold_reduced(reduced);
        let mut inner = Solution { v: Vec::new(), r: pyramids.unfold(&reduced.laws, &solution.r) };
        let (skew, size, swept) = (reduced.asymmetry(), polyhedral.rows(), self.settings.swept);
        let lemke = |solution: &mut Solution| {
            Lemke::new(lemke::Settings { stop: *stop }).solve_reduced(&polyhedral, solution)
        };
        let mut workspace = std::mem::take(&mut self.workspace);
        let mut report = match skew {
            _ if skew <= ROUNDING_ASYMMETRY => {
                walk_reduced(&polyhedral, &mut inner, (stop, swept), &mut workspace)
            }
            _ if skew <= MAX_CONTRACTING_SKEW => shift::solve_reduced(
                &polyhedral,
                &mut inner,
                stop,
                Section::Round,
                |p, s, stop| Ok(walk_reduced(p, s, (stop, swept), &mut workspace)),
            )?,
            _ if size > MAX_DENSE_ROWS => {
                return Err(Pivot::unsupported(format!(
                    "a non-symmetric W of {size} rows, more than {MAX_DENSE_ROWS}"
                )));
            }
            _ => lemke(&mut inner)?,
        };
        if skew <= MAX_CONTRACTING_SKEW
            && report.status != Status::Converged
            && size <= MAX_DENSE_ROWS_OF_RETRY
            && !stop.deadline_passed()
        {
            let mut other = Solution { v: Vec::new(), r: vec![0.0; size] };
            let second = lemke(&mut other)?;
            if second.error.joule < report.error.joule {
                inner = other;
                report = second;
            }
        }
        pyramids.fold(&inner.r, &mut solution.r);
        self.ray.resize(reduced.rows(), 0.0);
        pyramids.fold(&workspace.ray, &mut self.ray);
        report.conflict.iter_mut().for_each(|row| *row = pyramids.block(*row));
        report.conflict.dedup();
        pyramids.dependent(&workspace.dependent, &vec![true; size], &mut self.dependent);
        report.dependent = self.dependent.len();
        self.workspace = workspace;
        if approximated(&reduced.laws) {
            report.notes.push(note_on_pyramids(self.settings.facets, report.error.relative()));
            report.error = PreparedProblem::of_reduced(reduced).error_reduced(reduced, &solution.r);
            match report.error.accepted(&stop.tolerance) {
                true => report.status = Status::Converged,
                false if report.status == Status::Converged => report.status = Status::Stalled,
                false => {}
            }
        }
        Ok(report)
    }

    /// The convex problem with one-row blocks; `solution` holds the guess.
    fn walk(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        stop: &StoppingCriteria,
    ) -> Result<Walked, Unsupported> {
        self.state.prepare(problem).map_err(|unknown| {
            Pivot::unsupported(format!("H that is not positive definite (unknown {unknown})"))
        })?;
        let swept = self.settings.swept && cold(solution);
        self.sweeps.settings = sweeping(stop, STARTING_SWEEPS);
        let sweeps = if swept { self.sweeps.solve(problem, solution)?.counts.sweeps } else { 0 };
        self.workspace.begin(problem.laws.iter().map(bounds), &solution.r);
        let mut basis = SparseBasis { problem, state: &mut self.state };
        let mut walk = Walk::new(&mut basis, &mut self.workspace);
        // A guess has few wrong rows, or is far off in ways that an exchange of all of them does
        // not repair.
        walk.in_blocks = swept;
        let end = walk.run(stop);
        let mut walked = Walked::new(end, &mut walk);
        walked.counts.sweeps = sweeps;
        solution.r.clone_from(&self.workspace.r);
        solution.v.clear();
        match walked.end {
            // The walk went back to its best reactions.
            End::Budget(_) => self.state.velocities_of(problem, &solution.r, &mut solution.v),
            _ => solution.v.extend_from_slice(self.state.v(problem.n())),
        }
        Ok(walked)
    }
}

/// A large problem without a guess.
fn cold(solution: &Solution) -> bool {
    solution.r.len() > MIN_ROWS_FOR_SWEEPS && solution.r.iter().all(|r| *r == 0.0)
}

/// Sweeps that find most of the active rows.
fn sweeping(stop: &StoppingCriteria, sweeps: u64) -> psor::Settings {
    let stop = StoppingCriteria {
        tolerance: STARTING_TOLERANCE,
        work: Some(sweeps),
        history: false,
        ..*stop
    };
    psor::Settings { stop, ..psor::Settings::default() }
}

/// The walk on a reduced problem with one-row blocks, from sweeps if that is wanted.
fn walk_reduced(
    reduced: &Reduced,
    solution: &mut Solution,
    (stop, swept): (&StoppingCriteria, bool),
    workspace: &mut Workspace,
) -> Report {
    let sweeps = match swept && cold(solution) {
        true => Psor::new(sweeping(stop, STARTING_SWEEPS_REDUCED))
            .solve_reduced(reduced, solution)
            .map_or(0, |report| report.counts.sweeps),
        false => 0,
    };
    let mut basis = Dense::new(reduced);
    workspace.begin(reduced.laws.iter().map(bounds), &solution.r);
    let mut walk = Walk::new(&mut basis, workspace);
    walk.in_blocks = swept && solution.r.len() > MIN_ROWS_FOR_SWEEPS;
    let end = walk.run(stop);
    let mut walked = Walked::new(end, &mut walk);
    walked.counts.sweeps = sweeps;
    solution.r.clone_from(&workspace.r);
    walked.report(
        PreparedProblem::of_reduced(reduced).error_reduced(reduced, &solution.r),
        stop,
        |row| row,
    )
}

/// The factor that the walk would use for a problem with one-row blocks (nothing factored yet), and
/// the lower triangle of `[H Jᵀ; J −E]` that it was made for.
pub fn factor(problem: &Problem) -> (Updatable, Csr) {
    let mut lower = Csr::default();
    sparse::lower_triangle(problem, &mut lower);
    (order::analyse(problem, &lower), lower)
}

/// What a walk leaves.
struct Walked {
    end: End,
    counts: Counts,
    history: Vec<Sample>,
    aside: usize,
}

impl Walked {
    fn new<B: Basis>(end: End, walk: &mut Walk<'_, B>) -> Walked {
        let factorizations = walk.basis.factorizations();
        let Workspace { lo, hi, r, aside, .. } = &mut *walk.at;
        // A free reaction within rounding of its bound is at its bound.
        r.iter_mut().enumerate().for_each(|(i, r)| *r = r.clamp(lo[i], hi[i]));
        Walked {
            end,
            counts: Counts { pivots: walk.pivots, factorizations, ..Counts::default() },
            history: std::mem::take(&mut walk.history),
            aside: aside.iter().filter(|a| **a).count(),
        }
    }

    /// The report on a point with this error; `block` says to which block a row belongs.
    fn report(
        self,
        error: Residual,
        stop: &StoppingCriteria,
        block: impl Fn(usize) -> usize,
    ) -> Report {
        let status = match &self.end {
            _ if error.accepted(&stop.tolerance) => Status::Converged,
            End::Solved => Status::Stalled,
            End::Budget(_) => Status::Budget,
            End::Infeasible(_) => Status::Infeasible,
        };
        let mut report = Report::new(status, error);
        report.iterations = self.counts.pivots;
        report.work = self.counts.pivots;
        report.counts = self.counts;
        report.history = self.history;
        report.reproducible = self.end != End::Budget(true);
        if let (End::Infeasible(rows), Status::Infeasible) = (&self.end, status) {
            report.conflict = rows.iter().map(|&row| block(row)).collect();
            report.conflict.dedup();
        }
        if self.aside > 0 {
            report.notes.push(format!(
                "{} rows left aside: they depend on others, or move within rounding",
                self.aside
            ));
        }
        report
    }
}

/// The bounds of a one-row law.
fn bounds(law: &Law) -> (f64, f64) {
    match *law {
        Law::Equality => (f64::NEG_INFINITY, f64::INFINITY),
        Law::Interval { lo, hi } => (lo, hi),
        Law::Unilateral | Law::Cone { .. } | Law::Coulomb { .. } => (0.0, f64::INFINITY),
    }
}

/// True if a pyramid stands for a round cone.
fn approximated(laws: &[Law]) -> bool {
    laws.iter().any(|law| law.rows() == 3 && law.friction().is_some_and(|mu| mu > 0.0))
}

fn note_on_pyramids(facets: usize, relative: f64) -> String {
    format!(
        "friction by pyramids of {facets} edges: relative error {relative:.1e} on the polyhedral \
            problem, the rest is the pyramid's"
    )
}
