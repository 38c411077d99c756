//! One method's answer to a stored problem, judged from the point alone.

use super::Arguments;
use super::contacts::Contacts;
use signorini::math::{dot, sparse::Csr};
use signorini::problem::files::{Input, Stored};
use signorini::problem::literature::{self, Literature};
use signorini::problem::{PreparedProblem, Residual, Solution, Tolerance};
use signorini::solve::certificate::{Certificate, Certifier, Standing};
use signorini::solve::newton::Newton;
use signorini::solve::options::Choice;
use signorini::solve::{
    DynSolver, Method, Report, Status, StoppingCriteria, Unsupported, auto, newton, pivot,
};
use std::time::{Duration, Instant};

/// One solver's answer.
pub(super) struct Outcome {
    pub(super) choice: Choice,
    pub(super) result: Result<Report, Unsupported>,
    pub(super) solution: Solution,
    pub(super) error: Residual,
    pub(super) literature: Literature,
    pub(super) wall: f64,
    /// With `--certify`.
    pub(super) certificate: Option<Certificate>,
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
        // One problem of a file is worth the certificate's work.
        Method::Auto => Box::new(auto::Auto::new(auto::Settings {
            stop,
            certify: true,
            last_factorizations: None,
            ..Default::default()
        })),
        _ => method.build_with(stop, &options)?,
    };
    let solver: &mut dyn DynSolver =
        if method == Method::Newton { &mut newton } else { other.as_mut() };
    let result = match &stored.input {
        Input::Problem(problem) => solver.solve(problem, &mut solution),
        Input::Reduced(reduced) => solver.solve_reduced(reduced, &mut solution),
    };
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
    let certificate = arguments.certify.then(|| match &stored.input {
        Input::Problem(p) => Certifier::default().certify(p, &solution),
        Input::Reduced(p) => Certifier::default().certify_reduced(p, &solution.r),
    });
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
        let converged = self.result.as_ref().is_ok_and(|report| report.status == Status::Converged);
        let proved = |c: &Certificate| matches!(c.standing, Standing::Proved | Standing::Moved);
        converged
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
