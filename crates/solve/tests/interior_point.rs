//! `interior-point` against closed forms, manufactured solutions, and what it must refuse.

use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::{Law, Problem, Reduced, Rows, Solution, Tolerance, test_problems};
use signorini_solve::solve::interior_point::{InteriorPoint, Settings, Warm};
use signorini_solve::solve::{ReducedSolver, Report, Solver, Status, StoppingCriteria};

/// Tight enough that velocities of order 1 agree to nine digits; the method reaches 1e-12 and
/// below.
const TIGHT: Tolerance =
    Tolerance { relative: 1e-14, velocity: 1e-10, bound: None, velocity_relative: 0.0 };

fn method(warm: Warm) -> InteriorPoint {
    InteriorPoint::new(Settings {
        stop: StoppingCriteria { tolerance: TIGHT, ..StoppingCriteria::default() },
        warm,
        ..Settings::default()
    })
}

fn solve(problem: &Problem) -> (Solution, Report) {
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = method(Warm::Cold).solve(problem, &mut solution).expect("every law is treated");
    (solution, report)
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

#[test]
fn every_known_problem_is_solved_to_its_known_velocities() {
    for known in test_problems::all() {
        let (solution, report) = solve(&known.problem);
        assert_eq!(report.status, Status::Converged, "{}: {:?}", known.problem.name, report);
        // Velocities of order 1, the error in v may exceed the tolerated δu by the conditioning of
        // W.
        let off = difference(&solution.v, &known.solution.v);
        assert!(off < 1e-8, "{}: v off by {off:e}", known.problem.name);
    }
}

#[test]
fn the_path_alone_takes_no_sweeps_and_no_newton_steps() {
    let tolerance =
        Tolerance { relative: 1e-10, velocity: 1e-8, bound: None, velocity_relative: 0.0 };
    let stop = StoppingCriteria { tolerance, ..StoppingCriteria::default() };
    for warm in [Warm::Cold, Warm::Best] {
        for n in [5, 15, 50] {
            let problem = stack(n, 1.0);
            let mut solution = Solution::zero(problem.n(), problem.rows());
            let settings = Settings { stop, warm, path_alone: true, ..Default::default() };
            let report =
                InteriorPoint::new(settings).solve(&problem, &mut solution).expect("treated");
            assert_eq!(report.status, Status::Converged, "{n}: {report:?}");
            assert!(report.phases.iter().all(|phase| phase.0 == "path"), "{:?}", report.phases);
            // (Mangoni2018): the number of iterations does not depend on the number of spheres.
            assert!((3..=20).contains(&report.work), "{n} spheres: {}", report.work);
        }
    }
}

#[test]
fn the_reduced_view_has_the_same_velocities() {
    for known in test_problems::all() {
        if known.problem.rows() == 0 {
            continue;
        }
        let reduced = Reduced::of(&known.problem).expect("H is definite");
        let mut solution = Solution::zero(0, reduced.rows());
        let stop = StoppingCriteria {
            tolerance: Tolerance {
                relative: 1e-12,
                velocity: 1e-8,
                bound: None,
                velocity_relative: 0.0,
            },
            ..StoppingCriteria::default()
        };
        let report = InteriorPoint::new(Settings { stop, warm: Warm::Cold, ..Settings::default() })
            .solve_reduced(&reduced, &mut solution)
            .expect("treated");
        assert_eq!(report.status, Status::Converged, "{}: {:?}", reduced.name, report);
    }
}

/// n spheres on vertical guides, the j-th of `ratio`^j kg, at rest on each other under gravity: v
/// = 0.
fn stack(n: usize, ratio: f64) -> Problem {
    let masses: Vec<f64> = (0..n).map(|j| ratio.powi(j as i32)).collect();
    let mut rows = Rows::new(n);
    for j in 0..n {
        if j == 0 {
            rows.push(1, &[0], &[1.0]);
        } else {
            rows.push(1, &[j as u32 - 1, j as u32], &[-1.0, 1.0]);
        }
    }
    Problem {
        name: format!("stack {n} {ratio}"),
        H: Csr::diagonal(&masses),
        k: masses.iter().map(|m| -9.81 * 0.05 * m).collect(),
        J: rows,
        E: vec![0.0; n],
        w: vec![0.0; n],
        laws: vec![Law::Unilateral; n],
        names: Vec::new(),
    }
}

#[test]
fn twenty_spheres_ten_times_heavier_each_stand_still() {
    for ratio in [10.0, 0.1] {
        let (solution, report) = solve(&stack(20, ratio));
        assert_eq!(report.status, Status::Converged, "{report:?}");
        // The mass ratio is 1e19; the issue asks for 1e-8 m/s.
        assert!(solution.v.iter().all(|v| v.abs() < 1e-10), "{:?}", solution.v);
    }
}

#[test]
fn contradicting_joints_are_named() {
    // The point 0 is held at two speeds at once; the point 1 has nothing to do with it.
    let mut rows = Rows::new(2);
    for column in [0, 0, 1] {
        rows.push(1, &[column], &[1.0]);
    }
    let problem = Problem {
        name: "two motors".into(),
        H: Csr::diagonal(&[1.0, 1.0]),
        k: vec![0.0, 0.0],
        J: rows,
        E: vec![0.0; 3],
        w: vec![-1.0, 1.0, -1.0],
        laws: vec![Law::Equality; 3],
        names: Vec::new(),
    };
    let (solution, report) = solve(&problem);
    assert_eq!(report.status, Status::Infeasible, "{report:?}");
    assert_eq!(report.conflict, vec![0, 1]);
    assert!(solution.v.iter().chain(&solution.r).all(|x| x.is_finite()));
}

#[test]
fn a_body_wedged_between_fixed_walls_is_named() {
    // v ≥ 1 and −v ≥ 1, beside a ball that rests on the ground.
    let mut rows = Rows::new(2);
    rows.push(1, &[1], &[1.0]);
    rows.push(1, &[0], &[1.0]);
    rows.push(1, &[0], &[-1.0]);
    let problem = Problem {
        name: "wedge".into(),
        H: Csr::diagonal(&[1.0, 1.0]),
        k: vec![0.0, -1.0],
        J: rows,
        E: vec![0.0; 3],
        w: vec![0.0, -1.0, -1.0],
        laws: vec![Law::Unilateral; 3],
        names: Vec::new(),
    };
    let (solution, report) = solve(&problem);
    assert_eq!(report.status, Status::Infeasible, "{report:?}");
    assert_eq!(report.conflict, vec![1, 2]);
    assert!(solution.v.iter().chain(&solution.r).all(|x| x.is_finite()));
}

/// A bar of `n` masses joined by springs (one clique, sparse H) that falls on `contacts` points
/// with friction.
fn bar(n: usize, law: Law) -> Problem {
    let mut t = Vec::new();
    for i in 0..2 * n as u32 {
        t.push((i, i, 2.5));
        if i >= 2 {
            t.push((i, i - 2, -1.2));
            t.push((i - 2, i, -1.2));
        }
    }
    let mut rows = Rows::new(2 * n);
    for j in 0..n as u32 {
        rows.push(2, &[2 * j, 2 * j + 1], &[1.0, 0.0, 0.0, 1.0]);
    }
    Problem {
        name: "bar".into(),
        H: Csr::from_triplets(2 * n, 2 * n, &t),
        k: (0..2 * n)
            .map(
                |i| if i % 2 == 0 { -1.0 + 0.9 * (i as f64 * 0.1).sin() } else { (i as f64).cos() },
            )
            .collect(),
        J: rows,
        E: vec![0.0; 2 * n],
        w: vec![0.05; 2 * n],
        laws: vec![law; n],
        names: Vec::new(),
    }
}

#[test]
fn a_mesh_with_friction_agrees_with_its_reduced_view() {
    for law in [Law::Cone { mu: 0.4, rows: 2 }, Law::Coulomb { mu: 0.4, rows: 2 }] {
        let problem = bar(60, law);
        let (solution, report) = solve(&problem);
        assert_eq!(report.status, Status::Converged, "{report:?}");
        let reduced = Reduced::of(&problem).expect("H is definite");
        let mut other = Solution::zero(0, reduced.rows());
        let report = method(Warm::Cold).solve_reduced(&reduced, &mut other).expect("treated");
        assert_eq!(report.status, Status::Converged, "{report:?}");
        // W is definite here (n rows on n unknowns): r is unique.
        assert!(difference(&solution.r, &other.r) < 1e-7);
    }
}

#[test]
fn a_warm_start_is_never_slower_than_a_cold_one_beyond_one_iteration() {
    for known in test_problems::all() {
        let problem = &known.problem;
        let (solution, cold) = solve(problem);
        let mut same = solution.clone();
        let again = method(Warm::Best).solve(problem, &mut same).expect("treated");
        assert_eq!(again.status, Status::Converged);
        assert!(again.work <= cold.work, "{}: {} after {}", problem.name, again.work, cold.work);
        for size in [1e-6, 1e-2, 1.0] {
            let mut moved = problem.clone();
            for (i, k) in moved.k.iter_mut().enumerate() {
                *k += size * (i as f64 * 1.7).sin() * problem.H.get(i, i);
            }
            let (_, cold) = solve(&moved);
            let mut guess = solution.clone();
            let warm = method(Warm::Best).solve(&moved, &mut guess).expect("treated");
            if cold.status == Status::Converged && cold.counts.outer == 0 {
                assert_eq!(warm.status, Status::Converged, "{}", problem.name);
                assert!(
                    warm.work <= cold.work + 1,
                    "{} moved by {size}: {} against {}",
                    problem.name,
                    warm.work,
                    cold.work
                );
            }
        }
    }
}

#[test]
fn numbers_that_are_none_come_back_as_an_error_not_as_an_answer() {
    let mut problem = stack(3, 1.0);
    problem.k[1] = f64::NAN;
    let mut solution = Solution::zero(3, 3);
    if let Ok(report) = method(Warm::Best).solve(&problem, &mut solution) {
        assert_ne!(report.status, Status::Converged);
    }
    assert!(solution.v.iter().chain(&solution.r).all(|x| x.is_finite()));
}

#[test]
fn a_guess_of_the_wrong_size_is_no_guess() {
    let problem = bar(20, Law::Cone { mu: 0.4, rows: 2 });
    let (answer, _) = solve(&problem);
    for warm in [Warm::Cold, Warm::Partial, Warm::Full, Warm::Best] {
        for (v, r) in [(40, 0), (0, 40), (3, 40), (40, 41)] {
            let mut guess = Solution { v: vec![1.0; v], r: vec![1.0; r] };
            let report = method(warm).solve(&problem, &mut guess).expect("treated");
            assert_eq!(report.status, Status::Converged, "{warm:?} {v} {r}");
            // Both are solved to velocities of 1e-10 m/s.
            assert!(difference(&guess.v, &answer.v) < 1e-8);
        }
    }
}

#[test]
fn budgets_and_bits() {
    let problem = bar(60, Law::Cone { mu: 0.4, rows: 2 });
    let stop = StoppingCriteria { tolerance: TIGHT, work: Some(3), ..StoppingCriteria::default() };
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = InteriorPoint::new(Settings { stop, warm: Warm::Cold, ..Settings::default() })
        .solve(&problem, &mut solution)
        .expect("treated");
    assert_eq!((report.status, report.work), (Status::Budget, 3));
    // The same call twice, with a fresh and with a used work space, gives the same bits.
    let mut used = method(Warm::Cold);
    let (first, _) = solve(&problem);
    for _ in 0..2 {
        let mut again = Solution::zero(problem.n(), problem.rows());
        used.solve(&problem, &mut again).expect("treated");
        assert_eq!(again, first);
    }
}
