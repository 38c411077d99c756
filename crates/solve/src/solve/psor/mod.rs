//! Projected fixed-point sweeps: linear in time and memory, W never formed.
//!
//! ```text
//!   H v = k + Jᵀ r,   u = J v + E r + w,   r_k = P_K( r_k − B_k ũ_k )      for every block k and any step B_k ≻ 0
//! ```
//!
//! # Algorithm
//!
//! Plain sweeps [Tasora2008, algorithm 4.1, with the signs of its eq. 6 mended]:
//!
//! 1. `g_k` = diagonal of `J_k H⁻¹ J_kᵀ + E_k`, `s_k = H⁻¹ J_kᵀ`; `v = H⁻¹ (k + Jᵀ r)` from the guess.
//! 2. For every block: `r⁺ = P_K( r − (ω/g) ũ )`, `v += s_k (r⁺ − r)`, at once.
//! 3. Until the error is accepted.
//!
//! The default sweeps faster and takes fewer sweeps:
//!
//! 1. Coordinates in which every mass is one and every row has a unit diagonal, normal and tangents scaled
//!    apart ([`Metric::TwoScale`]); the step is one over the largest eigenvalue of the scaled block, so that each local step falls.
//! 2. All equality rows are one block, solved exactly by a sparse factorization made once.
//! 3. Contacts are gathered in parts and seams between them, coloured, and swept four at a time ([`kernel`]); those that have nothing in
//!    common run on the threads of the caller's pool.
//! 4. After each sweep the start of the next is extrapolated: over the last five differences to the least dual
//!    energy (convex laws, symmetric W), or to the least change (Anderson) where no energy falls.
//! 5. `est = ½ Σ ‖Δr̂‖²`, free with the sweep, is nearly always an upper bound of the error. The least-`est`
//!    iterate is kept; the residual is computed once `est ≤ 4 tol`, with v computed anew from r.
//!
//! Under Coulomb's law of many contacts the shift is frozen ([`Local::Frozen`]): every second sweep `mu‖u_t‖` is read off the velocities and
//! held in q̂ ([`freeze`]), so that a dual energy falls in between and the subspace serves. It is extrapolated then too, over the last two
//! differences of two sweeps each: half the passes over the vectors. Sweeps to 1e-4 on average, steps started from the one before:
//!
//! | sweeps per shift, per extrapolation, differences | shaker, 239 steps | balls_1190, 138 steps | 17 Chrono problems, cold (geometric) |
//! |---|---|---|---|
//! | 2, 1, 3 | 59 | 173 | 50 |
//! | 2, 2, 2 (chosen: the least time on the first two) | 63 | 144 | 58 |
//! | 2, 2, 3 | | | 62 |
//! | 1, 1, 2 | 58 | 272 | |
//! | 3, 3, 2 | 74 | 131 | 70 |
//! | 2, 2, 1 | 207 | 2798 | |
//!
//! The steps of different rows are not the same ones: trajectories part. The Chrono problems had no say in the choice.
//! Few contacts are better off with exact solutions:
//! a `Coulomb` block is solved exactly ([`super::local`]): one projected step with De Saxcé's shift is cheaper but takes
//! two to five times the sweeps on stacks and single objects, and is no descent. For `Cone` the exact solution saves below 5 % of the sweeps.
//!
//! # When
//!
//! Many bodies, moderate accuracy, warm starts, hard real time. Not for mass ratios above 1e4 (the report then says
//! `budget` or `stalled` with the error it has), nor for 1e-12 on settled piles: there `interior-point` and `newton` are better.
//!
//! # Cost
//!
//! One sweep moves [`BYTES_PER_CONTACT`] for each frictional contact of two rigid bodies and [`BYTES_PER_BODY`] for each body. While they
//! stay in the cache (to some 35,000 contacts) the arithmetic takes 1.7 times as long as streaming them; beyond, memory sets
//! the pace. There contacts are stored as frames and arms ([`frames`]), [`BYTES_PER_ROUND_CONTACT`] between round bodies (whose inertia is the
//! same about all axes), and from 55,000 contacts on 208 bytes, with a line more for each body, between any; the attitudes of the bodies,
//! which a problem does not tell, are read off its rows ([`turn`]), which takes as long as some forty sweeps. Nanoseconds per contact on one
//! core of an EPYC of the third generation whose neighbours were quiet, or at work, several runs:
//!
//! | contacts | 1,000 | 5,000 | 10,000 | 16,000 | 50,000 | 100,000 |
//! |---|---|---|---|---|---|---|
//! | linear parts shared (336 bytes) | 7.7 | 8.2 | 8.4 | 8.5 | 8.6 to 14 | 17 to 22 |
//! | frames and arms, round bodies | | | 7.7 | | 7.6 to 8.2 | 8.0 to 11.7 |
//! | frames and arms, any bodies | | | 12.3 | | 12.4 | 12.2 to 14.8 |
//!
//! To sweep each part twice while it is at hand takes 1.6 times the sweeps, and no less time; to sweep the parts there and back, so that what
//! was touched last is met first, gains nothing: the cache does not forget the oldest lines first.
//!
//! What the kernel is bound by, per four contacts: 110 loads (two in a cycle), 170 operations (three), in 90 cycles. Stages that
//! follow each other ([`stages`]) keep the three kinds of work mixed; one stage for six groups at a time took an eighth longer.
//!
//! Two threads sweep parts at the same time, then the seams between them ([`parts`]). From 10,000 contacts on they gain 1.8 to 1.9 where the
//! cores are near each other, 1.4 to 1.7 where a line takes 200 ns from one to the other (2 and more beyond the cache, in both cases). What
//! counts there is that no thread comes near what another writes: z lies in the order of the parts, so that the processor's own
//! prefetching stays within them. In the order of the problem two threads took longer than one. Passes over r̂ and z are shared along the
//! same lines.
//!
//! Contacts with a body that hundreds of others touch (a drum) would have to be swept one after the other; if it is heavy they are swept as
//! the others are ([`crowd`]), on one thread.
//!
//! The extrapolation is two passes over r̂, z and their last five differences, as long again as the sweep.
//! To keep the best iterate the sweep writes r̂ twice (`signorini bench psor` prints what a copy would take at most).
//! Memory is linear and kept between problems: a second solve allocates nothing.
//! A block on a mesh holds a dense column per row over those unknowns of the mesh that blocks touch.
//! Blocks of two rows, of compliant rows, on meshes or small cliques, and reduced problems are swept on one thread.
//!
//! # What is hard
//!
//! Settled piles of a thousand bodies and falling walls take 200 to 700 sweeps to 1e-6 where the others take 25 on average.
//! Their contacts keep opening, sliding and sticking while the load finds its way down, so that the differences of
//! past sweeps belong to faces of the cones that have been left. What was tried, in sweeps to 1e-6 (one order of sweep, cone law):
//!
//! | | wall, impact | pile of 1190, settled |
//! |---|---|---|
//! | five differences (the default) | 270 | 728 |
//! | three | 208 | 642 |
//! | momentum (Nesterov, restarted) | 157 | 783 |
//! | five, and the loads of 40 regions as a coarse space | 272 | 587 |
//!
//! A longer memory is worse (10 and 20 differences: 324 and 341 on the wall), so is Anderson's method (588), and exact local
//! solutions change nothing (247). Momentum helps the wall alone and takes twice the sweeps on everything else; the coarse space saves a
//! fifth on the pile, less than its own passes cost. Under Coulomb's law Anderson's method is no better than plain sweeps there.
//!
//! The result is the same to the bit for any number of threads, and with or without AVX2 and FMA.
//! The energy metric and the tracking of the least-error iterate follow [Enzenhoefer2018].

