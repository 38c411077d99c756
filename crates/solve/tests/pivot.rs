//! Facts about `pivot` and `lemke`: closed forms, dependence, contradiction, guesses.

use proptest::prelude::*;
use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::{Law, PreparedProblem, Problem, Reduced, Rows, Solution, Tolerance};
use signorini_solve::solve::lemke::{self, Lemke};
use signorini_solve::solve::pivot::{Pivot, Settings, pyramid, pyramid_reduced};
use signorini_solve::solve::{ReducedSolver, Report, Solver, Status, StoppingCriteria};

/// A problem from dense rows, one law each.
fn problem(h: &[f64], k: &[f64], rows: &[(Law, Vec<f64>, f64)]) -> Problem {
    let n = h.len();
    let mut out =
        Problem { H: Csr::diagonal(h), k: k.to_vec(), J: Rows::new(n), ..Problem::default() };
    let columns: Vec<u32> = (0..n as u32).collect();
    for (law, values, w) in rows {
        out.J.push(law.rows(), &columns, values);
        out.E.extend(vec![0.0; law.rows()]);
        out.w.push(*w);
        out.w.extend(vec![0.0; law.rows() - 1]);
        out.laws.push(*law);
    }
    out.check().unwrap();
    out
}

fn exact() -> Settings {
    Settings {
        stop: StoppingCriteria {
            tolerance: Tolerance {
                relative: 1e-14,
                velocity: 1e-6,
                bound: None,
                velocity_relative: 0.0,
            },
            ..StoppingCriteria::default()
        },
        ..Settings::default()
    }
}

fn solve(problem: &Problem) -> (Solution, Report) {
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = Pivot::new(exact()).solve(problem, &mut solution).unwrap();
    (solution, report)
}

/// Spheres above each other, the top one 10^decades times as heavy as the lowest (or as light),
/// falling onto each other over gaps.
fn stack(count: usize, decades: f64) -> Problem {
    let n = 3 * count;
    let mass = |i: usize| 10f64.powf(decades * i as f64 / (count - 1) as f64);
    let (mut h, mut k) = (Vec::new(), Vec::new());
    for i in 0..count {
        h.extend([mass(i); 3]);
        k.extend([0.0, 0.0, -0.7 * mass(i)]);
    }
    let mut out = Problem { H: Csr::diagonal(&h), k, J: Rows::new(n), ..Problem::default() };
    for i in 0..count as u32 {
        match i {
            0 => out.J.push(1, &[0, 1, 2], &[0.0, 0.0, 1.0]),
            _ => out.J.push(
                1,
                &[3 * i - 3, 3 * i - 2, 3 * i - 1, 3 * i, 3 * i + 1, 3 * i + 2],
                &[0.0, 0.0, -1.0, 0.0, 0.0, 1.0],
            ),
        }
        out.E.push(0.0);
        out.w.push(0.01 / f64::from(i + 1));
        out.laws.push(Law::Unilateral);
    }
    out
}

#[test]
fn a_stack_of_any_mass_ratio_is_exact() {
    for decades in (2..=20).flat_map(|n| [f64::from(n), -f64::from(n)]) {
        let problem = stack(15, decades);
        let (solution, report) = solve(&problem);
        assert_eq!(report.status, Status::Converged, "10^{decades}: {:?}", report.error);
        assert!(report.error.relative() <= 1e-14);
        // Every contact closes: v_i = v_{i−1} − w_i.
        let mut v = 0.0;
        for i in 0..15 {
            v -= problem.w[i];
            // Sums of at most fifteen numbers below 0.04.
            assert!(
                (solution.v[3 * i + 2] - v).abs() <= 1e-16 + 1e-14 * v.abs(),
                "10^{decades}, body {i}: {} {v}",
                solution.v[3 * i + 2]
            );
        }
        // The reaction carries all momentum above it.
        let mut above = 0.0;
        for i in (0..15).rev() {
            let j = 3 * i + 2;
            above += problem.H.get(j, j) * solution.v[j] - problem.k[j];
            assert!((solution.r[i] - above).abs() <= 1e-13 * above, "10^{decades}, contact {i}");
        }
    }
}

