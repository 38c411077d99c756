//! The object of `--json`: one answer as plain data.

use super::contacts::Contacts;
use super::outcome::Outcome;
use serde::Serialize;
use signorini::problem::files::{Input, Stored};
use signorini::problem::literature::Thesis;
use signorini::problem::{Law, Residual, Tolerance};
use signorini::solve::certificate::{Ends, Standing};
use signorini::solve::{Report, Stage, Status, Unsupported};

/// The object of `--json`.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    problem: ProblemLine<'a>,
    solver: &'static str,
    status: &'static str,
    iterations: u64,
    work: u64,
    wall_s: f64,
    reproducible: bool,
    stages: &'a [Stage],
    error: ErrorLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<CertificateLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contacts: Option<&'a Contacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_difference: Option<f64>,
}

#[derive(Serialize)]
struct ProblemLine<'a> {
    name: &'a str,
    n: usize,
    rows: usize,
    blocks: Blocks,
}

#[derive(Default, Serialize)]
struct Blocks {
    equality: usize,
    unilateral: usize,
    interval: usize,
    cone: usize,
    coulomb: usize,
}

#[derive(Serialize)]
struct ErrorLine {
    joule: f64,
    relative: f64,
    estimate_joule: f64,
    estimate_relative: f64,
    scale_joule: f64,
    velocity: f64,
    worst_row: Option<usize>,
    worst_name: String,
    momentum_joule: f64,
    natural: f64,
    fischer_burmeister: f64,
    siconos: f64,
    thesis: Thesis,
}

/// Infinite ends are written as null.
#[derive(Serialize)]
struct CertificateLine {
    standing: Standing,
    upper_joule: Option<f64>,
    lower_joule: f64,
    upper_relative: Option<f64>,
    lower_relative: f64,
    /// By how much w is moved, m/s.
    moved: f64,
    /// Accepted, and proved to be further off than the tolerance.
    refuted: bool,
}

impl CertificateLine {
    fn of(outcome: &Outcome, tolerance: &Tolerance) -> Option<CertificateLine> {
        let Ends { standing, upper, lower, moved } = outcome.certificate?;
        let (scale, upper) = (outcome.error.scale, Some(upper).filter(|x| x.is_finite()));
        let relative = |x: f64| if x == 0.0 { 0.0 } else { x / scale };
        Some(CertificateLine {
            standing,
            upper_joule: upper,
            lower_joule: lower,
            upper_relative: upper.map(relative),
            lower_relative: relative(lower),
            moved,
            refuted: outcome.refuted(tolerance),
        })
    }
}

/// An answer as plain data.
pub(super) fn line<'a>(
    stored: &'a Stored,
    outcome: &'a Outcome,
    tolerance: &Tolerance,
    largest_difference: Option<f64>,
) -> Line<'a> {
    let mut blocks = Blocks::default();
    for law in stored.input.laws() {
        match law {
            Law::Equality => blocks.equality += 1,
            Law::Unilateral => blocks.unilateral += 1,
            Law::Interval { .. } => blocks.interval += 1,
            Law::Cone { .. } => blocks.cone += 1,
            Law::Coulomb { .. } => blocks.coulomb += 1,
        }
    }
    let (error, report) = (&outcome.error, outcome.result.as_ref().ok());
    Line {
        problem: ProblemLine {
            name: stored.input.name(),
            n: stored.given.n(),
            rows: stored.input.rows(),
            blocks,
        },
        solver: outcome.choice.name,
        status: status(&outcome.result),
        iterations: report.map_or(0, |r| r.iterations),
        work: report.map_or(0, |r| r.work),
        wall_s: outcome.wall,
        reproducible: report.is_none_or(|r| r.reproducible),
        stages: report.map_or(&[], |r| &r.stages),
        certificate: CertificateLine::of(outcome, tolerance),
        contacts: outcome.contacts.as_ref(),
        error: ErrorLine {
            joule: error.joule,
            relative: error.relative(),
            estimate_joule: error.estimate,
            estimate_relative: error.estimate_relative(),
            scale_joule: error.scale,
            velocity: error.velocity,
            worst_row: (stored.input.rows() > 0).then_some(error.worst_row),
            worst_name: worst_name(&stored.input, error),
            momentum_joule: error.momentum,
            natural: outcome.literature.natural,
            fischer_burmeister: outcome.literature.fischer_burmeister,
            siconos: outcome.literature.siconos,
            thesis: outcome.literature.thesis,
        },
        largest_difference,
    }
}

/// Why a method stopped, in a word.
pub(super) fn status(result: &Result<Report, Unsupported>) -> &'static str {
    match result {
        Err(_) => "unsupported",
        Ok(report) => match report.status {
            Status::Converged => "converged",
            Status::Budget => "budget",
            Status::Stalled => "stalled",
            Status::Infeasible => "infeasible",
        },
    }
}

/// The name of the row with the largest error.
pub(super) fn worst_name(input: &Input, error: &Residual) -> String {
    if input.rows() > 0 { input.row_name(error.worst_row) } else { String::new() }
}
