//! Newton's method under the true law: facts that do not depend on how it works.

use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::test_problems::{self, Lcg};
use signorini_solve::problem::{Law, PreparedProblem, Problem, Reduced, Rows, Solution, Tolerance};
use signorini_solve::solve::newton::{Branch, Newton, Settings, Unique};
use signorini_solve::solve::{ReducedSolver, Report, Solver, Status, StoppingCriteria};

/// 1e-20 in joules is 1e-10 in velocities.
fn tight() -> Settings {
    let tolerance =
        Tolerance { relative: 1e-20, velocity: 1e-9, bound: None, velocity_relative: 0.0 };
    Settings { stop: StoppingCriteria { tolerance, ..StoppingCriteria::default() }, residual: None }
}

fn solve(problem: &Problem) -> (Solution, Report) {
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = Newton::new(tight()).solve(problem, &mut solution).unwrap();
    (solution, report)
}

/// Bodies in a heap: each rests on two of those before it, or on the ground, and is thrown about.
fn heap(bodies: usize, mu: f64, seed: u64, law: fn(f64) -> Law) -> Problem {
    let mut draw = Lcg::new(seed);
    let n = 6 * bodies;
    let mass: Vec<f64> = (0..n).map(|i| if i % 6 < 3 { 1.0 } else { 0.1 }).collect();
    let k: Vec<f64> =
        (0..n).map(|i| mass[i] * (if i % 6 == 2 { -2.0 } else { 0.5 * draw.draw() })).collect();
    let (mut rows, mut laws, mut w) = (Rows::new(n), Vec::new(), Vec::new());
    for body in 0..bodies {
        for _ in 0..3 {
            let below = ((draw.draw() + 1.0) * 0.5 * (body + 1) as f64) as usize;
            let other = (below < body).then_some(below);
            contact(&mut rows, &mut draw, body, other);
            laws.push(law(mu));
            w.extend([0.05 * draw.draw(), 0.0, 0.0]);
        }
    }
    let m = rows.len();
    Problem {
        name: "heap".into(),
        H: Csr::diagonal(&mass),
        k,
        J: rows,
        E: vec![0.0; m],
        w,
        laws,
        names: Vec::new(),
    }
}

/// Three rows in a random upright frame at a random point of both bodies.
fn contact(rows: &mut Rows, draw: &mut Lcg, body: usize, other: Option<usize>) {
    let normal = unit([draw.draw(), draw.draw(), 1.5]);
    let first = unit(cross(normal, [draw.draw(), draw.draw(), draw.draw()]));
    let second = cross(normal, first);
    let mut columns = Vec::new();
    let mut arms = Vec::new();
    let mut bodies = vec![(body, 1.0)];
    bodies.extend(other.map(|o| (o, -1.0)));
    bodies.sort_by_key(|b| b.0);
    for &(b, sign) in &bodies {
        columns.extend((6 * b..6 * b + 6).map(|c| c as u32));
        arms.push((sign, [0.5 * draw.draw(), 0.5 * draw.draw(), 0.5 * draw.draw()]));
    }
    let mut values = Vec::new();
    for axis in [normal, first, second] {
        for &(sign, arm) in &arms {
            values.extend(axis.map(|x| sign * x));
            values.extend(cross(arm, axis).map(|x| sign * x));
        }
    }
    rows.push(3, &columns, &values);
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt();
    a.map(|x| x / length)
}

fn coulomb(mu: f64) -> Law {
    Law::Coulomb { mu, rows: 3 }
}