mod accelerate;
mod anderson;
mod build;
mod colour;
mod crew;
mod crowd;
mod fill;
mod frames;
mod freeze;
mod gram;
mod image;
mod joints;
mod kernel;
mod lanes;
mod laws;
mod parts;
mod reduced;
mod rows;
mod run;
mod stages;
mod system;
mod team;
mod turn;
mod vector;

#[cfg(test)]
mod tests;

use super::{Counts, ReducedSolver, Report, Solver, StoppingCriteria, Unsupported, solve_by_own_preparation};
use crate::problem::{Law, PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};
use reduced::ReducedSystem;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use system::{Sweeps, System};
use team::Team;

/// The most sweeps where the caller names no limit.
pub const DEFAULT_WORK: u64 = 1000;

/// Memory that one sweep moves per frictional contact of two rigid bodies: rows, parameters, two places and q̂ are read, r̂ is read and written.
pub const BYTES_PER_CONTACT: usize = (rows::RIGID + 3) * 8 + 8 + 24 + 2 * 24;

/// The same for contacts of round bodies that are stored as frames and arms ([`frames`]).
pub const BYTES_PER_ROUND_CONTACT: usize = BYTES_PER_CONTACT - (rows::RIGID - frames::IN_ROUND) * 8;

/// Memory that keeping each iterate, lest it be the best one, moves per frictional contact: r̂ is written once more.
pub const BYTES_OF_BEST: usize = 24;

