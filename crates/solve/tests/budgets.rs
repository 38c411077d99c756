//! More work never returns a worse answer: every method on growing budgets, with tolerances that it
//! cannot reach.

use signorini_solve::problem::{Tolerance, test_problems};
use signorini_solve::solve::{Method, StoppingCriteria};

/// Relative errors below this are rounding: which of them is the least is chance.
const ROUNDING: f64 = 1e-18;

#[test]
fn more_work_never_returns_a_worse_answer() {
    let tolerance = Tolerance { relative: 1e-30, velocity: 1e-30, ..Tolerance::default() };
    let (mut compared, mut improved, mut worse) = (0, 0, Vec::new());
    for known in test_problems::all() {
        for &method in Method::ALL {
            let budgets: &[u64] = match method {
                Method::Psor => &[1, 4, 16, 64, 200, 1000, 3000],
                _ => &[1, 2, 4, 8, 16, 64, 200],
            };
            let mut least = f64::INFINITY;
            for &work in budgets {
                let mut solution = signorini_solve::problem::Solution::zero(
                    known.problem.n(),
                    known.problem.rows(),
                );
                let stop =
                    StoppingCriteria { tolerance, work: Some(work), ..StoppingCriteria::default() };
                let Ok(report) = method.build(stop).solve(&known.problem, &mut solution) else {
                    break;
                };
                let error = report.error.relative();
                if !(error <= 2.0 * least.max(ROUNDING)) {
                    worse.push(format!(
                        "{} by {}: {error:e} after {work}, {least:e} before",
                        known.problem.name,
                        method.name()
                    ));
                }
                compared += 1;
                improved += u32::from(error < 0.5 * least && least.is_finite());
                least = least.min(error);
            }
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
    // Budgets must matter, or nothing was compared.
    assert!(compared > 200 && improved > 50, "{compared} answers, {improved} improved");
}
