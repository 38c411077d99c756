//! `problems/scenes`: steps of our scenes as problems with their solutions. All are listed, small,
//! read, of every law, and solved.

use signorini::problem::files::Input;
use signorini::problem::{Law, PreparedProblem, Problem, Solution, Tolerance};
use signorini::solve::{Method, Status, StoppingCriteria};
use std::fs;
use std::path::{Path, PathBuf};

/// Larger problems are only read and judged here: the test takes some seconds.
const MAX_SOLVED_ROWS: usize = 1500;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../problems")
}

/// Name, problem and solution of every stored step.
fn steps() -> Vec<(String, Problem, Solution)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder().join("scenes"))
        .expect("problems/scenes")
        .map(|entry| entry.expect("a file").path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let stored =
                signorini_files::load::load(path, None).unwrap_or_else(|e| panic!("{name}: {e}"));
            match (stored.input, stored.solution) {
                (Input::Problem(problem), Some(solution)) => (name, problem, solution),
                _ => panic!("{name}: a problem and its solution were wanted"),
            }
        })
        .collect()
}

#[test]
fn there_are_sixty_problems_of_all_kinds_and_the_list_names_them() {
    let steps = steps();
    assert!(steps.len() >= 60, "{}", steps.len());
    let list = fs::read_to_string(folder().join("README.md")).expect("the list");
    for (name, ..) in &steps {
        assert!(list.contains(&format!("`{name}`")), "problems/README.md does not list {name}");
    }
    let kinds: [(&str, fn(&Law) -> bool); 5] = [
        ("equality", |law| *law == Law::Equality),
        ("unilateral", |law| *law == Law::Unilateral),
        ("interval", |law| matches!(law, Law::Interval { .. })),
        ("cone", |law| matches!(law, Law::Cone { .. })),
        ("coulomb", |law| matches!(law, Law::Coulomb { .. })),
    ];
    for (kind, is) in kinds {
        assert!(steps.iter().any(|(_, p, _)| p.laws.iter().any(is)), "no problem with {kind}");
    }
    let bytes: u64 = fs::read_dir(folder().join("scenes"))
        .expect("the folder")
        .map(|entry| entry.and_then(|e| e.metadata()).expect("a file").len())
        .sum();
    assert!(bytes <= 10 << 20, "{bytes} bytes");
}

#[test]
fn the_stored_solutions_are_solutions_and_auto_finds_one() {
    let tolerance = Tolerance { bound: Some(1.0), ..Tolerance::default() };
    for (name, problem, solution) in steps() {
        let mut prepared = PreparedProblem::of(&problem).unwrap_or_else(|e| panic!("{name}: {e}"));
        let error = prepared.error(&problem, &solution);
        // What the scene asked for when the step was taken: 1e-4 of the energy at most.
        assert!(error.relative() <= 1e-4, "{name}: {error:?}");
        if problem.rows() > MAX_SOLVED_ROWS {
            continue;
        }
        let stop = StoppingCriteria { tolerance, ..StoppingCriteria::default() };
        let mut answer = Solution::zero(problem.n(), problem.rows());
        let report = Method::Auto.build(stop).solve(&problem, &mut answer).expect("treated");
        assert_eq!(report.status, Status::Converged, "{name}: {:?}", report.error);
    }
}
