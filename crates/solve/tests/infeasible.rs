//! Problems without a solution are named, with a proof that independent code checks; problems with
//! one never are. `SIGNORINI_INFEASIBLE=10000 cargo test --test infeasible` tries as many of both
//! kinds.

mod independent;

use independent::random::{Random, feasible};
use independent::{Dd, Dense};
use signorini_solve::problem::{Law, Problem, Reduced, Solution};
use signorini_solve::solve::infeasible::{contradiction, contradiction_reduced};
use signorini_solve::solve::{Method, Status, StoppingCriteria};

/// A random element of the directions in which reactions of `law` may grow; none for an interval
/// with finite bounds.
fn growing(random: &mut Random, law: &Law) -> Option<Vec<f64>> {
    Some(match *law {
        Law::Equality => vec![random.signed()],
        Law::Unilateral => vec![0.1 + random.unit()],
        Law::Interval { lo, hi } => match (lo.is_infinite(), hi.is_infinite()) {
            (true, true) => vec![random.signed()],
            (true, false) => vec![-0.1 - random.unit()],
            (false, true) => vec![0.1 + random.unit()],
            _ => return None,
        },
        Law::Cone { mu, rows } | Law::Coulomb { mu, rows } => {
            let n = 0.1 + random.unit();
            let angle = std::f64::consts::TAU * random.unit();
            let t = mu * n * random.of(&[0.0, 0.5, 0.99]);
            if rows == 2 {
                vec![n, t * angle.cos().signum()]
            } else {
                vec![n, t * angle.cos(), t * angle.sin()]
            }
        }
    })
}

/// A feasible random problem and one block more, which contradicts some of the others by `margin`
/// of the speeds: with d in K and `Jᵀd = 0`, `w·d < 0`. None if no block can.
fn contradicting(random: &mut Random) -> Option<Problem> {
    let mut problem = feasible(random);
    problem.E.fill(0.0);
    let (n, m) = (problem.n(), problem.rows());
    let law = random.of(&[
        Law::Unilateral,
        Law::Equality,
        Law::Cone { mu: 0.5, rows: 3 },
        Law::Cone { mu: 0.3, rows: 2 },
    ]);
    let mut d = vec![0.0; m];
    let mut any = false;
    for (block, law) in problem.J.blocks().zip(&problem.laws) {
        if random.below(2) == 0 {
            continue;
        }
        let Some(part) = growing(random, law) else { continue };
        any = true;
        d[block.range()].copy_from_slice(&part);
    }
    let mut force = vec![0.0; n];
    problem.J.add_transposed(&d, &mut force);
    if !any || force.iter().all(|f| *f == 0.0) {
        return None;
    }
    // The new block's first row takes the force; its tangents are zero rows, or any rows with no
    // part in d.
    let columns: Vec<u32> = (0..n as u32).collect();
    let mut values: Vec<f64> = force.iter().map(|f| -f).collect();
    for _ in 1..law.rows() {
        values.extend(
            (0..n).map(|_| random.signed() * force.iter().fold(0.0f64, |m, f| m.max(f.abs()))),
        );
    }
    let said: f64 = problem.w.iter().zip(&d).map(|(w, d)| w * d).sum();
    let size: f64 = problem.w.iter().zip(&d).map(|(w, d)| (w * d).abs()).sum();
    let margin = 10f64.powf(-3.0 * random.unit());
    problem.J.push(law.rows(), &columns, &values);
    problem.laws.push(law);
    // w·d = −margin · Σ|w d|.
    problem.w.push(-said - margin * if size > 0.0 { size } else { 1.0 });
    problem.w.extend((1..law.rows()).map(|_| 0.0));
    problem.E.extend((0..law.rows()).map(|_| 0.0));
    Some(problem)
}

