//! The methods: one file each, one interface.
//!
//! A method takes a problem and a guess, and returns a point and a [`Report`]: why it stopped,
//! after how much work, and how wrong the point is. It never panics on a bad problem and never
//! returns NaN: it returns the best iterate it saw, and the report says what that is worth. The
//! error is computed by [`crate::problem::error`], never by the method: nobody marks their own
//! work.

pub mod auto;
pub mod certificate;
pub mod direct;
pub mod infeasible;
pub mod interior_point;
pub mod lemke;
pub mod local;
pub mod newton;
pub mod options;
mod parallel;
pub mod pivot;
pub mod psor;
pub mod schur;
pub mod shift;
mod simd;

use crate::problem::{PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// A method on the whole problem.
pub trait Solver {
    /// Improves `solution`, which holds the guess on entry (its sizes are right), within `limits`.
    /// `Err` means that nothing was attempted.
    fn solve_within(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported>;

    /// The same, as long as the method's settings allow.
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Result<Report, Unsupported> {
        self.solve_within(problem, solution, &Limits::default())
    }

    /// The same with `problem` already prepared, for methods that would prepare it themselves.
    fn solve_prepared(
        &mut self,
        problem: &Problem,
        _prepared: &mut PreparedProblem,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        self.solve_within(problem, solution, limits)
    }
}

/// [`Solver::solve_within`] of a method that has a `PreparedProblem` of its own: it is prepared and
/// handed to [`Solver::solve_prepared`].
fn solve_by_own_preparation<S: Solver>(
    solver: &mut S,
    (method, own): (&'static str, fn(&mut S) -> &mut PreparedProblem),
    (problem, solution): (&Problem, &mut Solution),
    limits: &Limits,
) -> Result<Report, Unsupported> {
    let mut prepared = std::mem::take(own(solver));
    let ready =
        prepared.prepare(problem).map_err(|why| Unsupported { method, what: why.to_string() });
    let result =
        ready.and_then(|()| solver.solve_prepared(problem, &mut prepared, solution, limits));
    *own(solver) = prepared;
    result
}

/// A method on the reduced problem `u = W r + q`; only `solution.r` counts.
pub trait ReducedSolver {
    /// Improves `solution.r` within `limits`. `Err` means that nothing was attempted.
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported>;

    /// The same, as long as the method's settings allow.
    fn solve_reduced(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
    ) -> Result<Report, Unsupported> {
        self.solve_reduced_within(reduced, solution, &Limits::default())
    }
}

/// What one call may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The most work, in the method's own unit; `None`: as the settings say.
    pub work: Option<u64>,
    /// The latest moment; the settings may name an earlier one.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// No later than `seconds` from now; a time beyond all clocks is no deadline.
    pub fn seconds_from_now(seconds: f64) -> Limits {
        let length = Duration::try_from_secs_f64(seconds).ok();
        Limits { work: None, deadline: length.and_then(|s| Instant::now().checked_add(s)) }
    }
}

/// When to stop; every method's settings hold one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoppingCriteria {
    /// What must be small.
    pub tolerance: Tolerance,
    /// The most work, in the method's own unit (sweeps, factorizations, pivots): reproducible.
    /// `None`: the method's default.
    pub work: Option<u64>,
    /// The latest moment: not reproducible, and not stored.
    #[serde(skip)]
    pub deadline: Option<Instant>,
    /// Keep a history of the error.
    pub history: bool,
}

impl StoppingCriteria {
    /// These criteria within the limits of one call.
    pub fn within(self, limits: &Limits) -> StoppingCriteria {
        let deadline = match (self.deadline, limits.deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        StoppingCriteria { work: limits.work.or(self.work), deadline, ..self }
    }

    /// The moment it is, for histories and deadlines alone: methods ask nobody else.
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// True once the deadline has passed.
    pub fn deadline_passed(&self) -> bool {
        self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

/// Why a method stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The error is accepted: local sum, estimate and velocities are within the tolerance.
    Converged,
    /// Work or time ran out.
    Budget,
    /// No progress is to be had.
    Stalled,
    /// No solution exists; `Report::conflict` says which blocks contradict each other.
    Infeasible,
}

/// One point of the history.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Work done so far, in the method's unit.
    pub work: u64,
    /// Residual of this iterate, J (where the method only knows an estimate, that).
    pub joule: f64,
    /// The least so far, J.
    pub best: f64,
    /// Seconds since the method began.
    pub wall: f64,
}

/// One iteration of an interior point's path, in scaled variables (√J, unit masses).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathSample {
    /// Work done so far, factorizations.
    pub work: u64,
    /// ‖Ĵ v + M̂ r + ŵ − u‖ at the beginning of the iteration, √J.
    pub r_p: f64,
    /// ‖Ĥ v − k̂ − Ĵᵀ r‖ at the beginning of the iteration, √J.
    pub r_d: f64,
    /// Mean of u·r over the complementarity pairs at its end, J.
    pub mu: f64,
    /// The step of v and u, of 1.
    pub alpha_p: f64,
    /// The step of r, of 1.
    pub alpha_d: f64,
}

/// What was counted along the way; a method leaves at zero what it does not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Passes over all rows.
    pub sweeps: u64,
    /// Numeric factorizations.
    pub factorizations: u64,
    /// Newton steps that took an earlier factor, updated, instead of a new one.
    pub updates: u64,
    /// Rows added to or removed from a factorization.
    pub pivots: u64,
    /// Outer iterations (De Saxcé's shift, proximal point).
    pub outer: u64,
}