#[test]
fn a_brick_on_many_corners_rests_whatever_carries_it() {
    // Nine points under one brick of three degrees of freedom: six of them are redundant.
    let rows: Vec<_> = (0..9)
        .map(|p| (Law::Unilateral, vec![1.0, f64::from(p % 3 - 1), f64::from(p / 3 - 1)], 0.0))
        .collect();
    let problem = problem(&[2.0, 0.3, 0.4], &[-2.0, 0.1, 0.2], &rows);
    let mut pivot = Pivot::new(exact());
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = pivot.solve(&problem, &mut solution).unwrap();
    assert_eq!(report.status, Status::Converged);
    assert!(solution.v.iter().all(|v| v.abs() < 1e-15));
    assert!((solution.r.iter().sum::<f64>() - 2.0).abs() < 1e-14);
    assert_eq!(pivot.dependent().len(), 6, "{:?}", pivot.dependent());
}

#[test]
fn contradicting_rows_are_named_and_no_others() {
    let rows = [
        (Law::Unilateral, vec![1.0, 0.0], 0.0),
        (Law::Unilateral, vec![0.0, 1.0], -1.0),
        (Law::Unilateral, vec![1.0, 1.0], 5.0),
        (Law::Unilateral, vec![0.0, -2.0], 1.0),
    ];
    let (solution, report) = solve(&problem(&[1.0, 1.0], &[-1.0, 0.0], &rows));
    assert_eq!((report.status, report.conflict), (Status::Infeasible, vec![1, 3]));
    assert!(solution.v.iter().chain(&solution.r).all(|x| x.is_finite()));
}

#[test]
fn repeated_joints_are_harmless_and_contradicting_ones_are_named() {
    let joint = |w: f64| (Law::Equality, vec![1.0, -1.0], w);
    let wall = (Law::Unilateral, vec![1.0, 0.0], 0.0);
    let consistent = problem(
        &[1.0, 3.0],
        &[-4.0, 0.0],
        &[joint(0.0), wall.clone(), joint(0.0), (Law::Equality, vec![2.0, -2.0], 0.0)],
    );
    let (solution, report) = solve(&consistent);
    assert_eq!(report.status, Status::Converged);
    assert!(solution.v.iter().all(|v| v.abs() < 1e-15));
    let (_, report) = solve(&problem(&[1.0, 3.0], &[-4.0, 0.0], &[joint(0.0), wall, joint(0.5)]));
    assert_eq!((report.status, report.conflict), (Status::Infeasible, vec![0, 2]));
}

#[test]
fn a_motor_of_limited_force_holds_pushes_and_gives_way() {
    for (k, want) in [(0.5, 0.0), (3.0, 2.0), (-3.0, -1.0), (1.0, 0.0)] {
        let row = (Law::Interval { lo: -1.0, hi: 2.0 }, vec![1.0], 0.0);
        let (solution, report) = solve(&problem(&[1.0], &[k], &[row]));
        assert_eq!(report.status, Status::Converged);
        assert!((solution.v[0] - want).abs() < 1e-15, "k {k}: {}", solution.v[0]);
    }
}

