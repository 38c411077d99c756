//! Projected fixed-point sweeps: linear in time and memory, W never formed.
//!
//! ```text
//!   H v = k + Jᵀ r,   u = J v + E r + w,   r_k = P_K( r_k − B_k ũ_k )   for every block k and any step B_k ≻ 0
//! ```
//!
//! Plain sweeps (Tasora2008, algorithm 4.1, with the signs of its eq. 6 corrected): `v = H⁻¹ (k +
//! Jᵀ r)` from the guess; then for every block `r⁺ = P( r − (ω/g) ũ )`, `v += H⁻¹ J_kᵀ (r⁺ − r)`,
//! at once, until the error is accepted. The default adds, one file each:
//!
//! 1. [`view`], [`metric`]: unit masses, unit diagonal of every row, normal and tangents scaled
//!    apart; the step is one over the largest eigenvalue of the scaled block: the energy falls.
//! 2. [`partition`], [`build`], [`pack`]: contacts in subdomains, interfaces and colours, four at a
//!    time (`simd`), subdomains on the threads of the caller's pool (`parallel`).
//! 3. [`iterate`]: `est = ½ Σ ‖Δr̂‖²` comes with the sweep and is nearly always an upper bound of
//!    the error. The iterate of least `est` is kept; the residual is computed once `est ≤ 4 tol`.
//! 4. [`accelerate`]: the next sweep starts from an extrapolation over the last differences, to the
//!    least dual energy (convex laws, symmetric W) or to the least change (Anderson).
//! 5. Under Coulomb's law with many contacts the shift is lagged ([`Local::Lagged`],
//!    `simd::shift`).
//! 6. [`joints`]: all equality rows are one block, solved exactly by a factorization made once.
//! 7. [`fallback`], [`reduced`]: what fits into no lane, and reduced problems, block by block.
//!
//! # When
//!
//! Many bodies, moderate accuracy, warm starts, a fixed amount of work. Not for mass ratios above
//! 1e4 (the report then says `budget` or `stalled` with its error), nor for 1e-12 on settled piles:
//! `interior-point` and `newton` are better there.
//!
//! # Cost
//!
//! One sweep moves [`BYTES_PER_CONTACT`] per frictional contact and [`BYTES_PER_BODY`] per body;
//! memory is reused: a second solve allocates nothing. Results are the same to the bit for any
//! number of threads, with or without AVX2 and FMA. Figures and alternatives: `docs/notes/psor.md`.
//! (Enzenhoefer2018)

mod accelerate;
mod build;
mod fallback;
mod iterate;
mod joints;
mod metric;
mod pack;
mod partition;
mod reduced;
mod state;
mod system;
mod view;

#[cfg(test)]
mod tests;

use super::{
    Counts, Limits, ReducedSolver, Report, Solver, StoppingCriteria, Unsupported,
    solve_by_own_preparation,
};
use crate::problem::{Law, PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};
use crate::solve::parallel::WorkerGroup;
use crate::solve::simd::forms::RIGID;
use crate::solve::simd::frames::{IN_ROUND, Storage};
use reduced::ReducedSystem;
use serde::{Deserialize, Serialize};
use state::{Places, Sweeps};
use std::sync::Arc;
use system::System;

/// The most sweeps where the caller names no limit.
pub const DEFAULT_WORK: u64 = 1000;

/// Memory that one sweep moves per frictional contact of two rigid bodies: rows, parameters, two
/// places and q̂ are read, r̂ is read and written.
pub const BYTES_PER_CONTACT: usize = (RIGID + 3) * 8 + 8 + 24 + 2 * 24;

/// The same for contacts of round bodies that are stored as frames and arms (`simd::frames`).
pub const BYTES_PER_ROUND_CONTACT: usize = BYTES_PER_CONTACT - (RIGID - IN_ROUND) * 8;

/// Memory that is moved per frictional contact to keep each iterate, which may be the best: r̂ is
/// written once more.
pub const BYTES_OF_BEST: usize = 24;

