//! `newton` on real problems: the stored ones of folders beside the repository, skipped if they are
//! absent.

mod collection;

use serde_json::Value;
use signorini::problem::files::Input;
use signorini::problem::literature;
use signorini::problem::{Solution, Tolerance};
use signorini::solve::newton::{Newton, Settings};
use signorini::solve::{ReducedSolver, Report, Solver, Status, StoppingCriteria};
use signorini_bench::newton::wanted;
use signorini_files::load::load;
use std::process::Command;

/// Files that take more factorizations than [`wanted`], and the most that they may take.
/// `RockPile`: what two attempts in vain and the careful one take.
const HARDER_FILES: [(&str, u64); 1] = [("RockPile", 3000)];

/// Files of Siconos' collection under the true law; `RockPile`, which takes seconds, only when
/// asked for.
fn files() -> Vec<(String, Input)> {
    let slow = std::env::var_os("SIGNORINI_SLOW").is_some();
    let paths = ["fc2d", "fc3d", "gfc2d", "gfc3d"]
        .into_iter()
        .flat_map(|kind| collection::files(&format!("corpus/{kind}")));
    let named = paths.map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), p));
    named
        .filter(|(name, _)| slow || !name.contains("RockPile"))
        .map(|(name, p)| (name, load(&p, None).unwrap().input.true_friction()))
        .collect()
}

fn solve(
    input: &Input,
    tolerance: Tolerance,
    residual: Option<f64>,
    solution: &mut Solution,
) -> Report {
    let mut newton = Newton::new(Settings {
        stop: StoppingCriteria { tolerance, ..StoppingCriteria::default() },
        residual,
    });
    match input {
        Input::Problem(problem) => newton.solve(problem, solution).unwrap(),
        Input::Reduced(reduced) => newton.solve_reduced(reduced, solution).unwrap(),
    }
}

#[test]
fn every_file_is_solved_cold_in_few_factorizations() {
    let (mut count, mut finest) = (0, 0);
    for (name, input) in files() {
        for asked in [1e-8, 1e-12] {
            let mut solution = Solution::zero(input.n(), input.rows());
            let tolerance = Tolerance { relative: asked, ..Tolerance::default() };
            let report = solve(&input, tolerance, Some(asked), &mut solution);
            let siconos = match &input {
                Input::Problem(problem) => literature::of(problem, &solution).siconos,
                Input::Reduced(reduced) => literature::of_reduced(reduced, &solution.r).siconos,
            };
            let good = report.status == Status::Converged
                && siconos <= asked
                && report.error.relative() <= asked;
            if asked == 1e-12 {
                finest += usize::from(good);
                continue;
            }
            assert!(good, "{name}: {siconos:e} {:e} {:?}", report.error.relative(), report.notes);
            let most = HARDER_FILES
                .iter()
                .find(|more| name.contains(more.0))
                .map_or(wanted(&name), |more| more.1);
            assert!(report.counts.factorizations <= most, "{name}: {:?}", report.counts);
            count += 1;
        }
    }
    collection::ran("newton, cold", "corpus", count);
    assert!(20 * finest >= 19 * count, "{finest} of {count} to 1e-12");
}

#[test]
fn the_work_does_not_depend_on_the_order_of_the_contacts() {
    if files().is_empty() {
        return;
    }
    let corpus = collection::folder("corpus");
    let bench = |only: &str, more: &[&str]| -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signorini"));
        command
            .args(["bench", "newton", "--json", "--repeat", "1", "--only", only, "--corpus"])
            .arg(&corpus)
            .args(more);
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    };
    for only in ["Capsules", "OneObject", "BoxesStack1", "00237", "02020", "Spheres"] {
        let given = bench(only, &[]);
        for seed in ["1", "2"] {
            for (a, b) in given.iter().zip(bench(only, &["--shuffled", seed])) {
                let work = |row: &Value| {
                    row["sweeps"].as_f64().unwrap() + 10.0 * row["factorizations"].as_f64().unwrap()
                };
                assert!(
                    b["status"] == "converged" && b["siconos"].as_f64().unwrap() <= 1e-8,
                    "{b}"
                );
                assert!((0.5..=2.0).contains(&(work(&b) / work(a))), "{a} {b}");
            }
        }
    }
}

#[test]
fn small_problems_of_chrono_are_solved_under_the_true_law() {
    let small = ["balls_64", "ballsnarrow", "brick", "stack15", "chain50", "fourbars"];
    let mut ran = 0;
    for path in collection::files("corpus-chrono") {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !small.iter().any(|s| name.starts_with(s)) {
            continue;
        }
        ran += 1;
        let input = load(&path, None).unwrap().input.true_friction();
        let mut solution = Solution::zero(input.n(), input.rows());
        let report = solve(&input, Tolerance::default(), None, &mut solution);
        assert_eq!(
            report.status,
            Status::Converged,
            "{name}: {:?} {:?}",
            report.error,
            report.notes
        );
        // What it found is its own best guess.
        let mut again = solution.clone();
        let second = solve(&input, Tolerance::default(), None, &mut again);
        assert_eq!((second.counts.sweeps, second.counts.factorizations), (0, 0), "{name}");
        assert!(again == solution, "{name}: the answer changed");
        // A brick on the ground: nothing takes off.
        let Input::Problem(problem) = &input else { continue };
        if name.starts_with("brick") {
            let mut u = vec![0.0; problem.rows()];
            problem.local_velocities(&solution.v, &solution.r, &mut u);
            // δu ≤ 1e-6 m/s is what was asked for.
            assert!(problem.J.blocks().all(|block| u[block.first].abs() < 2e-6), "{name}: {u:?}");
        }
    }
    collection::ran("newton, true law", "corpus-chrono", ran);
}
