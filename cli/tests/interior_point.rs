//! `interior-point` on real problems: the stored ones of a folder beside the repository, skipped if
//! it is absent.

mod collection;

use signorini::problem::files::Input;
use signorini::problem::{Problem, Solution, Tolerance};
use signorini::solve::interior_point::{InteriorPoint, Settings, Warm};
use signorini::solve::{Solver, Status, StoppingCriteria};
use std::path::{Path, PathBuf};

/// Files of the collection with at most this many rows: the whole test takes seconds.
const MAX_PROBLEM_ROWS: usize = 4000;

fn files() -> Vec<PathBuf> {
    let files = collection::files("corpus-chrono");
    collection::ran("interior_point", "corpus-chrono (up to 4000 rows)", files.len());
    files
}

fn read(path: &Path) -> Option<(Problem, Solution)> {
    let stored = signorini_files::fclib::read(path).expect("the file is readable");
    match (stored.input, stored.solution) {
        (Input::Problem(problem), Some(solution)) if problem.rows() <= MAX_PROBLEM_ROWS => {
            Some((problem, solution))
        }
        _ => None,
    }
}

#[test]
fn the_cone_law_is_solved_to_the_reference_in_few_factorizations() {
    let stop = StoppingCriteria {
        tolerance: Tolerance {
            relative: 1e-10,
            velocity: 1e-8,
            bound: None,
            velocity_relative: 0.0,
        },
        ..StoppingCriteria::default()
    };
    // Without sweeps, and with.
    let (mut count, mut sums) = (0, [0; 2]);
    for (problem, reference) in files().iter().filter_map(|p| read(p)) {
        let problem = problem.associated();
        for (warm, sum) in [Warm::Cold, Warm::Best].into_iter().zip(&mut sums) {
            let mut solution = Solution::zero(problem.n(), problem.rows());
            let mut method = InteriorPoint::new(Settings { stop, warm, ..Settings::default() });
            let report = method.solve(&problem, &mut solution).expect("treated");
            assert_eq!(report.status, Status::Converged, "{}: {report:?}", problem.name);
            assert!(report.work <= 25, "{}: {} factorizations", problem.name, report.work);
            let off =
                solution.v.iter().zip(&reference.v).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(off <= 1e-7, "{}, {warm:?}: v off by {off:e}", problem.name);
            *sum += report.work;
        }
        count += 1;
    }
    assert!(sums[0] <= 13 * count, "{sums:?} factorizations for {count} problems");
    // Sweeps pay: they cost as much as two or three factorizations and must save more.
    assert!(2 * sums[1] <= sums[0], "{sums:?} factorizations for {count} problems");
}

#[test]
fn the_true_law_is_solved_around_it() {
    let tolerance =
        Tolerance { relative: 1e-8, velocity: 1e-6, bound: None, velocity_relative: 0.0 };
    let easy = ["balls_64", "brick", "stack15_equal", "chain50_mu0.5__swing"];
    for path in files() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !easy.iter().any(|e| name.starts_with(e)) {
            continue;
        }
        let Some((problem, _)) = read(&path) else { continue };
        let problem = problem.true_friction();
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let mut method = InteriorPoint::new(Settings {
            stop: StoppingCriteria { tolerance, ..StoppingCriteria::default() },
            ..Settings::default()
        });
        let report = method.solve(&problem, &mut solution).expect("treated");
        assert_eq!(report.status, Status::Converged, "{name}: {report:?}");
    }
}