#[test]
fn a_block_slides_by_coulombs_law_and_lifts_by_the_associated_one() {
    // Unit mass, pressed down with 1, pushed along with 2, mu = 0.5.
    let rows = |law: Law| vec![(law, vec![0.0, 1.0, 1.0, 0.0], 0.0)];
    let (solution, report) =
        solve(&problem(&[1.0, 1.0], &[2.0, -1.0], &rows(Law::Coulomb { mu: 0.5, rows: 2 })));
    assert_eq!(report.status, Status::Converged, "{report:?}");
    // Outer iterations end at 1e-14 of the energy, 1e-7 of the velocity.
    assert!((solution.v[0] - 1.5).abs() < 1e-6 && solution.v[1].abs() < 1e-6, "{:?}", solution.v);
    let (solution, report) =
        solve(&problem(&[1.0, 1.0], &[2.0, -1.0], &rows(Law::Cone { mu: 0.5, rows: 2 })));
    assert_eq!(report.status, Status::Converged);
    // u_n = mu u_t on the edge: v_n = 0.5 v_t and r = c (1, −0.5).
    assert!((solution.v[1] - 0.5 * solution.v[0]).abs() < 1e-15 && solution.v[1] > 0.1);
}

#[test]
fn a_pyramid_slides_without_lifting_and_says_that_it_is_no_cone() {
    // Unit mass, pressed down with 1, pushed along 20° with 2: between two edges.
    let (sin, cos) = 20f64.to_radians().sin_cos();
    let rows = [(
        Law::Coulomb { mu: 0.5, rows: 3 },
        vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        0.0,
    )];
    let problem = problem(&[1.0; 3], &[2.0 * cos, 2.0 * sin, -1.0], &rows);
    let (solution, report) = solve(&problem);
    assert_eq!(report.status, Status::Stalled);
    assert!(
        report.counts.outer < 30 && report.notes.iter().any(|n| n.contains("stands still")),
        "{report:?}"
    );
    // The polygon's shift leaves no normal velocity; the outer iteration ends at 1e-2 of 1e-14 of
    // the energy.
    assert!(solution.v[2].abs() < 1e-7, "{:?}", solution.v);
    // Friction of an edge or between two: no more than mu, no less than mu cos(π/8), and against
    // the motion within π/8.
    let (x, y) = (2.0 * cos - solution.v[0], 2.0 * sin - solution.v[1]);
    assert!(x.hypot(y) <= 0.5 + 1e-9 && x.hypot(y) >= 0.46, "{x} {y}");
    assert!(y.atan2(x).to_degrees() - 20.0 < 22.5 && report.error.relative() < 0.1);
}

#[test]
fn a_slightly_skew_semidefinite_matrix_is_exact() {
    // W = J A Jᵀ of rank 3 with a skew part of 1e-3 in A; twelve rows around a cone.
    let a = [[1.0, 1e-3, -2e-3], [-1e-3, 2.0, 1e-3], [2e-3, -1e-3, 0.5]];
    let row = |i: usize| [(i as f64).cos(), (i as f64).sin(), 1.0 + 0.1 * (i as f64)];
    let entry = |i: usize, j: usize| {
        (0..3).map(|p| (0..3).map(|q| row(i)[p] * a[p][q] * row(j)[q]).sum::<f64>()).sum::<f64>()
    };
    let w: Vec<f64> = (0..144).map(|e| entry(e / 12, e % 12)).collect();
    // Every gap closes at −2 ± 0.3: a feasible velocity exists (upwards), several rows carry.
    let q: Vec<f64> = (0..12).map(|i| -2.0 + 0.3 * (3.0 * i as f64).sin()).collect();
    let problem = reduced(12, &w, &q, vec![Law::Unilateral; 12]);
    let mut solution = Solution::zero(0, 12);
    let report = Pivot::new(exact()).solve_reduced(&problem, &mut solution).unwrap();
    assert_eq!(report.status, Status::Converged, "{report:?}");
    assert!(report.counts.outer > 0 && report.error.relative() <= 1e-14, "{report:?}");
    let mut path = Solution::zero(0, 12);
    Lemke::new(lemke::Settings::default()).solve_reduced(&problem, &mut path).unwrap();
    let (mut u, mut other) = (vec![0.0; 12], vec![0.0; 12]);
    problem.local_velocities(&solution.r, &mut u);
    problem.local_velocities(&path.r, &mut other);
    // 1e-14 of the energy is 1e-7 of the velocities, which are of order one.
    assert!(u.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-6), "{u:?} {other:?}");
}

