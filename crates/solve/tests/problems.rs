//! Every method × every stored problem, measured by the error in joules.
//! A new method is one line of `PROMISES`; a new problem is one line of
//! `problem::test_problems::all`.

use signorini_solve::problem::files::{Input, json};
use signorini_solve::problem::test_problems::{self, ProblemWithSolution};
use signorini_solve::problem::{
    Law, PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance,
};
use signorini_solve::solve::auto::LADDERS;
use signorini_solve::solve::{Method, Report, Status, StoppingCriteria};
use std::path::Path;

/// What a method promises of the problems it treats.
struct Promise {
    method: Method,
    /// Which problems it treats; the others must be answered by `Unsupported`.
    treats: fn(&Problem) -> bool,
    /// Problems that it may leave unsolved, saying so.
    hard: &'static [&'static str],
}

fn equalities(problem: &Problem) -> bool {
    problem.laws.iter().all(|law| *law == Law::Equality)
}

fn everything(_: &Problem) -> bool {
    true
}

/// No friction of three rows, which `pivot` replaces by a pyramid: its answer is then one of the
/// pyramid, and it says so.
fn polyhedral(problem: &Problem) -> bool {
    problem.laws.iter().all(|law| law.rows() < 3)
}

const PROMISES: &[Promise] = &[
    Promise { method: Method::Auto, treats: everything, hard: &[] },
    Promise { method: Method::Direct, treats: equalities, hard: &[] },
    Promise {
        method: Method::Psor,
        treats: everything,
        hard: &["stack_10_ratio2", "stack_10_ratio10", "mixed_cone_large_7"],
    },
    Promise { method: Method::InteriorPoint, treats: everything, hard: &[] },
    Promise { method: Method::Newton, treats: everything, hard: &["stack_10_ratio10"] },
    Promise { method: Method::Pivot, treats: polyhedral, hard: &[] },
];

#[test]
fn every_method_has_its_promise() {
    let promised: Vec<Method> = PROMISES.iter().map(|promise| promise.method).collect();
    assert!(
        Method::ALL.iter().all(|method| promised.contains(method))
            && promised.len() == Method::ALL.len(),
        "{promised:?}"
    );
}

/// The energy of a velocity error, as √J.
fn distance(problem: &Problem, a: &[f64], b: &[f64]) -> f64 {
    let wrong: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let mut momentum = vec![0.0; wrong.len()];
    problem.H.mul(&wrong, &mut momentum);
    signorini_solve::math::dot(&wrong, &momentum).max(0.0).sqrt()
}

/// What must be true of every report, whatever happened.
fn honest(
    what: &str,
    problem: &Problem,
    solution: &Solution,
    report: &Report,
    tolerance: &Tolerance,
) {
    assert!(
        solution.v.iter().chain(&solution.r).all(|x| x.is_finite()),
        "{what}: NaN in the answer"
    );
    let evaluated: Residual = PreparedProblem::of(problem).unwrap().error(problem, solution);
    assert!(
        evaluated.relative() <= report.error.relative() * (1.0 + 1e-9) + 1e-30,
        "{what}: reported {:?}, evaluated {evaluated:?}",
        report.error
    );
    if report.status == Status::Converged {
        assert!(evaluated.accepted(tolerance), "{what}: called converged at {evaluated:?}");
    }
}

#[test]
fn every_method_on_every_problem() {
    let tolerance = Tolerance::default();
    for promise in PROMISES {
        for ProblemWithSolution { problem, solution: known } in test_problems::all() {
            let what = format!("{} on {}", promise.method.name(), problem.name);
            let mut solver =
                promise.method.build(StoppingCriteria { tolerance, ..StoppingCriteria::default() });
            let mut solution = Solution::zero(problem.n(), problem.rows());
            let Ok(report) = solver.solve(&problem, &mut solution) else {
                assert!(!(promise.treats)(&problem), "{what}: unsupported");
                continue;
            };
            honest(&what, &problem, &solution, &report, &tolerance);
            let hard = promise.hard.contains(&problem.name.as_str()) || !(promise.treats)(&problem);
            assert!(
                hard || report.status == Status::Converged,
                "{what}: {:?} {:?}",
                report.status,
                report.error
            );
            if report.status == Status::Converged {
                // The bound is of first order: ½‖Δv‖² ≤ bound ≤ √tol · scale; a Coulomb problem may
                // have several solutions.
                let coulomb = problem.laws.iter().any(|law| matches!(law, Law::Coulomb { .. }))
                    && problem.laws.len() > 4;
                let far = distance(&problem, &solution.v, &known.v);
                let rounding = 1e-14 * distance(&problem, &known.v, &vec![0.0; known.v.len()]);
                let allowed =
                    (2.0 * report.error.estimate.max(1e-12 * report.error.scale)).sqrt() + rounding;
                assert!(coulomb || far <= allowed, "{what}: v is {far:e} √J off");
                // From the answer, the method has nothing left to do; where it promises nothing,
                // the rounding of v may undo a lucky answer.
                let again = solver.solve(&problem, &mut solution).expect("it was treated before");
                assert!(
                    hard || again.status == Status::Converged,
                    "{what}: from its own answer: {:?}",
                    again.error
                );
            }
        }
    }
}