/// Memory that one sweep moves at least per rigid body: its line of z is read and written.
pub const BYTES_PER_BODY: usize = 2 * system::STRIDE * 8;

/// From so many contacts under Coulomb's law on the shift is frozen for a few sweeps: piles need half the sweeps or less, few contacts more.
const MANY: usize = 100;

/// Fewer blocks are swept on one thread: to share them takes longer.
const ALONE: usize = 500;

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
    /// One for the normal, one for the tangents, both over the largest eigenvalue of the block so scaled.
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
    /// One projected step under Coulomb's law with De Saxcé's shift held for a few sweeps, so that an energy falls meanwhile.
    Frozen,
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
    /// Compute the residual every so many sweeps and record it in the history; 0: only when the sweep's own estimate calls for it.
    pub judge_every: u64,
    /// Use the threads of the caller's pool; the result does not depend on it.
    pub parallel: bool,
    /// Bytes that stay in the cache from sweep to sweep. Contacts that move more (half as much again, if bodies are not round) are stored as
    /// frames and arms ([`frames`]).
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
    /// Many contacts in space under Coulomb's law are swept with the shift frozen for a few sweeps, unless other settings are asked for.
    fn frozen(&self, laws: &[Law]) -> Settings {
        let usual = (self.local, self.acceleration) == (Local::Auto, Acceleration::Auto);
        let sliding = laws.iter().filter(|law| matches!(law, Law::Coulomb { mu, rows: 3 } if *mu > 0.0)).count();
        if usual && sliding >= MANY {
            Settings { local: Local::Frozen, acceleration: Acceleration::Subspace { depth: 2 }, ..self.clone() }
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
            Local::Projection | Local::Frozen => false,
            Local::Auto => matches!(law, Law::Coulomb { .. }),
        }
    }

    /// True if so many contacts are better off in this form, of frames and arms: their rows do not stay in the cache. What a body of any
    /// inertia has to be asked for takes some time of its own.
    fn far(&self, contacts: usize, form: rows::Storage) -> bool {
        let bytes = contacts * BYTES_PER_CONTACT;
        bytes > if form == rows::Storage::Frame { self.cache.saturating_add(self.cache / 2) } else { self.cache }
    }

    /// Memory that one sweep moves per contact, of so many frictional contacts of round bodies.
    pub fn bytes_per_contact(&self, contacts: usize) -> usize {
        if self.far(contacts, rows::Storage::Round) { BYTES_PER_ROUND_CONTACT } else { BYTES_PER_CONTACT }
    }

    /// The method of the paper [Tasora2008, algorithm 4.1]: plain sweeps, one step per block.
    pub fn plain(omega: f64) -> Settings {
        Settings { acceleration: Acceleration::None, metric: Metric::Mean, omega, joints: false, ..Settings::default() }
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
    memory: run::Memory,
    /// The guess made admissible, then the judged reactions.
    r: Vec<f64>,
    team: Arc<Team>,
}

impl Psor {
    /// With these settings.
    pub fn new(settings: Settings) -> Psor {
        Psor { settings, ..Psor::default() }
    }

    /// Sweeps from the guess; `prepared` holds `problem`.
    pub fn sweep(&mut self, problem: &Problem, prepared: &mut PreparedProblem, solution: &mut Solution) -> Report {
        let team = self.team.clone();
        if problem.laws.len() < ALONE || !self.settings.parallel {
            return self.sweep_with(None, problem, prepared, solution);
        }
        team.with(|| self.sweep_with((rayon::current_num_threads() > 1).then(|| team.clone()), problem, prepared, solution))
    }