/// Memory that one sweep moves at least per rigid body: its line of z is read and written.
pub const BYTES_PER_BODY: usize = 2 * view::STRIDE * 8;

/// From so many contacts under Coulomb's law on the shift is lagged for a few sweeps: piles need
/// half the sweeps or less, few contacts more.
const MIN_CONTACTS_FOR_LAGGED_SHIFT: usize = 100;

/// Fewer blocks are swept on one thread: to share them takes longer.
const MIN_BLOCKS_FOR_THREADS: usize = 500;

/// What happens between sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acceleration {
    /// Nothing: the method of the paper.
    None,
    /// `Subspace` where an energy falls (convex laws, symmetric W), `Anderson` elsewhere.
    Auto,
    /// Least energy over the last `depth` sweep differences.
    Subspace {
        /// Number of differences.
        depth: usize,
    },
    /// Least change over the last `depth` sweep differences.
    Anderson {
        /// Number of differences.
        depth: usize,
    },
}

/// The step of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// One step for all rows of a block, the inverse of their mean diagonal entry.
    Mean,
    /// One for the normal, one for the tangents, both over the largest eigenvalue of the block so
    /// scaled.
    TwoScale,
}

/// What is done with one friction block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Local {
    /// `Exact` for `Coulomb`, `Projection` for `Cone`.
    Auto,
    /// One projected step.
    Projection,
    /// The exact solution of the block alone.
    Exact,
    /// One projected step under Coulomb's law with De Saxcé's shift held for a few sweeps, so that
    /// an energy falls meanwhile.
    #[serde(alias = "frozen")]
    Lagged,
}

/// Settings of the method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// When to stop; work is counted in sweeps.
    #[serde(skip)]
    pub stop: StoppingCriteria,
    /// What happens between sweeps.
    pub acceleration: Acceleration,
    /// The step of each row.
    pub metric: Metric,
    /// What is done with one friction block.
    pub local: Local,
    /// Over-relaxation ω: the step is multiplied by it (0 < ω < 2).
    pub omega: f64,
    /// Solve all equality rows as one block.
    pub joints: bool,
    /// Compute the residual every so many sweeps and record it in the history; 0: only when the
    /// sweep's own estimate calls for it.
    pub judge_every: u64,
    /// Use the threads of the caller's pool; the result does not depend on it.
    pub parallel: bool,
    /// Bytes that stay in the cache from sweep to sweep. Contacts that move more (half as much
    /// again, if bodies are not round) are stored as frames and arms (`simd::frames`).
    pub cache: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            stop: StoppingCriteria::default(),
            acceleration: Acceleration::Auto,
            metric: Metric::TwoScale,
            local: Local::Auto,
            omega: 1.0,
            joints: true,
            judge_every: 0,
            parallel: true,
            cache: 12 << 20,
        }
    }
}

impl Settings {
    /// Many contacts in space under Coulomb's law are swept with the shift lagged for a few sweeps,
    /// unless other settings are asked for.
    fn with_lagged_shift(&self, laws: &[Law]) -> Settings {
        let usual = (self.local, self.acceleration) == (Local::Auto, Acceleration::Auto);
        let sliding = laws
            .iter()
            .filter(|law| matches!(law, Law::Coulomb { mu, rows: 3 } if *mu > 0.0))
            .count();
        if usual && sliding >= MIN_CONTACTS_FOR_LAGGED_SHIFT {
            Settings {
                local: Local::Lagged,
                acceleration: Acceleration::Subspace { depth: 2 },
                ..self.clone()
            }
        } else {
            self.clone()
        }
    }

    /// With the acceleration that suits the laws.
    fn resolved(&self, laws: &[Law], symmetric: bool) -> Settings {
        let coulomb = laws.iter().any(|law| matches!(law, Law::Coulomb { .. }));
        let acceleration = match self.acceleration {
            Acceleration::Auto if coulomb || !symmetric => Acceleration::Anderson { depth: 5 },
            Acceleration::Auto => Acceleration::Subspace { depth: 5 },
            other => other,
        };
        Settings { acceleration, ..self.clone() }
    }