#[test]
fn known_problems_are_solved() {
    for known in test_problems::all() {
        let (solution, report) = solve(&known.problem);
        let error = PreparedProblem::of(&known.problem).unwrap().error(&known.problem, &solution);
        // Not `accepted`: at impulses of 1e9 times the smallest the bound is rounding times
        // impulse.
        let tolerance = Tolerance::default();
        assert!(
            error.relative() <= tolerance.relative && error.velocity <= tolerance.velocity,
            "{}: {:?} {error:?}",
            known.problem.name,
            report.notes
        );
        let scale = known.solution.v.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        for (got, want) in solution.v.iter().zip(&known.solution.v) {
            // δu ≤ 1e-9 m/s per row; what a row leaves to v grows with the condition of a few
            // hundred at most.
            assert!((got - want).abs() < 1e-6 * scale, "{}: {got} {want}", known.problem.name);
        }
    }
}

#[test]
fn heaps_are_solved_under_both_laws() {
    for seed in 0..6 {
        for law in [coulomb as fn(f64) -> Law, |mu| Law::Cone { mu, rows: 3 }] {
            for mu in [0.0, 0.3, 10.0] {
                let mut problem = heap(12, mu, seed, law);
                if mu > 1.0 {
                    // Without gaps v = 0 is admissible, which is what makes a solution exist at any
                    // friction.
                    problem.w.fill(0.0);
                }
                let (_, report) = solve(&problem);
                assert_eq!(
                    report.status,
                    Status::Converged,
                    "seed {seed} mu {mu} {:?}: {:?}",
                    problem.laws[0],
                    report.error
                );
            }
        }
    }
}

#[test]
fn order_frames_and_units_do_not_matter() {
    let work = |r: &Report| (r.counts.sweeps + 10 * r.counts.factorizations) as f64;
    let mut factorizations = 0;
    for seed in 10..18 {
        let problem = heap(15, 0.5, seed, coulomb);
        let given = both_forms(&problem, 1.0);
        let mut changed = vec![
            ("reversed".to_string(), reordered(&problem, |k, n| n - 1 - k), 1.0),
            // 7 and 45 have no common divisor: every contact once.
            ("scattered".to_string(), reordered(&problem, |k, n| 7 * k % n), 1.0),
            ("turned".to_string(), turned(&problem), 1.0),
        ];
        for (mass, length) in
            [(1e3, 1e3), (1e9, 1.0), (1e-9, 1.0), (1.0, 1e9), (1.0, 1e-9), (1e9, 1e-9)]
        {
            changed.push((
                format!("mass × {mass:e}, length × {length:e}"),
                in_units(&problem, mass, length),
                length,
            ));
        }
        for (what, other, length) in changed {
            for ((v, report), (moved, again)) in given.iter().zip(both_forms(&other, length)) {
                let statuses = (report.status, again.status);
                assert_eq!(
                    statuses,
                    (Status::Converged, Status::Converged),
                    "{what} seed {seed}: {:?}",
                    again.error
                );
                let ratio = work(&again) / work(report);
                assert!(
                    (0.5..=2.0).contains(&ratio),
                    "{what} seed {seed}: {:?} {:?}",
                    again.counts,
                    report.counts
                );
                factorizations += again.counts.factorizations;
                for (i, (a, b)) in v.iter().zip(&moved).enumerate() {
                    let b = if i % 6 < 3 { b / length } else { *b };
                    // 1e-9 m/s per row on both sides, times the condition of W.
                    assert!((a - b).abs() < 1e-6, "{what} seed {seed}: {a} {b}");
                }
            }
        }
    }
    assert!(factorizations > 0, "sweeps alone say nothing of Newton's steps");
}

/// v and the report, by the problem as it is and by its reduced form; `length`: the unit in which
/// velocities are given.
fn both_forms(problem: &Problem, length: f64) -> [(Vec<f64>, Report); 2] {
    let mut settings = tight();
    settings.stop.tolerance.velocity *= length;
    let mut whole = Solution::zero(problem.n(), problem.rows());
    let report = Newton::new(settings).solve(problem, &mut whole).unwrap();
    let mut short = Solution::zero(0, problem.rows());
    let of_reduced =
        Newton::new(settings).solve_reduced(&Reduced::of(problem).unwrap(), &mut short).unwrap();
    // H is diagonal.
    let mut v = problem.k.clone();
    problem.J.add_transposed(&short.r, &mut v);
    v.iter_mut().zip(&problem.H.values).for_each(|(v, h)| *v /= h);
    [(whole.v, report), (v, of_reduced)]
}