    /// The same with a team that is awake, if there is one.
    fn sweep_with(
        &mut self,
        team: Option<Arc<Team>>,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
    ) -> Report {
        let Psor { settings, system, scratch, memory, r, .. } = self;
        let settings = settings.frozen(&problem.laws).resolved(&problem.laws, true);
        system.team = team;
        system.set(problem, prepared.factor(), &settings, scratch);
        system.zero(&mut memory.x);
        admissible(&problem.laws, &problem.J.row_starts, &solution.r, r);
        system.places.collapse(r, &mut memory.x.r);
        system.refresh(&mut memory.x);
        solution.v.resize(problem.n(), 0.0);
        solution.r.fill(0.0);
        // The places are the referee's while the system is swept.
        let places = std::mem::take(&mut system.places);
        let mut whole = Whole { problem, prepared, places: &places, solution };
        let outcome = run::run(system, memory, &mut whole, &settings);
        whole.set(memory.best());
        system.places = places;
        let mut report = report(outcome, settings.stop.history);
        report.dependent = system.joints.dependent;
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

/// Row of the problem and scale for each place of r̂.
#[derive(Clone, Default)]
struct Places {
    row: Vec<u32>,
    scale: Vec<f64>,
}

impl Places {
    /// Writes scaled reactions in the order of the problem.
    fn expand(&self, scaled: &[f64], r: &mut [f64]) {
        for ((&row, &s), &x) in self.row.iter().zip(&self.scale).zip(scaled) {
            if row != u32::MAX {
                r[row as usize] = x * s;
            }
        }
    }

    /// The scaled reactions of `r`.
    fn collapse(&self, r: &[f64], scaled: &mut [f64]) {
        for ((&row, &s), x) in self.row.iter().zip(&self.scale).zip(scaled) {
            *x = if row != u32::MAX && s > 0.0 { r[row as usize] / s } else { 0.0 };
        }
    }
}

impl Whole<'_> {
    /// The solution with these scaled reactions: v is computed anew from r, so that no rounding of the sweeps is left in it.
    fn set(&mut self, scaled: &[f64]) {
        self.places.expand(scaled, &mut self.solution.r);
        self.solution.v.copy_from_slice(&self.problem.k);
        self.problem.J.add_transposed(&self.solution.r, &mut self.solution.v);
        self.prepared.factor().solve(&mut self.solution.v);
    }
}

impl run::Referee for Whole<'_> {
    fn error(&mut self, scaled: &[f64]) -> Residual {
        self.set(scaled);
        self.prepared.error(self.problem, self.solution)
    }

    fn look(&mut self, scaled: &[f64], tolerance: &Tolerance) -> Residual {
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

impl run::Referee for Eliminated<'_> {
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

fn report(outcome: run::Outcome, notes: bool) -> Report {
    let mut report = Report::new(outcome.status, outcome.error);
    report.iterations = outcome.sweeps;
    report.work = outcome.sweeps;
    report.reproducible = outcome.reproducible;
    report.counts = Counts { sweeps: outcome.sweeps, ..Counts::default() };
    report.history = outcome.history;
    if notes {
        report.notes.push(format!("judged {} times", outcome.judged));
    }
    if notes && outcome.restarts > 0 {
        report.notes.push(format!("{} of {} sweeps were lost to restarts", outcome.restarts, outcome.sweeps));
    }
    report
}

impl Solver for Psor {
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Result<Report, Unsupported> {
        solve_by_own_preparation(self, ("psor", |own| &mut own.prepared), problem, solution)
    }

    fn solve_prepared(
        &mut self,
        problem: &Problem,
        prepared: &mut PreparedProblem,
        solution: &mut Solution,
    ) -> Result<Report, Unsupported> {
        Ok(self.sweep(problem, prepared, solution))
    }
}

impl ReducedSolver for Psor {
    fn solve_reduced(&mut self, reduced: &Reduced, solution: &mut Solution) -> Result<Report, Unsupported> {
        let Psor { settings, prepared, memory, r, .. } = self;
        prepared.prepare_reduced(reduced);
        let mut system = ReducedSystem::new(reduced, settings);
        system.zero(&mut memory.x);
        admissible(&reduced.laws, &reduced.row_starts, &solution.r, r);
        system.places.collapse(r, &mut memory.x.r);
        system.refresh(&mut memory.x);
        let settings = settings.resolved(&reduced.laws, system.symmetric);
        let places = std::mem::take(&mut system.places);
        let mut eliminated = Eliminated { reduced, prepared, places: &places, r };
        let outcome = run::run(&mut system, memory, &mut eliminated, &settings);
        places.expand(memory.best(), &mut solution.r);
        Ok(report(outcome, settings.stop.history))
    }
}