    /// Whether a friction block is solved exactly.
    fn exact(&self, law: &Law) -> bool {
        match self.local {
            Local::Exact => true,
            Local::Projection | Local::Lagged => false,
            Local::Auto => matches!(law, Law::Coulomb { .. }),
        }
    }

    /// True if so many contacts are better off in this form, of frames and arms: their rows do not
    /// stay in the cache. What a body of any inertia has to be asked for takes some time of its
    /// own.
    fn far(&self, contacts: usize, form: Storage) -> bool {
        let bytes = contacts * BYTES_PER_CONTACT;
        bytes
            > if form == Storage::Frame {
                self.cache.saturating_add(self.cache / 2)
            } else {
                self.cache
            }
    }

    /// Memory that one sweep moves per contact, of so many frictional contacts of round bodies.
    pub fn bytes_per_contact(&self, contacts: usize) -> usize {
        if self.far(contacts, Storage::Round) { BYTES_PER_ROUND_CONTACT } else { BYTES_PER_CONTACT }
    }

    /// The method of the paper (Tasora2008, algorithm 4.1): plain sweeps, one step per block.
    pub fn plain(omega: f64) -> Settings {
        Settings {
            acceleration: Acceleration::None,
            metric: Metric::Mean,
            omega,
            joints: false,
            ..Settings::default()
        }
    }
}

/// The method and its work space.
#[derive(Default)]
pub struct Psor {
    /// How it works.
    pub settings: Settings,
    prepared: PreparedProblem,
    system: System,
    scratch: build::Scratch,
    memory: iterate::Workspace,
    /// The guess made admissible, then the judged reactions.
    r: Vec<f64>,
    workers: Arc<WorkerGroup>,
}

impl Psor {
    /// With these settings.
    pub fn new(settings: Settings) -> Psor {
        Psor { settings, ..Psor::default() }
    }

    /// Sweeps from the guess; `prepared` holds `problem`.
    pub fn sweep(
        &mut self,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
    ) -> Report {
        let workers = self.workers.clone();
        if problem.laws.len() < MIN_BLOCKS_FOR_THREADS || !self.settings.parallel {
            return self.sweep_with(None, problem, prepared, solution);
        }
        workers.with(|| {
            self.sweep_with(
                (rayon::current_num_threads() > 1).then(|| workers.clone()),
                problem,
                prepared,
                solution,
            )
        })
    }

    /// The same with workers that are awake, if there is one.
    fn sweep_with(
        &mut self,
        workers: Option<Arc<WorkerGroup>>,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
    ) -> Report {
        let Psor { settings, system, scratch, memory, r, .. } = self;
        let settings = settings.with_lagged_shift(&problem.laws).resolved(&problem.laws, true);
        system.set(problem, prepared.factor(), &settings, scratch, workers);
        system.zero(&mut memory.x);
        admissible(&problem.laws, &problem.J.row_starts, &solution.r, r);
        system.parts().places.collapse(r, &mut memory.x.r);
        system.refresh(&mut memory.x);
        solution.v.resize(problem.n(), 0.0);
        solution.r.fill(0.0);
        // The places belong to the residual while the system is swept.
        let mut places = Places::default();
        system.swap_places(&mut places);
        let mut whole = Whole { problem, prepared, places: &places, solution };
        let outcome = iterate::run(system, memory, &mut whole, &settings);
        whole.set(memory.best());
        system.swap_places(&mut places);
        let mut report = report(outcome, settings.stop.history);
        report.dependent = system.parts().joints.dependent;
        report
    }
}

/// The residual of a problem, given scaled reactions.
struct Whole<'a> {
    problem: &'a Problem,
    prepared: &'a mut PreparedProblem,
    places: &'a Places,
    solution: &'a mut Solution,
}