impl Counts {
    /// Both together.
    pub fn plus(&self, other: &Counts) -> Counts {
        Counts {
            sweeps: self.sweeps + other.sweeps,
            factorizations: self.factorizations + other.factorizations,
            updates: self.updates + other.updates,
            pivots: self.pivots + other.pivots,
            outer: self.outer + other.outer,
        }
    }
}

/// The phases of a method that has several, in the order of their first use, and what each of them
/// took.
pub type Phases = SmallVec<[(&'static str, Counts); 8]>;

/// Adds what a phase took to what it took before.
pub fn add_phase(phases: &mut Phases, name: &'static str, counts: Counts) {
    match phases.iter_mut().find(|phase| phase.0 == name) {
        Some((_, sum)) => *sum = sum.plus(&counts),
        None => phases.push((name, counts)),
    }
}

/// A stage of a strategy, as it ran; of a problem of many islands, on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// The method; none: the guess was good enough.
    pub method: Option<Method>,
    /// The work that it was allowed on each island, in its own unit; none: its own limit.
    pub budget: Option<u64>,
    /// How many islands it ran on.
    pub islands: u32,
    /// How many of them it solved.
    pub solved: u32,
    /// The work that it did, in its own unit.
    pub work: u64,
}

impl Stage {
    /// The guess was good enough.
    pub fn guess() -> Stage {
        Stage { method: None, budget: None, islands: 1, solved: 1, work: 0 }
    }

    /// A method that ran on one island.
    fn of(method: Method, limits: &Limits, report: &Report) -> Stage {
        let budget = limits.work;
        Stage { method: Some(method), budget, islands: 1, solved: 0, work: report.work }
    }

    /// The name of the method, or `guess`.
    pub fn name(&self) -> &'static str {
        self.method.map_or("guess", Method::name)
    }
}

/// The stages of a strategy in the order in which they ran first.
pub type Stages = SmallVec<[Stage; 8]>;

/// Adds a stage to those that ran before it.
pub fn add_stage(stages: &mut Stages, stage: Stage) {
    let same = |s: &&mut Stage| (s.method, s.budget) == (stage.method, stage.budget);
    match stages.iter_mut().find(same) {
        Some(sum) => {
            sum.islands += stage.islands;
            sum.solved += stage.solved;
            sum.work += stage.work;
        }
        None => stages.push(stage),
    }
}

/// How a solve went.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Why it stopped.
    pub status: Status,
    /// Iterations, as the method counts them.
    pub iterations: u64,
    /// Work done, in the unit of [`StoppingCriteria::work`].
    pub work: u64,
    /// False if a deadline cut the work short: another run may stop elsewhere.
    pub reproducible: bool,
    /// The error of the point returned.
    pub error: Residual,
    /// What is proved of the velocity error; none where nobody looked.
    pub certificate: Option<certificate::Ends>,
    /// What was counted.
    pub counts: Counts,
    /// Residual over work, if asked for.
    pub history: Vec<Sample>,
    /// The iterations of an interior point's path, if a history is asked for.
    pub path: Vec<PathSample>,
    /// Blocks that contradict each other (`Infeasible`).
    pub conflict: Vec<usize>,
    /// Rows that depend on others, where the method finds out: their reactions are not unique.
    pub dependent: usize,
    /// The phases that were used.
    pub phases: Phases,
    /// The stages of `auto`, in the order in which they ran.
    pub stages: Stages,
    /// Remarks for a person: what limits the answer.
    pub notes: Vec<String>,
}

impl Report {
    /// A report without history and remarks.
    pub fn new(status: Status, error: Residual) -> Report {
        Report {
            status,
            iterations: 0,
            work: 0,
            reproducible: true,
            error,
            certificate: None,
            counts: Counts::default(),
            history: Vec::new(),
            path: Vec::new(),
            conflict: Vec::new(),
            dependent: 0,
            phases: Phases::new(),
            stages: Stages::new(),
            notes: Vec::new(),
        }
    }