/// The contacts in another order: the k-th is what was the `from(k, n)`-th.
fn reordered(problem: &Problem, from: fn(usize, usize) -> usize) -> Problem {
    let mut out = problem.clone();
    out.J = Rows::new(problem.n());
    out.w.clear();
    out.laws.clear();
    let n = problem.laws.len();
    for k in (0..n).map(|k| from(k, n)) {
        let block = problem.J.block(k);
        out.J.push(block.rows, block.columns, block.values);
        out.w.extend_from_slice(&problem.w[block.range()]);
        out.laws.push(problem.laws[k]);
    }
    out
}

/// Every contact's tangents turned by an angle of its own.
fn turned(problem: &Problem) -> Problem {
    let mut out = problem.clone();
    for k in 0..problem.laws.len() {
        let (s, c) = (0.7 * k as f64 + 0.3).sin_cos();
        let (block, at) = (problem.J.block(k), problem.J.value_starts[k]);
        let width = block.columns.len();
        for i in 0..width {
            let (x, y) = (block.row(1)[i], block.row(2)[i]);
            out.J.values[at + width + i] = c * x + s * y;
            out.J.values[at + 2 * width + i] = c * y - s * x;
        }
        let first = block.first;
        out.w[first + 1] = c * problem.w[first + 1] + s * problem.w[first + 2];
        out.w[first + 2] = c * problem.w[first + 2] - s * problem.w[first + 1];
    }
    out
}

/// Numbers for masses and lengths multiplied by these (of seconds by one).
fn in_units(problem: &Problem, mass: f64, length: f64) -> Problem {
    let mut out = problem.clone();
    for i in 0..out.n() {
        let linear = i % 6 < 3;
        let inertia = if linear { mass } else { mass * length * length };
        out.H.values[out.H.starts[i]..out.H.starts[i + 1]].iter_mut().for_each(|h| *h *= inertia);
        out.k[i] *= inertia * if linear { length } else { 1.0 };
    }
    for k in 0..out.laws.len() {
        let (columns, at) = (problem.J.block(k).columns.to_vec(), problem.J.value_starts[k]);
        for row in 0..3 {
            for (c, &j) in columns.iter().enumerate() {
                out.J.values[at + row * columns.len() + c] *= if j % 6 < 3 { 1.0 } else { length };
            }
        }
    }
    out.w.iter_mut().for_each(|w| *w *= length);
    out
}

#[test]
fn its_own_answer_comes_back_untouched() {
    let mut problems: Vec<Problem> =
        test_problems::all().into_iter().map(|known| known.problem).collect();
    problems.push(heap(12, 0.4, 3, coulomb));
    for problem in problems {
        let mut newton = Newton::new(Settings::default());
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let first = newton.solve(&problem, &mut solution).unwrap();
        let contacts = newton.contacts().to_vec();
        let mut again = solution.clone();
        let report = newton.solve(&problem, &mut again).unwrap();
        assert_eq!(
            (first.status, report.status),
            (Status::Converged, Status::Converged),
            "{}: {:?}",
            problem.name,
            first.error
        );
        assert_eq!(
            (report.counts.sweeps, report.counts.factorizations),
            (0, 0),
            "{}",
            problem.name
        );
        assert_eq!(again, solution, "{}", problem.name);
        let branches = |list: &[signorini_solve::solve::newton::ContactStatus]| {
            list.iter().map(|c| c.branch).collect::<Vec<_>>()
        };
        assert_eq!(branches(&contacts), branches(newton.contacts()), "{}", problem.name);
        // Without velocities, and without reactions.
        if let Ok(reduced) = Reduced::of(&problem) {
            let mut first = Solution::zero(0, problem.rows());
            let report = newton.solve_reduced(&reduced, &mut first).unwrap();
            let mut again = first.clone();
            let second = newton.solve_reduced(&reduced, &mut again).unwrap();
            if report.status == Status::Converged && first.r.iter().any(|r| *r != 0.0) {
                assert_eq!(
                    (second.counts.sweeps, second.counts.factorizations, &again),
                    (0, 0, &first),
                    "{}",
                    problem.name
                );
            }
        }
    }
}

