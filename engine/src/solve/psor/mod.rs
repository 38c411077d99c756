//! Projected fixed-point sweeps.

mod accelerate;
mod build;
mod colour;
mod image;
mod joints;
mod kernel;
mod run;
mod system;

use super::{Counts, Report, Solver, Stop, Unsupported};
use crate::problem::{Error, Judge, Problem, Solution};
use serde::{Deserialize, Serialize};
use system::System;

/// The most sweeps where the caller names no limit.
pub const DEFAULT_WORK: u64 = 1000;

/// What happens between sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acceleration {
    /// Nothing: the method of the paper.
    None,
    /// Extrapolation over the last `depth` sweep differences.
    Subspace {
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
}

/// Settings of the method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// When to stop; work is counted in sweeps.
    #[serde(skip)]
    pub stop: Stop,
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
    /// Judge every so many sweeps and record that in the history; 0: only when the sweep's own estimate calls for it.
    pub judge_every: u64,
    /// Use the threads of the caller's pool; the result does not depend on it.
    pub parallel: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            stop: Stop::default(),
            acceleration: Acceleration::Subspace { depth: 5 },
            metric: Metric::TwoScale,
            local: Local::Auto,
            omega: 1.0,
            joints: true,
            judge_every: 0,
            parallel: true,
        }
    }
}

impl Settings {
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
    judge: Judge,
}

impl Psor {
    /// With these settings.
    pub fn new(settings: Settings) -> Psor {
        Psor { settings, judge: Judge::default() }
    }
}

struct Whole<'a> {
    problem: &'a Problem,
    judge: &'a mut Judge,
    system_rows: (&'a [u32], &'a [f64]),
    solution: Solution,
}

impl Whole<'_> {
    fn expand(&mut self, r: &[f64]) {
        let (rows, scale) = self.system_rows;
        for ((&row, &s), &r) in rows.iter().zip(scale).zip(r) {
            if row != u32::MAX {
                self.solution.r[row as usize] = r * s;
            }
        }
        self.solution.v.copy_from_slice(&self.problem.k);
        self.problem.J.add_transposed(&self.solution.r, &mut self.solution.v);
        self.judge.factor().solve(&mut self.solution.v);
    }
}

impl run::Referee for Whole<'_> {
    fn error(&mut self, r: &[f64]) -> Error {
        self.expand(r);
        self.judge.error(self.problem, &self.solution)
    }
}

impl Solver for Psor {
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Result<Report, Unsupported> {
        self.judge.prepare(problem).map_err(|why| Unsupported { method: "psor", what: why.to_string() })?;
        let mut system = System::new(problem, self.judge.factor(), &self.settings);
        let mut guess = solution.r.clone();
        for (k, law) in problem.laws.iter().enumerate() {
            law.project(&mut guess[problem.J.block(k).range()]);
        }
        let mut x = system.point(&guess);
        system.refresh(&mut x);
        let (rows, scale) = (system.row.clone(), system.scale.clone());
        let mut whole =
            Whole { problem, judge: &mut self.judge, system_rows: (&rows, &scale), solution: Solution::zero(problem.n(), problem.rows()) };
        let outcome = run::run(&mut system, x, &mut whole, &self.settings);
        whole.expand(&outcome.best);
        *solution = whole.solution;
        let mut report = Report::new(outcome.status, outcome.error);
        report.iterations = outcome.sweeps;
        report.work = outcome.sweeps;
        report.reproducible = outcome.reproducible;
        report.counts = Counts { sweeps: outcome.sweeps, ..Counts::default() };
        report.history = outcome.history;
        Ok(report)
    }
}
