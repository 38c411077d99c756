//! The error in joules: what it must be, whoever computes it.

use proptest::prelude::*;
use signorini_solve::math::cliques::CliqueFactor;
use signorini_solve::math::random::Random;
use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::test_problems::{self, ProblemWithSolution};
use signorini_solve::problem::{Law, PreparedProblem, Problem, Rows, Solution, Tolerance};

/// Eq. (5) of (Enzenhoefer2018) with the sign of its erratum: x = x0 + δu − δl, σ_u = u − (x0 −
/// δl).
fn paper(a: f64, x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let x0 = x.min(hi).max(lo);
    let (over, under) = ((x - x0).max(0.0), (x0 - x).max(0.0));
    let (w_lower, w_upper) = (w.max(0.0), (-w).max(0.0));
    let (s_lower, s_upper) = (x0 + over - lo, hi - (x0 - under));
    let square = |x: f64| x * x;
    let bounds = 0.5 * a * (square(over) + square(under));
    let lower = (square(w_lower) / (2.0 * a)).min(0.5 * a * square(s_lower));
    let upper = (square(w_upper) / (2.0 * a)).min(0.5 * a * square(s_upper));
    bounds.max(lower).max(upper)
}

/// One unknown of mass m with one row: W = 1/m, u = v + w with v = (k + r)/m.
fn one_row(law: Law, mass: f64, k: f64, w: f64) -> Problem {
    let mut rows = Rows::new(1);
    rows.push(1, &[0], &[1.0]);
    Problem {
        H: Csr::diagonal(&[mass]),
        k: vec![k],
        J: rows,
        E: vec![0.0],
        w: vec![w],
        laws: vec![law],
        ..Problem::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn the_local_error_is_the_papers(mass in 0.01..100.0f64, x in -5.0..5.0f64, u in -5.0..5.0f64,
    lo in -3.0..3.0f64, width in 0.0..4.0f64) {
        let (hi, a) = (lo + width, 1.0 / mass);
        let problem = one_row(Law::Interval { lo, hi }, mass, 0.0, u - x / mass);
        let solution = Solution { v: vec![x / mass], r: vec![x] };
        let error = PreparedProblem::of(&problem).unwrap().error(&problem, &solution);
        let want = paper(a, x, u, lo, hi);
        // Both sides square differences of numbers up to 5·100: 1e-13 of the largest square.
        prop_assert!((error.joule - want).abs() <= 1e-13 * (1.0 + want + a * x * x + u * u / a),
        "{} {want}", error.joule);
        prop_assert!((error.velocity - (2.0 * a * error.joule).sqrt()).abs() <= 1e-12 * (1.0 + error.velocity));
    }
}

/// The problem in other units: masses × `mass`, lengths × `length`. Unknowns 3, 4, 5 of every six
/// are angles if `rigid`.
fn in_units(
    known: &ProblemWithSolution,
    mass: f64,
    length: f64,
    rigid: bool,
) -> ProblemWithSolution {
    let angle = |j: usize| rigid && j % 6 >= 3;
    let velocity = |j: usize| if angle(j) { 1.0 } else { length };
    let ProblemWithSolution { mut problem, mut solution } = known.clone();
    for i in 0..problem.n() {
        for p in problem.H.starts[i]..problem.H.starts[i + 1] {
            // Kinetic energy scales by mass length²; both velocities are divided out.
            problem.H.values[p] *=
                mass * length * length / (velocity(i) * velocity(problem.H.columns[p] as usize));
        }
        problem.k[i] *= mass * length * length / velocity(i);
        solution.v[i] *= velocity(i);
    }
    for k in 0..problem.laws.len() {
        let block = problem.J.block(k);
        let (range, columns) = (block.range(), block.columns.to_vec());
        let at = problem.J.value_starts[k];
        for i in range.clone() {
            for (p, &j) in columns.iter().enumerate() {
                problem.J.values[at + (i - range.start) * columns.len() + p] *=
                    length / velocity(j as usize);
            }
            problem.w[i] *= length;
            problem.E[i] /= mass;
            solution.r[i] *= mass * length;
        }
        if let Law::Interval { lo, hi } = &mut problem.laws[k] {
            *lo *= mass * length;
            *hi *= mass * length;
        }
    }
    ProblemWithSolution { problem, solution }
}

#[test]
fn joules_are_joules_in_every_system_of_units() {
    for known in test_problems::all() {
        let rigid = known.problem.name.starts_with("brick");
        // An iterate that is wrong: reactions and velocities off by a tenth.
        let mut off = known.clone();
        off.solution.r.iter_mut().for_each(|r| *r = 0.9 * *r + 0.01);
        off.solution.v.iter_mut().for_each(|v| *v *= 1.1);
        let want = PreparedProblem::of(&off.problem).unwrap().error(&off.problem, &off.solution);
        // mm/g/s and t/m/s.
        for (mass, length) in [(1e3, 1e3), (1e-3, 1.0)] {
            let other = in_units(&off, mass, length, rigid);
            let got =
                PreparedProblem::of(&other.problem).unwrap().error(&other.problem, &other.solution);
            let energy = mass * length * length;
            // Rounding of the converted data; where masses span nine decades (a stack), u is 1e9
            // times smaller than its terms.
            let same = |a: f64, b: f64| (a - b).abs() <= 1e-8 * b.abs();
            assert!(
                same(got.joule / energy, want.joule),
                "{} {got:?} {want:?}",
                known.problem.name
            );
            assert!(same(got.scale / energy, want.scale), "{}", known.problem.name);
            assert!(
                same(got.estimate / energy, want.estimate),
                "{} {got:?} {want:?}",
                known.problem.name
            );
            // A row that happens to be satisfied has nothing but rounding to show.
            assert!(
                same(got.velocity / length, want.velocity) || want.velocity < 1e-15,
                "{}",
                known.problem.name
            );
        }
    }
}

#[test]
fn a_problem_and_its_reduced_view_have_the_same_error() {
    for known in test_problems::all() {
        let ProblemWithSolution { problem, solution } = &known;
        if problem.rows() == 0 {
            continue;
        }
        let reduced = signorini_solve::problem::Reduced::of(problem).unwrap();
        let r: Vec<f64> = solution.r.iter().map(|r| 0.9 * r + 0.01).collect();
        let mut v = problem.k.clone();
        problem.J.add_transposed(&r, &mut v);
        let mut factor = CliqueFactor::default();
        factor.factor(&problem.H).unwrap();
        factor.solve(&mut v);
        let mut prepared = PreparedProblem::of(problem).unwrap();
        let whole = prepared.error(problem, &Solution { v, r: r.clone() });
        let part = PreparedProblem::of_reduced(&reduced).error_reduced(&reduced, &r);
        // Where masses span nine decades (the stacks) u is a small difference of large terms: 1e-16
        // · 1e9, squared with its 1e-2.
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs().max(1e-12 * whole.scale);
        assert!(
            same(part.joule, whole.joule) && same(part.velocity, whole.velocity),
            "{}\n{part:?}\n{whole:?}",
            problem.name
        );
        // The second term of the scale, a hundred-millionth, sees J v₀ and w where the reduced view
        // sees their sum.
        let mut seen = vec![0.0; problem.rows()];
        problem.J.mul(&free_velocity(problem), &mut seen);
        let energy: f64 = seen.iter().chain(&problem.w).map(|u| 0.5 * u * u).sum();
        let least = prepared.a().iter().fold(f64::INFINITY, |m, a| m.min(*a));
        assert!(
            (part.scale - whole.scale).abs() <= 2e-8 * energy / least + 1e-12 * whole.scale,
            "{}",
            problem.name
        );
    }
}

fn free_velocity(problem: &Problem) -> Vec<f64> {
    let mut v = problem.k.clone();
    let mut factor = CliqueFactor::default();
    factor.factor(&problem.H).unwrap();
    factor.solve(&mut v);
    v
}

/// Iterates at every distance: r = P_K(r* + noise), v = H⁻¹(k + Jᵀ r).
#[test]
fn the_bound_holds_with_reference_impulses_and_is_safe_with_the_estimate() {
    let (mut total, mut safe) = (0, 0);
    for known in test_problems::all() {
        let ProblemWithSolution { problem, solution } = &known;
        if problem.rows() == 0 || problem.laws.iter().any(|law| matches!(law, Law::Coulomb { .. }))
        {
            continue;
        }
        let mut prepared = PreparedProblem::of(problem).unwrap();
        let mut numbers = Random::seeded(11);
        // What the reactions change: the maximum of −½ rᵀ(u + q) over all admissible r.
        let most = prepared.error(problem, solution).reaction_energy;
        if !problem.laws.iter().any(|law| matches!(law, Law::Interval { .. })) {
            let free = free_velocity(problem);
            let change: Vec<f64> = solution.v.iter().zip(&free).map(|(a, b)| a - b).collect();
            let mut momentum = vec![0.0; change.len()];
            problem.H.mul(&change, &mut momentum);
            let mut energy = 0.5 * signorini_solve::math::dot(&change, &momentum);
            energy += problem.E.iter().zip(&solution.r).map(|(e, r)| 0.5 * e * r * r).sum::<f64>();
            // Twice the part that the tolerance of the known solutions leaves, 1e-9.
            assert!(
                (most - energy).abs() <= 1e-8 * energy + 1e-12 * prepared.scale(),
                "{}: {most} {energy}",
                problem.name
            );
        }
        for sample in 0..60 {
            let noise = 10f64.powf(-(f64::from(sample) / 10.0));
            let mut r = solution.r.clone();
            for (k, law) in problem.laws.iter().enumerate() {
                let block = problem.J.block(k);
                let size = prepared.a()[k].sqrt().recip() * prepared.scale().sqrt();
                r[block.range()].iter_mut().for_each(|r| *r += noise * size * numbers.signed());
                law.project(&mut r[block.range()]);
            }
            let mut v = problem.k.clone();
            problem.J.add_transposed(&r, &mut v);
            prepared.factor().solve(&mut v);
            let wrong: Vec<f64> = v.iter().zip(&solution.v).map(|(a, b)| a - b).collect();
            let mut momentum = vec![0.0; wrong.len()];
            problem.H.mul(&wrong, &mut momentum);
            let truth = 0.5 * signorini_solve::math::dot(&wrong, &momentum);
            let iterate = Solution { v, r };
            let certain = prepared.error_against(problem, &iterate, Some(&solution.r));
            assert!(
                certain.reaction_energy <= most * (1.0 + 1e-9) + 1e-12 * certain.scale,
                "{}: {} > {most}",
                problem.name,
                certain.reaction_energy
            );
            // The stack of ratio 10 forms u from impulses 1e9 times larger: its rounding is 1e-16 ·
            // 1e9 · √scale, squared.
            assert!(
                certain.estimate >= truth * (1.0 - 1e-9) - 1e-12 * certain.scale,
                "{}: {} < {truth}",
                problem.name,
                certain.estimate
            );
            if truth > 1e-10 * certain.scale {
                let estimated = prepared.error(problem, &iterate);
                total += 1;
                safe +=
                    usize::from(estimated.estimate >= truth * (1.0 - 1e-9) - 1e-12 * certain.scale);
            }
        }
    }
    assert!(safe * 1000 >= total * 999, "{safe} of {total}");
}

#[test]
fn what_is_not_a_number_is_never_a_small_error() {
    for known in test_problems::all() {
        if known.problem.rows() == 0 {
            continue;
        }
        let mut prepared = PreparedProblem::of(&known.problem).unwrap();
        for which in 0..2 {
            let mut solution = known.solution.clone();
            if which == 0 {
                solution.v[0] = f64::NAN;
            } else {
                solution.r[0] = f64::NAN;
            }
            assert!(
                !prepared.error(&known.problem, &solution).accepted(&Default::default()),
                "{}",
                known.problem.name
            );
        }
    }
}

#[test]
fn doing_nothing_is_an_error_of_one_scale_and_open_contacts_do_not_inflate_it() {
    let problem = one_row(Law::Unilateral, 2.0, -2.0, 0.0);
    let mut prepared = PreparedProblem::of(&problem).unwrap();
    let nothing = prepared.error(&problem, &Solution { v: vec![-1.0], r: vec![0.0] });
    // ½ m v² = 1 J, and a hundred-millionth for the yardstick of open contacts.
    assert!((nothing.joule - 1.0).abs() < 1e-15 && (nothing.relative() - 1.0).abs() < 2e-8);
    let far = one_row(Law::Unilateral, 2.0, -2.0, 1e3);
    let mut prepared = PreparedProblem::of(&far).unwrap();
    let open = prepared.error(&far, &Solution { v: vec![-1.0], r: vec![0.0] });
    assert_eq!((open.joule, open.relative()), (0.0, 0.0));
    assert!(prepared.scale() > 0.0, "an answer of zero still has a yardstick");
}

#[test]
fn bodies_that_fly_side_by_side_are_not_blamed_for_rounding() {
    // 0.1 + 0.2 and 0.3 differ in the last place: the front ball seems to be caught up by 5.5e-17
    // m/s.
    let flying = |speed: f64| Problem {
        name: "side by side".into(),
        H: Csr::diagonal(&[1.0, 1.0]),
        k: vec![speed, 0.3],
        J: Rows::from_csr(&Csr::from_dense(1, 2, &[-1.0, 1.0]), &[Law::Unilateral]),
        E: vec![0.0],
        w: vec![0.0],
        laws: vec![Law::Unilateral],
        names: Vec::new(),
    };
    let judged = |speed: f64| {
        let problem = flying(speed);
        PreparedProblem::of(&problem)
            .unwrap()
            .error(&problem, &Solution { v: problem.k.clone(), r: vec![0.0] })
    };
    let rounding = judged(0.1 + 0.2);
    assert!(
        rounding.scale > 0.0 && rounding.joule == 0.0 && rounding.accepted(&Default::default()),
        "{rounding:?}"
    );
    // A millionth of a millionth faster is no rounding.
    let faster = judged(0.3 * (1.0 + 1e-12));
    assert!(
        (faster.relative() - 1.0).abs() < 1e-6 && !faster.accepted(&Default::default()),
        "{faster:?}"
    );
}

/// A ball that lands at 3 m/s: with a relative tolerance of a hundredth its contact may be wrong by
/// 3 cm/s, whatever the absolute one; alone, the absolute one counts.
#[test]
fn velocities_may_be_asked_for_relative_to_those_that_reactions_correct() {
    let problem = one_row(Law::Unilateral, 2.0, -6.0, 0.0);
    let mut prepared = PreparedProblem::of(&problem).unwrap();
    assert!((prepared.speed() - 3.0).abs() < 1e-12, "{}", prepared.speed());
    for (part, accepted) in [(0.99, true), (0.98, false)] {
        let solution = Solution { v: vec![-3.0 * (1.0 - part)], r: vec![6.0 * part] };
        let error = prepared.error(&problem, &solution);
        let asked = Tolerance {
            relative: 1.0,
            velocity: 1e-6,
            bound: Some(f64::MAX),
            // Half of it more, for rounding.
            velocity_relative: 0.015,
        };
        assert_eq!(error.accepted(&asked), accepted, "{error:?}");
        assert_eq!(error.unmet(&asked).count(), usize::from(!accepted));
        assert!(!error.accepted(&Tolerance { velocity_relative: 0.0, ..asked }));
    }
}