impl Whole<'_> {
    /// The solution with these scaled reactions: v is computed anew from r, so that no rounding of
    /// the sweeps is left in it.
    fn set(&mut self, scaled: &[f64]) {
        self.places.expand(scaled, &mut self.solution.r);
        self.solution.v.copy_from_slice(&self.problem.k);
        self.problem.J.add_transposed(&self.solution.r, &mut self.solution.v);
        self.prepared.factor().solve(&mut self.solution.v);
    }
}

impl iterate::ResidualOf for Whole<'_> {
    fn error(&mut self, scaled: &[f64]) -> Residual {
        self.set(scaled);
        self.prepared.error(self.problem, self.solution)
    }

    fn residual_if_converged(&mut self, scaled: &[f64], tolerance: &Tolerance) -> Residual {
        self.set(scaled);
        self.prepared.residual_if_converged(self.problem, self.solution, tolerance)
    }
}

/// The residual of a reduced problem, given scaled reactions.
struct Eliminated<'a> {
    reduced: &'a Reduced,
    prepared: &'a mut PreparedProblem,
    places: &'a Places,
    r: &'a mut [f64],
}

impl iterate::ResidualOf for Eliminated<'_> {
    fn error(&mut self, scaled: &[f64]) -> Residual {
        self.places.expand(scaled, self.r);
        self.prepared.error_reduced(self.reduced, self.r)
    }
}

/// `r ←` the guess, made finite and admissible.
fn admissible(laws: &[Law], row_starts: &[usize], guess: &[f64], r: &mut Vec<f64>) {
    r.clear();
    r.extend(guess.iter().map(|&r| if r.is_finite() { r } else { 0.0 }));
    for (k, law) in laws.iter().enumerate() {
        law.project(&mut r[row_starts[k]..row_starts[k + 1]]);
    }
}

fn report(outcome: iterate::Outcome, notes: bool) -> Report {
    let mut report = Report::new(outcome.status, outcome.error);
    report.iterations = outcome.sweeps;
    report.work = outcome.sweeps;
    report.reproducible = outcome.reproducible;
    report.counts = Counts { sweeps: outcome.sweeps, ..Counts::default() };
    report.history = outcome.history;
    if notes {
        report.notes.push(format!("judged {} times", outcome.residuals));
    }
    if notes && outcome.restarts > 0 {
        report.notes.push(format!(
            "{} of {} sweeps were lost to restarts",
            outcome.restarts, outcome.sweeps
        ));
    }
    report
}

impl Solver for Psor {
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let own: (_, fn(&mut Self) -> &mut PreparedProblem) = ("psor", |own| &mut own.prepared);
        solve_by_own_preparation(self, own, (problem, solution), limits)
    }

    fn solve_prepared(
        &mut self,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let usual = self.settings.stop;
        self.settings.stop = usual.within(limits);
        let report = self.sweep(problem, prepared, solution);
        self.settings.stop = usual;
        Ok(report)
    }
}

impl ReducedSolver for Psor {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        let Psor { settings, prepared, memory, r, .. } = self;
        prepared.prepare_reduced(reduced);
        let mut system = ReducedSystem::new(reduced, settings);
        system.zero(&mut memory.x);
        admissible(&reduced.laws, &reduced.row_starts, &solution.r, r);
        system.places.collapse(r, &mut memory.x.r);
        system.refresh(&mut memory.x);
        let mut settings = settings.resolved(&reduced.laws, system.symmetric);
        settings.stop = settings.stop.within(limits);
        let places = std::mem::take(&mut system.places);
        let mut eliminated = Eliminated { reduced, prepared, places: &places, r };
        let outcome = iterate::run(&mut system, memory, &mut eliminated, &settings);
        places.expand(memory.best(), &mut solution.r);
        Ok(report(outcome, settings.stop.history))
    }
}
