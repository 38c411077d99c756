//! `pivot` on the stored problems, friction by pyramids; the collections are looked for beside the repository.

use signorini::problem::files::Input;
use signorini::problem::{Judge, Solution, Tolerance};
use signorini::solve::interior_point::{self, InteriorPoint};
use signorini::solve::pivot::{Pivot, Settings, pyramid, pyramid_reduced};
use signorini::solve::{ReducedSolver, Report, Solver, Status, Stop};
use signorini_cli::load::load;
use std::path::PathBuf;

/// The files of a folder beside the repository, sorted; none (and a line that says so) if it is not there.
fn files(folder: &str) -> Vec<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(folder);
    let Ok(entries) = std::fs::read_dir(&path) else {
        println!("skipped: no folder {}", path.display());
        return Vec::new();
    };
    let mut out: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    out.sort();
    out
}

fn exact() -> Stop {
    Stop { tolerance: Tolerance { relative: 1e-14, velocity: 1e-6, bound: None }, ..Stop::default() }
}

/// The largest number of rows here; `signorini bench pivot FILE…` does the rest in minutes.
const LARGEST: usize = 900;

#[test]
fn every_problem_with_velocities_is_exact_and_agrees_with_the_interior_point() {
    let mut seen = 0;
    for path in files("corpus-chrono").into_iter().chain(files("corpus/gfc2d")).chain(files("corpus/gfc3d")) {
        let Ok(stored) = load(&path, None) else { continue };
        let Input::Problem(problem) = stored.input else { continue };
        let problem = pyramid(&problem.associated(), 4);
        // Iteration matrices that are not symmetric are for other methods.
        if problem.rows() > LARGEST || problem.check().is_err() {
            continue;
        }
        seen += 1;
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report = Pivot::new(Settings { stop: exact(), facets: 4 }).solve(&problem, &mut solution).unwrap();
        assert_eq!(report.status, Status::Converged, "{}: {:?}", problem.name, report.error);
        assert!(report.error.relative() <= 1e-14, "{}: {:?}", problem.name, report.error);
        let mut other = Solution::zero(problem.n(), problem.rows());
        let settings = interior_point::Settings { stop: exact(), ..Default::default() };
        let second = InteriorPoint::new(settings).solve(&problem, &mut other).unwrap();
        if second.status == Status::Converged {
            let apart = solution.v.iter().zip(&other.v).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            // It was asked for 1e-6 m/s in every row; a body hangs on several.
            assert!(apart <= 1e-5, "{}: {apart:.1e} m/s apart", problem.name);
        }
    }
    println!("{seen} problems");
}

fn solve_all(folder: &str) -> (usize, Vec<(String, Report)>) {
    let (mut solved, mut rest) = (0, Vec::new());
    for path in files(folder) {
        let Ok(stored) = load(&path, None) else { continue };
        let Input::Reduced(reduced) = stored.input else { continue };
        let reduced = pyramid_reduced(&reduced.associated(), 4);
        let mut solution = Solution::zero(0, reduced.rows());
        let report = Pivot::new(Settings::default()).solve_reduced(&reduced, &mut solution).unwrap();
        assert_eq!(report.error, Judge::of_reduced(&reduced).error_reduced(&reduced, &solution.r));
        match report.status {
            Status::Converged => solved += 1,
            _ => rest.push((reduced.name, report)),
        }
    }
    (solved, rest)
}

#[test]
fn complementarity_problems_of_every_kind_are_solved() {
    // Of 13, 10 and 4 readable files the best pivoting methods of Siconos solve 10, 9 and 4.
    for (folder, wanted) in [("corpus/lcp", 12), ("corpus/mlcp", 10), ("corpus/relay", 4), ("corpus/gmp", 4)] {
        if files(folder).is_empty() {
            continue;
        }
        let (solved, rest) = solve_all(folder);
        assert!(solved >= wanted, "{folder}: {solved}, wanted {wanted}; not {rest:?}");
        for (name, report) in rest {
            // The one without a solution ends on a ray.
            assert!(name == "lcp_Pang_isolated_sol_perturbed" && report.notes.iter().any(|n| n.contains("ray")), "{name}");
        }
    }
}
