//! Problems without a solution are named, with a proof that independent code checks; problems with
//! one never are. `SIGNORINI_INFEASIBLE=10000 cargo test --test infeasible` tries as many of both
//! kinds.

mod independent;

use independent::conditions::proves;
use independent::random::{Random, contradicting, feasible};
use signorini_solve::problem::{Law, Reduced, Solution};
use signorini_solve::solve::infeasible::{contradiction, contradiction_reduced};
use signorini_solve::solve::{Method, Status, StoppingCriteria};

fn count() -> u64 {
    std::env::var("SIGNORINI_INFEASIBLE").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

#[test]
fn contradictions_are_named_with_a_proof() {
    let (mut total, mut named, mut reduced_named, mut by_auto, mut converged) =
        (0, 0, 0, 0, Vec::new());
    for seed in 0..count() {
        let mut random = Random::new(seed ^ 0x5eed);
        let Some((problem, _)) = contradicting(&mut random) else { continue };
        total += 1;
        let what = format!("seed {seed}");
        if let Some(found) = contradiction(&problem) {
            proves(&problem, &found.ray).unwrap_or_else(|why| panic!("{what}: {why}"));
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
        let mut random = Random::new(seed ^ 0xfea5);
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
