//! `pivot` on the stored problems, friction by pyramids; the collections are looked for beside the
//! repository.

mod collection;

use signorini::problem::files::Input;
use signorini::problem::{PreparedProblem, Solution};
use signorini::solve::pivot::{Pivot, Settings, pyramid_reduced};
use signorini::solve::{ReducedSolver, Report, Status};
use signorini_bench::pivot_corpus::{self, Wanted};
use signorini_files::load::load;
use std::path::PathBuf;

/// The files of a folder beside the repository, sorted; none (and a line that says so) if it is not
/// there.
fn files(folder: &str) -> Vec<PathBuf> {
    collection::files(folder)
}

/// The largest number of unilateral rows here; `signorini bench pivot --corpus DIR` shows the rest
/// in minutes.
const MAX_ROWS: usize = 900;

#[test]
fn every_semidefinite_problem_is_exact_and_agrees_with_the_interior_point() {
    let wanted = Wanted {
        files: Vec::new(),
        corpora: Vec::new(),
        only: String::new(),
        facets: 4,
        seconds: 600,
        largest: MAX_ROWS,
        json: false,
    };
    let mut seen = 0;
    for folder in [
        "corpus-chrono",
        "corpus/fc2d",
        "corpus/fc3d",
        "corpus/gfc2d",
        "corpus/gfc3d",
        "corpus/soclcp",
    ] {
        for path in files(folder) {
            let Ok(Some(row)) = pivot_corpus::row(&path, &wanted) else { continue };
            if row.outside.is_empty() {
                assert!(row.exact(), "{}", serde_json::to_string(&row).unwrap());
                assert!(row.agrees(), "{}", serde_json::to_string(&row).unwrap());
                seen += 1;
            }
        }
    }
    collection::ran("pivot against the interior point", "corpus and corpus-chrono", seen);
}

fn solve_all(folder: &str) -> (usize, Vec<(String, Report)>) {
    let (mut solved, mut rest) = (0, Vec::new());
    for path in files(folder) {
        let Ok(stored) = load(&path, None) else { continue };
        let Input::Reduced(reduced) = stored.input else { continue };
        let reduced = pyramid_reduced(&reduced.associated(), 4);
        let mut solution = Solution::zero(0, reduced.rows());
        let report =
            Pivot::new(Settings::default()).solve_reduced(&reduced, &mut solution).unwrap();
        assert_eq!(
            report.error,
            PreparedProblem::of_reduced(&reduced).error_reduced(&reduced, &solution.r)
        );
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
    for (folder, wanted) in
        [("corpus/lcp", 12), ("corpus/mlcp", 10), ("corpus/relay", 4), ("corpus/gmp", 4)]
    {
        collection::ran("pivot", folder, files(folder).len());
        if files(folder).is_empty() {
            continue;
        }
        let (solved, rest) = solve_all(folder);
        assert!(solved >= wanted, "{folder}: {solved}, wanted {wanted}; not {rest:?}");
        for (name, report) in rest {
            // The one without a solution ends on a ray.
            assert!(
                name == "lcp_Pang_isolated_sol_perturbed"
                    && report.notes.iter().any(|n| n.contains("ray")),
                "{name}"
            );
        }
    }
}