    /// The stages and their work, in the order in which they ran.
    pub fn stages_line(&self) -> String {
        let stage = |stage: &Stage| match (stage.method, stage.islands) {
            (None, 0..=1) => stage.name().to_string(),
            (None, islands) => format!("{} ({islands} islands)", stage.name()),
            (_, 0..=1) => format!("{} ({})", stage.name(), stage.work),
            (_, islands) => format!("{} ({} on {islands} islands)", stage.name(), stage.work),
        };
        let all: Vec<String> = self.stages.iter().map(stage).collect();
        format!("stages: {}", all.join(", "))
    }

    /// All that is to be said to a person: the stages and their work, the phases and what each of
    /// them took, dependent rows, then the notes.
    pub fn remarks(&self) -> Vec<String> {
        let one = |(name, counts): &(&str, Counts)| {
            let Counts { sweeps, factorizations, updates, pivots, outer } = *counts;
            let factors =
                [(factorizations, "factorizations"), (updates, "updates"), (pivots, "pivots")];
            let all = [(outer, "outer iterations")]
                .into_iter()
                .chain(factors)
                .chain([(sweeps, "sweeps")]);
            let said: Vec<String> =
                all.filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
            if said.is_empty() { name.to_string() } else { format!("{name} ({})", said.join(", ")) }
        };
        let mut out = Vec::new();
        if !self.stages.is_empty() {
            out.push(self.stages_line());
        }
        if !self.phases.is_empty() {
            out.push(format!(
                "phases: {}",
                self.phases.iter().map(one).collect::<Vec<_>>().join(", ")
            ));
        }
        if self.dependent > 0 {
            out.push(format!(
                "{} rows depend on others: their reactions are not unique",
                self.dependent
            ));
        }
        out.extend_from_slice(&self.notes);
        out
    }
}

/// A problem that the method does not treat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{method} does not treat {what}")]
pub struct Unsupported {
    /// The method.
    pub method: &'static str,
    /// What it does not treat.
    pub what: String,
}

/// A method on either form of a problem.
pub trait DynSolver: Solver + ReducedSolver + Send {}

impl<S: Solver + ReducedSolver + Send> DynSolver for S {}

/// One line per method: its variant, its name on the command line, and how it is made.
macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident $name:literal => $build:expr;)*) => {
        /// The methods by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Method {
            $($(#[$doc])* $variant,)*
        }

        impl Method {
            /// All methods.
            pub const ALL: &[Method] = &[$(Method::$variant),*];

            /// The name, as on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Method::$variant => $name,)*
                }
            }

            /// The method with its default settings.
            pub fn build(self, stop: StoppingCriteria) -> Box<dyn DynSolver> {
                match self {
                    $(Method::$variant => {
                        let build: fn(StoppingCriteria) -> Box<dyn DynSolver> = $build;
                        build(stop)
                    })*
                }
            }
        }
    };
}

methods! {
    /// Picks per island, watches the error, escalates.
    Auto "auto" => |stop| Box::new(auto::Auto::new(auto::Settings { stop,
    ..auto::Settings::default() }));
    /// Equality rows alone, in one factorization.
    Direct "direct" => |stop| Box::new(direct::Direct::new(direct::Settings { stop }));
    /// Interior point: convex laws exactly, at any mass ratio; Coulomb's by De Saxcé's shift.
    InteriorPoint "interior-point" => |stop| Box::new(interior_point::InteriorPoint::new(interior_point::Settings { stop, ..Default::default() }));
    /// Active set, exact, one row at a time.
    Pivot "pivot" => |stop| Box::new(pivot::Pivot::new(pivot::Settings { stop,
    ..Default::default() }));
    /// Sweeps, semismooth Newton, proximal point: the true Coulomb law to machine precision.
    Newton "newton" => |stop| Box::new(newton::Newton::new(newton::Settings { stop,
    ..Default::default() }));
    /// Projected fixed-point sweeps.
    Psor "psor" => |stop| Box::new(psor::Psor::new(psor::Settings { stop, ..Default::default() }));
}

impl Method {
    /// The method with options of its own; `newton`, `interior-point` and `pivot` certify what they
    /// accept.
    pub fn build_certified(
        self,
        stop: StoppingCriteria,
        options: &options::Options,
        settings: certificate::Settings,
    ) -> Result<Box<dyn DynSolver>, String> {
        let method = self.build_with(stop, options)?;
        Ok(match self {
            Method::Newton | Method::InteriorPoint | Method::Pivot => {
                Box::new(certificate::Certified::new(method, stop.tolerance, settings))
            }
            Method::Auto | Method::Direct | Method::Psor => method,
        })
    }

    /// The method of this name.
    pub fn named(name: &str) -> Option<Method> {
        Method::ALL.iter().copied().find(|method| method.name() == name)
    }
}
