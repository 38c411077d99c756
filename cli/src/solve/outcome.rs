//! One method's answer to a stored problem, judged from the point alone.

use super::Arguments;
use super::contacts::Contacts;
use signorini::math::{dot, sparse::Csr};
use signorini::problem::files::{Input, Stored};
use signorini::problem::literature::{self, Literature};
use signorini::problem::{PreparedProblem, Residual, Solution, Tolerance};
use signorini::solve::certificate::{Certifier, Ends, Standing};
use signorini::solve::newton::Newton;
use signorini::solve::options::Choice;
use signorini::solve::{
    DynSolver, Method, Report, StoppingCriteria, Unsupported, auto, newton, pivot,
};
use std::time::{Duration, Instant};

/// Islands up to this many rows are factored by `auto`: walls of a hundred bricks in a collapse,
/// 3400 rows, are solved by `newton` alone.
const MAX_FACTORED_ROWS: usize = 5000;

/// One solver's answer.
pub(super) struct Outcome {
    pub(super) choice: Choice,
    pub(super) result: Result<Report, Unsupported>,
    pub(super) solution: Solution,
    pub(super) error: Residual,
    pub(super) literature: Literature,
    pub(super) wall: f64,
    /// With `--certify`, or where the method proves what it accepts.
    pub(super) certificate: Option<Ends>,
    /// Only of `newton`.
    pub(super) contacts: Option<Contacts>,
}

/// Solves a stored problem by one method, and judges the answer.
pub(super) fn solve_with(
    arguments: &Arguments,
    stored: &Stored,
    choice: &Choice,
) -> Result<Outcome, String> {
    let Choice { name, method, options } = *choice;
    let known = stored.guess.as_ref().or(stored.solution.as_ref());
    if arguments.warm && known.is_none() {
        eprintln!(
            "note: {} holds neither a guess nor a solution: it is solved from zero",
            stored.input.name()
        );
    }
    let mut solution =
        known.filter(|_| arguments.warm).cloned().unwrap_or_else(|| stored.input.zero());
    let progress = crate::progress::Progress::start(format!("{} {}", stored.input.name(), name));
    let begun = Instant::now();
    let stop = StoppingCriteria {
        tolerance: tolerance(arguments),
        work: arguments.max_work,
        // A deadline beyond the end of time is none.
        deadline: arguments.deadline_ms.and_then(|ms| begun.checked_add(Duration::from_millis(ms))),
        history: arguments.history.is_some() || arguments.plot.is_some(),
    };
    let mut newton = Newton::new(newton::Settings { stop, ..Default::default() });
    let mut other: Box<dyn DynSolver> = match method {
        Method::Pivot => Box::new(pivot::Pivot::new(options.pivot(pivot::Settings {
            stop,
            facets: arguments.facets as usize,
            ..Default::default()
        }))),
        // One problem of a file is worth the certificate's work, and that of large factorizations.
        Method::Auto => Box::new(auto::Auto::new(auto::Settings {
            stop,
            certify: true,
            factorable: MAX_FACTORED_ROWS,
            last_factorizations: None,
            ..Default::default()
        })),
        _ => method.build_with(stop, &options)?,
    };
    let solver: &mut dyn DynSolver =
        if method == Method::Newton { &mut newton } else { other.as_mut() };
    let mut result = match &stored.input {
        Input::Problem(problem) => solver.solve(problem, &mut solution),
        Input::Reduced(reduced) => solver.solve_reduced(reduced, &mut solution),
    };
    if let Ok(report) = &mut result {
        certify(method, stored, (&solution, stop.tolerance), report);
    }
    let wall = begun.elapsed().as_secs_f64();
    drop(progress);
    // The printed error is judged here, from the point alone.
    let (error, literature) = match &stored.input {
        Input::Problem(p) => (
            PreparedProblem::of(p).map_err(|e| e.to_string())?.error(p, &solution),
            literature::of(p, &solution),
        ),
        Input::Reduced(p) => (
            PreparedProblem::of_reduced(p).error_reduced(p, &solution.r),
            literature::of_reduced(p, &solution.r),
        ),
    };
    let contacts = result
        .as_ref()
        .ok()
        .filter(|_| method == Method::Newton)
        .map(|report| Contacts::of(&mut newton, report));
    let certificate = if arguments.certify {
        let mut certifier = Certifier::default();
        let certificate = match &stored.input {
            Input::Problem(p) => certifier.certify(p, &solution),
            Input::Reduced(p) => certifier.certify_reduced(p, &solution.r),
        };
        Some(certificate.ends())
    } else {
        result.as_ref().ok().and_then(|report| report.certificate)
    };
    Ok(Outcome {
        choice: *choice,
        result,
        solution,
        error,
        literature,
        wall,
        certificate,
        contacts,
    })
}

/// Certifies what an exact method accepted, as a part of its solve.
fn certify(
    method: Method,
    stored: &Stored,
    (solution, tolerance): (&Solution, Tolerance),
    report: &mut Report,
) {
    if !matches!(method, Method::Newton | Method::InteriorPoint | Method::Pivot) {
        return;
    }
    let mut certifier = Certifier::default();
    match &stored.input {
        Input::Problem(p) => certifier.attach(p, solution, &tolerance, report),
        Input::Reduced(p) => certifier.attach_reduced(p, &solution.r, &tolerance, report),
    }
}

/// The tolerance that was asked for.
pub(super) fn tolerance(arguments: &Arguments) -> Tolerance {
    Tolerance {
        relative: arguments.tol,
        velocity: arguments.tol_velocity,
        bound: arguments.tol_bound,
        velocity_relative: 0.0,
    }
}

impl Outcome {
    /// True if the answer was accepted and is proved to be further off than its tolerance.
    pub(super) fn refuted(&self, tolerance: &Tolerance) -> bool {
        let accepted =
            self.result.as_ref().is_ok_and(|report| report.error.accepted_locally(tolerance));
        let proved = |c: &Ends| matches!(c.standing, Standing::Proved | Standing::Moved);
        accepted
            && self.certificate.as_ref().is_some_and(|c| {
                proved(c) && c.lower > tolerance.largest_bound() * self.error.estimate_scale()
            })
    }
}

/// The largest ‖Δv‖_H between two solvers that answered, √J, if two did.
pub(super) fn largest_difference(input: &Input, outcomes: &[Outcome]) -> Option<f64> {
    let (matrix, points): (&Csr, fn(&Outcome) -> &[f64]) = match input {
        Input::Problem(p) => (&p.H, |o| &o.solution.v),
        Input::Reduced(p) => (&p.W, |o| &o.solution.r),
    };
    let answered: Vec<&[f64]> = outcomes.iter().filter(|o| o.result.is_ok()).map(points).collect();
    let mut largest = 0.0f64;
    for (i, a) in answered.iter().enumerate() {
        for b in &answered[..i] {
            let difference: Vec<f64> = a.iter().zip(*b).map(|(a, b)| a - b).collect();
            let mut image = vec![0.0; matrix.rows];
            matrix.mul(&difference, &mut image);
            largest = largest.max(dot(&difference, &image).max(0.0).sqrt());
        }
    }
    (answered.len() > 1).then_some(largest)
}
