//! `psor` on the collections beside the repository; skipped, with a line that says so, where they
//! are absent.

mod collection;

use signorini::math::dot;
use signorini::problem::files::{Input, Stored};
use signorini::problem::{Solution, Tolerance, literature};
use signorini::solve::psor::{Psor, Settings};
use signorini::solve::{ReducedSolver, Solver, Status, StoppingCriteria};

fn stored(folder: &str, name: &str) -> Option<Stored> {
    let path = collection::folder(folder).join(name);
    collection::ran("psor", &format!("{folder}: {name}"), usize::from(path.exists()));
    if !path.exists() {
        return None;
    }
    Some(signorini_files::load::load(&path, None).expect("a file of the collection"))
}

fn settings(relative: f64, velocity: f64, work: u64) -> Settings {
    let stop = StoppingCriteria {
        tolerance: Tolerance { relative, velocity, bound: None, velocity_relative: 0.0 },
        work: Some(work),
        ..StoppingCriteria::default()
    };
    Settings { stop, ..Settings::default() }
}

#[test]
fn the_motion_is_that_of_the_reference() {
    for name in [
        "balls_280_mu0.5__early",
        "brick_mu0.5__first",
        "chain50_mu0.5__falling",
        "fourbars_mu0.5__early",
        "stack15_equal_mu0.5__first",
    ] {
        let Some(stored) = stored("corpus-chrono", &format!("{name}.hdf5")) else { continue };
        let (Input::Problem(problem), Some(reference)) =
            (stored.input.associated(), stored.solution)
        else {
            panic!("{name}")
        };
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report = Psor::new(settings(1e-12, 1e-6, 1000)).solve(&problem, &mut solution).unwrap();
        assert_eq!(report.status, Status::Converged, "{name}: {:?}", report.error);
        let difference: Vec<f64> =
            solution.v.iter().zip(&reference.v).map(|(a, b)| a - b).collect();
        let mut image = vec![0.0; problem.n()];
        problem.H.mul(&difference, &mut image);
        let energy = 0.5 * dot(&difference, &image);
        // The bound is an estimate that stays within a factor 4 of a true bound; the references are
        // good to 1e-12 of the scale.
        assert!(
            energy <= 4.0 * report.error.estimate + 1e-12 * report.error.scale,
            "{name}: {energy:e} J of {:e} J",
            report.error.estimate
        );
    }
}

#[test]
fn what_is_not_solved_is_not_called_converged() {
    for name in ["stack15_ratio10_mu0__first", "stack15_ratio10_mu0.5__late"] {
        let Some(stored) = stored("corpus-chrono", &format!("{name}.hdf5")) else { continue };
        let Input::Problem(problem) = stored.input.associated() else { panic!("{name}") };
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report = Psor::new(settings(1e-8, 1e-6, 200)).solve(&problem, &mut solution).unwrap();
        assert!(matches!(report.status, Status::Budget | Status::Stalled), "{name}");
        assert!(
            report.error.joule > 0.0 && solution.v.iter().chain(&solution.r).all(|x| x.is_finite())
        );
    }
}

#[test]
fn coulomb_problems_reach_the_error_of_their_collection() {
    for (name, published) in
        [("NESpheres_10_1.dat", 23), ("Rover1040.dat", 21), ("OneObject-i1028-138.hdf5.dat", 1100)]
    {
        let Some(stored) = stored("corpus/fc3d", name) else { continue };
        let Input::Reduced(reduced) = stored.input else { panic!("{name}") };
        let mut solution = Solution::zero(0, reduced.rows());
        // An energy error of 1e-14 is about the square of the published measure, 1e-8.
        let report = Psor::new(settings(1e-14, f64::INFINITY, published))
            .solve_reduced(&reduced, &mut solution)
            .unwrap();
        let siconos = literature::of_reduced(&reduced, &solution.r).siconos;
        assert!(siconos <= 1e-8, "{name}: {siconos:e} after {} sweeps", report.work);
    }
}