/// A ray is a proof: in K, and no velocity of a million times the data's own makes up for what it
/// lacks.
fn check_proof(what: &str, problem: &Problem, ray: &[f64]) {
    let dense = Dense::of(problem);
    let d: Vec<Dd> = ray.iter().map(|&x| x.into()).collect();
    for &(first, law) in &dense.blocks {
        let part = &ray[first..first + law.rows()];
        let bad = match law {
            Law::Equality => false,
            Law::Unilateral => part[0] < 0.0,
            Law::Interval { lo, hi } => {
                (part[0] > 0.0 && hi.is_finite()) || (part[0] < 0.0 && lo.is_finite())
            }
            Law::Cone { mu, .. } => {
                part[1..].iter().map(|t| t * t).sum::<f64>().sqrt() > mu * part[0] * (1.0 + 1e-15)
            }
            Law::Coulomb { .. } => part[0] < 0.0 || part[1..].iter().any(|t| *t != 0.0),
        };
        assert!(!bad, "{what}: {law:?} does not allow {part:?}");
        let soft = (first..first + law.rows()).any(|i| ray[i] != 0.0 && dense.e[i].0 != 0.0);
        assert!(!soft, "{what}: a compliant row takes part");
    }
    let force = dense.force(&d);
    let leak = independent::dot(&force, &dense.solve(&force)).value().max(0.0).sqrt();
    let against = -independent::dot(&d, &dense.w).value();
    let free = dense.velocity(&vec![Dd::default(); dense.m]);
    let speed = (2.0 * dense.apart(&free, &vec![Dd::default(); dense.n])).sqrt();
    assert!(
        against > 0.0 && against >= 1e6 * leak * speed,
        "{what}: w·d = −{against:e}, ‖Jᵀd‖ = {leak:e}, ‖v₀‖ = {speed:e}"
    );
}

fn count() -> u64 {
    std::env::var("SIGNORINI_INFEASIBLE").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

#[test]
fn contradictions_are_named_with_a_proof() {
    let (mut total, mut named, mut reduced_named, mut by_auto, mut converged) =
        (0, 0, 0, 0, Vec::new());
    for seed in 0..count() {
        let mut random = Random(seed ^ 0x5eed);
        let Some(problem) = contradicting(&mut random) else { continue };
        total += 1;
        let what = format!("seed {seed}");
        if let Some(found) = contradiction(&problem) {
            check_proof(&what, &problem, &found.ray);
            named += 1;
        }
        reduced_named +=
            usize::from(contradiction_reduced(&Reduced::of(&problem).unwrap()).is_some());
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report =
            Method::Auto.build(StoppingCriteria::default()).solve(&problem, &mut solution).unwrap();
        by_auto += usize::from(report.status == Status::Infeasible);
        if report.status == Status::Converged {
            converged.push(seed);
        }
        assert_eq!(report.status == Status::Infeasible, !report.conflict.is_empty(), "{what}");
    }
    println!(
        "{total} contradicting problems: {named} proved, {reduced_named} of their reduced views, \
            {by_auto} named by auto, converged {converged:?}"
    );
    assert!(named * 10 >= total * 9, "{named} of {total}");
    assert!(by_auto * 10 >= total * 9, "{by_auto} of {total}");
    assert!(reduced_named * 10 >= total * 8, "{reduced_named} of {total}");
    assert!(converged.is_empty(), "{converged:?}");
}

#[test]
fn a_problem_with_a_solution_is_never_called_infeasible() {
    for seed in 0..count() {
        let mut random = Random(seed ^ 0xfea5);
        let mut problem = feasible(&mut random);
        assert!(contradiction(&problem).is_none(), "seed {seed}");
        assert!(
            contradiction_reduced(&Reduced::of(&problem).unwrap()).is_none(),
            "reduced seed {seed}"
        );
        // Coulomb's law is feasible wherever the associated one is.
        problem = problem.true_friction();
        assert!(contradiction(&problem).is_none(), "Coulomb, seed {seed}");
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report =
            Method::Auto.build(StoppingCriteria::default()).solve(&problem, &mut solution).unwrap();
        assert_ne!(report.status, Status::Infeasible, "seed {seed}");
    }
}

/// u₀ = −r₁ − r₂ − 1e-4 is negative for all r ≥ 0; with +1e-4 in place of it r = (1, 0, 0) is a
/// solution.
#[test]
fn a_complementarity_problem_that_is_not_symmetric_is_named_too() {
    let w = signorini_solve::math::sparse::Csr::from_dense(
        3,
        3,
        &[0.0, -1.0, -1.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0],
    );
    for (first, infeasible) in [(-1e-4, true), (1e-4, false)] {
        let reduced = Reduced::new(
            "skew".into(),
            w.clone(),
            vec![first, -1.0, 1.0],
            vec![Law::Unilateral; 3],
        )
        .unwrap();
        let mut solution = Solution::zero(0, 3);
        let report = Method::Auto
            .build(StoppingCriteria::default())
            .solve_reduced(&reduced, &mut solution)
            .unwrap();
        assert_eq!(report.status == Status::Infeasible, infeasible, "{first}: {report:?}");
        assert_eq!(report.conflict, if infeasible { vec![0] } else { vec![] });
        assert_eq!(report.status == Status::Converged, !infeasible, "{first}: {report:?}");
    }
}