#[test]
fn compliance_in_a_friction_block_survives_the_pyramid() {
    let mut soft = problem(
        &[1.0, 1.0],
        &[2.0, -1.0],
        &[(Law::Cone { mu: 0.5, rows: 2 }, vec![0.0, 1.0, 1.0, 0.0], 0.0)],
    );
    soft.E = vec![0.3, 0.2];
    let (_, report) = solve(&soft);
    assert_eq!(report.status, Status::Converged);
    assert!(report.error.relative() < 1e-28, "{:?}", report.error);
}

#[test]
fn pyramids_are_exact_on_themselves_and_approach_the_cone() {
    let law = Law::Cone { mu: 0.6, rows: 3 };
    let block = problem(
        &[1.0, 1.0, 1.0],
        &[1.7, 1.1, -1.0],
        &[(law, vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], 0.0)],
    );
    let mut last = f64::INFINITY;
    for facets in [4, 8, 16, 32] {
        let polyhedral = pyramid(&block, facets);
        let (_, report) = solve(&polyhedral);
        assert!(report.status == Status::Converged && report.error.relative() <= 1e-14);
        let mut solution = Solution::zero(3, 3);
        let report =
            Pivot::new(Settings { facets, ..exact() }).solve(&block, &mut solution).unwrap();
        assert_eq!(report.status, Status::Stalled);
        assert!(report.notes.iter().any(|n| n.contains("pyramids")));
        // The angle to the nearest edge halves; so does, at least, the error.
        assert!(report.error.joule < last);
        last = report.error.joule;
    }
}

#[test]
fn the_right_guess_costs_no_pivot_and_a_wild_one_does_no_harm() {
    let problem = stack(10, 1.0);
    let (mut solution, _) = solve(&problem);
    let v = solution.v.clone();
    let mut solver = Pivot::new(exact());
    assert_eq!(solver.solve(&problem, &mut solution).unwrap().counts.pivots, 0);
    for wild in [f64::NAN, f64::INFINITY, -1e300, 1e30] {
        let mut solution = Solution { v: vec![wild; problem.n()], r: vec![wild; problem.rows()] };
        let report = solver.solve(&problem, &mut solution).unwrap();
        assert_eq!(report.status, Status::Converged, "{wild}");
        assert!(solution.v.iter().zip(&v).all(|(a, b)| (a - b).abs() < 1e-14), "{wild}");
    }
}

#[test]
fn work_runs_out_where_it_was_told_to() {
    let problem = stack(10, 1.0);
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let stop = StoppingCriteria { work: Some(3), history: true, ..StoppingCriteria::default() };
    let report = Pivot::new(Settings { stop, facets: 4, swept: false })
        .solve(&problem, &mut solution)
        .unwrap();
    assert_eq!((report.status, report.work, report.reproducible), (Status::Budget, 3, true));
    assert_eq!(report.history.len(), 4);
}

fn reduced(m: usize, w: &[f64], q: &[f64], laws: Vec<Law>) -> Reduced {
    Reduced::new(String::new(), Csr::from_dense(m, m, w), q.to_vec(), laws).unwrap()
}

#[test]
fn lemke_finds_textbook_solutions_and_reports_rays() {
    // (CottlePangStone1992, example 4.4.7) and a problem without solution: w = −1 for every z.
    let known = reduced(
        3,
        &[0.0, -1.0, 2.0, 2.0, 0.0, -2.0, -1.0, 1.0, 0.0],
        &[-3.0, 6.0, -1.0],
        vec![Law::Unilateral; 3],
    );
    let mut solution = Solution::zero(0, 3);
    let report =
        Lemke::new(lemke::Settings::default()).solve_reduced(&known, &mut solution).unwrap();
    assert_eq!(report.status, Status::Converged);
    assert_eq!(solution.r, [0.0, 1.0, 3.0]);
    let none = reduced(2, &[0.0, 0.0, 0.0, 1.0], &[-1.0, -1.0], vec![Law::Unilateral; 2]);
    let mut solution = Solution::zero(0, 2);
    let report =
        Lemke::new(lemke::Settings::default()).solve_reduced(&none, &mut solution).unwrap();
    assert_eq!(report.status, Status::Infeasible);
    assert!(report.notes.iter().any(|n| n.contains("ray")));
}