#[test]
fn velocities_kept_or_eliminated_agree() {
    // One heavy plate under all bodies makes W dense: the form with velocities is chosen; its
    // reduced view has none.
    let mut draw = Lcg::new(5);
    let bodies = 60;
    let n = 6 * (bodies + 1);
    let mass: Vec<f64> = (0..n)
        .map(|i| {
            if i < 6 {
                50.0
            } else if i % 6 < 3 {
                1.0
            } else {
                0.1
            }
        })
        .collect();
    let k: Vec<f64> = (0..n)
        .map(|i| mass[i] * (if i % 6 == 2 && i > 6 { -2.0 } else { 0.3 * draw.draw() }))
        .collect();
    let mut rows = Rows::new(n);
    for body in 1..=bodies {
        for _ in 0..2 {
            contact(&mut rows, &mut draw, body, Some(0));
        }
    }
    let m = rows.len();
    let laws = vec![coulomb(0.5); m / 3];
    let problem = Problem {
        name: "plate".into(),
        H: Csr::diagonal(&mass),
        k,
        J: rows,
        E: vec![1e-3; m],
        w: vec![0.0; m],
        laws,
        names: Vec::new(),
    };
    let (solution, report) = solve(&problem);
    assert_eq!(report.status, Status::Converged, "{:?}", report.error);
    let reduced = Reduced::of(&problem).unwrap();
    let mut other = Solution::zero(0, m);
    let again = Newton::new(tight()).solve_reduced(&reduced, &mut other).unwrap();
    assert_eq!(again.status, Status::Converged, "{:?}", again.error);
    for (a, b) in solution.r.iter().zip(&other.r) {
        // E > 0 makes r unique near a solution; 1e-9 m/s through a compliance of 1e-3.
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn a_mesh_keeps_its_velocities() {
    // A beam of 80 masses and springs, pressed on rollers with friction at every second mass.
    let n = 160;
    let mut t = Vec::new();
    for i in 0..n as u32 {
        t.push((i, i, 1.0 + 2.0 * 40.0));
        if i >= 2 {
            t.push((i, i - 2, -40.0));
            t.push((i - 2, i, -40.0));
        }
        if i % 2 == 0 {
            t.push((i, i + 1, 0.5));
            t.push((i + 1, i, 0.5));
        }
    }
    let mut rows = Rows::new(n);
    for i in (0..n as u32).step_by(4) {
        rows.push(2, &[i, i + 1], &[1.0, 0.0, 0.0, 1.0]);
    }
    let m = rows.len();
    let k: Vec<f64> =
        (0..n).map(|i| if i % 2 == 0 { -1.0 } else { (0.1 * i as f64).sin() }).collect();
    let laws = vec![Law::Coulomb { mu: 0.3, rows: 2 }; m / 2];
    let problem = Problem {
        name: "beam".into(),
        H: Csr::from_triplets(n, n, &t),
        k,
        J: rows,
        E: vec![0.0; m],
        w: vec![0.0; m],
        laws,
        names: Vec::new(),
    };
    let (solution, report) = solve(&problem);
    assert_eq!(report.status, Status::Converged, "{:?}", report.error);
    let mut other = Solution::zero(0, m);
    Newton::new(tight()).solve_reduced(&Reduced::of(&problem).unwrap(), &mut other).unwrap();
    for (a, b) in solution.r.iter().zip(&other.r) {
        // W is well conditioned (each roller has a mass of its own): 1e-9 m/s over 0.01 (m/s)/(N
        // s).
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn all_laws_in_one_problem() {
    let mut problem = heap(10, 0.5, 21, coulomb);
    let n = problem.n();
    let mut draw = Lcg::new(9);
    let extra = [
        Law::Equality,
        Law::Unilateral,
        Law::Interval { lo: -0.1, hi: 0.2 },
        Law::Interval { lo: 0.0, hi: f64::INFINITY },
    ];
    for (i, law) in extra.into_iter().enumerate() {
        let columns = [(6 * i) as u32, (6 * i + 7) as u32, (n - 1) as u32];
        problem.J.push(1, &columns, &[1.0, draw.draw(), draw.draw()]);
        problem.laws.push(law);
        problem.w.push(0.1 * draw.draw());
        problem.E.push(0.0);
    }
    problem.J.push(2, &[0, 8], &[1.0, -0.4, 0.2, 1.0]);
    problem.laws.push(Law::Cone { mu: 0.7, rows: 2 });
    problem.w.extend([0.0, 0.1]);
    problem.E.extend([0.0, 0.0]);
    problem.check().unwrap();
    let (_, report) = solve(&problem);
    assert_eq!(report.status, Status::Converged, "{:?}", report.error);
}

#[test]
fn the_brick_slides_and_does_not_take_off() {
    // A brick of 1 kg that slides at 3 m/s: under Coulomb's law its normal velocity stays zero, v_t
    // falls by mu g h.
    let (mu, g, h) = (0.3, 9.81, 0.01);
    let mut rows = Rows::new(3);
    rows.push(3, &[0, 1, 2], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let problem = Problem {
        name: "brick".into(),
        H: Csr::diagonal(&[1.0; 3]),
        k: vec![3.0, 0.0, -g * h],
        J: rows,
        E: vec![0.0; 3],
        w: vec![0.0; 3],
        laws: vec![coulomb(mu)],
        names: Vec::new(),
    };
    let mut solution = Solution::zero(3, 3);
    let mut newton = Newton::new(tight());
    let report = newton.solve(&problem, &mut solution).unwrap();
    assert_eq!(report.counts.factorizations, 0);
    for (got, want) in solution.v.iter().zip([3.0 - mu * g * h, 0.0, 0.0]) {
        assert!((got - want).abs() < 1e-14);
    }
    assert_eq!(newton.contacts()[0].branch, Branch::Slip);
    // It slips, and nothing else could happen.
    assert_eq!(newton.unique(), Unique::Locally);
    // Under the convex law it takes off, at mu times the speed at which it slides.
    let (lifted, _) = solve(&problem.associated());
    assert!((lifted.v[2] - mu * lifted.v[0]).abs() < 1e-9 && lifted.v[2] > 0.8, "{:?}", lifted.v);
}

#[test]
fn redundant_contacts_leave_v_unique_and_a_jammed_rod_does_not() {
    // The brick on four corners: the reactions are not unique, v is.
    let mut rows = Rows::new(4);
    for (x, turn) in [(-1.0, 0.1), (-0.5, 0.1), (0.5, -0.1), (1.0, -0.1)] {
        rows.push(2, &[0, 1, 2, 3], &[0.0, 1.0, x, turn, 1.0, 0.0, 0.0, 0.0]);
    }
    let problem = Problem {
        name: "corners".into(),
        H: Csr::diagonal(&[1.0, 1.0, 0.5, 0.5]),
        k: vec![3.0, -0.1, 0.01, 0.0],
        J: rows,
        E: vec![0.0; 8],
        w: vec![0.0; 8],
        laws: vec![Law::Coulomb { mu: 0.3, rows: 2 }; 4],
        names: Vec::new(),
    };
    let mut newton = Newton::new(tight());
    // One of its solutions, with all corners loaded: where one is at rest without load, nothing is
    // said.
    let r = [0.03, 0.02, 0.04, 0.01].iter().flat_map(|n| [*n, -0.3 * n]).collect();
    let report = newton.solve(&problem, &mut Solution { v: vec![2.97, 0.0, 0.0, 0.0], r }).unwrap();
    assert_eq!((report.status, report.counts.sweeps), (Status::Converged, 0), "{:?}", report.error);
    assert!(newton.contacts().iter().all(|c| c.branch == Branch::Slip && c.margin > 1e-3));
    assert_eq!(newton.unique(), Unique::Locally);
    // A jammed rod (Painleve1895): W_nn = mu W_tn, so that along the slipping edge r = r_n (1, −mu)
    // the normal velocity stays zero whatever r_n is, while u_t = 1 − r_n/2 does not: every 0 ≤ r_n
    // < 2 is a solution.
    let w = Csr::from_dense(2, 2, &[1.0, 2.0, 2.0, 5.0]);
    let jammed =
        Reduced::new("rod".into(), w, vec![0.0, 1.0], vec![Law::Coulomb { mu: 0.5, rows: 2 }])
            .unwrap();
    let mut solution = Solution { v: Vec::new(), r: vec![1.0, -0.5] };
    let report = newton.solve_reduced(&jammed, &mut solution).unwrap();
    assert_eq!(
        (report.status, report.counts.sweeps, newton.unique()),
        (Status::Converged, 0, Unique::Unknown)
    );
}

#[test]
fn nothing_to_do_and_nothing_to_be_done() {
    // No contact at all.
    let mut problem = heap(1, 0.5, 1, coulomb);
    problem.J = Rows::new(6);
    problem.laws.clear();
    problem.w.clear();
    problem.E.clear();
    let (solution, report) = solve(&problem);
    assert_eq!(report.status, Status::Converged);
    for (v, (k, h)) in solution.v.iter().zip(problem.k.iter().zip(&problem.H.values)) {
        assert!((v - k / h).abs() < 1e-15);
    }
    // Velocities of 1e-15 m/s: an answer, finite, and accepted.
    let mut tiny = heap(4, 0.5, 2, coulomb);
    tiny.k.iter_mut().chain(&mut tiny.w).for_each(|x| *x *= 1e-15);
    let (solution, report) = solve(&tiny);
    assert_eq!(report.status, Status::Converged, "{:?}", report.error);
    assert!(solution.v.iter().all(|x| x.is_finite()));
    // Numbers that are none.
    let mut bad = heap(2, 0.5, 3, coulomb);
    bad.k[0] = f64::NAN;
    assert!(Newton::new(tight()).solve(&bad, &mut Solution::zero(12, bad.rows())).is_err());
    // A budget of nothing still returns an admissible finite point.
    let problem = heap(12, 0.5, 4, coulomb);
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let mut settings = tight();
    settings.stop.work = Some(0);
    let mut newton = Newton::new(settings);
    let report = newton.solve(&problem, &mut solution).unwrap();
    assert_eq!(report.counts.factorizations, 0);
    // The report says what stopped it, where, and how far it got; of other answers it says nothing.
    assert_eq!((report.status, newton.unique()), (Status::Budget, Unique::Unknown));
    let said = |what: &str| report.notes.iter().any(|note| note.contains(what));
    assert!(
        said("stopped in the phase `sweeps` since the factorizations ran out: relative error"),
        "{:?}",
        report.notes
    );
    assert!(solution.v.iter().chain(&solution.r).all(|x| x.is_finite()));
}

#[test]
fn a_wedge_that_nothing_moves_does_not_break() {
    // A block without columns, one pressed in vain: no solution exists, and the report says so.
    let mut problem = heap(1, 0.5, 6, coulomb);
    problem.J.push(1, &[], &[]);
    problem.laws.push(Law::Unilateral);
    problem.w.push(-1.0);
    problem.E.push(0.0);
    let mut settings = tight();
    settings.stop.work = Some(40);
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = Newton::new(settings).solve(&problem, &mut solution).unwrap();
    assert_ne!(report.status, Status::Converged);
    assert!(solution.v.iter().chain(&solution.r).all(|x| x.is_finite()));
}