#[test]
fn every_method_on_every_reduced_problem() {
    let tolerance = Tolerance::default();
    for promise in PROMISES {
        for ProblemWithSolution { problem, .. } in test_problems::all() {
            if problem.rows() == 0 {
                continue;
            }
            let what = format!("{} on reduced {}", promise.method.name(), problem.name);
            let reduced = Reduced::of(&problem).unwrap();
            let mut solution = Solution::zero(0, reduced.rows());
            let Ok(report) = promise
                .method
                .build(StoppingCriteria { tolerance, ..StoppingCriteria::default() })
                .solve_reduced(&reduced, &mut solution)
            else {
                assert!(!(promise.treats)(&problem), "{what}: unsupported");
                continue;
            };
            assert!(solution.r.iter().all(|x| x.is_finite()), "{what}: NaN in the answer");
            let evaluated =
                PreparedProblem::of_reduced(&reduced).error_reduced(&reduced, &solution.r);
            assert!(
                report.status != Status::Converged || evaluated.accepted(&tolerance),
                "{what}: called converged at {evaluated:?}"
            );
            let hard = promise.hard.contains(&problem.name.as_str()) || !(promise.treats)(&problem);
            assert!(
                hard || report.status == Status::Converged,
                "{what}: {:?} {:?}",
                report.status,
                report.error
            );
        }
    }
}

#[test]
fn contradictions_are_not_called_converged() {
    // Two rows that want 0 and 1 m/s of the same point.
    let mut problem = test_problems::all()
        .into_iter()
        .find(|k| k.problem.name == "door_on_three_hinges")
        .unwrap()
        .problem;
    problem.w[2] = 1.0;
    for promise in PROMISES {
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report = promise
            .method
            .build(StoppingCriteria::default())
            .solve(&problem, &mut solution)
            .unwrap();
        let what = promise.method.name();
        assert_ne!(report.status, Status::Converged, "{what}");
        honest(what, &problem, &solution, &report, &Tolerance::default());
    }
}

#[test]
fn budgets_are_kept_and_deadlines_are_marked() {
    let problem = test_problems::all()
        .into_iter()
        .find(|k| k.problem.name == "mixed_cone_large_7")
        .unwrap()
        .problem;
    for promise in PROMISES.iter().filter(|p| (p.treats)(&problem)) {
        let what = promise.method.name();
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let stop = StoppingCriteria { work: Some(1), ..StoppingCriteria::default() };
        let report = promise.method.build(stop).solve(&problem, &mut solution).unwrap();
        // `auto` gives the budget to each of its stages.
        let stages = LADDERS.iter().map(|(_, stages)| stages.len() as u64).max().unwrap();
        let most = if promise.method == Method::Auto { stages } else { 1 };
        assert!(report.work <= most && report.reproducible, "{what}: {} of {most}", report.work);
        honest(what, &problem, &solution, &report, &Tolerance::default());
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let late = StoppingCriteria {
            deadline: Some(std::time::Instant::now()),
            ..StoppingCriteria::default()
        };
        let report = promise.method.build(late).solve(&problem, &mut solution).unwrap();
        honest(what, &problem, &solution, &report, &Tolerance::default());
        assert!(
            report.status == Status::Converged || !report.reproducible,
            "{what}: {:?}",
            report.status
        );
    }
}

/// `problems/` holds exactly what the code makes. `SIGNORINI_WRITE=1 cargo test --test problems`
/// writes it anew.
#[test]
fn the_stored_problems_are_what_the_code_makes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems");
    let write = std::env::var_os("SIGNORINI_WRITE").is_some();
    let mut expected = Vec::new();
    for ProblemWithSolution { problem, solution } in test_problems::all() {
        let name = format!("{}.json", problem.name);
        let text = json::write(&Input::Problem(problem), Some(&solution), None);
        if write {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(&name), &text).unwrap();
        }
        let stored =
            std::fs::read_to_string(folder.join(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(stored, text, "{name} is not what the code makes");
        expected.push(name);
    }
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // `problems/scenes` holds steps of scenes, which `problems/make` makes.
        if !name.ends_with(".json") {
            continue;
        }
        assert!(expected.contains(&name), "problems/{name} is not made by the code");
    }
}