#[test]
fn lemke_treats_free_and_bounded_reactions() {
    // Equalities that are singular alone (zero block) but not with the contact.
    let laws = vec![
        Law::Equality,
        Law::Unilateral,
        Law::Interval { lo: -1.0, hi: 0.5 },
        Law::Interval { lo: f64::NEG_INFINITY, hi: 2.0 },
    ];
    let w = [0.0, 1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0, 0.2, 1.0];
    let problem = reduced(4, &w, &[-2.0, 1.0, -3.0, -5.0], laws);
    let mut solution = Solution::zero(0, 4);
    let report =
        Lemke::new(lemke::Settings::default()).solve_reduced(&problem, &mut solution).unwrap();
    assert_eq!(report.status, Status::Converged, "{:?} {report:?}", solution.r);
    assert!((solution.r[1] - 2.0).abs() < 1e-14 && solution.r[2] == 0.5 && solution.r[3] == 2.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Random convex problems with dependent rows: exact, and the same velocities from W alone by
    /// both dense methods.
    #[test]
    fn random_problems_are_exact_and_the_methods_agree(
        (n, m) in (1..5usize, 1..9usize),
        numbers in prop::collection::vec(-1.0..1.0f64, 200),
        kinds in prop::collection::vec(0..5u8, 9),
    ) {
        let mut next = numbers.into_iter().cycle();
        let mut number = || next.next().unwrap();
        let h: Vec<f64> = (0..n).map(|_| 0.1 + number().abs()).collect();
        let k: Vec<f64> = (0..n).map(|_| number()).collect();
        let mut rows: Vec<(Law, Vec<f64>, f64)> = Vec::new();
        for kind in kinds.iter().take(m) {
            let values: Vec<f64> = match rows.first() {
                // Every fifth row repeats the first one.
                Some(first) if *kind == 4 => first.1.clone(),
                _ => (0..n).map(|_| number()).collect(),
            };
            let law = if *kind == 1 { Law::Interval { lo: -number().abs(),
            hi: 0.1 + number().abs() } } else { Law::Unilateral };
            // w ≥ 0: v = 0 is feasible, so that a solution exists.
            let w = if matches!(law, Law::Unilateral) { number().abs() } else { number() };
            rows.push((law, values, w));
        }
        let problem = problem(&h, &k, &rows);
        let (solution, report) = solve(&problem);
        prop_assert!(report.status == Status::Converged && report.error.relative() <= 1e-14,
        "{report:?}");
        let reduced = Reduced::of(&problem).unwrap();
        let mut prepared = PreparedProblem::of_reduced(&reduced);
        let mut momentum = k.clone();
        problem.J.add_transposed(&solution.r, &mut momentum);
        let mut walk = Solution::zero(0, m);
        let mut path = Solution::zero(0, m);
        Pivot::new(exact()).solve_reduced(&reduced, &mut walk).unwrap();
        Lemke::new(lemke::Settings::default()).solve_reduced(&reduced, &mut path).unwrap();
        for other in [walk, path] {
            prop_assert!(prepared.error_reduced(&reduced, &other.r).relative() <= 1e-14);
            let mut same = k.clone();
            problem.J.add_transposed(&other.r, &mut same);
            for (a, b) in same.iter().zip(&momentum) {
                // 1e-14 of the energy is 1e-7 of the velocity, times the scale of a few units.
                prop_assert!((a - b).abs() < 1e-6, "{same:?} {momentum:?}");
            }
        }
        prop_assert_eq!(pyramid_reduced(&reduced, 4).rows(), m);
    }
}
